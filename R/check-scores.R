# Cross-validation: the same scores for all engines, on the same folds.

#' Cross-validation, and comparison of fits
#'
#' `cross_validate(list(a = fit1, b = fit2))` refits each model without one fold of
#' its rows at a time, with the settings of the first call, and scores the
#' predictions of the omitted rows. Scaling, median bandwidths and priors that depend
#' on the data are recomputed.
#' @param object A fit of [srvm()], [bark()] or [kgs()], or a list of fits to
#'   the same responses, possibly from different engines and with different predictors.
#'   The names of the list are the names of the models.
#' @param folds The number of folds, at least 2, or a vector with the fold of
#'   each training row. Rows are assigned to folds at random, separately for
#'   each class, and for each side on which they are censored. Rows of a group
#'   that the other folds do not have are predicted as those of a new group, see
#'   [predict.kb_bark()]; so `folds = data$g` leaves whole groups out.
#' @inheritParams bark
#' @param x An object of class `kb_cross_validation`.
#' @param digits Number of significant digits.
#' @param ... Not used: unknown arguments are errors. For `plot()`: titles,
#'   limits and axes, as in [graphics::plot.default()].
#' @return A data frame of class `kb_cross_validation` with one line per model
#'   and row: `model`, `row`, `fold`, `copies` (if [weights][kb_weights] count
#'   them; sums and means of `summary()` are over copies), `log_score` (log predictive
#'   density or probability of the response), and
#'   * for numeric responses `fit` (predictive mean), `error` (response minus
#'     `fit`), `crps` (continuous ranked probability score, in units of the
#'     response: smaller is better) and `pit`, the predictive probability of a
#'     value below the response, uniform if predictions are calibrated (of counts,
#'     successes and censored responses at random between the two ends). For successes
#'     `fit` and `error` are shares; censored responses have no `error`; successes and
#'     families that take censored responses have no `crps`;
#'   * for classes `class` (the most probable one), `wrong` (0 or 1), `brier`
#'     (sum over classes of the squared error of the probability) and `probability`, a
#'     matrix with one column per class. For [kgs()] all refer to the recorded labels.
#'
#'   `summary()` gives a data frame with one line per model: `model`, `elpd`
#'   (sum of log scores) and its standard error, the `difference` in elpd from
#'   the best model with its standard error over rows, means of the other scores
#'   (`rmse` and `crps`, or `error` and `brier`), for numbers `coverage`, the
#'   share of responses inside the central prediction interval of `level`, and
#'   `weight`, the model's weight in the mixture of predictive distributions
#'   whose log score over all rows is highest (stacking). `print()` shows it,
#'   and `tidy()` has a row per model and number. `plot()` shows calibration.
#'
#'   Refits run on [workers][kb_workers], if there are any. After an interrupt the
#'   result has the folds that are finished for all models.
#' @section Errors: `kb_error_argument` for fits to different responses, or if a
#'   class has rows in one fold only, or those that are not censored on one side.
#' @references
#' Yao, Y., Vehtari, A., Simpson, D. and Gelman, A. (2018). Using stacking to
#' average Bayesian predictive distributions. *Bayesian Analysis* 13, 917-1007.
#' \doi{10.1214/17-BA1091}
#'
#' Gneiting, T. and Raftery, A. E. (2007). Strictly proper scoring rules,
#' prediction, and estimation. *Journal of the American Statistical Association*
#' 102, 359-378. \doi{10.1198/016214506000001437}
#' @seealso [loo.kb_fit()], which needs no refits; [prequential()] for streams.
#' @examples
#' data <- sim_sinc(40, seed = 1)
#' fits <- list(
#'   narrow = srvm(y ~ x, data, kernel_gaussian(0.3), seed = 1),
#'   wide = srvm(y ~ x, data, kernel_gaussian(2), seed = 1)
#' )
#' compared <- cross_validate(fits, folds = 4, seed = 1)
#' compared
#' plot(compared)
#' @order 1
#' @export
cross_validate <- function(object, folds = 10, seed = NULL, progress = NULL,
                           ...) {
  check_no_dots(...)
  fits <- check_fits(object)
  seed <- draw_seed(seed)
  fold <- check_folds(folds, fits[[1]], seed)
  tasks <- expand.grid(fold = sort(unique(fold)), model = seq_along(fits))
  tasks$seed <- with_local_seed(
    seed, sample.int(.Machine$integer.max, nrow(tasks))
  )
  # Each fold is finished for all models before the next, so that models can be
  # compared after an interrupt.
  tasks <- tasks[order(tasks$fold), ]
  shared <- list(fits = lapply(fits, refit_recipe), fold = fold)
  progress <- check_progress(progress)
  keep_run({
    out <- map_tasks(
      split(tasks, seq_len(nrow(tasks))), "score_fold", shared, progress,
      "Refitting"
    )
    new_cross_validation(
      out, tasks, names(fits), seed, row_copies(fits[[1]])
    )
  })
}

