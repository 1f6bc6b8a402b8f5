# Layouts of the parts of fits that several engines share: see fit-layout.R.

# Known to all of them: `rows` and `columns` of the predictors.

map_layout <- layout(
  kernel = such_that(is_custom, "a kernel with a part of the user's own"),
  points = such_that(function(v) {
    is.matrix(v) && is.double(v) && all_finite(v)
  }, "a numeric matrix"),
  axes = such_that(function(v) {
    is.matrix(v) && is.double(v) && all_finite(v)
  }, "a numeric matrix"),
  size = positive(nrow(points)),
  .fit = rule(nrow(points) == nrow(axes), "of as many rows")
)

scaling_layout <- layout(
  x_center = numbers(columns), x_scale = positive(columns),
  y_center = numbers(), y_scale = positive(), x_log = maybe(holds(layout(
    side = numbers(columns, -1, 1), from = numbers(columns),
    unit = positive(columns)
  ))),
  map = maybe(holds(map_layout))
)

mould_layout <- layout(
  interface = strings(1, c("formula", "xy")),
  columns = each(holds(column_layout)), .wide = rule(
    interface == "formula" || sum(column_widths(columns)) == columns_x,
    "of as many columns as it says"
  ),
  x_names = strings(columns_x),
  positional = flags(), n_rows = counts(), omitted = counts(NULL, 1, n_rows),
  row_names = maybe(strings(NULL)),
  variables = maybe(such_that(function(v) {
    is.data.frame(v) && all(vapply(unclass(v), is.atomic, NA))
  }, "a data frame")),
  outcome = strings(1, outcome_kinds), outcome_name = strings(),
  outcome_columns = maybe(strings(NULL)), levels = maybe(strings(NULL)),
  formula = where(interface == "formula", such_that(
    rlang::is_formula, "a formula"
  )),
  terms = where(interface == "formula", such_that(is_mould_terms,
    "the terms of a formula with a response"
  )),
  xlevels = maybe(each(distinct_strings())),
  assign = where(interface == "formula", counts(
    columns_x, 1, length(attr(terms, "term.labels"))
  )),
  mixed = maybe(holds(mixed_layout)),
  fields = maybe(each(counts(NULL, 1, columns_x))),
  constant = maybe(named_numbers())
)

# See mixed_learn().
mixed_layout <- layout(
  columns = strings(NULL), .wide = length(columns),
  names = maybe(strings(NULL)),
  linear_columns = counts(NULL, 1, wide),
  offset_column = such_that(function(v) {
    (is.null(v) || is.numeric(v)) && length(v) < 2 &&
      all(v %in% seq_len(wide))
  }, "at most one column"),
  linear = maybe(holds(layout(
    terms = such_that(function(v) inherits(v, "terms"), "terms"),
    xlevels = each(distinct_strings()),
    assign = counts(length(linear_columns), 1),
    kept = counts(length(linear_columns), 2),
    constant = maybe(named_numbers())
  ))),
  groups = each(holds(layout(
    label = strings(), levels = distinct_strings(),
    coefficients = distinct_strings(), constant = maybe(named_numbers()),
    terms = such_that(function(v) inherits(v, "terms"), "terms")
  ))),
  group_columns = each(counts(NULL, 1, wide), length(groups)),
  .fit = rule(
    identical(lengths(group_columns), 1L + lengths(lapply(
      groups, `[[`, "coefficients"
    ))), "a column for each coefficient of groups"
  )
)

# Terms as from model.frame(), consistent with their formula
is_mould_terms <- function(x) {
  again <- stats::terms(stats::formula(x))
  said <- c(
    "variables", "factors", "term.labels", "order", "intercept", "response"
  )
  learned <- attr(x, "predvars")
  classes <- attr(x, "dataClasses")
  inherits(x, "terms") && attr(again, "response") == 1 &&
    identical(attributes(x)[said], attributes(again)[said]) &&
    is.call(learned) && identical(learned[[1]], quote(list)) &&
    length(learned) == length(attr(x, "variables")) &&
    is.character(classes) && length(names(classes)) == length(learned) - 1
}

# The number of numeric columns for each column
column_widths <- function(columns) {
  vapply(columns, function(column) {
    switch(column$kind,
      factor = length(column$levels), matrix = column$width, 1L
    )
  }, 1L)
}

distinct_strings <- function() {
  such_that(function(v) {
    is.character(v) && !anyNA(v) && !anyDuplicated(v)
  }, "distinct strings")
}

