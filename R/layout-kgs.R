# Layouts of kgs fits and Bayes points: see fit-layout.R.

kgs_layout <- c(layout(
  data = holds(layout(x = numeric_matrix())),
  .rows = nrow(data$x), .columns = ncol(data$x),
  control = holds(mcmc_control_layout)
), fit_layout_of_data, layout(
  data = holds(layout(
    y = classes(rows, mould$levels), weights = maybe(positive(rows))
  )),
  settings = holds(kgs_settings_layout),
  .functions = if (settings$classes == 2) 1 else settings$classes,
  .n_rates = if (settings$noise$kind == "class") 2 else 1,
  first_warmup = maybe(counts()),
  starts = maybe(each(maybe(numbers(NULL)))),
  runs = each(maybe(holds(layout_of_run))),
  .some = rule(length(runs) > 0, "of a run at least")
))

kgs_settings_layout <- layout(
  classes = counts(1, length(mould$levels), length(mould$levels)),
  method = strings(1, setdiff(kgs_methods, "auto")),
  kernel = if (method == "leapfrog") learnable_kernel(columns) else {
    resolved_kernel(columns)
  },
  noise = holds(label_noise_layout), bias = numbers(1, 0),
  nugget = if (method == "leapfrog") such_that(
    is_noisy_nugget, "a positive number or \"learn\""
  ) else numbers(1, 0),
  .blocks = rule(
    method != "block" || classes == 2 && nugget > 0, "a method for its classes"
  ),
  scaling = holds(scaling_layout), scale = one_scale(),
  rank_limit = such_that(is_bound, "a whole number or Inf"),
  basis = holds(span_layout),
  explained = where(method == "block", numeric_matrix(rank_of(basis), rank_of(
    basis
  ))),
  class_weights = maybe(positive(classes)),
  noisy = where(method == "leapfrog", holds(noisy_layout))
)

positive_matrix <- function(rows, columns) {
  such_that(function(v) {
    is.double(v) && identical(dim(v), as.integer(c(rows, columns))) &&
      all(is.finite(v) & v > 0)
  }, "a matrix of positive numbers")
}

# What the sampler "leapfrog" starts from; see noisy_config().
noisy_layout <- layout(
  noise = holds(label_noise_layout),
  scale = holds(layout(
    learned = flags(), log_s = numbers(), sd = positive()
  )),
  .own = core_kernel(kernel),
  learned = maybe(holds(layout(
    kernel = such_that(function(v) identical(v, own), "that of the settings"),
    pivots = numeric_matrix(rank_of(basis), columns), bias = numbers(1, 0),
    offset = numbers(columns), design = numeric_matrix(columns)
  ))),
  .directions = if (is.null(learned)) 0 else ncol(learned$design),
  sites = holds(layout(
    information = positive_matrix(
      rows, if (classes == 2) 1 else classes
    ),
    eta = numeric_matrix(rows, classes - 1),
    slope = numeric_matrix(rows, classes - 1)
  )),
  proposal = holds(layout(
    centre = numbers(directions), slope = numbers(directions),
    root = numeric_matrix(directions, directions)
  )),
  start = holds(layout(
    log_s = numbers(), sd = numbers(1, 0), rate = numbers(1, 0, 1)
  ))
)

is_noisy_nugget <- function(v) identical(v, "learn") || is_positive_number(v)

learnable_kernel <- function(columns) {
  such_that(function(kernel) {
    which <- if (is.list(kernel)) kernel$bandwidth
    if (identical(which, "ard") || identical(which, "learn")) {
      kernel$bandwidth <- 1
    }
    is_resolved(kernel, columns)
  }, "a kernel for its points")
}

rank_of <- function(basis) nrow(basis$points)

span_layout <- layout(
  kernel = resolved_kernel(columns), points = numeric_matrix(NULL, columns),
  factor = cholesky_factor(nrow(points)), unexplained = numbers()
)

label_noise_layout <- layout(
  kind = strings(1, c("fixed", "beta", "class")),
  rate = where(kind == "fixed", numbers(1, 0, 1)),
  a = where(kind != "fixed", positive()), b = where(kind != "fixed", positive())
)

kgs_run_layout <- layout(
  time = counts(1, 0, control$warmup + control$iter),
  .draws_kept = length(.object$draws$wrong) %/% settings$classes,
  draws = holds(layout(
    w = numbers(draws_kept * rank_of(settings$basis) * functions),
    rates = numbers(draws_kept * n_rates, 0, 1),
    wrong = counts(draws_kept * settings$classes, 0, rows),
    flipped = numbers(rows, 0)
  )),
  # Further rows continue from it.
  levels = where(settings$method != "block", each(holds(layout(
    g = numbers(kgs_dimension(fit))
  )), 1)),
  seconds = numbers(1, 0)
)

noisy_run_layout <- layout(
  time = counts(1, 0, control$warmup + control$iter),
  .draws_kept = length(.object$draws$log_lik),
  .bandwidths = if (is.null(settings$noisy$learned)) 0 else columns,
  draws = holds(layout(
    w = numbers(draws_kept * rank_of(settings$basis) * (settings$classes - 1)),
    log_s = numbers(draws_kept, -500, 500), rates = numbers(
      draws_kept * n_rates, 0, 1
    ), log_inverse = numbers(draws_kept * bandwidths),
    log_lik = numbers(draws_kept),
    wrong = numbers(draws_kept * settings$classes, 0, rows),
    flipped = numbers(rows, 0)
  )),
  seconds = numbers(1, 0)
)

bayes_point_layout <- layout(
  points = numeric_matrix(), .columns = ncol(points), .columns_x = columns,
  kernel = resolved_kernel(columns), scaling = holds(scaling_layout),
  mould = holds(mould_layout, "kb_mould"),
  levels = strings(length(mould$levels), mould$levels),
  alpha = numeric_matrix(nrow(points), if (length(levels) == 2) 1 else
    length(levels)),
  explained = numbers(1, 0)
)
