# Rows dropped from a stream. With bounded memory a fit keeps the last rows and
# their records; for earlier rows `past` has the sums and extremes that results
# about the whole run need.
#
# `fit$past` is NULL, or a list: `rows`, the number of rows processed and
# dropped; `numbers`, of the rows of `fit$data` in the order given;
# `cumulative`, the sum of their log predictive densities; `lowest`, see
# lowest_ess(). A run's own `past` has sums over the same rows.

# Number of rows processed and dropped
n_past <- function(fit) {
  past <- fit[["past"]]
  if (is.null(past)) 0L else past$rows
}

# Number of all rows given to a fit
n_given <- function(fit) nrow(fit$data$x) + n_past(fit)

# The numbers, in the order given, of the rows that a fit holds
row_numbers <- function(fit) {
  past <- fit[["past"]]
  if (is.null(past)) seq_len(nrow(fit$data$x)) else past$numbers
}

# Processed rows that the fit still holds, in the order of processing
rows_taken_in <- function(fit) {
  utils::head(fit$sequence, fit$time - n_past(fit))
}

# The steps that a fit has records of
recorded_steps <- function(fit) {
  n_past(fit) + seq_len(fit$time - n_past(fit))
}

# Number of last rows that a fit holds: all that count, or more
rows_to_hold <- function(fit) {
  memory <- fit$settings$memory
  asked <- if (is.null(memory$keep_rows)) Inf else memory$keep_rows
  if (fit$control$ancestry != "summary") asked <- Inf
  max(asked, n_remembered(memory))
}

# Number of rows that count; one more than in the core where rounding matters
n_remembered <- function(memory) {
  if (memory$forgetting == 1) {
    return(memory$window)
  }
  min(memory$window, ceiling(log(1e-16) / log(memory$forgetting)) + 1)
}

# Drop the rows that no run needs
#
# Several at a time, because dropping takes longer than processing a row. The
# number dropped depends only on the time, not on how rows were split over
# calls.
let_rows_go <- function(fit) {
  hold <- rows_to_hold(fit)
  together <- ceiling(hold / 10)
  spare <- min(run_times(fit)) - hold
  n <- together * floor(spare / together) - n_past(fit)
  if (!isTRUE(n > 0)) {
    return(fit)
  }
  gone <- seq_len(n)
  past <- past_of_rows(fit, gone)
  fit$runs <- lapply(fit$runs, let_steps_go, gone)
  left <- sort(fit$sequence[-gone])
  past$numbers <- row_numbers(fit)[left]
  fit$data <- pick_data(fit$data, left)
  fit$mould["row_names"] <- list(fit$mould$row_names[left])
  fit$mould["variables"] <- list(pick_rows(fit$mould$variables, left))
  fit$sequence <- match(fit$sequence[-gone], left)
  fit$past <- past
  fit
}

# Summaries of the first steps that a fit has records of
past_of_rows <- function(fit, gone) {
  fit$time <- n_past(fit) + length(gone)
  fit$runs <- lapply(fit$runs, function(run) {
    run$path <- pick_steps(run$path, gone)
    run
  })
  path <- predictive_path(fit, fit$runs)
  list(
    rows = fit$time, numbers = NULL,
    cumulative = running_sums(path$log_predictive, fit$past$cumulative,
      last = TRUE
    ),
    lowest = lowest_ess(fit, path = ess_path(fit, fit$runs))
  )
}

# A run without its first steps
let_steps_go <- function(run, gone) {
  old <- pick_steps(run$path, gone)
  before <- run$past
  total <- function(name) {
    counts <- rowSums(matrix(old[[name]], 3))
    if (is.null(before)) counts else before[[name]] + counts
  }
  run$past <- list(
    log_evidence = running_sums(old$log_increment, before$log_evidence,
      last = TRUE
    ),
    tried = total("tried"), accepted = total("accepted")
  )
  run$path <- pick_steps(run$path, -gone)
  run
}

