# Bandwidths of srvm() that are learned, one per predictor.

is_ard <- function(kernel) identical(kernel$bandwidth, "ard")

learns_scales <- function(settings) {
  inherits(settings$kernel, "kb_kernel") && is_ard(settings$kernel)
}

# The only kernel of the list, whose bandwidths are learned
check_ard <- function(kernels) {
  if (length(kernels) > 1 || !is_ard(kernels[[1]])) refuse_ard_part()
  kernels[[1]]
}

refuse_ard_part <- function(word = "ard") {
  kb_abort(c(
    "A kernel with {.code bandwidth = \"{word}\"} must be the only one: not a
     part of a sum, a product, a list or a dictionary.",
    i = "{.code kernel_matern(\"{word}\")} is such a kernel."
  ), "argument", argument = "kernel")
}

# The scale of the prior of inverse bandwidths
inverse_bandwidth_scale <- function(prior, x) {
  ard <- if (is.null(prior$ard)) 1 else prior$ard
  ard / bandwidth_median(x)
}

# Coefficients of centres ------------------------------------------------------

# Degrees of freedom of their t priors, Inf where they are normal; in fits from
# before there were others they are
coef_df <- function(prior) if (is.null(prior$coef_df)) Inf else prior$coef_df

#' A rule for integrals over the spread v of one coefficient
#'
#' v is inverse gamma with shape and rate df / 2, (S66). Equally spaced values of
#' log v, whose density is analytic and vanishes at both ends; of few degrees of
#' freedom the core cuts off the upper one.
#' @return Matrix of values and their probabilities.
#' @noRd
spread_rule <- function(df) {
  if (is.infinite(df)) {
    return(cbind(1, 1))
  }
  ends <- -log(stats::qgamma(c(1 - 1e-4, 1e-4), df / 2, df / 2))
  # The bound of the core
  log_v <- seq(ends[[1]], min(ends[[2]], log(1e6)), length.out = 11)
  log_p <- -df / 2 * (log_v + exp(-log_v))
  p <- exp(log_p - max(log_p))
  if (ends[[2]] > log(1e6)) p[[11]] <- p[[11]] / 2
  cbind(exp(log_v), p / sum(p))
}

check_coef_df <- function(df) {
  fine <- is.numeric(df) && length(df) == 1 && isTRUE(df >= 0.5)
  if (!fine) bad_argument(df, "coef_df", "a number of at least 0.5, or Inf")
  as.double(df)
}

# Each particle needs columns of its own
check_coef_df_use <- function(prior, kernel, memory) {
  problem <- if (!learns_scales(list(kernel = kernel))) {
    "a kernel that does not learn a bandwidth for each predictor"
  } else if (is_bounded(memory)) {
    "a bounded memory"
  }
  if (is.infinite(coef_df(prior)) || is.null(problem)) {
    return(invisible())
  }
  kb_abort(c(
    "{.arg coef_df} of {.arg prior} must be Inf with {problem}.",
    x = "It is {coef_df(prior)}.",
    i = "It may be finite with {.code kernel = kernel_matern(\"ard\")}, which is the
         default if there are moves, and an unbounded {.arg memory}."
  ), "argument", argument = "prior")
}

# Linear part -----------------------------------------------------------------

# Columns (x - centre) times the scale
linear_part <- function(prior, kernel, x) {
  learned <- learns_scales(list(kernel = kernel))
  scale <- prior$linear
  # Priors from before `coef_df` hold a default that is not for given kernels.
  if (!learned && !"coef_df" %in% names(prior)) scale <- 0
  if (is.null(scale)) scale <- if (learned) 3 else 0
  if (scale == 0) {
    return(no_linear_part)
  }
  list(
    centre = unname(colMeans(x)), scale = scale / bandwidth_median(x)
  )
}

no_linear_part <- list(centre = numeric(), scale = 0)

has_linear_part <- function(settings) length(settings$linear$centre) > 0

