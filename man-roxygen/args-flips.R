#' @param flips Probability that a label is flipped, between 0 and 1,
#'   independently for each row. One `seed` gives the same points for every
#'   `flips`, and more flips include fewer.
