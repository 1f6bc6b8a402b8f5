# Fits on disk: checkpoints of a run in progress.

# Write a file so that it is always either the old one or the complete new one
#
# R does not report a full disk when it closes a file, so the bytes are counted.
# They are not compressed: draws hardly shrink, and the run would wait.
write_checkpoint <- function(fit, file) {
  target <- link_target(file)
  temporary <- file.path(dirname(target), part_name(target))
  on.exit(unlink(temporary))
  bytes <- serialize(fit, NULL)
  problems <- NULL
  note <- function(condition) {
    problems <<- c(problems, conditionMessage(condition))
    # A jump out of `file()` would leave its connection open.
    tryInvokeRestart("muffleWarning")
    FALSE
  }
  written <- tryCatch(
    withCallingHandlers({
      write_bytes(bytes, temporary)
      if (file.size(temporary) != length(bytes)) stop("the disk may be full")
      if (!file.rename(temporary, target)) stop("the file cannot be replaced")
      TRUE
    }, warning = note),
    error = note
  )
  if (!written) {
    kb_abort(c(
      "The checkpoint {.file {file}} cannot be written.",
      x = "{problems[[1]]}."
    ), "checkpoint", call = NULL)
  }
  invisible(file)
}

# A checkpoint that fails during the run must not end it; it says so once a
# minute
save_or_warn <- function(save) {
  told <- -Inf
  function(...) {
    tryCatch(save(...), kb_error_checkpoint = function(error) {
      if (now() - told < 60) {
        return(invisible())
      }
      told <<- now()
      kb_warn(c(
        "The run continues without a new checkpoint.",
        x = "{conditionMessage(error)}"
      ), "checkpoint")
    })
  }
}

# `writeBin()` to a file name leaves the file open if it fails
write_bytes <- function(bytes, file) {
  connection <- file(file, "wb")
  # A full disk may only be noticed when the rest is written.
  on.exit(try(close(connection), silent = TRUE))
  writeBin(bytes, connection)
}

# The file that links point to, whether or not it exists
link_target <- function(file) {
  for (step in 1:40) {
    link <- Sys.readlink(file)
    if (is.na(link) || link == "") break
    file <- absolute_path(link, dirname(file))
  }
  file
}

# Parts -----------------------------------------------------------------------

# The name of a file that is being written, with the id of the process
part_name <- function(file, pid = Sys.getpid()) {
  host <- gsub("[^[:alnum:].]", "", Sys.info()[["nodename"]])
  paste0(basename(file), "-", host, "-", pid, ".part")
}

# Remove files that killed runs on this machine were writing
remove_parts <- function(file) {
  target <- link_target(file)
  start <- sub("[0-9]+[.]part$", "", part_name(target))
  parts <- list.files(dirname(target), all.files = TRUE)
  parts <- parts[startsWith(parts, start)]
  pid <- substring(parts, nchar(start) + 1)
  pid <- suppressWarnings(as.integer(sub("[.]part$", "", pid)))
  dead <- !is.na(pid) & endsWith(parts, ".part") & !is_process(pid)
  unlink(file.path(dirname(target), parts[dead]))
}

is_process <- function(pid) {
  vapply(pid, function(one) {
    if (.Platform$OS.type != "unix" || is.na(one)) {
      return(TRUE)
    }
    # Signal 0 only tests whether the process exists, and not for other users'
    # processes.
    isTRUE(tools::pskill(one, 0L)) || dir.exists(file.path("/proc", one))
  }, NA)
}

# Whose file it is -------------------------------------------------------------

# Refuse to overwrite a file that does not belong to this run
check_checkpoint <- function(fit) {
  file <- fit$control$checkpoint
  remove_parts(file)
  if (!file.exists(file) || isTRUE(fit$control$overwrite)) {
    return(invisible())
  }
  problem <- other_run(file, fit)
  if (is.null(problem)) {
    return(invisible())
  }
  kb_abort(c(
    "The checkpoint {.file {file}} exists and would be lost.",
    x = "It {problem$what}.",
    i = problem$hint,
    i = if (has_begun(fit)) {
      "To replace it set {.code fit$control$overwrite <- TRUE}; to keep both
       give {.code fit$control$checkpoint} another name."
    } else {
      "Set {.code overwrite = TRUE} in the control function to replace it."
    }
  ), c("checkpoint_exists", "checkpoint"), file = file)
}

