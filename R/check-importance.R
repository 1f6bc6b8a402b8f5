# Importance of predictors.

#' Importance of predictors
#' @description `importance(fit)` says which predictors matter: for fits of [bark()] by
#' their scales and the probability that they have an effect, for those of [srvm()] and
#' [kgs()] by permutation importance.
#'
#' The scale \eqn{\lambda_l}{lambda_l} of a predictor in a kernel of `bark()`
#' measures how fast the kernel changes along it. Scales refer to the predictors as
#' the model sees them; they are comparable if these are standardised. A predictor
#' may be in the kernel with a scale that is too small to change anything. The column
#' `effect` is therefore the posterior probability that it has an effect on f, by
#' kernels or by its slope: that f changes by more than 0.01 standard deviations of
#' the response when its values are permuted among the rows (root mean square over at
#' most 100 training rows, 20 permutations). For classes the unit is the standard
#' deviation of the noise of the latent response; for several unordered classes f is
#' any field minus the mean of the fields. `effect_prior` is the same probability
#' under the prior: compare the two to see what the data contribute.
#'
#' Permutation importance is the increase in the expected loss when the values
#' of one predictor are permuted among the rows (Breiman, 2001; the *model reliance* of
#' Fisher, Rudin and Dominici, 2019, as a difference). Each draw of the function has an
#' increase, so that the importance has a posterior distribution. It describes the
#' *fitted function* on these rows: predictors that can replace each other share it, and
#' permuted rows combine values that may never occur together. It is larger on the
#' training rows than on new rows (`newdata`).
#' @param object A fit of [bark()], [srvm()] or [kgs()].
#' @param level Probability inside the equal-tailed intervals.
#' @param method `"inclusion"`: scales, inclusion and effects, for [bark()]
#'   only, where it is the default; `"permutation"`.
#' @param newdata,newy For permutations: rows with their responses, as for
#'   `predict(type = "log_score")`; `NULL`: the training rows. Rows with missing
#'   values are left out.
#' @param loss For permutations: `"squared"` error, for classes the Brier score
#'   (squared error of the probabilities, summed over classes), or for classes
#'   `"log"`, minus the log probability. `NULL`: `"squared"` for numbers and for
#'   [kgs()], whose draws may have probability 0 for the observed class and then
#'   an infinite log loss; otherwise `"log"`.
#' @param permutations Number of permutations, the same for each predictor.
#' @param by `"variable"` of the data, all of whose columns are permuted: the
#'   levels of a factor, `poly(x, 2)`, `x:z`; or each `"column"` that kernels see.
#' @param ndraws Largest number of draws, evenly spaced (particles by their
#'   weights). For [bark()] `NULL` is 400 for the probabilities of effects (from
#'   the posterior and from the prior), and 200 for permutations.
#' @param seed For permutations: a whole number, which leaves R's generator as
#'   it is, or `NULL` to draw from it.
#' @param x An object of class `kb_importance`.
#' @param type What to draw: the `"share"` of each predictor in the change of f; its
#'   `"scale"` as a box; the probability of its `"effect"` with a mark at that of the
#'   prior; `"both"`, scales above effects; or the probability of `"inclusion"`.
#'   `NULL`: shares where kernels have scales of their own; otherwise both for priors
#'   that select and if an effect is in doubt, or the scales. For permutations
#'   `"rise"`, as a box. Orange lines extend two Monte Carlo standard errors to
#'   either side.
#' @param transform The axis of the scales: `"sqrt"` or `"none"`; always
#'   `"none"` for permutations.
#' @param n The number of predictors shown: those that `print()` puts first, in
#'   the order of the columns (but see `"share"`).
#' @param digits Number of significant digits.
#' @param ... For `plot()` titles, limits and axes, as in
#'   [graphics::plot.default()]; for fits of `bark()` the arguments of
#'   permutations; otherwise not used: unknown arguments are errors.
#' @return A data frame of class `kb_importance`. For scales one row per variable
#'   of the data that kernels see, in their order, with the largest scale of its
#'   columns; or per column:
#'   * `variable`; `mean` of the scale (0 where the predictor is not in the kernel), its
#'     Monte Carlo standard error `mc_se`, `lower`, `q25`, `median`, `q75`, `upper`;
#'   * `inclusion`, the posterior probability that the predictor is in the kernel (1 for
#'     priors that do not select), and `inclusion_se`;
#'   * `share`, the posterior mean of its share of the change of f (the mean squared
#'     change when its values are permuted, over the sum for all predictors), and
#'     `share_se`;
#'   * `effect`, the posterior probability of an effect on f, `effect_se`, and
#'     `effect_prior`.
#'
#'   Standard errors are `NA` if all draws are equal. With `bark_prior(own_scales =
#'   TRUE)` the scale is the mean over the kernels, and `inclusion` the posterior
#'   mean of the share of kernels that contain the predictor, weighted by the
#'   absolute size of their coefficients. Probabilities of an effect are close to 1
#'   under the prior too: look at `share`, by which the table is ordered. With
#'   `bark_prior(directions = )` the scale of predictor i is replaced by its share
#'   \eqn{\sum_l \lambda_l u_{il}^2 / \sum_l \lambda_l}{sum_l lambda_l u_il^2 / sum_l
#'   lambda_l} over the directions l, and `inclusion` is the probability that any
#'   direction is in the kernel.
#'
#'   For permutations one row per variable of the formula (also of terms beside
#'   kernels), or per column of the kernels' inputs: the same columns up to `upper`,
#'   for the increase in the loss (for squared error in squared units of the
#'   response). `mc_se` comes from the spread of permutations, `NA` for a single one.
#'   The attribute `base` is the posterior mean of the loss without permutation. Rows
#'   count by their `weights`; where these mean copies, all copies of a row get the
#'   same value. For [kgs()] the response is the recorded label, right or wrong.
#'
#'   `print()` shows the `n` that matter most; `plot()` returns `x`, invisibly.
#'   In `tidy()` columns have broom's names: `term`, `estimate` (the mean),
#'   `conf.low` and `conf.high`.
#' @references
#' Breiman, L. (2001). Random forests. *Machine Learning* 45, 5-32.
#' \doi{10.1023/A:1010933404324}
#'
#' Fisher, A., Rudin, C. and Dominici, F. (2019). All models are wrong, but many
#' are useful: learning a variable's importance by studying an entire class of
#' prediction models simultaneously. *Journal of Machine Learning Research* 20
#' (177), 1-81.
#' @examples
#' data <- sim_friedman(60, p = 7, seed = 1)
#' fit <- bark(y ~ ., data,
#'   control = mcmc_control(chains = 2, warmup = 200, iter = 90), seed = 1
#' )
#' importance(fit)
#' plot(importance(fit))
#' new <- sim_friedman(60, p = 7, seed = 2)
#' importance(fit, method = "permutation", newdata = new, seed = 1)
#' @order 1
#' @export
importance <- function(object, ...) UseMethod("importance")

