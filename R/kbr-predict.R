# Predictions of kbr(): the posterior of the state at observations.

kbr_types <- c(
  "mean", "map", "sd", "quantile", "weights", "expectation", "draws",
  "density", "embedding"
)

#' The posterior of the state at observations
#'
#' @param object A fit of [kbr()].
#' @param newdata Observations, one a row: a matrix, a data frame or a vector
#'   (of one column: several observations), with the columns of the fit. Where
#'   `kernel_y` is a matrix: kernel values of observations (rows) and all n of
#'   the sample (columns). `NULL`: those of the fit.
#' @param type What is wanted, see below.
#' @param f For `"expectation"`: a function of the matrix of states, n x d,
#'   that returns a vector of length n or a matrix of n rows.
#' @param probs For `"quantile"`: probabilities between 0 and 1.
#' @param ndraws For `"draws"`: how many, at least 1.
#' @param at For `"density"`: points, M x d.
#' @param bandwidth For `"density"`: standard deviations of the smoothing
#'   kernel, one or d positive numbers in the units of the states. `NULL`:
#'   \eqn{s (4 / ((d + 2) m))^{1 / (d + 4)}}{s (4 / ((d + 2) m))^(1 / (d + 4))},
#'   s the posterior's standard deviation (half of the central 68 percent
#'   interval where that is not defined) and m the effective sample size.
#' @param ... Not used: unknown arguments are errors.
#'
#' @return With N rows of `newdata`, d columns of states and n pairs:
#' * `"mean"`, `"sd"`: N x d. Where weights make a variance negative, `"sd"` is
#'   `NA` with a warning of class `kb_warning_weights`. With the rotation kernel
#'   the mean is that on the group, nearest to the weighted mean of the
#'   matrices.
#' * `"map"`: N x d, the mode of the kernel mean, with the attribute `converged`
#'   (logical, one a row).
#' * `"quantile"`: N x d x probabilities. As weights may be negative, their
#'   cumulative sums are replaced by the nearest increasing function first.
#' * `"weights"`: N x n. They sum to one with `normalize = TRUE`.
#' * `"expectation"`: N x columns of f: sums of weights times f at the states.
#' * `"draws"`: `ndraws` x d x N, states chosen by kernel herding, see [herd()]:
#'   equally weighted and never of negative weight. Not random. They follow the
#'   kernel mean, of which they are the nearest equal weights: their own mean
#'   can be off that of `"mean"`, by half a standard deviation where negative
#'   weights prevail.
#' * `"density"`: N x M, weights times a Gaussian density about each state. It
#'   may be negative where negative weights prevail.
#' * `"embedding"`: a list of N [kernel means][kernel_mean], whose points are
#'   as `kernel_x` sees them: standardised with `scale = TRUE`.
#'
#' `normalize = FALSE` applies to `"mean"`, `"weights"`, `"expectation"` and
#' `"embedding"`; the other types have no meaning without weights that sum to
#' one.
#'
#' Rows that have names keep them, but in `"draws"`.
#' Rows of missing values give `NA` (`NULL` in lists). An observation so far
#' from all others that its kernel says nothing is a warning of class
#' `kb_warning_far`; any other whose weights cancel in their sum, one of class
#' `kb_warning_weights`. Where weights cancel, results are `NA`.
#'
#' @section Errors: Columns that are not those of the fit are an error of class
#'   `kb_error_columns`, infinite values `kb_error_infinite`, arguments of
#'   another type than asked for `kb_error_argument`.
#' @examples
#' pairs <- kbr_simulate(
#'   function(n) matrix(rnorm(2 * n), n),
#'   function(x) cbind(x[, 1] + x[, 2], x[, 1] * x[, 2]) + 0.3 * rnorm(nrow(x)),
#'   n = 400, seed = 1
#' )
#' fit <- kbr(pairs)
#' new <- rbind(c(1, 0), c(0, -1))
#' predict(fit, new)
#' predict(fit, new, type = "sd")
#' predict(fit, new, type = "quantile", probs = c(0.05, 0.95))
#' predict(fit, new, type = "expectation", f = function(x) x[, 1] > x[, 2])
#' @export
predict.kb_kbr <- function(object, newdata = NULL,
                           type = c(
                             "mean", "map", "sd", "quantile", "weights",
                             "expectation", "draws", "density", "embedding"
                           ), f = NULL, probs = NULL, ndraws = NULL,
                           at = NULL, bandwidth = NULL, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  call <- rlang::current_env()
  type <- check_choice(type, kbr_types)
  check_type_defined(object, type, call)
  given <- list(
    f = f, probs = probs, ndraws = ndraws, at = at, bandwidth = bandwidth
  )
  refuse_type_arguments(given, type, kbr_type_arguments, call)
  seen <- kbr_seen(object, newdata, call)
  warn_far(seen, call)
  values <- switch(type,
    mean = kbr_mean(object, seen),
    map = kbr_map(object, seen, call),
    sd = kbr_sd(object, seen, call),
    quantile = kbr_quantiles(object, seen, check_kbr_probs(probs, call)),
    weights = kbr_weights(object, seen),
    expectation = kbr_expectation(object, seen, f, call),
    draws = kbr_draws(object, seen, ndraws, call),
    density = kbr_density(object, seen, at, bandwidth, call),
    embedding = kbr_embeddings(object, seen, call)
  )
  raw <- !object$settings$normalize && type %in% kbr_raw_types
  if (!raw) warn_cancelled(object, seen, call)
  out <- place_rows(values, seen$complete)
  names <- if (is.null(newdata)) {
    object$mould$row_names
  } else {
    given_row_names(newdata)
  }
  if (type == "draws") out else name_rows(out, names)
}