new_cross_validation <- function(out, tasks, names, seed, copies) {
  whole <- finished_folds(tasks$fold, out$done)
  out <- bind_scores(out$values[whole])
  out <- out[order(out$model, out$row), ]
  out$model <- factor(names[out$model], names)
  if (!is.null(copies)) out$copies <- copies[out$row]
  rownames(out) <- NULL
  structure(out,
    seed = seed, class = c("kb_cross_validation", "data.frame")
  )
}

# Scores that a model does not have are NA
bind_scores <- function(parts) {
  all <- unique(unlist(lapply(parts, names)))
  do.call(rbind, lapply(parts, function(part) {
    part[setdiff(all, names(part))] <- NA_real_
    part[all]
  }))
}

# Arguments --------------------------------------------------------------------

# A named list of fits to the same responses
check_fits <- function(object) {
  if (!missing(object) && inherits(object, "kb_fit")) {
    object <- list(model = object)
  }
  if (missing(object) || !is.list(object) || length(object) == 0) {
    bad_argument(object, "object", "a fit or a list of fits")
  }
  for (fit in object) check_refit(fit)
  same <- vapply(object, function(fit) {
    identical(compared_response(fit), compared_response(object[[1]]))
  }, NA)
  if (!all(same)) {
    kb_abort(c(
      "{.arg object} must be fits to the same responses.",
      x = "The responses of fit {which(!same)[[1]]} differ from those of the
           first."
    ), "argument", argument = "object")
  }
  names <- rlang::names2(object)
  names[names == ""] <- paste0("model", seq_along(object))[names == ""]
  stats::setNames(object, make.unique(names))
}

# Limits that are equal in all rows are numbers: densities of the same
compared_response <- function(fit) {
  y <- training_response(fit)
  if (has_limits(fit) && all(y[, 1] == y[, 2])) y <- y[, 1]
  if (!is.factor(y)) y <- structure(as.double(y), dim = dim(y))
  list(y, row_copies(fit))
}

has_limits <- function(fit) identical(fit$mould$outcome, "interval")

check_refit <- function(fit) {
  if (!inherits(fit, "kb_fit")) {
    bad_argument(fit, "object", "a fit or a list of fits")
  }
  checked_fit(fit)
  need_likelihood(fit, "cross_validate")
  refuse_where(fit, "cross_validate", "dropped_rows")
}

# The fold of each row
check_folds <- function(folds, fit, seed) {
  kind <- response_kinds(fit)
  n <- length(kind)
  if (length(folds) == 1) {
    folds <- check_count(folds, 2, n)
    fold <- integer(n)
    with_local_seed(seed, {
      order <- order(kind, stats::runif(n))
      # Deal rows one after the other through all kinds, so that folds have
      # equal sizes.
      fold[order] <- rep_len(sample(folds), n)
    })
  } else {
    good <- length(folds) == n && !anyNA(folds) && length(unique(folds)) > 1
    if (!good) {
      wanted <- paste("a number, or the fold of each of the", n, "rows")
      bad_argument(folds, "folds", wanted)
    }
    fold <- match(folds, unique(folds))
  }
  refuse_lost_class(fold, training_response(fit))
  if (has_limits(fit)) refuse_lost_limits(fold, training_response(fit))
  fold
}

# Every fold has its share of each: classes, and sides on which rows are censored
response_kinds <- function(fit) {
  y <- training_response(fit)
  if (has_limits(fit)) {
    return((y[, 1] < y[, 2]) + is.infinite(y[, 1]) + 2 * is.infinite(y[, 2]))
  }
  if (is.factor(y)) as.integer(y) else rep(1, NROW(y))
}

