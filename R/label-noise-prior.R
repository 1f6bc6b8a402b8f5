# Priors of the rates at which labels are wrong.

#' Priors of the rate of wrong labels
#'
#' Priors for [kgs()]: how often labels are wrong, overall or by class.
#'
#' `noise_beta()`: any label is wrong with the same unknown probability q, and
#' then each of the other classes is equally likely; the prior of q is a Beta(a,
#' b) distribution below (C - 1) / C, the rate of guessing among C classes.
#' `noise_class()`: each of two classes has its own rate, the probability that a
#' point of the first class is labelled as the second, and the reverse; both
#' have Beta(a, b) priors, and their sum is below 1. A number instead of a prior
#' is a known q.
#'
#' @param a,b Positive numbers, the parameters of the Beta distribution. The
#'   defaults are uniform.
#'
#' @return An object of class `kb_noise_beta` or `kb_noise_class`, and
#'   `kb_label_noise`.
#' @section Errors: Numbers that are not positive and finite are an error of
#'   class `kb_error_argument`.
#' @examples
#' noise_beta(1, 9)
#' noise_class()
#' @name label_noise_prior
NULL

#' @rdname label_noise_prior
#' @export
noise_beta <- function(a = 1, b = 1) new_label_noise(a, b, "beta")

#' @rdname label_noise_prior
#' @export
noise_class <- function(a = 1, b = 1) new_label_noise(a, b, "class")

new_label_noise <- function(a, b, kind) {
  structure(
    list(
      kind = kind, a = check_number(a, 0, open = TRUE),
      b = check_number(b, 0, open = TRUE)
    ),
    class = c(paste0("kb_noise_", kind), "kb_label_noise")
  )
}

#' A prior, or a known rate
#' @param classes Their number.
#' @return A list as the sampler reads it, with `kind`.
#' @noRd
check_label_noise <- function(noise, classes) {
  guessing <- (classes - 1) / classes
  if (inherits(noise, "kb_noise_fixed")) noise <- unclass(noise)$rate
  if (is.numeric(noise)) {
    known <- length(noise) == 1 && is.finite(noise) && noise >= 0 &&
      noise < guessing
    if (!known) {
      bad_argument(noise, "noise", paste0(
        "`noise_beta()`, `noise_class()` or a number from 0 to below ",
        format(guessing, digits = 3), ", the rate of guessing"
      ))
    }
    return(structure(list(kind = "fixed", rate = as.double(noise)),
      class = c("kb_noise_fixed", "kb_label_noise")
    ))
  }
  noise <- check_class(noise, "kb_label_noise",
    "`noise_beta()`, `noise_class()` or a number"
  )
  if (noise$kind == "class" && classes > 2) {
    kb_abort(c(
      "{.fn noise_class} is for two classes.",
      x = "The response has {classes} classes.", i = "Use {.fn noise_beta}."
    ), "argument", argument = "noise")
  }
  noise
}

#' @export
format.kb_label_noise <- function(x, digits = 3, ...) {
  if (x$kind == "fixed") {
    return(paste("known,", format(x$rate, digits = digits)))
  }
  paste0(
    "noise_", x$kind, "(", format(x$a, digits = digits), ", ",
    format(x$b, digits = digits), ")"
  )
}

#' @export
print.kb_label_noise <- function(x, ...) {
  cat(format(x, ...), "\n", sep = "")
  invisible(x)
}
