# Methods of kgs fits, apart from predict() and plot().

#' @export
print.kb_kgs <- function(x, digits = 3, ...) {
  cat("Bayesian kernel classification under label noise\n")
  if (all(draws_in(x) == 0)) {
    cat(incomplete_line(x))
    return(invisible(x))
  }
  show <- function(v) format(v, digits = digits)
  cat(
    describe_kgs(x, show),
    describe_noise(x, show),
    "  chains:       ", length(x$runs), ", ",
    counted(x$control$iter, "iteration"), " after ", x$control$warmup, ", ",
    x$settings$method, "\n",
    mixing_line(x, show),
    "  time:         ", format(round(timings(x)$sampler, 3)), " s\n",
    incomplete_line(x),
    sep = ""
  )
  invisible(x)
}

#' The lines of print() on data and features
#' @noRd
describe_kgs <- function(x, show) {
  settings <- x$settings
  counts <- table(x$data$y)
  left <- settings$basis$unexplained
  paste0(
    if (!is.null(x$mould$formula)) {
      paste0("  formula:      ", one_line(x$mould$formula), "\n")
    },
    "  rows:         ", x$time, ", ", counted(ncol(x$data$x), "predictor"),
    if (settings$scale) ", standardised", "\n",
    "  classes:      ", shorten(paste0(
      names(counts), " (", as.vector(counts), ")", collapse = ", "
    )), "\n",
    "  kernel:       ", shorten(format(settings$kernel)), ", bias ",
    show(settings$bias),
    if (settings$nugget > 0) paste0(", nugget ", show(settings$nugget)), "\n",
    "  rank:         ", kgs_rank(x),
    if (left > 1e-6) paste0(", ", show(100 * left), "% unexplained"), "\n"
  )
}

#' The lines of print() on wrong labels
#' @noRd
describe_noise <- function(x, show) {
  chains <- chain_matrices(x)
  range <- function(v) {
    ends <- stats::quantile(v, c(0.05, 0.95), names = FALSE)
    paste0(show(mean(v)), " (", show(ends[[1]]), " to ", show(ends[[2]]), ")")
  }
  rates <- kgs_rate_names(x)
  paste0(
    "  label noise:  ",
    if (length(rates) == 0) {
      show(x$settings$noise$rate)
    } else {
      paste(rates, vapply(chains[rates], range, ""), collapse = ", ")
    },
    "\n  wrong labels: ", range(chains$errors), " of ", x$time, "\n"
  )
}