#' @noRd
check_type_defined <- function(fit, type, call) {
  kept <- c("mean", "sd", "expectation", "map", "draws")
  if (inherits(fit, "kb_kbr_chunked") && !type %in% kept) {
    kb_abort(c(
      "{.code type = \"{type}\"} is not defined for a fit of chunks.",
      x = "It needs the weights of all states, which were not kept.",
      i = "Defined are {.val {kept}}."
    ), "not_defined", call = call)
  }
}

# Types that leave the weights as they are with `normalize = FALSE`.
kbr_raw_types <- c("mean", "weights", "expectation", "embedding")

kbr_type_arguments <- list(
  f = "expectation", probs = "quantile", ndraws = "draws", at = "density",
  bandwidth = "density"
)

#' Arguments that a type does not have are errors, not ignored
#' @noRd
refuse_type_arguments <- function(given, type, types, call) {
  for (name in names(given)) {
    if (!is.null(given[[name]]) && !type %in% types[[name]]) {
      kb_abort(c(
        "{.arg {name}} is for {.code type = \"{types[[name]]}\"}.",
        x = "The type is {.val {type}}."
      ), "argument", argument = name, call = call)
    }
  }
}

# Rows -------------------------------------------------------------------------

#' The complete rows of newdata, or all of the fit
#' @return As `observe()`, with `complete`: a logical for each row of newdata.
#' @noRd
kbr_seen <- function(fit, newdata, call) {
  if (is.null(newdata)) {
    n <- nrow(fit$data$y)
    if (n == 0) {
      bad_argument(newdata, "newdata", "given: the pairs were not kept", call)
    }
    return(c(observe_rows(fit, seq_len(n)), list(complete = rep(TRUE, n))))
  }
  rows <- kbr_rows(fit, newdata, call)
  c(
    observe(fit, rows$y[rows$complete, , drop = FALSE]),
    list(complete = rows$complete)
  )
}

#' Observations as the kernel sees them, and which are complete
#' @noRd
kbr_rows <- function(fit, newdata, call) {
  if (is.null(fit$features$y$kernel)) {
    return(gram_rows(fit, newdata, call))
  }
  y <- mould_forge(fit$mould, observation_rows(fit, newdata), call = call)$x
  list(
    y = scaling_x(fit$settings$scaling$y, y),
    complete = stats::complete.cases(y)
  )
}

#' A vector is one observation where the fit has several columns, and several
#' observations where it has one, whatever its name
#' @noRd
observation_rows <- function(fit, newdata) {
  columns <- names(fit$mould$columns)
  if (!is.numeric(newdata) || !is.null(dim(newdata))) {
    return(newdata)
  }
  if (length(columns) == 1) {
    return(matrix(newdata, ncol = 1, dimnames = list(NULL, columns)))
  }
  if (length(newdata) == length(columns)) {
    return(matrix(newdata, 1, dimnames = list(NULL, names(newdata))))
  }
  newdata
}