#' @export
importance.default <- function(object, ...) {
  not_defined("importance", object, c("bark", "srvm", "kgs"))
}

#' @rdname importance
#' @order 2
#' @export
importance.kb_bark <- function(object, level = 0.9,
                               method = c("inclusion", "permutation"),
                               ndraws = NULL, by = c("variable", "column"),
                               ...) {
  method <- check_choice(method, c("inclusion", "permutation"))
  by <- check_choice(by, c("variable", "column"))
  if (method == "permutation") {
    return(bark_permutation(object, level, ndraws, by, ...))
  }
  object <- checked_fit(object, ...)
  level <- check_number(level, 0, 1, open = TRUE)
  ndraws <- check_effect_draws(ndraws)
  refuse_where(object, "importance", "no_kernels")
  parts <- input_scales(object)
  effects <- effect_table(
    object, list(parts$pool), NULL, ndraws, permuted_inputs(object, by)
  )
  scale_table(object, scales_by(object, parts, by), level, effects)
}

bark_permutation <- function(object, level, ndraws, by, ...) {
  if (is.null(ndraws)) {
    return(importance.kb_fit(object, level, by = by, ...))
  }
  importance.kb_fit(object, level, ndraws = ndraws, by = by, ...)
}

check_effect_draws <- function(ndraws) {
  if (is.null(ndraws)) 400L else check_size(ndraws, 1)
}

# The scale of each predictor, or its share, and whether it is in the kernel:
# a row per draw
input_scales <- function(fit, pool = bark_pool(fit)) {
  included <- bark_included(fit, pool)
  scales <- bark_scales(fit, pool)
  if (has_directions(fit)) {
    scales <- predictor_shares(fit, pool)
    included <- matrix(rowSums(included) > 0, nrow(scales), ncol(scales))
  }
  list(pool = pool, scales = scales, included = included + 0)
}

# Of variables the largest scale of their columns, or the sum of their shares,
# and whether any column is in the kernel
scales_by <- function(fit, parts, by) {
  if (by == "column") {
    return(parts)
  }
  columns <- variable_columns(fit$mould, beside = FALSE)
  combined <- function(v, combine) {
    each <- lapply(columns, function(own) {
      Reduce(combine, lapply(own, function(j) v[, j]))
    })
    matrix(unlist(each), nrow(v))
  }
  parts$scales <- combined(parts$scales, if (has_directions(fit)) `+` else pmax)
  parts$included <- combined(parts$included, pmax)
  parts
}

