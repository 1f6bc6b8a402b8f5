#' Predictions of Bayesian kernel classification
#'
#' `predict(fit, newdata)` has the most probable true class. Probabilities are of two
#' kinds: `type = "prob"` is for the label as it will be recorded, right or wrong,
#' which is what scores on labels need, `"true_prob"` for the true class.
#' @param object A fit of [kgs()].
#' @inheritParams predict.kb_srvm
#' @param type What to return, see Value.
#' @param complement Include the variance of f at a new point given its values at
#'   training points, as Gaussian process classification does? `FALSE`: f at a new
#'   point is determined by the span of the training points, as in the paper, which
#'   is overconfident far from them. For `"class"`, `"prob"`, `"true_prob"` and
#'   `"log_score"`. `NULL`: `FALSE` with the sampler `"leapfrog"`, whose nugget
#'   stands for what its points leave out (with `TRUE` the variance is added to the
#'   nugget); `TRUE` with the others.
#' @param reject For `"class"`: the share of the rows to leave undecided (those
#'   with the least certain class, by `"true_prob"`), from 0 to 1.
#' @param threshold For `"class"`: rows whose class has a smaller `"true_prob"`
#'   than this are left undecided.
#' @param ndraws For `"draws"`: the number of draws S, evenly spaced; by default
#'   all kept draws.
#' @return With n the rows of `newdata` and C classes:
#' * `"class"`: a factor of length n, the most probable true class; `NA` where
#'   undecided. With [noise_class()] the most probable label may be another one.
#' * `"prob"`: probabilities of the recorded label, which may be wrong, n x C
#'   with the levels as names.
#' * `"true_prob"`: probabilities of the true class, n x C.
#' * `"vote"`: the share of the draws that vote for each class, n x C.
#' * `"bpm"`: a factor, the class under the Bayes point, the mean of the
#'   directions, see [bayes_point()].
#' * `"link"`: f at the Bayes point, a vector of length n; with more than two
#'   classes n x C.
#' * `"draws"`: draws of f for directions of unit length, S x n, chain by chain;
#'   with more than two classes S x n x C.
#' * `"log_score"`: log probabilities of the given labels, by `"prob"`, a vector
#'   of length n.
#'
#' With two classes and `complement = TRUE` the probability of the true class is
#' exact given each draw: \eqn{T_D(\sqrt{D} f / s)}{T_D(sqrt(D) f / s)} with the
#' distribution function of Student's t, where D is the dimension of the sphere
#' and s^2 the variance given the training points. With more classes this
#' remainder is simulated once per posterior draw, under the fit's seed.
#' @examples
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' fit <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' new <- data.frame(x1 = c(0, 1, 9), x2 = 0)
#' predict(fit, new)
#' predict(fit, new, type = "prob")
#' predict(fit, new, type = "true_prob")
#' predict(fit, new, type = "true_prob", complement = FALSE)
#' predict(fit, new, threshold = 0.9)
#' @export
predict.kb_kgs <- function(object, newdata,
                           type = c(
                             "class", "prob", "true_prob", "vote", "bpm",
                             "link", "draws", "log_score"
                           ), complement = NULL, reject = NULL,
                           threshold = NULL, newy = NULL, ndraws = NULL, ...) {
  object <- checked_fit(object, ...)
  at <- list(
    type = type, complement = check_complement(complement, object),
    reject = reject, threshold = threshold, ndraws = ndraws
  )
  given <- c(
    complement = !missing(complement), reject = !is.null(reject),
    threshold = !is.null(threshold), newy = !is.null(newy),
    ndraws = !is.null(ndraws)
  )
  training <- missing(newdata)
  predict_asked(object, at, given, training, "predict.kb_kgs", function(scored) {
    prediction_rows(object, newdata, newy, training, scored)
  })
}

# NULL: where f has no noise, without which votes are overconfident
check_complement <- function(complement, fit) {
  if (is.null(complement)) !is_noisy(fit$settings) else check_flag(complement)
}

# Functions --------------------------------------------------------------------

# Draws of f at points, an array n x S x functions
latent_draws <- function(fit, x, pool, chosen = NULL) {
  UseMethod("latent_draws")
}

