# Dependence on one or two predictors, averaged over the others.

#' Partial dependence
#'
#' `partial_dependence(fit, "x")` averages the function over the training rows for
#' all other predictors: at each point of the grid one or two predictors are set to
#' the point's values in every row, and f is averaged over the rows, draw by draw.
#' For fits of [kbr()] see [partial_dependence.kb_kbr()].
#' @param object A fit of [srvm()], [bark()] or [kgs()].
#' @param variable One or two names of variables of the data (for x and y of
#'   columns). All that the formula makes of a variable moves with it: `x`, `I(x^2)`
#'   and `x:z`, the levels of a factor, linear terms, offsets and groups.
#' @param grid `NULL`, a vector for one variable, or a list of one vector per
#'   variable, in the original units. By default the levels of a factor; of
#'   numbers `n` equally spaced values over the range of the training rows, or
#'   their distinct values if there are fewer or the formula makes levels of them.
#' @param n Number of values of each variable in the default grid; `NULL`: 25
#'   for one variable, 10 for two.
#' @param level Probability inside the credible band.
#' @param ndraws Number of draws, evenly spaced (particles by their weights);
#'   `NULL`: all, but at most 500 for probabilities of more than two classes.
#' @param type For classes the scale of the mean: `"response"` for probabilities
#'   (with two classes of the second level; for [kgs()] of the recorded label)
#'   or `"link"` for f. For numbers `"response"`, for ordered classes `"link"`.
#' @param class For more than two unordered classes: the name of a class; `NULL`
#'   (for one variable): all, one line per point and class.
#' @param x An object of class `kb_partial_dependence`.
#' @inheritParams label_noise
#' @return A data frame of class `kb_partial_dependence` with one line per point of
#'   the grid: one column per variable, `mean`, `lower` and `upper`, in units of the
#'   response; with several classes one line per point and `class`, unless one is
#'   chosen. Of expected counts and of times, which need have no mean, `mean` is the
#'   median. `plot()` draws a curve with its band (points with intervals for the
#'   levels of a factor), or for two numeric variables the mean in colours with
#'   contours, and returns `x`, invisibly; [ggplot2::autoplot()] draws the same.
#' @references
#' Friedman, J. H. (2001). Greedy function approximation: a gradient boosting
#' machine. *Annals of Statistics* 29, 1189-1232. \doi{10.1214/aos/1013203451}
#' @examples
#' data <- sim_friedman(60, p = 5, seed = 1)
#' fit <- bark(y ~ ., data,
#'   control = mcmc_control(chains = 2, warmup = 200, iter = 90), seed = 1
#' )
#' slope <- partial_dependence(fit, "x4", n = 10)
#' slope
#' plot(slope)
#'
#' moons <- sim_moons(80, flips = 0.1, seed = 1)
#' labels <- kgs(y ~ x1 + x2, moons, kernel = kernel_gaussian(0.5), seed = 1)
#' plot(partial_dependence(labels, "x2"))
#' @order 1
#' @export
partial_dependence <- function(object, ...) UseMethod("partial_dependence")

#' @export
partial_dependence.default <- function(object, ...) {
  not_defined("partial_dependence", object, c("srvm", "bark", "kgs"))
}

#' @export
partial_dependence.kb_tdsmc <- function(object, ...) {
  not_defined_td("partial_dependence")
}

#' @rdname partial_dependence
#' @export
partial_dependence.kb_fit <- function(object, variable, grid = NULL, n = NULL,
                                      level = 0.9, ndraws = NULL,
                                      type = c("response", "link"),
                                      class = NULL, ...) {
  object <- checked_fit(object, ...)
  level <- check_number(level, 0, 1, open = TRUE)
  type <- check_partial_type(object, type)
  classes <- if (has_several_functions(object)) object$mould$levels
  frame <- variable_frame(object)
  variable <- check_partial_variables(object, variable, frame)
  check_partial_class(classes, class, variable)
  points <- partial_points(object, variable, grid, n, frame)
  pool <- posterior_pool(object)
  ndraws <- check_ndraws(ndraws)
  if (is.null(ndraws) && type == "response" && !is.null(classes)) ndraws <- 500
  weights <- drawn_weights(object, pool, ndraws)
  bands <- partial_bands(object, points, pool, weights, type, level)
  partial_table(
    points, bands, "class", classes, class, level,
    partial_label(object, type, class)
  )
}

# Does the model have more than two unordered classes?
has_several_functions <- function(fit) {
  !is_ordered(fit) && (length(fit$mould$levels) > 2 || is_multinomial(fit))
}

