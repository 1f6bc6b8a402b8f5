# The evidence of a bark() fit, from a separate ladder between the prior and the
# posterior.

#' Evidence of Bayesian additive regression kernels
#'
#' `evidence(fit)` computes the log marginal likelihood of a fit's response, with all
#' parameters integrated out. This needs new chains: those of the fit do not
#' determine it.
#'
#' Chains run at `n_temps` rungs between the prior and the posterior, and neighbours
#' exchange their states. With y the response and \eqn{\theta}{theta} all parameters
#' but the coefficients, the rungs of a Gaussian model are \eqn{p(\theta) p(y |
#' \theta)^t}{p(theta) p(y | theta)^t}. For classes and Student-t noise the prior
#' variances of the coefficients are multiplied by t instead. At the lowest rung, t =
#' 0, f is 0, and the density of the response is computed by quadrature if there is
#' noise or there are cut points. The evidence is the product over rungs of the mean
#' of the likelihood ratio of the next rung (stepping stones; Xie and others, 2011).
#' With `approximation = "truncation"` in [bark_prior()] \eqn{\theta}{theta} also
#' includes the coefficients: more rungs or sweeps are needed.
#' @param object A fit of [bark()].
#' @param n_temps Number of steps from the prior to the posterior, at least 1.
#'   Rung k of 0, ..., `n_temps` is at t = (k / `n_temps`)^4. With Student-t
#'   noise and ordered classes it is at t = 10^(10 (k / `n_temps` - 1)), the
#'   first at 0. `NULL`: 20, or 34 in the latter case, where t doubles from rung
#'   to rung.
#' @param warmup,iter Number of sweeps of every rung that are discarded, and
#'   number that are used.
#' @param chains Number of independent ladders.
#' @inheritParams bark
#' @return A list of class `kb_evidence`, as from [evidence()]:
#' * `log_evidence`: log density of the response in its own units, at the rows
#'   of the fit (for a factor, its log probability).
#' * `mc_se`: its Monte-Carlo standard error, by batch means over all rungs
#'   together, 20 batches per ladder.
#' * `replicates`: the estimate of each ladder alone.
#' * `path`: data frame with one line per step: `from` and `to` (values of t),
#'   `log_ratio` (their sum is the log evidence in the units of the model, minus that of
#'   the response with f = 0 if that is the lowest rung) and `swapped` (the fraction of
#'   sweeps in which the rung below exchanged its state with the next; at best 1/2, and
#'   `NA` for the last step).
#' * `note`: `NULL`, or warnings that the ladders differ by more than `mc_se`
#'   suggests, or, with Student-t noise and ordered classes, that neighbouring
#'   rungs hardly exchange their states: then more sweeps or rungs are needed.
#' @section Errors: `kb_error_improper` with an improper prior of the noise. An
#'   interrupt gives the evidence from the sweeps so far, if there are 20 after the
#'   warmup.
#' @references
#' Xie, W., Lewis, P. O., Fan, Y., Kuo, L. and Chen, M.-H. (2011). Improving
#' marginal likelihood estimation for Bayesian phylogenetic model selection.
#' *Systematic Biology* 60, 150-160. \doi{10.1093/sysbio/syq085}
#' @examples
#' data <- sim_sinc(30, seed = 1)
#' settings <- mcmc_control(chains = 2, warmup = 100, iter = 90)
#' fit <- bark(y ~ x, data, control = settings, seed = 1)
#' # Few rungs and sweeps: a first look.
#' evidence(fit, n_temps = 6, warmup = 50, iter = 100, chains = 2, seed = 1)
#' @export
evidence.kb_bark <- function(object, n_temps = NULL, warmup = 200, iter = 1000,
                             chains = 4, seed = NULL, progress = NULL, ...) {
  object <- checked_fit(object, ...)
  refuse_where(object, "evidence",
    "likelihood", "sigma", "improper", "prior_only", "terms"
  )
  engine <- ladder_engine(
    object, if (!is.null(n_temps)) check_count(n_temps, 1),
    check_count(warmup, 0), check_count(iter, 1), draw_seed(seed)
  )
  chains <- check_count(chains, 1)
  progress <- check_progress(progress)
  base <- whole_stage(log_base(object, engine), "the quadrature")
  keep_run({
    run <- run_ladder_engine(engine, chains, progress)
    out <- new_bark_evidence(run, engine$config$rungs, base)
  })
  if (engine$config$family %in% c("student", "ordered")) {
    out$note <- c(out$note, rungs_apart(out$path$swapped))
  }
  out
}

