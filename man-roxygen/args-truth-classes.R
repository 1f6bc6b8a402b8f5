#' @param truth Add a column `clean`, the labels before flips? It is a column
#'   like any other, in a formula `y ~ .` too, of this package and others: write
#'   `y ~ . - clean`.
