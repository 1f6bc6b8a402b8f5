# Kernels of the user's own in srvm(). Its core evaluates kernels in C++ while
# rows arrive: it gets coordinates of the rows in which the kernel is an inner
# product, and the linear kernel.
#
# With K = U diag(l) U' of the distinct rows X, a point has the coordinates
# diag(l)^(-1/2) U' k(X, x): their inner products with those of X are k(x, X). One
# more coordinate, 0 at rows of X, makes up for the rest of k(x, x).

#' @param x Points as the kernel sees them.
#' @return List of `kernel`, `points` and `axes`.
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
  found <- eigen(gram, symmetric = TRUE)
  values <- found$values
  least <- max(values, 0) * nrow(points) * .Machine$double.eps
  if (max(values) <= 0 || min(values) < -max(1e-8 * max(values), least)) {
    kb_abort(c(
      "{.arg kernel} must be positive definite.",
      x = "Eigenvalues of its matrix at the training rows go from
           {format(min(values), digits = 3)} to
           {format(max(values), digits = 3)}."
    ), "argument", argument = "kernel")
  }
  kept <- values > max(1e-12 * max(values), least)
  list(
    kernel = kernel, points = points,
    axes = sweep(found$vectors[, kept, drop = FALSE], 2,
      sqrt(values[kept]), "/"
    )
  )
}

# Equal rows get equal coordinates, to the last bit.
map_points <- function(map, x) {
  rows <- distinct_rows(x)
  x <- x[rows$first, , drop = FALSE]
  found <- kernel_evaluate(map$kernel, x, map$points) %*% map$axes
  whole <- kernel_self(map$kernel, x)
  rest <- whole - rowSums(found^2)
  rest[rest < 1e-8 * abs(whole)] <- 0
  cbind(found, sqrt(rest))[rows$kind, , drop = FALSE]
}

# Rows that are to be training rows: the map must know the kernel between them
refuse_unmapped <- function(settings, x) {
  if (is.null(settings$scaling$map) || nrow(x) == 0) {
    return(invisible())
  }
  x <- scaling_x(settings$scaling, x)
  if (any(x[, ncol(x)] > 0)) {
    kb_abort(c(
      "Rows cannot be added to a fit whose kernel is from
       {.fn kernel_custom}.",
      i = "Fit all rows again with {.fn srvm}."
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
