# Layouts of bark fits: see fit-layout.R.

#' @noRd
bark_layout <- c(layout(
  data = holds(layout(x = numeric_matrix())),
  .rows = nrow(data$x), .columns = ncol(data$x),
  control = holds(mcmc_control_layout), settings = holds(bark_settings_layout),
  .classed = settings$family != "gaussian"
), fit_layout_of_data, layout(
  data = holds(layout(
    y = response_of(
      if (classed) "factor" else "numeric", rows, mould$levels
    ),
    weights = maybe(positive(rows))
  )),
  # Kernels around rows are at none.
  .nowhere = if (is.null(settings$prior$centre_sd)) 0 else -1,
  runs = each(maybe(holds(layout_of_run))),
  .some = rule(length(runs) > 0, "of a run at least")
))

#' @noRd
bark_settings_layout <- layout(
  family = strings(1, c("gaussian", "probit", "ordered", "multinomial")),
  prior = holds(bark_prior_layout), scaling = holds(scaling_layout),
  scale = flags(), prior_only = flags()
)

#' @noRd
bark_prior_layout <- layout(
  type = strings(1, c(
    "equal", "different", "select_equal", "select_different"
  )),
  alpha = positive(), eps = positive(), gamma = positive(),
  nu = numbers(1, .Machine$double.xmin, .Machine$integer.max),
  A = positive(), B = positive(), a_p = positive(), b_p = positive(),
  noise_fixed = maybe(flags()), improper = maybe(flags()),
  noise_shape = where(!isTRUE(noise_fixed), numbers(1, 0)),
  noise_rate = where(!isTRUE(noise_fixed), numbers(1, 0)),
  noise_precision = where(isTRUE(noise_fixed), positive()),
  df = maybe(such_that(
    function(df) is.double(df) && length(df) == 1 && isTRUE(df > 0),
    "a positive number or Inf"
  )),
  centre_weights = maybe(numbers(NULL, 0)), centre_sd = maybe(positive()),
  own_scales = maybe(flags()), directions = maybe(counts(1, 1)),
  approximation = maybe(strings(1, c("continuous", "truncation")))
)

#' As the user gives it
#' @noRd
bark_prior_given_layout <- layout(
  type = strings(1, bark_types), alpha = positive(), eps = positive(),
  gamma = positive(), scales = positive(2), selection = maybe(such_that(
    function(v) is.double(v) && length(v) == 2 && all(is.na(v) | v > 0),
    "two positive numbers"
  )),
  n_signals = maybe(positive()), noise = maybe(such_that(
    is_noise_prior, "a prior of the noise"
  )),
  df = such_that(
    function(df) is.double(df) && length(df) == 1 && isTRUE(df > 0),
    "a positive number or Inf"
  ),
  centres = maybe(holds(layout(
    weights = maybe(numbers(NULL, 0)), intercept = maybe(numbers(1, 0, 1)),
    sd = maybe(positive())
  ), "kb_centres")),
  own_scales = flags(), directions = maybe(counts(1, 1)),
  approximation = maybe(strings(1, c("continuous", "truncation")))
)

#' @noRd
is_noise_prior <- function(prior) {
  if (!inherits(prior, "kb_noise_prior")) {
    return(is_variance_prior(prior))
  }
  improper <- inherits(prior, "kb_noise_improper")
  least <- if (improper) 0 else .Machine$double.xmin
  all(vapply(unclass(prior)[c("shape", "rate")], function(v) {
    is.double(v) && length(v) == 1 &&
      is_within(v, list(lower = least, upper = Inf))
  }, NA))
}

# Runs -------------------------------------------------------------------------

#' @noRd
bark_run_layout <- layout(
  time = counts(1, 0, control$warmup + control$iter),
  .draws_kept = draws_after(time, control),
  .shared = if (isTRUE(settings$prior$own_scales)) 0 else
    draws_kept * n_inputs(fit),
  .truncated = identical(settings$prior$approximation, "truncation"),
  draws = holds(c(bark_draws_layout, bark_noise_layout, bark_shapes_layout)),
  seconds = numbers(1, 0), tried = numbers(NULL, 0),
  accepted = numbers(length(tried), 0)
)

#' Draws of a field: slot by slot, and predictor by predictor
#' @noRd
bark_draws_layout <- layout(
  m = counts(draws_kept), .slots = sum(m),
  location = integers(slots, nowhere, rows), copies = counts(slots),
  included = counts(shared, 0, 1), log_lambda = numbers(shared),
  beta = numbers(slots),
  variance = where(!truncated, numbers(slots, 0)),
  factor = if (truncated) numbers(0) else triangles(m),
  z = numbers(if (truncated) 0 else slots)
)

