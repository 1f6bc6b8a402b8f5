# New rows for fits of kgs(): its chains continue from their last states, in the
# span of more points.

#' Add rows, or continue the chains
#'
#' With new rows the posterior is that of old and new rows together, under the
#' scaling, the kernel (including a median bandwidth), the noise prior and the
#' sampler of the first fit. The chains start from their last states, extended
#' to the span of all rows by draws from the prior along the new directions;
#' with few new rows this is close to the new posterior. After a short warmup
#' new draws are made.
#'
#' New points also become features until `rank` is reached; beyond that they do
#' not, and their unexplained part counts in the warning of [kgs()][kgs]. The
#' seed of the new chains is derived from that of the fit: the same calls give
#' the same result. Draws of the old posterior are not kept.
#'
#' @param object A fit of [kgs()].
#' @param newdata For formula fits: a data frame with predictors and response.
#' @param newx,newy For x/y fits: predictors and response.
#' @param iter Without new rows: number of further iterations of each chain;
#'   the result is identical to one run of the total length. `NULL`: an
#'   interrupted fit is run to its end, a complete fit is returned unchanged.
#'   With new rows: iterations of each chain after the warmup; `NULL`: as many
#'   as the fit has. With `until` and without new rows: iterations between
#'   checks, see [update.kb_mcmc()].
#' @param warmup With new rows: iterations before draws are kept, at least 0.
#'   `NULL`: a tenth of the first fit's warmup but at least 20; for
#'   `method = "coordinate"`, which learns its axes in the warmup, all of it.
#' @param na.action `"omit"` leaves new rows with missing values out and says how
#'   many, `"fail"` makes them an error. [stats::na.omit] and [stats::na.fail]
#'   mean the same.
#' @param time_limit Seconds after which this call stops; `NULL`: the limit in
#'   the fit's control.
#' @param progress Show a progress bar? `NULL`: in interactive sessions.
#' @param until `NULL`, or [convergence()]: the chains (also after new rows)
#'   continue until they have converged, see [update.kb_mcmc()].
#' @param ... Not used: unknown arguments are errors.
#'
#' @return A fit of all rows, with the new rows after the old.
#'
#' @section Errors:
#' As in [kgs()]. A new class is an error of class `kb_error_outcome`; `warmup`
#' without new rows is an error of class `kb_error_argument`.
#'
#' @seealso [acquire()] to choose rows to label.
#' @examples
#' # Active learning: label the most informative rows.
#' moons <- sim_moons(200, flips = 0.1, seed = 1, truth = TRUE)
#' pool <- moons[-(1:10), ]
#' control <- mcmc_control(chains = 2, iter = 500)
#' fit <- kgs(y ~ x1 + x2, moons[1:10, ],
#'   kernel = kernel_gaussian(0.5), control = control, seed = 1
#' )
#' for (round in 1:3) {
#'   chosen <- acquire(fit, pool, n = 5)$row
#'   fit <- update(fit, newdata = pool[chosen, ])
#'   pool <- pool[-chosen, ]
#' }
#' fit
#' mean(predict(fit, pool) == pool$clean)
#' @export
update.kb_kgs <- function(object, newdata = NULL, newx = NULL, newy = NULL,
                          iter = NULL, warmup = NULL,
                          na.action = c("omit", "fail"), time_limit = NULL,
                          progress = NULL, until = NULL, ...) {
  started <- now()
  refuse_new_formula(newdata)
  object <- checked_fit(object, ...)
  if (!is.null(time_limit)) time_limit <- check_seconds(time_limit)
  na.action <- check_na_action(na.action)
  progress <- check_progress(progress)
  until <- check_until(until)
  rows <- update_rows(object, newdata, newx, newy)
  if (is.null(rows)) {
    refuse_warmup(warmup)
    return(continue_chains(
      object, iter, progress, started, time_limit, until
    ))
  }
  if (!is.null(object$data$weights)) refuse_weighted_rows()
  kept <- complete_rows(rows, na.action)
  control <- extended_control(object, iter, warmup)
  if (nrow(kept$x) == 0) {
    return(object)
  }
  fit <- extended_fit(object, kept, rows$complete)
  if (is.null(fit$first_warmup)) fit$first_warmup <- fit$control$warmup
  fit$control <- control
  if (!is.null(until)) {
    return(keep_run(run_until(fit, until, NULL, progress, started, time_limit)))
  }
  run_fit(fit, progress, started, time_limit)
}

refuse_weighted_rows <- function() {
  kb_abort(c(
    "Rows cannot be added to a fit with {.arg weights}.",
    i = "Fit all rows again with {.fn kgs}."
  ), "not_defined")
}