#' @noRd
gram_rows <- function(fit, newdata, call) {
  if (is.null(dim(newdata)) && length(newdata) == fit$time) {
    newdata <- t(newdata)
  }
  complete <- stats::complete.cases(newdata)
  if (is.matrix(newdata)) newdata[!complete, ] <- 0
  newdata <- check_points(newdata, "newdata", call)
  if (ncol(newdata) != fit$time) {
    kb_abort(c(
      "{.arg newdata} must have a kernel value for each of the {fit$time}
       observations of the fit.",
      x = "It has {ncol(newdata)} column{?s}."
    ), "columns", argument = "newdata", call = call)
  }
  list(y = newdata, complete = complete)
}

#' Results of complete rows in their places: the first dimension, or the last
#' of three
#' @noRd
place_rows <- function(values, complete) {
  last <- identical(attr(values, "rows"), "last")
  attr(values, "rows") <- NULL
  if (all(complete)) {
    return(values)
  }
  at <- match(seq_along(complete), which(complete))
  if (is.list(values)) {
    return(values[at])
  }
  if (last) {
    out <- values[, , at, drop = FALSE]
  } else if (length(dim(values)) == 3) {
    out <- values[at, , , drop = FALSE]
  } else {
    out <- values[at, , drop = FALSE]
  }
  if (!is.null(attr(values, "converged"))) {
    attr(out, "converged") <- attr(values, "converged")[at]
  }
  out
}

# Warnings ---------------------------------------------------------------------

# Features explain less than this share of k(y, y): nothing near.
far_share <- 1e-3

#' @noRd
warn_far <- function(seen, call) {
  far <- sum(seen$near < far_share)
  if (far > 0) {
    kb_warn(c(
      "{far} of {length(seen$near)} observation{?s} {?is/are} far from all
       observations of the fit.",
      x = "Their posterior is not determined by the data, or NA.",
      i = "A wider {.arg kernel_y}, or pairs from nearer to them, would help."
    ), "far", call = call)
  }
}

#' @noRd
warn_cancelled <- function(fit, seen, call) {
  lost <- sum(sum_is_noise(fit, seen, raw_moments(fit, seen)[1, ]) &
    seen$near >= far_share)
  if (lost > 0) {
    kb_warn(c(
      "Weights of {lost} of {length(seen$near)} observation{?s} cancel in
       their sum: NA.",
      i = "A larger {.arg delta} keeps them apart."
    ), "weights", call = call)
  }
}

# Moments ----------------------------------------------------------------------

#' First and second moments about the centre of the states: rows x d each
#' @noRd
kbr_moments <- function(fit, seen, normalize = fit$settings$normalize) {
  raw <- raw_moments(fit, seen)
  d <- ncol(fit$data$x)
  divisor <- weight_divisor(fit, seen, raw[1, ], normalize)
  moments <- sweep(raw, 2, divisor, "/")
  list(
    sum = moments[1, ], first = t(moments[1 + seq_len(d), , drop = FALSE]),
    second = t(moments[1 + d + seq_len(d), , drop = FALSE])
  )
}

#' @noRd
kbr_mean <- function(fit, seen) {
  moments <- kbr_moments(fit, seen)
  mean <- moments$first + outer(moments$sum, fit$posterior$center)
  if (has_rotations(fit)) {
    known <- which(!is.na(moments$sum))
    mean[known, ] <- t(vapply(known, function(i) {
      nearest_rotation(mean[i, ])$x
    }, numeric(9)))
  }
  state_names(mean, fit)
}

#' @noRd
has_rotations <- function(fit) {
  kernel <- fit$features$x$kernel
  !is.null(kernel) && is_rotation_kernel(kernel)
}

#' @noRd
state_names <- function(values, fit) {
  dimnames(values) <- list(NULL, colnames(fit$data$x))
  values
}

