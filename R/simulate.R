# Simulated regressions with a known truth, for examples, tests and
# experiments; classes are in R/simulate-classes.R.

#' Simulate the sinc function with noise
#'
#' `n` equally spaced points x, and
#' \eqn{y = \sin(x) / x + \epsilon}{y = sin(x) / x + e} with independent
#' Gaussian noise; sinc(0) is 1.
#'
#' The defaults are those of Vermaak, Godsill and Doucet (2003): 50 points on
#' \[-10, 10\] that arrive in random order, noise of standard deviation 0.1.
#'
#' @param n Number of points, at least 1.
#' @param sd Standard deviation of the noise, at least 0, in units of y.
#' @param order `"random"` puts the rows in random order, `"given"` leaves x
#'   increasing.
#' @template args-seed
#' @param range First and last x, two finite increasing numbers.
#' @template args-truth-function
#'
#' @return A data frame of `n` rows with the columns `x` and `y`; with `truth`
#'   also `f`, the noiseless function.
#' @section Errors: An argument outside its range is an error of class
#'   `kb_error_argument`.
#' @references
#' Vermaak, J., Godsill, S. J. and Doucet, A. (2003). Sequential Bayesian
#' kernel regression. *Advances in Neural Information Processing Systems* 16.
#' @examples
#' d <- sim_sinc(seed = 1, truth = TRUE)
#' plot(y ~ x, d)
#' lines(f ~ x, d[order(d$x), ])
#' @export
sim_sinc <- function(n = 50, sd = 0.1, order = c("random", "given"),
                     seed = NULL, range = c(-10, 10), truth = FALSE) {
  n <- check_size(n, 1, each = 6)
  sd <- check_number(sd, 0)
  order <- check_choice(order, c("random", "given"))
  range <- check_range(range)
  truth <- check_flag(truth)
  with_local_seed(seed, {
    x <- seq(range[[1]], range[[2]], length.out = n)
    if (order == "random") {
      x <- x[sample.int(n)]
    }
    f <- ifelse(x == 0, 1, sin(x) / x)
    with_truth(data.frame(x = x, y = f + sd * stats::rnorm(n)), f, truth)
  })
}

with_truth <- function(data, f, truth) {
  if (truth) data$f <- f
  data
}

check_range <- function(x, arg = rlang::caller_arg(x)) {
  increasing <- is.numeric(x) && length(x) == 2 && all(is.finite(x)) &&
    x[[1]] < x[[2]]
  if (!isTRUE(increasing)) {
    bad_argument(x, arg, "two finite increasing numbers")
  }
  as.double(x)
}

#' Simulate Friedman's regression functions
#'
#' Independent uniform predictors, a function of the first five or four of
#' them, and independent Gaussian noise.
#'
#' 1. `10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5`, predictors uniform
#'    on \[0, 1\], noise of standard deviation 1.
#' 2. `sqrt(x1^2 + (x2 x3 - 1 / (x2 x4))^2)`, noise 125.
#' 3. `atan((x2 x3 - 1 / (x2 x4)) / x1)`, noise 0.1.
#'
#' In 2 and 3 the predictors are uniform on \[0, 100\], `range`, \[0, 1\] and
#' \[1, 11\]. All predictors beyond those in the function are
#' uniform on \[0, 1\] and have no effect.
#'
#' @param n Number of rows, at least 1.
#' @param p Number of predictors: at least 5 for function 1 (default 10), at
#'   least 4 for functions 2 and 3 (default 4).
#' @param which Which function: 1, 2 or 3.
#' @param sd Standard deviation of the noise, at least 0, in units of y.
#' @param range Of x2 in functions 2 and 3, where it is an angular frequency: two
#'   increasing numbers. Ouyang, Clyde and Wolpert (2008) print 40 and 560, the
#'   frequency itself.
#' @template args-seed
#' @template args-truth-function
#'
#' @return A data frame of `n` rows with the columns `x1`, ..., `xp` and `y`;
#'   with `truth` also `f`, the noiseless function.
#' @section Errors: An argument outside its range is an error of class
#'   `kb_error_argument`.
#' @references
#' Friedman, J. H. (1991). Multivariate adaptive regression splines. *Annals of
#' Statistics* 19, 1-67. \doi{10.1214/aos/1176347963}
#' @examples
#' d <- sim_friedman(100, seed = 1)
#' str(d)
#' @export
sim_friedman <- function(n, p = if (which == 1) 10 else 4, which = 1,
                         sd = c(1, 125, 0.1)[[which]],
                         range = c(40, 560) * pi, seed = NULL,
                         truth = FALSE) {
  n <- check_size(n, 1, each = 10)
  which <- check_count(which, 1, 3)
  p <- check_size(p, if (which == 1) 5 else 4, each = 2 * n)
  sd <- check_number(sd, 0)
  range <- check_range(range)
  truth <- check_flag(truth)
  with_local_seed(seed, {
    x <- matrix(stats::runif(as.double(n) * p), n, p)
    if (which > 1) {
      x[, 1] <- 100 * x[, 1]
      x[, 2] <- range[[1]] + diff(range) * x[, 2]
      x[, 4] <- 1 + 10 * x[, 4]
    }
    colnames(x) <- paste0("x", seq_len(p))
    f <- friedman_function(x, which)
    with_truth(data.frame(x, y = f + sd * stats::rnorm(n)), f, truth)
  })
}

friedman_function <- function(x, which) {
  if (which == 1) {
    return(10 * sin(pi * x[, 1] * x[, 2]) + 20 * (x[, 3] - 0.5)^2 +
      10 * x[, 4] + 5 * x[, 5])
  }
  reactance <- x[, 2] * x[, 3] - 1 / (x[, 2] * x[, 4])
  if (which == 2) {
    return(sqrt(x[, 1]^2 + reactance^2))
  }
  atan(reactance / x[, 1])
}
