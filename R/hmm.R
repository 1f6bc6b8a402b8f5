# kbr_hmm(): a nonparametric state-space model, learned from states and
# observations; kbr_filter(), kbr_forecast() and kbr_smooth() use it. The
# adjusted method is in hmm-learn.R.

#' Nonparametric state-space model
#'
#' `kbr_hmm(states, observations)` learns the transition and the observation model of a
#' state-space model from a training period in which states were observed.
#' [kbr_filter()], [kbr_forecast()] and [kbr_smooth()] then need observations only. No
#' parametric form is assumed.
#' @section The adjusted method:
#' Kernel ridge regressions give the mean of the next move given the state, and
#' either the mean of the observation given the state, or the state that an
#' observation suggests (its summary) with its error. Residuals are normal; those
#' that persist are correlated with those before. A particle filter combines them:
#' its draws have weights that are equal and positive, and intervals mean what they
#' say. More than 20 columns of observations are seen through 20 principal
#' components. What is not given is chosen by predicting five to ten stretches of the
#' training period from the others, and intervals are widened until they hold 90% of
#' these states; `hmm$trials` is the table of what was tried. The article `sbi` has
#' the details.
#'
#' Where the training period says little, the filter spreads rather than follow an
#' extrapolation, unless regressions are linear. If observations become improbable,
#' some particles start again from the training states, and without summaries
#' observations that fit neither are treated as missing, with a warning; so are those
#' more than three times as far from the centre as any in training. Filtering costs
#' the same at every step.
#'
#' No bounds of the states are looked for, unlike in [kbr()]: means and intervals
#' can leave the range of the training states, also where states cannot, as below
#' zero. Give the logarithms of such states, or their log odds.
#' @section Kernel Bayes' rule:
#' `"kbr"` is the algorithm of the paper, `"iw"` the same with importance-weighted
#' updates. From pairs of states \eqn{X_i}, next states \eqn{X'_i} and observations
#' \eqn{Y_i} of the training period, and from the weights \eqn{\alpha} of the states
#' given the observations so far, \deqn{\mu = (G_X + n \epsilon I)^{-1} G_{X X'} (G_X
#' + n \epsilon I)^{-1} G_X \alpha}{mu = (G_X + n eps I)^-1 G_XX' (G_X + n eps I)^-1
#' G_X alpha} are those of the next state (Fukumizu, Song and Gretton, 2010, see
#' [kbr_schedule()]), which are updated by the next observation as in [kbr()], and
#' normalised. As some are negative, means can leave the range of the training
#' states, which intervals and draws do not. With features of rank r a step costs
#' O(r^3) if the training period is much longer than r, and O(n r^2) otherwise.
#' @section Other data:
#' `group` identifies several sequences. If transitions and observations come
#' from different data, `transitions` gives pairs of states, and `states`,
#' `observations` are pairs in any order. A known transition can be given as a
#' function that simulates it, a known observation model as a log likelihood. A row with
#' a missing observation is a step without one: its state and moves are learned from.
#' @param states States of the training period, in order of time: a numeric
#'   matrix (T x d), a data frame or a vector.
#' @param observations Observations, one per row of `states`, as in [kbr()];
#'   `NULL` with `log_likelihood`.
#' @param transitions `NULL`: successive rows of `states`. Or a list of `from`
#'   and `to`, matrices with the same number of states. Or a function of a
#'   matrix of states that returns a simulated next state for each.
#' @param log_likelihood `NULL`, or a function of one observation (as a vector)
#'   and a matrix of states that returns the observation's log likelihood at
#'   each.
#' @param group `NULL`, or the sequence to which each row of `states` belongs,
#'   one value per row.
#' @param times `NULL`: rows are one unit of time apart. Or the time of each row,
#'   increasing within each sequence; moves are then learned per unit of time.
#' @param inputs `NULL`, or known inputs that act on the move from each row to
#'   the next (a controlled system): a matrix with T rows.
#' @param space The space of the states: `"euclidean"`; `"circle"`, one column
#'   of angles in radians; `"rotation"`, 3 x 3 rotation matrices by columns.
#' @param method `"adjusted"`, `"kbr"` or `"iw"`, see below.
#' @param summaries,lag,inflate Of `"adjusted"`: condense observations to the
#'   states they suggest, `TRUE` or `FALSE`? Do moves depend on the last move, 1
#'   or 0? By how much is the variance of moves multiplied? `NULL`: chosen.
#' @param particles Of `"adjusted"`: their number; `NULL`: 200 with summaries,
#'   otherwise 1000.
#' @param kernel_x,kernel_y Kernels of states and observations, see
#'   [kb_kernels]. `NULL`: for `"adjusted"` Matern kernels whose bandwidths are
#'   chosen; otherwise Gaussian with 0.6 times the median bandwidth, for
#'   rotations `kernel_rotation() + kernel_constant()`. The kernel of angles
#'   acts on their cosine and sine.
#' @param eps,delta Of `"kbr"` and `"iw"`: as in [kbr()], n the number of
#'   training pairs; defaults `0.1 / n` and `2 * eps`.
#' @param delta_smooth Of `"kbr"` and `"iw"`: regularisation of [kbr_smooth()], a
#'   positive number, relative to the mean of k(x, x) over the training states;
#'   default 0.1. Smaller ones can be worse if T is small.
#' @param rank,tol As in [kbr()]; `"auto"` is at most 300 for `"adjusted"`,
#'   which has no `tol`. Regressions for summaries have up to four times as many,
#'   if that helps.
#' @param scale Standardise states (not angles or rotations) and observations
#'   before the kernels see them? `"adjusted"` always does so, except for
#'   observations that are seen through principal components.
#' @inheritParams bark
#' @return An object of class `kb_kbr_hmm`: a list of plain R data that can be
#'   saved.
#' @section Errors: As in [kbr()]; `kb_error_rows` for data without two successive
#'   states; `kb_error_user_function` for an error in `transitions`.
#' @examples
#' seen <- sim_linear_hmm(150, seed = 1)
#' new <- sim_linear_hmm(50, seed = 2)
#' hmm <- kbr_hmm(seen$states, seen$observations, seed = 1)
#' hmm
#' filtered <- kbr_filter(hmm, new$observations)
#' head(predict(filtered))
#' plot(filtered, truth = new$states)
#' @export
kbr_hmm <- function(states, observations = NULL, transitions = NULL,
                    log_likelihood = NULL, group = NULL, times = NULL,
                    inputs = NULL, space = c("euclidean", "circle", "rotation"),
                    method = c("adjusted", "kbr", "iw"), summaries = NULL,
                    lag = NULL, inflate = NULL, particles = NULL,
                    kernel_x = NULL, kernel_y = NULL, eps = NULL, delta = NULL,
                    delta_smooth = NULL, rank = "auto", tol = NULL,
                    scale = FALSE, seed = NULL, progress = NULL, ...) {
  started <- now()
  check_no_dots(...)
  check_progress(progress)
  seed <- draw_seed(seed)
  space <- check_choice(space, c("euclidean", "circle", "rotation"))
  mould <- mould_hmm(states, observations, log_likelihood)
  space <- check_space(space, mould$y, "states")
  method <- check_choice(method, c("adjusted", "kbr", "iw"))
  check_flag(scale)
  given <- list(
    summaries = summaries, lag = lag, inflate = inflate,
    particles = particles, times = times, inputs = inputs, eps = eps,
    delta = delta, delta_smooth = delta_smooth, tol = tol
  )
  refuse_other_method(given, method)
  if (!is.null(transitions) && !is.null(group)) {
    bad_argument(group, "group", "NULL where `transitions` is given")
  }
  hmm <- new_object(
    list(
      version = fit_version, call = plain_call(match.call()),
      mould = mould_empty(mould, rows = FALSE), space = space,
      log_likelihood = log_likelihood, seed = seed
    ),
    class = c(if (method == "adjusted") "kb_hmm_adjusted", "kb_kbr_hmm")
  )
  sources <- list(transitions = transitions, group = group)
  kernels <- list(x = kernel_x, y = kernel_y)
  hmm <- if (method == "adjusted") {
    learn_adjusted(hmm, mould, sources, kernels, rank, scale, given)
  } else {
    learn_embeddings(hmm, mould, sources, kernels, method, rank, scale, given)
  }
  if (is.null(log_likelihood)) hmm$far <- learn_far_rows(hmm, mould$x)
  hmm$seconds <- now() - started
  sealed(hmm)
}

