# Predictions of bark fits of several classes, from the normal mixtures of the
# fields over draws.

#' @rdname predict.kb_bark
#' @export
predict.kb_bark_multinomial <- function(object, newdata, type = NULL,
                                        interval = c(
                                          "none", "credible", "prediction"
                                        ), level = 0.9, probs = NULL,
                                        newy = NULL, ndraws = NULL,
                                        weights = NULL, ...) {
  object <- checked_fit(object, ...)
  types <- c("class", "prob", "link", "draws", "log_score")
  type <- if (is.null(type)) types[[1]] else check_choice(type, types)
  interval <- check_choice(interval, c("none", "credible", "prediction"))
  banded <- if (interval != "prediction") "interval"
  used <- list(
    prob = banded, link = banded, draws = "ndraws", log_score = "newy"
  )[[type]]
  refuse_ignored(
    type, interval, c(
      interval = interval != "none", level = !missing(level),
      probs = !is.null(probs), newy = !is.null(newy),
      ndraws = !is.null(ndraws), weights = !is.null(weights)
    ), used, "predict.kb_bark", object
  )
  level <- check_number(level, 0, 1, open = TRUE)
  rows <- prediction_rows(
    object, newdata, newy, missing(newdata), type == "log_score"
  )
  out <- predict_fields(object, rows, type, interval, level, ndraws)
  name_predictions(out, type, rows$names)
}

#' @param rows From `prediction_rows()`.
#' @noRd
predict_fields <- function(fit, rows, type, interval, level, ndraws) {
  x <- rows$x[rows$complete, , drop = FALSE]
  pool <- posterior_pool(fit)
  put <- function(out) spread_rows(out, rows$complete)
  banded <- function(values, limits) {
    with_limits(put(values(fit, x, pool)), if (interval == "credible") {
      put_array(limits(fit, x, pool, level), rows$complete)
    })
  }
  switch(type,
    class = put(most_probable(
      fields_probability(fit, x, pool), fit$mould$levels
    )),
    prob = banded(fields_probability, fields_probability_limits),
    link = banded(fields_link, fields_link_limits),
    draws = {
      chosen <- equal_weight_draws(fit, pool, check_ndraws(ndraws))
      fields_draws(fit, rows, pool, chosen)
    },
    log_score = put(fields_log_score(
      fit, x, as.integer(rows$y[rows$complete]), pool
    ))
  )
}

# Fields ----------------------------------------------------------------------

# What `bark_values()` gives, of all fields: a list of `mean` and `variance`,
# lists of matrices points x draws
fields_values <- function(fit, x, pool, what,
                          chosen = seq_along(pool$weights)) {
  values <- lapply(pool$fields, function(field) {
    bark_values(fit, x, field, what, chosen)
  })
  list(
    mean = lapply(values, `[[`, "mean"),
    variance = lapply(values, `[[`, "variance")
  )
}

# Call f(rows, values) on blocks of rows that fit in memory
in_field_blocks <- function(fit, x, pool, what, f,
                            chosen = seq_along(pool$weights)) {
  columns <- 2 * length(pool$fields) * length(chosen)
  lapply(row_blocks(x, columns), function(rows) {
    f(rows, fields_values(fit, x[rows, , drop = FALSE], pool, what, chosen))
  })
}

# Blocks of rows as one matrix with one column per class
bind_classes <- function(fit, blocks) {
  levels <- fit$mould$levels
  out <- do.call(rbind, c(list(matrix(0, 0, length(levels))), blocks))
  colnames(out) <- levels
  out
}

# Posterior predictive probabilities of the classes, n x C
fields_probability <- function(fit, x, pool, chosen = seq_along(pool$weights)) {
  classes <- family_of(fit)$classes
  blocks <- in_field_blocks(fit, x, pool, classes$what, function(rows, at) {
    classes$mean(at$mean, at$variance)
  }, chosen)
  bind_classes(fit, blocks)
}

#' Probabilities of classes with a logit link
#' @param f The fields: a list of matrices points x draws.
#' @return Array points x draws x C.
#' @noRd
softmax <- function(f, log = FALSE) {
  most <- do.call(pmax, unname(f))
  size <- lapply(f, function(v) exp(v - most))
  total <- Reduce(`+`, size)
  p <- if (log) {
    lapply(f, function(v) v - most - log(total))
  } else {
    lapply(size, `/`, total)
  }
  array(unlist(p, use.names = FALSE), c(dim(most), length(f)))
}

