# Methods of bark fits, apart from predict() and plot().

#' @export
sigma.kb_bark <- function(object, ...) {
  check_no_dots(...)
  mean(chain_matrices(object)$sigma)
}

#' @export
as_draws.kb_bark <- function(x, ...) {
  check_no_dots(...)
  chains <- chain_matrices(x)
  pool <- bark_pool(x)
  p <- ncol(x$data$x)
  included <- matrix(pool$included, p)
  lambda <- exp(matrix(pool$log_lambda, p)) * included
  draws <- data.frame(lapply(chains, as.vector), check.names = FALSE)
  for (l in seq_len(p)) draws[[paste0("lambda[", l, "]")]] <- lambda[l, ]
  if (startsWith(x$settings$prior$type, "select")) {
    for (l in seq_len(p)) draws[[paste0("delta[", l, "]")]] <- included[l, ]
  }
  draws$.chain <- as.vector(col(chains$J))
  draws$.iteration <- as.vector(row(chains$J))
  posterior::as_draws_df(draws)
}

#' @export
print.kb_bark <- function(x, digits = 3, ...) {
  show <- function(v) format(v, digits = digits)
  chains <- chain_matrices(x)
  mixing <- chain_mixing(x)
  cat(
    "Bayesian additive regression kernels\n",
    if (!is.null(x$mould$formula)) {
      paste0("  formula:   ", one_line(x$mould$formula), "\n")
    },
    "  prior:     ", x$settings$prior$type, "\n",
    "  rows:      ", x$time, ", ", counted(ncol(x$data$x), "predictor"), "\n",
    "  kernels:   ", show(mean(chains$J)), " on average\n",
    "  noise sd:  ", show(mean(chains$sigma)), "\n",
    "  chains:    ", length(x$runs), ", ",
    counted(x$control$iter, "iteration"), " after ", x$control$warmup, "\n",
    "  mixing:    R-hat up to ", show(worst(max, mixing$rhat)), ", ESS from ",
    show(worst(min, mixing$ess_bulk)), "\n",
    "  time:      ", show(timings(x)$sampler), " s\n",
    sep = ""
  )
  invisible(x)
}
