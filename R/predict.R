# Predictions: code shared by engines. Given all parameters but the coefficients
# f is normal, so that an engine's posterior of f(x) is a mixture of normals
# over its pool of weighted draws; means, quantiles and densities are exact for
# it.

# The draws (particles) of all runs: a list with, among others, `weights`
posterior_pool <- function(fit) UseMethod("posterior_pool")

# Posterior mean of f at complete rows, in the response's units
posterior_mean <- function(fit, x, pool) UseMethod("posterior_mean")

# List of `mean` and `variance` of f given each draw: points x draws, in the
# units that the model sees
posterior_moments <- function(fit, x, pool) UseMethod("posterior_moments")

#' Draws of f, S x n, in the response's units
#' @param chosen Numbers of the draws.
#' @noRd
posterior_draws <- function(fit, x, pool, chosen) UseMethod("posterior_draws")

# Variance of the noise of each draw, in the units that the model sees
noise_variance <- function(fit, pool) UseMethod("noise_variance")

# Degrees of freedom of the noise, Inf if it is normal; one number per draw of
# the pool if they are learned
noise_df <- function(fit, pool) UseMethod("noise_df")

has_student_noise <- function(df) !identical(df, Inf)

#' @export
noise_df.default <- function(fit, pool) Inf

# Regression -------------------------------------------------------------------

regression_response <- function(fit, x, interval, level, pool,
                                weights = NULL) {
  # Coefficients that are drawn have no mean before they have seen data.
  centre <- is_prior_only(fit)
  if (interval == "none") {
    return(if (centre) {
      regression_quantiles(fit, x, 0.5, "credible", pool)[, 1]
    } else {
      posterior_mean(fit, x, pool)
    })
  }
  ends <- interval_ends(level)
  rows <- in_blocks(fit, x, pool, function(rows, moments) {
    mean <- if (centre) {
      block_quantiles(fit, moments, 0.5, "credible", pool)[, 1]
    } else {
      mixture_mean(moments, pool)
    }
    cbind(mean, block_quantiles(
      fit, moments, ends, interval, pool, weights[rows]
    ))
  })
  out <- do.call(rbind, c(list(matrix(0, 0, 3)), rows))
  colnames(out) <- c("fit", "lwr", "upr")
  unscale_mean(fit$settings$scaling, out)
}

interval_ends <- function(level) c((1 - level) / 2, 1 - (1 - level) / 2)

#' Quantiles of f ("credible") or of a new response ("prediction"): exact
#' quantiles of the mixture of normals, or of normals plus Student's t
#' @param weights NULL, or divisors of the noise variance of each row.
#' @return Matrix, rows x `probs`, in the response's units.
#' @noRd
regression_quantiles <- function(fit, x, probs, interval, pool,
                                 weights = NULL) {
  blocks <- in_blocks(fit, x, pool, function(rows, moments) {
    block_quantiles(fit, moments, probs, interval, pool, weights[rows])
  })
  out <- do.call(rbind, c(list(matrix(0, 0, length(probs))), blocks))
  unscale_mean(fit$settings$scaling, out)
}

# The same from moments, in the units that the model sees
block_quantiles <- function(fit, moments, probs, interval, pool,
                            weights = NULL) {
  new <- interval == "prediction"
  mixture_quantiles_cpp(
    moments$mean, moments$variance,
    if (new) response_noise(fit, moments, pool, weights),
    component_weights(moments, pool), if (new) noise_df(fit, pool) else Inf, probs
  )
}

# Variances (squared scales) of the noise of responses, in the units that the
# model sees: a line for each row, or one for all
response_noise <- function(fit, moments, pool, weights = NULL) {
  noise <- moments$noise
  if (is.null(noise)) {
    noise <- noise_variance(fit, pool)
    return(if (is.null(weights)) rbind(noise) else outer(1 / weights, noise))
  }
  if (is.null(weights)) noise else noise / weights
}

# Log predictive density of responses, in their own units
regression_log_score <- function(fit, x, y, pool, weights = NULL) {
  scaling <- fit$settings$scaling
  y <- scaling_y(scaling, y)
  df <- noise_df(fit, pool)
  blocks <- in_blocks(fit, x, pool, function(rows, moments) {
    mixture_log_density_cpp(
      moments$mean, moments$variance,
      response_noise(fit, moments, pool, weights[rows]),
      component_weights(moments, pool), df, y[rows]
    )
  })
  as.double(unlist(blocks)) - log(scaling$y_scale)
}

