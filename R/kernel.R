# Kernels are plain lists of class `kb_kernel`, evaluated by kernel_matrix()
# (R/kernel-matrix.R) and, the built-in ones, in C++.

#' Kernels
#'
#' Positive semidefinite functions of two points, as values that print, save and
#' combine. `k1 + k2` and `k1 * k2` are the sum and the product of two kernels;
#' a number means the constant kernel, as in `2 * k + 1`.
#'
#' With \eqn{r_c = x_c - y_c} and \eqn{s^2 = \sum_c r_c^2 / b_c^2}, \eqn{b} the
#' bandwidth,
#' \tabular{ll}{
#'   `kernel_gaussian()` \tab \eqn{\exp(-s^2 / 2)}\cr
#'   `kernel_laplace()` \tab \eqn{\exp(-s)}, the Euclidean norm\cr
#'   `kernel_matern()` \tab \eqn{\exp(-s)} for \eqn{\nu = 1/2},
#'     \eqn{(1 + \sqrt{3} s) \exp(-\sqrt{3} s)} for \eqn{3/2},
#'     \eqn{(1 + \sqrt{5} s + 5 s^2 / 3) \exp(-\sqrt{5} s)} for \eqn{5/2}\cr
#'   `kernel_rational_quadratic()` \tab
#'     \eqn{(1 + s^2 / (2 \alpha))^{-\alpha}}\cr
#'   `kernel_periodic()` \tab
#'     \eqn{\exp(-2 \sum_c \sin^2(\pi r_c / p) / b_c^2)}, \eqn{p} the period\cr
#'   `kernel_polynomial()` \tab \eqn{(x'y + c)^m}, \eqn{c} the offset, \eqn{m}
#'     the degree\cr
#'   `kernel_linear()` \tab \eqn{x'y}\cr
#'   `kernel_rotation()` \tab \eqn{\mathrm{Tr}(A B')}{Tr(A B')}\cr
#'   `kernel_constant()` \tab the value
#' }
#' The Gaussian kernel of width \eqn{w}, \eqn{\exp(-r^2 / w^2)}, has bandwidth
#' \eqn{w / \sqrt{2}}.
#'
#' `kernel_rotation()` is for rotations: each point is a 3 x 3 rotation matrix,
#' flattened by columns to 9 columns. An embedding with it keeps only the mean of the
#' matrices. `kernel_custom()` evaluates an R function by block. The function must be
#' positive semidefinite; [srvm()] checks that at the training rows. [bark()] has no
#' argument `kernel`: it needs scales and their derivatives.
#' @param bandwidth The bandwidth \eqn{b}, in the units of the points: a positive
#'   number, one for each column, or `"median"`: [bandwidth_median()] of the points
#'   (not in `kernel_periodic()`, where it has no unit). For [srvm()] and [kgs()]
#'   also `"learn"`: an average over bandwidths around that median; and `"ard"`: a
#'   bandwidth for each column, all learned. For [kgs()] also `"evidence"`: the most
#'   probable one.
#' @param nu The smoothness, 1/2, 3/2 or 5/2.
#' @param alpha The shape \eqn{\alpha}, a positive number; the Gaussian kernel
#'   is its limit at infinity.
#' @param period The period \eqn{p} of every column, in the units of the
#'   points: a positive number.
#' @param degree The degree, a whole number of at least 1.
#' @param offset The offset, a number of at least 0.
#' @param value The value of the constant kernel, a number of at least 0.
#' @param f A function of two numeric matrices `x` (n x d) and `y` (m x d),
#'   points in rows, that returns the n x m matrix of the kernel's values.
#' @return An object of classes `kb_kernel_<type>` and `kb_kernel`: a list of
#'   plain R data.
#' @section Errors: `kb_error_operator` for operators other than `+` and `*`;
#'   `kb_error_learn` for `bandwidth = "learn"` or `"ard"` anywhere but in [srvm()] and
#'   [kgs()].
#' @references
#' Rasmussen, C. E. and Williams, C. K. I. (2006). *Gaussian Processes for
#' Machine Learning*, chapter 4. MIT Press.
#' @seealso [kernel_matrix()] to evaluate a kernel, [bandwidth_median()].
#' @examples
#' kernel_gaussian(2)
#' k <- kernel_gaussian(c(1, 3)) + 0.5 * kernel_linear()
#' k
#' x <- cbind(a = c(0, 1, 2), b = c(1, 0, 1))
#' kernel_matrix(k, x)
#'
#' # a custom kernel, here for sets coded as indicators
#' overlap <- kernel_custom(function(x, y) x %*% t(y))
#' kernel_matrix(1 + overlap, x)
#' @name kb_kernels
NULL

