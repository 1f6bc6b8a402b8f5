# Smoothing and forecasting with kbr_hmm().

#' Smooth a filtered path
#'
#' `kbr_smooth(filtered)` computes the posterior of the state at each time given all
#' observations, or those up to `lag` times later; `kbr_forecast(filtered, h = 3)`
#' that of later states.
#' @section Particles:
#' The smoother of the adjusted method keeps, of the filter's particles at each
#' time, those from which later ones descend: as many times ahead as `lag` says,
#' or until fewer than a tenth of them are left, after which nothing would be
#' gained (Kitagawa, 1996).
#' @section Backward passes:
#' For models of kernel Bayes' rule. `"rts"`, after Rauch, Tung and Striebel,
#' corrects the filter: the change that later observations make to the kernel
#' mean of the next state is propagated to the previous state by regression on
#' the next state. Let \eqn{w} be the
#' filter's weights, \eqn{d} their positive part, scaled to sum to one, \eqn{m}
#' the smoothed kernel mean of the next state and \eqn{f} its forecast by the
#' filter, both evaluated at the next states \eqn{X'} of the training pairs. The
#' smoother's weights are
#' \deqn{w + Q (G_{X'} Q + \delta I)^{-1} (m - f), \quad
#' Q = \mathrm{diag}(d) - d d'}{w + Q (G_X' Q + delta I)^-1 (m - f),
#' Q = diag(d) - dd'}
#' They sum to one, equal those of the filter if later observations add nothing,
#' and tend to them as \eqn{\delta} grows, which is `delta_smooth` of
#' [kbr_hmm()] times the mean of k(x, x). At times without an observation, and with
#' separate transitions or a known likelihood, \eqn{w} is its kernel mean regressed on
#' the transitions' earlier states.
#'
#' `"iw"` and `"kbr"` apply kernel Bayes' rule to pairs of successive states,
#' importance-weighted or in the form of [kbr()]: the prior is the filter's
#' posterior, and the smoothed kernel mean of the next state replaces an
#' observation. They can be worse than the filter, and weights of `"kbr"` can
#' grow without bound if regularisation is weak.
#' @param object Of [kbr_filter()].
#' @param lag How many later observations are used: a whole number of at least 0
#'   or `Inf`, all. `NULL`: all, and of particles as many as were best when
#'   stretches of the training series were smoothed (20 if none were). Intervals
#'   are calibrated for `NULL`.
#' @param method For models of kernel Bayes' rule: `"rts"` (the default), `"iw"`
#'   or `"kbr"`, see below.
#' @inheritParams bark
#' @return An object of class `kb_kbr_smooth` or `kb_kbr_forecast`, and
#'   `kb_kbr_path`, see [predict.kb_kbr_path()].
#' @references
#' Kitagawa, G. (1996). Monte Carlo filter and smoother for non-Gaussian
#' nonlinear state space models. *Journal of Computational and Graphical
#' Statistics* 5, 1-25.
#'
#' Rauch, H. E., Tung, F. and Striebel, C. T. (1965). Maximum likelihood
#' estimates of linear dynamic systems. *AIAA Journal* 3, 1445-1450.
#' @examples
#' seen <- sim_linear_hmm(100, seed = 1)
#' new <- sim_linear_hmm(50, seed = 2)
#' hmm <- kbr_hmm(seen$states, seen$observations)
#' filtered <- kbr_filter(hmm, new$observations)
#' summary(kbr_smooth(filtered), truth = new$states)
#' predict(kbr_forecast(filtered, h = 3))
#' @export
kbr_smooth <- function(object, lag = NULL, method = NULL, progress = NULL,
                       ...) {
  check_class(object, "kb_kbr_filter", "a result of `kbr_filter()`")
  object <- checked_fit(object, ...)
  if (!is.null(lag) && !identical(lag, Inf)) {
    lag <- min(check_count(lag, 0), path_length(object))
  }
  method <- check_smoother(method, object)
  bar <- task_bar(path_length(object), check_progress(progress), "Smoothing")
  on.exit(bar$close())
  if (inherits(object, "kb_hmm_particles")) {
    return(sealed(smooth_particles(object, lag, bar)))
  }
  if (is.null(lag)) lag <- Inf
  passes <- if (lag >= path_length(object) - 1) {
    full_pass(object, method, bar)
  } else {
    lagged_passes(object, lag, method, bar)
  }
  columns <- function(name) {
    do.call(cbind, lapply(passes, `[[`, name))
  }
  sealed(new_object(
    list(
      version = fit_version, hmm = object$hmm, filter = object, lag = lag,
      method = method, backward = as.vector(columns("backward")),
      coef = columns("coef"), along = columns("along"),
      sum = vapply(passes, `[[`, 0, "sum"),
      observations = object$observations
    ),
    class = c("kb_kbr_smooth", "kb_kbr_path")
  ))
}

check_smoother <- function(method, path) {
  if (is.null(method)) {
    return("rts")
  }
  if (inherits(path, "kb_hmm_particles")) {
    bad_argument(method, "method", paste(
      "NULL for filters of the adjusted method, whose particles are smoothed"
    ))
  }
  check_choice(method, c("rts", "iw", "kbr"))
}

# One step back from the features of a later state: (K24) to (K26)
backward_step <- function(path, t, features, method) {
  hmm <- path$hmm
  coef <- as.vector(hmm$model$inverse %*% path$features[, t])
  delta <- hmm$settings$delta_smooth * hmm$model$size
  out <- if (method == "rts") {
    hmm_correct_cpp(
      hmm$pairs$from, hmm$pairs$to, path$features[, t],
      as.vector(earlier_weights(path, t, cbind(coef))),
      features - forecast_features(path, t, coef), delta
    )
  } else {
    squared <- method == "kbr"
    hmm_update_cpp(
      hmm$pairs$from, hmm$pairs$to, coef, features,
      if (squared) delta * hmm$model$size else delta, squared, !squared
    )
  }
  list(
    backward = TRUE, coef = coef, along = out$a, sum = out$sum,
    features = out$features
  )
}