# States with the past of the runs that they continue: the core does not need it
keep_past <- function(states, runs) {
  for (i in seq_along(states)) {
    past <- runs[[i]][["past"]]
    if (!is.null(past)) states[[i]]$past <- past
  }
  states
}

# Steps of a run's records: tried and accepted moves have three numbers each
pick_steps <- function(path, steps) {
  lapply(path, function(values) {
    if (length(values) == length(path$log_increment)) {
      values[steps]
    } else {
      as.vector(matrix(values, 3)[, steps])
    }
  })
}

#' Cumulative sums in double precision, bitwise identical when continued from a
#' start: those of cumsum() are not
#' @param start NULL: 0.
#' @noRd
running_sums <- function(values, start = NULL, last = FALSE) {
  sums <- Reduce(`+`, values, c(start, 0)[[1]], accumulate = TRUE)[-1]
  if (last) sums[[length(sums)]] else sums
}

# Memory of srvm fits: windows, forgetting and bounded candidates.

#' Memory of a sequential relevance vector machine
#'
#' By default all rows count equally and each can be a centre. For long streams,
#' or streams whose distribution drifts, restrict the memory:
#' `srvm(y ~ x, data, memory = srvm_memory(window = 500))`. The article `streams` shows
#' which memory suits which stream.
#'
#' With a `window` of W rows the fit is always the posterior given the last W
#' rows, with centres among these; the prior, including its scaling, does not
#' change. With `forgetting` \eqn{\phi}, a row of age a (0 for the latest)
#' counts with its likelihood to the power \eqn{\phi^a}, about
#' \eqn{1 / (1 - \phi)} rows in total; rows whose weight is below \eqn{10^{-16}}
#' are dropped. Both can be combined. `candidates` bounds the number of rows
#' that may be centres: with a window or forgetting, one row is drawn from each
#' block of rows; otherwise they are a uniform sample of all rows so far
#' (Vitter, 1985, algorithm R). The choice depends only on the seed, so weights
#' stay exact: the posterior is that of a prior on subsets of the candidates.
#'
#' A step costs O(N k^2) for N particles of k centres, plus O(W U) for the U
#' centres in use, whatever the length of the stream; with reversible-jump moves
#' (`n_moves` in [smc_control()]) also O(C^2) for C candidates. [evidence()] then refers
#' to the rows in the window; under forgetting it is not defined. [prequential()] scores
#' each row given those before it in all cases.
#' @param window Number of rows W that count, `Inf` for all.
#' @param forgetting The factor \eqn{\phi}, above 0 and at most 1.
#' @param candidates Largest number of candidate centres (with a window or
#'   forgetting there may be one more), `Inf` for all rows that count. With a
#'   [kernel_dictionary()], the number of candidate rows, each with all kernels.
#' @param keep_rows Number of last rows that a fit with a window or forgetting
#'   keeps, with their records; rows that count are always kept, `Inf` keeps all.
#' @param bandwidth_rows Number of first rows from which the bandwidths of a kernel
#'   such as `kernel_matern("ard")` are learned, `Inf` for all of the first call.
#' @section Bandwidths that are learned:
#' Bandwidths `"ard"` (the default of [srvm()]) can only move while all rows are at
#' hand. With a bounded memory they are therefore learned by a fit of the first
#' `bandwidth_rows` rows of the first call, without a bound and without the linear
#' part, and fixed at its posterior medians for the fit itself, which begins at the
#' first row again; `print()` shows them. The evidence and the scores of
#' [prequential()] are then those of known bandwidths: leave these rows out when you
#' compare.
#' @section What a fit keeps:
#' With a window or forgetting the size of a fit does not grow with the number
#' of rows: it holds the last `keep_rows` of them, or the rows that count if
#' these are more, and up to a tenth more. [predict()][predict.kb_srvm] without
#' new data, `fitted()`, `residuals()`, [inclusion()], `augment()` and all
#' results by row (the paths of [evidence()], [prequential()], [ess()],
#' [kernel_posterior()] and plots) cover these rows, numbered as in the whole
#' stream. `nobs()`, the evidence, the cumulative score of [prequential()],
#' [diagnostics()] and the lowest effective size cover all rows.
#' [order_spread()] and [cross_validate()], which process the rows again, are
#' refused (`kb_error_not_defined`) once some have been dropped. All rows are
#' kept with `smc_control(ancestry = )` other than `"summary"`, and with
#' `candidates` alone, since then all rows count.
#' @return An object of class `kb_srvm_memory`.
#' @references
#' Vitter, J. S. (1985). Random sampling with a reservoir. ACM Transactions on
#' Mathematical Software 11, 37-57.
#' @seealso [srvm()]
#' @examples
#' srvm_memory(window = 500)
#' srvm_memory(window = 1000, candidates = 100)
#' srvm_memory(forgetting = 0.99)
#' @export
srvm_memory <- function(window = Inf, forgetting = 1, candidates = Inf,
                        keep_rows = 1000, bandwidth_rows = 500) {
  structure(given_options(memory_options), class = "kb_srvm_memory")
}

