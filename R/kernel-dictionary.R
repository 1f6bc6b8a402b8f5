# Dictionaries: several kernels in one model. See srvm-dictionary.R for results
# of fits that have one.

#' Several kernels in one model
#'
#' A dictionary of kernels for [srvm()]: each centre of the model has one of
#' them, so that one function can be smooth in one place and wiggly in another,
#' or a line plus bumps.
#'
#' With kernels \eqn{K_1, \dots, K_H} a candidate is a pair of a row and a
#' kernel, and the model is
#' \deqn{y_s = \beta_0 + \sum_{(j, h) \in S} \beta_{jh} K_h(x_s, x_j) +
#'   \epsilon_s.} Everything else is as with one kernel, see [srvm()]: in
#'   [srvm_prior()] the number of candidates is H times that of distinct rows,
#'   every set of k of them is equally likely, and all coefficients have the
#'   same variance. So bring kernels with very different values, such as
#'   [kernel_polynomial()] far from 0 and [kernel_gaussian()], to one scale, as
#'   in `0.1 * kernel_polynomial()`.
#'
#' By contrast, a list of kernels, `kernel = list(k1, k2)`, averages over models
#' with one kernel each, so that every function uses only one kernel; with a
#' dictionary a single function may use both. In the sum `k1 + k2` both kernels
#' have the same centres and coefficients. [evidence()] compares the three.
#'
#' When a row arrives, its H candidates are considered one after the other, each
#' joining or not; a step costs about H times as much as with one kernel.
#' Dictionaries work with the `"adapted"` proposal and with `method = "mcmc"`,
#' with every response and every memory (`srvm_memory(candidates = )` counts
#' rows).
#'
#' @param ... Kernels, see [kb_kernels], at least one, all built in. A bandwidth
#'   `"learn"` means the five kernels described in [srvm()], all of which enter.
#'   Kernels that are identical once the bandwidths are known enter only once.
#' @return An object of class `kb_kernel_dictionary`: a list of plain R data. It
#'   is not a kernel: only `srvm(kernel = )` accepts it.
#' @section Errors: `kb_error_argument` for arguments that are not kernels, for
#'   two equal kernels, and in [srvm()] for a dictionary in a list of kernels or
#'   with another proposal.
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
