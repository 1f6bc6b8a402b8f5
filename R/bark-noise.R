# Noise of bark() that varies with the predictors: y ~ N(f, exp(g) / w), and g,
# the log variance, is an intercept plus a sum of kernels of its own.

has_varying_noise <- function(fit) !is.null(fit$settings$varying)

# The prior of g: its kernels, and a normal intercept. On simulated sets half and
# twice as many kernels, and half and twice their scale, did about as well.
#
# Rows that f fits exactly (ties) would draw g to minus infinity, and with heavy
# tails of its coefficients g would be anything elsewhere: `floor` below the mean is
# a thousandth of the standard deviation, and coefficients have `alpha` degrees of
# freedom.
varying_prior <- list(
  nu = 5, eps = 0.5, alpha = 5, mean = -1, sd = 2, floor = -14
)

# Settings ---------------------------------------------------------------------

# The arguments of refits, which have x and y and no formula: `sigma` by columns
with_sigma_of_columns <- function(given, settings, mould) {
  columns <- settings$varying$columns
  if (length(columns) > 0) {
    names <- paste0("`", without_backticks(mould$x_names[columns]), "`")
    all <- length(columns) == length(mould$x_names)
    given$sigma <- plain_formula(if (all) ~. else stats::reformulate(names))
  }
  given
}

#' The columns of x that the noise depends on
#' @return List of `names`, as the user gives them, and `columns`, by number.
#' @noRd
varying_inputs <- function(sigma, mould) {
  known <- input_columns(mould)
  names(known) <- without_backticks(names(known))
  all <- as.data.frame(lapply(known, function(v) 0), optional = TRUE)
  terms <- if (rlang::is_formula(sigma, lhs = FALSE) && length(known) > 0) {
    tryCatch(stats::terms(sigma, data = all), error = function(e) NULL)
  }
  fine <- !is.null(terms) && attr(terms, "intercept") == 1 &&
    is.null(attr(terms, "offset"))
  names <- if (fine) without_backticks(attr(terms, "term.labels"))
  odd <- setdiff(names, names(known))
  if (length(names) == 0 || length(odd) > 0) {
    kb_abort(c(
      "{.arg sigma} must be NULL, {.code ~ .} or a formula of inputs of kernels,
       such as {.code ~ x1 + x2}.",
      x = if (length(known) == 0) {
        "There are no inputs of kernels."
      } else if (length(odd) > 0) {
        "{.val {odd}} is not among them: {.val {names(known)}}."
      } else {
        "It is {describe(sigma)}."
      }
    ), "argument", argument = "sigma", value = sigma)
  }
  list(names = names, columns = sort(unique(unlist(known[names]))))
}

without_backticks <- function(names) gsub("^`|`$", "", names)

# The columns of x of each predictor, by name: a factor has several
input_columns <- function(mould) {
  parts <- if (is.null(mould$terms)) {
    widths <- column_widths(mould$columns)
    split(seq_along(mould$x_names), factor(
      rep(names(mould$columns), widths), names(mould$columns)
    ))
  } else {
    labels <- attr(mould$terms, "term.labels")
    split(seq_along(mould$assign), factor(labels[mould$assign], labels))
  }
  columns <- stats::setNames(as.list(seq_along(mould$x_names)), mould$x_names)
  parts <- parts[lengths(parts) > 0]
  c(parts, columns[setdiff(names(columns), names(parts))])
}

#' What the sampler needs for g, from the data
#' @param x,y As the model sees them.
#' @return NULL, or a list of `names` and `columns` of the inputs, `prior` of the
#'   kernels, `mean` and `sd` of the intercept.
#' @noRd
varying_settings <- function(sigma, mould, x, y) {
  if (is.null(sigma)) {
    return(NULL)
  }
  inputs <- varying_inputs(sigma, mould)
  own <- varying_prior
  prior <- bark_prior_resolve(
    bark_prior(eps = own$eps, own_scales = TRUE), x, y, "binomial",
    groups = if (length(inputs$columns) < ncol(x)) list(inputs$columns)
  )
  prior$alpha <- own$alpha
  prior$nu <- own$nu
  prior$gamma <- own$nu * own$eps
  prior$discrepancy <- NULL
  # Weights in other units change the intercept only.
  w <- mould$weights
  level <- log(stats::var(y)) + if (is.null(w)) 0 else mean(log(w))
  mean <- own$mean + if (is.finite(level)) level else 0
  c(inputs, list(
    prior = prior, mean = mean, sd = own$sd, floor = mean + own$floor
  ))
}

# Predictions ------------------------------------------------------------------

#' g at rows for each chosen draw, in the units of the model, rows x draws
#' @param x Rows as `wide_x()` has them.
#' @noRd
log_variance <- function(fit, x, pool, chosen = seq_along(pool$m)) {
  kernels <- kernel_values(
    fit, kernel_part(fit, x), pool$varying, "draw", chosen
  )$mean
  # Beyond these limits its exponential may overflow.
  level <- rep(pool$varying$intercept[chosen], each = nrow(x))
  pmin(pmax(kernels + level, fit$settings$varying$floor), 300)
}

#' Standard deviations of new responses, rows x draws, in their units
#' @param weights NULL, or those of the rows.
#' @noRd
varying_sd <- function(fit, x, pool, chosen = seq_along(pool$m),
                       weights = NULL) {
  sd <- exp(log_variance(fit, x, pool, chosen) / 2)
  if (!is.null(weights)) sd <- sd / sqrt(weights)
  unscale_sd(fit$settings$scaling, sd)
}

# Of each row, for its weight
predict_sigma <- function(fit, at) {
  in_shaped_blocks(fit, at, function(x, rows) {
    sd <- varying_sd(fit, x, at$pool, weights = at$weights[rows])
    if (at$interval == "none") {
      return(rowMeans(sd))
    }
    ends <- interval_ends(at$level)
    limits <- apply(sd, 1, stats::quantile, ends, names = FALSE)
    cbind(fit = rowMeans(sd), lwr = limits[1, ], upr = limits[2, ])
  })
}

# Posterior means at some rows of the fit, for print()
noise_range <- function(fit, most = 500) {
  n <- nrow(fit$data$x)
  x <- wide_x(fit, spread_over(n, min(n, most)))
  range(rowMeans(varying_sd(fit, x, bark_pool(fit))))
}

varying_line <- function(fit, show, most = 4) {
  names <- fit$settings$varying$names
  more <- length(names) - most
  if (more > 0) names <- c(utils::head(names, most), paste(more, "more"))
  range <- noise_range(fit)
  paste0(
    noise_label(fit), show(range[[1]]), " to ", show(range[[2]]),
    " over the rows, varies with ", toString(names),
    if (learns_df(fit)) {
      paste0("\n                ", sub("^, ", "", df_part(fit, show)))
    }, "\n"
  )
}

# Draws ------------------------------------------------------------------------

# The noise at a few of the watched rows
watched_noise <- function(fit, most = 5) {
  if (!has_varying_noise(fit)) {
    return(NULL)
  }
  at <- watched_x(fit)
  few <- spread_over(length(at$rows), min(most, length(at$rows)))
  sd <- varying_sd(fit, at$x[few, , drop = FALSE], bark_pool(fit))
  by_chain(fit, t(sd), paste0("sigma[", at$rows[few], "]"))
}

# The intercept, and the mean numbers of coefficients and scales
varying_df <- function(fit, pool) {
  if (!has_varying_noise(fit)) {
    return(0)
  }
  # has_noise() counts the intercept.
  mean(pool$varying$m) + sum(pool$varying$own_included) / length(pool$m)
}