new_kernel <- function(type, ...) {
  structure(
    list(type = type, ...),
    class = c(paste0("kb_kernel_", type), "kb_kernel")
  )
}

#' @rdname kb_kernels
#' @export
kernel_gaussian <- function(bandwidth = "median") {
  new_kernel("gaussian", bandwidth = check_bandwidth(bandwidth))
}

#' @rdname kb_kernels
#' @export
kernel_laplace <- function(bandwidth = "median") {
  new_kernel("laplace", bandwidth = check_bandwidth(bandwidth))
}

#' @rdname kb_kernels
#' @export
kernel_matern <- function(bandwidth = "median", nu = 5 / 2) {
  nu <- check_number(nu)
  if (!nu %in% c(0.5, 1.5, 2.5)) {
    bad_argument(nu, "nu", "one of 0.5, 1.5 and 2.5")
  }
  new_kernel("matern", bandwidth = check_bandwidth(bandwidth), nu = nu)
}

#' @rdname kb_kernels
#' @export
kernel_rational_quadratic <- function(bandwidth = "median", alpha = 1) {
  new_kernel("rational_quadratic",
    bandwidth = check_bandwidth(bandwidth),
    alpha = check_number(alpha, lower = 0, open = TRUE)
  )
}

#' @rdname kb_kernels
#' @export
kernel_periodic <- function(bandwidth = 1, period = 1) {
  new_kernel("periodic",
    bandwidth = check_bandwidth(bandwidth, median = FALSE),
    period = check_number(period, lower = 0, open = TRUE)
  )
}

#' @rdname kb_kernels
#' @export
kernel_polynomial <- function(degree = 2, offset = 1) {
  new_kernel("polynomial",
    degree = check_count(degree, lower = 1),
    offset = check_number(offset, lower = 0)
  )
}

#' @rdname kb_kernels
#' @export
kernel_linear <- function() {
  new_kernel("linear")
}

#' @rdname kb_kernels
#' @export
kernel_rotation <- function() {
  new_kernel("rotation")
}

#' @rdname kb_kernels
#' @export
kernel_constant <- function(value = 1) {
  new_kernel("constant", value = check_number(value, lower = 0))
}

#' @rdname kb_kernels
#' @export
kernel_custom <- function(f) {
  if (missing(f) || !is.function(f)) {
    bad_argument(f, "f", "a function of two matrices")
  }
  new_kernel("custom", f = f)
}

learned_words <- c("learn", "ard", "evidence")
bandwidth_words <- c("median", learned_words)

check_bandwidth <- function(bandwidth, median = TRUE) {
  if (median && rlang::is_string(bandwidth, bandwidth_words)) {
    return(bandwidth)
  }
  good <- is.numeric(bandwidth) && is.null(dim(bandwidth)) &&
    length(bandwidth) > 0 && all(is.finite(bandwidth) & bandwidth > 0)
  if (!isTRUE(good)) {
    wanted <- "a positive finite number, or one for each column"
    if (median) {
      words <- dQuote(bandwidth_words, FALSE)
      wanted <- paste0(wanted, ", or one of ", paste(words, collapse = ", "))
    }
    bad_argument(bandwidth, "bandwidth", wanted)
  }
  as.double(bandwidth)
}

# Is it a kernel?
check_kernel <- function(x, arg = rlang::caller_arg(x)) {
  wanted <- "a kernel, such as `kernel_gaussian()` (see `?kb_kernels`)"
  x <- check_class(x, "kb_kernel", wanted, arg)
  class <- paste0("kb_kernel_", x$type)
  known <- length(class) == 1 && inherits(x, class) &&
    !is.null(settings_maker(class))
  if (!known) bad_argument(x, arg, wanted)
  x
}

# A list of kernels, or one as a list
check_kernels <- function(x, arg = rlang::caller_arg(x)) {
  if (inherits(x, "kb_kernel")) {
    return(list(check_kernel(x, arg)))
  }
  good <- is.list(x) && length(x) > 0 &&
    all(vapply(x, inherits, NA, "kb_kernel"))
  if (!good) {
    bad_argument(
      x, arg, paste(
        "a kernel, such as `kernel_gaussian()` (see `?kb_kernels`), or a list",
        "of kernels"
      )
    )
  }
  unname(lapply(x, check_kernel, arg))
}

# Sums and products ----------------------------------------------------------