# Rows that are all censored on the same side do not make a fit
refuse_lost_limits <- function(fold, y) {
  for (k in 1:2) {
    known <- which(is.finite(y[, k]))
    if (length(unique(fold[known])) == 1) {
      kb_abort(c(
        "The rows outside of each fold of {.arg folds} must not all be censored
         on the {c('left', 'right')[[k]]}.",
        x = "{length(known)} row{?s} {?is/are} not, all in one fold."
      ), "argument", argument = "folds")
    }
  }
}

refuse_lost_class <- function(fold, y) {
  if (!is.factor(y)) {
    return(invisible())
  }
  folds <- tapply(fold, y, function(v) length(unique(v)))
  # A class that has all of its rows in one fold; levels without rows do not
  # count.
  lost <- names(folds)[!is.na(folds) & folds == 1]
  if (length(lost) > 0) {
    kb_abort(c(
      "Every class needs rows outside of each fold of {.arg folds}.",
      x = "{.val {lost}} would have none."
    ), "argument", argument = "folds")
  }
}

# Refits -----------------------------------------------------------------------

# Tasks of folds that are finished for all models
finished_folds <- function(fold, done) {
  whole <- !fold %in% fold[!done]
  report_tasks(
    length(unique(fold[whole])), length(unique(fold)), "fold",
    "Their rows are reported."
  )
  whole
}

# The parts of a fit that a refit needs, without draws
refit_recipe <- function(fit) {
  list(
    fit = switch(intersect(class(fit), c("kb_srvm", "kb_bark", "kb_kgs")),
      kb_srvm = "srvm", kb_bark = "bark", kb_kgs = "kgs"
    ),
    arguments = utils::modifyList(
      fit$request, c(
        list(control = fit$control),
        if (inherits(fit, "kb_bark")) list(family = given_family(fit))
      ),
      keep.null = TRUE
    ),
    data = pick_data(fit$data, training_rows(fit)), mould = fit$mould
  )
}

# One model without one fold: one line per row that was left out
score_fold <- function(task, shared) {
  out <- shared$fold == task$fold
  recipe <- without_rows(shared$fits[[task$model]], out)
  recipe$arguments$control["checkpoint"] <- list(NULL)
  recipe$arguments[c("seed", "progress")] <- list(task$seed, FALSE)
  refit <- if (recipe$fit == "bark") refit_bark else refit_xy
  fit <- withCallingHandlers(
    refit(recipe, pick_data(recipe$data, which(!out))),
    # An interrupted fit does not count as a result of this fold.
    kb_warning_interrupted = function(w) stop_task(),
    kb_warning = function(w) invokeRestart("muffleWarning"),
    kb_message = function(m) invokeRestart("muffleMessage")
  )
  left <- pick_data(recipe$data, which(out))
  rows <- complete_x(cbind(left$x, left$mixed), left$y, left$weights)
  cbind(
    data.frame(model = task$model, row = which(out), fold = task$fold),
    score_rows(fit, rows)
  )
}

refit_xy <- function(recipe, data) {
  at <- recipe$mould$mixed$offset_column
  arguments <- recipe$arguments
  arguments$weights <- data$weights
  arguments$offset <- if (length(at) > 0) data$mixed[, at]
  do.call(recipe$fit, c(list(data$x, data$y), arguments), quote = TRUE)
}

# From the mould on, which knows the terms of the columns
refit_bark <- function(recipe, data) {
  bark_fit(
    mould_of(recipe$mould, data),
    c(recipe$arguments, list(keep_data = TRUE)), quote(bark()), now()
  )
}

# The terms beside kernels as a fit without these rows has them: other groups
# are new, and linear terms that no longer vary have no effect
without_rows <- function(recipe, out) {
  terms <- recipe$mould$mixed
  x <- recipe$data$mixed
  for (column in terms$linear_columns) {
    rest <- x[!out, column]
    if (all(rest == rest[[1]])) x[, column] <- rest[[1]]
  }
  for (k in seq_along(terms$groups)) {
    column <- terms$group_columns[[k]][[1]]
    number <- x[, column]
    known <- sort(unique(number[!out]))
    others <- setdiff(number, known)
    x[, column] <- c(seq_along(known), -seq_along(others))[
      match(number, c(known, others))
    ]
    terms$groups[[k]]$levels <- terms$groups[[k]]$levels[known]
  }
  recipe$mould$mixed <- terms
  recipe$data$mixed <- x
  recipe
}

