# The sampler against enumeration of all sets (tests 1 and 2 of its
# derivation): first its proposal and weight as pure functions, then whole
# runs at Monte-Carlo level.

kern <- oracle_kernel_gaussian(0.9)
x_plain <- c(0.3, -1.7, 2.1, -0.4, 1.2, -2.6, 0.8)
x_repeated <- c(0.3, -1.7, 0.3, 2.1, -0.4, 1.2, -1.7)
y <- c(1.05, 0.21, -0.32, 0.86, 0.55, -0.17, 0.71)

#' The package's adapted proposal in the form that the oracle checks
package_transition <- function(x, y, model, centres, intercept = TRUE,
                               shift = 0) {
  prior <- srvm_prior(
    lambda = model$lambda, kmax = model$kmax, centres = centres,
    noise = fixed(model$sigma2), coef = fixed(model$tau2)
  )
  fit <- list(
    settings = list(
      kernel = kernel_gaussian(0.9), prior = prior, intercept = intercept,
      shift = shift, scaling = scaling_learn(as.matrix(x), y, FALSE)
    ),
    control = smc_control(), seed = 1L, sequence = seq_along(y),
    data = list(x = as.matrix(x), y = y)
  )
  config <- c(srvm_engine(fit)$config, list(replicate = 1L))
  candidates <- oracle_candidates(x)
  function(previous, t) {
    out <- srvm_adapted_cpp(
      config, as.matrix(x), y, t, previous, model$sigma2, model$tau2
    )
    join <- out[["join_probability"]]
    newest <- candidates$m[[t]]
    keep <- c(1 - join, join) > 0
    list(
      set = list(previous, c(previous, newest))[keep],
      log_prob = log(c(1 - join, join))[keep],
      log_weight = rep(out[["log_weight"]], 2)[keep]
    )
  }
}

cases <- expand.grid(
  kmax = c(5, 2, 0), centres = c("subset", "iid"),
  repeated = c(FALSE, TRUE), intercept = c(TRUE, FALSE),
  shift = c(0, 0.7), stringsAsFactors = FALSE
)
cases <- cases[cases$intercept | cases$shift == 0, ]

test_that("the adapted proposal's weights are exact for every set", {
  for (i in seq_len(nrow(cases))) {
    case <- cases[i, ]
    x <- if (case$repeated) x_repeated else x_plain
    model <- oracle_model(
      x, y, kern, 1.3, case$kmax, case$centres, 0.15, 0.6,
      intercept = case$intercept
    )
    transition <- package_transition(
      x, y, model, case$centres, case$intercept, case$shift
    )
    defect <- vapply(1:7, function(t) {
      oracle_transition_defect(
        transition,
        t = t, kmax = case$kmax, model = model
      )$defect
    }, 0)
    expect_lt(max(defect), 1e-12)
  }
})

# Whole runs -----------------------------------------------------------------

xs <- c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8)
ys <- c(1.05, 0.21, -0.32, 0.86, 0.55, 0.71)

#' z-scores of srvm's answers against quadrature over psi and all sets, from
#' independent replicates
run_against_oracle <- function(x, y, control, kmax = 5, centres = "subset",
                               noise = ig(2, 0.2), coef = ig(2, 1),
                               runs = 20, seed = 1, intercept = TRUE) {
  exact <- oracle_posterior(
    x, y, kern, 1.3, kmax, centres,
    noise = unclass(noise_for_oracle(noise)),
    coef = unclass(noise_for_oracle(coef)), intercept = intercept
  )
  fits <- lapply(seq_len(runs), function(r) {
    srvm(as.matrix(x), y,
      kernel = kernel_gaussian(0.9), scale = FALSE, intercept = intercept,
      prior = srvm_prior(1.3, kmax, centres, noise, coef),
      control = control, seed = seed * 1000 + r
    )
  })
  at <- c(-1, 0.5)
  predicted <- oracle_predict(exact, at)
  estimates <- vapply(fits, function(fit) {
    z <- exp(evidence(fit)$log_evidence - exact$log_evidence)
    p_k <- kernels(fit)
    f <- predict(fit, as.matrix(at))
    upper <- predict(fit, as.matrix(at), "quantile", "credible", probs = 0.9)
    # Self-normalised estimates are compared after weighting by Z: their
    # numerators are unbiased.
    c(z, z * (c(
      sum(p_k$k * p_k$probability), sum(p_k$probability[p_k$k == 0]),
      inclusion(fit)$probability[exact$rows], sigma(fit), f
    ) - c(
      sum(as.numeric(names(exact$p_k)) * exact$p_k), exact$p_k[["0"]],
      exact$inclusion, exact$sigma, predicted$mean
    )))
  }, numeric(6 + length(exact$rows)))
  truth <- c(1, rep(0, nrow(estimates) - 1))
  se <- apply(estimates, 1, stats::sd) / sqrt(runs)
  mc_z(rowMeans(estimates), se, truth)
}

noise_for_oracle <- function(prior) {
  if (inherits(prior, "kb_fixed")) list(fixed = prior$variance) else prior
}