#' Why a file must not be overwritten by a fit, or NULL
#' @return NULL, or `what` it is and a `hint`.
#' @noRd
other_run <- function(file, fit) {
  old <- tryCatch(read_checkpoint(file), kb_error = function(error) NULL)
  if (is.null(old)) {
    return(list(what = "is not a checkpoint of this package, or damaged"))
  }
  if (!same_model(old, fit)) {
    return(list(what = "is of another run"))
  }
  if (!begins_with(fit, old)) {
    return(list(what = "is of the same call with other data"))
  }
  extent <- run_extent(old)
  more <- extent > run_extent(fit, goal = TRUE)[names(extent)]
  if (identical(old$seed, fit$seed) && any(more)) {
    return(list(
      what = paste0(
        "holds a longer run: ",
        paste(names(extent)[more], extent[more], collapse = ", ")
      ),
      hint = "{.code read_checkpoint(file)} has it."
    ))
  }
  if (!has_begun(fit) && old$status != "complete" && has_begun(old)) {
    list(
      what = "holds this run, unfinished",
      hint = "{.code update(read_checkpoint(file))} goes on from there."
    )
  }
}

has_begun <- function(fit) any(run_times(fit) > 0)

# New rows of kgs() have the seed after the old.
same_model <- function(old, fit) {
  model <- function(fit) plain_functions(fit[c("request", "target", "moves")])
  identical(class(old), class(fit)) &&
    fit$seed %in% c(old$seed, next_seed(old$seed)) &&
    identical(model(old), model(fit))
}

#' The length of a run, of which a run that replaces it has at least as much
#' @param goal Where the run will end, not where it is.
#' @noRd
run_extent <- function(fit, goal = FALSE) {
  control <- fit$control
  iter <- c(control$iter, if (goal) control$until$max_iter)
  c(
    chains = control$chains, warmup = control$warmup,
    iter = if (length(iter) > 0) max(iter),
    draws = if (length(iter) > 0) max(iter) %/% control$thin,
    particles = if (!is.null(control$particles)) sum(run_sizes(fit)),
    replicates = control$replicates, steps = fit$steps
  )
}

# Do the data of a fit begin with those of another? Rows that a fit has
# forgotten cannot be compared.
begins_with <- function(fit, old) {
  data <- fit$data
  if (inherits(fit, "kb_tdsmc")) {
    n <- NROW(old$data)
    if (NROW(data) > n) data <- utils::head(data, n)
    return(identical(plain_functions(data), plain_functions(old$data)))
  }
  numbers <- row_numbers(old)
  at <- match(numbers, row_numbers(fit))
  known <- which(!is.na(at))
  rows <- function(data, i) {
    unname(lapply(data[c("x", "y", "weights", "mixed")], function(part) {
      part <- pick_rows(part, i)
      if (is.factor(part)) as.character(part) else unname(part)
    }))
  }
  max(0, numbers) <= max(0, row_numbers(fit)) &&
    (length(known) > 0 || length(numbers) == 0) &&
    identical(rows(old$data, known), rows(data, at[known]))
}

# Functions by their text: their environments are other ones when they are read
plain_functions <- function(x) {
  if (is.function(x) || inherits(x, "formula")) {
    return(deparse(x))
  }
  if (is.list(x)) x[] <- lapply(x, plain_functions)
  x
}

#' Read a checkpoint
#'
#' With `checkpoint = file` in the control, a fit function saves its state there
#' at intervals and at its end. `read_checkpoint()` returns that state as a fit,
#' which can be used directly; `update()` without new data runs it to the end.
#' @param file The file's name.
#' @return A fit, as returned by the function that wrote it. The result of
#'   `update(read_checkpoint(file))` equals an uninterrupted run.
#' @section Errors:
#' `kb_error_checkpoint` if the file does not exist, is damaged or holds something else;
#' `kb_error_version` if another version of the package wrote it; `kb_error_fit`, which
#' names the field, if the fit in it is incomplete.
#' @examples
#' file <- tempfile(fileext = ".rds")
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   control = smc_control(particles = 50, checkpoint = file), seed = 1
#' )
#' read_checkpoint(file)
#' @export
read_checkpoint <- function(file) {
  if (missing(file) || !(rlang::is_string(file) && file.exists(file))) {
    kb_abort(c(
      "{.arg file} must be the name of an existing file.",
      x = "It is {describe(file)}."
    ), "checkpoint")
  }
  # R would wait for ever for the first byte of a pipe, which has no size.
  if (dir.exists(file) || !isTRUE(file.size(file) > 0)) {
    kb_abort(c(
      "The checkpoint {.file {file}} cannot be read.",
      x = "It is empty, or not a regular file."
    ), "checkpoint")
  }
  fit <- tryCatch(suppressWarnings(readRDS(file)), error = function(error) {
    kb_abort(c(
      "The checkpoint {.file {file}} cannot be read.",
      x = "It is damaged: {conditionMessage(error)}."
    ), "checkpoint")
  })
  if (!inherits(fit, "kb_fit")) {
    kb_abort(c(
      "{.file {file}} is not a checkpoint of this package.",
      x = "It holds {describe(fit)}."
    ), "checkpoint")
  }
  checked_fit(fit, .file = file)
}
