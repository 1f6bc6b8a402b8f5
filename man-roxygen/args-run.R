#' @param threads Number of threads inside this process, at least 1. Never
#'   more are used, and the result does not depend on it.
#' @param checkpoint `NULL`, or the name of a file in an existing folder: the
#'   state of the sampler is saved there while it runs, so that a run that was
#'   killed can be resumed.
#' @param checkpoint_every Seconds between two checkpoints, above 0.
#' @param time_limit Seconds after which the run stops and gives back a
#'   partial fit that can be resumed, above 0; `Inf` for no limit.
