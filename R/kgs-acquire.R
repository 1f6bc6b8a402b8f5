# Active learning: which points to label next.

#' Choose points to label
#'
#' `acquire(fit, pool, n = 3)` scores the rows of a pool of unlabelled points by how
#' informative their labels would be, and chooses the best, one at a time.
#' @section The criteria:
#' All increase with the uncertainty of a label. With p the probabilities of a
#' point's recorded label and H the entropy, in nats:
#' * `"bald"`: H(p) minus the posterior mean of the entropy of the label given
#'   f, which is the information of the label about f at that point (Houlsby and
#'   others, 2011). Label noise and the nugget add no information.
#' * `"entropy"`: H(p), as in the paper, but for the recorded label.
#' * `"margin"`: 1 minus the difference of the probabilities of the two most
#'   probable true classes.
#'
#' Without a nugget and with one noise rate for all classes, the first two
#' differ by a constant and choose the same points.
#' @section Diverse batches:
#' With `diverse = TRUE` the points already chosen are taken into account: a point's
#' score is multiplied by the share of the variance of its label's probability that
#' would remain given recorded labels of the chosen points, in the Gaussian
#' approximation to joint draws of all labels (as in [transduce()], from at most 1000
#' draws; Kulesza and Taskar, 2012). This is a cheap substitute for the joint
#' information of Kirsch and others (2019). Only the `max(1000, n)` rows with the
#' best individual scores can be chosen.
#' @param fit A fit of [kgs()].
#' @param pool Unlabelled points: predictors in the shape that the fit was
#'   given. Rows with missing values are never chosen.
#' @param n Number of rows to choose, at most the number of complete rows.
#' @param criterion `"bald"`, `"entropy"` or `"margin"`.
#' @param diverse Take the points already chosen into account?
#' @param complement Include the variance of f at a new point given its values
#'   at training points, see [predict.kb_kgs()]?
#' @param ... Not used: unknown arguments are errors.
#' @return A data frame with `n` rows in the order of choice: `row`, the number
#'   of the row in `pool`, and `score`, in non-increasing order; with `diverse`
#'   the reduced score when the row was chosen.
#' @references
#' Houlsby, N., Huszar, F., Ghahramani, Z. and Lengyel, M. (2011). Bayesian
#' active learning for classification and preference learning.
#' arXiv:1112.5745.
#'
#' Kulesza, A. and Taskar, B. (2012). Determinantal point processes for machine
#' learning. *Foundations and Trends in Machine Learning* 5, 123-286.
#'
#' Kirsch, A., van Amersfoort, J. and Gal, Y. (2019). BatchBALD: efficient and
#' diverse batch acquisition for deep Bayesian active learning. *Advances in
#' Neural Information Processing Systems* 32.
#' @seealso [`update()`][update.kb_kgs] to add the new labels.
#' @examples
#' moons <- sim_moons(100, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons[1:20, ],
#'   kernel = kernel_gaussian(0.5), seed = 1
#' )
#' acquire(fit, moons[21:100, ], n = 3)
#' @export
acquire <- function(fit, ...) UseMethod("acquire")

#' @export
acquire.default <- function(fit, ...) not_defined("acquire", fit)

#' @rdname acquire
#' @export
acquire.kb_kgs <- function(fit, pool, n = 1,
                           criterion = c("bald", "entropy", "margin"),
                           diverse = TRUE, complement = NULL, ...) {
  fit <- checked_fit(fit, ...)
  if (missing(pool)) {
    kb_abort("{.arg pool} must be given: the points to choose from.",
      "argument", argument = "pool"
    )
  }
  criterion <- check_choice(criterion, c("bald", "entropy", "margin"))
  diverse <- check_flag(diverse)
  complement <- check_complement(complement, fit)
  rows <- mould_forge(fit$mould, pool, arg = "pool")
  complete <- which(rows$complete)
  if (length(complete) == 0) {
    kb_abort("{.arg pool} has no complete row.", "missing", argument = "pool")
  }
  n <- check_count(n, 1, length(complete))
  x <- rows$x[complete, , drop = FALSE]
  score <- acquisition_score(fit, x, criterion, complement)
  best <- order(score, decreasing = TRUE)
  if (!diverse || n == 1) {
    best <- best[seq_len(n)]
    return(data.frame(row = complete[best], score = score[best]))
  }
  best <- utils::head(best, max(1000, n))
  x <- x[best, , drop = FALSE]
  chosen <- diverse_batch(
    score[best], n, label_spread(fit, x, complement), distinct_rows(x)$kind
  )
  data.frame(row = complete[best[chosen$row]], score = chosen$score)
}

# Scores -----------------------------------------------------------------------

# Scores of ?acquire: (G21) and its parts.
acquisition_score <- function(fit, x, criterion, complement) {
  p <- kgs_probability(fit, x, complement, recorded = criterion != "margin")
  switch(criterion,
    bald = pmax(entropy_of(p) - entropy_given_f(fit, x, complement), 0),
    entropy = entropy_of(p), margin = margin_score(p)
  )
}

margin_score <- function(p) {
  sorted <- apply(p, 1, sort, decreasing = TRUE)
  1 - (sorted[1, ] - sorted[2, ])
}

# Mean entropy of the noisy label given f
entropy_given_f <- function(fit, x, complement) {
  pool <- posterior_pool(fit)
  cells <- length(pool$weights) * fit$settings$classes
  blocks <- lapply(row_blocks(x, cells), function(rows) {
    p <- class_given_function(fit, x[rows, , drop = FALSE], pool, complement)
    p <- noisy_draws(fit, p, pool)
    rowMeans(matrix(entropy_of(matrix(p, ncol = dim(p)[[3]])), length(rows)))
  })
  as.double(unlist(blocks))
}

