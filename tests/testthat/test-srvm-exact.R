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

# Null: the sampler is unbiased on the natural scale, so each z-score below is
# nearly t with 39 degrees of freedom. |z| > 6 has probability 5e-7; with
# fewer than 150 scores in this file a false alarm is rarer than 1e-4.
limit <- 6

xs <- c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8)
ys <- c(1.05, 0.21, -0.32, 0.86, 0.55, 0.71)

#' z-scores of srvm's answers against quadrature over psi and all sets, from
#' independent runs
#'
#' Self-normalised estimates are weighted by Z-hat / Z: their numerators are
#' unbiased.
run_against_oracle <- function(x = xs, y = ys, control, kmax = 5,
                               centres = "subset", noise = ig(3, 0.3),
                               coef = ig(3, 2), intercept = TRUE, runs = 40,
                               seed = 1) {
  exact <- oracle_posterior(
    x, y, kern, 1.3, kmax, centres, unclass(for_oracle(noise)),
    unclass(for_oracle(coef)), intercept
  )
  at <- as.matrix(c(-1, 0.5))
  truth <- c(
    sum(as.numeric(names(exact$p_k)) * exact$p_k), exact$p_k[["0"]],
    exact$inclusion, exact$sigma, oracle_predict(exact, at)$mean
  )
  estimates <- vapply(seq_len(runs), function(r) {
    fit <- suppressWarnings(srvm(as.matrix(x), y,
      kernel = kernel_gaussian(0.9), scale = FALSE, intercept = intercept,
      prior = srvm_prior(1.3, kmax, centres, noise, coef),
      control = control, seed = seed * 1000 + r
    ))
    ratio <- exp(evidence(fit)$log_evidence - exact$log_evidence)
    k <- kernels(fit)
    answers <- c(
      sum(k$k * k$probability), sum(k$probability[k$k == 0]),
      inclusion(fit)$probability[exact$rows], sigma(fit), predict(fit, at)
    )
    c(ratio, ratio * (answers - truth))
  }, numeric(1 + length(truth)))
  se <- apply(estimates, 1, stats::sd) / sqrt(runs)
  # Fixed variances are exact but for rounding.
  mc_z(rowMeans(estimates), pmax(se, 1e-14), c(1, rep(0, length(truth))))
}

for_oracle <- function(prior) {
  if (inherits(prior, "kb_fixed")) list(fixed = prior$variance) else prior
}

test_that("runs agree with enumeration and quadrature, without moves", {
  z <- run_against_oracle(control = smc_control(800, n_moves = 0))
  expect_lt(max(abs(z)), limit)
})

test_that("runs agree with moves, every step resampled", {
  control <- smc_control(800,
    n_moves = 4, resample_every_step = TRUE, resampling = "multinomial"
  )
  expect_lt(max(abs(run_against_oracle(control = control))), limit)
})

test_that("runs agree with i.i.d. centres and a small kmax", {
  z <- run_against_oracle(
    control = smc_control(800, n_moves = 4, resampling = "residual"),
    centres = "iid", kmax = 2
  )
  expect_lt(max(abs(z)), limit)
})

test_that("runs agree with repeated points and no intercept", {
  z <- run_against_oracle(
    x = c(0.3, -1.7, 0.3, 2.1, -0.4, -1.7), intercept = FALSE,
    control = smc_control(800, n_moves = 4, resampling = "stratified")
  )
  expect_lt(max(abs(z)), limit)
})

test_that("runs agree with fixed variances", {
  z <- run_against_oracle(
    control = smc_control(800, n_moves = 4), noise = fixed(0.1),
    coef = fixed(0.5)
  )
  expect_lt(max(abs(z)), limit)
})

test_that("runs agree when the response is far from zero", {
  z <- run_against_oracle(
    y = ys + 4, control = smc_control(1500, n_moves = 4)
  )
  expect_lt(max(abs(z)), limit)
})
