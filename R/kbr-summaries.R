# Learned summaries of the observations as what kbr() conditions on.

# Learned summaries are tried with more columns than this, on so many pairs.
many_columns <- 10
summary_pairs <- 1000

check_summaries <- function(summaries, observations) {
  if (is.null(summaries) || identical(summaries, "none") ||
    identical(summaries, "learn")) {
    return(summaries)
  }
  if (!inherits(summaries, "kb_kdr")) {
    bad_argument(summaries, "summaries", paste(
      'NULL, "learn", "none" or a result of kdr()'
    ))
  }
  check_object(summaries)
  if (nrow(summaries$directions) != ncol(observations)) {
    kb_abort(c(
      "{.arg summaries} must be of the {ncol(observations)} columns of the
       observations.",
      x = "They are of {nrow(summaries$directions)}."
    ), "dimension", argument = "summaries")
  }
  summaries
}

#' Settings of the summaries, if any
#' @param given Arguments as in `kbr()`.
#' @noRd
choose_summaries <- function(fit, given) {
  wanted <- check_summaries(given$summaries, fit$data$observations)
  if (inherits(wanted, "kb_kdr")) {
    return(with_summaries(fit, wanted))
  }
  if (identical(wanted, "learn")) {
    return(with_summaries(fit, learned_summaries(fit), TRUE))
  }
  if (is.null(wanted) && summaries_possible(fit, given)) {
    return(try_summaries(fit, given))
  }
  fit
}

learned_summaries <- function(fit, k = "auto") {
  kdr(unname(fit$data$states), unname(fit$data$observations), k)
}

#' @param found A result of `kdr()`; `learned`: from the pairs of the fit?
#' @noRd
with_summaries <- function(fit, found, learned = FALSE) {
  fit$settings$summaries <- list(
    directions = found$directions, scaling = found$scaling, learned = learned
  )
  fit$settings$scaling$observations <- scaling_learn(
    summarised(fit, fit$data$observations), factor(), fit$settings$scale
  )
  fit
}

# Observations, or their summaries
summarised <- function(fit, y) {
  by <- fit$settings$summaries
  if (is.null(by)) y else kdr_scaled(by$scaling, y) %*% unname(by$directions)
}

summarised_columns <- function(fit) {
  summary_count(fit$settings$summaries, ncol(fit$data$observations))
}

# A kernel with a bandwidth of its own was chosen for the observations.
summaries_possible <- function(fit, given) {
  fit$settings$method == "adjusted" &&
    ncol(fit$data$observations) > many_columns &&
    inherits(given$kernel_y, "kb_kernel") &&
    kernel_has(given$kernel_y, "median") && takes_any_dimension(given$kernel_y)
}

# Learned summaries if they lower the energy scores of left-out pairs, (K44), by
# more than half the standard error
try_summaries <- function(fit, given) {
  rows <- spread_over(fit$time, min(fit$time, summary_pairs))
  some <- take_pairs(fit, rows)
  found <- learned_summaries(some)
  plain <- trial_adjustment(some, given)
  learned <- trial_adjustment(
    with_summaries(some, found), given, plain$mean$unit
  )
  if (simplest_choice(cbind(plain$left_out, learned$left_out)) == 1) {
    return(fit)
  }
  all <- length(rows) == fit$time
  with_summaries(fit, if (all) found else learned_summaries(fit), TRUE)
}

# For fits to some of the rows: as many, learned from these alone
relearn_summaries <- function(fit) {
  if (!isTRUE(fit$settings$summaries$learned)) {
    return(fit)
  }
  k <- summarised_columns(fit)
  with_summaries(fit, learned_summaries(fit, k), TRUE)
}

trial_adjustment <- function(fit, given, unit = NULL) {
  quietly_kbr({
    fit$features <- list(
      observations = observation_features(fit, given$kernel_y)
    )
    learn_adjustment(fit, unit)
  })
}

summaries_line <- function(fit) {
  if (is.null(fit$settings$summaries)) {
    return(NULL)
  }
  paste0(
    "  summaries:    ", counted(summarised_columns(fit), "direction"),
    " of the observations, see kdr()\n"
  )
}