count_or_inf <- function(x, arg) {
  if (identical(x, Inf)) Inf else check_count(x, 1, arg = arg)
}

memory_options <- list(
  window = option(check_by(count_or_inf)),
  forgetting = option(check_by(check_share, 1)),
  candidates = option(check_by(count_or_inf)),
  keep_rows = option(check_by(count_or_inf)),
  bandwidth_rows = option(check_by(count_or_inf))
)

is_bounded <- function(memory) {
  is.finite(memory$window) || is.finite(memory$candidates) ||
    memory$forgetting < 1
}

#' @export
format.kb_srvm_memory <- function(x, ...) {
  parts <- c(
    if (is.finite(x$window)) paste("the last", x$window, "rows"),
    if (x$forgetting < 1) paste("forgetting", format(x$forgetting)),
    if (is.finite(x$candidates)) paste("up to", x$candidates, "candidates")
  )
  if (length(parts) == 0) "all rows" else paste(parts, collapse = ", ")
}

#' @export
print.kb_srvm_memory <- function(x, ...) {
  cat("<srvm_memory>\n  ", format(x), "\n", sep = "")
  invisible(x)
}

#' Prequential scores
#'
#' `prequential(fit)` has the log predictive density (for two classes: probability)
#' of each response given those before it, which scores sequential forecasts (Dawid,
#' 1984). It compares any models on the same stream, even if there is no evidence.
#'
#' The sum is not the log evidence, because the prior of [srvm()] is on subsets of
#' the rows so far and changes when a row becomes a candidate.
#' @param object A fit of [srvm()] by the sequential sampler.
#' @return Data frame with one line per row of data in the order of processing:
#'   `row`, `log_predictive` (in the response's own units; with several kernels
#'   for their average) and `cumulative`, its sum.
#' @references
#' Dawid, A. P. (1984). Statistical theory: the prequential approach. Journal of
#' the Royal Statistical Society A 147, 278-292.
#' @seealso [evidence()]
#' @examples
#' data <- sim_sinc(60, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = kernel_gaussian(0.2), memory = srvm_memory(window = 30),
#'   control = smc_control(particles = 100), seed = 1
#' )
#' tail(prequential(fit))
#' @export
prequential <- function(object) {
  if (missing(object) || !inherits(object, "kb_srvm")) {
    not_defined("prequential", object)
  }
  object <- checked_fit(object)
  path <- evidence(object)$path
  data.frame(
    path[setdiff(names(path), "log_evidence")],
    cumulative = running_sums(path$log_predictive, object$past$cumulative)
  )
}

# Rows that arrive over a connection.

