# Types of prediction, one row each, and what predict() does with them.
#
# * `predict`: a function of the fit and of `at`, what predict() was asked (see
#   `prediction_of()`). Its value has the complete rows as its first dimension.
# * `intervals`: the kinds of intervals that the type has.
# * `uses`: arguments that belong to it.
# * `weighted`: values of `interval` with which weights of rows matter.
# * `whole`: TRUE where the value has all rows, complete or not, and their names.
prediction <- function(predict, intervals = character(), uses = character(),
                       weighted = character(), whole = FALSE) {
  list(
    predict = predict, intervals = intervals, uses = uses, weighted = weighted,
    whole = whole
  )
}

interval_kinds <- c("none", "credible", "prediction")
both_intervals <- interval_kinds[-1]

draws_of_f <- prediction(function(fit, at) {
  given_draws(fit, at$rows, at$ndraws, function_draws, at$pool)
}, uses = "ndraws", whole = TRUE)

link_of_f <- prediction(function(fit, at) {
  regression_response(fit, at$x, at$interval, at$level, at$pool)
}, "credible")

# Numbers with noise that is normal, or Student's t
normal_types <- list(
  response = prediction(function(fit, at) {
    regression_response(fit, at$x, at$interval, at$level, at$pool, at$weights)
  }, both_intervals, weighted = "prediction"),
  quantile = prediction(function(fit, at) {
    probs <- check_probs(at$probs)
    of <- if (at$interval == "none") "prediction" else at$interval
    out <- regression_quantiles(fit, at$x, probs, of, at$pool, at$weights)
    name_quantiles(out, probs)
  }, both_intervals, "probs", weighted = c("none", "prediction")),
  draws = draws_of_f,
  log_score = prediction(function(fit, at) {
    regression_log_score(fit, at$x, at$y, at$pool, at$weights)
  }, uses = "newy", weighted = interval_kinds)
)

name_quantiles <- function(out, probs) {
  colnames(out) <- paste0(100 * probs, "%")
  out
}

# Two classes, with a probit link
probit_types <- list(
  class = prediction(function(fit, at) {
    most_probable(both_classes(class_probability(fit, at$x, at$pool), at$levels),
      at$levels
    )
  }),
  prob = prediction(function(fit, at) both_classes(probit_response(fit, at), at$levels),
    "credible"
  ),
  response = prediction(function(fit, at) probit_response(fit, at), "credible"),
  link = link_of_f, draws = draws_of_f,
  log_score = prediction(function(fit, at) {
    class_log_score(fit, at$x, class_signs(at$y), at$pool)
  }, uses = "newy")
)

# Ordered classes; sums over classes given each draw serve all samplers
ordered_types <- list(
  class = prediction(function(fit, at) {
    p <- ordered_probability(fit, at$x, at$pool)
    ordered_class(most_probable(p, at$levels), fit)
  }),
  prob = prediction(function(fit, at) {
    p <- ordered_probability(fit, at$x, at$pool)
    if (at$interval == "none") p else ordered_bands(fit, at$x, at$pool, p, at$level)
  }, "credible"),
  link = link_of_f, draws = draws_of_f,
  log_score = prediction(function(fit, at) {
    ordered_log_score(fit, at$x, at$y, at$pool)
  }, uses = "newy")
)

# Responses without a latent normal form, from draws of f
glm_types <- list(
  class = prediction(function(fit, at) {
    most_probable(both_classes(glm_values(fit, at), at$levels), at$levels)
  }),
  prob = prediction(function(fit, at) both_classes(glm_values(fit, at), at$levels),
    "credible"
  ),
  response = prediction(glm_values, both_intervals),
  link = prediction(glm_values, "credible"),
  quantile = prediction(function(fit, at) {
    at$probs <- check_probs(at$probs)
    if (at$interval == "none") at$interval <- "prediction"
    name_quantiles(glm_values(fit, at), at$probs)
  }, both_intervals, "probs"),
  survival = prediction(function(fit, at) {
    at$times <- check_times(at$times)
    as_survival(glm_values(fit, at), at$times)
  }, "credible", "times"),
  draws = draws_of_f,
  log_score = prediction(glm_log_score, uses = "newy")
)

# Several classes without an order
fields_types <- list(
  class = prediction(function(fit, at) {
    most_probable(fields_probability(fit, at$x, at$pool), at$levels)
  }),
  prob = prediction(function(fit, at) {
    with_limits(fit, at, fields_probability, fields_probability_limits)
  }, "credible"),
  link = prediction(function(fit, at) {
    with_limits(fit, at, fields_link, fields_link_limits)
  }, "credible"),
  draws = prediction(function(fit, at) {
    given_draws(fit, at$rows, at$ndraws, fields_draws, at$pool)
  }, uses = "ndraws", whole = TRUE),
  log_score = prediction(function(fit, at) {
    fields_log_score(fit, at$x, as.integer(at$y), at$pool)
  }, uses = "newy")
)

# Fits of bark() with terms beside kernels, and those with noise that varies
further_types <- list(
  terms = prediction(function(fit, at) {
    predict_components(fit, at$rows, at$interval, at$level)
  }, "credible", whole = TRUE),
  sigma = prediction(predict_sigma, "credible", weighted = interval_kinds)
)