#' @param bands A list of data frames, one per function.
#' @param what The column with the names of the functions.
#' @param wanted One of them, or NULL.
#' @noRd
partial_table <- function(points, bands, what, names, wanted, level, outcome) {
  if (is.null(names) || !is.null(wanted)) {
    chosen <- if (is.null(wanted)) 1 else match(wanted, names)
    out <- cbind(points, bands[[chosen]])
  } else {
    of <- factor(rep(names, each = nrow(points)), names)
    out <- cbind(
      do.call(rbind, rep(list(points), length(names))),
      stats::setNames(list(of), what), do.call(rbind, unname(bands))
    )
  }
  structure(out,
    level = level, outcome = outcome,
    class = c("kb_partial_dependence", "data.frame")
  )
}

partial_label <- function(fit, type, class) {
  name <- fit$mould$outcome_name
  levels <- fit$mould$levels
  if (is.null(levels)) {
    label <- if (type == "link") family_of(fit)$link_label
    return(paste(c("mean", label, name), collapse = " "))
  }
  if (type == "link") {
    return(paste0("mean f", if (!is.null(class)) paste(" of", class)))
  }
  if (is.null(class) && !has_several_functions(fit)) class <- levels[[2]]
  paste0("mean P(", name, if (!is.null(class)) paste(" =", class), ")")
}

# Draws ------------------------------------------------------------------------

# Weights of the draws in a pool, or of some of them
drawn_weights <- function(fit, pool, ndraws) {
  all <- length(pool$weights)
  if (is.null(ndraws) || ndraws >= all) {
    return(pool$weights)
  }
  tabulate(equal_weight_draws(fit, pool, ndraws), all) / ndraws
}

# Quantiles of weighted draws; for equal weights as `stats::quantile()`
draw_quantiles <- function(values, weights, probs) {
  if (diff(range(weights)) <= 1e-12 * max(weights)) {
    return(stats::quantile(values, probs, names = FALSE))
  }
  vapply(probs, function(p) weighted_quantile(values, weights, p), 0)
}

# Means over rows --------------------------------------------------------------

#' Mean over the training rows at each point, with its limits
#' @param weights Of the draws in the pool, see `drawn_weights()`.
#' @return List of data frames, one per function: `mean`, `lower`, `upper`.
#' @noRd
partial_bands <- function(fit, points, pool, weights, type, level) {
  UseMethod("partial_bands")
}

#' @export
partial_bands.default <- function(fit, points, pool, weights, type, level) {
  chosen <- which(weights > 0)
  each <- lapply(partial_rows(fit, points), function(x) {
    mean_effects(fit, x, pool, chosen, type)
  })
  functions <- seq_len(ncol(each[[1]]))
  lapply(functions, function(k) {
    draws <- vapply(each, function(v) v[, k], numeric(length(chosen)))
    draws_table(
      matrix(draws, length(chosen)), weights[chosen], level,
      lacks_mean(fit, type)
    )
  })
}

#' @export
partial_bands.kb_srvm <- function(fit, points, pool, weights, type, level) {
  if (type == "response" && is_probit(fit)) {
    return(NextMethod())
  }
  moments <- lapply(partial_rows(fit, points), srvm_mean_moments, fit, pool)
  list(mixture_table(fit, list(
    mean = do.call(rbind, lapply(moments, `[[`, "mean")),
    variance = do.call(rbind, lapply(moments, `[[`, "variance"))
  ), weights, level))
}

#' @export
partial_bands.kb_bark <- function(fit, points, pool, weights, type, level) {
  chosen <- which(weights > 0)
  if (has_mixed(fit)) {
    return(mixed_bands(fit, points, pool, weights, type, level))
  }
  if (type == "response" && is_probit(fit)) {
    draws <- partial_values(fit, points, pool, "probability", chosen)$mean
    return(list(draws_table(t(draws), weights[chosen], level)))
  }
  moments <- partial_values(fit, points, pool, "moments", chosen)
  list(mixture_table(fit, moments, weights[chosen], level))
}

#' @export
partial_bands.kb_bark_multinomial <- function(fit, points, pool, weights, type,
                                              level) {
  if (type == "response") {
    return(partial_bands.default(fit, points, pool, weights, type, level))
  }
  lapply(unname(pool$fields), function(field) {
    partial_bands.kb_bark(fit, points, field, weights, type, level)[[1]]
  })
}

# Of the whole predictor, if there are terms beside kernels
mixed_bands <- function(fit, points, pool, weights, type, level) {
  if (type == "response" && !is_gaussian(fit)) {
    return(partial_bands.default(fit, points, pool, weights, type, level))
  }
  chosen <- which(weights > 0)
  share <- copy_shares(fit, fit$time)
  draws <- vapply(partial_rows(fit, points), function(x) {
    blocks <- lapply(row_blocks(x, 2 * length(chosen)), function(rows) {
      f <- bark_values(fit, x[rows, , drop = FALSE], pool, "draw", chosen)$mean
      colSums(share[rows] * f)
    })
    Reduce(`+`, blocks)
  }, numeric(length(chosen)))
  draws <- unscale_mean(fit$settings$scaling, matrix(draws, length(chosen)))
  list(draws_table(draws, weights[chosen], level, lacks_mean(fit, type)))
}

