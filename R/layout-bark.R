# Layouts of bark fits: see fit-layout.R.

bark_layout <- c(layout(
  data = holds(layout(x = numeric_matrix())),
  .rows = nrow(data$x), .columns = ncol(data$x),
  control = holds(mcmc_control_layout), settings = holds(bark_settings_layout),
  .outcome = family_outcome(settings$family)
), fit_layout_of_data, layout(
  simd = strings(1, simd_sets),
  data = holds(layout(
    y = response_of(outcome, rows, mould$levels),
    weights = maybe(positive(rows)),
    mixed = where(!is.null(settings$mixed), numeric_matrix(
      rows, length(mould$mixed$columns)
    )),
    mixed = where(!is.null(settings$mixed), such_that(function(v) {
      are_group_numbers(v, mould$mixed)
    }, "a matrix with numbers of known groups"))
  )),
  .mixed = settings$mixed,
  # Kernels around rows are at none.
  .nowhere = if (is.null(settings$prior$centre_sd)) 0 else -1,
  runs = each(maybe(holds(layout_of_run))),
  .some = rule(length(runs) > 0, "of a run at least")
))

# Numbers of groups are indices
are_group_numbers <- function(mixed, recipe) {
  all(mapply(function(columns, group) {
    mixed[, columns[[1]]] %in% seq_along(group$levels)
  }, recipe$group_columns, recipe$groups), TRUE)
}

bark_settings_layout <- layout(
  family = strings(1, stored_families),
  prior = holds(bark_prior_layout), scaling = holds(scaling_layout),
  scale = one_scale(), prior_only = flags(),
  mixed = maybe(holds(layout(
    sd = positive(NULL), .q = length(sd), center = numbers(q),
    scale = positive(q), groups = each(holds(layout(
      scale = positive(NULL), sd = positive(length(scale))
    )))
  ))),
  varying = maybe(holds(bark_varying_layout))
)

bark_varying_layout <- layout(
  names = strings(NULL), columns = counts(NULL, 1),
  prior = holds(bark_prior_layout), mean = numbers(), sd = positive(),
  floor = numbers()
)

bark_prior_layout <- c(layout(
  type = strings(1, bark_types),
  alpha = positive(), eps = positive(), gamma = numbers(1, 0),
  nu = numbers(1, 0, .Machine$integer.max),
  A = positive(), B = positive(), a_p = positive(), b_p = positive(),
  groups = maybe(each(counts(NULL, 1))),
  noise_fixed = maybe(flags()), improper = maybe(flags()),
  noise_shape = where(!isTRUE(noise_fixed), numbers(1, 0)),
  noise_rate = where(!isTRUE(noise_fixed), numbers(1, 0)),
  noise_precision = where(isTRUE(noise_fixed), positive())
), unlist(unname(lapply(bark_options, `[[`, "told_layout")), recursive = FALSE))

# Runs -------------------------------------------------------------------------

bark_run_layout <- layout(
  time = counts(1, 0, control$warmup + control$iter),
  .draws_kept = draws_after(time, control),
  .shared = if (isTRUE(settings$prior$own_scales)) 0 else
    draws_kept * n_inputs(fit),
  # Draws of the coefficients only
  .truncated = keeps_coefficients(fit),
  draws = holds(c(
    bark_draws_layout, bark_noise_layout, bark_shapes_layout,
    bark_mixed_draws_layout, bark_varying_draws_layout
  )),
  seconds = numbers(1, 0), tried = numbers(NULL, 0),
  accepted = numbers(length(tried), 0)
)

# Draws of a field: slot by slot, and predictor by predictor
bark_draws_layout <- layout(
  m = counts(draws_kept), .slots = sum(m),
  location = integers(slots, nowhere, rows), copies = counts(slots),
  included = counts(shared, 0, 1), log_lambda = numbers(shared),
  beta = numbers(slots),
  variance = where(!truncated, numbers(slots, 0)),
  factor = if (truncated) numbers(0) else triangles(m),
  z = numbers(if (truncated) 0 else slots)
)

bark_noise_layout <- layout(
  df = where(length(settings$prior$df) > 1, positive(draws_kept)),
  parameters = where(is_glm(fit), positive(
    draws_kept * length(family_of(fit)$parameters)
  )),
  noise = positive(draws_kept), log_likelihood = any_numbers(draws_kept),
  cuts = where(is_ordered(fit), numbers(
    draws_kept * (length(mould$levels) - 1)
  ))
)

# Those of the log variance
bark_varying_draws_layout <- layout(
  varying = where(has_varying_noise(fit), holds(layout(
    m = counts(draws_kept), .slots = sum(m),
    location = integers(slots, 0, rows), copies = counts(slots),
    included = integers(0), log_lambda = numbers(0), beta = numbers(slots),
    factor = numbers(0), z = numbers(0),
    own_included = counts(slots * columns, 0, 1),
    own_log_lambda = numbers(slots * columns), intercept = numbers(draws_kept)
  )))
)

bark_mixed_draws_layout <- layout(
  .sizes = if (has_terms(fit)) draws_kept * mixed_sizes(fit),
  gamma = where(has_terms(fit), numbers(sizes[["gamma"]])),
  effects = where(has_terms(fit), numbers(sizes[["effects"]])),
  covariances = where(has_terms(fit), numbers(sizes[["covariances"]])),
  level = where(has_terms(fit), numbers(draws_kept)),
  slopes = where(has_linear_slopes(fit), numbers(sizes[["slopes"]])),
  slope_sd = where(has_linear_slopes(fit), positive(draws_kept))
)

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

bark_fields_run_layout <- layout(
  time = counts(1, 0, control$warmup + control$iter),
  .draws_kept = draws_after(time, control),
  .shared = if (isTRUE(settings$prior$own_scales)) 0 else draws_kept * columns,
  .truncated = keeps_coefficients(fit),
  draws = holds(layout(
    fields = each(
      holds(c(bark_draws_layout, bark_mixed_draws_layout, bark_shapes_layout)),
      length(mould$levels)
    ),
    log_likelihood = any_numbers(draws_kept)
  )),
  seconds = numbers(1, 0), tried = numbers(NULL, 0),
  accepted = numbers(length(tried), 0)
)