kgs_types <- list(
  class = prediction(function(fit, at) {
    p <- kgs_probability(fit, at$x, at$complement, recorded = FALSE)
    decide(p, at$levels, check_reject(at$reject, at$threshold))
  }, uses = c("complement", "reject", "threshold")),
  prob = prediction(function(fit, at) {
    kgs_probability(fit, at$x, at$complement, recorded = TRUE)
  }, uses = "complement"),
  true_prob = prediction(function(fit, at) {
    kgs_probability(fit, at$x, at$complement, recorded = FALSE)
  }, uses = "complement"),
  vote = prediction(function(fit, at) kgs_votes(fit, at$x)),
  bpm = prediction(function(fit, at) {
    most_probable(bayes_point_link(fit, at$x), at$levels)
  }),
  link = prediction(function(fit, at) drop_one(bayes_point_link(fit, at$x))),
  draws = prediction(function(fit, at) {
    kgs_draws_at(fit, at$x, at$rows$complete, at$ndraws)
  }, uses = "ndraws", whole = TRUE),
  log_score = prediction(function(fit, at) {
    kgs_log_score(fit, at$x, at$y, at$complement)
  }, uses = c("complement", "newy"))
)

# The first is the default.
prediction_types <- function(fit) {
  if (inherits(fit, "kb_kgs")) {
    return(kgs_types)
  }
  types <- family_of(fit)$types
  if (is_multinomial(fit)) {
    return(fields_types[types])
  }
  rows <- if (is_ordered(fit)) {
    ordered_types
  } else if (is_glm(fit)) {
    glm_types
  } else if (has_classes(fit)) {
    probit_types
  } else {
    normal_types
  }
  further <- c("terms"[has_mixed(fit)], "sigma"[has_varying_noise(fit)])
  c(rows[types], further_types[further])
}

# predict() ------------------------------------------------------------------

#' The value of predict()
#' @param fit A checked fit.
#' @param at Arguments of predict(), by name.
#' @param given Named: did the user give those that have other defaults than NULL?
#' @param training Are the training rows asked for?
#' @param page The help page.
#' @param rows A function that returns the rows, as `prediction_rows()`; its argument:
#'   are responses needed?
#' @noRd
predict_asked <- function(fit, at, given, training, page, rows) {
  types <- prediction_types(fit)
  if (is.null(at$type)) at$type <- names(types)[[1]]
  at$type <- check_choice(at$type, names(types), "type")
  kind <- if (is.null(at$interval)) "none" else at$interval
  at$interval <- check_choice(kind, interval_kinds, "interval")
  used <- used_arguments(types, at$type, at$interval)
  given <- c(interval = at$interval != "none", given)
  refuse_ignored_by(types, at, given, used, page)
  tell_weights(fit, used, training, at$weights)
  if ("level" %in% names(at)) {
    at$level <- check_number(at$level, 0, 1, open = TRUE, arg = "level")
  }
  prediction_of(fit, rows(at$type == "log_score"), at)
}

#' A prediction of rows, from arguments that need no check or have it in the type's row
#' @param at List of `type`, `interval`, and further arguments of predict(). To these
#'   come, for the functions of the types, `rows`, the `pool`, the `levels` of the
#'   response, and of complete rows `x`, `y` and `weights`.
#' @noRd
prediction_of <- function(fit, rows, at) {
  complete <- rows$complete
  at$rows <- rows
  at$x <- rows$x[complete, , drop = FALSE]
  at$y <- if (!is.null(rows$y)) pick_rows(rows$y, which(complete))
  at$weights <- rows$weights[complete]
  at$pool <- posterior_pool(fit)
  at$levels <- fit$mould$levels
  type <- prediction_types(fit)[[at$type]]
  out <- type$predict(fit, at)
  if (type$whole) out else name_rows(spread_rows(out, complete), rows$names)
}

# The arguments that a type uses
used_arguments <- function(types, type, interval) {
  row <- types[[type]]
  intervals <- row$intervals
  # A prediction interval needs quantiles of new responses.
  if (!"quantile" %in% names(types)) intervals <- setdiff(intervals, "prediction")
  banded <- length(intervals) > 0 && interval %in% c("none", intervals)
  c("interval"[banded], row$uses, "weights"[interval %in% row$weighted])
}

refuse_ignored_by <- function(types, at, given, used, page) {
  limits <- "interval" %in% used && !"probs" %in% used
  if (limits && at$interval != "none") used <- c(used, "level")
  default <- at$type == names(types)[[1]]
  refuse_ignored(at$type, given, used, page,
    with = if (limits) paste0(', interval = "', at$interval, '"'),
    note = if (default) ", the default",
    hint = if (given[["interval"]] && !"interval" %in% used) {
      interval_hint(types, at$interval)
    }
  )
}

# The default `type` of classes has no interval, and users need not give it
interval_hint <- function(types, interval) {
  banded <- banded_types(types, interval)
  if (length(banded) == 0) {
    interval <- "credible"
    banded <- banded_types(types, interval)
  }
  cli::format_inline(
    "Here {.code interval = \"{interval}\"} needs {.arg type}
     {.or {.val {banded}}}."
  )
}

# The types with intervals of this kind
banded_types <- function(types, interval) {
  Filter(function(type) {
    "interval" %in% used_arguments(types, type, interval)
  }, names(types))
}
