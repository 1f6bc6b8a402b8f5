# Simulated classes with a known truth, for examples, tests and experiments.

#' Simulate the classes inside and outside of a circle
#'
#' Independent predictors, uniform on \[-1, 1\], and two classes: `"1"` where
#' \eqn{x_1^2 + x_2^2 \le 2 / \pi}{x1^2 + x2^2 <= 2 / pi}, `"0"` elsewhere.
#' The circle covers half of the square, so that both classes have probability
#' 1/2. There is no noise, and all predictors beyond the first two have no
#' effect.
#'
#' Ouyang, Clyde and Wolpert (2008) use `p` of 2, 5 and 20.
#'
#' @param n Number of rows, at least 1.
#' @param p Number of predictors, at least 2.
#' @template args-seed
#'
#' @return A data frame of `n` rows with the columns `x1`, ..., `xp` and `y`, a
#'   factor with levels `"0"` and `"1"`.
#' @section Errors: An argument outside its range is an error of class
#'   `kb_error_argument`.
#' @references
#' Ouyang, Z., Clyde, M. A. and Wolpert, R. L. (2008). *Bayesian additive
#' regression kernels*. Department of Statistical Science, Duke University.
#' @examples
#' d <- sim_circle(200, seed = 1)
#' plot(x2 ~ x1, d, col = d$y, asp = 1)
#' @export
sim_circle <- function(n, p = 2, seed = NULL) {
  n <- check_size(n, 1, each = 4)
  p <- check_size(p, 2, each = 2 * n)
  with_local_seed(seed, {
    x <- matrix(stats::runif(as.double(n) * p, -1, 1), n, p)
    colnames(x) <- paste0("x", seq_len(p))
    data.frame(x, y = two_classes(x[, 1]^2 + x[, 2]^2 <= 2 / pi))
  })
}

# Both levels, even if only one of them occurs
two_classes <- function(positive) {
  factor(as.integer(positive), levels = c("0", "1"))
}

#' Labels after flips, which come last: a seed gives the same predictors, and
#' nested sets of flips, whatever `flips` is
#' @param truth Add the labels before the flips?
#' @noRd
flip_labels <- function(positive, flips, truth) {
  flipped <- stats::runif(length(positive)) < flips
  out <- data.frame(y = two_classes(xor(positive, flipped)))
  if (truth) out$clean <- two_classes(positive)
  out
}

#' Simulate two half-moons
#'
#' Two interleaved half-circles, one class each, with Gaussian noise on the
#' points and flips of the labels.
#'
#' With t uniform on \[0, pi\], independently for each row, and k the class
#' before flips,
#'
#' - `k = 0`: `(x1, x2) = scale (cos t, sin t) + e`,
#' - `k = 1`: `(x1, x2) = scale (1 - cos t, 1/2 - sin t) + e`,
#'
#' where the two components of e are independent Gaussian noise. The classes
#' have equal numbers of rows, `"0"` one more if `n` is odd, in random order.
#'
#' At the default `sd` and `scale` and without flips the moons overlap: the best
#' classifier is wrong for 7.5% of new points.
#'
#' @param n Number of rows, at least 1.
#' @param sd Standard deviation of the noise in each coordinate, at least 0, in
#'   units of x1 and x2: `scale` does not multiply it.
#' @template args-flips
#' @param scale Radius of the moons, above 0, in units of x1 and x2.
#' @template args-seed
#' @template args-truth-classes
#'
#' @return A data frame of `n` rows with the columns `x1`, `x2` and `y`, a
#'   factor with levels `"0"` and `"1"`; with `truth` also `clean`, the same
#'   before flips.
#' @section Errors: An argument outside its range is an error of class
#'   `kb_error_argument`.
#' @examples
#' d <- sim_moons(76, flips = 0.05, seed = 1, truth = TRUE)
#' plot(x2 ~ x1, d, col = d$y, pch = ifelse(d$y == d$clean, 1, 4), asp = 1)
#' @export
sim_moons <- function(n, sd = 0.45, flips = 0, scale = 1.6, seed = NULL,
                      truth = FALSE) {
  n <- check_size(n, 1, each = 6)
  sd <- check_number(sd, 0)
  flips <- check_number(flips, 0, 1)
  truth <- check_flag(truth)
  scale <- check_number(scale, 0, open = TRUE)
  with_local_seed(seed, {
    k <- rep_len(0:1, n)[sample.int(n)]
    t <- stats::runif(n, 0, pi)
    side <- 1 - 2 * k
    data.frame(
      x1 = scale * (k + side * cos(t)) + sd * stats::rnorm(n),
      x2 = scale * (k / 2 + side * sin(t)) + sd * stats::rnorm(n),
      flip_labels(k == 1, flips, truth)
    )
  })
}

