# Layouts of srvm fits: see fit-layout.R.

srvm_layout <- c(layout(
  data = holds(layout(x = numeric_matrix())),
  .rows = nrow(data$x), .columns = ncol(data$x),
  control = holds(control_layout), settings = holds(srvm_settings_layout),
  .factor = settings$family == "probit",
  data = holds(layout(y = response_of(
    if (factor) "factor" else "numeric", rows, settings$levels
  ), weights = maybe(positive(rows)))),
  order = strings(1, c("given", "random"))
), fit_layout_of_data, layout(
  data = holds(layout(mixed = where(
    !is.null(mould$mixed) || !is.null(data$mixed),
    numeric_matrix(rows, length(mould$mixed$columns))
  ))),
  .same = rule(
    identical(mould$levels, settings$levels), "of one set of classes"
  ),
  .fixed = n_fixed(settings), .kernels = n_kernels(settings),
  .weighted = rule(
    length(settings$prior$kernels) %in% c(if (kernels == 1) 0, kernels),
    "of a prior weight for each kernel"
  ),
  .a_row = kernels_a_row(settings),
  simd = where(learns_scales(settings), strings(1, simd_sets)),
  runs = each(maybe(holds(layout_of_run))),
  .alike = rule(
    length(runs) > 0 && srvm_runs_alike(runs, time),
    "of runs with the same candidates"
  ),
  replaced_seconds = maybe(numbers(1, 0)), .n_runs = length(runs),
  sharing = maybe(holds(layout(
    shares = maybe(srvm_shares(kernels)),
    runs = where(!is.null(shares), each(maybe(holds(layout_of_run)), n_runs))
  )))
))

srvm_runs_alike <- function(runs, time) {
  whole <- Filter(function(run) state_time(run) == time, runs)
  rows <- lapply(whole, `[[`, "candidate_rows")
  length(rows) < 2 || all(vapply(rows[-1], identical, NA, rows[[1]]))
}

# Settings ---------------------------------------------------------------------

srvm_settings_layout <- layout(
  kernel = such_that(function(kernel) are_srvm_kernels(kernel, columns), paste(
    "one kernel or several for points of", counted(columns, "column")
  )),
  prior = holds(srvm_prior_layout),
  scale = one_scale(), scaling = holds(scaling_layout), intercept = flags(),
  linear = holds(layout(centre = numbers(NULL), scale = numbers(1, 0))),
  limits = holds(layout(
    noise = such_that(are_limits, "two limits"),
    coef = such_that(are_limits, "two limits")
  )),
  shift = numbers(), family = strings(1, srvm_families),
  levels = where(family == "probit", strings(2)),
  memory = holds(srvm_memory_layout),
  inverse_bandwidth = where(learns_scales(list(kernel = kernel)), positive()),
  bandwidth_rows = maybe(counts(1, 1)),
  shares = maybe(srvm_shares(n_kernels(list(kernel = kernel))))
)

# Particles of the kernels, see srvm-scales.R
srvm_shares <- function(kernels) {
  such_that(function(shares) {
    is.double(shares) && length(shares) == kernels &&
      is_within(shares, list(lower = 1e-9, upper = kernels))
  }, paste("positive shares of", counted(kernels, "kernel")))
}

are_limits <- function(v) {
  is.double(v) && length(v) == 2 && !anyNA(v) && all(v >= 0)
}

are_srvm_kernels <- function(kernel, columns) {
  if (inherits(kernel, "kb_kernel")) {
    if (is_ard(kernel)) kernel <- kernel_fill(kernel, "ard", 1)
    return(is_resolved(kernel, columns))
  }
  parts <- if (is_dictionary(kernel)) unclass(kernel)$parts else kernel
  is.list(parts) && length(parts) > 0 &&
    all(vapply(parts, is_resolved, NA, columns))
}

srvm_prior_layout <- layout(
  lambda = such_that(is_count_prior, "a positive number or `lambda_gamma()`"),
  kmax = counts(), centres = strings(1, c("subset", "iid")),
  noise = such_that(is_variance_prior, "a prior of a variance"),
  coef = such_that(is_variance_prior, "a prior of a variance"),
  scaled = maybe(flags()),
  kernels = such_that(function(p) {
    is.null(p) || is.double(p) && is_within(p, list(lower = 0, upper = Inf)) &&
      sum(p) > 0
  }, "weights of the kernels"),
  df = such_that(is_df, "a positive number or Inf, or positive numbers"),
  ard = maybe(positive(1)), linear = maybe(numbers(1, 0)),
  coef_df = such_that(function(df) {
    is.null(df) || is.double(df) && length(df) == 1 && isTRUE(df >= 0.5)
  }, "a number of at least 0.5, or Inf")
)

is_df <- function(df) {
  is.null(df) || is.double(df) && length(df) > 0 && isTRUE(all(df > 0)) &&
    (length(df) == 1 || all(is.finite(df)))
}

