#' @param seed A whole number, or `NULL`. With a number the result is the same
#'   in every session and R's own generator is left untouched; with `NULL` the
#'   random numbers come from R's generator, so that [set.seed()] is honoured.