# Scores -----------------------------------------------------------------------

#' @param rows Complete rows as `prediction_rows()` has them, with responses.
#' @noRd
score_rows <- function(fit, rows) {
  if (is.factor(rows$y)) {
    score_classes(fit, rows)
  } else if (is_gaussian(fit)) {
    score_numbers(fit, rows)
  } else {
    score_others(fit, rows)
  }
}

score_numbers <- function(fit, rows) {
  pool <- posterior_pool(fit)
  mean <- posterior_mean(fit, rows$x, pool)
  data.frame(
    log_score = regression_log_score(
      fit, rows$x, rows$y, pool, rows$weights
    ), fit = mean, error = rows$y - mean,
    regression_crps(fit, rows$x, rows$y, pool, rows$weights)
  )
}

crps_probs <- seq(0.005, 0.995, 0.01)

# Twice the mean over quantiles, rows x `crps_probs`, of the pinball loss
quantile_crps <- function(y, quantiles) {
  above <- y - quantiles
  2 * rowMeans(above * (rep(crps_probs, each = nrow(above)) - (above < 0)))
}

# Counts, successes and numbers that may be censored
score_others <- function(fit, rows) {
  mean <- predict_rows(fit, rows, "response")
  out <- data.frame(
    log_score = predict_rows(fit, rows, "log_score"), fit = mean,
    error = shown_response(fit, rows$y) - mean
  )
  if (fit$mould$outcome == "numeric") {
    out$crps <- quantile_crps(
      rows$y, predict_rows(fit, rows, "quantile", crps_probs)
    )
  }
  out$pit <- drawn_pit(predictive_ends(fit, rows), fit$seed)
  out
}

score_classes <- function(fit, rows) {
  y <- rows$y
  p <- predict_rows(fit, rows, "prob")
  hit <- diag(nlevels(y))[as.integer(y), , drop = FALSE]
  best <- max.col(p, ties.method = "first")
  out <- data.frame(
    log_score = predict_rows(fit, rows, "log_score"),
    class = factor(levels(y)[best], levels(y)),
    wrong = as.integer(best != as.integer(y)), brier = rowSums((p - hit)^2)
  )
  out$probability <- p
  out$response <- y
  out
}

# Predictions of classes, as recorded, and of other families than gaussian
predict_rows <- function(fit, rows, type, probs = NULL) {
  at <- list(type = type, interval = "none", probs = probs)
  if (inherits(fit, "kb_kgs")) at$complement <- check_complement(NULL, fit)
  rows["names"] <- list(NULL)
  prediction_of(fit, rows, at)
}

# Summary ----------------------------------------------------------------------

#' @rdname cross_validate
#' @param object An object of class `kb_cross_validation`.
#' @param level Probability of the intervals behind `coverage`.
#' @export
summary.kb_cross_validation <- function(object, level = 0.9, ...) {
  check_no_dots(...)
  level <- check_number(level, 0, 1, open = TRUE)
  models <- split(as.data.frame(object), object$model)
  scores <- vapply(models, `[[`, numeric(nrow(models[[1]])), "log_score")
  scores <- matrix(scores, ncol = length(models))
  copies <- models[[1]]$copies
  n <- rows_with_copies(nrow(scores), copies)
  se <- function(v) sqrt(n * copy_variances(v, copies))
  elpd <- n * copy_means(scores, copies)
  gap <- scores - scores[, which.max(elpd)]
  means <- if ("pit" %in% names(object)) {
    number_means(models, object, level)
  } else {
    data.frame(
      error = vapply(models, function(m) score_mean(m$wrong, m), 0),
      brier = vapply(models, function(m) score_mean(m$brier, m), 0)
    )
  }
  data.frame(
    model = names(models), elpd = elpd, elpd_se = se(scores),
    difference = n * copy_means(gap, copies), difference_se = se(gap), means,
    weight = stack_scores(scores, copies), row.names = NULL
  )
}

