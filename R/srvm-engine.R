# The srvm sampler as an engine of run_engine().

#' @export
fit_engine.kb_srvm <- function(fit) {
  rows <- fit$sequence
  structure(
    list(
      config = c(
        model_config(fit$settings), list(
          seed = fit$seed, simd = fit$simd, past = n_past(fit), shares = shares_under_way(fit)
        ),
        fit$control[c(
          "particles", "proposal", "n_moves", "move_fraction", "resampling",
          "ess_threshold", "cess_threshold", "powers", "resample_every_step",
          "ancestry", "threads", "sweep_every"
        )]
      ),
      x = engine_points(fit)[rows, , drop = FALSE],
      y = response_rows(fit)[rows, , drop = FALSE]
    ),
    class = c("kb_engine_srvm", "kb_engine")
  )
}

# Equal points are one candidate
engine_points <- function(fit) {
  equal_points(scaling_x(fit$settings$scaling, fit$data$x))
}

#' @export
shortcut.kb_engine_srvm <- function(engine) {
  if (engine$config$window == 0 && engine$config$candidates == 0) {
    "The cost of a row grows with their number; with a bounded memory, such as
     {.code memory = srvm_memory(candidates = 300)}, all rows cost the same."
  }
}

# The responses as the core takes them: with the roots of weights and an offset
# if there are any
response_rows <- function(fit) {
  y <- cbind(response_numbers(fit))
  if (is.null(fit$data$weights) && is.null(fit$data$mixed)) {
    return(y)
  }
  cbind(y, sqrt(row_weights(fit)), if (is_probit(fit)) mixed_offset(fit) else 0)
}

# The model in the form that the core needs
model_config <- function(settings) {
  prior <- settings$prior
  memory <- settings$memory
  list(
    kernel = settings$kernel, inverse_bandwidth = settings$inverse_bandwidth,
    # A rate, or the shape and rate of its gamma distribution.
    lambda = unlist(prior$lambda, use.names = FALSE),
    kmax = prior$kmax, centres = prior$centres,
    noise = variance_config(prior$noise, settings$limits$noise),
    coef = variance_config(prior$coef, settings$limits$coef),
    coef_df = coef_df(prior),
    intercept = settings$intercept, linear = settings$linear,
    scaled = is_scaled(settings),
    shift = settings$shift, response = response_name(settings),
    # Known, or values with equal probabilities.
    df = if (is_student(settings)) prior$df else 0,
    # In the core 0 means no bound.
    window = if (is.finite(memory$window)) memory$window else 0L,
    candidates = if (is.finite(memory$candidates)) memory$candidates else 0L,
    forgetting = memory$forgetting
  )
}

is_student <- function(settings) is_student_prior(settings$prior)

response_name <- function(settings) {
  if (identical(settings$family, "probit")) {
    "probit"
  } else if (is_student(settings)) {
    "student"
  } else {
    "gaussian"
  }
}

# Has every row a latent variable?
is_latent <- function(settings) response_name(settings) != "gaussian"

is_scaled <- function(settings) isTRUE(settings$prior$scaled)

variance_config <- function(prior, limits) {
  type <- if (inherits(prior, "kb_fixed")) "fixed" else "ig"
  c(
    list(type = type), unclass(prior),
    list(lower = limits[[1]], upper = limits[[2]])
  )
}

#' @export
engine_open.kb_engine_srvm <- function(engine, index, state) {
  key <- pool_key(engine, index, state)
  pool <- held_pool(key)
  handle <- srvm_open_cpp(
    run_config(engine$config, index), engine$x, engine$y, state, pool
  )
  # The same fit may add different rows.
  if (is.null(pool) && !is.null(key)) hold_pool(key, handle)
  handle
}

#' @export
engine_hold.kb_engine_srvm <- function(engine, index, handle, state) {
  hold_pool(pool_key(engine, index, state), handle, at_end = TRUE)
}

# The kernels of a replicate advance in turn
#' @export
engine_groups.kb_engine_srvm <- function(engine, n_runs) {
  group_runs(n_runs, n_kernels(engine$config))
}

#' @export
engine_total.kb_engine_srvm <- function(engine) {
  engine$config$past + nrow(engine$x)
}

#' @export
engine_done.kb_engine_srvm <- function(engine, state) state_time(state)

# Methods of the sequential sampler ------------------------------

# Its time is that of the most advanced replicates
#' @export
finish_fit.kb_srvm <- function(fit, states, seconds) {
  if (is_running_again(fit)) {
    return(finish_sharing(fit, states, seconds))
  }
  let_rows_go(finish_steps(fit, keep_past(states, fit$runs), seconds))
}

finish_steps <- function(fit, states, seconds) {
  fit$runs <- states
  fit$time <- max(0L, replicate_times(fit), na.rm = TRUE)
  fit$status <- if (is_complete(fit)) "complete" else "interrupted"
  fit$seconds <- seconds
  fit
}

#' @export
is_complete.kb_srvm <- function(fit) {
  is.null(fit[["sharing"]]) &&
    all(run_times(fit) == n_given(fit))
}

#' @export
warn_status.kb_srvm <- function(fit) {
  if (fit$status == "complete") {
    return(invisible())
  }
  runs <- replicate_times(fit)
  done <- sum(runs == n_given(fit), na.rm = TRUE)
  early <- fit$time < n_given(fit)
  again <- !early && n_kernels(fit$settings) > 1
  kb_warn(c(
    if (early) {
      "Stopped before all rows were processed: {stop_words[[fit$status]]}."
    } else if (again) {
      "Stopped while probable kernels ran again with more particles:
       {stop_words[[fit$status]]}."
    } else {
      "Stopped before all replicates were finished:
       {stop_words[[fit$status]]}."
    },
    x = if (early) "It was after row {fit$time} of {n_given(fit)}.",
    "*" = if (length(runs) > 1 && !again) {
      "{done} of {length(runs)} replicates are finished."
    },
    i = "You can use the fit of those rows; {.code update(fit)} continues it."
  ), fit$status)
}
