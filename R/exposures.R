# What a mixture of exposures does: contrasts of the kernels' function between
# chosen values of the exposures.

#' Effects of exposures
#'
#' For fits of [bark()] whose kernels have several inputs, the *exposures* of a
#' mixture: how the function h of the exposures, the sum of kernels, changes
#' between chosen values of them. Linear terms, groups and offsets do not change
#' and cancel. These are the summaries of Bayesian kernel machine regression
#' (Bobb and others, 2015).
#'
#' @param object A fit of [bark()].
#' @param type
#'   * `"curves"`: h along each exposure, the others at their quantile `at`, minus
#'     h with all of them there.
#'   * `"pairs"`: the same along each exposure with a second one at its quantiles
#'     `fixed`, the others at `at`; minus h with all at `at`.
#'   * `"overall"`: h with all exposures at a quantile `quantiles`, minus h with
#'     all at their quantile `at`.
#'   * `"single"`: h with one exposure at the upper of two quantiles `contrast`,
#'     minus h with it at the lower, the others at their quantiles `fixed`.
#'   * `"interactions"`: the single effect of an exposure with the others at the
#'     largest of `fixed` minus that with the others at the smallest.
#'   * `"inclusion"`: the posterior probability that h changes by more than 0.01
#'     standard deviations of the response when the values of the exposure are
#'     permuted among rows, and its share of the change, see [importance()]; then
#'     the same for the exposures of each `kernels()` together, if there are
#'     several.
#' @param exposures Names of exposures; `NULL`: all numeric inputs of kernels.
#' @param at,fixed,quantiles,contrast Quantiles over the rows of the fit, between
#'   0 and 1; see `type`.
#' @param n Number of points of a curve.
#' @param level Probability inside the equal-tailed intervals.
#' @param ndraws `NULL`: all draws, or the number of evenly spaced ones.
#' @param x An object of class `kb_exposures`.
#' @param digits Number of significant digits.
#' @param ... For `plot()` titles, limits and axes, as in
#'   [graphics::plot.default()]; otherwise not used: unknown arguments are errors.
#'
#' @return A data frame of class `kb_exposures` with columns `exposure`, further
#'   ones that depend on `type` (`value` and, for pairs, `other` and `quantile`;
#'   `quantile`; `fixed`), and `mean`, `sd`, `lower`, `upper` of the difference,
#'   in units of the response (for classes of the latent response). For
#'   `"inclusion"` `exposure`, `kernels` (the first with it, or `NA`), `share`
#'   with its Monte Carlo error `share_se`, `effect`, `effect_se` and
#'   `effect_prior`. `plot()` and
#'   [ggplot2::autoplot()] draw it.
#' @section Errors: `kb_error_argument` for unknown exposures and quantiles
#'   outside of 0 and 1; `kb_error_not_defined` for fits without kernels, with
#'   several unordered classes, and of other engines.
#' @references
#' Bobb, J. F., Valeri, L., Claus Henn, B., Christiani, D. C., Wright, R. O.,
#' Mazumdar, M., Godleski, J. J. and Coull, B. A. (2015). Bayesian kernel machine
#' regression for estimating the health effects of multi-pollutant mixtures.
#' *Biostatistics* 16, 493-508. \doi{10.1093/biostatistics/kxu058}
#' @examples
#' data <- sim_friedman(80, p = 5, seed = 1)
#' fit <- bark(y ~ kernels(x1, x2, x3) + x4 + x5, data,
#'   control = mcmc_control(chains = 2, warmup = 200, iter = 100), seed = 1
#' )
#' exposure_effects(fit, "overall")
#' plot(exposure_effects(fit, "curves", n = 15))
#' plot(exposure_effects(fit, "single"))
#' @export
exposure_effects <- function(object, ...) UseMethod("exposure_effects")

#' @export
exposure_effects.default <- function(object, ...) {
  kb_abort(c(
    "{.fn exposure_effects} is not defined for {describe(object)}.",
    i = "It takes fits of {.fn bark}."
  ), "not_defined")
}

#' @rdname exposure_effects
#' @export
exposure_effects.kb_bark <- function(object, type = c(
                                       "curves", "pairs", "overall", "single",
                                       "interactions", "inclusion"
                                     ), exposures = NULL, at = 0.5,
                                     fixed = c(0.25, 0.5, 0.75),
                                     quantiles = seq(0.25, 0.75, 0.05),
                                     contrast = c(0.25, 0.75), n = 50,
                                     level = 0.9, ndraws = NULL, ...) {
  object <- checked_fit(object, ...)
  type <- check_choice(type, c(
    "curves", "pairs", "overall", "single", "interactions", "inclusion"
  ))
  level <- check_number(level, 0, 1, open = TRUE)
  refuse_no_kernels(object, "exposure_effects")
  refuse_class_exposures(object)
  exposures <- check_exposures(object, exposures)
  if (type == "inclusion") {
    return(exposure_table(
      exposure_inclusion(object, exposures, check_ndraws(ndraws)), object, type,
      level
    ))
  }
  setting <- list(
    at = check_quantiles(at, 1), fixed = sort(check_quantiles(fixed)),
    quantiles = check_quantiles(quantiles),
    contrast = sort(check_quantiles(contrast, 2)), n = check_count(n, 2)
  )
  contrasts <- switch(type,
    curves = curve_contrasts, pairs = pair_contrasts,
    overall = overall_contrasts, single = single_contrasts,
    interactions = interaction_contrasts
  )(object, exposures, setting)
  exposure_table(
    contrast_bands(object, contrasts, level, ndraws), object, type, level
  )
}