#' @export
latent_draws.kb_kgs <- function(fit, x, pool, chosen = NULL) {
  kgs_function(fit, kgs_features(fit, x), pool, chosen)
}

#' Draws of f for directions of unit length
#' @param x Points in their own units.
#' @return Array n x S x functions.
#' @noRd
kgs_function <- function(fit, features, pool, chosen = NULL) {
  w <- pool$w
  if (!is.null(chosen)) w <- w[chosen, , , drop = FALSE]
  out <- vapply(seq_len(dim(w)[[3]]), function(c) {
    tcrossprod(features, matrix(w[, , c], dim(w)[[1]]))
  }, matrix(0, nrow(features), dim(w)[[1]]))
  array(out, c(nrow(features), dim(w)[c(1, 3)]))
}

kgs_features <- function(fit, x) {
  basis_features(fit$settings$basis, scaling_x(fit$settings$scaling, x))
}

# Variance of f at points given its projection on the span: (G18)
complement_variance <- function(fit, x, features) {
  settings <- fit$settings
  kernel <- settings$basis$kernel
  self <- kernel_self(kernel, scaling_x(settings$scaling, x))
  known <- if (is.null(settings$explained)) {
    rowSums(features^2)
  } else {
    rowSums((features %*% settings$explained) * features)
  }
  left <- self - known
  # The remainder of a training point is rounding error.
  left[left < 1e-8 * self] <- 0
  left + settings$nugget
}

drop_one <- function(out) if (ncol(out) == 1) out[, 1] else out

# Probabilities ----------------------------------------------------------------

#' Probabilities of classes, n x C
#' @param recorded Of the label as recorded, which may be wrong? Otherwise of
#'   the true class.
#' @noRd
kgs_probability <- function(fit, x, complement, recorded) {
  pool <- posterior_pool(fit)
  blocks <- lapply(row_blocks(x, length(pool$weights)), function(rows) {
    p <- class_draws(fit, x[rows, , drop = FALSE], pool, complement)
    if (recorded) p <- noisy_draws(fit, p, pool)
    apply(p, c(1, 3), mean)
  })
  levels <- fit$mould$levels
  out <- matrix(0, 0, length(levels))
  out <- do.call(rbind, c(list(out), blocks))
  colnames(out) <- levels
  out
}

# Probabilities of true classes given each draw, n x S x C
class_draws <- function(fit, x, pool, complement) UseMethod("class_draws")

#' @export
class_draws.kb_kgs <- function(fit, x, pool, complement) {
  at <- known_function(fit, x, pool, complement)
  if (dim(at$f)[[3]] > 1) {
    return(largest_draws(fit, at$f, at$sd))
  }
  sign_draws(fit, at$f, at$sd)
}

#' What the draws know of f at points
#' @return List: `f`, an array n x S x functions, and `sd`, the standard
#'   deviation of what they leave open: 0, or one for each point.
#' @noRd
known_function <- function(fit, x, pool, complement) {
  features <- kgs_features(fit, x)
  list(
    f = kgs_function(fit, features, pool),
    sd = if (complement) sqrt(complement_variance(fit, x, features)) else 0
  )
}

# The two classes by the sign of the only function: (G19)
sign_draws <- function(fit, f, sd) {
  f <- matrix(f, nrow(f))
  dimension <- kgs_dimension(fit)
  ratio <- sqrt(dimension) * f / rep_len(sd, nrow(f))
  ratio[is.nan(ratio)] <- 0
  p <- stats::pt(ratio, dimension)
  array(c(1 - p, p), c(dim(p), 2))
}

# Which function is largest, as 0 and 1; with the remainder given training
# points simulated for each draw
#
# All points share the draws, so that the result at one point does not depend on
# the other points.
largest_draws <- function(fit, f, sd) {
  size <- dim(f)
  if (any(sd > 0)) {
    f <- with_local_seed(fit$seed, {
      length <- sqrt(stats::rchisq(size[[2]], kgs_dimension(fit)))
      z <- stats::rnorm(prod(size[-1]))
      f * rep(length, each = size[[1]]) +
        rep_len(sd, size[[1]]) * rep(z, each = size[[1]])
    })
  }
  best <- apply(f, c(1, 2), which.max)
  array(vapply(seq_len(size[[3]]), function(c) best == c, best == 1) + 0, size)
}

