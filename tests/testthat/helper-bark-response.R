# What tests of bark() with Student's noise and of ordered classes share: an
# engine without a fit around it, and importance sampling from the prior.

response_setting <- function(type = "different", alpha = 1, nu = 3, ...) {
  utils::modifyList(list(
    type = type, alpha = alpha, eps = 0.5, nu = nu, A = 1.2, B = 0.8,
    a_p = 1.5, b_p = 1, noise_shape = 3, noise_rate = 1,
    noise_fixed = FALSE, noise_precision = 1
  ), list(...))
}

response_x <- matrix(c(
  0.3, -1.7, 2.1, -0.4, 1.2, 0.8, -0.6, 0.1, 1.4, -1.1, 0.5, -0.2, 0.9, -0.8,
  0.2
), 5)

response_engine <- function(family, x, y, prior, warmup = 20, iter = 40,
                            n_temps = 1, thin = 1, prior_only = FALSE,
                            sweep = "full", weights = rep(1, length(y)),
                            classes = 2) {
  structure(
    list(
      config = list(
        prior = prior, seed = 1, prior_only = prior_only, family = family,
        warmup = warmup, iter = iter, thin = thin, n_temps = n_temps,
        sweep = sweep, classes = classes
      ),
      x = x, y = y, weights = weights
    ),
    class = c("kb_engine_bark", "kb_engine_chain", "kb_engine")
  )
}

run_to_end <- function(engine, index = 1) {
  run_parts(engine, engine_total(engine), index)
}

#' The sampler of the evidence, of one rung below 1 or more
as_ladder <- function(engine, rungs) {
  engine$config$rungs <- rungs
  class(engine) <- c("kb_engine_bark_ladder", class(engine))
  engine
}

#' The real line in (-1, 1): heavy tails have no mean
squashed <- function(x) x / (1 + abs(x))

#' Answers and weights of draws of everything from the prior
#' @param likelihood Of f at the rows and the state: log likelihood, further
#'   answers.
response_importance <- function(prior, x, at, n, likelihood) {
  out <- replicate(n, {
    state <- draw_bark_prior(prior, nrow(x), ncol(x))
    if (prior$noise_fixed) state$noise <- prior$noise_precision
    v <- slot_variances(state, prior$alpha)
    beta <- stats::rnorm(length(v), 0, sqrt(v))
    f <- rep(0, nrow(x))
    if (length(v) > 0) f <- drop(slot_columns(state, x) %*% beta)
    lambda <- exp(state$log_lambda) * state$included
    k_at <- vapply(state$location, function(l) {
      if (l == 0) 1 else exp(-sum(lambda * (at - x[l, ])^2))
    }, 0)
    of <- likelihood(f, state)
    c(
      of[[1]], sum(state$copies), sum(state$included),
      squashed(sum(k_at * beta)), squashed(of[[1]]), of[-1]
    )
  })
  list(weight = exp(out[1, ]), answers = out[-1, ])
}

#' The same answers of a run
response_answers <- function(run, x, at, further) {
  draws <- run$draws
  f <- bark_values_cpp(draws, at, x, "draw", seq_along(draws$m))$mean
  c(
    sum(draws$copies) / length(draws$m), sum(draws$included) / length(draws$m),
    mean(squashed(f)), mean(squashed(draws$log_likelihood)), further(draws)
  )
}

#' Scores of the means of independent chains against importance sampling
response_scores <- function(engine, exact, at, further, chains = 20) {
  w <- exact$weight / sum(exact$weight)
  mean <- drop(exact$answers %*% w)
  se <- sqrt(drop((exact$answers - mean)^2 %*% w^2))
  runs <- vapply(seq_len(chains), function(i) {
    response_answers(run_to_end(engine, i), engine$x, at, further)
  }, mean)
  own <- apply(runs, 1, stats::sd) / sqrt(chains)
  (rowMeans(runs) - mean) / pmax(sqrt(own^2 + se^2), 1e-9)
}
