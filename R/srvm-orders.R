# Effect of the order of the rows: order_spread().

#' Spread of the results over orders of the rows
#'
#' `order_spread(fit)` processes a fit's rows again in random orders. The posterior
#' and the evidence do not depend on the order: differences are Monte Carlo error,
#' including error that a single run cannot detect.
#'
#' Every order is one run with the fit's frozen settings and its control, with its
#' own random numbers, on [workers][kb_workers] if there are any. The `time_limit`
#' applies to all of them together; `checkpoint` and `ancestry` are ignored. The
#' printed range of the ratio of standard deviations, of the log evidence over orders
#' and as `mc_se` says, is the central 95%.
#' @param object A fit of [srvm()].
#' @param orders Number of random orders, at least 2.
#' @param newdata New predictors in the form given to the fit, as in
#'   [`predict()`][predict.kb_srvm]; `NULL`: the training rows.
#' @param seed Whole number that determines the orders and every draw; `NULL`
#'   takes one from R's generator.
#' @param progress Show a progress bar? `NULL`: in interactive sessions.
#' @param x,digits For `print()` and `plot()`: the object and the number of
#'   digits.
#' @inheritParams label_noise
#' @return A list of class `kb_order_spread`:
#' * `orders`: data frame with one line per order: `order` (its number),
#'   `log_evidence` and `mc_se` (as in [evidence()]), posterior means `k` and
#'   `sigma` (in units of the response), and `ess_fraction` at the last row.
#' * `sd_log_evidence`: standard deviation of the log evidence over orders;
#'   `rms_mc_se`: root mean square of the standard errors (`NA` if the mean of
#'   the estimated variances is negative).
#' * `predictions`: matrix, rows x orders, of posterior means of f in units of
#'   the response (`NA` for rows of `newdata` with missing values);
#'   `rms_spread`: root mean square over rows of their standard deviation over
#'   orders.
#' * `n` (rows), `asked` (orders requested), `seed` and `status` (`"complete"`,
#'   `"interrupted"` or `"time_limit"`).
#'
#' `plot()` draws the log evidence of each order with bars of one `mc_se`, and
#' returns its argument invisibly, like `print()`.
#' @seealso [evidence()] for the error estimated by one run, and
#'   `smc_control(replicates = )` for independent runs in one order.
#' @examples
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.2), seed = 1)
#' spread <- order_spread(fit, orders = 5, seed = 2)
#' spread
#' plot(spread)
#' @export
order_spread <- function(object, orders = 10, newdata = NULL, seed = NULL,
                         progress = NULL, ...) {
  check_no_dots(...)
  if (missing(object) || !inherits(object, "kb_srvm")) {
    not_defined("order_spread", object)
  }
  if (inherits(object, "kb_srvm_mcmc")) {
    refuse_batch("order_spread()", "The batch sampler uses all rows at once")
  }
  object <- checked_fit(object)
  fit_runs(object)
  refuse_where(object, "order_spread", "dropped_rows")
  orders <- check_size(orders, 2,
    each = 50 * object$control$particles + stats::nobs(object)
  )
  progress <- check_progress(progress)
  at <- prediction_rows(object, newdata, NULL, is.null(newdata), FALSE)
  fit <- unordered_fit(object, draw_seed(seed))
  engine <- orders_engine(fit, orders)
  states <- vector("list", orders * n_kernels(fit$settings))
  keep_run({
    out <- tryCatch(
      run_engine(engine, states, fit$control, progress),
      "C++Error" = function(error) refuse_sampler(error)
    )
    gather_orders(fit, engine, out, at)
  })
}

# From the value of the loop to the spread over the finished orders
gather_orders <- function(fit, engine, out, at) {
  fit$runs <- out$states
  done <- which(replicate_times(fit) == fit$time)
  groups <- run_groups(fit)
  asked <- length(groups)
  report_orders(out$status, length(done), asked)
  fits <- lapply(done, function(i) {
    fit$sequence <- engine$orders[[i]]
    fit$runs <- out$states[groups[[i]]]
    sealed(fit)
  })
  new_order_spread(fits, done, at, asked, out$status)
}

# The fit whose rows are processed again: the processed rows, without their
# order
unordered_fit <- function(fit, seed) {
  rows <- training_rows(fit)
  fit$data <- pick_data(fit$data, rows)
  fit$sequence <- seq_along(rows)
  fit$seed <- seed
  fit$control$replicates <- 1L
  fit$control["checkpoint"] <- list(NULL)
  fit$control$ancestry <- "summary"
  fit
}

# The engine of a fit with an order of the rows for each run
orders_engine <- function(fit, orders) {
  engine <- fit_engine(fit)
  n <- fit$time
  engine$orders <- with_local_seed(
    fit$seed, lapply(seq_len(orders), function(i) sample.int(n))
  )
  class(engine) <- c("kb_engine_orders", class(engine))
  engine
}

# Each of its runs is new
#' @export
engine_hold.kb_engine_orders <- function(engine, index, handle, state) NULL

