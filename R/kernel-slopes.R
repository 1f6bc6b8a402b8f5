# Gradients of kernels in their second point, (K34).

#' The gradient of k(z_p, y_i) in y_i, as a sum of terms
#'
#' Each term has the gradient `weight`\[i, p\] (`from` z_p - `to` y_i), product
#' by coordinate, which every smooth built-in kernel has.
#' @param kernel Resolved.
#' @param y,z Points, n x d and r x d.
#' @return List of terms: `weight` (n x r), `from` and `to` (length d).
#' @noRd
kernel_slopes <- function(kernel, y, z) {
  switch(kernel$type,
    sum = unlist(lapply(kernel$parts, kernel_slopes, y, z), FALSE),
    product = product_slopes(kernel$parts, y, z),
    constant = list(),
    linear = , rotation = , polynomial = inner_slopes(kernel, y, z),
    radial_slopes(kernel, y, z)
  )
}

product_slopes <- function(parts, y, z) {
  terms <- lapply(seq_along(parts), function(i) {
    others <- lapply(parts[-i], kernel_evaluate, y, z)
    lapply(kernel_slopes(parts[[i]], y, z), function(term) {
      term$weight <- Reduce(`*`, others, term$weight)
      term
    })
  })
  unlist(terms, FALSE)
}

inner_slopes <- function(kernel, y, z) {
  weight <- if (kernel$type == "polynomial") {
    m <- kernel$degree
    m * (tcrossprod(y, z) + kernel$offset)^(m - 1)
  } else {
    matrix(1, nrow(y), nrow(z))
  }
  list(list(weight = weight, from = rep(1, ncol(y)), to = rep(0, ncol(y))))
}

# Functions of s^2: the weight is -2 times the derivative
radial_slopes <- function(kernel, y, z) {
  b <- rep_len(kernel$bandwidth, ncol(y))
  s <- sqrt(squared_distances(sweep(y, 2, b, "/"), sweep(z, 2, b, "/")))
  weight <- switch(slope_type(kernel),
    gaussian = exp(-s^2 / 2),
    matern_1.5 = 3 * exp(-sqrt(3) * s),
    matern_2.5 = 5 / 3 * (1 + sqrt(5) * s) * exp(-sqrt(5) * s),
    rational_quadratic = (1 + s^2 / (2 * kernel$alpha))^(-kernel$alpha - 1)
  )
  list(list(weight = weight, from = 1 / b^2, to = 1 / b^2))
}

slope_type <- function(kernel) {
  if (kernel$type == "matern") paste0("matern_", kernel$nu) else kernel$type
}

squared_distances <- function(y, z) {
  pmax(outer(rowSums(y^2), rowSums(z^2), "+") - 2 * tcrossprod(y, z), 0)
}

# Has the kernel a gradient everywhere that kernel_slopes() knows?
check_smooth_kernel <- function(kernel, arg = rlang::caller_arg(kernel)) {
  kernel <- check_kernel(kernel, arg)
  if (!has_slopes(kernel)) {
    bad_argument(kernel, arg, paste(
      "made of smooth kernels: Gaussian, Matern with nu of 3/2 or 5/2,",
      "rational quadratic, polynomial, linear, constant"
    ))
  }
  kernel
}

has_slopes <- function(kernel) {
  if (is_combined(kernel)) {
    return(all(vapply(kernel$parts, has_slopes, NA)))
  }
  slope_type(kernel) %in% c(
    "gaussian", "matern_1.5", "matern_2.5", "rational_quadratic",
    "polynomial", "linear", "rotation", "constant"
  )
}