# Posterior means of the fields, n x C
fields_link <- function(fit, x, pool) {
  bind_classes(fit, in_field_blocks(fit, x, pool, "mean", function(rows, at) {
    matrix(vapply(at$mean, rowMeans, numeric(length(rows))), length(rows))
  }))
}

# Log predictive probabilities of the classes of this number
fields_log_score <- function(fit, x, y, pool) {
  classes <- family_of(fit)$classes
  blocks <- in_field_blocks(fit, x, pool, classes$what, function(rows, at) {
    log_p <- classes$log(at$mean, at$variance, y[rows])
    most <- apply(log_p, 1, max)
    most + log(rowMeans(exp(log_p - most)))
  })
  as.double(unlist(blocks))
}

# Draws of the fields, S x n x C; NA where rows are not complete
fields_draws <- function(fit, rows, pool, chosen) {
  x <- rows$x[rows$complete, , drop = FALSE]
  check_draws_memory(length(chosen), nrow(x), length(pool$fields))
  f <- fields_values(fit, x, pool, "draw", chosen)$mean
  f <- lapply(f, function(v) t(spread_rows(v, rows$complete)))
  array(unlist(f, use.names = FALSE),
    c(length(chosen), nrow(rows$x), length(f)),
    dimnames = list(NULL, NULL, names(f))
  )
}

# Probabilities of the classes given draws of the fields, S x n x C
fields_class_draws <- function(fit, rows, pool, chosen) {
  x <- rows$x[rows$complete, , drop = FALSE]
  check_draws_memory(length(chosen), nrow(x), length(pool$fields))
  f <- fields_values(fit, x, pool, "draw", chosen)$mean
  p <- family_of(fit)$classes$given(f)
  aperm(put_array(p, rows$complete), c(2, 1, 3))
}

# Intervals -------------------------------------------------------------------

# Quantiles over draws of the probability given the fields, n x C x 2
fields_probability_limits <- function(fit, x, pool, level) {
  ends <- interval_ends(level)
  blocks <- in_field_blocks(fit, x, pool, "draw", function(rows, at) {
    p <- family_of(fit)$classes$given(at$mean)
    q <- apply(p, c(1, 3), stats::quantile, ends, names = FALSE)
    t(matrix(aperm(q, c(3, 1, 2)), ncol = length(rows)))
  })
  out <- do.call(rbind, c(list(matrix(0, 0, 2 * length(pool$fields))), blocks))
  array(out, c(nrow(x), length(pool$fields), 2))
}

# Exact quantiles of the mixtures of normals that the fields are, n x C x 2;
# over draws where these have the coefficients
fields_link_limits <- function(fit, x, pool, level) {
  ends <- interval_ends(level)
  quantiles <- function(mean, variance) {
    if (what == "draw") {
      return(t(apply(mean, 1, stats::quantile, ends, names = FALSE)))
    }
    mixture_quantiles_cpp(mean, variance, NULL, pool$weights, Inf, ends)
  }
  what <- family_of(fit)$classes$what
  blocks <- in_field_blocks(fit, x, pool, what, function(rows, at) {
    q <- Map(quantiles, at$mean, at$variance)
    # Columns: the lower ends of all classes, then the upper ones.
    do.call(cbind, c(
      lapply(q, function(v) v[, 1]), lapply(q, function(v) v[, 2])
    ))
  })
  out <- do.call(rbind, c(list(matrix(0, 0, 2 * length(pool$fields))), blocks))
  array(out, c(nrow(x), length(pool$fields), 2))
}

# As `spread_rows()`, of an array whose first dimension is the rows
put_array <- function(out, complete) {
  size <- dim(out)
  out <- spread_rows(matrix(out, size[[1]]), complete)
  array(out, c(nrow(out), size[-1]))
}

#' @param limits NULL, or array n x C x 2.
#' @return Matrix n x C, or array n x C x 3.
#' @noRd
with_limits <- function(fit, limits) {
  if (is.null(limits)) {
    return(fit)
  }
  out <- array(c(fit, limits), c(dim(fit), 3))
  dimnames(out) <- list(NULL, colnames(fit), c("fit", "lwr", "upr"))
  out
}