# Values by column
named_numbers <- function() {
  such_that(function(v) {
    is.double(v) && all_finite(v) && is.character(names(v)) &&
      !anyNA(names(v))
  }, "named numbers")
}

column_layout <- layout(
  kind = strings(1, c("numeric", "factor", "ordered", "matrix", "raw")),
  levels = where(kind %in% c("factor", "ordered"), distinct_strings()),
  width = where(kind == "matrix", counts(1, 1)),
  names = where(kind == "matrix", strings(width)),
  like = where(kind == "raw", such_that(function(v) {
    is.atomic(v) && length(v) == 0
  }, "no value of a type"))
)

# Settings for stopping and saving a run, part of every control
stopping_layout <- layout(
  checkpoint = maybe(strings()),
  checkpoint_every = such_that(is_seconds, "a number of seconds"),
  overwrite = flags(),
  time_limit = such_that(is_seconds, "a number of seconds")
)

is_seconds <- function(x) is.double(x) && length(x) == 1 && !is.na(x) && x > 0

smc_settings_layout <- c(layout(
  n_moves = counts(),
  proposal = strings(1, c("adapted", "birth_death", "paper")),
  resampling = strings(1, c(
    "systematic", "stratified", "residual", "multinomial", "minimum-entropy"
  )),
  ess_threshold = numbers(1, 0, 1), replicates = counts(1, 1),
  threads = counts(1, 1), resample_every_step = flags(),
  move_fraction = numbers(1, 1e-300, 0.5),
  ancestry = strings(1, c("summary", "genealogy", "full")),
  sweep_every = counts(1, 1), pilot = numbers(1, 0, 1)
), stopping_layout)

smc_control_layout <- c(layout(particles = counts(1, 1)), smc_settings_layout)

convergence_layout <- layout(
  rhat = numbers(1, 1), ess = positive(1), max_iter = counts(1, 1),
  error = maybe(positive(1))
)

mcmc_settings_layout <- c(layout(
  chains = counts(1, 1), n_moves = counts(),
  move_fraction = numbers(1, 1e-300, 0.5), n_temps = counts(1, 1),
  sweep = strings(1, c("full", "single")), threads = maybe(counts(1, 1)),
  until = maybe(holds(convergence_layout, "kb_convergence"))
), stopping_layout)

mcmc_control_layout <- c(layout(
  warmup = counts(), iter = counts(1, 1, .Machine$integer.max - warmup),
  thin = counts(1, 1, iter)
), mcmc_settings_layout)

# Summaries of dropped rows, see srvm-streams.R
past_layout <- layout(
  .held = rows, rows = counts(1, 1, 1e9), .last = rows + held,
  numbers = such_that(function(v) {
    is.integer(v) && length(v) == held && !is.unsorted(v, strictly = TRUE) &&
      is_within(v, list(lower = 1, upper = last))
  }, "increasing numbers of the rows that are left"),
  cumulative = any_numbers(),
  lowest = holds(layout(
    fraction = numbers(1, 0), at = counts(1, 1, last)
  ))
)

# The parts of every fit that all methods use
fit_layout_of_data <- layout(
  .columns_x = columns,
  mould = holds(mould_layout, "kb_mould"),
  .named = rule(
    length(mould$row_names) %in% c(0, rows), "with a name for each row"
  ),
  .varied = rule(
    all(vapply(unclass(mould$variables), NROW, 1L) == rows),
    "with variables for each row"
  ),
  sequence = such_that(function(v) {
    is.integer(v) && length(v) == rows && !anyNA(v) && !anyDuplicated(v) &&
      is_within(v, list(lower = 1, upper = rows))
  }, "an order of the rows"),
  seed = such_that(is_seed, "a whole number"),
  past = maybe(holds(past_layout)), .past = n_past(.object),
  # All rows are in the model of a chain from the first iteration on.
  .least = if (inherits(fit, "kb_mcmc")) rows else past,
  time = counts(1, least, rows + past),
  status = strings(1, c("started", "complete", "interrupted", "time_limit")),
  seconds = numbers(1, 0)
)

is_seed <- function(seed) {
  is.numeric(seed) && length(seed) == 1 &&
    isTRUE(seed == round(seed) & abs(seed) <= .Machine$integer.max)
}

# A response as described by its mould
response_of <- function(outcome, rows, levels) {
  switch(outcome,
    factor = , ordered = classes(rows, levels), trials = numeric_matrix(rows, 2),
    interval = limits_matrix(rows), numbers(rows)
  )
}