exposure_table <- function(table, fit, type, level) {
  structure(table,
    type = type, level = level, outcome = exposure_outcome(fit),
    class = c("kb_exposures", "data.frame")
  )
}

exposure_outcome <- function(fit) {
  label <- family_of(fit)$link_label
  if (!is.null(label)) {
    return(paste(label, fit$mould$outcome_name))
  }
  if (has_classes(fit)) "latent response" else fit$mould$outcome_name
}

# Checks -----------------------------------------------------------------------

refuse_class_exposures <- function(fit) {
  if (is_multinomial(fit)) {
    kb_abort(c(
      "{.fn exposure_effects} is not defined for several classes without an
       order.",
      i = "{.fn partial_dependence} has their probabilities."
    ), "not_defined")
  }
}

# Numeric inputs of kernels: not indicators of factors
check_exposures <- function(fit, exposures) {
  factors <- unlist(lapply(names(fit$mould$columns), function(name) {
    indicator_columns(fit, name)
  }))
  known <- setdiff(fit$mould$x_names, factors)
  if (length(known) == 0) {
    kb_abort("{.fn exposure_effects} needs numeric inputs of kernels.",
      "not_defined"
    )
  }
  if (is.null(exposures)) {
    return(known)
  }
  fine <- is.character(exposures) && length(exposures) > 0 &&
    all(exposures %in% known)
  if (length(exposures) == 0) {
    bad_argument(exposures, "exposures", "NULL or names of inputs of kernels")
  }
  if (!fine) {
    kb_abort(c(
      "{.arg exposures} must be among the numeric inputs of kernels:
       {.val {known}}.",
      x = "It is {.val {exposures}}."
    ), "argument", argument = "exposures")
  }
  unique(exposures)
}

check_quantiles <- function(q, length = NULL, arg = rlang::caller_arg(q)) {
  fine <- is.numeric(q) && length(q) > 0 && !anyNA(q) && all(q >= 0 & q <= 1) &&
    (is.null(length) || length(q) == length)
  if (!fine) {
    bad_argument(q, arg, paste(
      if (is.null(length)) "" else length, "numbers between 0 and 1"
    ))
  }
  as.double(q)
}

# Contrasts --------------------------------------------------------------------

# A contrast is a sum of h at points with signs. A list of `points` (matrix, a
# row per point), `sign` and `of` (the line of the table), and `table`.
contrasts_of <- function(points, sign, of, table) {
  list(points = do.call(rbind, points), sign = sign, of = of, table = table)
}

# All inputs at a quantile
quantile_point <- function(fit, q) {
  apply(fit$data$x, 2, stats::quantile, q, names = FALSE)
}

#' Lines with a point and a base each
#' @param points,base Lists of vectors of inputs.
#' @noRd
differences <- function(points, base, table) {
  n <- length(points)
  contrasts_of(
    c(points, base), rep(c(1, -1), each = n), rep(seq_len(n), 2), table
  )
}

curve_values <- function(fit, name, n) {
  ends <- range(fit$data$x[, name])
  seq(ends[[1]], ends[[2]], length.out = n)
}

with_value <- function(point, name, value) {
  point[[name]] <- value
  point
}

curve_contrasts <- function(fit, exposures, setting) {
  base <- quantile_point(fit, setting$at)
  table <- do.call(rbind, lapply(exposures, function(name) {
    data.frame(exposure = name, value = curve_values(fit, name, setting$n))
  }))
  points <- Map(function(name, value) with_value(base, name, value),
    table$exposure, table$value
  )
  differences(points, rep(list(base), nrow(table)), table)
}

pair_contrasts <- function(fit, exposures, setting) {
  if (length(exposures) < 2) {
    bad_argument(exposures, "exposures", "two names or more")
  }
  base <- quantile_point(fit, setting$at)
  table <- expand.grid(
    value = seq_len(setting$n), quantile = setting$fixed, other = exposures,
    exposure = exposures, stringsAsFactors = FALSE, KEEP.OUT.ATTRS = FALSE
  )
  table <- table[table$exposure != table$other, 4:1]
  grids <- lapply(stats::setNames(nm = exposures), curve_values,
    fit = fit, n = setting$n
  )
  table$value <- unlist(Map(function(name, i) grids[[name]][[i]],
    table$exposure, table$value
  ), use.names = FALSE)
  points <- Map(function(name, other, q, value) {
    fixed <- stats::quantile(fit$data$x[, other], q, names = FALSE)
    with_value(with_value(base, other, fixed), name, value)
  }, table$exposure, table$other, table$quantile, table$value)
  rownames(table) <- NULL
  differences(points, rep(list(base), nrow(table)), table)
}

