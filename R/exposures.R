# What a mixture of exposures does: contrasts of f between chosen values of the
# exposures.

#' Effects of exposures
#'
#' `exposure_effects(fit, "curves")` says how the linear predictor f of a fit of
#' [bark()] changes with each input of its kernels, the *exposures* of a mixture;
#' other types have the other summaries of Bayesian kernel machine regression (Bobb
#' and others, 2015). The article `mixtures` has an example.
#'
#' f is h, the sum of kernels, plus what stands beside it: in `y ~ kernels(pb, cd) +
#' pb + age` the effect of `pb` has its line, and likewise for `log(pb)`, `poly(pb,
#' 2)` or `pb:cd`. Exposures are variables of the data: in `kernels(log(pb), pb:cd)`
#' they are `pb` and `cd`. Other variables in interactions (`pb:age`) are at their
#' median or most frequent level, which `print()` says; coefficients of groups are 0.
#' Effects are thus differences of draws of `predict(type = "draws", re_formula =
#' NA)` at two rows. Factors inside `kernels()` are not exposures: they stay at their
#' most frequent level. Ordered ones are, with scores 1, 2, ... that occur. Fits with
#' `prior_only = TRUE` have medians as `mean`, and no `sd`.
#' @section Inclusion: `effect` and `share` are about kernels only, without
#'   lines beside them, see [importance()]. Under the prior an effect of some size is
#'   probable: `effect_prior` is that probability, from 4000 draws. Compare the two:
#'   `effect` is near 1 for exposures that matter, and below `effect_prior` for most
#'   others. The rule "above 0.5" of bkmr does not carry over. `share` says how much an
#'   exposure matters. Where draws of h do not depend on an exposure its effects are
#'   exactly 0: a limit of an interval is 0 if many draws are.
#' @param object A fit of [bark()].
#' @param type What changes:
#'
#'   * `"curves"`: f along each exposure, the others at their quantile `at`,
#'     minus f with all of them there. Uses `at`, `n`.
#'   * `"pairs"`: the same with a second one at its quantiles `fixed`, too.
#'   * `"overall"`: f with all exposures at a quantile `quantiles`, minus f with
#'     all at their quantile `at`.
#'   * `"single"`: f with one exposure at the upper of two quantiles `contrast`,
#'     minus f with it at the lower, the others at their quantiles `fixed`.
#'   * `"interactions"`: the single effect of an exposure with the others at the
#'     largest of `fixed` minus that with the others at the smallest.
#'   * `"inclusion"`: posterior probabilities that exposures have an effect, and
#'     their shares of the change of h; then the same for the exposures of each
#'     `kernels()` together, if there are several.
#' @param exposures Names of exposures; `NULL`: all numbers among the variables
#'   of kernels.
#'   For `"overall"` those that move together, while others stay at `at`;
#'   otherwise those that are shown.
#' @param at,fixed,quantiles,contrast Quantiles over the rows of the fit,
#'   between 0 and 1; see `type`.
#' @param n Number of points of a curve.
#' @param level Probability inside the equal-tailed intervals.
#' @param ndraws `NULL`: all draws, or the number of evenly spaced ones.
#' @param x An object of class `kb_exposures`.
#' @inheritParams label_noise
#' @param conf.int Add the limits?
#' @return A data frame of class `kb_exposures` with columns `exposure`, further
#'   ones that depend on `type` (`value` and, for pairs, `other` and `quantile`;
#'   `quantile`; `fixed`), and `mean`, `sd`, `lower`, `upper` of the difference,
#'   in units of the response (for classes of the latent response). For
#'   `"inclusion"` `exposure`, `kernels` (the first with it, or `NA`), `share`
#'   with its Monte Carlo error `share_se`, `effect`, `effect_se` and
#'   `effect_prior`. `plot()` and [ggplot2::autoplot()] draw it; of more than
#'   five exposures with `"pairs"` the five with the largest changes. `tidy()`
#'   has `term` (the exposure), `estimate`, `std.error`, `conf.low` and
#'   `conf.high`.
#' @references
#' Bobb, J. F., Valeri, L., Claus Henn, B., Christiani, D. C., Wright, R. O.,
#' Mazumdar, M., Godleski, J. J. and Coull, B. A. (2015). Bayesian kernel
#' machine regression for estimating the health effects of multi-pollutant
#' mixtures. *Biostatistics* 16, 493-508. \doi{10.1093/biostatistics/kxu058}
#' @examples
#' data <- sim_friedman(80, p = 5, seed = 1)
#' fit <- bark(y ~ kernels(x1, x2, x3) + x4 + x5, data,
#'   control = mcmc_control(chains = 2, warmup = 200, iter = 100), seed = 1
#' )
#' exposure_effects(fit, "overall")
#' plot(exposure_effects(fit, "curves", n = 15))
#' plot(exposure_effects(fit, "single"))
#' @order 1
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
  type <- check_choice(type, names(exposure_arguments))
  refuse_unused_exposure_arguments(type, c(
    at = !missing(at), fixed = !missing(fixed),
    quantiles = !missing(quantiles), contrast = !missing(contrast),
    n = !missing(n), level = !missing(level)
  ), ...)
  object <- checked_fit(object)
  level <- check_number(level, 0, 1, open = TRUE)
  refuse_where(object, "exposure_effects", "no_kernels", "several_classes")
  frame <- variable_frame(object)
  copies <- row_copies(object)
  if (!is.null(copies)) {
    rows <- copy_rows(nrow(frame), copies, function(n) evenly(n, 1e4))
    frame <- pick_rows(frame, rows)
  }
  x <- exposure_matrix(object, frame)
  exposures <- check_exposures(object, exposures, colnames(x))
  if (type == "inclusion") {
    ndraws <- check_ndraws(ndraws)
    exposures <- unique(vapply(exposures, part_owner, "", frame = frame))
    return(exposure_table(
      whole_stage(
        exposure_inclusion(object, exposures, ndraws), "the effects of inputs"
      ),
      object, list(type = type, notes = inclusion_notes(object, exposures))
    ))
  }
  setting <- list(
    type = type, level = level, at = check_quantiles(at, 1),
    fixed = sort(check_quantiles(fixed)),
    quantiles = check_quantiles(quantiles),
    contrast = sort(check_quantiles(contrast, 2)), n = check_size(n, 2, each = 10),
    median = lacks_mean(object, "link")
  )
  exposure_bands(object, frame, x, exposures, setting, check_ndraws(ndraws))
}