#' @export
engine_open.kb_engine_orders <- function(engine, index, state) {
  kernels <- n_kernels(engine$config)
  rows <- engine$orders[[(index - 1) %/% kernels + 1]]
  engine$x <- engine$x[rows, , drop = FALSE]
  engine$y <- engine$y[rows, , drop = FALSE]
  engine_open.kb_engine_srvm(engine, index, state)
}

# Report that only some orders are finished, or none
report_orders <- function(status, done, orders) {
  if (status == "complete") {
    return(invisible())
  }
  if (done == 0) refuse_stop("before the first order was finished", status)
  kb_warn(c(
    "Stopped before all orders were finished: {stop_words[[status]]}.",
    i = "The result uses only {done} of {orders} orders."
  ), status)
}

#' @param fits The fits of the finished orders.
#' @param at The rows at which to predict, from `prediction_rows()`.
#' @noRd
new_order_spread <- function(fits, done, at, asked, status) {
  x <- at$x[at$complete, , drop = FALSE]
  predictions <- vapply(fits, function(fit) {
    srvm_mean(fit, x, srvm_pool(fit))
  }, numeric(nrow(x)))
  predictions <- matrix(predictions, nrow(x), length(fits))
  lines <- do.call(rbind, Map(order_line, fits, done))
  variance <- vapply(fits, function(fit) {
    mean_variance(fit$runs, run_log_prior(fit, fit$runs))
  }, 0)
  structure(
    list(
      orders = lines, sd_log_evidence = stats::sd(lines$log_evidence),
      rms_mc_se = standard_error(mean(variance)),
      predictions = spread_rows(predictions, at$complete),
      rms_spread = sqrt(mean(apply(predictions, 1, stats::var))),
      n = fits[[1]]$time, asked = asked, seed = fits[[1]]$seed, status = status
    ),
    class = "kb_order_spread"
  )
}

order_line <- function(fit, order) {
  z <- evidence(fit)
  k <- model_size(fit)
  data.frame(
    order = order, log_evidence = z$log_evidence, mc_se = z$mc_se,
    k = sum(k$k * k$probability), sigma = stats::sigma(fit),
    ess_fraction = utils::tail(ess(fit)$fraction, 1)
  )
}

# Methods ----------------------------------------------------------------------

#' @rdname order_spread
#' @export
print.kb_order_spread <- function(x, digits = 3, ...) {
  check_no_dots(...)
  show <- function(v) format(v, digits = digits)
  range_of <- function(v) {
    paste(vapply(range(v), show, ""), collapse = " to ")
  }
  m <- nrow(x$orders)
  cat(
    "Spread over ", m, " random ", if (m == 1) "order" else "orders",
    if (m < x$asked) paste0(" (of ", x$asked, " requested)"), " of ", x$n,
    if (x$n == 1) " row" else " rows", "\n",
    "  log evidence: ", range_of(x$orders$log_evidence), ", sd ",
    show(x$sd_log_evidence), " (mc_se ", show(x$rms_mc_se), ")\n",
    "  predictions:  sd ", show(x$rms_spread),
    " over orders (root mean square over rows)\n",
    "  centres:      ", range_of(x$orders$k), " on average\n",
    "  noise sd:     ", range_of(x$orders$sigma), "\n",
    "  ESS:          ", range_of(100 * x$orders$ess_fraction), "%\n",
    sep = ""
  )
  cat(strwrap(spread_in_words(x), width = 78), sep = "\n")
  invisible(x)
}

# Does the spread of log evidence agree with mc_se? (S39)
spread_in_words <- function(x) {
  ratio <- x$sd_log_evidence / x$rms_mc_se
  if (is.na(ratio)) {
    return(paste(
      "The spread of log evidence cannot be compared with mc_se:",
      if (nrow(x$orders) < 2) "one order has none." else "there is no mc_se."
    ))
  }
  df <- nrow(x$orders) - 1
  limits <- sqrt(stats::qchisq(c(0.025, 0.975), df) / df)
  verdict <- if (ratio > limits[[2]]) {
    "is larger than mc_se"
  } else if (ratio < limits[[1]]) {
    "is smaller than mc_se"
  } else {
    "is in line with mc_se"
  }
  paste0(
    "The spread of log evidence over orders ", verdict, ": their ratio is ",
    format(ratio, digits = 2), ", where ", format(limits[[1]], digits = 2),
    " to ", format(limits[[2]], digits = 2), " is expected.",
    if (ratio > limits[[2]]) {
      " Trust the spread, and raise `particles` or `n_moves`."
    }
  )
}

#' @rdname order_spread
#' @export
plot.kb_order_spread <- function(x, ...) draw_picture(spread_picture(x), x, ...)

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_order_spread <- autoplot_of(plot.kb_order_spread)

spread_picture <- function(x) {
  z <- x$orders$log_evidence
  se <- ifelse(is.na(x$orders$mc_se), 0, x$orders$mc_se)
  at <- x$orders$order
  new_picture(panel(
    "order", "log evidence",
    rule_layer(y = mean(z), label = "mean"),
    ranges_layer(at, z - se, z + se,
      colour = "sky", lwd = 5, label = "one Monte Carlo error"
    ),
    points_layer(at, z, size = 1, label = "log evidence"),
    xlim = c(0.5, x$asked + 0.5), ticks = "whole"
  ))
}
