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
  far = maybe(holds(c(layout(.columns = columns), far_layout))),
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
  support = if (method == "adjusted") {
    bounds_of(states)
  } else {
    maybe(bounds_of(states))
  },
  found = maybe(flags()),
  # Fits of earlier versions have none; they mapped states with two bounds.
  straight = if (method == "adjusted" && any(is.finite(colSums(support)))) {
    flags(states)
  } else {
    maybe(flags(states))
  },
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

# What `find_far()` needs, for observations of some columns
far_layout <- layout(
  points = numeric_matrix(NULL, columns), scaling = holds(scaling_layout),
  limit = such_that(is_seconds, "a positive number")
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
  limits = maybe(numeric_matrix(3, states)), r_squared = numbers(states),
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
  far = maybe(holds(c(layout(.columns = width), far_layout))),
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
  .first = if (is.null(.object$unknown)) 0 else NROW(.object$unknown[[1]]),
  .fewer = rule(first <= pivots, "with as many rows as pivots at most"),
  unknown = maybe(each(numeric_matrix(first, first), 1)),
  loss = numbers(targets, 0)
)

unit_layout <- layout(center = numbers(size), scale = positive(size))

hmm_adjusted_layout <- layout(
  space = holds(space_layout, "kb_space"), .dims = length(space$names),
  .kind = space, .coded = if (space$type == "circle") 2 else dims,
  .axes = if (space$type == "rotation") 3 else dims,
  log_likelihood = maybe(such_that(is.function, "a function")),
  .observed = is.null(log_likelihood),
  settings = holds(layout(
    method = strings(1, "adjusted"), scale = flags(),
    particles = counts(1, 1), unit_time = maybe(positive()),
    input_names = maybe(strings(NULL))
  )),
  .timed = !is.null(settings$unit_time),
  .steered = length(settings$input_names),
  mould = holds(c(
    layout(.columns_x = length(.object$x_names)), mould_layout
  ), "kb_mould"),
  .given = length(mould$x_names),
  scores = where(observed, holds(layout(
    center = numbers(given), scale = positive(given),
    axes = maybe(numeric_matrix(given, length(.object$size))),
    size = positive(if (is.null(axes)) given), reach = numbers(2, 0)
  ))),
  far = maybe(holds(c(layout(.columns = if (is.null(scores$axes)) {
    given
  } else {
    length(scores$size) + 1
  }), far_layout))),
  .scored = length(scores$size),
  model = holds(hmm_model_layout),
  trials = maybe(holds(layout(
    score = numbers(NULL), .tried = length(score), summaries = flags(tried),
    lag = any_numbers(tried), inflate = numbers(tried, 0),
    error = numbers(tried), chosen = flags(tried),
    .one = rule(sum(chosen) == 1, "with one choice")
  ), "data.frame")),
  seed = counts(), seconds = numbers(1, 0)
)

hmm_model_layout <- layout(
  space = such_that(
    function(space) identical(space, kind), "the space of the states"
  ),
  states = points_of(kind), .n = nrow(states),
  .some = rule(n > 0, "of at least one state"),
  unit = holds(c(layout(.size = coded), unit_layout)),
  log_likelihood = where(!observed, such_that(is.function, "a function")),
  inflate = numbers(1, 1e-6, 1e6),
  ends = holds(layout(
    filter = numbers(1, 0.1, 100), smooth = numbers(1, 0.1, 100),
    ahead = counts(1, 0)
  )),
  evidence = such_that(
    function(evidence) {
      is.double(evidence) && identical(names(evidence), c("low", "least")) &&
        isTRUE(evidence[[2]] <= evidence[[1]]) && evidence[[1]] < Inf
    },
    "usual values of the evidence"
  ),
  observed = where(observed, holds(hmm_observed_layout)),
  transitions = maybe(such_that(is.function, "a function")),
  moves = where(is.null(transitions), holds(hmm_moves_layout)),
  .wanted = is.list(observed) && !is.null(observed$summary) &&
    is.null(transitions),
  guided = such_that(
    function(guided) identical(guided, wanted), "TRUE with summaries and moves"
  )
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
      .regressors = (if (summarised) scored else coded) + 1, .targets = 1
    ), fold_regression_layout, layout(
      known = numbers(1, 0, 1), axes = numeric_matrix(errors, errors),
      signal = numbers(errors, 0)
    )
  )),
  gain = where(summarised, numeric_matrix(errors, errors)),
  cov = covariances(errors), memory = numbers(1, 0, 0.99)
)