#' @noRd
bark_noise_layout <- layout(
  noise = positive(draws_kept), log_likelihood = any_numbers(draws_kept),
  cuts = where(settings$family == "ordered", numbers(
    draws_kept * (length(mould$levels) - 1)
  ))
)

#' @noRd
bark_shapes_layout <- layout(
  centre = where(!is.null(settings$prior$centre_sd), numbers(slots * columns)),
  own_included = where(
    isTRUE(settings$prior$own_scales), counts(slots * columns, 0, 1)
  ),
  own_log_lambda = where(
    isTRUE(settings$prior$own_scales), numbers(slots * columns)
  ),
  directions = where(
    has_directions(fit), numbers(draws_kept * columns * n_inputs(fit))
  )
)

#' @noRd
bark_fields_run_layout <- layout(
  time = counts(1, 0, control$warmup + control$iter),
  .draws_kept = draws_after(time, control), .shared = draws_kept * columns,
  .truncated = FALSE,
  draws = holds(layout(
    fields = each(holds(bark_draws_layout), length(mould$levels)),
    log_likelihood = any_numbers(draws_kept)
  )),
  seconds = numbers(1, 0), tried = numbers(NULL, 0),
  accepted = numbers(length(tried), 0)
)

# What update() needs ----------------------------------------------------------

#' @noRd
bark_resume_layout <- layout(
  .classed = settings$family != "gaussian",
  .student = isTRUE(is.finite(settings$prior$df)),
  states = each(holds(bark_state_layout), control$n_temps),
  steps = each(holds(bark_steps_layout), control$n_temps),
  rng = stream_words()
)

#' @noRd
bark_fields_resume_layout <- layout(
  .classed = TRUE, .student = FALSE, .classes = length(mould$levels),
  levels = each(holds(layout(
    fields = each(holds(bark_state_layout), classes),
    steps = each(holds(bark_steps_layout))
  )), control$n_temps),
  rng = stream_words()
)

#' @noRd
bark_truncated_resume_layout <- layout(
  .classed = settings$family != "gaussian",
  states = each(holds(bark_truncated_state_layout), control$n_temps),
  steps = each(holds(bark_steps_layout), control$n_temps),
  swapped = numbers(NULL), log_ratio = numbers(NULL), rng = stream_words()
)

#' @noRd
bark_state_layout <- layout(
  .nowhere = if (is.null(settings$prior$centre_sd)) 0 else -1,
  location = integers(NULL, nowhere, rows), .slots = length(location),
  copies = counts(slots, 1),
  .added = rule(sum(as.double(copies)) <= 1e9, "of copies that can be added"),
  each = counts(slots), varphi = positive(sum(each)),
  log_lambda = numbers(n_inputs(fit)),
  included = counts(n_inputs(fit), 0, 1),
  directions = where(
    has_directions(fit), numeric_matrix(columns, n_inputs(fit))
  ),
  phi = positive(), log_likelihood = numbers(),
  latent = numbers(if (classed) rows else 0),
  row_weights = where(student, positive(rows)),
  log_gaps = where(settings$family == "ordered", maybe(numbers(
    length(mould$levels) - 2
  ))),
  .updated = if (length(.object$gram) > 0) slots else 0,
  gram = numeric_matrix(updated, updated),
  exponents = numeric_matrix(if (updated > 0) rows else 0, updated),
  covariance = numeric_matrix(updated, updated),
  product = numbers(updated), mean = numbers(updated),
  .kernels = sum(location != 0) * columns,
  own_included = maybe(counts(kernels, 0, 1)),
  own_log_lambda = where(!is.null(own_included), optional_numbers(kernels)),
  centre = where(!is.null(own_included), optional_numbers(kernels))
)

#' Numbers, or none
#' @noRd
optional_numbers <- function(length) {
  such_that(function(v) {
    is.double(v) && length(v) %in% c(0, length) && all_finite(v)
  }, paste(format(length), "finite numbers or none"))
}

#' @noRd
bark_truncated_state_layout <- layout(
  location = counts(NULL, 0, rows), beta = numbers(length(location)),
  log_lambda = numbers(columns), included = counts(columns, 0, 1),
  phi = positive(), latent = numbers(if (classed) rows else 0)
)

#' @noRd
bark_steps_layout <- layout(
  # What all fields of classes share has no scales.
  log_length = such_that(function(v) {
    is.double(v) && length(v) %in% c(3, n_inputs(fit) + 3) && all_finite(v)
  }, paste(n_inputs(fit) + 3, "finite numbers")),
  times = tallies(length(log_length)),
  cuts = maybe(holds(layout(
    log_length = numbers(length(mould$levels) - 2),
    times = tallies(length(log_length))
  ))),
  directions = maybe(holds(layout(
    log_length = numbers(n_inputs(fit)), times = tallies(length(log_length))
  )))
)
