# Permutation importance: the increase in the loss when a predictor is permuted.

#' @rdname importance
#' @export
importance.kb_fit <- function(object, level = 0.9, method = "permutation",
                              newdata = NULL, newy = NULL, loss = NULL,
                              permutations = 10, ndraws = 200, seed = NULL,
                              by = c("variable", "column"), ...) {
  object <- checked_fit(object, ...)
  method <- check_choice(method, "permutation")
  permutation_importance(
    object, check_number(level, 0, 1, open = TRUE), newdata, newy, loss,
    check_size(permutations, 1, each = 2 * stats::nobs(object)),
    check_size(ndraws, 1), seed,
    check_choice(by, c("variable", "column"))
  )
}

#' @export
importance.kb_kbr <- function(object, ...) {
  kb_abort(c(
    "{.fn importance} is not defined for fits of {.fn kbr}.",
    x = "They have no draws of a function.",
    i = "{.fn partial_dependence} shows the effect of each column of the
         observations."
  ), "not_defined")
}

#' @export
importance.kb_tdsmc <- function(object, ...) not_defined_td("importance")

# Arguments as in `importance()`, checked except those of the data
permutation_importance <- function(object, level, newdata, newy, loss,
                                   permutations, ndraws, seed, by) {
  loss <- check_loss(object, loss)
  rows <- rows_with_response(object, newdata, newy)
  pool <- posterior_pool(object)
  weights <- drawn_weights(object, pool, ndraws)
  draws <- list(pool = pool, chosen = which(weights > 0))
  draws$weights <- weights[draws$chosen]
  copies <- row_copies(object, rows)
  orders <- with_local_seed(seed, replicate(
    permutations, permuted_order(nrow(rows$x), copies),
    simplify = FALSE
  ))
  base <- draw_losses(object, rows, draws, loss)
  permutes <- permutations_by(object, by, rows)
  keep_run({
    # All variables of a permutation before the next, so that variables can be
    # compared after an interrupt.
    out <- map_tasks(orders, "permuted_rises", list(
      fit = object, rows = rows, draws = draws, loss = loss, base = base,
      permutes = permutes
    ), backend = NULL)
    report_tasks(
      sum(out$done), permutations, "permutation", "The importance is from these."
    )
  })
  rises <- lapply(stats::setNames(nm = names(permutes)), function(name) {
    do.call(cbind, lapply(out$values[out$done], `[[`, name))
  })
  rise_table(rises, draws$weights, level, loss, sum(draws$weights * base))
}

# How much each draw's loss rises when the rows of each variable are permuted
permuted_rises <- function(order, shared) {
  rows <- shared$rows
  lapply(shared$permutes, function(permute) {
    rows$x <- permute(shared$rows$x, order)
    draw_losses(shared$fit, rows, shared$draws, shared$loss) - shared$base
  })
}

#' @param rises Named by variables: matrices, one row per draw and one column
#'   per permutation.
#' @noRd
rise_table <- function(rises, weights, level, loss, base) {
  ends <- interval_ends(level)
  q <- vapply(rises, function(rise) {
    draw_quantiles(
      rowMeans(rise), weights, c(ends[[1]], 0.25, 0.5, 0.75, ends[[2]])
    )
  }, numeric(5))
  means <- lapply(rises, function(rise) drop(weights %*% rise))
  structure(
    data.frame(
      variable = names(rises), mean = vapply(means, mean, 0),
      lower = q[1, ], q25 = q[2, ], median = q[3, ], q75 = q[4, ],
      upper = q[5, ],
      mc_se = vapply(means, function(v) stats::sd(v) / sqrt(length(v)), 0),
      row.names = NULL
    ),
    level = level, method = "permutation", loss = loss, base = base,
    class = c("kb_importance", "data.frame")
  )
}

# Data -------------------------------------------------------------------------

