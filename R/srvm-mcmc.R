# The batch sampler of srvm() as an engine of run_engine(): one run per chain.

#' @export
fit_engine.kb_srvm_mcmc <- function(fit) {
  rows <- fit$sequence
  structure(
    list(
      config = c(
        model_config(fit$settings),
        list(seed = fit$seed, simd = fit$simd, threads = chain_threads(fit)),
        fit$control[c(
          "warmup", "iter", "thin", "n_moves", "move_fraction"
        )]
      ),
      x = engine_points(fit)[rows, , drop = FALSE],
      y = response_rows(fit)[rows, , drop = FALSE]
    ),
    class = c("kb_engine_srvm_chain", "kb_engine_chain", "kb_engine")
  )
}

#' @export
engine_open.kb_engine_srvm_chain <- function(engine, index, state) {
  config <- c(engine$config, list(chain = index))
  srvm_open_cpp(config, engine$x, engine$y, state)
}

#' @export
engine_grown.kb_engine_srvm_chain <- function(engine) {
  c(as.list(srvm_drawn), "draws")
}

srvm_drawn <- c(
  "k", "sets", "noise", "coef", "factor", "z", "log_inverse", "spread", "df"
)

# Fits of srvm(method = "mcmc"): methods that differ from those of sequential
# fits.

#' @export
draws_in.kb_srvm_mcmc <- function(fit) lengths(lapply(fit$runs, `[[`, "k"))

#' @export
mixing_advice.kb_srvm_mcmc <- function(fit, poor) {
  "With a larger {.arg n_moves} in {.fn mcmc_control} each iteration moves
   further."
}

#' @export
particle_weights.kb_srvm_mcmc <- function(fit, runs) {
  draws <- sum(lengths(lapply(runs, `[[`, "k")))
  rep(1 / draws, draws)
}

# Results ---------------------------------------------------------------------

#' @export
evidence.kb_srvm_mcmc <- function(object, ...) {
  object <- checked_fit(object)
  refuse_batch("evidence()", "A Markov chain does not estimate the evidence")
}

#' @export
ancestry.kb_srvm_mcmc <- function(object, ...) {
  object <- checked_fit(object)
  refuse_batch("ancestry()", "Chains have no genealogy")
}

refuse_batch <- function(what, why) {
  kb_abort(c(
    "{.code {what}} is not defined for batch fits.",
    x = "{why}.",
    i = "{.code method = \"smc\"} gives it."
  ), "not_defined")
}

#' @export
chain_matrices.kb_srvm_mcmc <- function(fit) {
  runs <- fit_runs(fit)
  scaling <- fit$settings$scaling
  n <- length(runs[[1]]$k)
  column <- function(get) matrix(vapply(runs, get, numeric(n)), n)
  log_lik <- if (is_latent(fit$settings)) {
    given_log_likelihood
  } else {
    batch_log_likelihood
  }
  c(
    if (!is_probit(fit)) list(
      sigma = unscale_sd(scaling, sqrt(column(function(run) run$draws$noise)))
    ),
    if (learns_df(fit)) list(df = column(function(run) run$df)),
    list(
      tau = unscale_sd(scaling, sqrt(column(function(run) run$draws$coef))),
      k = column(function(run) as.double(run$k)),
      log_lik = column(function(run) log_lik(fit, run))
    )
  )
}

# Log density of the response given each draw, coefficients and all, the latent
# variables integrated out; the core's is that of rows times roots of weights
given_log_likelihood <- function(fit, run) {
  run$draws$log_lik + sum(log(row_weights(fit))) / 2 -
    length(fit$data$y) * log(fit$settings$scaling$y_scale)
}

# Log density of the response given each draw, its coefficients integrated out
#
# With A = LL' the precision of the p coefficients (times the noise in the
# scaled form) and z = inverse(L) X'y over the noise, it is log N(y; 0, noise)
# - p / 2 log coef - log |L| + z'z / 2, for rows times the roots of weights.
batch_log_likelihood <- function(fit, run) {
  settings <- fit$settings
  root <- sqrt(row_weights(fit))
  y <- root * (response_numbers(fit) - settings$shift)
  # The scaled form integrates the noise out: a state does not contain it.
  noise <- if (is_scaled(settings)) run$draws$noise else run$noise
  p <- run$k + n_fixed(settings)
  draw <- factor(rep(seq_along(p), p), seq_along(p))
  # Factors are packed by columns of p, p - 1, ... entries.
  column <- sequence(p, from = p, by = -1)
  diagonal <- run$factor[cumsum(c(1, column))[seq_along(column)]]
  sums <- function(v) as.double(tapply(v, draw, sum, default = 0))
  # An intercept of mean 0 has mean -shift for the centred response.
  pull <- settings$shift^2 / run$coef
  explained <- (sums(run$z^2) - pull) / if (is_scaled(settings)) noise else 1
  -length(y) / 2 * log(2 * pi * noise * settings$scaling$y_scale^2) -
    sum(y^2) / (2 * noise) + sum(log(root)) - p / 2 * log(run$coef) -
    sums(log(diagonal)) + explained / 2
}

#' @export
print.kb_srvm_mcmc <- function(x, digits = 3, ...) {
  x <- checked_fit(x, ...)
  title <- paste0(
    "Relevance vector machine, batch reversible jump", family_of(x)$title
  )
  print_chains(x, title,
    function(x, show) {
      paste0(
        describe_model(x), number_line(x, show),
        bandwidths_line(x, show),
        srvm_noise_line(x, show)
      )
    },
    digits, paste0(", ", counted(x$control$n_moves, "move"), " each")
  )
}

#' @export
glance.kb_srvm_mcmc <- function(x, ...) {
  x <- checked_fit(x, ...)
  k <- model_size(x)
  mixing <- chain_mixing(x)
  data.frame(
    nobs = x$time, k = sum(k$k * k$probability), sigma = stats::sigma(x),
    rhat = worst(max, mixing$rhat), ess_bulk = worst(min, mixing$ess_bulk),
    draws = sum(lengths(lapply(x$runs, `[[`, "k"))), seconds = x$seconds
  )
}

#' @rdname as_draws.kb_srvm
#' @export
as_draws.kb_srvm_mcmc <- function(x, ...) {
  x <- checked_fit(x)
  if ("weighted" %in% names(list(...))) {
    kb_abort("{.arg weighted} is for sequential fits: here draws have equal
             weight.", "unknown_argument", argument = "weighted")
  }
  check_no_dots(...)
  pool <- srvm_pool(x)
  runs <- fit_runs(x)
  n <- length(runs[[1]]$k)
  draws <- srvm_parameters(x, pool)
  draws$.chain <- rep(seq_along(runs), each = n)
  draws$.iteration <- rep(seq_len(n), length(runs))
  posterior::as_draws_df(draws)
}

#' @rdname as_draws.kb_srvm
#' @export
as_draws_df.kb_srvm_mcmc <- as_draws.kb_srvm_mcmc
