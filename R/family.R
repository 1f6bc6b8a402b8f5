# Families of responses: what the user may say, and the name that is stored.

#' "gaussian", "probit", or NULL where the response decides
#'
#' Family objects, the functions that make them, and the two names.
#' @param more Further names that the engine knows.
#' @noRd
check_family <- function(family, more = character(),
                         call = rlang::caller_env()) {
  if (is.null(family)) {
    return(NULL)
  }
  if (rlang::is_string(family, more)) {
    return(family)
  }
  given <- family
  if (identical(family, "probit")) family <- stats::binomial("probit")
  if (identical(family, "gaussian")) family <- stats::gaussian()
  if (identical(family, "binomial")) family <- stats::binomial()
  if (is.function(family)) family <- tryCatch(family(), error = identity)
  if (!inherits(family, "family")) {
    bad_argument(
      given, "family", paste0(
        "NULL, `gaussian()` or `binomial(\"probit\")`",
        if (length(more) > 0) paste0(", or \"", more, "\"", collapse = "")
      ), call
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
  c(
    gaussian = "numeric", probit = "factor", ordered = "ordered",
    multinomial = "factor"
  )[[family]]
}

#' Two classes written as 0 and 1 are numbers, unless the user says otherwise
#' @noRd
note_numbers <- function(family, mould) {
  if (is.null(family) && mould$outcome == "numeric" && setequal(mould$y, 0:1)) {
    name <- mould$outcome_name
    kb_inform(c(
      "All responses are 0 or 1, and modelled as numbers.",
      i = "{.code factor({name})} would make them two classes;
           {.code family = gaussian()} says that numbers are meant."
    ), "numbers")
  }
}

#' @noRd
is_probit <- function(fit) identical(fit$settings$family, "probit")

#' @noRd
is_ordered <- function(fit) identical(fit$settings$family, "ordered")

#' @noRd
has_classes <- function(fit) {
  fit$settings$family %in% c("probit", "ordered", "multinomial")
}

#' The responses as the model sees them: two classes are signs, ordered ones
#' their numbers
#' @noRd
response_numbers <- function(fit) {
  if (is_ordered(fit)) {
    return(as.double(as.integer(fit$data$y)))
  }
  if (is_probit(fit)) {
    return(class_signs(fit$data$y))
  }
  scaling_y(fit$settings$scaling, fit$data$y)
}

#' Two-class problems: the response as -1 and +1, the second level
#' @noRd
class_signs <- function(y) 2 * as.integer(y) - 3

#' A factor of two classes; `levels` are those that its rows have
#' @noRd
check_two_classes <- function(y, arg, call = rlang::caller_env()) {
  if (nlevels(y) != 2) {
    kb_abort(c(
      "The response {.arg {arg}} must have two classes.",
      x = "It has {nlevels(y)}: {.val {levels(y)}}.",
      i = if (nlevels(y) > 2) {
        "{.fn kgs} and {.fn bark} take several classes."
      }
    ), "outcome", argument = arg, levels = levels(y), call = call)
  }
  y
}
