# Methods of bark fits of several classes.

# The lines of print() on the posterior of the fields
describe_fields <- function(x, show) {
  if (!has_kernels(x)) {
    return(classes_line(x))
  }
  means <- vapply(field_pools(x), function(pool) mean(field_copies(pool)), 0)
  paste0(classes_line(x), "  kernels:      ", shorten(paste0(
    names(means), " ", vapply(means, show, ""),
    collapse = ", "
  )), " on average\n")
}

#' @rdname coef.kb_bark
#' @export
coef.kb_bark_multinomial <- function(object, draw, ...) {
  object <- checked_fit(object, ...)
  if (missing(draw)) {
    if (!has_mixed(object)) refuse_mean_coefficients()
    return(for_each_field(object, function(pool) {
      coefficient_tables(object, pool)
    }))
  }
  fields <- field_pools(object)
  draw <- check_count(draw, 1, length(fields[[1]]$m))
  lapply(fields, function(pool) draw_coefficients(object, pool, draw))
}

#' @export
logLik.kb_bark_multinomial <- function(object, ...) {
  object <- checked_fit(object, ...)
  refuse_prior_only(object, "logLik")
  df <- vapply(field_pools(object), function(pool) {
    mean(pool$m) + mean(bark_n_scales(object, pool)) + mixed_df(object)
  }, 0)
  structure(sum_copies(object, stats::predict(object, type = "log_score")),
    df = sum(df), nobs = stats::nobs(object), class = "logLik"
  )
}

# Accessors --------------------------------------------------------------------

#' @param class For scales with several classes: the name of a class, whose
#'   field is used; `NULL`: the largest scale of each predictor over the fields,
#'   and whether it is in any of them.
#' @rdname importance
#' @export
importance.kb_bark_multinomial <- function(object, level = 0.9,
                                           method = c(
                                             "inclusion", "permutation"
                                           ), ndraws = NULL,
                                           by = c("variable", "column"),
                                           class = NULL, ...) {
  by <- check_choice(by, c("variable", "column"))
  method <- check_choice(method, c("inclusion", "permutation"))
  if (method == "permutation") {
    if (!is.null(class)) {
      bad_argument(class, "class", "NULL with permutations")
    }
    return(bark_permutation(object, level, ndraws, by, ...))
  }
  object <- checked_fit(object, ...)
  level <- check_number(level, 0, 1, open = TRUE)
  ndraws <- check_effect_draws(ndraws)
  fields <- field_pools(object)
  if (!is.null(class)) {
    class <- match(check_choice(class, names(fields)), names(fields))
  }
  effects <- effect_table(
    object, unname(fields), class, ndraws, permuted_inputs(object, by)
  )
  parts <- scales_by(object, fields_scales(object, fields, class), by)
  scale_table(object, parts, level, effects)
}

# As `input_scales()`, the largest over fields
fields_scales <- function(fit, fields, class = NULL) {
  if (!is.null(class)) fields <- fields[class]
  each <- lapply(fields, function(pool) input_scales(fit, pool))
  list(
    scales = Reduce(pmax, lapply(each, `[[`, "scales")),
    included = Reduce(pmax, lapply(each, `[[`, "included"))
  )
}

leading_of_fields <- function(fit) {
  fields <- field_pools(fit)
  leading_inputs(fit, unname(fields), fields_scales(fit, fields)$scales)
}

# Methods for other packages
# -------------------------------------------------------------------

#' @rdname as_draws.kb_bark
#' @export
as_draws.kb_bark_multinomial <- function(x, ...) {
  x <- checked_fit(x, ...)
  chains <- chain_matrices(x)
  fields <- field_pools(x)
  columns <- function(what, of) {
    do.call(cbind, Map(function(pool, class) {
      v <- of(pool)
      colnames(v) <- paste0(what, "[", class, ",", seq_len(ncol(v)), "]")
      v
    }, unname(fields), names(fields)))
  }
  scales <- if (has_kernels(x)) {
    columns("lambda", function(pool) bark_scales(x, pool))
  }
  if (bark_selects(x$settings$prior$type)) {
    scales <- cbind(scales, columns("delta", function(pool) {
      bark_included(x, pool)
    }))
  }
  draws <- data.frame(
    sigma = 1, lapply(chains, as.vector), check.names = FALSE
  )
  if (!is.null(scales)) draws <- cbind(draws, scales)
  draws$.chain <- as.vector(col(chains$J))
  draws$.iteration <- as.vector(row(chains$J))
  posterior::as_draws_df(draws)
}

#' @rdname as_draws.kb_bark
#' @export
as_draws_df.kb_bark_multinomial <- as_draws.kb_bark_multinomial

#' @rdname tidy.kb_bark
#' @export
tidy.kb_bark_multinomial <- function(x, conf.int = TRUE, conf.level = 0.9,
                                     ...) {
  x <- checked_fit(x, ...)
  chains <- chain_matrices(x)
  draws <- lapply(chains[names(chains) != "log_lik"], as.vector)
  if (bark_selects(x$settings$prior$type)) {
    d <- lapply(field_pools(x), function(pool) bark_n_included(x, pool))
    draws[paste0("d[", names(d), "]")] <- d
  }
  tidy_draws(draws, conf.int, conf.level)
}

#' @rdname tidy.kb_bark
#' @export
augment.kb_bark_multinomial <- function(x, data = NULL, newdata = NULL, ...) {
  augment_classes(checked_fit(x), data, newdata, ...)
}

#' @export
expected_draws.kb_bark_multinomial <- function(fit, rows, pool, chosen) {
  p <- fields_class_draws(fit, rows, pool, chosen)
  second_or_all(p, fit$mould$levels)
}

#' @export
response_draws.kb_bark_multinomial <- function(fit, rows, pool, chosen) {
  label_draws(fields_class_draws(fit, rows, pool, chosen))
}

#' @export
response_log_lik.kb_bark_multinomial <- function(fit, rows, pool, chosen) {
  x <- rows$x[rows$complete, , drop = FALSE]
  f <- fields_values(fit, x, pool, "draw", chosen)$mean
  y <- as.integer(rows$y[rows$complete])
  t(spread_rows(family_of(fit)$classes$log(f, list(), y), rows$complete))
}
