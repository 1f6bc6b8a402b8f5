# Families of responses: what the user may say, and the name that is stored.

#' "gaussian", "probit", or NULL where the response decides
#'
#' Family objects, the functions that make them, and the two names.
#' @noRd
check_family <- function(family, call = rlang::caller_env()) {
  if (is.null(family)) {
    return(NULL)
  }
  given <- family
  if (identical(family, "probit")) family <- stats::binomial("probit")
  if (identical(family, "gaussian")) family <- stats::gaussian()
  if (identical(family, "binomial")) family <- stats::binomial()
  if (is.function(family)) family <- tryCatch(family(), error = identity)
  if (!inherits(family, "family")) {
    bad_argument(
      given, "family", "NULL, `gaussian()` or `binomial(\"probit\")`", call
    )
  }
  known <- c(gaussian = "identity", binomial = "probit")
  if (!identical(family$link, unname(known[family$family]))) {
    kb_abort(c(
      "{.arg family} must be {.code gaussian()} or
       {.code binomial(\"probit\")}.",
      x = "It is {.code {family$family}(\"{family$link}\")}.",
      i = if (family$family == "binomial") {
        "Write {.code family = binomial(\"probit\")}: the sampler is exact for
         the probit link only."
      }
    ), "argument", argument = "family", call = call)
  }
  if (family$family == "binomial") "probit" else "gaussian"
}

#' The kind of response that a family models
#' @noRd
family_outcome <- function(family) {
  if (is.null(family)) {
    return("either")
  }
  c(gaussian = "numeric", probit = "factor", multinomial = "factor")[[family]]
}

#' @noRd
is_probit <- function(fit) identical(fit$settings$family, "probit")

#' The responses as the model sees them: classes are signs
#' @noRd
response_numbers <- function(fit) {
  if (is_probit(fit)) {
    return(class_signs(fit$data$y))
  }
  scaling_y(fit$settings$scaling, fit$data$y)
}