# Arguments that belong to one kind of method
refuse_other_method <- function(given, method) {
  ours <- c(
    "summaries", "lag", "inflate", "particles", "times", "inputs"
  )
  wrong <- setdiff(names(given), ours)
  if (method != "adjusted") wrong <- ours
  for (name in wrong) {
    if (!is.null(given[[name]])) {
      bad_argument(given[[name]], name, paste0(
        "NULL where `method` is \"", method, "\""
      ))
    }
  }
}

# Kernel Bayes' rule itself
learn_embeddings <- function(hmm, mould, sources, kernels, method, rank, scale,
                             given) {
  sets <- hmm_sets(
    mould, hmm$space, sources$transitions, sources$group, hmm$seed
  )
  delta_smooth <- given$delta_smooth
  hmm$settings <- c(
    kbr_regularisation(given$eps, given$delta, nrow(sets$from), "kbr"),
    list(
      delta_smooth = if (is.null(delta_smooth)) {
        0.1
      } else {
        check_positive(delta_smooth, "delta_smooth")
      },
      rank = rank, tol = given$tol, method = method, scale = scale,
      scaling = list(
        states = scaling_learn(
          sets$from, factor(), scale && hmm$space$type == "euclidean"
        ),
        observations = scaling_learn(observed_rows(mould$x), factor(), scale)
      )
    )
  )
  hmm$states <- sets$states
  learn_hmm(hmm, sets, kernels$x, kernels$y)
}