#' Simulate classes with a quadratic boundary
#'
#' Independent standard Gaussian predictors, and two classes: before flips the
#' class is `"1"` where `x1 + x2 x3 + x4^2 / 2 - 1/2 > 0`, `"0"` elsewhere.
#' All predictors beyond the first four have no effect.
#'
#' Without flips class `"1"` has probability 0.484.
#'
#' @param n Number of rows, at least 1.
#' @param p Number of predictors, at least 4.
#' @template args-flips
#' @template args-seed
#' @template args-truth-classes
#'
#' @return A data frame of `n` rows with the columns `x1`, ..., `xp` and `y`, a
#'   factor with levels `"0"` and `"1"`; with `truth` also `clean`, the same
#'   before flips.
#' @section Errors: An argument outside its range is an error of class
#'   `kb_error_argument`.
#' @examples
#' d <- sim_quadratic(100, flips = 0.05, seed = 1, truth = TRUE)
#' table(d$clean, d$y)
#' @export
sim_quadratic <- function(n, p = 10, flips = 0, seed = NULL, truth = FALSE) {
  n <- check_size(n, 1, each = 4)
  p <- check_size(p, 4, each = 2 * n)
  flips <- check_number(flips, 0, 1)
  truth <- check_flag(truth)
  with_local_seed(seed, {
    x <- matrix(stats::rnorm(as.double(n) * p), n, p)
    colnames(x) <- paste0("x", seq_len(p))
    f <- x[, 1] + x[, 2] * x[, 3] + x[, 4]^2 / 2 - 0.5
    data.frame(x, flip_labels(f > 0, flips, truth))
  })
}

#' Simulate two classes on the sphere
#'
#' Points on the unit sphere in three dimensions, and two classes: before flips
#' the class is `"1"` on the southern half, where `x3 < 0`, and `"0"` elsewhere.
#' This is the linear classifier without a bias whose weights are the south
#' pole, (0, 0, -1).
#'
#' With independent A ~ Beta(a, a) and B ~ Beta(b, b), the longitude is
#' `l = 2 pi A`, the angle from the north pole is `h = pi B`, and
#' `(x1, x2, x3) = (sin h cos l, sin h sin l, cos h)`. Both classes have
#' probability 1/2. A small `b` puts most points next to the poles, far from the
#' boundary: at the default 1.2% of them are the south pole itself to double
#' precision.
#'
#' Figure 4 of Graepel and Herbrich (2001) has the default `a` and `b`,
#' `flips = 0.05`, 100 rows to learn from and 1000 to test.
#'
#' @param n Number of rows, at least 1.
#' @template args-flips
#' @param a,b Shapes of the symmetric Beta distributions of the longitude and of
#'   the angle from the pole, above 0.
#' @template args-seed
#' @template args-truth-classes
#'
#' @return A data frame of `n` rows with the columns `x1`, `x2`, `x3` and `y`, a
#'   factor with levels `"0"` and `"1"`; with `truth` also `clean`, the same
#'   before flips.
#' @section Errors: An argument outside its range is an error of class
#'   `kb_error_argument`.
#' @references
#' Graepel, T. and Herbrich, R. (2001). The kernel Gibbs sampler. *Advances in
#' Neural Information Processing Systems* 13, 514-520.
#' @examples
#' d <- sim_sphere(100, flips = 0.05, seed = 1)
#' plot(x3 ~ x1, d, col = d$y, asp = 1)
#' @export
sim_sphere <- function(n, flips = 0, a = 5, b = 0.1, seed = NULL,
                       truth = FALSE) {
  n <- check_size(n, 1, each = 6)
  flips <- check_number(flips, 0, 1)
  truth <- check_flag(truth)
  a <- check_number(a, 0, open = TRUE)
  b <- check_number(b, 0, open = TRUE)
  with_local_seed(seed, {
    longitude <- 2 * pi * stats::rbeta(n, a, a)
    polar <- pi * stats::rbeta(n, b, b)
    x3 <- cos(polar)
    data.frame(
      x1 = sin(polar) * cos(longitude), x2 = sin(polar) * sin(longitude), x3,
      flip_labels(x3 < 0, flips, truth)
    )
  })
}