#' @noRd
kbr_sd <- function(fit, seen, call) {
  variance <- kbr_variance(fit, seen)
  lost <- sum(variance < 0, na.rm = TRUE)
  if (lost > 0) {
    kb_warn(c(
      "{lost} of {length(variance)} posterior variance{?s} {?is/are} negative:
       NA.",
      i = "Negative weights prevail there: {.code type = \"quantile\"} gives
           intervals all the same; a larger {.arg delta} makes fewer."
    ), "weights", call = call)
  }
  variance[variance < 0] <- NA
  state_names(sqrt(variance), fit)
}

#' Variances of the states, rows x d; what is rounding error only is zero
#' @noRd
kbr_variance <- function(fit, seen) {
  moments <- kbr_moments(fit, seen, normalize = TRUE)
  variance <- moments$second - moments$first^2
  variance[which(abs(variance) <= 1e-12 * abs(moments$second))] <- 0
  variance
}

#' @noRd
kbr_weights <- function(fit, seen, normalize = fit$settings$normalize) {
  w <- raw_weights(fit, seen)
  w / weight_divisor(fit, seen, raw_moments(fit, seen)[1, ], normalize)
}

#' Weights that sum to one, whatever `normalize` says
#' @noRd
weight_shares <- function(fit, seen) kbr_weights(fit, seen, normalize = TRUE)

#' Functions of the states, weighted by mu, times features of observations
#' @noRd
function_moments <- function(fit, f, call) UseMethod("function_moments")

#' @export
function_moments.kb_kbr <- function(fit, f, call) {
  values <- check_function_values(f, fit$data$x, call = call)
  crossprod(values * kbr_mu(fit), fit$features$y$factor)
}

#' @noRd
kbr_expectation <- function(fit, seen, f, call) {
  moments <- function_moments(fit, f, call)
  out <- t(moments %*% seen$coef) /
    weight_divisor(fit, seen, raw_moments(fit, seen)[1, ])
  dimnames(out) <- list(NULL, rownames(moments))
  out
}

# Quantiles and density --------------------------------------------------------

#' @noRd
check_kbr_probs <- function(probs, call) {
  check_probs(if (is.null(probs)) c(0.05, 0.5, 0.95) else probs, call)
}

#' @noRd
kbr_quantiles <- function(fit, seen, probs) {
  w <- weight_shares(fit, seen)
  x <- fit$data$x
  out <- array(0, c(nrow(w), ncol(x), length(probs)), list(
    NULL, colnames(x), paste0(100 * probs, "%")
  ))
  for (j in seq_len(ncol(x))) {
    order <- order(x[, j])
    for (i in seq_len(nrow(w))) {
      out[i, j, ] <- signed_quantiles(x[order, j], w[i, order], probs)
    }
  }
  out
}

#' Quantiles of increasing points with weights of any sign
#'
#' Equal points have one value of the distribution function, whatever their
#' order.
#' @noRd
signed_quantiles <- function(x, w, probs) {
  if (anyNA(w)) {
    return(rep(NA_real_, length(probs)))
  }
  distribution <- isotonic_cpp(cumsum(w)[findInterval(x, x)])
  distribution <- pmin(pmax(distribution, 0), 1)
  at <- findInterval(probs, distribution, left.open = TRUE) + 1
  x[pmin(at, length(x))]
}

#' @noRd
kbr_density <- function(fit, seen, at, bandwidth, call) {
  x <- fit$data$x
  at <- check_points(at, "at", call)
  if (ncol(at) != ncol(x)) {
    kb_abort(c(
      "{.arg at} must have {ncol(x)} column{?s}, as states do.",
      x = "It has {ncol(at)}."
    ), "dimension", argument = "at", call = call)
  }
  w <- weight_shares(fit, seen)
  widths <- density_bandwidth(x, w, bandwidth, call)
  out <- vapply(seq_len(nrow(w)), function(i) {
    if (anyNA(w[i, ])) {
      return(rep(NA_real_, nrow(at)))
    }
    kernel <- kernel_gaussian(widths[i, ])
    density <- embedding_values(x, w[i, ], kernel, at)
    density / prod(sqrt(2 * pi) * widths[i, ])
  }, numeric(nrow(at)))
  matrix(out, nrow(w), nrow(at), byrow = TRUE)
}

