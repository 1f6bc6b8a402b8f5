# The package's sampler against the oracle (helper-enumerate.R): its proposals
# as pure functions, and whole runs. Both use the kernel kern().

kern <- oracle_kernel_gaussian(0.9)

#' log p(k) of a Poisson rate with a gamma prior, or a mixture of these, by
#' quadrature over the rate; includes the package's form of it
#' @noRd
oracle_learned_lambda <- function(shape, rate, weights = 1) {
  parts <- Map(function(shape, rate, weight) {
    function(lambda) weight * stats::dgamma(lambda, shape, rate)
  }, shape, rate, weights / sum(rep_len(weights, length(shape))))
  density <- function(lambda) Reduce(`+`, lapply(parts, function(f) f(lambda)))
  at <- function(one) {
    log(stats::integrate(function(lambda) {
      stats::dpois(one, lambda) * density(lambda)
    }, 0, Inf, rel.tol = 1e-12, subdivisions = 1000)$value)
  }
  known <- vapply(0:20, at, 0)
  log_p <- function(k) known[k + 1]
  structure(log_p, package = lambda_gamma(shape, rate, weights))
}

for_package <- function(lambda) {
  if (is.function(lambda)) attr(lambda, "package") else lambda
}

#' The core's configuration for an oracle's model
#' @noRd
core_config <- function(x, y, model, control, shift = 0) {
  scaled <- model$scaled
  noise <- model$sigma2
  prior <- srvm_prior(
    lambda = for_package(model$lambda), kmax = model$kmax,
    centres = model$centres,
    noise = if (scaled) ig(noise$shape, noise$scale) else fixed_variance(noise),
    coef = fixed_variance(model$tau2), scaled = scaled
  )
  fit <- list(
    settings = list(
      kernel = kernel_gaussian(0.9), prior = prior,
      intercept = model$intercept, linear = no_linear_part, shift = shift,
      memory = srvm_memory(),
      family = "gaussian",
      limits = variance_limits(y, scaled),
      scaling = scaling_learn(as.matrix(x), y, FALSE)
    ),
    control = usual_particles(control), seed = 1L, sequence = seq_along(y),
    data = list(x = as.matrix(x), y = y)
  )
  config <- fit_engine(structure(fit, class = "kb_srvm"))$config
  c(config, list(replicate = 1L))
}

#' The package's proposal in the form used by the oracle
#' @noRd
package_transition <- function(x, y, model, proposal = "adapted", shift = 0,
                               move_fraction = 0.25) {
  control <- smc_control(proposal = proposal, move_fraction = move_fraction)
  config <- core_config(x, y, model, control, shift)
  newest <- oracle_candidates(x)$m
  # In the scaled form the noise of a state does not matter.
  noise <- if (model$scaled) 7 else model$sigma2
  function(previous, t) {
    # Nothing may depend on the order of a set.
    state <- list(config, as.matrix(x), y, t, rev(previous), noise, model$tau2)
    if (proposal == "adapted") {
      out <- do.call(srvm_adapted_cpp, state)
      p <- out[["join_probability"]]
      return(oracle_states(
        list(previous, c(previous, newest[[t]])), log(c(1 - p, p)),
        rep(out[["log_weight"]], 2)
      ))
    }
    out <- do.call(srvm_birth_death_cpp, c(state, list(c("1", "0", "0"), 0)))
    stopifnot(out$drift < 1e-10)
    list(
      set = lapply(out$set, sort), log_prob = out$log_prob,
      log_weight = out$log_weight
    )
  }
}

# Whole runs -----------------------------------------------------------------

for_oracle <- function(prior) {
  if (inherits(prior, "kb_fixed")) {
    list(fixed = prior$variance)
  } else {
    unclass(prior)
  }
}

#' Predictions given the sets of particles, new points not among them: what the
#' posterior of the rows alone gives. test-srvm-new-points.R is about the others.
#' @noRd
of_sets <- function(expr) {
  inside <- asNamespace("kernelbayes")
  kept <- inside$new_points
  bind <- function(value) {
    unlockBinding("new_points", inside)
    assign("new_points", value, inside)
    lockBinding("new_points", inside)
  }
  on.exit(bind(kept))
  bind(function(...) integer())
  force(expr)
}

#' Results of a fit that quadrature also gives, at the points `at`:
#' expectations, so that a particle filter's estimate times Z-hat / Z is
#' unbiased
#' @noRd
answers_of_fit <- function(fit, at, value, rows) {
  of_sets(answers_of_sets(fit, at, value, rows))
}

