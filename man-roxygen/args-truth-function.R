#' @param truth Add a column `f`, the noiseless function? It is a column like
#'   any other, in a formula `y ~ .` too, of this package and others: write
#'   `y ~ . - f`.