# Over the rows with their copies
score_mean <- function(v, m, na.rm = TRUE) { # nolint: object_name_linter.
  copies <- if (is.null(m$copies)) rep(1, length(v)) else m$copies
  stats::weighted.mean(v, copies, na.rm = na.rm)
}

# Of numbers: without those that are censored, or have no ranked score
number_means <- function(models, object, level) {
  error <- function(m) sqrt(score_mean(m$error^2, m))
  out <- list(rmse = vapply(models, error, 0))
  if ("crps" %in% names(object)) {
    out$crps <- vapply(models, function(m) score_mean(m$crps, m, FALSE), 0)
  }
  inside <- function(m) score_mean(abs(m$pit - 0.5) <= level / 2, m)
  data.frame(out, coverage = vapply(models, inside, 0))
}

#' @rdname cross_validate
#' @export
tidy.kb_cross_validation <- function(x, level = 0.9, ...) {
  table <- summary(x, level = level, ...)
  numbers <- as.matrix(table[names(table) != "model"])
  terms <- grep("_se$", colnames(numbers), value = TRUE, invert = TRUE)
  values <- function(columns) {
    as.vector(t(numbers[, match(columns, colnames(numbers)), drop = FALSE]))
  }
  data.frame(
    model = rep(table$model, each = length(terms)),
    term = rep(terms, nrow(table)), estimate = values(terms),
    std.error = values(paste0(terms, "_se"))
  )
}

#' Weights of the mixture with the highest log score, by the EM algorithm
#' @param scores Log scores, rows x models.
#' @noRd
stack_scores <- function(scores, copies = NULL, steps = 5000,
                         tolerance = 1e-9) {
  p <- exp(scores - apply(scores, 1, max))
  weight <- rep(1 / ncol(p), ncol(p))
  for (step in seq_len(steps)) {
    new <- weight * copy_means(p / as.vector(p %*% weight), copies)
    done <- max(abs(new - weight)) < tolerance
    weight <- new
    if (done) break
  }
  weight
}

#' @rdname cross_validate
#' @export
print.kb_cross_validation <- function(x, digits = 3, ...) {
  check_no_dots(...)
  if (!all(c("model", "fold", "log_score", "row") %in% names(x))) {
    # Columns were taken out of it.
    return(invisible(print(as.data.frame(x), digits = digits)))
  }
  cat("Cross-validation in ", length(unique(x$fold)), " folds, ",
    length(unique(x$row)), " rows",
    if ("pit" %in% names(x)) "; coverage of 90% prediction intervals", "\n",
    sep = ""
  )
  table <- summary(x)
  if (nrow(table) == 1) {
    table <- table[setdiff(
      names(table), c("difference", "difference_se", "weight")
    )]
  }
  table$weight <- if (!is.null(table$weight)) round(table$weight, 3)
  print(table, digits = digits, row.names = FALSE)
  invisible(x)
}

# loo --------------------------------------------------------------------------

#' @rdname loo.kb_fit
#' @param K,folds Of `kfold()`, see [cross_validate()]: number of folds; `NULL`, or
#'   the fold of each row.
#' @param seed See [cross_validate()].
#' @exportS3Method loo::kfold
kfold.kb_fit <- function(x, K = 10, # nolint: object_name_linter.
                         folds = NULL, seed = NULL, ...) {
  x <- checked_fit(x)
  if (is.null(folds)) folds <- K
  out <- cross_validate(x, folds, seed, ...)
  elpd <- out$log_score
  pointwise <- cbind(
    elpd_kfold = elpd, p_kfold = NA_real_, kfoldic = -2 * elpd
  )
  estimates <- cbind(
    Estimate = colSums(pointwise),
    SE = sqrt(nrow(pointwise)) * apply(pointwise, 2, stats::sd)
  )
  found <- structure(
    list(estimates = estimates, pointwise = pointwise),
    K = length(unique(out$fold)), dims = dim(pointwise),
    class = c("kfold", "loo")
  )
  criteria_of_copies(found, row_copies(x))
}

# Pictures of cross-validation: calibration, and scores beside each other.

