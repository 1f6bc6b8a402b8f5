# The sampler of bark() as an engine of run_engine(): one run per chain.

#' @export
fit_engine.kb_bark <- function(fit) {
  settings <- fit$settings
  told <- response_numbers(fit)
  if (!is.list(told)) told <- list(y = told)
  structure(
    list(
      config = c(
        list(
          prior = settings$prior, seed = fit$seed, simd = fit$simd,
          prior_only = settings$prior_only, family = bark_response(fit),
          threads = chain_threads(fit)
        ),
        if (has_mixed(fit)) list(terms = mixed_config(fit)),
        if (has_varying_noise(fit)) settings["varying"],
        if (is_ordered(fit)) list(classes = nlevels(fit$data$y)),
        told[names(told) != "y"],
        fit$control[c("warmup", "iter", "thin", "n_temps", "sweep")]
      ),
      x = scaling_x(settings$scaling, fit$data$x),
      y = told$y,
      weights = row_weights(fit)
    ),
    class = c("kb_engine_bark", "kb_engine_chain", "kb_engine")
  )
}

# The sampler's name for the distribution of the response
bark_response <- function(fit) {
  # Noise that varies has row weights of its own.
  if (is_student_prior(fit$settings$prior) && !has_varying_noise(fit)) {
    return("student")
  }
  sampler <- family_of(fit)$sampler
  if (is.null(sampler)) fit$settings$family else sampler
}

#' @export
engine_open.kb_engine_bark <- function(engine, index, state) {
  config <- c(engine$config, list(chain = index))
  bark_open_cpp(config, engine$x, engine$y, engine$weights, state)
}
