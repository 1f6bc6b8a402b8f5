# The learned rate of the number of centres: against quadrature over the rate
# and enumeration of all sets.

x <- c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8)
y <- c(1.05, 0.21, -0.32, 0.86, 0.55, 0.71)

test_that("the weights under a learned rate are exact for every set", {
  # p(k + 1)/p(k) below 1 throughout, and above 1 at first; a mixture with two modes
  for (hyper in list(
    list(1, 0.1), list(0.5, 2), list(8, 1.5), list(c(0.5, 40), c(2, 10), c(3, 1))
  )) {
    lambda <- do.call(oracle_learned_lambda, hyper)
    for (centres in c("subset", "iid")) for (kmax in c(5, 2)) {
      model <- oracle_model(
        c(x, x[[1]]), c(y, 1), kern, lambda, kmax, centres, 0.15, 0.6
      )
      for (proposal in c("adapted", "birth_death")) {
        transition <- package_transition(c(x, x[[1]]), c(y, 1), model, proposal)
        defect <- vapply(1:7, function(t) {
          oracle_transition_defect(
            transition,
            t = t, kmax = kmax, model = model
          )$defect
        }, 0)
        expect_lt(max(defect), 1e-10)
      }
    }
  }
})

# Null: each z-score is nearly t with 39 degrees of freedom, as in
# test-srvm-exact.R: |z| > 6.5 has probability 1e-7.
test_that("runs under a learned rate agree with quadrature and enumeration", {
  lambda <- oracle_learned_lambda(1, 0.3)
  for (centres in c("subset", "iid")) {
    z <- run_against_oracle(x, y, smc_control(400, n_moves = 4),
      lambda = lambda, centres = centres
    )
    expect_lt(max(abs(z)), 6.5)
  }
})

test_that("the batch sampler has the same posterior of k", {
  parts <- list(shape = c(1, 9), rate = c(0.5, 2), weights = c(1, 2))
  lambda <- do.call(oracle_learned_lambda, parts)
  exact <- oracle_posterior(
    x, y, kern, lambda, 5, "subset", for_oracle(ig(3, 0.3)),
    for_oracle(ig(3, 2)), TRUE
  )
  fit <- srvm(as.matrix(x), y,
    kernel = kernel_gaussian(0.9), scale = FALSE, method = "mcmc",
    prior = srvm_prior(do.call(lambda_gamma, parts), 5,
      noise = ig(3, 0.3), coef = ig(3, 2)
    ),
    control = mcmc_control(chains = 4, warmup = 500, iter = 5000), seed = 1
  )
  k <- model_size(fit)
  expect_equal(k$k, as.integer(names(exact$p_k)))
  draws <- posterior::as_draws_matrix(as_draws(fit))
  at_k <- posterior::extract_variable_matrix(as_draws(fit), "k")
  for (size in k$k) {
    # |z| > 5 has probability 6e-7 if the central limit theorem holds.
    share <- 1 * (at_k == size)
    z <- (mean(share) - exact$p_k[[size + 1]]) / posterior::mcse_mean(share)
    expect_lt(abs(z), 5)
  }
  # E (lambda | k) = (k + 1) p(k + 1) / p(k)
  growth <- exp(vapply(k$k + 1, lambda, 0) - vapply(k$k, lambda, 0))
  truth <- sum((k$k + 1) * growth * exact$p_k)
  lambda_draws <- draws[, "lambda"]
  z <- (mean(lambda_draws) - truth) /
    posterior::mcse_mean(
      posterior::extract_variable_matrix(as_draws(fit), "lambda")
    )
  expect_lt(abs(z), 5)
})

test_that("a learned rate is a prior like others", {
  expect_output(print(srvm_prior("learn")), "learned, few or many")
  expect_output(print(lambda_gamma(2, 3)), "<lambda_gamma(2, 3)>",
    fixed = TRUE
  )
  expect_error(srvm_prior("much"), "`lambda`", class = "kb_error_argument")
  expect_error(lambda_gamma(0, 1), "`shape`", class = "kb_error_argument")
  expect_error(lambda_gamma(1, -1), "`rate`", class = "kb_error_argument")
  expect_error(lambda_gamma(1:2, 1, c(1, 0)), "`weights`",
    class = "kb_error_argument"
  )
  expect_error(lambda_gamma(1:2, 1:3), "one length", class = "kb_error_argument")
  fit <- srvm(as.matrix(x), y,
    prior = srvm_prior("learn"), kernel = kernel_gaussian(0.9),
    control = smc_control(50), seed = 1
  )
  expect_identical(fit$settings$prior$lambda, lambda_gamma(
    c(4, 2), c(1, 2 / 7),
    weights = c(0.8, 0.2)
  ))
  expect_output(print(fit$settings$prior),
    "lambda ~ lambda_gamma(c(4, 2), c(1, 0.2857), c(0.8, 0.2))",
    fixed = TRUE
  )
  wide <- srvm(y ~ ., sim_friedman(10, p = 12, seed = 1),
    control = smc_control(10), seed = 1
  )
  expect_equal(wide$settings$prior$lambda$rate, c(1, 2 / 25))
  expect_true("lambda" %in% posterior::variables(as_draws(fit)))
  expect_identical(as_draws(fit), as_draws(fit))
  known <- srvm(as.matrix(x), y,
    prior = srvm_prior(2), kernel = kernel_gaussian(0.9),
    control = smc_control(50), seed = 1
  )
  expect_false("lambda" %in% posterior::variables(as_draws(known)))
  expect_equal(sum(srvm_prior_k(fit)$probability), 1)
})

test_that("the printed weights require a known rate", {
  expect_error(
    srvm(as.matrix(x), y,
      prior = srvm_prior("learn"),
      control = smc_control(20, proposal = "paper"), seed = 1
    ),
    "lambda", class = "kb_error_argument"
  )
})