# Probabilities of classes given f at each point, n x S x C
class_given_function <- function(fit, x, pool, complement) {
  UseMethod("class_given_function")
}

#' @export
class_given_function.kb_kgs <- function(fit, x, pool, complement) {
  f <- marginal_function(fit, x, pool, complement)
  class_given_f(fit, f, complement)
}

# The same where f is known at all points together
class_given_joint <- function(fit, x, pool, complement) {
  UseMethod("class_given_joint")
}

#' @export
class_given_joint.kb_kgs <- function(fit, x, pool, complement) {
  f <- joint_function(fit, x, pool, seq_along(pool$weights), complement)
  class_given_f(fit, f, complement)
}

# Entropies of the rows, in nats
entropy_of <- function(p) {
  terms <- p * log(p)
  terms[p == 0] <- 0
  -rowSums(terms)
}

# Functions at points, separately for each point and without nugget: n x S x
# functions
marginal_function <- function(fit, x, pool, complement) {
  features <- kgs_features(fit, x)
  f <- kgs_function(fit, features, pool)
  if (!complement) {
    return(f)
  }
  left <- complement_variance(fit, x, features) - fit$settings$nugget
  size <- dim(f)
  with_local_seed(fit$seed, {
    length <- sqrt(stats::rchisq(size[[2]], kgs_dimension(fit)))
    f * rep(length, each = size[[1]]) +
      rep_len(sqrt(pmax(left, 0)), size[[1]]) * stats::rnorm(length(f))
  })
}

# Probabilities of classes given the functions, n x S x C: only each point's own
# term is unknown
class_given_f <- function(fit, f, complement) {
  nugget <- if (complement) fit$settings$nugget else 0
  if (nugget == 0) {
    label <- largest_function(f)
    classes <- seq_len(fit$settings$classes)
    return(vapply(classes, function(c) label == c, label > 0) + 0)
  }
  if (dim(f)[[3]] > 1) {
    return(largest_given_mean(f, sqrt(nugget)))
  }
  p <- stats::pnorm(matrix(f, nrow(f)) / sqrt(nugget))
  array(c(1 - p, p), c(dim(p), 2))
}

#' Probabilities that each of the functions is largest, which are independent
#' and normal
#' @param mean Array n x S x functions.
#' @param sd Their standard deviation.
#' @noRd
largest_given_mean <- function(mean, sd) {
  size <- dim(mean)
  rule <- normal_quadrature(15)
  out <- array(0, size)
  for (c in seq_len(size[[3]])) {
    for (node in seq_along(rule$at)) {
      below <- rule$weight[[node]]
      for (other in seq_len(size[[3]])[-c]) {
        ahead <- (mean[, , c] - mean[, , other]) / sd
        below <- below * stats::pnorm(rule$at[[node]] + ahead)
      }
      out[, , c] <- out[, , c] + below
    }
  }
  out / as.double(rowSums(out, dims = 2))
}

# Nodes and weights for expectations under the standard normal distribution,
# from the Jacobi matrix of the Hermite polynomials (Golub and Welsch, 1969)
normal_quadrature <- function(n) {
  jacobi <- matrix(0, n, n)
  above <- cbind(seq_len(n - 1), seq_len(n)[-1])
  jacobi[above] <- jacobi[above[, 2:1]] <- sqrt(seq_len(n - 1))
  axes <- eigen(jacobi, symmetric = TRUE)
  list(at = axes$values, weight = axes$vectors[1, ]^2)
}

# Batches ----------------------------------------------------------------------

#' How noisy labels vary jointly
#' @return List: `deviation`, whose rows' inner products are the covariances of
#'   the labels' probabilities between joint draws of f (summed over classes),
#'   and `noise`, the variances of the labels where f is known.
#' @noRd
label_spread <- function(fit, x, complement, most = 1000) {
  pool <- posterior_pool(fit)
  size <- length(pool$weights)
  chosen <- spread_over(size, min(size, most))
  pool <- pool_subset(pool, chosen)
  p <- noisy_draws(fit, class_given_joint(fit, x, pool, complement), pool)
  deviation <- sweep(p, c(1, 3), apply(p, c(1, 3), mean))
  list(
    deviation = matrix(deviation, nrow(x)) / sqrt(length(chosen)),
    noise = rowSums(p * (1 - p)) / length(chosen)
  )
}

#' Choose rows one after the other, given those before: (G22)
#'
#' A Cholesky factorisation of the labels' covariances, one column per chosen
#' label: what is left on the diagonal is the variance given the labels chosen.
#' @param kind Equal points have equal numbers.
#' @return List of `row` and `score`.
#' @noRd
diverse_batch <- function(score, n, spread, kind) {
  whole <- left <- rowSums(spread$deviation^2)
  root <- matrix(0, length(score), n)
  row <- integer(n)
  value <- numeric(n)
  open <- rep(TRUE, length(score))
  for (i in seq_len(n)) {
    share <- ifelse(whole > 0, left / whole, 1)
    now <- ifelse(open, score * share, -Inf)
    now[open & kind %in% kind[row]] <- 0
    row[[i]] <- which.max(now)
    value[[i]] <- now[[row[[i]]]]
    open[[row[[i]]]] <- FALSE
    root[, i] <- covariance_column(spread, root, row[[i]], left)
    left <- pmax(left - root[, i]^2, 0)
  }
  list(row = row, score = value)
}

# The next column of the factor, (G22): covariances with label j given those
# before, over its standard deviation
covariance_column <- function(spread, root, j, left) {
  sd <- sqrt(left[[j]] + spread$noise[[j]])
  if (sd == 0) {
    return(0)
  }
  covariance <- spread$deviation %*% spread$deviation[j, ] -
    root %*% root[j, ]
  as.double(covariance) / sd
}
