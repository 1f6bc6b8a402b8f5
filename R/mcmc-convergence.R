# Chains that continue until they have converged: the thresholds, and the loop
# of update(until = ).

#' Criteria for convergence of chains
#'
#' Thresholds for `update(fit, until = convergence())`, see
#' [update.kb_mcmc()]. Chains have converged when R-hat of every quantity of
#' `diagnostics(fit)$convergence` is at most `rhat`, and both its effective
#' sample sizes, of the bulk and of the tails, are at least `ess`.
#'
#' The defaults are those of Vehtari and others (2021), who take 400 for four
#' chains. A lower `rhat` and a larger `ess` need longer chains: the Monte Carlo
#' error of a mean is about the posterior standard deviation divided by the
#' square root of `ess`. Quantities whose draws are all equal are ignored,
#' unless this is true of all quantities.
#'
#' With `error` only what is read counts: predictions, and the parameters that
#' `print()` and `summary()` show, such as coefficients, noise and standard
#' deviations of groups. The Monte Carlo error of a posterior mean comes from the
#' means of the C chains, sd / sqrt(C), or of their halves, whichever is larger; with
#' fewer than four chains from those of four parts or more. That of predictions is
#' the root mean square over f (for several classes the probabilities) at 20 rows,
#' each relative to its posterior standard deviation. Without a fixed length [bark()]
#' aims at an error of 0.25; with any length `print()` says "converged", and no
#' warning is given, up to 0.3.
#'
#' A run that is stopped because its diagnostics look good is slightly biased (Cowles,
#' Roberts and Rosenthal, 1999). The bias vanishes as the required effective sample size
#' grows (Glynn and Whitt, 1992), and is smaller with few checks
#' doubles between them.
#' @param rhat Largest R-hat, above 1.
#' @param ess Smallest effective sample size of all chains together, above 0.
#' @param max_iter Largest number of iterations of each chain after the warmup,
#'   including those that the fit has, at least 1.
#' @param error `NULL`, or the largest Monte Carlo error of predictions and
#'   parameters in posterior standard deviations, above 0: then `rhat` and `ess`
#'   do not count.
#' @return A list of class `kb_convergence`.
#' @references
#' Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Buerkner, P.-C.
#' (2021). Rank-normalization, folding, and localization: an improved R-hat for
#' assessing convergence of MCMC. *Bayesian Analysis* 16(2), 667-718.
#'
#' Cowles, M. K., Roberts, G. O. and Rosenthal, J. S. (1999). Possible biases
#' induced by MCMC convergence diagnostics. *Journal of Statistical Computation
#' and Simulation* 64(1), 87-104.
#'
#' Glynn, P. W. and Whitt, W. (1992). The asymptotic validity of sequential
#' stopping rules for stochastic simulations. *Annals of Applied Probability*
#' 2(1), 180-198.
#' @seealso [update.kb_mcmc()], [update.kb_kgs()], [diagnostics()]
#' @examples
#' convergence()
#' data <- sim_sinc(50, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2), method = "mcmc",
#'   control = mcmc_control(chains = 2, iter = 200), seed = 1
#' )
#' # Without a check of convergence 200 iterations, and with one:
#' diagnostics(fit)
#' fit <- update(fit, until = convergence(rhat = 1.02, ess = 300))
#' # The means of predictions to a tenth of their standard deviations:
#' fit <- update(fit, until = convergence(error = 0.1))
#' diagnostics(fit)
#' @export
convergence <- function(rhat = 1.01, ess = 400, max_iter = 1e5, error = NULL) {
  structure(
    list(
      rhat = check_number(rhat, 1, open = TRUE),
      ess = check_number(ess, 0, open = TRUE),
      max_iter = check_count(max_iter, 1),
      error = if (!is.null(error)) check_number(error, 0, open = TRUE)
    ),
    class = "kb_convergence"
  )
}

#' @export
print.kb_convergence <- function(x, ...) {
  check_no_dots(...)
  cat("<convergence>\n", paste0("  ", goal_words(x), "\n"),
    "  at most ", format(x$max_iter, big.mark = ","),
    " iterations of each chain\n",
    sep = ""
  )
  invisible(x)
}

goal_words <- function(until) {
  if (is.null(until$error)) {
    return(paste0(
      "R-hat at most ", format(until$rhat), ", effective sample size at least ",
      format(until$ess)
    ))
  }
  paste0(
    "Monte Carlo error of predictions, and of parameters shown, at most ",
    format(100 * until$error), "% of the posterior sd"
  )
}