# Posterior -------------------------------------------------------------------

# Points and candidates as the kernels see them
own_points <- function(fit, x, pool) {
  scaling <- fit$settings$scaling
  list(
    x = scaling_x(scaling, kernel_part(fit, x)),
    centres = scaling_x(scaling, fit$data$x[pool$rows, , drop = FALSE])
  )
}

#' As `srvm_moments_of()`, where each particle has its own kernel
#' @param averaged Of the mean of f over x?
#' @noRd
own_moments <- function(fit, x, pool, averaged = FALSE) {
  at <- own_points(fit, x, pool)
  settings <- fit$settings
  moments <- srvm_own_moments_cpp(
    model_config(settings), pool, pool$bandwidths, at$x, at$centres, averaged
  )
  if (is_scaled(settings)) {
    moments$variance <- sweep(moments$variance, 2, pool$noise, "*")
  }
  moments
}

# f of the chosen draws, S x n, in the units of the model
own_draws <- function(fit, x, pool, chosen) {
  at <- own_points(fit, x, pool)
  settings <- fit$settings
  used <- sort(unique(chosen))
  of <- rep(seq_along(pool$k), pool$k)
  beta_of <- rep(seq_along(pool$k), pool$k + n_fixed(settings))
  f <- srvm_own_draws_cpp(
    model_config(settings), pool$k[used], pool$sets[of %in% used],
    pool$draws$beta[beta_of %in% used],
    pool$bandwidths[, used, drop = FALSE], at$x, at$centres
  )
  t(f)[match(chosen, used), , drop = FALSE]
}

# Results ---------------------------------------------------------------------

bandwidth_names <- function(fit) paste0("bandwidth[", colnames(fit$data$x), "]")

# One column per predictor, one row per particle or draw
bandwidth_columns <- function(fit, pool) {
  out <- as.data.frame(t(pool$bandwidths))
  stats::setNames(out, bandwidth_names(fit))
}

#' @export
watched_scales.kb_srvm_mcmc <- function(fit) {
  if (!learns_scales(fit$settings)) {
    return(list())
  }
  names <- paste0("log_bandwidth[", seq_len(ncol(fit$data$x)), "]")
  lapply(interleaved_chains(fit_runs(fit), "log_inverse", names), `-`)
}

median_bandwidths <- function(fit) {
  pool <- srvm_pool(fit)
  unname(apply(pool$bandwidths, 1, weighted_quantile, pool$weights, 0.5))
}

# For print(), the smallest first; NULL where none were learned
bandwidths_line <- function(x, show) {
  rows <- x$settings$bandwidth_rows
  b <- if (learns_scales(x$settings)) {
    median_bandwidths(x)
  } else if (!is.null(rows)) {
    rep_len(x$settings$kernel$bandwidth, ncol(x$data$x))
  } else {
    return(NULL)
  }
  bandwidths_text(b, colnames(x$data$x), show,
    what = if (is.null(rows)) {
      "medians: "
    } else {
      paste0("from the first ", rows, " rows: ")
    }
  )
}

bandwidths_text <- function(b, names, show, what = "") {
  first <- order(b)
  each <- paste(names[first], vapply(b[first], show, ""))
  paste0("  bandwidths:   ", as_many_as_fit(each, what = what), "\n")
}

# Fits of srvm() whose one model has several kernels (kernel_dictionary()): a
# candidate is a pair of a row and a kernel. The core numbers the candidates of
# a row consecutively.

# The dictionary of a fit's model, given the points x
srvm_dictionary <- function(dictionary, x) {
  dictionary <- check_class(dictionary, "kb_kernel_dictionary",
    "`kernel_dictionary()`", "kernel"
  )
  if (any(vapply(dictionary$parts, kernel_has, NA, "ard"))) refuse_ard_part()
  kernels <- srvm_kernels(dictionary$parts, x)
  if (inherits(kernels, "kb_kernel")) kernels <- list(kernels)
  new_dictionary(unique(kernels))
}