# Inputs that are not exposures stay where they are
all_at <- function(fit, exposures, q, base) {
  base[exposures] <- quantile_point(fit, q)[exposures]
  base
}

overall_contrasts <- function(fit, exposures, setting) {
  base <- quantile_point(fit, setting$at)
  points <- lapply(setting$quantiles, function(q) {
    all_at(fit, exposures, q, base)
  })
  table <- data.frame(exposure = "all", quantile = setting$quantiles)
  differences(points, rep(list(base), length(points)), table)
}

# The exposure at both quantiles of the contrast, the others at q
single_pair <- function(fit, exposures, name, q, setting) {
  at <- all_at(fit, exposures, q, quantile_point(fit, setting$at))
  ends <- stats::quantile(fit$data$x[, name], setting$contrast, names = FALSE)
  list(
    low = with_value(at, name, ends[[1]]),
    high = with_value(at, name, ends[[2]])
  )
}

single_contrasts <- function(fit, exposures, setting) {
  table <- expand.grid(
    fixed = setting$fixed, exposure = exposures, stringsAsFactors = FALSE,
    KEEP.OUT.ATTRS = FALSE
  )[2:1]
  pairs <- Map(function(name, q) single_pair(fit, exposures, name, q, setting),
    table$exposure, table$fixed
  )
  differences(
    lapply(pairs, `[[`, "high"), lapply(pairs, `[[`, "low"), table
  )
}

interaction_contrasts <- function(fit, exposures, setting) {
  ends <- range(setting$fixed)
  points <- lapply(exposures, function(name) {
    more <- single_pair(fit, exposures, name, ends[[2]], setting)
    less <- single_pair(fit, exposures, name, ends[[1]], setting)
    list(more$high, more$low, less$high, less$low)
  })
  contrasts_of(
    unlist(points, recursive = FALSE),
    rep(c(1, -1, -1, 1), length(exposures)),
    rep(seq_along(exposures), each = 4), data.frame(exposure = exposures)
  )
}

contrast_bands <- function(fit, contrasts, level, ndraws) {
  pool <- bark_pool(fit)
  chosen <- equal_weight_draws(fit, pool, check_ndraws(ndraws))
  points <- contrasts$points
  # A point is used by many lines.
  distinct <- unique(points)
  place <- match(row_keys(points), row_keys(distinct))
  h <- kernel_values(fit, distinct, pool, "draw", chosen)$mean
  draws <- rowsum(contrasts$sign * h[place, , drop = FALSE], contrasts$of)
  draws <- unscale_sd(fit$settings$scaling, draws)
  limits <- apply(draws, 1, stats::quantile, interval_ends(level))
  cbind(contrasts$table,
    mean = rowMeans(draws), sd = apply(draws, 1, stats::sd),
    lower = limits[1, ], upper = limits[2, ]
  )
}

row_keys <- function(x) apply(format(x, digits = 17), 1, paste, collapse = " ")

# Inclusion --------------------------------------------------------------------

exposure_inclusion <- function(fit, exposures, ndraws) {
  ndraws <- if (is.null(ndraws)) 400 else ndraws
  pool <- bark_pool(fit)
  inputs <- match(exposures, fit$mould$x_names)
  fields <- fit$mould$fields
  # Shares are of the change with all inputs.
  all <- seq_along(fit$mould$x_names)
  each <- effect_table(fit, list(pool), NULL, ndraws, all)[inputs, ]
  kernels <- if (is.null(fields)) NA_character_ else {
    vapply(inputs, function(l) {
      names(fields)[[which(vapply(fields, function(f) l %in% f, NA))[[1]]]]
    }, "")
  }
  wanted <- c("share", "share_se", "effect", "effect_se", "effect_prior")
  out <- data.frame(exposure = exposures, kernels = kernels, each[wanted])
  if (is.null(fields)) {
    return(out)
  }
  together <- effect_table(fit, list(pool), NULL, ndraws, unname(fields))
  rbind(out, data.frame(
    exposure = "all", kernels = names(fields), together[wanted]
  ))
}

# Printing ---------------------------------------------------------------------

#' @rdname exposure_effects
#' @export
print.kb_exposures <- function(x, digits = 3, ...) {
  check_no_dots(...)
  titles <- c(
    curves = "Change of", pairs = "Change of", overall = "Overall effect on",
    single = "Effects of single exposures on",
    interactions = "Interactions: change of single effects on",
    inclusion = "Exposures with an effect on"
  )
  type <- attr(x, "type")
  plain <- as.data.frame(unclass(x))
  if (!is.null(type)) {
    cat(titles[[type]], " ", attr(x, "outcome"),
      if (type != "inclusion") intervals_words(x), "\n",
      sep = ""
    )
  }
  print(plain, digits = digits, row.names = FALSE)
  invisible(x)
}
