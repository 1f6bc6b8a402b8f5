# The sampler against enumeration of all sets (tests 1 and 2 of its derivation):
# first its proposal and weight as pure functions, then whole runs at Monte
# Carlo level.

x_plain <- c(0.3, -1.7, 2.1, -0.4, 1.2, -2.6, 0.8)
x_repeated <- c(0.3, -1.7, 0.3, 2.1, -0.4, 1.2, -1.7)
y <- c(1.05, 0.21, -0.32, 0.86, 0.55, -0.17, 0.71)

cases <- expand.grid(
  kmax = c(5, 2, 0), centres = c("subset", "iid"),
  repeated = c(FALSE, TRUE), intercept = c(TRUE, FALSE),
  shift = c(0, 0.7), scaled = c(FALSE, TRUE), stringsAsFactors = FALSE
)
cases <- cases[cases$intercept | cases$shift == 0, ]

test_that("the adapted proposal's weights are exact for every set", {
  for (i in seq_len(nrow(cases))) {
    case <- cases[i, ]
    x <- if (case$repeated) x_repeated else x_plain
    noise <- if (case$scaled) list(shape = 1.5, scale = 0.2) else 0.15
    model <- oracle_model(
      x, y, kern, 1.3, case$kmax, case$centres, noise, 0.6,
      intercept = case$intercept, scaled = case$scaled
    )
    transition <- package_transition(x, y, model, shift = case$shift)
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
# nearly t with 39 degrees of freedom. |z| > 6.5 has probability 1.0e-7; with
# fewer than 500 scores in this file a false alarm is rarer than 1e-4.
limit <- 6.5

xs <- c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8)
ys <- c(1.05, 0.21, -0.32, 0.86, 0.55, 0.71)

expect_exact <- function(x = xs, y = ys, control, ...) {
  z <- run_against_oracle(x, y, control, ...)
  expect_lt(max(abs(z)), limit)
}

test_that("runs agree with enumeration and quadrature, without moves", {
  expect_exact(control = smc_control(400, n_moves = 0))
})

test_that("runs agree with moves, every step resampled", {
  control <- smc_control(400,
    n_moves = 4, resample_every_step = TRUE, resampling = "multinomial"
  )
  expect_exact(control = control)
})

test_that("runs agree with i.i.d. centres and a small kmax", {
  expect_exact(
    control = smc_control(400, n_moves = 4, resampling = "residual"),
    centres = "iid", kmax = 2
  )
})

test_that("runs agree with repeated points and no intercept", {
  expect_exact(
    x = c(0.3, -1.7, 0.3, 2.1, -0.4, -1.7), intercept = FALSE,
    control = smc_control(400, n_moves = 4, resampling = "stratified")
  )
})

test_that("runs agree with fixed variances", {
  expect_exact(
    control = smc_control(400, n_moves = 4), noise = fixed_variance(0.1),
    coef = fixed_variance(0.5)
  )
})

test_that("runs agree when the response is far from zero", {
  expect_exact(
    y = ys + 4, control = smc_control(800, n_moves = 4)
  )
})

test_that("runs in the scaled form agree", {
  expect_exact(
    control = smc_control(400, n_moves = 0), scaled = TRUE, coef = ig(3, 12)
  )
  expect_exact(
    control = smc_control(400, n_moves = 4, resample_every_step = TRUE),
    scaled = TRUE, coef = ig(3, 12), centres = "iid", kmax = 3
  )
  expect_exact(
    x = c(0.3, -1.7, 0.3, 2.1, -0.4, -1.7), intercept = FALSE,
    control = smc_control(400, n_moves = 4), scaled = TRUE, coef = ig(3, 12)
  )
})

test_that("runs in the scaled form agree with a fixed ratio, far from zero", {
  expect_exact(
    control = smc_control(400, n_moves = 4), scaled = TRUE, coef = fixed_variance(6)
  )
  expect_exact(
    y = ys + 4, control = smc_control(800, n_moves = 4), scaled = TRUE,
    coef = ig(3, 12)
  )
})
