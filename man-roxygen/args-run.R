#' @param checkpoint `NULL`, or the name of a file in an existing folder: the
#'   state of the sampler is saved there while it runs, so that a run that was
#'   killed can be resumed. A link is followed. A file that exists is refused
#'   (`kb_error_checkpoint`) unless this run continues it: the same model, seed
#'   and data, perhaps with more rows, and at least as long. A new call does not
#'   replace an unfinished run. If the file cannot be written during the run,
#'   the run goes on and says so once a minute (`kb_warning_checkpoint`).
#' @param checkpoint_every Seconds between two checkpoints, above 0.
#' @param overwrite `TRUE` to replace whatever is in the file of the checkpoint.
#' @param time_limit Seconds after which the run stops and gives back a
#'   partial fit that can be resumed, above 0; `Inf` for no limit. They begin
#'   with the call: what is done before the first iteration counts. Chains
#'   advance together and have the same number of draws.
