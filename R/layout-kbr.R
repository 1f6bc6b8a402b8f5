# Layouts of kbr fits, of kbr_hmm() and its paths, and of embeddings: see
# fit-layout.R.

kbr_layout <- c(layout(
  data = holds(layout(
    states = numeric_matrix(), observations = numeric_matrix(nrow(states))
  )),
  .rows = nrow(data$states), .states = ncol(data$states),
  .columns = ncol(data$observations),
  .chunked = inherits(fit, "kb_kbr_chunked"),
  time = counts(1, 1), .pairs = rule(
    chunked && rows == 0 || rows == time, "of as many pairs as it says"
  ),
  settings = holds(kbr_settings_layout),
  .inputs = summary_count(settings$summaries, columns),
  features = holds(layout(
    states = holds(c(layout(.width = states), features_layout)),
    observations = holds(c(layout(.width = inputs), features_layout))
  )),
  .rank_x = ncol(features$states$factor),
  .rank_y = ncol(features$observations$factor),
  prior = maybe(holds(layout(
    weights = numbers(NULL), points = maybe(numeric_matrix(
      length(weights), states
    )), gram = maybe(numeric_matrix(time, length(weights)))
  ))),
  prior_mean = numbers(rank_x),
  gram_states = where(!chunked, numeric_matrix(rank_x, rank_x)),
  mu = where(!chunked, numbers(rows)),
  .adjusted = settings$method == "adjusted",
  posterior = where(!adjusted, holds(kbr_posterior_layout)),
  adjustment = where(adjusted, holds(adjustment_layout))
), layout(
  .rows = time, .columns_x = columns,
  mould = holds(mould_layout, "kb_mould"), seed = counts(),
  sequence = counts(if (chunked) 0 else time, 1, time),
  status = strings(1, "complete"), seconds = numbers(1, 0)
))

kbr_settings_layout <- layout(
  eps = positive(), delta = positive(),
  method = strings(1, c("adjusted", "kbr", "iw")),
  normalize = flags(), scale = flags(),
  support = where(method == "adjusted", bounds_of(states)),
  summaries = maybe(holds(layout(
    directions = numeric_matrix(columns), .d = columns,
    scaling = holds(kdr_scaling_layout), learned = flags()
  ))),
  .inputs = summary_count(summaries, columns),
  scaling = holds(layout(
    states = holds(c(layout(.columns = states), scaling_layout)),
    observations = holds(c(layout(.columns = inputs), scaling_layout))
  ))
)

# How many columns the kernel of the observations sees
summary_count <- function(summaries, columns) {
  if (is.null(summaries)) columns else ncol(summaries$directions)
}

# Features of a sample, or only of landmarks
features_layout <- c(
  layout(.points = if (chunked) NULL else rows), basis_layout
)

kbr_posterior_layout <- layout(
  gain = numeric_matrix(rank_y, rank_y), spectrum = numbers(NULL),
  center = numbers(states), moments = numeric_matrix(1 + 2 * states, rank_y),
  mass = numbers(1, 0),
  cross = where(chunked, numeric_matrix(rank_x, rank_y)),
  values = where(chunked, numeric_matrix(NULL, rank_y))
)

# Lower and upper bounds, which may be infinite
bounds_of <- function(columns) {
  such_that(function(v) {
    is.double(v) && identical(dim(v), c(2L, as.integer(columns))) &&
      !anyNA(v) && all(v[1, ] < v[2, ])
  }, "lower and upper bounds of the states")
}

adjustment_layout <- layout(
  .regressors = rank_y + inputs,
  mean = holds(regression_layout), moments = holds(regression_layout),
  log_variance = holds(regression_layout), scale = positive(states),
  r_squared = numbers(states),
  choice = holds(layout(
    varying = flags(),
    space = strings(1, c("states", "moments", "observations")),
    width = such_that(is_seconds, "a positive number")
  )),
  .axes = switch(choice$space,
    states = states, moments = 2 * states, observations = inputs
  ),
  scores = holds(layout(
    varying = flags(NULL), space = strings(NULL),
    width = any_numbers(NULL), score = numbers(NULL)
  ), "data.frame"),
  left_out = numbers(NULL), residual = numeric_matrix(rows, states),
  coordinates = numeric_matrix(rows, axes), weights = numbers(rows, 0)
)

regression_layout <- layout(
  coefficients = numeric_matrix(regressors, states),
  intercept = numbers(states),
  unit = positive(states)
)

# State-space models -----------------------------------------------------------

