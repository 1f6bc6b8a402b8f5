# Families of responses: the forms a user may give, and the name that is stored.

# The families, one row each, in a file each
#
# * `outcome`: the kind of response, see `mould_formula()`.
# * `object`: the family object that stands for it, c(family = "link").
# * `called`: the same of families that R has no object for, for `family()`.
# * `title`: what print() adds to the name of the model.
# * `sampler`: the sampler's name for it, if that is another.
# * `numbers`: the responses as the sampler sees them, a function of the
#   response, the scaling and the offset: numbers, or a list of `y` and of others
#   by the names in src/glue/bark_from_r.cpp.
# * `noise`: has the response noise whose scale is learned? Such responses are
#   standardised, by the numbers that `located`, if there, makes of them.
# * `weights`: what weights of rows mean, `"copies"` or `"precision"`, see
#   R/data-response.R; families without it take none.
# * `link_label`: what f is, before the name of the response, where it is not the
#   response itself or latent.
# * `types`: what `predict()` can return, rows of R/predict-types.R; the first is the
#   default.
# * `effects`: the scales of partial dependence.
# * `expected`, `respond`, `log_lik`: given draws f, S x n, of the draws
#   `chosen` of a pool: expected responses (of classes, probabilities), draws of
#   new responses, log densities of the responses of `rows`.
# * `cdf`: given draws as above, the distribution functions of responses at
#   numbers, one per row; `ends`: the two numbers between which a response lies, a
#   matrix: the one before and itself if they are whole.
# * `logs`: are the logarithms of the responses f plus noise? `expected` then is the
#   median given a draw; `survival`: probabilities of larger responses.
# * `exponential`: is the expected response given a draw exp(f)? It need have no
#   mean over draws, see `lacks_mean()`.
# * `truncation`: does bark's truncation approximation support it?
# * `rung_power`: the exponent by which rungs of bark's ladder approach 0, or
#   `rung_start`: the rung from which on they are multiples. With latent scales
#   or several cut points even kernels of tiny amplitude fit the data: ratios of
#   neighbours above 2 miss the few draws that do.
# * `warmup`: iterations of the warmup of bark(), and those after it until the
#   chains are first judged, where not 100.
# * `check`: in bark(), a check of the response and the prior.
# * `shown`: the responses beside which predictions are drawn, as numbers (NA if
#   they are censored), where they are not numbers or classes.
# * `derived`: if the response chooses it, the family that a user gives, see
#   `bark_family()`.
# * `classes`: of several fields, see `family_of_fields()`.
# * Of families without a latent normal form also `parameters`: the names of
#   those beside f; `quantile` at a probability and `variance`, S x n; and
#   `intercept`: its prior mean, from the responses, their offsets and weights;
#   `check_values`, if any: a check of new responses, with their name;
#   `own_scales`: the default of that option of the prior, where it can be
#   pooled.
response_families <- list(
  gaussian = family_gaussian, student = family_student, probit = family_probit,
  ordered = family_ordered, multinomial = family_multinomial,
  multinomial_logit = family_multinomial_logit,
  poisson = family_poisson, negbinomial = family_negbinomial,
  gamma = family_gamma,
  ordered_probit = family_ordered_probit, logit = family_logit,
  trials_logit = family_trials_logit, trials_probit = family_trials_probit,
  weibull = family_weibull, lognormal = family_lognormal,
  censored = family_censored
)
rm(list = paste0("family_", names(response_families)))

# Those that a fit of bark() can have, and those of srvm()
stored_families <- setdiff(names(response_families), "student")
srvm_families <- c("gaussian", "probit")

#' The name of a family, or NULL where the response decides
#'
#' Family objects, the functions that make them, and names.
#' @param more Families that the engine has beside those of srvm().
#' @noRd
check_family <- function(family, more = character()) {
  if (is.null(family) || rlang::is_string(family, more)) {
    return(family)
  }
  known <- response_families[c(srvm_families, more)]
  known <- Filter(function(row) !is.null(row$object), known)
  codes <- vapply(known, function(row) {
    paste0(names(row$object), "(\"", row$object, "\")")
  }, "")
  given <- family
  if (identical(family, "probit")) family <- stats::binomial("probit")
  if (identical(family, "gaussian")) family <- stats::gaussian()
  if (identical(family, "binomial")) family <- stats::binomial()
  if (is.function(family)) family <- tryCatch(family(), error = identity)
  if (!inherits(family, "family")) {
    named <- setdiff(more, names(known))
    bad_argument(given, "family", paste0(
      "NULL, ", paste0("`", codes, "`", collapse = ", "),
      if (length(named) > 0) {
        paste0(", or one of ", paste0("\"", named, "\"", collapse = ", "))
      }
    ), family_name_hint(given, c("binomial", srvm_families, more)))
  }
  for (part in c("family", "link")) {
    if (!rlang::is_string(family[[part]])) {
      bad_argument(family[[part]], paste0("family$", part), "a string")
    }
  }
  code <- paste0(family$family, "(\"", family$link, "\")")
  if (!code %in% codes) {
    kb_abort(c(
      "{.arg family} must be {.or {.code {codes}}}.",
      x = "It is {.code {code}}.",
      i = family_hint(family, more)
    ), "argument", argument = "family")
  }
  names(known)[[match(code, codes)]]
}

