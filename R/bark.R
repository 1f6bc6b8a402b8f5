# bark(): Bayesian additive regression kernels. In the making: regression with
# Gaussian noise; not exported before it has all of its parts.

#' Fit from a mould; arguments as those of the other engines
#' @noRd
bark <- function(x, ...) UseMethod("bark")

#' @export
#' @noRd
bark.formula <- function(formula, data, prior = bark_prior(),
                         control = mcmc_control(), scale = TRUE,
                         prior_only = FALSE, na_action = c("fail", "omit"),
                         seed = NULL, progress = NULL, ...) {
  started <- now()
  check_no_dots(...)
  mould <- mould_formula(formula, data, na_action)
  bark_fit(mould, prior, control, scale, prior_only, seed, progress,
    called = match.call(), started = started
  )
}

#' @export
#' @noRd
bark.matrix <- function(x, y, prior = bark_prior(), control = mcmc_control(),
                        scale = TRUE, prior_only = FALSE,
                        na_action = c("fail", "omit"),
                        seed = NULL, progress = NULL, ...) {
  started <- now()
  check_no_dots(...)
  mould <- mould_xy(x, y, na_action)
  bark_fit(mould, prior, control, scale, prior_only, seed, progress,
    called = match.call(), started = started
  )
}

#' @noRd
bark_fit <- function(mould, prior, control, scale, prior_only, seed, progress,
                     called, started, call = rlang::caller_env()) {
  check_class(control, "kb_mcmc_control", "`mcmc_control()`", call = call)
  scale <- check_flag(scale, call = call)
  prior_only <- check_flag(prior_only, call = call)
  progress <- check_progress(progress, call = call)
  seed <- draw_seed(seed, call = call)
  scaling <- scaling_learn(mould$x, mould$y, scale)
  fit <- structure(
    list(
      version = fit_version, call = plain_call(called),
      mould = mould_empty(mould),
      settings = list(
        prior = bark_prior_resolve(
          prior, scaling_x(scaling, mould$x), scaling_y(scaling, mould$y),
          call = call
        ),
        scaling = scaling, scale = scale, prior_only = prior_only
      ),
      control = control, data = list(x = mould$x, y = mould$y),
      sequence = seq_len(nrow(mould$x)), seed = seed,
      runs = vector("list", control$chains), time = 0L, status = "started",
      seconds = 0
    ),
    class = c("kb_bark", "kb_mcmc", "kb_fit")
  )
  run_fit(fit, progress, started, call = call)
}

# Chains ----------------------------------------------------------------------

#' @export
draws_in.kb_bark <- function(fit) {
  vapply(fit$runs, function(run) length(run$draws$m), 0L)
}

#' @export
head_draws.kb_bark <- function(fit, run, n) {
  m <- run$draws$m[seq_len(n)]
  p <- ncol(fit$data$x)
  slots <- sum(m)
  sizes <- c(
    m = n, location = slots, copies = slots, included = n * p,
    log_lambda = n * p, noise = n, log_likelihood = n, variance = slots,
    beta = slots, factor = sum(m * (m + 1) / 2), z = slots
  )
  run$draws[names(sizes)] <- Map(
    function(v, n) v[seq_len(n)], run$draws[names(sizes)], sizes
  )
  run
}

#' @export
mixing_advice.kb_bark <- function(fit) {
  "More {.arg n_temps} in {.fn mcmc_control} help chains that are stuck."
}

#' @export
chain_matrices.kb_bark <- function(fit) {
  draws <- lapply(fit_runs(fit), `[[`, "draws")
  n <- length(draws[[1]]$m)
  column <- function(get) matrix(vapply(draws, get, numeric(n)), n)
  units <- fit$time * log(fit$settings$scaling$y_scale)
  list(
    sigma = unscale_sd(
      fit$settings$scaling, 1 / sqrt(column(function(d) d$noise))
    ),
    J = column(function(d) {
      as.double(tapply(
        c(d$copies, integer(n)), c(rep(seq_len(n), d$m), seq_len(n)), sum
      ))
    }),
    log_lik = column(function(d) d$log_likelihood) - units
  )
}

#' The draws of all chains, one after the other
#' @noRd
bark_pool <- function(fit) {
  draws <- lapply(fit_runs(fit), `[[`, "draws")
  glue <- function(name) unlist(lapply(draws, `[[`, name), use.names = FALSE)
  names <- names(draws[[1]])
  stats::setNames(lapply(names, glue), names)
}

# Answers ---------------------------------------------------------------------