answers_of_sets <- function(fit, at, value, rows) {
  pool <- srvm_pool(fit)
  w <- pool$weights
  k <- model_size(fit)
  moments <- srvm_moments(fit, at, pool)
  f <- srvm_draws(fit, at, pool, seq_along(w))
  below <- function(interval) {
    noise <- if (interval == "prediction") noise_variance(fit, pool) else 0
    sd <- sqrt(sweep(moments$variance, 2, noise, "+"))
    drop(stats::pnorm((value - moments$mean) / sd) %*% w)
  }
  c(
    sum(k$k * k$probability), sum(k$probability[k$k == 0]),
    inclusion(fit)$probability[rows], sigma(fit), predict(fit, at),
    drop((moments$variance + moments$mean^2) %*% w),
    exp(predict(fit, at, "log_score", newy = value)),
    below("prediction"), below("credible"),
    # Statistics that are drawn for output.
    drop(w %*% f), drop(w %*% f^2), sum(w * pool$draws$noise),
    sum(w * pool$draws$coef)
  )
}

answers_of_oracle <- function(exact, at, value) {
  there <- oracle_predict(exact, at, value)
  square <- there$var_f + there$mean^2
  c(
    sum(as.numeric(names(exact$p_k)) * exact$p_k), exact$p_k[["0"]],
    exact$inclusion, exact$sigma, there$mean, square, there$density,
    there$cdf, there$cdf_f, there$mean, square, exact$sigma2, exact$tau2
  )
}

#' `kern` beside the linear part that srvm() has with these rows and
#' `srvm_prior(linear = )`
#' @noRd
kern_beside <- function(x, linear) {
  if (linear == 0) {
    return(kern)
  }
  distances <- dist(x)
  oracle_with_linear(kern, linear / median(distances[distances > 0]), mean(x))
}

#' Fits of `runs` independent runs each, from fit(control, seed): the replicates of
#' one call. `apart`: of a call per run, for candidates that the seed chooses, as
#' all replicates have the same.
#' @noRd
independent_fits <- function(fit, control, runs, seed = 1, apart = FALSE) {
  control$replicates <- if (apart) 1L else as.integer(runs)
  of_one_run <- function(seed) {
    all <- suppressWarnings(fit(control, seed))
    one <- all
    one$control$replicates <- 1L
    lapply(all$runs, function(run) {
      one$runs <- list(run)
      sealed(one)
    })
  }
  seeds <- seed * 1000 + seq_len(if (apart) runs else 1)
  unlist(lapply(seeds, of_one_run), recursive = FALSE)
}

#' z-scores of srvm's answers against quadrature over psi and all sets, from
#' independent runs
#'
#' Self-normalised estimates are weighted by Z-hat / Z: their numerators are
#' unbiased. Each score is nearly t with runs - 1 degrees of freedom.
#' @noRd
run_against_oracle <- function(x, y, control, kmax = 5, centres = "subset",
                               noise = ig(3, 0.3), coef = ig(3, 2),
                               intercept = TRUE, scaled = FALSE, runs = 40,
                               seed = 1, lambda = 1.3, weights = NULL,
                               linear = 0) {
  exact <- oracle_posterior(
    x, y, kern_beside(x, linear), lambda, kmax, centres, for_oracle(noise),
    for_oracle(coef), intercept,
    scaled = scaled,
    precision = if (is.null(weights)) rep(1, length(y)) else weights
  )
  at <- as.matrix(c(-1, 0.5))
  # Values where f is likely: estimates for rare events are not nearly normal.
  value <- mean(y) + c(-0.3, 0.1)
  truth <- answers_of_oracle(exact, at, value)
  fits <- independent_fits(function(control, seed) {
    srvm(as.matrix(x), y,
      kernel = kernel_gaussian(0.9), scale = FALSE, intercept = intercept,
      prior = srvm_prior(
        for_package(lambda), kmax, centres, noise, coef, scaled,
        linear = linear
      ),
      control = control, seed = seed, weights = weights
    )
  }, control, runs, seed)
  estimates <- vapply(fits, function(fit) {
    ratio <- exp(evidence(fit)$log_evidence - exact$log_evidence)
    c(ratio, ratio * (answers_of_fit(fit, at, value, exact$rows) - truth))
  }, numeric(1 + length(truth)))
  se <- apply(estimates, 1, stats::sd) / sqrt(runs)
  # Fixed variances are exact up to rounding.
  mc_z(rowMeans(estimates), pmax(se, 1e-14), c(1, rep(0, length(truth))))
}