# Observations are the mould's `x`, states its `y`
mould_hmm <- function(states, observations, log_likelihood) {
  if (!is.null(log_likelihood) && !is.function(log_likelihood)) {
    bad_argument(log_likelihood, "log_likelihood", "NULL or a function")
  }
  if (missing(states)) bad_argument(states, "states", "given")
  if (missing(observations)) observations <- NULL
  if (is.null(observations) == is.null(log_likelihood)) {
    kb_abort(c(
      "Give either {.arg observations} or {.arg log_likelihood}.",
      i = "The likelihood is learned from observations."
    ), "argument", argument = "observations")
  }
  if (is.null(observations)) {
    # A placeholder that is no constant column
    observations <- matrix(seq_len(NROW(states)))
  }
  mould <- function(observations, states) {
    mould_xy(observations, states, "never", "matrix",
      args = c("observations", "states")
    )
  }
  n <- NROW(states)
  table <- is.atomic(observations) || is.data.frame(observations)
  seen <- if (table) complete_cases(observations)
  if (length(seen) != n || all(seen) || !any(seen)) {
    return(mould(observations, states))
  }
  out <- mould(
    pick_rows(observations, which(seen)), pick_rows(states, which(seen))
  )
  out$x <- out$x[match(seq_len(n), which(seen)), , drop = FALSE]
  out$y <- mould(matrix(seq_len(n)), states)$y
  kb_inform(
    "{sum(!seen)} of {n} observations are missing: the other rows tell what
     observations say of states, all rows how states move.", "missing"
  )
  out
}

observed_rows <- function(y) y[stats::complete.cases(y), , drop = FALSE]

# Training pairs ---------------------------------------------------------------

