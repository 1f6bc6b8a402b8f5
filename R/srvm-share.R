# Where several kernels are averaged, an error in the evidence of one that has
# no weight does no harm. So each is tried with few particles first, the pilot;
# those that may be probable run again with the particles that are left.
#
# `settings$shares` has the particles of each kernel relative to those of the
# control (NULL: all 1), fixed at the first call like the kernels themselves.
# While it is being found a fit has `sharing`: `shares` and `runs` are NULL as
# long as the pilot runs, and then those of the runs that will take its place.
# `runs` of the fit are the pilot's until then; `replaced_seconds` is what those
# of them took that were replaced.

# Fewer rows hardly tell kernels apart, nor do fewer particles.
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

# A new fit, to begin with the pilot if that is worth it
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

# Has the pilot come to its end, but not what follows from it?
is_running_again <- function(fit) !is.null(fit[["sharing"]]$shares)

# The states that are to advance, and the shares that they have
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

# From the pilot to the runs that take its place; where a kernel has no more
# particles than before, they are what they would be
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

# Which runs of the pilot have the particles that they are to have?
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
#' least, where the v_h are alike, for N_h proportional to p_h: after (S38). The
#' pilot's errors are large: p_h is its mean over them.
#' @param log_p,variance Of each kernel, by a pilot with the share `pilot`.
#' @noRd
shares_by_evidence <- function(log_p, variance, pilot, draws = 1000) {
  # Few particles know too little of their errors: the spread of their log
  # evidence is up to twice their standard errors.
  se <- sqrt(pmin(pmax(4 * variance, 1, na.rm = TRUE), 16))
  logs <- log_p + se * matrix(stats::rnorm(draws * length(se)), length(se))
  p <- rowMeans(apply(logs, 2, function(l) exp(l - log_sum_exp(l))))
  left <- length(p) * (1 - pilot)
  again <- p * left > pilot
  shares <- ifelse(again, left * p / sum(p[again]), pilot)
  # Nothing stands out: all kernels as if none had been tried.
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

# Refuse to change the sampler while kernels are being tried
refuse_while_sharing <- function(fit) {
  if (is.null(fit[["sharing"]])) {
    return(invisible())
  }
  kb_abort(c(
    "{.arg particles} and {.arg n_moves} can change once the fit is complete.",
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
