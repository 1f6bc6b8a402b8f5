# What does not go with what: the combinations that calls refuse, and the methods
# that some fits lack.

#' What does not go with what
#'
#' Combinations that the fit functions refuse, with an error that says what works
#' instead.
#' @section bark():
#' `r clash_table("bark")`
#' @section srvm():
#' `r clash_table("srvm")`
#' @section kgs():
#' `r clash_table("kgs")`
#' @section Classes with latent responses:
#' Of [srvm()] with two classes, and of [bark()] with `family = "probit"`,
#' `"ordered"` without weights, and `"multinomial"`:
#'
#' `r clash_table("latent")`
#' @examples
#' bounded <- srvm_memory(window = 10)
#' try(srvm(y ~ x, sim_sinc(20), memory = bounded, method = "mcmc"))
#' @name kb_combinations
NULL

# Markdown, for the help page
clash_table <- function(name) {
  line <- function(this, with) {
    paste("|", this, "|", paste(with, collapse = "; "), "|")
  }
  lines <- vapply(clashes[[name]], function(row) {
    line(row$this, names(row$with))
  }, "")
  if (name == "bark") {
    lacks <- function(part, what) {
      names(Filter(function(row) row[[part]] == what, bark_options))
    }
    lines <- c(
      lines, line("approximation = \"truncation\"", lacks("truncation", FALSE)),
      line("family = \"multinomial\"", lacks("shapes", TRUE))
    )
  }
  paste(c("| this | not with |", "|:--|:--|", unique(lines)), collapse = "\n")
}

# Combinations --------------------------------------------------------------

# A row refuses `this` with each of a list of others, `with`, all as users write
# them.
#
# * `there`: a function of what the call knows: is `this` in it?
# * `with`: functions of the same, by words; where they give a string, it is the
#   reason.
# * `says`: the message, with `odd` (the words of `with`), what the call knows, and
#   the reason, which may have markup, in place of <why>; `argument` and `class` of
#   the error.
clash <- function(this, there, with, says, argument,
                  class = c("not_defined", "argument")) {
  list(
    this = this, there = there, with = with, says = says, argument = argument,
    class = class
  )
}

when <- function(condition, why) if (isTRUE(condition)) why else FALSE

# What several rows ask of a call of bark()
asks_truncation <- function(s) is_truncated_prior(s$prior)
asks_temperatures <- function(s) s$control$n_temps > 1
asks_single_sweep <- function(s) s$control$sweep == "single"
asks_sigma <- function(s) !is.null(s$given$sigma)