# What a user of this name may want
family_name_hint <- function(name, known) {
  near <- if (rlang::is_string(name)) nearest_name(name, known)
  if (!is.null(near)) {
    paste0("Did you mean {.val ", near, "}?")
  } else if (is.character(name) && any(c("t", "student") %in% name)) {
    "Student's t noise is {.arg df} of the prior."
  }
}

# What a user of this family object may want
family_hint <- function(family, more) {
  if (length(more) == 0 && family$family == "binomial") {
    "Write {.code family = binomial(\"probit\")}, or use {.fn bark}."
  } else if (grepl("^negative binomial", family$family, ignore.case = TRUE)) {
    if ("negbinomial" %in% more) {
      "Write {.code family = \"negbinomial\"}, which learns the size (theta)."
    } else {
      "{.fn bark} has {.code family = \"negbinomial\"}."
    }
  } else if (family$family == "Gamma") {
    "Write {.code family = Gamma(\"log\")}, for {.fn bark}."
  }
}

# The kind of response of a family
family_outcome <- function(family) {
  if (is.null(family)) {
    return("either")
  }
  response_families[[family]]$outcome
}

# Two classes written as 0 and 1 are numbers, unless the user says otherwise
note_numbers <- function(family, mould) {
  if (is.null(family) && mould$outcome == "numeric" && setequal(mould$y, 0:1)) {
    name <- mould$outcome_name
    kb_inform(c(
      "All responses are 0 or 1 and are modelled as numbers.",
      i = "Use {.code factor({name})} for two classes, or
           {.code family = gaussian()} to confirm numbers."
    ), "numbers")
  }
}

# Names that a user may give
named_families <- function() {
  derived <- vapply(response_families, function(row) !is.null(row$derived), NA)
  setdiff(stored_families, names(response_families)[derived])
}

# The name by which a user gives the family of a fit
given_family <- function(fit) given_name(fit$settings$family)

given_name <- function(family) {
  derived <- response_families[[family]]$derived
  if (is.null(derived)) family else derived
}

# The row of a fit
family_of <- function(fit) response_families[[fit$settings$family]]

is_probit <- function(fit) identical(fit$settings$family, "probit")

ordered_families <- c("ordered", "ordered_probit")

is_ordered <- function(fit) isTRUE(fit$settings$family %in% ordered_families)

is_class_family <- function(name) {
  response_families[[name]]$outcome %in% c("factor", "ordered")
}

has_classes <- function(fit) is_class_family(fit$settings$family)

# The responses as the model sees them
response_numbers <- function(fit) {
  family_of(fit)$numbers(fit$data$y, fit$settings$scaling, mixed_offset(fit))
}

# Has the response noise whose scale is learned?
has_noise <- function(fit) isTRUE(family_of(fit)$noise)

is_gaussian <- function(fit) identical(fit$settings$family, "gaussian")

# Numbers that stand for the responses, for their standardisation
located <- function(family, y) {
  f <- response_families[[family]]$located
  if (is.null(f)) y else f(y)
}

# Two-class problems: the response as -1 and +1, the second level
class_signs <- function(y) 2 * as.integer(y) - 3

# A factor of two classes; `levels` are those that its rows have
check_two_classes <- function(y, arg) {
  if (nlevels(y) != 2) {
    kb_abort(c(
      "The response {.arg {arg}} must have two classes.",
      x = "It has {nlevels(y)}: {.val {levels(y)}}.",
      i = if (nlevels(y) > 2) {
        "{.fn kgs} and {.fn bark} take several classes."
      }
    ), "outcome", argument = arg, levels = levels(y))
  }
  y
}
