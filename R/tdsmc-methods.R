# Methods of tdsmc fits, apart from plot().

#' @export
print.kb_tdsmc <- function(x, digits = 3, ...) {
  x <- checked_fit(x, ...)
  cat("Trans-dimensional sequential Monte Carlo\n")
  if (x$time > 0) {
    cat(
      "  steps:        ", x$time, "\n",
      "  moves:        ", move_line(x), "\n",
      "  log evidence: ", evidence_line(evidence(x), digits), "\n",
      "  particles:    ", td_particle_line(x), "\n",
      time_line(x),
      sep = ""
    )
  }
  if (x$status != "complete") {
    cat(
      "  INCOMPLETE:   ", x$time, " of ", x$steps,
      " steps; update() continues\n",
      sep = ""
    )
  }
  invisible(x)
}

move_line <- function(x) {
  total <- colSums(td_moves(x)$chosen)
  shorten(paste0(
    names(x$moves), " ", percent(round(total / sum(total), 3)),
    collapse = ", "
  ))
}

td_particle_line <- function(x) {
  times <- diagnostics(x)$resamplings
  paste0(
    size_words(run_sizes(x)), ", ", ess_words(x), ", resampled ",
    counted(times, "time")
  )
}

# "250", "250 x 3" or "250 x 3 + 500"
size_words <- function(sizes) {
  runs <- rle(as.numeric(sizes))
  paste0(runs$values, ifelse(runs$lengths > 1, paste(" x", runs$lengths), ""),
    collapse = " + "
  )
}

# How often moves were chosen, and their weights afterwards: matrices with one
# row per step and one column per move, replicates pooled
td_moves <- function(fit) {
  runs <- fit_runs(fit)
  share <- td_shares(runs)
  by_step <- function(name, factors) {
    sums <- Reduce(`+`, Map(function(run, factor) {
      factor * run$path[[name]]
    }, runs, factors))
    matrix(sums, ncol = length(fit$moves), byrow = TRUE,
      dimnames = list(NULL, names(fit$moves))
    )
  }
  list(chosen = by_step("chosen", 1), share = by_step("share", share))
}

#' @export
summary.kb_tdsmc <- function(object, ...) {
  object <- checked_fit(object, ...)
  moves <- td_moves(object)
  structure(
    list(
      fit = object,
      moves = data.frame(
        move = names(object$moves),
        chosen = as.integer(unname(colSums(moves$chosen))),
        share = unname(colMeans(moves$chosen / rowSums(moves$chosen))),
        weighted = unname(colMeans(moves$share))
      ),
      rejuvenation = rejuvenation_table(object),
      diagnostics = diagnostics(object)
    ),
    class = "summary.kb_tdsmc"
  )
}

rejuvenation_table <- function(fit) {
  found <- td_acceptance(fit)
  if (length(found$rate) > 0) {
    data.frame(
      move = names(found$rate), tried = found$tried,
      accepted = unname(found$rate)
    )
  }
}

#' @export
print.summary.kb_tdsmc <- function(x, digits = 3, ...) {
  check_no_dots(...)
  print(x$fit, digits = digits)
  cat("\nMoves (times chosen, mean share before and after weighting)\n")
  print(x$moves, digits = digits, row.names = FALSE)
  if (!is.null(x$rejuvenation)) {
    cat("\nRejuvenation (proposals, and the share accepted)\n")
    print(x$rejuvenation, digits = digits, row.names = FALSE)
  }
  cat("\n")
  print(x$diagnostics)
  invisible(x)
}

# Accessors -----------------------------------------------------------------