#' Process the rows from a connection in batches
#'
#' All rows read are in the fit, even when it stops early: an open connection is
#' then at the next row.
#' @param rows Rows in a batch.
#' @param header TRUE where the first line has the names, or these names.
#' @param weights A quosure, for each batch.
#' @noRd
update_from_connection <- function(object, connection, rows, header, na.action,
                                   time_limit, progress, weights) {
  if (object$mould$interface == "xy") {
    kb_abort(c(
      "{.arg newdata} can be a connection for formula fits only.",
      x = "The model was fitted to x and y.",
      i = "Read the rows and give them as {.arg newx} and {.arg newy}."
    ), "argument", argument = "newdata")
  }
  rows <- check_count(rows, 1)
  if (!isOpen(connection)) {
    open(connection, "r")
    on.exit(close(connection))
  }
  if (!is.character(header)) {
    header <- if (check_flag(header)) {
      connection_names(readLines(connection, 1))
    } else {
      all.vars(object$mould$formula)
    }
  }
  since <- object$time
  given <- object$mould$n_rows
  # Once for all batches
  on.exit(inform_omitted(
    object$mould$omitted[object$mould$omitted > given] - given,
    object$mould$n_rows - given
  ), add = TRUE)
  deadline <- now() + if (is.null(time_limit)) Inf else time_limit
  halted <- FALSE
  unsaved <- -Inf
  # Rows that were read are not lost: interrupts are taken before and after.
  keep_run(repeat {
    stage <- run_stage(read_batch(connection, rows, header))
    if (stage$halted) {
      warn_stream(object, "interrupted")
      break
    }
    if (is.null(stage$value)) {
      tell_of_quality(object, since)
      break
    }
    left <- if (!is.null(time_limit)) max(deadline - now(), 1e-3)
    # The quality is checked only once, at the end.
    object <- withCallingHandlers(
      rlang::inject(stats::update(object,
        newdata = stage$value, na.action = na.action, time_limit = left,
        progress = progress, weights = !!weights
      )),
      kb_message_omitted = function(m) invokeRestart("muffleMessage"),
      kb_warning_low_ess = function(w) invokeRestart("muffleWarning"),
      kb_warning_no_moves = function(w) invokeRestart("muffleWarning"),
      kb_warning_interrupted = function(w) halted <<- TRUE,
      kb_warning_checkpoint = function(w) {
        if (now() - unsaved < 60) invokeRestart("muffleWarning")
        unsaved <<- now()
      }
    )
    if (object$status != "complete" || halted) break
    if (now() > deadline) {
      warn_stream(object, "time_limit")
      break
    }
  })
  object
}

warn_stream <- function(object, status) {
  kb_warn(c(
    "Stopped before the end of the connection: {stop_words[[status]]}.",
    i = "All {object$time} rows read so far are in the fit; {.code update(fit, connection)}
         continues if the connection was opened before the first call."
  ), status)
}

connection_names <- function(line) {
  if (length(line) == 0) {
    return(character())
  }
  scan(text = line, what = "", sep = ",", quiet = TRUE)
}

# The next rows as a data frame; NULL at the end
read_batch <- function(connection, rows, header) {
  lines <- readLines(connection, rows)
  lines <- lines[nzchar(trimws(lines))]
  if (length(lines) == 0) {
    return(NULL)
  }
  tryCatch(
    utils::read.table(
      text = lines, sep = ",", quote = "\"", comment.char = "",
      col.names = header, check.names = FALSE, stringsAsFactors = FALSE
    ),
    error = function(error) {
      kb_abort(c(
        "{.arg newdata} must give lines of comma-separated values, one for each
         of {length(header)} name{?s}.",
        x = conditionMessage(error)
      ), "columns")
    }
  )
}

refuse_without_connection <- function(given) {
  given <- names(which(given))
  if (length(given) > 0) {
    kb_abort(c(
      "{.arg {given}} must not be given here.",
      i = "They say how a connection is read."
    ), "argument", argument = given[[1]])
  }
}