# Columns that come of the variables alone are the same in all rows, and no
# value of a kernel is computed twice. Fits whose weights mean copies have an
# intercept beside the kernels, and so `mixed_bands()`.
partial_values <- function(fit, points, pool, what, chosen) {
  frame <- variable_frame(fit)
  sources <- column_sources(fit$mould)
  owners <- vapply(names(points), part_owner, "", frame = frame)
  varied <- which(vapply(sources, function(from) any(owners %in% from), NA))
  scaling <- fit$settings$scaling
  train <- scaling_x(scaling, training_x(fit))
  whole <- all(owners == names(points))
  if (whole && all(unlist(sources[varied]) %in% owners)) {
    at <- frame[rep(1L, nrow(points)), , drop = FALSE]
    at <- rows_of_variables(fit$mould, set_parts(at, points), "grid")
    at <- scaling_x(scaling, at)[, varied, drop = FALSE]
    return(bark_partial_cpp(pool, at, varied, train, train, what, chosen))
  }
  each <- lapply(partial_rows(fit, points, frame), function(x) {
    rows <- scaling_x(scaling, x)
    bark_partial_cpp(
      pool, matrix(0, 1, 0), integer(), rows, train, what, chosen
    )
  })
  lapply(c(mean = "mean", variance = "variance"), function(part) {
    do.call(rbind, lapply(each, `[[`, part))
  })
}

#' The mean over rows is a linear function of the coefficients, and so normal
#' given everything else: quantiles of the mixture are exact
#' @param moments List of `mean` and `variance`: points x draws.
#' @noRd
mixture_table <- function(fit, moments, weights, level) {
  ends <- interval_ends(level)
  limits <- mixture_quantiles_cpp(
    moments$mean, moments$variance, NULL, weights, Inf, ends
  )
  out <- unscale_mean(
    fit$settings$scaling, cbind(drop(moments$mean %*% weights), limits)
  )
  data.frame(mean = out[, 1], lower = out[, 2], upper = out[, 3])
}

#' @param draws One row per draw and one column per point.
#' @param median For draws that have no mean?
#' @noRd
draws_table <- function(draws, weights, level, median = FALSE) {
  q <- apply(draws, 2, draw_quantiles, weights, c(interval_ends(level), 0.5))
  data.frame(
    mean = if (median) q[3, ] else drop(weights %*% draws) / sum(weights),
    lower = q[1, ], upper = q[2, ]
  )
}

# Mean and variance, given each particle, of the mean of f over rows: that at
# a row with the mean of the kernels
srvm_mean_moments <- function(x, fit, pool) {
  if (learns_scales(fit$settings)) {
    moments <- own_moments(fit, x, pool, averaged = TRUE)
  } else {
    candidates <- sort(unique(pool$sets))
    blocks <- lapply(row_blocks(x, length(candidates)), function(rows) {
      some <- x[rows, , drop = FALSE]
      colSums(do.call(cbind, srvm_columns(fit, some, candidates, pool)))
    })
    mean <- matrix(Reduce(`+`, blocks) / nrow(x), 1)
    fixed <- n_fixed(fit$settings)
    moments <- srvm_moments_of(
      fit, mean[, seq_len(fixed), drop = FALSE],
      mean[, fixed + seq_along(candidates), drop = FALSE], candidates, pool
    )
  }
  moments$mean <- moments$mean +
    mean(row_offset(fit, x)) / fit$settings$scaling$y_scale
  moments
}

# Means over rows of the value of `effect_draws()`, one row per draw and one
# column per function
mean_effects <- function(fit, x, pool, chosen, type) {
  share <- copy_shares(fit, nrow(x))
  blocks <- lapply(row_blocks(x, 2 * length(chosen)), function(rows) {
    draws <- effect_draws(fit, x[rows, , drop = FALSE], pool, chosen, type)
    if (is.matrix(draws)) {
      return(draws %*% share[rows])
    }
    out <- apply(draws, 3, function(v) v %*% share[rows])
    matrix(out, nrow(draws))
  })
  Reduce(`+`, blocks)
}

#' Draws of the function at the rows of the grid
#' @param type `"response"` or `"link"`.
#' @return S x n, or S x n x C.
#' @noRd
effect_draws <- function(fit, x, pool, chosen, type) UseMethod("effect_draws")