#' @export
Ops.kb_kernel <- function(e1, e2) {
  type <- switch(.Generic, "+" = "sum", "*" = "product")
  # The frame of an operator does not know its call.
  tryCatch(
    {
      if (is.null(type) || missing(e2)) {
        kb_abort("Combine kernels with {.code k1 + k2} or {.code k1 * k2}.",
          "operator"
        )
      }
      new_kernel(type, parts = list(as_kernel(e1), as_kernel(e2)))
    },
    kb_error = function(error) {
      error$call <- rlang::call2(.Generic, quote(kernel), quote(kernel))
      stop(error)
    }
  )
}

# The same function for both, so that dispatch works where both operands are
# kernels.
#' @export
Ops.kb_kernel_dictionary <- Ops.kb_kernel

as_kernel <- function(x) {
  if (is_dictionary(x)) refuse_operator()
  if (inherits(x, "kb_kernel")) {
    return(check_kernel(x, "kernel"))
  }
  new_kernel("constant", value = check_number(x, lower = 0, arg = "number"))
}

kernel_of_parts <- function(type) {
  function(parts) {
    parts <- check_parts(parts)
    if (length(parts) != 2) bad_argument(parts, "parts", "two kernels")
    new_kernel(type, parts = parts)
  }
}

check_parts <- function(parts) lapply(parts, check_kernel, "parts")

# Printing -------------------------------------------------------------------

#' @export
format.kb_kernel <- function(x, ...) {
  if (is_combined(x)) {
    parts <- vapply(x$parts, format, "")
    if (x$type == "product") {
      inner <- vapply(x$parts, function(part) part$type == "sum", NA)
      parts[inner] <- paste0("(", parts[inner], ")")
    }
    return(paste(parts, collapse = if (x$type == "sum") " + " else " * "))
  }
  arguments <- x[setdiff(names(x), "type")]
  text <- vapply(arguments, format_argument, "")
  paste0("kernel_", x$type, "(", paste(names(text), "=", text,
    collapse = ", ", recycle0 = TRUE
  ), ")")
}

format_argument <- function(value) {
  if (is.function(value)) {
    return("<function>")
  }
  if (is.character(value)) {
    return(paste0("\"", value, "\""))
  }
  text <- vapply(value, format, "", digits = 4)
  if (length(text) == 1) {
    return(text)
  }
  if (length(text) > 5) text <- c(text[1:4], "...")
  paste0("c(", paste(text, collapse = ", "), ")")
}

#' @export
print.kb_kernel <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

# Properties that engines use
# -----------------------------------------------------------

is_combined <- function(kernel) kernel$type %in% c("sum", "product")

# Has the kernel no custom part?
kernel_is_builtin <- function(kernel) {
  if (is_combined(kernel)) {
    return(all(vapply(kernel$parts, kernel_is_builtin, NA)))
  }
  kernel$type != "custom"
}

# Does a weighted mean of this kernel depend on the mean of rotation matrices
# only? The kernel of rotations, times and plus constants
is_rotation_kernel <- function(kernel) {
  if (!is_combined(kernel)) {
    return(kernel$type == "rotation")
  }
  rotation <- vapply(kernel$parts, is_rotation_kernel, NA)
  constant <- vapply(kernel$parts, function(part) part$type == "constant", NA)
  all(rotation | constant) &&
    if (kernel$type == "sum") any(rotation) else sum(rotation) == 1
}

# Replace every bandwidth "median" by its value for the points x
kernel_resolve <- function(kernel, x, copies = NULL) {
  refuse_learn(kernel)
  if (!kernel_has(kernel, "median")) {
    return(kernel)
  }
  kernel_fill(kernel, "median", finite_median(x, copies))
}

finite_median <- function(x, copies = NULL) {
  if (!is.null(copies)) {
    x <- x[copy_rows(nrow(x), copies, evenly), , drop = FALSE]
  }
  bandwidth <- bandwidth_median(x)
  if (!is.finite(bandwidth)) {
    refuse_precision("the median distance of the points is not finite", NULL)
  }
  bandwidth
}

# Does a part of the kernel have this word as its bandwidth?
kernel_has <- function(kernel, word) {
  if (is_combined(kernel)) {
    return(any(vapply(kernel$parts, kernel_has, NA, word)))
  }
  identical(kernel$bandwidth, word)
}

kernel_fill <- function(kernel, word, bandwidth) {
  if (is_combined(kernel)) {
    kernel$parts <- lapply(kernel$parts, kernel_fill, word, bandwidth)
  } else if (identical(kernel$bandwidth, word)) {
    kernel$bandwidth <- bandwidth
  }
  kernel
}

# Only `srvm()` and `kgs()` learn bandwidths
refuse_learn <- function(kernel) {
  if (any(vapply(learned_words, function(word) kernel_has(kernel, word), NA))) {
    kb_abort(c(
      "The bandwidth of {.code {format(kernel)}} cannot be learned here.",
      i = "{.fn srvm} learns bandwidths with {.val learn} and {.val ard},
           {.fn kgs} also with {.val evidence}. Elsewhere give a number or
           {.val median}."
    ), "learn")
  }
}