# Lower and upper limits of numbers
limits_matrix <- function(rows) {
  such_that(function(v) {
    is.double(v) && identical(dim(v), c(as.integer(rows), 2L)) &&
      !anyNA(v) && all(v[, 1] <= v[, 2])
  }, paste(rows, "pairs of limits"))
}

# Triangles --------------------------------------------------------------------

# Entries of the lower triangles of matrices with p rows
triangle_size <- function(p) sum(as.double(p) * (p + 1) / 2)

# Cholesky factors with p rows each, packed by columns: diagonals are positive
triangles <- function(p) {
  such_that(function(v) {
    is.double(v) && triangles_sound_cpp(v, as.integer(p))
  }, paste(format(triangle_size(p)), "entries of Cholesky factors"))
}

# A lower triangular matrix with a positive diagonal
cholesky_factor <- function(size) {
  such_that(function(v) {
    is.double(v) && is.matrix(v) && all(dim(v) == size) && all_finite(v) &&
      all(diag(v) > 0)
  }, paste("a Cholesky factor of", format(size), "rows"))
}

# The argument `scale` of engines that may take logarithms
one_scale <- function() {
  such_that(function(v) {
    isTRUE(v) || isFALSE(v) || identical(v, "linear")
  }, "TRUE, FALSE or \"linear\"")
}

# Kernels ----------------------------------------------------------------------

# A kernel with all its parameters, for points of so many columns
resolved_kernel <- function(columns) {
  such_that(function(kernel) is_resolved(kernel, columns), paste(
    "a kernel for points of", counted(columns, "column")
  ))
}

#' @param columns NULL: a kernel as given, whose words have no numbers yet.
#' @noRd
is_resolved <- function(kernel, columns) {
  if (!inherits(kernel, "kb_kernel") || !is.list(kernel)) {
    return(FALSE)
  }
  known <- rlang::is_string(kernel$type) &&
    inherits(kernel, paste0("kb_kernel_", kernel$type))
  if (!known) {
    return(FALSE)
  }
  if (is_combined(kernel)) {
    return(is.list(kernel$parts) && length(kernel$parts) == 2 &&
      all(vapply(kernel$parts, is_resolved, NA, columns)))
  }
  described <- kernel_layouts[[kernel$type]]
  sound <- tryCatch(
    {
      check_layout(unclass(kernel), described, list(columns = columns))
      TRUE
    },
    kb_error_fit = function(error) FALSE
  )
  sound && !is.null(described) &&
    (is.null(columns) || kernel$type != "rotation" || columns == 9)
}

kernel_layouts <- local({
  bandwidth <- layout(bandwidth = such_that(function(v) {
    if (!is.null(dim(v))) {
      return(FALSE)
    }
    if (is.null(columns) && rlang::is_string(v, bandwidth_words)) {
      return(TRUE)
    }
    is.double(v) && length(v) > 0 &&
      (is.null(columns) || length(v) %in% c(1, columns)) &&
      is_within(v, list(lower = .Machine$double.xmin, upper = Inf))
  }, "a positive number, or one per column"))
  list(
    gaussian = bandwidth, laplace = bandwidth,
    matern = c(bandwidth, layout(nu = such_that(function(nu) {
      is.double(nu) && length(nu) == 1 && nu %in% c(0.5, 1.5, 2.5)
    }, "0.5, 1.5 or 2.5"))),
    rational_quadratic = c(bandwidth, layout(alpha = positive())),
    periodic = c(bandwidth, layout(period = positive())),
    polynomial = layout(degree = counts(1, 1), offset = numbers(1, 0)),
    linear = layout(), rotation = layout(),
    constant = layout(value = numbers(1, 0)),
    custom = layout(f = such_that(is.function, "a function"))
  )
})

is_triangular <- function(v) all(diag(v) > 0) && all(v[upper.tri(v)] == 0)

#' Pivots, factor and kernel of incomplete_cholesky()
#' @param points The number of points, i.e. rows of the factor.
#' @noRd
basis_layout <- layout(
  factor = numeric_matrix(points), .rank = ncol(factor),
  pivots = counts(rank, 1, nrow(factor)),
  .pivoted = rule(
    is_triangular(factor[pivots, , drop = FALSE]), "triangular at its pivots"
  ),
  residual = numbers(1, 0), trace = numbers(1, 0),
  kernel = maybe(resolved_kernel(width)),
  points = where(!is.null(kernel), numeric_matrix(rank, width))
)