#' @rdname cross_validate
#' @param type `"calibration"`: for numbers how the share of rows with a PIT
#'   below each value differs from the expected one, with the band that holds
#'   the whole curve of a calibrated model in nine of ten cases; for classes the
#'   share of rows against their predicted probability, in groups of rows, with
#'   the shares expected of a calibrated model (90%). `"scores"`, for several
#'   models: the differences in elpd from the best, with two standard errors.
#' @export
plot.kb_cross_validation <- function(x, type = c("calibration", "scores"),
                                     ...) {
  draw_picture(validation_picture(x, type), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_cross_validation <- autoplot_of(plot.kb_cross_validation)

validation_picture <- function(x, type) {
  type <- check_choice(type, c("calibration", "scores"))
  models <- split(as.data.frame(x), x$model)
  if (type == "scores") {
    return(scores_picture(x))
  }
  by <- groups(NULL, names(models))
  new_picture(if ("pit" %in% names(x)) {
    pit_panel(models, by)
  } else {
    reliability_panel(models, by)
  })
}

scores_picture <- function(x) {
  table <- summary(x)
  if (nrow(table) == 1) {
    kb_abort(c(
      "There is one model: nothing to compare.",
      i = "{.fn cross_validate} takes a list of fits."
    ), "not_defined")
  }
  table <- table[order(-table$elpd), ]
  at <- seq_len(nrow(table))
  reach <- 2 * table$difference_se
  new_picture(panel(
    "", "log score, difference from the best",
    rule_layer(y = 0),
    ranges_layer(at, table$difference - reach, table$difference + reach,
      colour = "sky", lwd = 5, label = "two standard errors"
    ),
    points_layer(at, table$difference, size = 1, label = "sum over the rows"),
    ticks = table$model, xlim = c(0.4, nrow(table) + 0.6)
  ))
}

# A curve per model
curves_of <- function(models, curve) {
  do.call(rbind, Map(function(rows, name) {
    data.frame(curve(rows), group = name)
  }, models, names(models)))
}

pit_panel <- function(models, by) {
  # Kolmogorov: exceeded by chance in one of ten.
  bound <- 1.22 / sqrt(nrow(models[[1]]))
  at <- seq(0, 1, 0.01)
  panel(
    "PIT: predicted probability of a smaller response",
    "share of rows below, minus expected",
    ribbon_layer(at, pmax(-bound, -at), pmin(bound, 1 - at),
      colour = "grey", alpha = 0.2, label = "90% band if calibrated"
    ),
    rule_layer(y = 0, lty = 1),
    layer("lines", curves_of(models, pit_curve), lwd = 1.5, by = by),
    xlim = 0:1
  )
}

pit_curve <- function(rows) {
  at <- seq(0, 1, 0.01)
  data.frame(x = at, y = stats::ecdf(rows$pit)(at) - at)
}

reliability_panel <- function(models, by) {
  lines <- curves_of(models, reliability_curve)
  panel(
    "predicted probability, mean of a group of rows", "share of these rows",
    rule_layer(slope = 1, lty = 1),
    if (length(models) == 1) {
      layer("ranges", lines[c("x", "ymin", "ymax")],
        colour = "grey", alpha = 0.4, lwd = 4, label = "90% if calibrated"
      )
    },
    layer("lines", lines, lwd = 1.5, by = by),
    layer("points", lines, size = 1, by = by),
    xlim = 0:1, ylim = 0:1
  )
}

# For two classes the second, otherwise all: mean probability and share of rows
# in at most ten bins of equal size, with what calibrated probabilities give
reliability_curve <- function(rows) {
  p <- rows$probability
  hit <- diag(ncol(p))[as.integer(rows$response), , drop = FALSE]
  if (ncol(p) == 2) {
    p <- p[, 2]
    hit <- hit[, 2]
  }
  bins <- min(10, max(2, length(p) %/% 8))
  bin <- ceiling(bins * rank(p, ties.method = "first") / length(p))
  of <- function(f, v) as.vector(tapply(v, bin, f))
  n <- of(length, p)
  x <- of(mean, p)
  data.frame(
    x = x, y = of(mean, hit),
    ymin = stats::qbinom(0.05, n, x) / n, ymax = stats::qbinom(0.95, n, x) / n
  )
}