#' The kernel with all bandwidths multiplied by a factor
#' @param kernel Resolved.
#' @noRd
kernel_widen <- function(kernel, factor) {
  if (is_combined(kernel)) {
    kernel$parts <- lapply(kernel$parts, kernel_widen, factor)
  } else if (is.numeric(kernel$bandwidth)) {
    kernel$bandwidth <- factor * kernel$bandwidth
  }
  kernel
}

# Dictionaries: several kernels in one model. See srvm-scales.R for results
# of fits that have one.

#' Several kernels in one model
#'
#' `srvm(y ~ x, data, kernel = kernel_dictionary(k1, k2))`: each centre of the model has
#' one of the kernels, so that one function can be smooth in one place and wiggly in
#' another, or a line plus bumps.
#'
#' With kernels \eqn{K_1, \dots, K_H} a candidate is a pair of a row and a
#' kernel, and the model is
#' \deqn{y_s = \beta_0 + \sum_{(j, h) \in S} \beta_{jh} K_h(x_s, x_j) +
#'   \epsilon_s.} Every set of k candidates is equally likely, and all coefficients have
#'   the same variance. So bring kernels with very different values, such as
#'   [kernel_polynomial()] far from 0 and [kernel_gaussian()], to one scale, as
#'   in `0.1 * kernel_polynomial()`.
#'
#' By contrast, a list of kernels averages over models with one kernel each, and in the
#' sum `k1 + k2` both kernels have the same centres and coefficients. [evidence()]
#' compares the three. A step costs about H times as much as with one kernel.
#' [kb_combinations] says with which proposals they work.
#' @param ... Kernels, see [kb_kernels], at least one, all built in. A bandwidth
#'   `"learn"` means the five kernels described in [srvm()], all of which enter.
#'   Kernels that are identical once the bandwidths are known enter only once.
#' @return An object of class `kb_kernel_dictionary`: a list of plain R data. It
#'   is not a kernel: only `srvm(kernel = )` accepts it.
#' @seealso [kernel_posterior()] for the share of each kernel, [inclusion()].
#' @examples
#' kernel_dictionary(kernel_gaussian(0.1), kernel_gaussian(1), kernel_linear())
#'
#' # wiggly on the left, smooth on the right
#' x <- seq(-1, 1, length.out = 60)
#' set.seed(1)
#' y <- ifelse(x < 0, sin(20 * x), x) + rnorm(60, sd = 0.1)
#' fit <- srvm(x, y,
#'   kernel = kernel_dictionary(kernel_gaussian(0.1), kernel_gaussian(1)),
#'   control = smc_control(particles = 100), seed = 1
#' )
#' kernel_posterior(fit)
#' @export
kernel_dictionary <- function(...) {
  kernels <- unname(list(...))
  good <- length(kernels) > 0 &&
    all(vapply(kernels, inherits, NA, "kb_kernel"))
  if (!good) {
    wrong <- Find(function(x) !inherits(x, "kb_kernel"), kernels)
    bad_argument(
      wrong, "...", "kernels, such as `kernel_gaussian()` (see `?kb_kernels`)"
    )
  }
  kernels <- lapply(kernels, check_kernel, "...")
  if (anyDuplicated(kernels)) {
    twice <- format(kernels[[anyDuplicated(kernels)]])
    kb_abort(c(
      "{.arg ...} must be different kernels.",
      x = "{.code {twice}} appears twice."
    ), "argument", argument = "...")
  }
  new_dictionary(kernels)
}

new_dictionary <- function(kernels) {
  structure(
    list(type = "dictionary", parts = kernels),
    class = "kb_kernel_dictionary"
  )
}

is_dictionary <- function(kernel) inherits(kernel, "kb_kernel_dictionary")

#' @export
format.kb_kernel_dictionary <- function(x, ...) {
  paste0(
    "kernel_dictionary(", paste(vapply(x$parts, format, ""), collapse = ", "),
    ")"
  )
}

#' @export
print.kb_kernel_dictionary <- function(x, ...) {
  cat("Dictionary of ", counted(length(x$parts), "kernel"), "\n", sep = "")
  cat(paste0("  ", vapply(x$parts, format, ""), "\n"), sep = "")
  invisible(x)
}

refuse_operator <- function() {
  kb_abort(c(
    "Operators are not defined for dictionaries.",
    i = "Combine the kernels first, as in
         {.code kernel_dictionary(0.1 * k1, k1 + k2)}."
  ), "operator")
}
