# Shared by tests of bark() with Student's noise and with ordered classes: an
# engine without a fit around it, and its results next to importance sampling.

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

#' The sampler of the evidence, with at least one rung below 1
as_ladder <- function(engine, rungs) {
  engine$config$rungs <- rungs
  class(engine) <- c(class(engine), "kb_engine_ladder")
  engine
}

#' Maps the real line to (-1, 1): heavy tails have no mean
squashed <- function(x) x / (1 + abs(x))

#' The results of a run, in the form of response_importance()
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