#' Continuous ranked probability scores of responses, in their own units, and
#' the probabilities of smaller ones
#' @return Matrix, rows x 2.
#' @noRd
regression_crps <- function(fit, x, y, pool, weights = NULL) {
  scaling <- fit$settings$scaling
  y <- scaling_y(scaling, y)
  blocks <- in_blocks(fit, x, pool, function(rows, moments) {
    mixture_crps_cpp(
      moments$mean, moments$variance,
      response_noise(fit, moments, pool, weights[rows]),
      component_weights(moments, pool), noise_df(fit, pool), y[rows]
    )
  })
  out <- do.call(rbind, blocks)
  cbind(crps = unscale_sd(scaling, out[, 1]), pit = out[, 2])
}

# Draws ------------------------------------------------------------------------

# Draws with equal weight, by number
#
# Particles: systematic resampling under the fit's seed, in random order (copies
# are not neighbours). Draws of chains already have equal weight: all in their
# order, or evenly spaced.
equal_weight_draws <- function(fit, pool, ndraws = NULL) {
  n <- length(pool$weights)
  # Their numbers and places, before f is drawn at points
  if (!is.null(ndraws)) check_draws_memory(ndraws, 4)
  if (inherits(fit, "kb_mcmc")) {
    return(if (is.null(ndraws)) seq_len(n) else spread_over(n, ndraws))
  }
  if (!is.null(ndraws)) n <- ndraws
  with_local_seed(fit$seed, {
    points <- (seq_len(n) - 1 + stats::runif(1)) / n
    cells_at(points, cumsum(pool$weights))[sample.int(n)]
  })
}

# The cell of each point, of cells that end at increasing numbers
cells_at <- function(points, ends) {
  pmin(findInterval(points, ends, left.open = TRUE) + 1L, length(ends))
}

# `m` of 1..n in increasing order, as evenly spaced as possible
spread_over <- function(n, m) as.integer(ceiling((seq_len(m) - 0.5) * n / m))

# Rows -------------------------------------------------------------------------

#' The rows to predict: moulded new data or the training rows
#' @param outcome Is the response needed?
#' @param weights NULL, or weights of the rows of `newdata`; otherwise they are
#'   1.
#' @param mixed Their terms beside kernels, see `mixed_frame()`.
#' @return List of `x`, `complete`, `y` (if needed), `weights` and `names` (or
#'   NULL).
#' @noRd
prediction_rows <- function(object, newdata, newy, training, outcome,
                            weights = NULL, mixed = NULL) {
  if (training) {
    given <- c(newy = !is.null(newy), weights = !is.null(weights))
    refuse_without_newdata(names(which(given)))
    rows <- training_rows(object)
    return(list(
      x = wide_x(object, rows),
      complete = rep(TRUE, length(rows)), y = pick_rows(object$data$y, rows),
      weights = object$data$weights[rows], names = training_names(object),
      variables = pick_rows(object$mould$variables, rows)
    ))
  }
  rows <- if (!outcome) {
    # Tables that are predicted by groups may have none in one of them.
    mould_forge(object$mould, newdata, mixed = mixed, empty = TRUE)
  } else if (!is.null(newy)) {
    mould_forge_xy(object$mould, newdata, newy, mixed)
  } else if (object$mould$interface == "xy") {
    kb_abort(c(
      "{.arg newy}, the responses of {.arg newdata}, must be given.",
      i = "The model was fitted to x and y, not to a formula."
    ), "argument", argument = "newy")
  } else {
    mould_forge(object$mould, newdata, outcome = TRUE)
  }
  rows$weights <- check_weights(weights, nrow(rows$x), "newdata")
  if (!is.null(weights)) rows$complete <- rows$complete & !is.na(weights)
  rows
}

# The weights of the fit say nothing about new rows
tell_weights <- function(fit, used, training, weights) {
  if (!training && is.null(weights) && !is.null(fit$data$weights) &&
    "weights" %in% used) {
    kb_inform(c(
      "The fit has weights; rows of {.arg newdata} are given weight 1.",
      i = "{.arg weights} of {.fn predict} gives others, one per row."
    ), "weights", .frequency = "once", .frequency_id = "kernelbayes_weights")
  }
}

refuse_without_newdata <- function(given) {
  if (length(given) > 0) {
    kb_abort(c(
      "{.arg newdata} must be given with {.arg {given}}.",
      i = "Without it the training rows are used."
    ), "argument", argument = given[[1]])
  }
}

# Put the results of complete rows in their positions, NA elsewhere
spread_rows <- function(out, complete) {
  if (all(complete)) {
    return(out)
  }
  size <- dim(out)
  if (length(size) > 2) {
    flat <- spread_rows(matrix(out, size[[1]]), complete)
    return(array(flat, c(nrow(flat), size[-1]), c(list(NULL), dimnames(out)[-1])))
  }
  at <- cumsum(complete)
  at[!complete] <- NA
  if (is.matrix(out)) out[at, , drop = FALSE] else out[at]
}