is_count_prior <- function(lambda) {
  wanted <- if (inherits(lambda, "kb_lambda_gamma")) 2 else 1
  lambda <- unlist(lambda, use.names = FALSE)
  is.double(lambda) && length(lambda) == wanted &&
    is_within(lambda, list(lower = .Machine$double.xmin, upper = Inf))
}

is_variance_prior <- function(prior) {
  if (!inherits(prior, "kb_variance_prior") || !is.list(prior)) {
    return(FALSE)
  }
  least <- if (inherits(prior, "kb_ig_improper")) 0 else .Machine$double.xmin
  needed <- if (inherits(prior, "kb_fixed")) "variance" else c("shape", "scale")
  if (inherits(prior, "kb_ig_improper")) needed <- c(needed, "start")
  all(vapply(unclass(prior)[needed], function(v) {
    is.double(v) && length(v) == 1 &&
      is_within(v, list(lower = least, upper = Inf))
  }, NA))
}

srvm_memory_layout <- layout(
  window = such_that(is_bound, "a whole number of at least 1, or Inf"),
  forgetting = numbers(1, .Machine$double.xmin, 1),
  candidates = such_that(is_bound, "a whole number of at least 1, or Inf"),
  keep_rows = such_that(function(n) is.null(n) || is_bound(n), paste(
    "a whole number of at least 1, or Inf"
  )),
  bandwidth_rows = such_that(function(n) is.null(n) || is_bound(n), paste(
    "a whole number of at least 1, or Inf"
  ))
)

is_bound <- function(n) {
  identical(n, Inf) || is.integer(n) && length(n) == 1 && isTRUE(n > 0)
}

# Runs -------------------------------------------------------------------------

# Particles or draws; numbers up to `candidates` may be centres
srvm_particles_layout <- layout(
  k = counts(NULL), .n = length(k), .p = k + fixed, .total = sum(p),
  sets = counts(sum(k), 1, candidates),
  noise = positive(n), coef = positive(n),
  factor = triangles(p), z = numbers(total),
  log_inverse = where(learns_scales(settings), numbers(n * columns)),
  spread = where(is.finite(coef_df(settings$prior)), positive(sum(k))),
  df = where(length(settings$prior$df) > 1, positive(n))
)

srvm_draws_layout <- layout(
  beta = numbers(total), noise = positive(n), coef = positive(n)
)

#' Training rows by number of candidate, NA where it is free
#' @param past The last dropped row.
#' @noRd
candidate_rows_up_to <- function(last, past = 0L) {
  such_that(function(v) {
    is.integer(v) && all(is.na(v) | v > past & v <= last)
  }, paste("rows from", past + 1L, "to", last))
}

srvm_run_layout <- c(layout(
  time = counts(1, past, rows + past), .steps = time - past,
  candidate_rows = candidate_rows_up_to(rows + past, past),
  .candidates = length(candidate_rows)
), srvm_particles_layout, layout(
  .living = rule(!anyNA(candidate_rows[sets]), "of centres that there are"),
  log_evidence = numbers(), relative_variance = any_numbers(),
  weights = unit_weights(n),
  genealogy = holds(layout(
    founders = counts(n), resamplings = tallies()
  )),
  path = holds(srvm_path_layout),
  past = where(steps < time, holds(srvm_past_layout)),
  .kept = control$ancestry,
  ancestors = where(kept != "summary", counts(n * (time - 1), 0, n - 1)),
  history = where(kept == "full", holds(layout(
    weights = numbers(n * time, 0, 1), k = counts(n * time),
    rows = counts(sum(k))
  ))),
  seconds = numbers(1, 0), shared_seconds = numbers(1, 0),
  draws = holds(srvm_draws_layout)
))

srvm_path_layout <- layout(
  log_increment = numbers(steps), log_lost = any_numbers(steps),
  log_predictive = any_numbers(steps), ess = numbers(steps, 0),
  ess_lowest = numbers(steps, 0), increases = counts(steps, 1),
  founders = counts(steps), particles = counts(steps, 1),
  resampled = counts(steps, 0, 1), mean_k = numbers(steps, 0),
  mean_sigma = any_numbers(steps), tried = numbers(3 * steps, 0),
  accepted = numbers(3 * steps, 0)
)

# Sums over the steps before these, see srvm-streams.R
srvm_past_layout <- layout(
  log_evidence = numbers(), tried = numbers(3, 0), accepted = numbers(3, 0)
)

srvm_chain_run_layout <- c(layout(
  time = counts(1, 0, control$warmup + control$iter),
  candidate_rows = candidate_rows_up_to(rows),
  .candidates = length(candidate_rows)
), srvm_particles_layout, layout(
  .kept = rule(n == draws_after(time, control), "a run with every kept draw"),
  .living = rule(!anyNA(candidate_rows[sets]), "of centres that there are"),
  tried = tallies(3), accepted = tallies(3), seconds = numbers(1, 0),
  draws = holds(c(srvm_draws_layout, layout(
    log_lik = where(is_latent(settings), numbers(n))
  )))
))

# The number of draws that a chain has kept by then
draws_after <- function(time, control) {
  max(time - control$warmup, 0) %/% control$thin
}
