# Methods of bark fits of several classes.

#' @export
print.kb_bark_multinomial <- function(x, digits = 3, ...) {
  x <- migrate_fit(x)
  cat(
    "Bayesian additive regression kernels, multinomial probit",
    if (x$settings$prior_only) ", PRIOR ONLY", "\n",
    sep = ""
  )
  if (all(draws_in(x) == 0)) {
    cat(incomplete_line(x))
    return(invisible(x))
  }
  show <- function(v) format(v, digits = digits)
  cat(
    sub("kernels expected", "kernels expected in each of the fields",
      describe_bark(x, show),
      fixed = TRUE
    ),
    describe_fields(x, show),
    "  chains:       ", length(x$runs), ", ",
    counted(x$control$iter, "iteration"), " after ", x$control$warmup, "\n",
    mixing_line(x, show),
    "  time:         ", format(round(timings(x)$sampler, 3)), " s\n",
    incomplete_line(x),
    sep = ""
  )
  invisible(x)
}

#' The lines of print() on what was learned
#' @noRd
describe_fields <- function(x, show) {
  counts <- table(x$data$y)
  means <- vapply(field_pools(x), function(pool) {
    mean(field_copies(pool))
  }, 0)
  line <- function(...) shorten(paste0(..., collapse = ", "))
  paste0(
    "  classes:      ",
    line(names(counts), " (", as.vector(counts), ")"), "\n",
    "  kernels:      ",
    line(names(means), " ", vapply(means, show, "")), " on average\n",
    if (ncol(x$data$x) > 1) {
      paste0("  inputs:       ", inputs_line(x, show), "\n")
    }
  )
}

#' @export
summary.kb_bark_multinomial <- function(object, level = 0.9, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  level <- check_number(level, 0, 1, open = TRUE)
  used <- fields_locations(field_pools(object))
  structure(
    list(
      fit = object, level = level,
      parameters = generics::tidy(object, level = level),
      importance = importance(object, level = level),
      centres = frequent_centres(object),
      intercept = bark_location_probability(object, used)[[1]],
      diagnostics = diagnostics(object)
    ),
    class = "summary.kb_bark"
  )
}

# Methods of stats -------------------------------------------------------------

#' @export
sigma.kb_bark_multinomial <- function(object, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  1
}

#' @rdname coef.kb_bark
#' @export
coef.kb_bark_multinomial <- function(object, draw, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  if (missing(draw)) refuse_mean_coefficients()
  fields <- field_pools(object)
  draw <- check_count(draw, 1, length(fields[[1]]$m))
  lapply(fields, function(pool) draw_coefficients(object, pool, draw))
}

#' @export
logLik.kb_bark_multinomial <- function(object, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  df <- vapply(field_pools(object), function(pool) {
    mean(pool$m) + mean(bark_n_scales(object, pool))
  }, 0)
  structure(sum(stats::predict(object, type = "log_score")),
    df = sum(df), nobs = object$time, class = "logLik"
  )
}

#' @export
residuals.kb_bark_multinomial <- function(object, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  class_residuals(
    training_response(object), stats::predict(object, type = "prob")
  )
}

#' @export
simulate.kb_bark_multinomial <- function(object, nsim = 1, seed = NULL, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  nsim <- check_count(nsim, 1)
  pool <- posterior_pool(object)
  rows <- prediction_rows(object, NULL, NULL, TRUE, FALSE)
  labels <- with_local_seed(seed, {
    chosen <- sample.int(length(pool$weights), nsim, TRUE)
    draw_labels(fields_class_draws(object, rows, pool, chosen))
  })
  levels <- object$mould$levels
  out <- lapply(seq_len(nsim), function(i) factor(levels[labels[i, ]], levels))
  names(out) <- paste0("sim_", seq_len(nsim))
  out <- as.data.frame(out)
  attr(out, "seed") <- seed
  out
}

# Accessors --------------------------------------------------------------------

#' @export
inclusion.kb_bark_multinomial <- function(object, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  used <- fields_locations(field_pools(object))
  probability <- bark_location_probability(object, used)[-1]
  data.frame(row = seq_along(probability), probability = probability)
}

#' @export
kernels.kb_bark_multinomial <- function(object, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  copies <- chain_matrices(object)$J
  centres <- Reduce(`+`, lapply(field_pools(object), `[[`, "m"))
  k <- seq(min(centres), max(copies))
  share <- function(v) tabulate(v - k[[1]] + 1, length(k)) / length(v)
  data.frame(k = k, probability = share(copies), centres = share(centres))
}

#' @param class For fits of several classes: the class whose field is asked, a
#'   name; `NULL`: the largest scale of each predictor over the fields, and
#'   whether it is in any of them.
#' @rdname importance
#' @export
importance.kb_bark_multinomial <- function(object, level = 0.9, class = NULL,
                                           ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  level <- check_number(level, 0, 1, open = TRUE)
  fields <- field_pools(object)
  if (!is.null(class)) fields <- fields[check_choice(class, names(fields))]
  scales <- lapply(fields, function(pool) bark_scales(object, pool))
  included <- lapply(fields, function(pool) {
    matrix(pool$included, ncol = ncol(scales[[1]]), byrow = TRUE)
  })
  scale_table(object, Reduce(pmax, scales), Reduce(pmax, included), level)
}