#' @export
effect_draws.default <- function(fit, x, pool, chosen, type) {
  if (type == "link") {
    return(posterior_draws(fit, x, pool, chosen))
  }
  expected_draws(fit, complete_x(x), pool, chosen)
}

#' @export
effect_draws.kb_bark_multinomial <- function(fit, x, pool, chosen, type) {
  fields_class_draws(fit, complete_x(x), pool, chosen)
}

#' @export
effect_draws.kb_kgs <- function(fit, x, pool, chosen, type) {
  if (type == "response") {
    return(expected_draws(fit, complete_x(x), pool, chosen))
  }
  draws <- latent_draws(fit, x, pool, chosen)
  draws <- aperm(draws, c(2, 1, 3))
  if (has_several_functions(fit)) draws else last_slice(draws)
}

last_slice <- function(draws) {
  size <- dim(draws)
  matrix(draws[, , size[[3]]], size[[1]])
}

# Rows without missing values, in the form of `prediction_rows()`
complete_x <- function(x, y = NULL, weights = NULL) {
  list(x = x, complete = rep(TRUE, nrow(x)), y = y, weights = weights)
}

# Variables --------------------------------------------------------------------

check_partial_variables <- function(fit, variable, frame) {
  if (missing(variable)) bad_argument(variable, "variable", "given")
  check_variables(fit$mould, variable, names(variable_parts(frame)), 1:2)
}

check_partial_type <- function(fit, type) {
  # Fits of kgs() have no family.
  known <- c("response", "link")
  default <- identical(type, known)
  if (!is.null(fit$settings$family)) known <- family_of(fit)$effects
  if (default) known[[1]] else check_choice(type, known)
}

#' @param classes The names of several, or NULL.
#' @noRd
check_partial_class <- function(classes, class, variable) {
  if (!is.null(class)) {
    if (is.null(classes)) {
      bad_argument(class, "class", "NULL: the fit has one function")
    }
    return(check_choice(class, classes))
  }
  if (!is.null(classes) && length(variable) == 2) {
    kb_abort(c(
      "{.arg class} must be given with two variables.",
      i = "It is one of {.val {classes}}."
    ), "argument", argument = "class")
  }
}

#' The points of the grid, one column per variable
#' @param frame From `variable_frame()`.
#' @noRd
partial_points <- function(fit, variable, grid, n, frame) {
  if (is.null(n)) n <- if (length(variable) == 1) 25 else 10
  n <- check_count(n, 2)
  if (!is.null(grid) && !is.list(grid)) grid <- list(grid)
  if (!is.null(grid) && length(grid) != length(variable)) {
    bad_argument(grid, "grid", "NULL, or one vector per variable")
  }
  if (!is.null(names(grid))) grid <- grid[variable]
  values <- lapply(seq_along(variable), function(i) {
    v <- variable_parts(frame)[[variable[[i]]]]
    if (!is_measured(v)) {
      # Linear terms have levels that occur.
      known <- fit$mould$mixed$linear$xlevels[[variable[[i]]]]
      if (!is.null(known)) v <- factor(v, known)
      return(level_grid(v, variable[[i]], grid[[i]]))
    }
    coded <- is_coded(fit$mould, part_owner(frame, variable[[i]]))
    number_grid(v, grid[[i]], n, coded)
  })
  expand.grid(stats::setNames(values, variable), KEEP.OUT.ATTRS = FALSE)
}

# The rows once for each point, with the point's values put in
partial_rows <- function(fit, points, frame = variable_frame(fit)) {
  lapply(seq_len(nrow(points)), function(i) {
    moved <- set_parts(frame, points[i, , drop = FALSE])
    rows_of_variables(fit$mould, moved, "grid")
  })
}

number_grid <- function(v, given, n, coded) {
  if (!is.null(given)) {
    fine <- (is_measured(given) || is.logical(given)) && length(given) > 0 &&
      all(is.finite(given))
    if (!fine) bad_argument(given, "grid", "finite numbers")
    return(part_like(given, v))
  }
  values <- sort(unique(v))
  if (length(values) <= n) {
    return(values)
  }
  if (coded) {
    values <- unique(part_quantiles(v, seq(0, 1, length.out = n), TRUE))
  } else {
    ends <- as.double(range(v))
    values <- seq(ends[[1]], ends[[2]], length.out = n)
  }
  part_like(values, v)
}

level_grid <- function(v, name, given) {
  levels <- if (is.factor(v)) levels(v) else sort(unique(as.character(v)))
  if (is.null(given)) given <- levels
  novel <- setdiff(as.character(given), levels)
  if (length(novel) > 0) {
    kb_abort(c(
      "{.arg grid} must have levels of {.val {name}}: {.val {levels}}.",
      x = "It has {.val {novel}}."
    ), "argument", argument = "grid")
  }
  factor(as.character(given), levels)
}
