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
#' start
#' @param start NULL: 0.
#' @noRd
running_sums <- function(values, start = NULL, last = FALSE) {
  sums <- running_sums_cpp(values, if (is.null(start)) 0 else start)
  if (last) sums[[length(sums)]] else sums
}

# Refuse methods that need dropped rows
refuse_past <- function(fit, what) {
  if (n_past(fit) == 0) {
    return(invisible())
  }
  kb_abort(c(
    paste0(what, " needs all {n_given(fit)} rows."),
    x = "The fit holds the last {nrow(fit$data$x)} of them.",
    i = "{.code srvm_memory(keep_rows = Inf)} keeps all."
  ), "not_defined")
}
