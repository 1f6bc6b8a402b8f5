# Dictionaries: several kernels in one model. See srvm-dictionary.R for the
# answers of fits that have one.

#' Several kernels in one model
#'
#' A dictionary of kernels for [srvm()]: each centre of the model has one of
#' them, so that one function can be smooth here and wiggly there, or a line
#' plus bumps.
#'
#' With kernels \eqn{K_1, \dots, K_H} a candidate is a pair of a row and a
#' kernel, and the model is
#' \deqn{y_s = \beta_0 + \sum_{(j, h) \in S} \beta_{jh} K_h(x_s, x_j) +
#'   \epsilon_s.}
#' All else is as with one kernel, see [srvm()]: in [srvm_prior()] the number of
#' candidates is H times that of distinct rows, every set of k of them is
#' equally likely, and all coefficients have the same variance. Kernels that
#' differ much in their values, such as [kernel_polynomial()] far from 0 beside
#' [kernel_gaussian()], should therefore be brought to one scale, as in
#' `0.1 * kernel_polynomial()`.
#'
#' It is not the same as a list of kernels, `kernel = list(k1, k2)`, which
#' averages over models with one kernel each: there every function is made of
#' one kernel, and the data tell which; here a single function may be made of
#' both. Nor is it the sum `k1 + k2`, where both have the same centres and
#' coefficients. [evidence()] compares the three.
#'
#' When a row comes in its H candidates come in one after the other, each with
#' the choice to join or not; a step costs about H times as much as with one
#' kernel. Dictionaries work with the `"adapted"` proposal and with
#' `method = "mcmc"`, with every response and every memory
#' (`srvm_memory(candidates = )` counts rows).
#'
#' @param ... Kernels, see [kb_kernels], at least one; built-in ones. A
#'   bandwidth `"learn"` stands for the five kernels that [srvm()] says, all of
#'   which enter. Of kernels that are the same once the bandwidths are known
#'   only one enters.
#' @return An object of class `kb_kernel_dictionary`: a list of plain R data.
#'   It is no kernel: only `srvm(kernel = )` accepts it.
#' @section Errors: `kb_error_argument` for what is no kernel, for two equal
#'   ones, and in [srvm()] for a dictionary in a list of kernels or with another
#'   proposal.
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
  if (anyDuplicated(kernels)) {
    twice <- format(kernels[[anyDuplicated(kernels)]])
    kb_abort(c(
      "{.arg ...} must be different kernels.",
      x = "{.code {twice}} is there twice."
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
    "A dictionary has no operators.",
    i = "Combine its kernels, as in
         {.code kernel_dictionary(0.1 * k1, k1 + k2)}."
  ), "operator")
}