check_until <- function(until) {
  if (!is.null(until)) {
    check_class(until, "kb_convergence", "NULL or `convergence()`")
  }
}

#' Run chains to their end, and then until they have converged
#'
#' Chains are resumable, so that the draws are those of one run of the same
#' length.
#' @param iter Iterations between checks, or NULL: as many as there are
#'   already.
#' @noRd
run_until <- function(fit, until, iter, progress, started, time_limit) {
  if (is.null(time_limit)) time_limit <- fit$control$time_limit
  left <- function() time_limit - (now() - started)
  most <- min(until$max_iter, .Machine$integer.max - fit$control$warmup)
  since <- started
  repeat {
    run <- advance_fit(
      fit, progress, since, max(time_limit - (since - started), 0)
    )
    fit <- run$fit
    since <- now()
    unmet <- unmet_convergence(fit, until)
    over <- run$interrupted || left() <= 0 || !is_complete(fit) ||
      fit$control$iter >= most
    if (over || nrow(unmet) == 0) break
    step <- if (is.null(iter)) fit$control$iter else iter
    longer <- as.double(fit$control$iter) + step
    fit$control$iter <- as.integer(min(longer, most))
  }
  warn_status(fit)
  inform_memory(fit)
  if (nrow(unmet) > 0) {
    warn_unmet(fit, until, unmet, run$interrupted)
  } else if (is_complete(fit)) {
    inform_short(fit)
  }
  fit
}

# The rows of `chain_mixing()` that do not meet the goal
unmet_convergence <- function(fit, until) {
  if (all(draws_in(fit) == 0)) {
    return(data.frame())
  }
  table <- chain_mixing(fit)
  if (is.null(until$error)) {
    return(beyond_thresholds(table, until))
  }
  beyond_reading(table, until)
}

# What users read: predictions, judged together, and each parameter that print()
# shows
beyond_reading <- function(table, until) {
  kind <- watched_kind(table$variable)
  error <- ifelse(kind == "f", prediction_error(table), table$error)
  beyond <- is.na(error) | error > until$error
  table[beyond & kind %in% c("f", "parameter") & !table$constant, ]
}

# Root mean square over the watched predictions, in posterior standard
# deviations; NA if there are none that vary
prediction_error <- function(table) {
  of_f <- watched_kind(table$variable) == "f" & !table$constant
  if (any(of_f)) sqrt(mean(table$error[of_f]^2)) else NA_real_
}

# The tails of a discrete quantity may be a single value, which has no effective
# sample size. Few draws have no R-hat.
beyond_thresholds <- function(table, until) {
  beyond <- is.na(table$rhat) | table$rhat > until$rhat |
    is.na(table$ess_bulk) | table$ess_bulk < until$ess |
    !is.na(table$ess_tail) & table$ess_tail < until$ess
  table[beyond & (!table$constant | all(table$constant)), ]
}

warn_unmet <- function(fit, until, unmet, interrupted) {
  why <- if (interrupted) {
    "interrupted"
  } else if (fit$control$iter >= until$max_iter && is_complete(fit)) {
    "the most that {.arg max_iter} allows"
  } else {
    "out of time"
  }
  done <- min(draws_in(fit)) * fit$control$thin
  kb_warn(c(
    "The chains have not converged.",
    x = paste0("They ended after {done} iterations: ", why, "."),
    unmet_bullets(fit, until, unmet),
    i = paste0("Required: ", goal_words(until), "."),
    i = "{.code update(fit, until = )} continues.",
    i = mixing_advice(fit, unmet$variable)
  ), "convergence", variables = unmet$variable)
}

# Lines of a warning: predictions together and the worst parameters, or the worst
# of all quantities
unmet_bullets <- function(fit, until, unmet) {
  by_error <- !is.null(until$error)
  of_f <- by_error & watched_kind(unmet$variable) == "f"
  rest <- if (by_error) unmet[order(-unmet$error), ] else worst_first(unmet)
  rest <- rest[!rest$variable %in% unmet$variable[of_f], ]
  worst <- utils::head(rest, 5)
  more <- nrow(rest) - nrow(worst)
  c(
    if (any(of_f)) {
      error <- prediction_error(chain_mixing(fit))
      c(x = paste0("Predictions: ", error_words(error), "."))
    },
    if (nrow(worst) > 0) mixing_bullets(fit, worst, by_error),
    if (more > 0) c(x = paste("and", more, "more"))
  )
}

error_words <- function(error) {
  percent <- vapply(100 * error, format, "", digits = 2)
  paste("Monte Carlo error", ifelse(is.na(error), "not known",
    paste0(percent, "% of the posterior sd")
  ))
}