clashes <- list(
  # Knows `given`, `family` and its `row`, `prior`, `control`, `mould`.
  bark = list(
    clash("sigma", asks_sigma,
      list("a response that is no number" = function(s) s$family != "gaussian"),
      c(
        "{.arg sigma} must be NULL for {.code family = \"{given_name(family)}\"}.",
        i = "Only numeric responses of {.code family = gaussian()} have noise that
             can vary."
      ), "sigma", c("argument", "not_defined")
    ),
    clash("sigma", asks_sigma,
      list(
        "bark_prior(approximation = \"truncation\")" = asks_truncation,
        "bark_prior(noise = )" = function(s) !is.null(s$prior$noise),
        "mcmc_control(n_temps = )" = asks_temperatures,
        "mcmc_control(sweep = \"single\")" = asks_single_sweep
      ),
      c(
        "{.code {odd}} is not defined with {.arg sigma}.",
        i = "Noise that varies has a prior of its own."
      ), "sigma"
    ),
    clash("approximation = \"truncation\"", asks_truncation,
      list("more than two classes" = function(s) !s$row$truncation),
      c(
        "{.code approximation = \"truncation\"} is not defined for more than two
         classes.",
        i = "Use the continuous approximation, the default."
      ), "approximation"
    ),
    # Several kernels() are sums of kernels with their own scales, each of the
    # inputs of one of them.
    clash("several kernels()", function(s) !is.null(s$mould$fields),
      list(
        "family = \"multinomial\"" = function(s) s$family == "multinomial",
        "own_scales = FALSE" = function(s) isFALSE(s$prior$own_scales),
        "own_scales = \"pooled\"" = function(s) {
          identical(s$prior$own_scales, "pooled")
        },
        "directions" = function(s) !is.null(s$prior$directions),
        "n_signals" = function(s) !is.null(s$prior$n_signals),
        "approximation = \"truncation\"" = asks_truncation
      ),
      c(
        "Several {.code kernels()} are not defined with {odd}.",
        i = "Write one {.code kernels()} with all inputs."
      ), "formula", c("argument", "not_defined")
    ),
    # An offset of all fields would change no probability.
    clash("offset", function(s) length(s$mould$mixed$offset_column) > 0,
      list("classes without an order" = function(s) {
        s$family %in% multinomial_families
      }),
      c(
        "An offset needs a numeric response, two classes or ordered ones.",
        x = "The response has {length(mould$levels)} classes without an order."
      ), "offset", "argument"
    ),
    clash("prior_only = TRUE", function(s) isTRUE(s$given$prior_only),
      list("noise_improper()" = function(s) {
        inherits(s$prior$noise, "kb_noise_improper")
      }),
      c(
        "An improper prior has no draws.",
        x = "{.arg prior_only} is {.code TRUE}, and the prior of the noise is
             {.fn noise_improper}.",
        i = "Use {.fn noise_gamma}, or the default."
      ), NULL, c("improper", "not_defined")
    ),
    # Truncation has only one kind of sweep.
    clash("approximation = \"truncation\"", asks_truncation,
      list("sweep = \"single\"" = asks_single_sweep),
      c(
        "{.code sweep = \"single\"} is not defined for {.code approximation =
         \"truncation\"}.",
        i = "Use {.code sweep = \"full\"}; {.val single} is only for comparing
             the continuous approximation with other implementations."
      ), "sweep"
    ),
    # Temperatures need a likelihood with the coefficients integrated out.
    clash("mcmc_control(n_temps = )", asks_temperatures,
      list("counts, logit models, censored times" = function(s) {
        is_glm_family(s$family)
      }),
      c(
        "{.code mcmc_control(n_temps = )} is not defined for
         {.code family = \"{given_name(family)}\"}.",
        i = "Leave it out."
      ), "n_temps"
    ),
    clash("terms beside kernels", function(s) !is.null(s$mould$mixed),
      list(
        "bark_prior(approximation = \"truncation\")" = asks_truncation,
        "mcmc_control(n_temps = )" = asks_temperatures
      ),
      c(
        "Terms beside kernels are not defined with {.code {odd}}.",
        i = "Leave it out, or write the formula without {.code kernels()}."
      ), "formula"
    )
  ),
  # A power of the probability of a class has no latent normal form.
  latent = list(
    clash("weights", function(s) !is.null(s$weights),
      list("classes with latent responses" = function(s) TRUE),
      c(
        "{.arg weights} must be NULL for classes with latent responses.",
        i = "{.fn bark} takes numbers of rows as weights with {.code family =
             binomial()} for two classes, {.code \"multinomial_logit\"} for
             several, and for ordered ones."
      ), "weights", "argument"
    )
  ),
  # Knows `settings`, `method`, `control`.
  srvm = list(
    # Averaging over kernels needs the evidence of each.
    clash("several kernels", function(s) n_kernels(s$settings) > 1,
      list(
        "method = \"mcmc\"" = function(s) {
          when(s$method == "mcmc", "The batch sampler runs with one kernel.")
        },
        "proposal = \"paper\"" = function(s) {
          when(s$control$proposal == "paper", "With {.code proposal = \"paper\"}
            there is no evidence to weight them by.")
        },
        "srvm_prior_paper()" = function(s) {
          when(is_improper(s$settings$prior), "With an improper prior there is no
            evidence to weight them by.")
        }
      ),
      c(
        "{.arg kernel} must be a single kernel without a bandwidth to learn.",
        x = "It means {n_kernels(settings)} kernels. <why>",
        i = "{.code method = \"smc\"} with the default proposal and a proper prior
             averages over kernels; {.fn kernel_posterior} then gives their
             probabilities."
      ), "kernel", "argument"
    ),
    clash("kernel_dictionary()", function(s) {
        is_dictionary(s$settings$kernel) && s$method != "mcmc"
      },
      list("proposal other than \"adapted\"" = function(s) {
        s$control$proposal != "adapted"
      }),
      c(
        "{.arg kernel} must not be a dictionary here.",
        x = "{.code proposal = \"{control$proposal}\"} supports only one kernel per
             row.",
        i = "Use {.code proposal = \"adapted\"}."
      ), "kernel"
    ),
    clash("srvm_memory()", function(s) is_bounded(s$settings$memory),
      list(
        "method = \"mcmc\"" = function(s) {
          when(s$method == "mcmc", "The batch sampler uses all rows at once.")
        },
        "proposal other than \"adapted\"" = function(s) {
          when(s$control$proposal != "adapted", "{.code proposal =
            \"{control$proposal}\"} does not support dropping rows.")
        },
        "forgetting, with other than normal noise" = function(s) {
          when(
            s$settings$memory$forgetting < 1 &&
              response_name(s$settings) != "gaussian",
            "Forgetting is for normal noise only."
          )
        }
      ),
      c(
        "{.arg memory} must be unbounded here.",
        x = "It is: {format(settings$memory)}. <why>"
      ), "memory", "argument"
    ),
    clash("two classes, or Student-t noise",
      function(s) is_latent(s$settings) && s$method == "smc",
      list("proposal other than \"adapted\"" = function(s) {
        s$control$proposal != "adapted"
      }),
      c(
        "{.arg proposal} of {.arg control} must be {.val adapted} for a
         {response_name(settings)} model.",
        x = "It is {.val {control$proposal}}."
      ), "control"
    ),
    clash("Student-t noise",
      function(s) response_name(s$settings) == "student",
      list("srvm_memory(window = )" = function(s) {
        is.finite(s$settings$memory$window)
      }),
      c(
        "{.arg window} of {.arg memory} must be Inf with Student-t noise.",
        x = "Its {.arg window} is {settings$memory$window}.",
        i = "{.code srvm_memory(candidates = )} bounds the number of centres;
             with {.code srvm_prior(df = Inf)} a window is possible."
      ), "memory"
    )
  ),
  # Knows `method`, `weights` and `class_weights`.
  kgs = list(
    clash("weights, class_weights", function(s) {
        !is.null(s$weights) || !is.null(s$class_weights)
      },
      # Other samplers count wrong labels.
      list("method other than \"leapfrog\"" = function(s) {
        s$method != "leapfrog"
      }),
      c(
        "{.arg {if (is.null(weights)) 'class_weights' else 'weights'}} needs
         {.code method = \"leapfrog\"}.",
        x = "The method is {.val {method}}.",
        i = "{.code nugget = \"learn\"} chooses it."
      ), function(s) if (is.null(s$weights)) "class_weights" else "weights",
      "argument"
    )
  )
)

#' Refuse the first combination of a table that a call has
#' @param known List of what the call knows, see the tables.
#' @noRd
refuse_clashes <- function(table, known) {
  for (row in clashes[[table]]) {
    if (!row$there(known)) next
    found <- lapply(row$with, function(is_odd) is_odd(known))
    odd <- names(found)[!vapply(found, isFALSE, NA)]
    if (length(odd) == 0) next
    why <- found[[odd[[1]]]]
    says <- sub("<why>", if (is.character(why)) why else "", row$says,
      fixed = TRUE
    )
    argument <- row$argument
    if (is.function(argument)) argument <- argument(known)
    rlang::inject(kb_abort(says, row$class, !!!c(argument = argument),
      .envir = list2env(c(known, odd = odd[[1]]))
    ))
  }
}

refuse_class_weights <- function(weights) {
  refuse_clashes("latent", list(weights = weights))
}

# Methods -------------------------------------------------------------------

compare_by_loo <- "{.fn loo} of the loo package compares such fits."
a_formula_with_terms <- "Write for instance
  {.code bark(y ~ kernels(x1, x2) + x3 + (1 | g), data)}."

# What a fit may be or lack, so that a method is not defined for it: `there`, a
# function of the fit; `says`, or a function of the fit that does, with `what`, the
# method.
lacking <- list(
  prior_only = list(
    there = function(fit) is_prior_only(fit),
    says = c(
      "{.fn {what}} is not defined for a fit with {.code prior_only = TRUE}.",
      x = "Its draws are from the prior: they have not seen the responses.",
      i = "{.fn pp_check} of bayesplot compares the two; {.fn bark} without
           {.arg prior_only} fits."
    ), argument = "prior_only"
  ),
  improper = list(
    there = function(fit) isTRUE(fit$settings$prior$improper),
    says = c(
      "There is no evidence under an improper prior.",
      x = "The noise has the prior 1 / phi.",
      i = "Use {.fn noise_gamma}, or the default."
    ), class = c("improper", "not_defined")
  ),
  sigma = list(
    there = function(fit) has_varying_noise(fit),
    says = c(
      "{.fn {what}} is not defined for fits with {.arg sigma}.",
      i = compare_by_loo
    )
  ),
  own_centres = list(
    there = function(fit) has_own_centres(fit),
    says = c(
      "{.fn {what}} is not defined for kernels whose centres are not rows.",
      i = "{.fn centre_rows} puts them at rows."
    )
  ),
  no_kernels = list(
    there = function(fit) !has_kernels(fit),
    says = c(
      "{.fn {what}} is not defined for this fit.",
      x = "It has no kernels: {.arg prior} has {.code gamma = 0}."
    )
  ),
  terms = list(
    there = function(fit) inherits(fit, "kb_bark") && has_mixed(fit),
    says = c(
      "{.fn {what}} is not defined for fits with terms beside kernels.",
      i = compare_by_loo
    )
  ),
  no_terms = list(
    there = function(fit) !has_mixed(fit),
    says = c(
      "{.fn {what}} is not defined for this fit.",
      x = "It has no terms beside kernels.",
      i = a_formula_with_terms
    )
  ),
  no_groups = list(
    there = function(fit) length(fit$mould$mixed$groups) == 0,
    says = c(
      "{.fn {what}} is not defined for this fit.",
      x = "It has no groups.",
      i = a_formula_with_terms
    )
  ),
  likelihood = list(
    there = function(fit) is_glm(fit),
    says = function(fit) {
      c(
        "{.fn {what}} is not defined for {.code family =
         \"{given_family(fit)}\"}.",
        i = compare_by_loo,
        i = if (is_ordered(fit)) {
          "It is defined without {.arg weights}."
        } else if (is_multinomial(fit)) {
          "It is defined for {.code family = \"multinomial\"}."
        } else if (has_classes(fit)) {
          "It is defined for {.code family = \"probit\"}."
        }
      )
    }
  ),
  several_classes = list(
    there = function(fit) is_multinomial(fit),
    says = c(
      "{.fn {what}} is not defined for several classes without an order.",
      i = "{.fn partial_dependence} has their probabilities."
    )
  ),
  censored = list(
    there = function(fit) is.null(family_of(fit)$variance),
    says = "{.fn {what}} is not defined for responses that may be censored."
  ),
  learned_bandwidths = list(
    there = function(fit) learns_scales(fit$settings),
    says = c(
      "{.fn {what}} is not defined for kernels whose bandwidths are learned.",
      x = "Each particle has kernels of its own, to which its coefficients
           belong."
    )
  ),
  dropped_rows = list(
    there = function(fit) n_past(fit) > 0,
    says = c(
      "{.fn {what}} needs all {n_given(fit)} rows.",
      x = "The fit holds the last {nrow(fit$data$x)} of them.",
      i = "{.code srvm_memory(keep_rows = Inf)} keeps all."
    )
  ),
  no_ancestry = list(
    there = function(fit) fit$control$ancestry == "summary",
    says = c(
      "The fit has not kept its ancestry.",
      i = "Fit with {.code smc_control(ancestry = \"genealogy\")} or
           {.code \"full\"}."
    )
  ),
  no_formula = list(
    there = function(fit) is.null(fit$mould$formula),
    says = c(
      "The model was fitted to x and y: it has no formula.",
      i = "{.fn model.matrix} gives its predictors."
    )
  ),
  class_rates = list(
    there = function(fit) inherits(fit$settings$noise, "kb_noise_class"),
    says = c(
      "The evidence is not defined for separate rates of wrong labels.",
      x = "The noise has the prior {.fn noise_class}.",
      i = "Compare fits with {.fn noise_beta}."
    )
  )
)

#' Refuse a method for fits that are or lack one of these
#' @param ... Names of rows of `lacking`.
#' @noRd
refuse_where <- function(fit, what, ...) {
  for (row in lacking[c(...)]) {
    if (!row$there(fit)) next
    says <- if (is.function(row$says)) row$says(fit) else row$says
    class <- if (is.null(row$class)) "not_defined" else row$class
    rlang::inject(kb_abort(says, class, !!!c(argument = row$argument)))
  }
}