#' Codes of the pairs of states and next states, and of states and observations
#' @return List of `from`, `to` (codes, n rows), `seen` (codes), `y` (their
#'   observations), `states` (the three as given), and `same`: are `from` and
#'   `seen` the same rows?
#' @noRd
hmm_sets <- function(mould, space, transitions, group, seed) {
  x <- mould$y
  encode <- function(x) space_encode(space, x)
  observed <- stats::complete.cases(mould$x)
  if (is.null(transitions)) {
    first <- successive_rows(nrow(x), group)
    seen <- first[observed[first]]
    if (length(seen) == 0) {
      kb_abort(
        "No observation precedes another state of its sequence.", "rows"
      )
    }
    return(list(
      from = encode(x[first, , drop = FALSE]),
      to = encode(x[first + 1, , drop = FALSE]),
      seen = encode(x[seen, , drop = FALSE]),
      y = mould$x[seen, , drop = FALSE],
      states = list(
        from = x[first, , drop = FALSE], to = x[first + 1, , drop = FALSE],
        seen = x[seen, , drop = FALSE]
      ), same = length(seen) == length(first)
    ))
  }
  pairs <- transition_pairs(x, space, transitions, seed)
  x <- x[observed, , drop = FALSE]
  list(
    from = encode(pairs$from), to = encode(pairs$to), seen = encode(x),
    y = mould$x[observed, , drop = FALSE], states = c(pairs, list(seen = x)),
    same = identical(as.vector(pairs$from), as.vector(x))
  )
}

# Rows that are followed by another of the same sequence
successive_rows <- function(n, group) {
  group <- if (is.null(group)) rep(1, n) else group
  if (length(group) != n || anyNA(group)) {
    bad_argument(group, "group", paste0(
      "NULL or one known value per row of `states` (", n, ")"
    ))
  }
  group <- match(group, unique(group))
  first <- which(group[-n] == group[-1])
  if (length(first) == 0) {
    kb_abort(c(
      "{.arg states} must have at least two successive rows.",
      x = "There are {n} row{?s} in {length(unique(group))} sequence{?s}."
    ), "rows")
  }
  first
}

transition_pairs <- function(x, space, transitions, seed) {
  if (is.function(transitions)) {
    # Not `seed` itself: the states may have been simulated under it.
    other <- (seed + 982451653) %% .Machine$integer.max
    to <- with_local_seed(other, simulate_next(transitions, x))
    transitions <- list(from = x, to = to)
  }
  fine <- is.list(transitions) && setequal(names(transitions), c("from", "to"))
  if (!fine) {
    bad_argument(transitions, "transitions",
      "NULL, a list of `from` and `to`, or a function of states"
    )
  }
  out <- lapply(c(from = "from", to = "to"), function(side) {
    arg <- paste0("transitions$", side)
    points <- check_points(transitions[[side]], arg)
    if (ncol(points) != ncol(x)) {
      kb_abort(c(
        "{.arg {arg}} must have {ncol(x)} column{?s}, as {.arg states}.",
        x = "It has {ncol(points)}."
      ), "dimension", argument = arg)
    }
    if (space$type == "rotation") check_rotations(points, arg)
    dimnames(points) <- list(NULL, colnames(x))
    points
  })
  if (nrow(out$from) != nrow(out$to)) {
    kb_abort(c(
      "{.code to} and {.code from} of {.arg transitions} must have the same
       number of states.",
      x = "They have {nrow(out$to)} and {nrow(out$from)}."
    ), "dimension", argument = "transitions")
  }
  out
}

# Learning ---------------------------------------------------------------------