# The rows of x in blocks, so that a matrix of a block's rows and `columns`
# has a bounded number of cells
row_blocks <- function(x, columns, cells = 5e6) {
  size <- max(1, floor(cells / max(columns, 1)))
  n <- nrow(x)
  first <- seq_len(ceiling(n / size)) * size - size + 1
  lapply(first, function(i) seq.int(i, min(i + size - 1, n)))
}

# The most components that the mixture at a point has
mixture_size <- function(fit, pool) UseMethod("mixture_size")
#' @export
mixture_size.default <- function(fit, pool) length(pool$weights)

# Call f(rows, moments) on blocks of rows whose moments fit in memory
in_blocks <- function(fit, x, pool, f) {
  lapply(row_blocks(x, mixture_size(fit, pool)), function(rows) {
    f(rows, posterior_moments(fit, x[rows, , drop = FALSE], pool))
  })
}

# Arguments --------------------------------------------------------------------

#' No argument is silently ignored
#' @param given Named: did the caller give the argument?
#' @param used The arguments that this type uses.
#' @param page The help page.
#' @param with,note,hint Further words: of the settings, after them, and on what to
#'   do in place of the arguments that are used.
#' @noRd
refuse_ignored <- function(type, given, used, page, with = NULL, note = NULL,
                           hint = NULL) {
  ignored <- setdiff(names(given)[given], used)
  if (length(ignored) == 0) {
    return(invisible())
  }
  setting <- paste0('type = "', type, '"', with)
  if (is.null(hint) && length(used) > 0) hint <- "It uses {.arg {used}}."
  kb_abort(c(
    "{.arg {ignored}} would have no effect with {.code {setting}}{note}.",
    i = hint, i = "See {.code ?{page}} for the arguments of each {.arg type}."
  ), "argument", argument = ignored)
}

check_probs <- function(probs) {
  inside <- is.numeric(probs) && length(probs) > 0 && !anyNA(probs) &&
    all(probs > 0 & probs < 1)
  if (!inside) {
    bad_argument(probs, "probs", "numbers strictly between 0 and 1")
  }
  as.double(probs)
}

check_ndraws <- function(ndraws) {
  if (is.null(ndraws)) NULL else check_count(ndraws, 1)
}

# Predictions of classes: shared code, and predictions of two classes under the
# probit link, from the normal mixture of f over draws. The second level is +1.

# The class of the largest column; the first of equal ones. One column is the
# function of two classes.
most_probable <- function(p, levels) {
  best <- if (ncol(p) == 1) {
    1 + (p[, 1] > 0)
  } else {
    max.col(p, ties.method = "first")
  }
  factor(levels[best], levels)
}

# With limits, the probability of the second class
probit_response <- function(fit, at) {
  p <- class_probability(fit, at$x, at$pool)
  if (at$interval == "none") {
    return(p)
  }
  limits <- regression_quantiles(
    fit, at$x, interval_ends(at$level), "credible", at$pool
  )
  cbind(fit = p, lwr = stats::pnorm(limits[, 1]), upr = stats::pnorm(limits[, 2]))
}

# Posterior predictive probability of the second class
#
# Given a draw f ~ N(m, v): E Phi(f) = Phi(m / sqrt(1 + v)).
class_probability <- function(fit, x, pool) {
  blocks <- in_blocks(fit, x, pool, function(rows, moments) {
    p <- stats::pnorm(moments$mean / sqrt(1 + moments$variance))
    # Weights sum to 1 up to rounding, but no probability may be above 1.
    pmin(drop(p %*% pool$weights), 1)
  })
  as.double(unlist(blocks))
}

# Log predictive probability of the classes with these signs
class_log_score <- function(fit, x, signs, pool) {
  blocks <- in_blocks(fit, x, pool, function(rows, moments) {
    at <- signs[rows] * moments$mean / sqrt(1 + moments$variance)
    # Sums of logarithms: 1 - p would lose all digits of small probabilities.
    log_p <- stats::pnorm(at, log.p = TRUE)
    most <- apply(log_p, 1, max)
    most + log(drop(exp(log_p - most) %*% pool$weights))
  })
  as.double(unlist(blocks))
}

#' From the second class to both: limits of the first are those of the second
#' in reverse
#' @return Matrix n x 2, or array n x 2 x 3.
#' @noRd
both_classes <- function(p, levels) {
  if (!is.matrix(p)) {
    return(matrix(c(1 - p, p), ncol = 2, dimnames = list(NULL, levels)))
  }
  ends <- c("fit", "lwr", "upr")
  first <- 1 - p[, c("fit", "upr", "lwr"), drop = FALSE]
  out <- array(dim = c(nrow(p), 2, 3), dimnames = list(NULL, levels, ends))
  out[, 1, ] <- first
  out[, 2, ] <- p
  out
}