#' What is permuted: a function of rows and their order for each
#' @param rows From `rows_with_response()`.
#' @return List named by variables, or by columns of the inputs of kernels.
#' @noRd
permutations_by <- function(fit, by, rows) {
  mould <- fit$mould
  if (by == "column") {
    columns <- stats::setNames(seq_along(mould$x_names), mould$x_names)
    return(lapply(columns, permute_columns))
  }
  permute_variables(mould, frame_of_rows(mould, rows$x, rows$variables))
}

permute_columns <- function(columns) {
  force(columns)
  function(x, order) {
    x[, columns] <- x[order, columns]
    x
  }
}

#' @param frame The variables of the rows, which are evaluated only for columns
#'   that come of several: other fits need not keep them.
#' @noRd
permute_variables <- function(mould, frame, beside = TRUE) {
  sources <- column_sources(mould)
  columns <- variable_columns(mould, beside)
  lapply(stats::setNames(nm = names(columns)), function(name) {
    if (all(lengths(sources[columns[[name]]]) == 1)) {
      return(permute_columns(columns[[name]]))
    }
    function(x, order) permuted_rows(mould, x, frame, name, order)
  })
}

# Complete rows with their responses, the training rows by default
rows_with_response <- function(object, newdata, newy) {
  rows <- prediction_rows(object, newdata, newy, is.null(newdata), TRUE)
  complete <- which(rows$complete & stats::complete.cases(rows$y))
  if (length(complete) < 2) {
    bad_argument(
      newdata, "newdata", "data with at least two rows without missing values"
    )
  }
  c(complete_x(
    rows$x[complete, , drop = FALSE], pick_rows(rows$y, complete),
    rows$weights[complete]
  ), list(variables = pick_rows(rows$variables, complete)))
}

# Losses -----------------------------------------------------------------------

check_loss <- function(fit, loss) {
  if (fit$mould$outcome %in% c("trials", "interval")) {
    return(if (is.null(loss)) "log" else check_choice(loss, "log"))
  }
  if (is.null(fit$mould$levels)) {
    return(if (is.null(loss)) {
      "squared"
    } else {
      check_choice(loss, "squared")
    })
  }
  if (is.null(loss)) {
    # Draws of kgs() may give the observed class probability 0: their log loss
    # is infinite.
    return(if (inherits(fit, "kb_kgs")) "squared" else "log")
  }
  check_choice(loss, c("log", "squared"))
}

#' Mean loss over rows, and all their copies, of each draw
#' @param rows From `complete_x()`.
#' @param draws List of `pool` and `chosen`.
#' @noRd
draw_losses <- function(fit, rows, draws, loss) {
  share <- row_copies(fit, rows)
  if (is.null(share)) share <- rows$weights
  if (is.null(share)) share <- rep(1, nrow(rows$x))
  share <- share / sum(share)
  blocks <- row_blocks(rows$x, 2 * length(draws$chosen))
  sums <- lapply(blocks, function(block) {
    own <- complete_x(
      rows$x[block, , drop = FALSE], pick_rows(rows$y, block),
      rows$weights[block]
    )
    values <- if (loss == "log") {
      -response_log_lik(fit, own, draws$pool, draws$chosen)
    } else {
      squared_loss(expected_draws(fit, own, draws$pool, draws$chosen), own$y)
    }
    drop(values %*% share[block])
  })
  Reduce(`+`, sums)
}

#' Squared error of each draw at each row, S x n
#' @param expected From `expected_draws()`.
#' @noRd
squared_loss <- function(expected, y) {
  if (!is.factor(y)) {
    return(sweep(expected, 2, y)^2)
  }
  if (is.matrix(expected)) {
    expected <- array(c(1 - expected, expected), c(dim(expected), 2))
  }
  size <- dim(expected)
  own <- cbind(
    rep(seq_len(size[[1]]), size[[2]]),
    rep(seq_len(size[[2]]), each = size[[1]]),
    rep(as.integer(y), each = size[[1]])
  )
  # (p - 1)^2 for the observed class, p^2 for the others.
  rowSums(expected^2, dims = 2) + 1 - 2 * matrix(expected[own], size[[1]])
}