#' @param parts List of `scales` and `included`, a row per draw and a column
#'   per line.
#' @param effects From `effect_table()`.
#' @noRd
scale_table <- function(object, parts, level, effects) {
  ends <- interval_ends(level)
  q <- apply(parts$scales, 2, stats::quantile,
    c(ends[[1]], 0.25, 0.5, 0.75, ends[[2]]),
    names = FALSE
  )
  chains <- length(fit_runs(object))
  structure(
    data.frame(
      variable = rownames(effects), mean = colMeans(parts$scales),
      mc_se = monte_carlo_errors(parts$scales, chains),
      lower = q[1, ], q25 = q[2, ], median = q[3, ], q75 = q[4, ],
      upper = q[5, ],
      inclusion = colMeans(parts$included),
      inclusion_se = monte_carlo_errors(parts$included, chains), effects,
      row.names = NULL
    ),
    level = level, method = "inclusion",
    selects = bark_selects(object$settings$prior$type),
    shares = if (has_directions(object)) TRUE,
    by_share = if (has_own_scales(object)) TRUE,
    class = c("kb_importance", "data.frame")
  )
}

# The lines that matter most, the first at the top
most_important <- function(x, n) {
  order <- if (by_permutation(x)) {
    order(-x$mean)
  } else if (isTRUE(attr(x, "by_share"))) {
    order(-x$share)
  } else {
    order(-x$effect, -x$mean)
  }
  order[seq_len(min(n, length(order)))]
}

by_permutation <- function(x) identical(attr(x, "method"), "permutation")

# Does the prior select? Subsets of the table have lost the attribute
tells_inclusion <- function(x) {
  isTRUE(attr(x, "selects")) || any(x$effect < 1)
}

is_share <- function(x) isTRUE(attr(x, "shares"))

#' @rdname importance
#' @export
print.kb_importance <- function(x, n = 10, digits = 3, ...) {
  check_no_dots(...)
  columns <- c(
    "variable", "mean", "mc_se", "lower", "median", "upper",
    if (!by_permutation(x)) c("share", "effect", "effect_se", "effect_prior")
  )
  if (!all(columns %in% names(x))) {
    # Columns were taken out of it.
    return(invisible(print(as.data.frame(x), digits = digits)))
  }
  chosen <- most_important(x, check_count(n, 1))
  cat(importance_title(x, digits), intervals_words(x), "\n", sep = "")
  plain <- as.data.frame(unclass(x)[columns])[chosen, ]
  scales <- c("mean", "lower", "median", "upper")
  plain[scales] <- format_alike(plain[scales], digits)
  plain$mc_se <- format(plain$mc_se, digits = 2)
  print(plain, digits = digits, row.names = FALSE)
  if (length(chosen) < nrow(x)) {
    cat("and", counted(nrow(x) - length(chosen), "more predictor"), "\n")
  }
  invisible(x)
}

importance_title <- function(x, digits) {
  if (!by_permutation(x)) {
    return(paste0(
      if (is_share(x)) "Shares" else "Scales",
      " of the predictors, their share of the change of f, and P(effect on f)"
    ))
  }
  paste0(
    "Increase in ", loss_words(x), " when permuted, from a baseline of ",
    format(attr(x, "base"), digits = digits)
  )
}

loss_words <- function(x) {
  c(squared = "squared error", log = "log loss")[[attr(x, "loss")]]
}

# The words of print() for a table with intervals
intervals_words <- function(x) {
  if (!is.null(attr(x, "level"))) {
    paste0(" (", 100 * attr(x, "level"), "% intervals)")
  }
}

# Columns with as many decimals as the largest number needs
format_alike <- function(columns, digits) {
  largest <- max(abs(unlist(columns)), 0, na.rm = TRUE)
  size <- if (largest > 0) floor(log10(largest)) else 0
  decimals <- max(0, digits - 1 - size)
  # No minus before a zero.
  lapply(columns, function(v) {
    formatC(round(v, decimals) + 0, decimals, format = "f")
  })
}

#' @rdname importance
#' @param conf.int For `tidy()`: add the limits?
#' @export
tidy.kb_importance <- function(x, conf.int = TRUE, ...) {
  check_no_dots(...)
  tidy_columns(x, c(
    variable = "term", mean = "estimate", lower = "conf.low",
    upper = "conf.high"
  ), conf.int)
}

