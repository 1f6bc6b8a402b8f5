# New rows for fits of kgs(): its chains go on from where they were, in the
# span of more points.

#' Take in further rows, or continue the chains
#'
#' With new rows the posterior is that of old and new rows together, under the
#' scaling, the kernel (its median bandwidth, if that was asked for), the noise
#' prior and the sampler of the first fit. The chains start from their last
#' states, lifted into the span of all rows by draws of the prior along the new
#' directions: near the new posterior where the new rows are few. After a short
#' warmup they are run anew.
#'
#' Where the fit has all distinct points as its features, or fewer than `rank`
#' allows, new points become features, too; where `rank` is reached they do
#' not, and what they leave unexplained counts in the warning of
#' [kgs()][kgs]. The seed of the new chains is made from the fit's: the same
#' calls have the same result. Draws of the old posterior are not kept.
#'
#' @param object A fit of [kgs()].
#' @param newdata For formula fits: a data frame with predictors and response.
#' @param newx,newy For x/y fits: predictors and response.
#' @param n_iter Without new rows: number of further iterations of each chain;
#'   the result is identical to that of a run that was as long from the start.
#'   `NULL`: an interrupted fit is run to its end, a complete one is returned
#'   as it is. With new rows: iterations of each chain after the warmup; `NULL`:
#'   as many as the fit has. With `until` and without new rows: iterations
#'   between two looks, see [update.kb_mcmc()].
#' @param warmup With new rows: iterations before draws are kept, at least 0.
#'   `NULL`: a tenth of the first fit's warmup but not below 20, and all of it
#'   for `method = "coordinate"`, which learns its axes then.
#' @param na_action `"fail"`, or `"omit"` to drop new rows with missing values.
#' @param time_limit Seconds after which this call stops; `NULL`: the limit in
#'   the fit's control.
#' @param progress Show a progress bar? `NULL`: in interactive sessions.
#' @param until `NULL`, or [convergence()]: the chains, those of a fit with new
#'   rows, too, go on until they have converged, see [update.kb_mcmc()].
#' @param ... Not used: unknown arguments are errors.
#'
#' @return A fit of all rows, with the new ones after the old.
#'
#' @section Errors:
#' As in [kgs()]. A class that the fit does not have is an error of class
#' `kb_error_outcome`; `warmup` without new rows one of class
#' `kb_error_argument`.
#'
#' @seealso [acquire()] says which rows are worth a label.
#' @examples
#' # Active learning: labels are asked for where they are worth most.
#' moons <- sim_moons(200, flips = 0.1, seed = 1)
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
                          n_iter = NULL, warmup = NULL,
                          na_action = c("fail", "omit"), time_limit = NULL,
                          progress = NULL, until = NULL, ...) {
  started <- now()
  refuse_new_formula(newdata)
  object <- checked_fit(object, ...)
  if (!is.null(time_limit)) time_limit <- check_seconds(time_limit)
  na_action <- check_choice(na_action, c("fail", "omit"))
  progress <- check_progress(progress)
  until <- check_until(until)
  rows <- update_rows(object, newdata, newx, newy)
  if (is.null(rows)) {
    refuse_warmup(warmup)
    return(continue_chains(
      object, n_iter, progress, started, time_limit, until
    ))
  }
  kept <- complete_rows(rows, na_action)
  control <- extended_control(object, n_iter, warmup)
  if (nrow(kept$x) == 0) {
    return(object)
  }
  fit <- extended_fit(object, kept, which(!rows$complete), nrow(rows$x))
  if (is.null(fit$first_warmup)) fit$first_warmup <- fit$control$warmup
  fit$control <- control
  if (!is.null(until)) {
    return(keep_run(run_until(fit, until, NULL, progress, started, time_limit)))
  }
  run_fit(fit, progress, started, time_limit)
}

refuse_warmup <- function(warmup) {
  if (!is.null(warmup)) {
    kb_abort(c(
      "{.arg warmup} would have no effect without new rows.",
      i = "Chains that are continued have had theirs."
    ), "argument", argument = "warmup")
  }
}

# Lengths of the new chains
extended_control <- function(fit, n_iter, warmup) {
  control <- fit$control
  if (!is.null(n_iter)) {
    control$iter <- check_count(n_iter, control$thin)
  }
  # Not of the last update's: a tenth of a tenth is too short.
  first <- if (is.null(fit$first_warmup)) control$warmup else fit$first_warmup
  control$warmup <- if (!is.null(warmup)) {
    check_count(warmup, 0, .Machine$integer.max - control$iter)
  } else if (fit$settings$method == "coordinate") {
    first
  } else {
    max(20L, first %/% 10L)
  }
  control
}

#' A fit that has not begun, of old and new rows
#' @param omitted Which of the `given` new rows were dropped.
#' @noRd
extended_fit <- function(old, rows, omitted, given) {
  fit <- old
  fit$data <- list(
    x = rbind(old$data$x, rows$x),
    # c() of factors needs R 4.1
    y = factor(c(as.character(old$data$y), as.character(rows$y)),
      levels = old$mould$levels
    )
  )
  fit$sequence <- seq_len(nrow(fit$data$x))
  fit$mould$omitted <- c(old$mould$omitted, old$mould$n_rows + omitted)
  fit$mould$n_rows <- old$mould$n_rows + given
  fit$mould <- append_row_names(
    fit$mould, seq_len(nrow(old$data$x)), rows$names,
    nrow(old$data$x) + seq_len(nrow(rows$x))
  )
  fit$settings <- extended_settings(old$settings, fit$data$x)
  fit$seed <- next_seed(old$seed)
  fit$starts <- lifted_starts(old, fit)
  fit$runs <- vector("list", length(old$runs))
  fit$time <- 0L
  fit$status <- "started"
  fit
}

#' What was frozen, with a basis of the span of all points
#' @param x All points, in their own units.
#' @noRd
extended_settings <- function(settings, x) {
  x <- scaling_x(settings$scaling, x)
  distinct <- x[distinct_rows(x)$first, , drop = FALSE]
  new <- distinct[is.na(which_pivot(settings$basis, distinct)), , drop = FALSE]
  basis <- extend_basis(settings$basis, new, limit = settings$rank_limit)
  basis$unexplained <- unexplained_share(basis, distinct)
  check_basis(basis)
  settings$basis <- basis
  settings$explained <- nugget_explained(settings, x)
  settings
}

next_seed <- function(seed) {
  with_local_seed(seed, sample.int(.Machine$integer.max, 1))
}

# Lifted states ----------------------------------------------------------------

# Where the chains of a further fit begin: their last states and, along the
# new axes, draws of the prior
#
# The block sampler has no state in these coordinates: it begins at the labels.
lifted_starts <- function(old, new) {
  if (old$settings$method == "block") {
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

# A vector of a function after the other, with new axes
#
# Of a standard normal vector direction and length are independent. The
# circle's has a length that says nothing, so that it is drawn anew.
lift <- function(g, axes, functions) {
  g <- g * sqrt(stats::rchisq(1, length(g)) / sum(g^2))
  g <- matrix(g, ncol = functions)
  out <- matrix(stats::rnorm(axes$size * functions), axes$size)
  out[axes$to, ] <- g[axes$from, ]
  as.double(out)
}

#' The axes of the old features among the new
#'
#' Those of the span keep their numbers. Those that rows have of their own, from
#' the nugget, follow them in the order of the points.
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