#' @param x From `exposure_matrix()`.
#' @noRd
exposure_bands <- function(fit, frame, x, exposures, setting, ndraws) {
  setting$notes <- effect_notes(fit, frame, x, exposures)
  contrasts <- switch(setting$type,
    curves = curve_contrasts, pairs = pair_contrasts,
    overall = overall_contrasts, single = single_contrasts,
    interactions = interaction_contrasts
  )(x, exposures, setting)
  exposure_table(contrast_bands(fit, frame, contrasts, setting, ndraws), fit,
    setting
  )
}

exposure_table <- function(table, fit, setting) {
  structure(table,
    setting = setting, outcome = exposure_outcome(fit),
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

# The arguments of each type, beside `exposures` and `ndraws`
exposure_arguments <- list(
  curves = c("at", "n", "level"), pairs = c("at", "fixed", "n", "level"),
  overall = c("quantiles", "at", "level"),
  single = c("contrast", "fixed", "level"),
  interactions = c("contrast", "fixed", "level"), inclusion = character()
)

# `...` has unknown arguments only
refuse_unused_exposure_arguments <- function(type, given, ...) {
  used <- c(exposure_arguments[[type]], "exposures", "ndraws")
  f <- exposure_effects.kb_bark
  formals(f) <- formals(f)[used]
  check_no_dots(..., .fn = f)
  refuse_ignored(type, given, used, "exposure_effects")
}

check_exposures <- function(fit, exposures, known) {
  if (length(known) == 0) {
    kb_abort("{.fn exposure_effects} needs numeric inputs of kernels.",
      "not_defined"
    )
  }
  if (is.null(exposures)) {
    return(known)
  }
  unique(check_variables(fit$mould, exposures, known, arg = "exposures"))
}

check_quantiles <- function(q, length = NULL, arg = rlang::caller_arg(q)) {
  fine <- is.numeric(q) && length(q) > 0 && !anyNA(q) &&
    (is.null(length) || length(q) == length)
  wanted <- paste0(
    if (!is.null(length)) paste0(length, " "),
    if (identical(length, 1)) "number" else "numbers", " between 0 and 1"
  )
  if (!fine) bad_argument(q, arg, wanted)
  odd <- q[q < 0 | q > 1]
  if (length(odd) > 0) {
    kb_abort(c(
      "{.arg {arg}} must be {wanted}.", x = "It has {.val {odd}}.",
      i = if (all(q >= 0 & q <= 100)) {
        "Write 0.25 for the lower quartile, not 25."
      }
    ), "argument", argument = arg, value = q)
  }
  as.double(q)
}

# Those that move together
exposures_label <- function(x, exposures, most = 4) {
  more <- length(exposures) - most
  if (length(exposures) == ncol(x)) {
    "all"
  } else if (more > 1) {
    paste(toString(utils::head(exposures, most)), "and", more, "more")
  } else {
    toString(exposures)
  }
}

# Inclusion --------------------------------------------------------------------

exposure_inclusion <- function(fit, exposures, ndraws) {
  ndraws <- if (is.null(ndraws)) 400 else ndraws
  pool <- bark_pool(fit)
  fields <- fit$mould$fields
  # Equal ones under the prior should look equal.
  effects <- function(of) {
    effect_table(fit, list(pool), NULL, ndraws, of, max(ndraws, 4000))
  }
  # Shares are of the change with all inputs.
  each <- effects(permuted_inputs(fit))[exposures, ]
  columns <- variable_columns(fit$mould, beside = FALSE)[exposures]
  kernels <- if (is.null(fields)) NA_character_ else {
    vapply(columns, function(own) {
      with <- vapply(fields, function(f) any(own %in% f), NA)
      names(fields)[[which(with)[[1]]]]
    }, "")
  }
  wanted <- c("share", "share_se", "effect", "effect_se", "effect_prior")
  out <- data.frame(exposure = exposures, kernels = kernels, each[wanted],
    row.names = NULL
  )
  if (is.null(fields)) {
    return(out)
  }
  together <- effects(unname(lapply(fields, permuted_together)))
  rbind(out, data.frame(
    exposure = "all", kernels = names(fields), together[wanted]
  ))
}

# Printing ---------------------------------------------------------------------

#' @rdname exposure_effects
#' @export
print.kb_exposures <- function(x, digits = 3, ...) {
  check_no_dots(...)
  setting <- attr(x, "setting")
  if (!is.null(setting)) {
    cat(exposures_title(setting, attr(x, "outcome")), interval_note(setting),
      "\n",
      sep = ""
    )
  }
  print(as.data.frame(unclass(x)), digits = digits, row.names = FALSE)
  if (length(setting$notes) > 0) cat(setting$notes, sep = "\n")
  invisible(x)
}

exposures_title <- function(setting, outcome) {
  step <- contrast_words(setting)
  switch(setting$type,
    curves = , pairs = , overall = paste(
      "Change of", outcome, reference_words(setting)
    ),
    single = paste0("Effects of single exposures on ", outcome, ", ", step),
    interactions = paste0(
      "Interactions: effects on ", outcome, ", ", step, ",\n",
      others_words(setting)
    ),
    inclusion = paste("Exposures with an effect on", outcome)
  )
}

# What changes are relative to
reference_words <- function(setting) {
  at <- if (setting$at == 0.5) "medians" else paste("quantiles", setting$at)
  paste("from all at", at)
}

others_words <- function(setting) {
  ends <- range(setting$fixed)
  paste("others at", ends[[2]], "minus others at", ends[[1]])
}

interval_note <- function(setting) {
  if (!is.null(setting$level)) {
    paste0(
      " (", if (setting$median) "medians, since the prior has no mean; ",
      percent_label(setting$level, "intervals"), ")"
    )
  }
}

#' @rdname exposure_effects
#' @export
tidy.kb_exposures <- function(x, conf.int = TRUE, ...) {
  check_no_dots(...)
  numbers <- c("mean", "sd", "lower", "upper")
  if (!all(c("exposure", numbers) %in% names(x))) {
    kb_abort(c(
      "{.fn tidy} is not defined for this table of effects.",
      x = "It has no column {.val {setdiff(numbers, names(x))}}.",
      i = "{.fn as.data.frame} has shares and probabilities."
    ), "not_defined")
  }
  tidy_columns(x, c(
    exposure = "term", mean = "estimate", sd = "std.error", lower = "conf.low",
    upper = "conf.high"
  ), conf.int)
}

# Rows with chosen values of the exposures: kernels, and what changes beside
# them.

#' The exposures: numbers, and scores of ordered factors, that kernels see
#' @return Matrix, a row per row of the fit. Its attribute `coded` has those of
#'   which only values that occur count.
#' @noRd
exposure_matrix <- function(fit, frame) {
  parts <- variable_parts(frame)
  owners <- vapply(names(parts), part_owner, "", frame = frame)
  seen <- owners %in% names(variable_columns(fit$mould, beside = FALSE))
  parts <- parts[seen & vapply(parts, function(v) {
    is_measured(v) || is.ordered(v)
  }, NA)]
  coded <- vapply(names(parts), function(name) {
    is.ordered(parts[[name]]) || is_coded(fit$mould, owners[[name]])
  }, NA)
  x <- matrix(as.double(unlist(lapply(parts, as.double))), nrow(frame),
    dimnames = list(NULL, names(parts))
  )
  structure(x, coded = names(parts)[coded])
}

#' Rows as predictions take them, without groups
#' @param points Exposures, a row per point. Other variables are at their median
#'   or most frequent level.
#' @noRd
exposure_rows <- function(fit, frame, points) {
  mould <- fit$mould
  if (!is.null(mould$mixed)) mould$mixed$off <- TRUE
  at <- typical_row(mould, frame)[rep(1L, nrow(points)), , drop = FALSE]
  levels <- lapply(variable_parts(frame), levels)
  values <- lapply(stats::setNames(nm = colnames(points)), function(name) {
    v <- points[, name]
    if (is.null(levels[[name]])) v else levels[[name]][v]
  })
  rows_of_variables(mould, set_parts(at, values))
}

# What print() says ------------------------------------------------------------

effect_notes <- function(fit, frame, x, exposures) {
  mould <- fit$mould
  typical <- variable_parts(typical_row(mould, frame))
  still <- typical[setdiff(names(typical), colnames(x))]
  inputs <- names(variable_columns(mould, beside = FALSE))
  owners <- vapply(exposures, part_owner, "", frame = frame)
  with <- Filter(function(from) any(owners %in% from), column_sources(mould))
  factors <- intersect(names(still), inputs)
  reference <- intersect(names(still), setdiff(unlist(with), inputs))
  slopes <- unlist(lapply(mould$mixed$groups, function(g) all.vars(g$terms)))
  c(
    if (length(factors) > 0) {
      paste0("Factors stay at ", values_words(still[factors]), ".")
    },
    if (length(reference) > 0) {
      paste0(
        "Interacting variables are at ", values_words(still[reference]), "."
      )
    },
    if (any(owners %in% slopes)) {
      "Effects are those in a group whose coefficients are 0."
    }
  )
}

inclusion_notes <- function(fit, exposures) {
  linear <- as.list(attr(fit$mould$mixed$linear$terms, "variables"))[-1]
  beside <- Filter(function(e) any(all.vars(e) %in% exposures), linear)
  if (length(beside) > 0) {
    paste0(
      "Of kernels only, without linear terms: ",
      toString(vapply(beside, deparse1, "")), "."
    )
  }
}

values_words <- function(values) {
  words <- vapply(values, function(v) format(v, digits = 3), "")
  toString(paste(names(values), "=", words))
}