#' @export
evidence.kb_tdsmc <- function(object, ...) {
  object <- checked_fit(object, ...)
  runs <- fit_runs(object)
  log_z <- vapply(runs, `[[`, 0, "log_evidence")
  # Zero if all runs have one size
  size <- run_log_size(runs) - log_mean_exp(run_log_size(runs))
  path <- log_mean_paths(evidence_paths(runs, object$time), size)
  structure(
    list(
      log_evidence = log_mean_exp(log_z + size),
      # Equal weights have a variance of zero, apart from rounding.
      mc_se = standard_error(zapsmall_variance(mean_variance(runs, size))),
      # Of runs of one size
      mc_se_replicates = if (any(size != size[[1]])) NA_real_ else
        replicate_se(td_shares(runs)),
      replicates = log_z,
      note = evidence_doubts(object),
      path = data.frame(
        step = seq_len(object$time), log_predictive = diff(c(0, path)),
        log_evidence = path
      )
    ),
    class = "kb_evidence"
  )
}

zapsmall_variance <- function(v) if (isTRUE(abs(v) < 1e-14)) 0 else v

#' @export
ess.kb_tdsmc <- function(object, ...) {
  object <- checked_fit(object, ...)
  runs <- fit_runs(object)
  total <- function(name) {
    Reduce(`+`, lapply(runs, function(run) run$path[[name]]))
  }
  particles <- total("particles")
  out <- data.frame(
    step = seq_len(object$time), ess = total("ess"),
    fraction = total("ess") / particles,
    lowest = Reduce(`+`, lapply(runs, run_lowest)) / particles,
    founders = total("founders"), resampled = total("resampled") > 0
  )
  if (is_tempered(object$target)) {
    # Of the run that needed most
    out$increases <- do.call(pmax, lapply(runs, function(run) {
      run$path$increases
    }))
  }
  out
}

#' @export
diagnostics.kb_tdsmc <- function(object, ...) {
  object <- checked_fit(object, ...)
  structure(
    c(path_diagnostics(object), list(acceptance = td_acceptance(object)$rate)),
    class = "kb_diagnostics"
  )
}

# Proposals of a kernel of td_rejuvenate(), over all runs and steps
td_acceptance <- function(fit) {
  names <- names(jump_moves(fit$target))
  total <- function(name) {
    counts <- unlist(lapply(fit$runs, function(run) run$path[[name]]))
    rowSums(matrix(as.double(counts), length(names)))
  }
  if (is.null(names)) {
    return(list(rate = numeric()))
  }
  tried <- total("tried")
  rate <- stats::setNames(total("accepted") / tried, names)
  rate[tried == 0] <- NA
  list(tried = tried, rate = rate)
}

#' @export
timings.kb_tdsmc <- function(object, ...) {
  object <- checked_fit(object, ...)
  list(
    sampler = sum(vapply(object$runs, function(run) {
      if (is.null(run)) 0 else run$seconds
    }, 0)),
    shared = 0, total = object$seconds
  )
}

#' @export
ancestry.kb_tdsmc <- function(object, ...) {
  object <- checked_fit(object, ...)
  refuse_where(object, "ancestry", "no_ancestry")
  lapply(fit_runs(object), function(run) {
    out <- list(ancestors = matrix(
      run$ancestors, ncol = length(run$weights), byrow = TRUE
    ))
    if (length(run$history) > 0) {
      out$weights <- do.call(rbind, lapply(run$history, `[[`, "weights"))
      out$states <- lapply(run$history, `[[`, "states")
    }
    out
  })
}

#' @importFrom stats weights
#' @export
weights.kb_tdsmc <- function(object, ...) {
  object <- checked_fit(object, ...)
  particle_weights(object, fit_runs(object))
}

#' @export
nobs.kb_tdsmc <- function(object, ...) checked_fit(object)$time

#' @export
fitted.kb_tdsmc <- function(object, ...) not_defined_td("fitted")

#' @export
residuals.kb_tdsmc <- function(object, ...) not_defined_td("residuals")

#' @export
coef.kb_tdsmc <- function(object, ...) not_defined_td("coef")

#' @export
simulate.kb_tdsmc <- function(object, nsim = 1, seed = NULL, ...) {
  not_defined_td("simulate")
}

