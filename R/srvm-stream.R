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