#' @rdname importance
#' @importFrom graphics plot
#' @export
plot.kb_importance <- function(x, type = NULL, transform = NULL, n = 30, ...) {
  draw_picture(importance_picture(x, type, transform, n), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_importance <- function(object, type = NULL, n = 30, ...) {
  gg_picture(importance_picture(object, type, NULL, n), object, ...)
}

# Boxes of scales, or rises, and bars of probabilities
importance_picture <- function(x, type = NULL, transform = NULL, n = 30) {
  type <- check_importance_type(x, type)
  transform <- check_importance_transform(x, transform)
  label <- importance_label(x)
  level <- attr(x, "level")
  n <- check_count(n, 1)
  order <- most_important(x, n)
  x <- as.data.frame(x[if (type == "share") order else sort(order), ])
  new_picture(c(
    if (type %in% c("scale", "rise", "both")) {
      list(scales_panel(x, label, transform == "sqrt", level))
    },
    if (type %in% c("effect", "inclusion", "share", "both")) {
      what <- if (type == "both") "effect" else type
      list(probabilities_panel(x, what, type == "both"))
    }
  ))
}

check_importance_type <- function(x, type) {
  choices <- c("scale", "effect", "inclusion", "share", "both")
  usual <- if (isTRUE(attr(x, "by_share"))) {
    "share"
  } else if (tells_inclusion(x)) {
    "both"
  } else {
    "scale"
  }
  if (by_permutation(x)) choices <- usual <- "rise"
  check_choice(if (is.null(type)) usual else type, choices, "type")
}

check_importance_transform <- function(x, transform) {
  # An increase may be negative.
  choices <- c(if (!by_permutation(x)) "sqrt", "none")
  if (is.null(transform)) transform <- choices[[1]]
  check_choice(transform, choices)
}

# The axis label of the boxes
importance_label <- function(x) {
  if (by_permutation(x)) {
    return(paste("increase in", loss_words(x)))
  }
  if (is_share(x)) "share" else "kernel scale"
}

interval_box_label <- function(level) {
  paste("quartiles and", if (is.null(level)) {
    "interval"
  } else {
    percent_label(level, "interval")
  })
}

# A box per predictor, whiskers at the ends of the interval
scales_panel <- function(x, label, root, level) {
  at <- seq_len(nrow(x))
  panel(
    "", label,
    if (min(x$lower) < 0) rule_layer(y = 0),
    layer("boxes",
      data.frame(
        x = at, ymin = x$lower, lower = x$q25, middle = x$median,
        upper = x$q75, ymax = x$upper
      ),
      fill = "#9BD1F2", label = interval_box_label(level)
    ),
    error_layer(at, x$mean, x$mc_se, if (root) 0 else -Inf),
    points_layer(at, x$mean,
      shape = 18, size = 1.2, colour = "orange", label = "mean"
    ),
    xlim = range(at) + c(-0.6, 0.6), ylim = 0, ticks = x$variable, root = root
  )
}

#' Bars of shares, of the probabilities of an effect, with marks at those of the
#' prior, or of inclusion
#' @param below Is it below a panel of scales?
#' @noRd
probabilities_panel <- function(x, what, below = FALSE) {
  at <- seq_len(nrow(x))
  panel(
    "", c(
      effect = "P(effect)", inclusion = "P(included)",
      share = "share of the change of f"
    )[[what]],
    layer("bars", data.frame(x = at, y = x[[what]]), label = "posterior"),
    error_layer(at, x[[what]], x[[paste0(what, "_se")]], 0, 1),
    if (what == "effect") {
      points_layer(at, x$effect_prior,
        shape = 23, size = 1, colour = "grey", fill = "white", label = "prior"
      )
    },
    xlim = range(at) + c(-0.6, 0.6), ylim = if (what == "share") 0 else 0:1,
    ticks = x$variable,
    shared = if (below) c("main", "ylim")
  )
}

# Errors of 0, or unknown ones, have no line
error_layer <- function(at, value, se, ...) {
  ends <- error_bars(value, se, ...)
  known <- !is.na(ends$upper - ends$lower) & ends$upper > ends$lower
  layer("ranges",
    data.frame(x = at, ymin = ends$lower, ymax = ends$upper)[known, ],
    colour = "orange", lwd = 2, label = if (any(known)) "two Monte Carlo errors"
  )
}

# Two Monte Carlo standard errors to either side, no further than values can go
error_bars <- function(value, se, lowest = 0, highest = Inf) {
  list(
    lower = pmax(value - 2 * se, lowest), upper = pmin(value + 2 * se, highest)
  )
}