refuse_warmup <- function(warmup) {
  if (!is.null(warmup)) {
    kb_abort(c(
      "{.arg warmup} would have no effect without new rows.",
      i = "Continued chains have already had their warmup."
    ), "argument", argument = "warmup")
  }
}

# Lengths of the new chains
extended_control <- function(fit, iter, warmup) {
  control <- fit$control
  if (!is.null(iter)) {
    control$iter <- check_count(iter, control$thin)
  }
  # Not a tenth of the last update's warmup: a tenth of a tenth is too short.
  first <- if (is.null(fit$first_warmup)) control$warmup else fit$first_warmup
  control$warmup <- if (!is.null(warmup)) {
    check_count(warmup, 0, .Machine$integer.max - control$iter)
  } else if (fit$settings$method %in% c("coordinate", "leapfrog")) {
    first
  } else {
    max(20L, first %/% 10L)
  }
  control
}

#' A fit that has not begun, of old and new rows
#' @param complete Which of the new rows are in `rows`.
#' @noRd
extended_fit <- function(old, rows, complete) {
  fit <- old
  fit$data <- list(
    x = rbind(old$data$x, rows$x),
    # c() of factors needs R 4.1
    y = factor(c(as.character(old$data$y), as.character(rows$y)),
      levels = old$mould$levels
    )
  )
  fit$sequence <- seq_len(nrow(fit$data$x))
  fit$mould <- count_rows(old$mould, complete)
  fit$mould <- append_to_mould(
    fit$mould, seq_len(nrow(old$data$x)), rows,
    nrow(old$data$x) + seq_len(nrow(rows$x))
  )
  fit$settings <- extended_settings(old$settings, fit$data$x, fit$data$y)
  fit$seed <- next_seed(old$seed)
  fit$starts <- lifted_starts(old, fit)
  fit$runs <- vector("list", length(old$runs))
  fit$time <- 0L
  fit$status <- "started"
  fit
}

#' The frozen settings, with a basis of the span of all points
#' @param x,y All points, in their own units, and their labels.
#' @noRd
extended_settings <- function(settings, x, y) {
  x <- scaling_x(settings$scaling, x)
  distinct <- x[distinct_rows(x)$first, , drop = FALSE]
  new <- distinct[is.na(which_pivot(settings$basis, distinct)), , drop = FALSE]
  basis <- extend_basis(settings$basis, new,
    span_tolerance(settings, distinct), settings$rank_limit
  )
  basis$unexplained <- unexplained_share(basis, distinct)
  settings$basis <- basis
  settings$explained <- nugget_explained(settings, x)
  if (is_noisy(settings)) {
    settings$noisy <- learn_noisy(settings, x, y, NULL, settings$noisy)
    settings$basis$unexplained <- noisy_unexplained(settings, distinct)
  }
  check_basis(settings$basis)
  settings
}

next_seed <- function(seed) {
  with_local_seed(seed, sample.int(.Machine$integer.max, 1))
}

# Lifted states ----------------------------------------------------------------

# Starting points of the chains of a further fit: their last states and, along
# the new axes, draws from the prior
#
# The block sampler has no state in these coordinates: it starts at the labels;
# leapfrog chains start at the new mode.
lifted_starts <- function(old, new) {
  if (old$settings$method %in% c("block", "leapfrog")) {
    return(NULL)
  }
  axes <- common_axes(old, new)
  with_local_seed(new$seed, {
    lapply(old$runs, function(run) {
      if (is.null(run)) {
        return(NULL)
      }
      lift(run$levels[[1]]$g, axes, kgs_functions(old))
    })
  })
}

# The vectors of the functions one after the other, with new axes
#
# Direction and length of a standard normal vector are independent. The length
# in the circle sampler is arbitrary, so it is drawn again.
lift <- function(g, axes, functions) {
  g <- g * sqrt(stats::rchisq(1, length(g)) / sum(g^2))
  g <- matrix(g, ncol = functions)
  out <- matrix(stats::rnorm(axes$size * functions), axes$size)
  out[axes$to, ] <- g[axes$from, ]
  as.double(out)
}

#' The axes of the old features among the new
#'
#' The axes of the span keep their numbers. The axes of single rows, from the
#' nugget, follow them in the order of the points.
#' @return List: `from` and `to` of the old axes, and the new `size`.
#' @noRd
common_axes <- function(old, new) {
  span <- seq_len(kgs_rank(old))
  if (old$settings$nugget == 0) {
    return(list(from = span, to = span, size = kgs_rank(new)))
  }
  rows <- seq_len(nrow(old$data$x))
  list(
    from = c(span, kgs_rank(old) + kgs_data(old)$point),
    to = c(span, kgs_rank(new) + kgs_data(new)$point[rows]),
    size = kgs_rank(new) + nrow(new$data$x)
  )
}