#' @export
formula.kb_tdsmc <- function(x, ...) not_defined_td("formula")

#' @export
terms.kb_tdsmc <- function(x, ...) not_defined_td("terms")

#' @export
model.frame.kb_tdsmc <- function(formula, ...) not_defined_td("model.frame")

#' @export
model.matrix.kb_tdsmc <- function(object, ...) not_defined_td("model.matrix")

not_defined_td <- function(what) {
  kb_abort(c(
    "{.fn {what}} is not defined for fits of {.fn tdsmc}.",
    i = "{.code predict(fit, f)} gives expectations of any function of the
         states."
  ), "not_defined")
}

# Functions of the states -----------------------------------------------------

#' Expectations and distributions under the last target
#'
#' `predict(fit, f)` is the expectation of a function f of the states.
#' @param object A fit of [tdsmc()].
#' @param f `function(states)`, vectorised over particles. For
#'   `"expectation"` it returns a number for each particle, or a matrix or data
#'   frame of numbers with a row for each; for `"distribution"` a vector of
#'   any values.
#' @param type `"expectation"` of f; `"distribution"`, the probability of each
#'   value that f takes; `"states"`, the particles of all replicates;
#'   [weights()] gives their weights.
#' @param ... Not used: unknown arguments are errors.
#' @return `"expectation"`: a number, or a vector named by the columns.
#'   `"distribution"`: a data frame of `value`, sorted, and `probability`.
#'   `"states"`: states in the form used by your functions.
#' @section Errors: `kb_error_user_function` if f fails or returns something else.
#' @seealso [as_draws.kb_tdsmc()] for draws, e.g. to compute quantiles.
#' @examples
#' target <- td_target(
#'   log_density = function(states, t, data) {
#'     y <- data[seq_len(t)]
#'     dnorm(states, log = TRUE) +
#'       vapply(states, function(x) sum(dnorm(y, x, log = TRUE)), 0)
#'   },
#'   initial = function(n, data) rnorm(n)
#' )
#' fit <- tdsmc(target, data = c(1.2, 0.7, 0.9), seed = 1)
#' predict(fit, identity) # exact: 0.7
#' predict(fit, function(x) cbind(mean = x, square = x^2))
#' predict(fit, function(x) x > 1, type = "distribution")
#' @export
predict.kb_tdsmc <- function(object, f,
                             type = c("expectation", "distribution", "states"),
                             ...) {
  type <- check_choice(type, c("expectation", "distribution", "states"))
  object <- checked_fit(object, ...)
  states <- td_states(object)
  if (type == "states") {
    if (!missing(f)) {
      kb_abort("{.arg f} would have no effect with {.code type = \"states\"}.",
        "argument", argument = "f"
      )
    }
    return(states)
  }
  if (missing(f)) f <- NULL
  f <- check_function(f)
  w <- stats::weights(object)
  if (type == "expectation") {
    values <- td_values(f, states, length(w), object$time)
    out <- drop(crossprod(values, w))
    return(if (is.null(colnames(values))) unname(out) else
      stats::setNames(out, colnames(values)))
  }
  values <- call_user(f, of_argument("f"), object$time, states)
  if (!is.atomic(values) || length(values) != length(w) || anyNA(values)) {
    refuse_value(of_argument("f"), object$time,
      paste("a vector of", length(w), "values without missing ones"),
      describe(values)
    )
  }
  levels <- sort(unique(values))
  at <- match(values, levels)
  data.frame(
    value = levels, probability = as.vector(rowsum(w, at))
  )
}

td_states <- function(fit) {
  particle_bind(lapply(fit_runs(fit), `[[`, "states"))
}

