# Fits on disk: checkpoints of a run in progress, and the version of fits.

#' The version of the layout of a fit; raised when a field changes meaning
#' @noRd
fit_version <- 1L

#' Write a file so that it is either the old one or the new one, never a part
#'
#' R does not report a full disk when it closes a file, so the bytes are
#' counted. They are not compressed: draws hardly shrink, and the run waits.
#' @noRd
write_checkpoint <- function(fit, file) {
  temporary <- tempfile(paste0(basename(file), "-"), tmpdir = dirname(file))
  on.exit(unlink(temporary))
  bytes <- serialize(fit, NULL)
  problem <- tryCatch(
    {
      writeBin(bytes, temporary)
      if (file.size(temporary) != length(bytes)) stop("the disk may be full")
      if (!file.rename(temporary, file)) stop("the file cannot be replaced")
      NULL
    },
    warning = conditionMessage,
    error = conditionMessage
  )
  if (!is.null(problem)) {
    kb_abort(c(
      "The checkpoint {.file {file}} cannot be written.",
      x = "{problem}."
    ), "checkpoint", call = NULL)
  }
  invisible(file)
}

#' Read a checkpoint
#'
#' A fit function that was given `checkpoint = file` in its control saves its
#' state there at intervals and at its end. `read_checkpoint()` returns that
#' state as a fit that can be used as it is; `update()` without new data runs
#' it to the end.
#'
#' @param file The file's name.
#'
#' @return A fit, as returned by the function that wrote it. The result of
#'   `update(read_checkpoint(file))` equals an uninterrupted run.
#'
#' @section Errors:
#' `kb_error_checkpoint` if the file does not exist, is damaged (for example
#' truncated) or holds something else; `kb_error_version` if another version
#' of the package wrote it; `kb_error_fit`, which names the field, if the fit in
#' it is not whole.
#'
#' @examples
#' file <- tempfile(fileext = ".rds")
#' data <- sim_sinc(30, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   control = smc_control(particles = 50, checkpoint = file), seed = 1
#' )
#' read_checkpoint(file)
#' @export
read_checkpoint <- function(file) {
  call <- rlang::current_env()
  if (!(rlang::is_string(file) && file.exists(file))) {
    kb_abort(c(
      "{.arg file} must be the name of an existing file.",
      x = "It is {describe(file)}."
    ), "checkpoint", call = call)
  }
  fit <- tryCatch(suppressWarnings(readRDS(file)), error = function(error) {
    kb_abort(c(
      "The checkpoint {.file {file}} cannot be read.",
      x = "It is damaged: {conditionMessage(error)}."
    ), "checkpoint", call = call)
  })
  if (!inherits(fit, "kb_fit")) {
    kb_abort(c(
      "{.file {file}} is not a checkpoint of this package.",
      x = "It holds {describe(fit)}."
    ), "checkpoint", call = call)
  }
  migrate_fit(fit, file, resume = TRUE, call = call)
}