# A note if neighbours hardly exchange their states: between rungs at which f is
# nearly 0 and those at which the data require it
rungs_apart <- function(swapped, least = 0.02) {
  if (all(is.na(swapped) | swapped >= least)) {
    return(NULL)
  }
  paste0(
    "Neighbouring rungs exchanged their states in ",
    format(100 * min(swapped, na.rm = TRUE), digits = 2),
    "% of the sweeps only: they are too far apart, and the error of the ",
    "estimate may exceed mc_se. Use a larger `n_temps`."
  )
}

# The terms missing from the ratios: the units of y, and the density of the
# response at a lowest rung with f = 0, Z_0 of (B62)
log_base <- function(fit, engine) {
  n <- length(engine$y)
  units <- -n * log(fit$settings$scaling$y_scale)
  if (is_multinomial(fit)) {
    return(-n * log(engine$config$fields))
  }
  switch(engine$config$family,
    gaussian = units,
    student = units + student_base(engine), probit = -n * log(2),
    ordered = ordered_base(tabulate(engine$y, engine$config$classes))
  )
}

# The ladder as an engine of run_engine() -------------------------------------

ladder_engine <- function(fit, n_temps, warmup, iter, seed) {
  engine <- fit_engine(fit)
  engine$config$warmup <- warmup
  engine$config$iter <- iter
  engine$config$seed <- seed
  row <- response_families[[bark_response(fit)]]
  engine$config$rungs <- ladder_rungs(row, n_temps)
  class(engine) <- c(class(engine), "kb_engine_ladder")
  engine
}

ladder_rungs <- function(row, n_temps) {
  if (!is.null(n_temps)) {
    check_memory(50 * as.double(n_temps), "The ladder",
      "Use a smaller {.arg n_temps}."
    )
  }
  if (is.null(row$rung_start)) {
    n <- if (is.null(n_temps)) 20 else n_temps
    return((seq(0, n) / n)^row$rung_power)
  }
  n <- if (is.null(n_temps)) 34 else n_temps
  c(0, row$rung_start^(1 - seq_len(n) / n))
}

# Stepping stones -------------------------------------------------------------

#' @param run As of `run_ladder_engine()`.
#' @param base Added to the sum of the log ratios.
#' @noRd
new_bark_evidence <- function(run, rungs, base) {
  steps <- length(rungs) - 1
  ratios <- lapply(run$states, function(state) {
    matrix(state$observed[seq_len(steps * run$sweeps)], steps)
  })
  all <- stepping_stones(ratios)
  each <- vapply(ratios, function(r) stepping_stones(list(r))$total, 0)
  swapped <- Map(
    function(state, done) state$swapped / done, run$states, run$done
  )
  structure(
    list(
      log_evidence = all$total + base, mc_se = all$se,
      replicates = each + base,
      path = data.frame(
        from = rungs[-length(rungs)], to = rungs[-1], log_ratio = all$steps,
        swapped = c(Reduce(`+`, swapped) / length(swapped), NA)
      ),
      note = ladders_differ(each, all$se)
    ),
    class = "kb_evidence"
  )
}

#' The log mean ratio of each step, their sum, and its standard error: (B62)
#' and (B64)
#'
#' Batches hold the same sweeps of all steps, because exchanges make the errors
#' of the steps dependent: the error of the sum is the spread over batches of
#' the sum of relative errors.
#' @param ratios A list of matrices of log ratios, steps x iterations.
#' @noRd
stepping_stones <- function(ratios, batches = 20) {
  top <- Reduce(pmax, lapply(ratios, function(r) apply(r, 1, max)))
  # Where no ratio is positive, the mean is 0.
  top[top == -Inf] <- 0
  iter <- ncol(ratios[[1]])
  batch <- ceiling(seq_len(iter) * min(batches, iter) / iter)
  size <- tabulate(batch)
  means <- do.call(cbind, lapply(ratios, function(r) {
    t(rowsum(t(exp(r - top)), batch)) / rep(size, each = nrow(r))
  }))
  share <- rep(size, length(ratios)) / (iter * length(ratios))
  mean <- drop(means %*% share)
  off <- colSums(means / mean - 1)
  n <- length(off)
  list(
    steps = top + log(mean), total = sum(top + log(mean)),
    se = if (n > 1) sqrt(sum(share * off^2) / (n - 1)) else NA_real_
  )
}

# A note if the ladders differ by more than the standard error of all suggests
#
# Under it, (n - 1) times the variance of the estimates over n mc_se^2 is
# nearly chi-square: after (B64).
ladders_differ <- function(each, se) {
  n <- length(each)
  fine <- n < 2 || is.na(se) ||
    (n - 1) * stats::var(each) <= n * se^2 * stats::qchisq(0.999, n - 1)
  if (isTRUE(fine)) {
    return(NULL)
  }
  paste0(
    "The ladders differ by more than mc_se (standard error from their ",
    "spread: ", format(stats::sd(each) / sqrt(n), digits = 2), "): they have ",
    "not mixed. Use a larger `iter` or `n_temps`."
  )
}
