# Kernels of the user's own in srvm(). Its core evaluates kernels in C++ while
# rows arrive: it gets coordinates of the rows in which the kernel is an inner
# product, and the linear kernel.
#
# With the kernel c(x, z) = k(x, z) / sqrt(k(x, x) k(z, z)) and its matrix
# C = U diag(l) U' of the distinct rows X, a point has the coordinates
# sqrt(k(x, x)) diag(l)^(-1/2) U' c(X, x): their inner products with those of X are
# k(x, X). One more coordinate, 0 at rows of X, makes up for the rest of k(x, x).

#' @param x Points as the kernel sees them.
#' @return List of `kernel`, distinct `points`, their `size`, square roots of
#'   k(x, x), and `axes`, from normalised kernel values to coordinates.
#' @noRd
custom_map <- function(kernel, x) {
  if (kernel_has(kernel, "ard") || kernel_has(kernel, "learn")) {
    kb_abort(c(
      "Bandwidths beside {.fn kernel_custom} cannot be learned.",
      i = "Give a number, or {.code bandwidth = \"median\"}."
    ), "argument", argument = "kernel")
  }
  kernel <- kernel_resolve(kernel, x)
  points <- x[distinct_rows(x)$first, , drop = FALSE]
  gram <- kernel_evaluate(kernel, points)
  if (any(diag(gram) < 0)) refuse_indefinite(range(diag(gram)))
  size <- unit_size(diag(gram))
  found <- eigen(gram / outer(size, size), symmetric = TRUE)
  values <- found$values
  least <- max(values, 0) * nrow(points) * .Machine$double.eps
  if (max(values) <= 0 || min(values) < -max(1e-8 * max(values), least)) {
    refuse_indefinite(range(values))
  }
  kept <- values > max(1e-12 * max(values), least)
  list(
    kernel = kernel, points = points, size = size,
    axes = sweep(found$vectors[, kept, drop = FALSE], 2,
      sqrt(values[kept]), "/"
    )
  )
}

# Square roots of k(x, x), 1 where they are 0
unit_size <- function(self) ifelse(self > 0, sqrt(pmax(self, 0)), 1)

refuse_indefinite <- function(values) {
  kb_abort(c(
    "{.arg kernel} must be positive definite.",
    x = "Eigenvalues of its matrix at the training rows, or values k(x, x), go
         from {format(values[[1]], digits = 3)} to
         {format(values[[2]], digits = 3)}."
  ), "argument", argument = "kernel")
}

# Equal rows get equal coordinates, to the last bit.
map_points <- function(map, x) {
  if (nrow(x) == 0) {
    return(matrix(0, 0, ncol(map$axes) + 1))
  }
  rows <- distinct_rows(x)
  x <- x[rows$first, , drop = FALSE]
  whole <- kernel_self(map$kernel, x)
  size <- unit_size(whole)
  values <- kernel_evaluate(map$kernel, x, map$points)
  found <- (values / outer(size, map$size)) %*% map$axes
  rest <- (whole > 0) - rowSums(found^2)
  rest[rest < 1e-8] <- 0
  (size * cbind(found, sqrt(rest)))[rows$kind, , drop = FALSE]
}

# Rows that are to be training rows: the map must know the kernel between them
refuse_unmapped <- function(settings, x) {
  if (is.null(settings$scaling$map) || nrow(x) == 0) {
    return(invisible())
  }
  x <- scaling_x(settings$scaling, x)
  if (any(x[, ncol(x)] > 0)) {
    kb_abort(c(
      "New rows cannot be training rows of a fit whose kernel is from
       {.fn kernel_custom}.",
      i = "Fit all rows at once with {.fn srvm}."
    ), "not_defined")
  }
}

# The kernel that the user gave
shown_kernel <- function(settings) {
  map <- settings$scaling$map
  if (is.null(map)) settings$kernel else map$kernel
}

is_custom <- function(kernel) {
  inherits(kernel, "kb_kernel") && !kernel_is_builtin(kernel)
}