# Probabilities of labels as recorded from those of true classes: (G20)
noisy_draws <- function(fit, p, pool) {
  rates <- pool$rates
  by_draw <- function(v) rep(v, each = dim(p)[[1]])
  if (ncol(rates) == 1) {
    q <- by_draw(rates[, 1])
    return(p * (1 - q) + (1 - p) * q / (dim(p)[[3]] - 1))
  }
  wrong <- vapply(1:2, function(c) p[, , c] * by_draw(rates[, c]), p[, , 1])
  wrong <- array(wrong, dim(p))
  p - wrong + wrong[, , 2:1, drop = FALSE]
}

kgs_log_score <- function(fit, x, y, complement) {
  p <- kgs_probability(fit, x, complement, recorded = TRUE)
  log(unname(p[cbind(seq_along(y), as.integer(y))]))
}

# Votes and the Bayes point ----------------------------------------------------

# Shares of the draws that vote for each class, n x C
kgs_votes <- function(fit, x) {
  pool <- posterior_pool(fit)
  levels <- fit$mould$levels
  cells <- length(pool$weights) * length(levels)
  votes <- lapply(row_blocks(x, cells), function(rows) {
    vote <- largest_function(
      latent_draws(fit, x[rows, , drop = FALSE], pool)
    )
    vapply(seq_along(levels), function(c) rowMeans(vote == c), 0 * vote[, 1])
  })
  votes <- lapply(votes, matrix, ncol = length(levels))
  out <- do.call(rbind, c(list(matrix(0, 0, length(levels))), votes))
  colnames(out) <- levels
  out
}

# The mean of f, n x functions: for directions of unit length f at the Bayes
# point
bayes_point_link <- function(fit, x) {
  pool <- posterior_pool(fit)
  cells <- length(pool$weights) * fit$settings$classes
  means <- lapply(row_blocks(x, cells), function(rows) {
    apply(latent_draws(fit, x[rows, , drop = FALSE], pool), c(1, 3), mean)
  })
  out <- do.call(rbind, c(list(matrix(0, 0, kgs_functions(fit))), means))
  if (ncol(out) > 1) colnames(out) <- fit$mould$levels
  out
}

# The mean of the directions, rank x functions
bayes_point_direction <- function(fit) {
  if (is_noisy(fit$settings)) {
    return(noisy_direction(fit))
  }
  colMeans(posterior_pool(fit)$w, dims = 1)
}

kgs_draws_at <- function(fit, x, complete, ndraws) {
  pool <- posterior_pool(fit)
  chosen <- equal_weight_draws(fit, pool, check_ndraws(ndraws))
  check_draws_memory(length(chosen), nrow(x), kgs_functions(fit))
  f <- latent_draws(fit, x, pool, chosen)
  size <- dim(f)
  f <- spread_rows(matrix(f, size[[1]]), complete)
  f <- aperm(array(f, c(nrow(f), size[-1])), c(2, 1, 3))
  if (size[[3]] == 1) matrix(f, size[[2]]) else f
}

# Decisions --------------------------------------------------------------------

#' @param reject List with `share` or `threshold`, or empty.
#' @noRd
decide <- function(p, levels, reject = list()) {
  out <- most_probable(p, levels)
  certain <- apply(p, 1, max)
  if (!is.null(reject$threshold)) out[certain < reject$threshold] <- NA
  if (!is.null(reject$share)) {
    out[order(certain)[seq_len(round(reject$share * length(out)))]] <- NA
  }
  out
}

check_reject <- function(reject, threshold) {
  if (!is.null(reject) && !is.null(threshold)) {
    kb_abort("Give {.arg reject} or {.arg threshold}, not both.", "argument",
      argument = "threshold"
    )
  }
  list(
    share = if (!is.null(reject)) check_number(reject, 0, 1),
    threshold = if (!is.null(threshold)) {
      check_number(threshold, 0, 1)
    }
  )
}