#' @export
#' @noRd
predict.kb_bark <- function(object, newdata,
                            type = c("response", "quantile", "draws"),
                            interval = c("none", "credible", "prediction"),
                            level = 0.9, probs = c(0.05, 0.5, 0.95), ...) {
  check_no_dots(...)
  type <- check_choice(type, c("response", "quantile", "draws"))
  interval <- check_choice(interval, c("none", "credible", "prediction"))
  level <- check_number(level, 0, 1, open = TRUE)
  rows <- prediction_rows(object, newdata, NULL, missing(newdata), FALSE)
  x <- rows$x[rows$complete, , drop = FALSE]
  pool <- bark_pool(object)
  out <- switch(type,
    response = bark_response(object, x, interval, level, pool),
    quantile = bark_quantiles(
      object, x, check_probs(probs),
      if (interval == "none") "prediction" else interval, pool
    ),
    draws = bark_draws(object, x, pool)
  )
  if (type == "quantile") colnames(out) <- paste0(100 * probs, "%")
  out <- spread_rows(out, rows$complete)
  if (type == "draws") t(out) else out
}

#' @noRd
bark_moments <- function(fit, x, pool, drawn = FALSE) {
  scaling <- fit$settings$scaling
  bark_moments_cpp(
    pool, scaling_x(scaling, x), scaling_x(scaling, fit$data$x), drawn
  )
}

#' @noRd
bark_blocks <- function(fit, x, pool, f) {
  lapply(row_blocks(x, length(pool$m)), function(rows) {
    f(bark_moments(fit, x[rows, , drop = FALSE], pool))
  })
}

#' @noRd
bark_response <- function(fit, x, interval, level, pool) {
  mean <- as.double(unlist(
    bark_blocks(fit, x, pool, function(moments) rowMeans(moments$mean))
  ))
  mean <- unscale_mean(fit$settings$scaling, mean)
  if (interval == "none") {
    return(mean)
  }
  tail <- (1 - level) / 2
  limits <- bark_quantiles(fit, x, c(tail, 1 - tail), interval, pool)
  cbind(fit = mean, lwr = limits[, 1], upr = limits[, 2])
}

#' @noRd
bark_quantiles <- function(fit, x, probs, interval, pool) {
  weights <- rep(1 / length(pool$m), length(pool$m))
  noise <- if (interval == "prediction") 1 / pool$noise else 0 * pool$noise
  blocks <- bark_blocks(fit, x, pool, function(moments) {
    mixture_quantiles_cpp(
      moments$mean, sweep(moments$variance, 2, noise, "+"), weights, probs,
      stats::qnorm(probs)
    )
  })
  out <- do.call(rbind, c(list(matrix(0, 0, length(probs))), blocks))
  unscale_mean(fit$settings$scaling, out)
}

#' Draws of f, n x S
#' @noRd
bark_draws <- function(fit, x, pool) {
  f <- bark_moments(fit, x, pool, drawn = TRUE)$mean
  unscale_mean(fit$settings$scaling, f)
}

#' @export
sigma.kb_bark <- function(object, ...) {
  check_no_dots(...)
  mean(chain_matrices(object)$sigma)
}

#' @export
as_draws.kb_bark <- function(x, ...) {
  check_no_dots(...)
  chains <- chain_matrices(x)
  pool <- bark_pool(x)
  p <- ncol(x$data$x)
  included <- matrix(pool$included, p)
  lambda <- exp(matrix(pool$log_lambda, p)) * included
  draws <- data.frame(lapply(chains, as.vector), check.names = FALSE)
  for (l in seq_len(p)) draws[[paste0("lambda[", l, "]")]] <- lambda[l, ]
  if (startsWith(x$settings$prior$type, "select")) {
    for (l in seq_len(p)) draws[[paste0("delta[", l, "]")]] <- included[l, ]
  }
  draws$.chain <- as.vector(col(chains$J))
  draws$.iteration <- as.vector(row(chains$J))
  posterior::as_draws_df(draws)
}

#' @export
print.kb_bark <- function(x, digits = 3, ...) {
  show <- function(v) format(v, digits = digits)
  chains <- chain_matrices(x)
  mixing <- chain_mixing(x)
  cat(
    "Bayesian additive regression kernels\n",
    if (!is.null(x$mould$formula)) {
      paste0("  formula:   ", one_line(x$mould$formula), "\n")
    },
    "  prior:     ", x$settings$prior$type, "\n",
    "  rows:      ", x$time, ", ", counted(ncol(x$data$x), "predictor"), "\n",
    "  kernels:   ", show(mean(chains$J)), " on average\n",
    "  noise sd:  ", show(mean(chains$sigma)), "\n",
    "  chains:    ", length(x$runs), ", ",
    counted(x$control$iter, "iteration"), " after ", x$control$warmup, "\n",
    "  mixing:    R-hat up to ", show(worst(max, mixing$rhat)), ", ESS from ",
    show(worst(min, mixing$ess_bulk)), "\n",
    "  time:      ", show(timings(x)$sampler), " s\n",
    sep = ""
  )
  invisible(x)
}
