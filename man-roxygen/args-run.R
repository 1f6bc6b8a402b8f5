#' @param checkpoint `NULL`, or the name of a file in an existing folder: the
#'   state of the sampler is saved there while it runs, so that a run that was
#'   killed can be resumed. A link is followed. A file that exists is refused
#'   (`kb_error_checkpoint`) unless it is of this run: of a fit that goes on, or
#'   of the same call with the same seed and data, complete.
#' @param checkpoint_every Seconds between two checkpoints, above 0.
#' @param overwrite `TRUE` to replace whatever is in the file of the checkpoint.
#' @param time_limit Seconds after which the run stops and gives back a
#'   partial fit that can be resumed, above 0; `Inf` for no limit. They begin
#'   with the call: what is done before the first iteration counts. Chains
#'   advance together and have the same number of draws.