has_dictionary <- function(fit) is_dictionary(fit$settings$kernel)

# The kernels that candidates of a pool may have
candidate_kernel_list <- function(settings) {
  kernel <- settings$kernel
  if (is_dictionary(kernel)) kernel$parts else settings_kernels(settings)
}

# Do the candidates of a fit differ in their kernels?
names_kernels <- function(fit) is_averaged(fit) || has_dictionary(fit)

# Candidates per row
kernels_a_row <- function(settings) {
  if (is_dictionary(settings$kernel)) length(settings$kernel$parts) else 1L
}

# A dictionary within a list
refuse_mixed <- function(kernel) {
  if (is.list(kernel) && !inherits(kernel, "kb_kernel") &&
    any(vapply(kernel, is_dictionary, NA))) {
    kb_abort(c(
      "{.arg kernel} must be a dictionary or a list of kernels, not both.",
      i = "Compare fits with each by {.fn evidence}."
    ), "argument", argument = "kernel")
  }
}

refuse_shares_by_row <- function() {
  kb_abort(c(
    "Shares of the kernels of a dictionary are not available by row.",
    i = "{.code kernel_posterior(fit)} has them given all rows."
  ), "not_defined")
}

# Results ----------------------------------------------------------------------

# Numbers of centres: particles x kernels
centre_counts <- function(fit, pool) {
  kernels <- seq_along(candidate_kernel_list(fit$settings))
  particle <- factor(rep(seq_along(pool$k), pool$k), seq_along(pool$k))
  kernel <- factor(candidate_kernels(fit, pool$sets, pool), kernels)
  unclass(unname(table(particle, kernel)))
}

# The value of kernel_posterior() for a dictionary
dictionary_posterior <- function(fit) {
  pool <- srvm_pool(fit)
  counts <- centre_counts(fit, pool)
  moments <- function(values, weights) {
    mean <- colSums(weights * values)
    square <- colSums(weights * sweep(values, 2, mean)^2)
    list(mean = mean, sd = sqrt(square))
  }
  number <- moments(counts, pool$weights)
  some <- pool$k > 0
  share <- moments(
    counts[some, , drop = FALSE] / pool$k[some],
    pool$weights[some] / sum(pool$weights[some])
  )
  if (!any(some)) share <- list(mean = NA_real_, sd = NA_real_)
  kernels <- candidate_kernel_list(fit$settings)
  data.frame(
    kernel = vapply(kernels, format, ""),
    bandwidth = vapply(kernels, single_bandwidth, 0),
    centres = number$mean, centres_sd = number$sd,
    probability = colSums(pool$weights * (counts > 0)),
    share = share$mean, share_sd = share$sd
  )
}

# The numbers of centres by kernel in the form of as_draws()
dictionary_parameters <- function(fit, pool) {
  counts <- as.data.frame(centre_counts(fit, pool))
  names(counts) <- paste0("k_kernel[", seq_along(counts), "]")
  counts
}

# Printing -------------------------------------------------------------------

describe_dictionary <- function(x, most = 3) {
  table <- dictionary_posterior(x)
  top <- utils::head(order(-table$share), most)
  show <- function(v) format(round(v, 2), nsmall = 2)
  paste0(
    "  kernel:       dictionary of ", nrow(table), ", by share of centres:\n",
    paste0(
      "    ", show(table$share[top]), " (sd ", show(table$share_sd[top]), ")  ",
      vapply(table$kernel[top], shorten, "", most = 54), "\n",
      collapse = ""
    )
  )
}

print_dictionary <- function(fit, digits) {
  table <- dictionary_posterior(fit)
  table$kernel <- vapply(table$kernel, shorten, "", most = 36)
  figures <- c("centres", "centres_sd", "probability", "share", "share_sd")
  table[figures] <- lapply(table[figures], round, digits)
  print(table[c("kernel", figures)], digits = digits, row.names = FALSE)
}

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