# Neighbours -------------------------------------------------------------------

#' @rdname as_draws.kb_bark
#' @export
as_draws.kb_bark_multinomial <- function(x, ...) {
  check_no_dots(...)
  x <- migrate_fit(x)
  chains <- chain_matrices(x)
  fields <- field_pools(x)
  columns <- function(what, of) {
    do.call(cbind, Map(function(pool, class) {
      v <- of(pool)
      colnames(v) <- paste0(what, "[", class, ",", seq_len(ncol(v)), "]")
      v
    }, unname(fields), names(fields)))
  }
  p <- ncol(x$data$x)
  scales <- columns("lambda", function(pool) bark_scales(x, pool))
  if (bark_selects(x$settings$prior$type)) {
    scales <- cbind(scales, columns("delta", function(pool) {
      matrix(pool$included, ncol = p, byrow = TRUE) + 0
    }))
  }
  draws <- data.frame(
    sigma = 1, lapply(chains, as.vector), scales, check.names = FALSE
  )
  draws$.chain <- as.vector(col(chains$J))
  draws$.iteration <- as.vector(row(chains$J))
  posterior::as_draws_df(draws)
}

#' @rdname as_draws.kb_bark
#' @export
as_draws_df.kb_bark_multinomial <- as_draws.kb_bark_multinomial

#' @rdname tidy.kb_bark
#' @export
tidy.kb_bark_multinomial <- function(x, level = 0.9, ...) {
  check_no_dots(...)
  x <- migrate_fit(x)
  level <- check_number(level, 0, 1, open = TRUE)
  chains <- chain_matrices(x)
  draws <- lapply(chains[names(chains) != "log_lik"], as.vector)
  if (bark_selects(x$settings$prior$type)) {
    d <- lapply(field_pools(x), function(pool) bark_n_included(x, pool))
    draws[paste0("d[", names(d), "]")] <- d
  }
  tidy_draws(draws, level)
}

#' @rdname tidy.kb_bark
#' @export
augment.kb_bark_multinomial <- function(x, data = NULL, newdata = NULL, ...) {
  check_no_dots(...)
  x <- migrate_fit(x)
  new <- augment_rows(data, newdata)
  if (is.null(new)) {
    out <- as.data.frame(training_x(x))
    out$.response <- y <- training_response(x)
    p <- stats::predict(x, type = "prob")
  } else {
    p <- stats::predict(x, new, type = "prob")
    out <- augment_table(x, new)
    y <- augment_response(x, new)
  }
  out$.class <- most_probable(p, x$mould$levels)
  out[paste0(".prob_", x$mould$levels)] <- as.data.frame(p)
  if (!is.null(y)) out$.resid <- class_residuals(y, p)
  out
}

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::posterior_epred
posterior_epred.kb_bark_multinomial <- function(object, newdata = NULL,
                                                ndraws = NULL, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  p <- fields_asked(object, newdata, ndraws)
  if (dim(p)[[3]] == 2) {
    return(matrix(p[, , 2], nrow(p)))
  }
  dimnames(p) <- list(NULL, NULL, object$mould$levels)
  p
}

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::posterior_predict
posterior_predict.kb_bark_multinomial <- function(object, newdata = NULL,
                                                  ndraws = NULL, seed = NULL,
                                                  ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  p <- fields_asked(object, newdata, ndraws)
  labels <- with_local_seed(seed, draw_labels(p))
  if (dim(p)[[3]] == 2) labels - 1L else labels
}

#' Probabilities of the classes in the draws asked for, S x n x C
#' @noRd
fields_asked <- function(object, newdata, ndraws, call = rlang::caller_env()) {
  pool <- posterior_pool(object)
  chosen <- equal_weight_draws(object, pool, check_ndraws(ndraws, call))
  rows <- prediction_rows(
    object, newdata, NULL, is.null(newdata), FALSE,
    call = call
  )
  fields_class_draws(object, rows, pool, chosen)
}

#' @rdname posterior_predict.kb_srvm
#' @exportS3Method rstantools::log_lik
log_lik.kb_bark_multinomial <- function(object, newdata = NULL, newy = NULL,
                                        ndraws = NULL, ...) {
  check_no_dots(...)
  object <- migrate_fit(object)
  rows <- prediction_rows(object, newdata, newy, is.null(newdata), TRUE)
  pool <- posterior_pool(object)
  chosen <- equal_weight_draws(object, pool, check_ndraws(ndraws))
  x <- rows$x[rows$complete, , drop = FALSE]
  f <- fields_values(object, x, pool, "draw", chosen)$mean
  y <- as.integer(rows$y[rows$complete])
  t(spread_rows(bark_class_log_probability_cpp(f, list(), y), rows$complete))
}