hmm_moves_layout <- layout(
  lag = counts(1, 0, 1), pace = positive(), irregular = flags(),
  .clocked = rule(timed || !irregular, "regular where there are no times"),
  inputs = where(
    steered > 0, holds(c(layout(.size = steered), unit_layout))
  ),
  .none = rule(
    steered > 0 || is.null(inputs), "without inputs, which have no names"
  ),
  regression = holds(c(
    layout(
      .regressors = coded + (if (lag > 0) axes else 0) + irregular + steered,
      .targets = axes
    ), fold_regression_layout
  )),
  cov = covariances(axes), known = numbers(1, 0, 1), signal = numbers(1, 0),
  last = where(lag > 0, moves_at(n, axes))
)

# Missing where a sequence starts
moves_at <- function(rows, axes) {
  such_that(
    function(last) {
      is.double(last) && identical(dim(last), as.integer(c(rows, axes))) &&
        !any(is.infinite(last)) && any(stats::complete.cases(last)) &&
        identical(is.na(last[, 1]), !stats::complete.cases(last))
    },
    paste("a matrix of", rows, "moves")
  )
}

covariances <- function(size) {
  such_that(
    function(cov) {
      is.double(cov) && identical(dim(cov), as.integer(c(size, size))) &&
        all(is.finite(cov)) && isSymmetric(unname(cov)) &&
        is.matrix(chol_of(cov))
    },
    paste("a covariance matrix with", size, "rows")
  )
}

# States in a space
points_of <- function(space, rows = NULL) {
  columns <- length(space$names)
  if (space$type != "rotation") {
    return(numeric_matrix(rows, columns))
  }
  such_that(
    function(x) {
      is.double(x) && is.matrix(x) && all_finite(x) && ncol(x) == columns &&
        (is.null(rows) || nrow(x) == rows) &&
        is.null(check_rotations(x, "states"))
    },
    paste(c(rows, "rotations"), collapse = " ")
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
  lag = lag_number(),
  method = strings(1, c("rts", "kbr", "iw")), backward = flags(times),
  coef = numeric_matrix(rank_x, times), along = numeric_matrix(rank_x, times),
  sum = any_numbers(times), observations = observed_at(times)
)

lag_number <- function() {
  such_that(
    function(lag) is.numeric(lag) && length(lag) == 1 && isTRUE(lag >= 0),
    "a whole number or Inf"
  )
}

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

# `times` and `type` are known
particles_layout <- layout(
  hmm = holds(hmm_adjusted_layout, "kb_hmm_adjusted"),
  .size = hmm$settings$particles, .dims = length(hmm$space$names),
  .axes = if (hmm$space$type == "rotation") 3 else dims,
  .filtered = type == "kb_kbr_filter",
  mean = points_of(hmm$space, times),
  spread = such_that(
    function(spread) {
      is.double(spread) && all_finite(spread) &&
        identical(dim(spread), as.integer(c(size, axes, times)))
    },
    "displacements of the particles at each time"
  ),
  observations = where(
    times > 0 && type != "kb_kbr_forecast", observed_at(times)
  ),
  unseen = where(type != "kb_kbr_forecast", flags(times)),
  lag = where(type == "kb_kbr_smooth", lag_number()),
  after = where(type == "kb_kbr_forecast", counts()),
  start = where(filtered, maybe(holds(layout(
    points = points_of(hmm$space), weights = numbers(nrow(points))
  )))),
  ancestors = where(filtered, such_that(
    function(of) {
      is.integer(of) && identical(dim(of), as.integer(c(size, times))) &&
        is_within(as.vector(of), list(lower = 1, upper = size))
    },
    "numbers of particles"
  )),
  .going = filtered && times > 0,
  cloud = where(going, holds(layout(
    states = points_of(hmm$space, size),
    last = where(
      is.null(hmm$model$transitions) && hmm$model$moves$lag > 0,
      numeric_matrix(size, axes)
    ),
    residual = where(
      is.null(hmm$log_likelihood),
      numeric_matrix(size, ncol(hmm$model$observed$cov))
    ),
    unseen = maybe(counts(1, 1))
  ))),
  clock = where(going, holds(layout(
    time = where(!is.null(hmm$settings$unit_time), numbers()),
    .steered = length(hmm$settings$input_names),
    inputs = where(steered > 0, numeric_matrix(1, steered))
  )))
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