# Features of the training pairs and the matrices that the recursion needs
#
# `from`, `to` and `seen` are features of states on the pivots of `from`;
# `observations` those of observations. `inverse` is (P'P + n eps I)^-1 of
# `from`,
# `inverse_seen` that of `seen`; `transition` takes the features of a state's
# posterior to those of the next state's prior, N'P (P'P + n eps I)^-1, (K18);
# `size` is the mean of k(x, x).
learn_hmm <- function(hmm, sets, kernel_x, kernel_y) {
  settings <- hmm$settings
  codes <- lapply(sets[c("from", "to", "seen")], function(code) {
    scaling_x(settings$scaling$states, code)
  })
  y <- scaling_x(settings$scaling$observations, sets$y)
  basis_states <- sample_features(
    hmm_kernel(kernel_x, codes$from, hmm$space), codes$from, settings,
    "kernel_x"
  )
  features_of <- function(code) incomplete_cholesky_features(basis_states, code)
  from <- basis_states$factor
  to <- features_of(codes$to)
  seen <- if (sets$same) from else features_of(codes$seen)
  inverse <- ridge_inverse(from, settings$eps)
  hmm$pairs <- list(from = from, to = to, seen = seen)
  hmm$same <- sets$same
  hmm$codes <- codes
  hmm$model <- list(
    inverse = inverse,
    inverse_seen = if (sets$same) {
      inverse
    } else {
      ridge_inverse(seen, settings$eps)
    },
    transition = crossprod_cpp(to, from) %*% inverse,
    size = mean(rowSums(from^2))
  )
  hmm$basis_states <- basis_at_pivots(basis_states)
  if (is.null(hmm$log_likelihood)) {
    basis_observations <- sample_features(
      hmm_kernel(kernel_y, y, state_space("euclidean", NULL)), y, settings,
      "kernel_y"
    )
    hmm$pairs$observations <- basis_observations$factor
    hmm$basis_observations <- basis_at_pivots(basis_observations)
    hmm$moments <- hmm_moments(seen, basis_observations$factor, settings$method)
  }
  hmm
}

# A kernel at the pivots is enough for features of new points
basis_at_pivots <- function(basis) {
  basis$factor <- basis$factor[basis$pivots, , drop = FALSE]
  basis$pivots <- seq_along(basis$pivots)
  basis
}

hmm_kernel <- function(kernel, code, space) {
  if (!is.null(kernel)) {
    return(kernel)
  }
  if (space$type == "rotation") {
    # With a constant: without it the sum of the prior's weights is not
    # preserved.
    return(kernel_rotation() + kernel_constant())
  }
  kernel_gaussian(0.6 * bandwidth_median(code))
}

ridge_inverse <- function(features, eps) {
  ridge_coefficients(
    crossprod_cpp(features), diag(ncol(features)), nrow(features) * eps
  )
}

# Third moments are held up to this many numbers (400 MB).
moments_limit <- 5e7

# Sums over rows i of left_ik right_ij right_il, a column per k, (K20)
third_moments <- function(left, right) {
  lower <- lower.tri(diag(ncol(right)), diag = TRUE)
  out <- apply(left, 2, function(w) crossprod_cpp(right, weights = w)[lower])
  matrix(out, sum(lower), ncol(left))
}

# Third moments if they make a step cheaper; otherwise NULL
hmm_moments <- function(p, b, method) {
  n <- nrow(p)
  rx <- ncol(p)
  ry <- ncol(b)
  cost <- rx * ry * (rx + ry) / 2
  if (method != "kbr" || cost > n * ry^2 / 2 || cost > moments_limit) {
    return(NULL)
  }
  list(
    t = third_moments(p, b), u = third_moments(b, p), v = crossprod_cpp(p, b)
  )
}

# Methods ----------------------------------------------------------------------

#' @export
print.kb_kbr_hmm <- function(x, digits = 3, ...) {
  x <- checked_fit(x, ...)
  show <- function(v) format(v, digits = digits)
  basis_line <- function(basis) {
    left <- unexplained(basis)
    paste0(
      shorten(format(basis$kernel)), ", rank ", ncol(basis$factor),
      if (left > 1e-10) paste0(", ", show(100 * left), "% unexplained")
    )
  }
  cat(
    "State-space model by kernel Bayes' rule\n",
    "  transitions:  ", nrow(x$pairs$from), ", states ",
    space_in_words(x$space), "\n",
    "  states:       ", basis_line(x$basis_states), "\n",
    "  observations: ",
    if (is.null(x$basis_observations)) {
      "a log likelihood"
    } else {
      paste0(nrow(x$pairs$observations), ", ", basis_line(x$basis_observations))
    }, "\n",
    "  eps, delta:   ",
    show(x$settings$eps), ", ", show(x$settings$delta), "\n",
    "  a step costs: ", if (is.null(x$moments)) "O(n r^2)" else "O(r^3)", "\n",
    time_line(x),
    sep = ""
  )
  invisible(x)
}
