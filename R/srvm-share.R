# When several kernels are averaged, an error in the evidence of one with no
# weight does no harm. So each is first tried with few particles, the pilot;
# those that may be probable run again with the remaining particles.
#
# `settings$shares` has the particles of each kernel relative to those of the
# control (NULL: all 1), fixed at the first call like the kernels themselves.
# Until then a fit has `sharing`: `shares` and `runs` are NULL while the pilot
# runs, and then belong to the runs that will replace it. Until then the fit's
# `runs` are those of the pilot; `replaced_seconds` is the time of the replaced
# runs.

# Fewer rows, or fewer particles, hardly distinguish kernels.
least_to_share <- list(rows = 50, particles = 50)

#' The number of particles of a kernel
#' @param particles Of the control.
#' @param shares NULL, or one for each kernel.
#' @noRd
particles_of <- function(particles, shares, kernel) {
  if (is.null(shares)) {
    return(particles)
  }
  max(1L, as.integer(round(particles * shares[[kernel]])))
}

# The numbers of particles of all kernels
kernel_particles <- function(fit, shares = fit$settings$shares) {
  vapply(seq_len(n_kernels(fit$settings)), function(kernel) {
    particles_of(fit$control$particles, shares, kernel)
  }, 0L)
}

# A new fit, which starts with the pilot if worthwhile
#
# Bounded memory is for streams, whose later rows may favour other kernels.
start_sharing <- function(fit) {
  n <- fit$control$particles
  pilot <- max(ceiling(fit$control$pilot * n), least_to_share$particles)
  share <- is_averaged(fit) && fit$control$pilot > 0 && pilot <= n / 2 &&
    nrow(fit$data$x) >= least_to_share$rows &&
    !is_bounded(fit$settings$memory)
  if (share) {
    fit$settings$shares <- rep(pilot / n, n_kernels(fit$settings))
    fit$sharing <- list(shares = NULL, runs = NULL)
  }
  fit
}

# Is the pilot finished, but not the runs that follow it?
is_running_again <- function(fit) !is.null(fit[["sharing"]]$shares)

# The states to advance, and their shares
states_under_way <- function(fit) {
  if (is_running_again(fit)) fit$sharing$runs else fit$runs
}
shares_under_way <- function(fit) {
  if (is_running_again(fit)) fit$sharing$shares else fit$settings$shares
}

#' @export
has_next_stage.kb_srvm <- function(fit) {
  !is.null(fit[["sharing"]]) && !is_running_again(fit)
}

# From the pilot to the runs that replace it; runs of a kernel whose number of
# particles does not change are kept, as they would be identical
#' @export
next_stage.kb_srvm <- function(fit) {
  shares <- pilot_shares(fit)
  stays <- stays_from_pilot(fit, shares)
  fit$sharing <- list(
    shares = shares,
    runs = Map(function(run, stays) if (stays) run, fit$runs, stays)
  )
  fit
}

# Which runs of the pilot already have their final number of particles?
stays_from_pilot <- function(fit, shares) {
  rep_len(shares == fit$settings$shares, length(fit$runs))
}

# Shares of the kernels, by how probable they are after the pilot
pilot_shares <- function(fit) {
  each <- kernel_evidences(fit, fit_runs(fit))
  log_p <- each$log_evidence + log(fit$settings$prior$kernels)
  with_local_seed(fit$seed, {
    shares_by_evidence(log_p, each$variance, fit$settings$shares[[1]])
  })
}

#' To first order the variance of the log evidence is sum p_h^2 v_h / N_h,
#' minimal, if the v_h are similar, for N_h proportional to p_h: after (S38).
#' The pilot's errors are large: p_h is its mean over them.
#' @param log_p,variance Of each kernel, from a pilot with the share `pilot`.
#' @noRd
shares_by_evidence <- function(log_p, variance, pilot, draws = 1000) {
  # With few particles standard errors are too small: the spread of the log
  # evidence is up to twice as large.
  se <- sqrt(pmin(pmax(4 * variance, 1, na.rm = TRUE), 16))
  logs <- log_p + se * matrix(stats::rnorm(draws * length(se)), length(se))
  p <- rowMeans(apply(logs, 2, function(l) exp(l - log_sum_exp(l))))
  left <- length(p) * (1 - pilot)
  again <- p * left > pilot
  shares <- ifelse(again, left * p / sum(p[again]), pilot)
  # No kernel stands out: continue as without a pilot.
  if (max(shares) <= 1) rep(1, length(p)) else shares
}

# Put states of the runs that follow the pilot into a fit
finish_sharing <- function(fit, states, seconds) {
  whole <- fit
  whole$settings$shares <- fit$sharing$shares
  whole$sharing <- NULL
  replaced <- fit$runs[!stays_from_pilot(fit, fit$sharing$shares)]
  whole$replaced_seconds <- sum(vapply(replaced, `[[`, 0, "seconds"))
  whole <- finish_steps(whole, states, seconds)
  if (whole$status == "complete") {
    return(whole)
  }
  fit$sharing$runs <- states
  finish_steps(fit, fit$runs, seconds)
}

# Refuse to change the sampler during the pilot
refuse_while_sharing <- function(fit) {
  if (is.null(fit[["sharing"]])) {
    return(invisible())
  }
  kb_abort(c(
    "{.arg particles} and {.arg n_moves} can only be changed once the fit is
     complete.",
    x = "It was stopped while its kernels were being tried.",
    i = "{.code update(fit)} completes it."
  ), "argument", argument = "particles")
}

# "250 x 2 x 5 kernels", or by how many kernels share them
particle_words <- function(fit) {
  n <- kernel_particles(fit)
  times <- fit$control$replicates
  times <- if (times > 1) paste0(" x ", times)
  if (length(n) == 1) {
    paste0(n, times)
  } else if (length(unique(n)) == 1) {
    paste0(n[[1]], times, " x ", length(n), " kernels")
  } else {
    paste0(
      sum(n), times, " for ", length(n), " kernels (", min(n), " to ", max(n),
      ")"
    )
  }
}