# Features of the state after time t as forecast by the filter: normalised if
# its weights belong to the next states
forecast_features <- function(path, t, coef) {
  prior <- as.vector(path$hmm$model$transition %*% path$features[, t])
  if (on_next_states(path$kind[[t + 1]])) {
    prior <- prior / sum(path$hmm$pairs$from %*% coef)
  }
  prior
}

#' The filter's weights at times, as weights of the transitions' earlier states
#' @param t Times at which the filter's weights are of one kind.
#' @param coef Columns (P'P + n eps I)^-1 s of these times.
#' @return Matrix, states x times, columns sum to one.
#' @noRd
earlier_weights <- function(path, t, coef) {
  found <- step_weights(path, t)
  if (path$hmm$same && found$location == "seen") {
    return(t(found$weights))
  }
  columns_to_one(path$hmm$pairs$from %*% coef)
}

columns_to_one <- function(w) sweep(w, 2, colSums(w), "/")

# At the last time the smoother equals the filter
no_step <- function(path, t) {
  none <- numeric(nrow(path$features))
  list(
    backward = FALSE, coef = none, along = none, sum = 1,
    features = path$features[, t]
  )
}

full_pass <- function(path, method, bar) {
  last <- path_length(path)
  out <- vector("list", last)
  for (t in rev(seq_len(last))) {
    out[[t]] <- if (t == last) {
      no_step(path, t)
    } else {
      backward_step(path, t, out[[t + 1]]$features, method)
    }
    bar$advance()
  }
  out
}

lagged_passes <- function(path, lag, method, bar) {
  last <- path_length(path)
  lapply(seq_len(last), function(t) {
    from <- min(t + lag, last)
    step <- no_step(path, from)
    for (at in rev(seq_len(from - t)) + t - 1) {
      step <- backward_step(path, at, step$features, method)
    }
    bar$advance()
    step
  })
}

#' @export
path_length.kb_kbr_smooth <- function(object) length(object$sum)
#' @export
path_keys.kb_kbr_smooth <- function(object) {
  paste0(ifelse(object$backward, "backward ", ""), object$filter$kind)
}
#' @export
path_weights.kb_kbr_smooth <- function(object, t) {
  if (!object$backward[[t[[1]]]]) {
    return(path_weights(object$filter, t))
  }
  coef <- object$coef[, t, drop = FALSE]
  along <- object$hmm$pairs$to %*% object$along[, t, drop = FALSE]
  raw <- if (object$method == "rts") {
    w <- earlier_weights(object$filter, t, coef)
    d <- columns_to_one(pmax(w, 0))
    w + d * sweep(along, 2, colSums(d * along))
  } else {
    mu <- object$hmm$pairs$from %*% coef
    if (object$method == "iw") mu <- columns_to_one(pmax(mu, 0))
    mu * along
  }
  list(weights = t(raw) / object$sum[t], location = "from")
}

#' @export
path_title.kb_kbr_smooth <- function(x) {
  paste0(
    "Smoothed by kernel Bayes' rule: ", counted(path_length(x), "time"),
    if (is.finite(x$lag)) paste0(", lag ", x$lag)
  )
}

# Forecasts -------------------------------------------------------------------

#' @rdname kbr_smooth
#' @param h Of `kbr_forecast()`: number of steps after the last observation, at least 1.
#' @param inputs Of the first h - 1 of these steps, if the model was learned
#'   with inputs; the filter has that of the last time.
#' @export
kbr_forecast <- function(object, h = 1, inputs = NULL, ...) {
  check_class(object, "kb_kbr_filter", "a result of `kbr_filter()`")
  object <- checked_fit(object, ...)
  h <- check_size(h, 1, each = numbers_a_time(object))
  if (inherits(object, "kb_hmm_particles")) {
    return(sealed(forecast_particles(object, h, inputs)))
  }
  refuse_clock(list(inputs = inputs))
  hmm <- object$hmm
  s <- object$features[, ncol(object$features)]
  coef <- matrix(0, length(s), h)
  sum <- numeric(h)
  from <- colSums(hmm$pairs$from)
  for (k in seq_len(h)) {
    coef[, k] <- hmm$model$inverse %*% s
    sum[[k]] <- sum(from * coef[, k])
    s <- as.vector(hmm$model$transition %*% s) / sum[[k]]
  }
  sealed(new_object(
    list(
      version = fit_version, hmm = hmm, coef = coef, sum = sum,
      after = path_length(object)
    ),
    class = c("kb_kbr_forecast", "kb_kbr_path")
  ))
}

# How many numbers a path holds for each time
numbers_a_time <- function(path) {
  if (inherits(path, "kb_hmm_particles")) {
    prod(dim(path$spread)[1:2])
  } else {
    nrow(path$features)
  }
}

#' @export
path_length.kb_kbr_forecast <- function(object) length(object$sum)
#' @export
path_keys.kb_kbr_forecast <- function(object) rep("next", length(object$sum))
#' @export
path_weights.kb_kbr_forecast <- function(object, t) {
  raw <- object$hmm$pairs$from %*% object$coef[, t, drop = FALSE]
  list(weights = t(raw) / object$sum[t], location = "to")
}

#' @export
path_title.kb_kbr_forecast <- function(x) {
  paste0(
    "Forecast by kernel Bayes' rule: ", counted(path_length(x), "step"),
    " after time ", x$after
  )
}