kbr_hmm_layout <- layout(
  space = holds(space_layout, "kb_space"), .dims = length(space$names),
  .width = if (space$type == "circle") 2 else dims,
  .sides = layout(
    from = numeric_matrix(NULL, size), to = numeric_matrix(nrow(from), size),
    seen = numeric_matrix(NULL, size)
  ),
  states = holds(c(layout(.size = dims), sides)),
  .successive = nrow(states$from), .seen = nrow(states$seen),
  codes = holds(c(layout(.size = width), sides)),
  .coded = rule(
    nrow(codes$from) == successive && nrow(codes$seen) == seen,
    "of a code for each state"
  ),
  log_likelihood = maybe(such_that(is.function, "a function")),
  settings = holds(hmm_settings_layout),
  .points = NULL,
  basis_states = holds(basis_layout), .rank_x = length(basis_states$pivots),
  mould = holds(c(
    layout(.columns_x = length(.object$x_names)), mould_layout
  ), "kb_mould"),
  .observed = is.null(log_likelihood), .width = length(mould$x_names),
  basis_observations = where(observed, holds(basis_layout)),
  .rank_y = if (observed) length(basis_observations$pivots) else 0,
  pairs = holds(layout(
    from = numeric_matrix(successive, rank_x),
    to = numeric_matrix(successive, rank_x),
    seen = numeric_matrix(seen, rank_x),
    observations = where(observed, numeric_matrix(nrow(seen), rank_y))
  )),
  model = holds(layout(
    inverse = numeric_matrix(rank_x, rank_x),
    inverse_seen = numeric_matrix(rank_x, rank_x),
    transition = numeric_matrix(rank_x, rank_x), size = numbers(1, 0)
  )),
  moments = maybe(holds(layout(
    t = numeric_matrix(triangle_size(rank_y), rank_x),
    u = numeric_matrix(triangle_size(rank_x), rank_y),
    v = numeric_matrix(rank_x, rank_y)
  ))),
  same = flags(), seed = counts(), seconds = numbers(1, 0)
)

space_layout <- layout(
  type = strings(1, c("euclidean", "circle", "rotation")),
  names = strings(if (type == "circle") 1 else if (type == "rotation") 9)
)

hmm_settings_layout <- layout(
  eps = positive(), delta = positive(), delta_smooth = positive(),
  method = strings(1, c("kbr", "iw")), scale = flags(),
  scaling = holds(layout(
    states = holds(c(layout(.columns = width), scaling_layout)),
    observations = holds(c(
      layout(.columns = length(.object$x_center)), scaling_layout
    ))
  ))
)

# The adjusted model

# `regressors` and `targets` are known
fold_regression_layout <- layout(
  kernel = maybe(resolved_kernel(regressors)),
  .pivots = if (is.null(kernel)) 0 else NROW(.object$points),
  points = where(pivots > 0, numeric_matrix(pivots, regressors)),
  sets = each(holds(layout(
    along = numeric_matrix(pivots, targets),
    slope = numeric_matrix(regressors, targets), intercept = numbers(targets)
  )), 1),
  loss = numbers(targets, 0)
)

unit_layout <- layout(center = numbers(size), scale = positive(size))

hmm_adjusted_layout <- layout(
  space = holds(space_layout, "kb_space"), .dims = length(space$names),
  .coded = if (space$type == "circle") 2 else dims,
  .axes = if (space$type == "rotation") 3 else dims,
  log_likelihood = maybe(such_that(is.function, "a function")),
  .observed = is.null(log_likelihood),
  settings = holds(layout(
    method = strings(1, "adjusted"), scale = flags(),
    particles = counts(1, 1), unit_time = maybe(positive()),
    last_time = maybe(numbers()), input_names = maybe(strings(NULL))
  )),
  mould = holds(c(
    layout(.columns_x = length(.object$x_names)), mould_layout
  ), "kb_mould"),
  .given = length(mould$x_names),
  scores = where(observed, holds(layout(
    center = numbers(given), scale = positive(given),
    axes = maybe(numeric_matrix(given, length(.object$size))),
    size = positive(NULL), reach = numbers(2, 0)
  ))),
  .scored = length(scores$size), .steered = length(settings$input_names),
  model = holds(hmm_model_layout),
  trials = maybe(holds(layout(
    summaries = flags(NULL), lag = any_numbers(NULL),
    inflate = numbers(NULL, 0), score = numbers(NULL), error = numbers(NULL),
    chosen = flags(NULL)
  ), "data.frame")),
  seed = counts(), seconds = numbers(1, 0)
)

