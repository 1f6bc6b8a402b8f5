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
    lambda = lambda_config(prior$lambda),
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

# A rate, or shapes, rates and weights of gamma distributions
lambda_config <- function(lambda) {
  if (is.list(lambda)) c(lambda$shape, lambda$rate, lambda_weights(lambda)) else lambda
}

# Older fits have none
lambda_weights <- function(lambda) {
  if (is.null(lambda$weights)) 1 else lambda$weights
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

# The sums over the data that a run's particles share take long to compute from
# a state: O(t^3) at row t where moves may propose any candidate. So the last of
# them are kept from one update() to the next, in this process. They are not
# part of a fit; a run that finds none computes them with bitwise identical
# results.

pools <- new.env(parent = emptyenv())
pools$held <- list()

# The key of the shared sums; NULL where there are none, and for a state of few
# rows, for which they are computed quickly
pool_key <- function(engine, index, state, fewest = 100) {
  done <- state_time(state) - engine$config$past
  if (done < fewest || learns_scales(engine$config)) {
    return(NULL)
  }
  rows <- seq_len(done)
  list(
    state = state[c("time", "k", "sets", "pool")],
    config = run_config(engine$config, index),
    x = engine$x[rows, , drop = FALSE], y = engine$y[rows, , drop = FALSE]
  )
}

#' @return The pool, a pointer, or NULL.
#' @noRd
held_pool <- function(key) {
  for (i in seq_along(pools$held)) {
    entry <- pools$held[[i]]
    if (!is.null(key) && identical(entry$key, key)) {
      # Used pools are dropped last.
      pools$held <- c(pools$held[i], pools$held[-i])
      return(entry$pool)
    }
  }
  NULL
}

#' Keep the pool of a run, the latest first, as far as memory allows
#' @param at_end Is the run at its end? Then its pool is taken.
#' @noRd
hold_pool <- function(key, handle, at_end = FALSE) {
  limit <- getOption("kernelbayes.held_memory", 2e8)
  bytes <- srvm_pool_cpp(handle, "bytes")
  if (is.null(key) || bytes > limit) {
    return(invisible())
  }
  keep_pools(limit - bytes, key)
  # Without memory for it the run continues without the pool.
  pool <- tryCatch(
    srvm_pool_cpp(handle, if (at_end) "take" else "copy"),
    error = function(error) NULL
  )
  if (!is.null(pool)) {
    entry <- list(key = key, pool = pool, bytes = bytes)
    pools$held <- c(list(entry), pools$held)
  }
}

# Keep at most this much, and only the last but one pool of a run, to which its
# last will be added; R's garbage collector does not see their size
keep_pools <- function(limit, key) {
  run <- function(key) key$config[names(key$config) != "past"]
  own <- vapply(pools$held, function(entry) {
    identical(run(entry$key), run(key))
  }, NA)
  size <- vapply(pools$held, `[[`, 0, "bytes")
  stays <- cumsum(size) <= limit & (!own | cumsum(own) == 1)
  for (entry in pools$held[!stays]) srvm_free_pool_cpp(entry$pool)
  pools$held <- pools$held[stays]
}

# Predictions at new points. A row may be a centre when it arrives, and so may a
# new point: given each particle f is there a mixture of two normals, without and
# with the kernel at the point, (S62). Without it intervals are too short where
# centres are far away (Rasmussen and Quinonero-Candela, 2005).

# Of chains that many draws are used, evenly spaced: each costs as much as a
# particle.
most_draws_at_new <- 250

may_join <- function(fit) {
  settings <- fit$settings
  !is_latent(settings) && !is_bounded(settings$memory) &&
    !has_dictionary(fit) && !is_improper(settings$prior) &&
    !identical(fit$control$proposal, "paper")
}

#' @export
mixture_size.kb_srvm <- function(fit, pool) {
  draws <- length(pool$weights)
  if (!may_join(fit)) {
    return(draws)
  }
  used <- if (inherits(fit, "kb_mcmc")) min(draws, most_draws_at_new) else draws
  max(draws, used * (1 + nrow(spread_rule(coef_df(fit$settings$prior)))))
}

# Which complete rows are no candidates of the pool?
new_points <- function(fit, x, pool) {
  if (!may_join(fit)) {
    return(integer())
  }
  numbers <- function(x) scaling_numbers(fit$settings$scaling, x)
  known <- numbers(fit$data$x[unique(pool$rows), , drop = FALSE])
  which(is.na(match_points(numbers(kernel_part(fit, x)), known)))
}

#' Moments of all points, those of new ones being mixtures
#' @param new Numbers of the new points among the rows of `x`.
#' @return The list, points x components, with `noise` of the same shape, and
#'   `weights`, components x points.
#' @noRd
moments_with_new <- function(fit, x, pool, new) {
  draws <- length(pool$weights)
  most <- if (inherits(fit, "kb_mcmc")) most_draws_at_new else draws
  joined <- moments_at_new(
    fit, x[new, , drop = FALSE], pool, spread_over(draws, min(draws, most))
  )
  if (length(new) == nrow(x)) {
    return(joined)
  }
  seen <- set_moments(fit, x[-new, , drop = FALSE], pool)
  seen$noise <- matrix(pool$noise, nrow(seen$mean), draws, byrow = TRUE)
  # Components that a point does not have are copies with weight 0.
  width <- max(draws, ncol(joined$mean))
  widen <- function(v) v[, rep_len(seq_len(ncol(v)), width), drop = FALSE]
  together <- function(name) {
    out <- matrix(0, nrow(x), width)
    out[-new, ] <- widen(seen[[name]])
    out[new, ] <- widen(joined[[name]])
    out
  }
  weights <- matrix(0, width, nrow(x))
  weights[seq_len(draws), -new] <- pool$weights
  weights[seq_len(nrow(joined$weights)), new] <- joined$weights
  list(
    mean = together("mean"), variance = together("variance"),
    noise = together("noise"), weights = weights
  )
}

# Of new points only, given the draws `used`
moments_at_new <- function(fit, x, pool, used) {
  engine <- fit_engine(fit)
  seen <- seq_len(if (inherits(fit, "kb_mcmc")) nrow(engine$x) else fit$time)
  x <- scaling_x(fit$settings$scaling, kernel_part(fit, x))
  kernels <- settings_kernels(fit$settings)
  rule <- spread_rule(coef_df(fit$settings$prior))
  copies <- 1 + nrow(rule)
  at_kernel <- function(h) {
    part <- pool_part(fit, pool, used[pool$kernel[used] == h])
    config <- model_config(fit$settings)
    config$kernel <- kernels[[h]]
    out <- srvm_new_moments_cpp(
      config, part, match(part$rows, fit$sequence), part$noise,
      if (is.null(part$bandwidths)) matrix(0, 0, 0) else part$bandwidths, rule,
      engine$x[seen, , drop = FALSE], engine$y[seen, , drop = FALSE], x
    )
    out$log_weight <- out$log_weight + log(rep(part$weights, copies))
    out$noise <- matrix(part$noise, nrow(x), copies * length(part$k),
      byrow = TRUE
    )
    out
  }
  parts <- lapply(unique(pool$kernel[used]), at_kernel)
  glue <- function(name, bind) do.call(bind, lapply(parts, `[[`, name))
  log_weight <- glue("log_weight", rbind)
  log_total <- apply(log_weight, 2, log_sum_exp)
  list(
    mean = glue("mean", cbind), variance = glue("variance", cbind),
    noise = glue("noise", cbind),
    weights = exp(sweep(log_weight, 2, log_total)), log_total = log_total
  )
}

#' Some of a pool's particles, with candidates numbered as those of one kernel
#' @param chosen Their numbers, increasing.
#' @noRd
pool_part <- function(fit, pool, chosen) {
  size <- pool$k + n_fixed(fit$settings)
  among <- function(v, sizes) v[rep(seq_along(sizes), sizes) %in% chosen]
  points <- length(pool$rows) %/% n_kernels(fit$settings)
  list(
    k = pool$k[chosen],
    sets = (among(pool$sets, pool$k) - 1L) %% points + 1L,
    kernel = pool$kernel[chosen],
    bandwidths = pool$bandwidths[, chosen, drop = FALSE],
    spread = among(pool$spread, pool$k),
    noise = pool$noise[chosen], coef = pool$coef[chosen],
    factor = among(pool$factor, size * (size + 1) / 2),
    z = among(pool$z, size), weights = pool$weights[chosen],
    rows = pool$rows[seq_len(points)]
  )
}

# Weights of components: of each row's, components x rows, or of all
component_weights <- function(moments, pool) {
  if (is.null(moments$weights)) pool$weights else as.vector(moments$weights)
}

# Means of mixtures, rows of `moments`
mixture_mean <- function(moments, pool) {
  if (is.null(moments$weights)) {
    return(drop(moments$mean %*% pool$weights))
  }
  rowSums(moments$mean * t(moments$weights))
}

# Bandwidths for a bounded memory. Particles with bandwidths of their own need
# all rows, so these are learned from the first rows and then fixed.

fixes_bandwidths <- function(settings) {
  learns_scales(settings) && is_bounded(settings$memory)
}

#' Settings whose bandwidths are posterior medians given the first rows
#' @param given,control As in `srvm_fit()`.
#' @param sequence The order of the rows.
#' @noRd
fix_bandwidths <- function(settings, given, control, mould, sequence, started) {
  rows <- utils::head(sequence, settings$memory$bandwidth_rows)
  mould <- mould_of(mould, pick_data(fit_data(mould), rows))
  free <- settings
  free$memory <- srvm_memory()
  # Beside a linear part they are half as wide, and then a bounded number of
  # kernels approximates f less well.
  free$linear <- no_linear_part
  given[c("reference", "control", "order")] <- list(
    free, control_of_bandwidths(control), "given"
  )
  stage <- run_stage(suppressWarnings(
    srvm_fit(mould, given, quote(srvm()), started),
    classes = "kb_warning_time_limit"
  ))
  first <- stage$value
  if (stage$halted) refuse_stop("before the bandwidths were learned")
  if (first$status != "complete") refuse_stopped(first, length(rows))
  settings$kernel <- kernel_fill(
    settings$kernel, "ard", median_bandwidths(first)
  )
  settings$inverse_bandwidth <- NULL
  settings$bandwidth_rows <- length(rows)
  settings
}

# Moves and sweeps, which a stream may do without, learn the bandwidths.
control_of_bandwidths <- function(control) {
  control$replicates <- 1L
  control$sweep_every <- 1L
  if (control$n_moves == 0) control$n_moves <- smc_control()$n_moves
  control
}

refuse_stopped <- function(fit, n) {
  kb_abort(c(
    "{.fn srvm} was stopped before it had learned the bandwidths.",
    x = "It had seen {fit$time} of the {n} rows from which they are learned.",
    i = "Give it more time, fewer {.arg bandwidth_rows} in {.fn srvm_memory}, or a
         {.arg kernel} with bandwidths."
  ), fit$status)
}