#' Standard deviations of the smoothing, rows x d
#' @noRd
density_bandwidth <- function(x, w, bandwidth, call) {
  d <- ncol(x)
  if (!is.null(bandwidth)) {
    if (!is.numeric(bandwidth) || !length(bandwidth) %in% c(1, d) ||
      !all(is.finite(bandwidth) & bandwidth > 0)) {
      bad_argument(
        bandwidth, "bandwidth", paste("a positive number, or", d, "of them"),
        call
      )
    }
    return(matrix(bandwidth, nrow(w), d, byrow = TRUE))
  }
  m <- 1 / rowSums(w^2)
  x <- sweep(x, 2, colMeans(x))
  variance <- w %*% x^2 - (w %*% x)^2
  whole <- colMeans(x^2)
  whole[whole == 0] <- 1
  low <- which(sweep(variance, 2, 1e-6 * whole, "<"), arr.ind = TRUE)
  for (k in seq_len(nrow(low))) {
    i <- low[k, 1]
    j <- low[k, 2]
    variance[i, j] <- quantile_variance(x[, j], w[i, ], whole[[j]])
  }
  sqrt(variance) * (4 / ((d + 2) * pmax(m, 1)))^(1 / (d + 4))
}

#' Where signed weights give no variance: that of a normal distribution with the
#' same central interval; `usual` if the interval is a point
#' @noRd
quantile_variance <- function(x, w, usual) {
  order <- order(x)
  ends <- signed_quantiles(x[order], w[order], stats::pnorm(c(-1, 1)))
  if (isTRUE(ends[[2]] > ends[[1]])) (diff(ends) / 2)^2 else usual
}

# The embedding: mode, draws ---------------------------------------------------

#' @noRd
need_kernel_x <- function(fit, what, call) {
  if (is.null(fit$features$x$kernel)) {
    kb_abort(c(
      "{.code type = \"{what}\"} needs the kernel of the states.",
      x = "{.arg kernel_x} is a matrix."
    ), "argument", argument = "type", call = call)
  }
}

#' @export
kernel_mean_points.kb_kbr <- function(fit, seen) {
  w <- weight_shares(fit, seen)
  factor <- fit$features$x$factor
  list(
    points = fit$data$x, scaled = kernel_states(fit), weights = w,
    value = factor %*% crossprod(factor, t(w))
  )
}

#' States as their kernel sees them
#' @noRd
kernel_states <- function(fit) {
  scaling_x(fit$settings$scaling$x, fit$data$x)
}

#' @noRd
unscale_states <- function(fit, x) unscale(fit$settings$scaling$x, x)

#' @noRd
unscale <- function(scaling, x) {
  sweep(sweep(x, 2, scaling$x_scale, "*"), 2, scaling$x_center, "+")
}

#' @noRd
kbr_map <- function(fit, seen, call) {
  need_kernel_x(fit, "map", call)
  moments <- kbr_moments(fit, seen, normalize = TRUE)
  centre <- scaling_x(
    fit$settings$scaling$x, sweep(moments$first, 2, fit$posterior$center, "+")
  )
  modes <- kernel_modes(
    kernel_mean_points(fit, seen), fit$features$x$kernel, centre
  )
  out <- state_names(unscale_states(fit, modes$x), fit)
  attr(out, "converged") <- modes$converged
  out
}

#' @noRd
kbr_draws <- function(fit, seen, ndraws, call) {
  ndraws <- if (is.null(ndraws)) 200L else check_count(ndraws, 1, call = call)
  need_kernel_x(fit, "draws", call)
  draws <- herded_points(
    kernel_mean_points(fit, seen), fit$features$x$kernel, ndraws
  )
  dimnames(draws) <- list(NULL, colnames(fit$data$x), NULL)
  structure(draws, rows = "last")
}

#' @noRd
kbr_embeddings <- function(fit, seen, call) {
  need_kernel_x(fit, "embedding", call)
  w <- kbr_weights(fit, seen)
  states <- kernel_states(fit)
  lapply(seq_len(nrow(w)), function(i) {
    if (anyNA(w[i, ])) {
      return(NULL)
    }
    out <- kernel_mean(states, fit$features$x$kernel, w[i, ])
    # As a prior its points are turned back to the units of the states.
    if (fit$settings$scale) out$scaling <- fit$settings$scaling$x
    out
  })
}