hmm_model_layout <- layout(
  states = numeric_matrix(NULL, dims), .n = nrow(states),
  unit = holds(c(layout(.size = coded), unit_layout)),
  inflate = numbers(1, 0), stretch = positive(), guided = flags(),
  observed = where(observed, holds(hmm_observed_layout)),
  moves = maybe(holds(hmm_moves_layout)),
  transitions = maybe(such_that(is.function, "a function"))
)

hmm_observed_layout <- layout(
  .summarised = !is.null(.object$summary),
  .errors = if (summarised) axes else scored,
  summary = where(summarised, holds(c(
    layout(.regressors = scored, .targets = coded), fold_regression_layout
  ))),
  error = holds(c(
    layout(.regressors = coded, .targets = errors), fold_regression_layout
  )),
  spread = holds(c(
    layout(
      .regressors = if (summarised) {
        scored + !is.null(summary$kernel)
      } else {
        coded + !is.null(error$kernel)
      },
      .targets = 1
    ), fold_regression_layout
  )),
  gain = where(summarised, numeric_matrix(errors, errors)),
  cov = numeric_matrix(errors, errors), memory = numbers(1, 0, 1)
)

hmm_moves_layout <- layout(
  lag = counts(1, 0, 1), pace = positive(), irregular = flags(),
  inputs = maybe(holds(c(layout(.size = steered), unit_layout))),
  regression = holds(c(
    layout(
      .regressors = coded + (if (lag > 0) axes else 0) + irregular + steered,
      .targets = axes
    ), fold_regression_layout
  )),
  cov = numeric_matrix(axes, axes), last = where(lag > 0, moves_at(n, axes))
)

# Missing where a sequence starts
moves_at <- function(rows, axes) {
  such_that(
    function(last) is.double(last) && all(dim(last) == c(rows, axes)),
    paste("a matrix of", rows, "moves")
  )
}

# Paths ------------------------------------------------------------------------

filter_kinds <- c(
  "update", "regression", "flat", "prior", "next", "likelihood",
  "first_likelihood"
)

# `rank_x`, `rank_y` and `times` are known
filter_layout <- layout(
  kind = strings(times, filter_kinds),
  coef = numeric_matrix(rank_x, times),
  # Without observed features there is none.
  along = numeric_matrix(rank_y, if (rank_y > 0) times),
  features = numeric_matrix(rank_x, times), sum = any_numbers(times),
  observations = observed_at(times),
  start = maybe(numbers(rank_x))
)

smooth_layout <- layout(
  filter = holds(filter_layout, "kb_kbr_filter"),
  .same = rule(identical(filter$hmm, hmm), "of the model of its filter"),
  lag = such_that(
    function(lag) is.numeric(lag) && length(lag) == 1 && isTRUE(lag >= 0),
    "a whole number or Inf"
  ),
  method = strings(1, c("rts", "kbr", "iw")), backward = flags(times),
  coef = numeric_matrix(rank_x, times), along = numeric_matrix(rank_x, times),
  sum = any_numbers(times), observations = observed_at(times)
)

observed_at <- function(times) {
  such_that(
    function(y) is.numeric(y) && is.matrix(y) && nrow(y) == times,
    paste("a matrix of", times, "observations")
  )
}

forecast_layout <- layout(
  coef = numeric_matrix(rank_x, times), sum = any_numbers(times),
  after = counts()
)

particles_layout <- layout(
  hmm = holds(hmm_adjusted_layout, "kb_hmm_adjusted"),
  .axes = if (hmm$space$type == "rotation") 3 else length(hmm$space$names),
  mean = numeric_matrix(times, length(hmm$space$names)),
  spread = such_that(is.array, "an array"),
  .sized = rule(
    identical(dim(spread)[2:3], as.integer(c(axes, times))),
    "of displacements for each time"
  )
)

# Embeddings -------------------------------------------------------------------

cond_embedding_layout <- layout(
  x = numeric_matrix(), y = numeric_matrix(nrow(x)),
  .points = nrow(x), .width = ncol(x),
  features = holds(basis_layout), .rank = length(features$pivots),
  gram = numeric_matrix(rank, rank), kernel_x = resolved_kernel(ncol(x)),
  kernel_y = resolved_kernel(ncol(y)), eps = positive()
)

kernel_mean_layout <- layout(
  points = numeric_matrix(), weights = numbers(nrow(points)),
  kernel = resolved_kernel(ncol(points))
)