# The value of a user's function of the states, as a matrix of numbers
td_values <- function(f, states, n, t) {
  values <- call_user(f, of_argument("f"), t, states)
  if (is.data.frame(values)) values <- as.matrix(values)
  fine <- (is.numeric(values) || is.logical(values)) && NROW(values) == n &&
    length(dim(values)) <= 2 && !anyNA(values)
  if (!fine) {
    refuse_value(of_argument("f"), t,
      paste(n, "numbers, or a matrix with as many rows, without missing ones"),
      describe(values)
    )
  }
  if (is.matrix(values)) values + 0 else matrix(as.double(values))
}

# The same with names
td_columns <- function(fit, f, weights) {
  out <- td_values(f, td_states(fit), length(weights), fit$time)
  if (is.null(colnames(out))) {
    single <- ncol(out) == 1
    colnames(out) <- if (single) "f" else paste0("f[", seq_len(ncol(out)), "]")
  }
  out
}

#' @rdname tidy.kb_tdsmc
#' @param weighted For `as_draws()`. `FALSE`: draws of equal weight, resampled from the
#'   particles under the fit's seed. `TRUE`: every particle with its weight, see
#'   [posterior::weight_draws()].
#' @export
as_draws.kb_tdsmc <- function(x, f = identity, weighted = FALSE, ...) {
  x <- checked_fit(x, ...)
  f <- check_function(f)
  weighted <- check_flag(weighted)
  w <- stats::weights(x)
  draws <- td_columns(x, f, w)
  if (!weighted) {
    draws <- draws[equal_weight_draws(x, list(weights = w)), , drop = FALSE]
  }
  particle_draws(draws, if (weighted) w)
}

#' @rdname tidy.kb_tdsmc
#' @export
as_draws_df.kb_tdsmc <- as_draws.kb_tdsmc

#' Plots of a trans-dimensional sequential Monte Carlo run
#'
#' `plot(fit)` shows effective sample sizes, other types what they name.
#' @param x A fit of [tdsmc()].
#' @param type What to draw, against steps:
#' * `"ess"`: effective sample size, with the steps before which particles were
#'   resampled;
#' * `"evidence"`: log evidence;
#' * `"moves"`: the share of particles that have chosen each move, dashed, and
#'   their share of the weight, solid. If the two differ much, the move is
#'   proposed too often or too rarely.
#' @inheritParams plot.kb_srvm
#' @return `x`, invisibly.
#' @examples
#' target <- td_target(
#'   log_density = function(states, t, data) {
#'     y <- data[seq_len(t)]
#'     dnorm(states, log = TRUE) +
#'       vapply(states, function(x) sum(dnorm(y, x, log = TRUE)), 0)
#'   },
#'   initial = function(n, data) rnorm(n)
#' )
#' fit <- tdsmc(target, data = c(1.2, 0.7, 0.9), seed = 1)
#' plot(fit)
#' plot(fit, type = "evidence")
#' @export
plot.kb_tdsmc <- function(x, type = c("ess", "evidence", "moves"), ...) {
  draw_picture(tdsmc_picture(x, type), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_tdsmc <- autoplot_of(plot.kb_tdsmc)

tdsmc_picture <- function(x, type) {
  x <- checked_fit(x)
  type <- check_choice(type, c("ess", "evidence", "moves"))
  if (x$time == 0) {
    kb_abort("No step has been done: there is nothing to draw.", "not_defined")
  }
  switch(type,
    ess = ess_picture(x, "step"),
    evidence = evidence_picture(x, "step"),
    moves = moves_picture(x)
  )
}

moves_picture <- function(x) {
  moves <- td_moves(x)
  names <- names(x$moves)
  lines <- function(values, ...) {
    layer("lines", matrix_lines(seq_len(x$time), values, names),
      lwd = 1.5, by = groups(NULL, names, dashes = FALSE), ...
    )
  }
  new_picture(panel(
    "step", "share of particles",
    lines(moves$chosen / rowSums(moves$chosen), lty = 2, label = "chosen by"),
    lines(moves$share, label = "weight of"),
    ylim = 0:1
  ))
}
