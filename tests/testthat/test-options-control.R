test_that("smc_control has the documented defaults", {
  control <- smc_control()
  expect_s3_class(control, "kb_smc_control")
  expect_null(control$particles)
  expect_identical(control$n_moves, 10L)
  expect_identical(control$proposal, "adapted")
  expect_identical(control$resampling, "systematic")
  expect_identical(control$ess_threshold, 0.5)
  expect_identical(control$replicates, 1L)
  expect_identical(control$threads, 1L)
  expect_false(control$resample_every_step)
  expect_identical(control$move_fraction, 0.25)
  expect_identical(control$ancestry, "summary")
  expect_null(control$checkpoint)
  expect_identical(control$checkpoint_every, 60)
  expect_identical(control$time_limit, Inf)
})

test_that("every element is present, also the NULL one", {
  expect_setequal(names(smc_control()), names(formals(smc_control)))
  expect_setequal(names(mcmc_control()), names(formals(mcmc_control)))
})

test_that("smc_control refuses bad settings and names them", {
  bad <- list(
    particles = list(0, 1.5, NA, "a", c(1, 2)),
    n_moves = list(-1, 0.5),
    proposal = list("printed", NULL, 1),
    resampling = list("bootstrap", NA, 3),
    ess_threshold = list(-0.1, 1.1, NA, "a"),
    replicates = list(0, 2.5),
    threads = list(0, -1, Inf),
    resample_every_step = list(NA, 1, "yes"),
    move_fraction = list(0, -0.1, 0.51, NA),
    ancestry = list("none", TRUE),
    checkpoint = list(1, file.path(tempfile(), "a", "b"), c("a", "b")),
    checkpoint_every = list(0, -1, NA, "a"),
    time_limit = list(0, -5, NA, NULL, "a")
  )
  for (name in names(bad)) {
    for (value in bad[[name]]) {
      arguments <- stats::setNames(list(value), name)
      expect_error(
        do.call(smc_control, arguments), name,
        class = "kb_error_argument"
      )
    }
  }
})

test_that("the error about proposals says which are available", {
  expect_error(smc_control(proposal = "printed"), "birth_death")
})

test_that("the limits of the ranges are allowed", {
  expect_identical(smc_control(particles = 1)$particles, 1L)
  expect_identical(smc_control(n_moves = 0)$n_moves, 0L)
  expect_identical(smc_control(ess_threshold = 0)$ess_threshold, 0)
  expect_identical(smc_control(ess_threshold = 1)$ess_threshold, 1)
  expect_identical(smc_control(move_fraction = 0.5)$move_fraction, 0.5)
  for (scheme in resampling_schemes_cpp()) {
    expect_identical(smc_control(resampling = scheme)$resampling, scheme)
  }
  file <- tempfile()
  expect_identical(smc_control(checkpoint = file)$checkpoint, file)
})

test_that("unknown arguments are errors", {
  expect_error(smc_control(particle_count = 3))
  expect_error(mcmc_control(burnin = 3))
})

test_that("sweeps are full or single", {
  expect_identical(mcmc_control()$sweep, "full")
  expect_identical(mcmc_control(sweep = "single")$sweep, "single")
  expect_error(mcmc_control(sweep = "half"), class = "kb_error_argument")
})

test_that("mcmc_control has defaults and refuses bad settings", {
  control <- mcmc_control()
  expect_s3_class(control, "kb_mcmc_control")
  expect_identical(
    unclass(control)[c("chains", "warmup", "iter", "thin", "n_moves", "n_temps")],
    list(
      chains = 4L, warmup = 1000L, iter = 1000L, thin = 1L, n_moves = 50L,
      n_temps = 1L
    )
  )
  expect_null(control$threads)
  expect_identical(control$move_fraction, 0.25)
  bad <- list(
    chains = list(0, 1.5, "a"), warmup = list(-1, NA), iter = list(0, Inf),
    thin = list(0, 1001), n_temps = list(0), threads = list(0),
    checkpoint = list(3), checkpoint_every = list(0), time_limit = list(-1)
  )
  for (name in names(bad)) {
    for (value in bad[[name]]) {
      arguments <- stats::setNames(list(value), name)
      expect_error(
        do.call(mcmc_control, arguments), name,
        class = "kb_error_argument"
      )
    }
  }
  expect_identical(mcmc_control(warmup = 0)$warmup, 0L)
})

test_that("controls print a line for each setting that matters", {
  out <- capture.output(print(smc_control(resampling = "residual")))
  expect_lte(length(out), 8)
  expect_match(out, "residual", all = FALSE)
  expect_match(out, "250", all = FALSE)
  out <- capture.output(print(smc_control(
    resample_every_step = TRUE, time_limit = 7, checkpoint = "file.rds"
  )))
  expect_match(out, "every step", all = FALSE)
  expect_match(out, "time limit: 7", all = FALSE)
  expect_match(out, "file.rds", all = FALSE)
  out <- capture.output(print(mcmc_control(chains = 3, iter = 10, thin = 3)))
  expect_lte(length(out), 8)
  expect_match(out, "9 draws", all = FALSE)
})

test_that("printing returns the object invisibly", {
  for (x in list(smc_control(), mcmc_control(), ig(1, 2), fixed_variance(3))) {
    capture.output(back <- withVisible(print(x)))
    expect_identical(back$value, x)
    expect_false(back$visible)
  }
})

test_that("ig and fixed hold positive numbers", {
  expect_identical(unclass(ig(1, 0.01))[1:2], list(shape = 1, scale = 0.01))
  expect_identical(fixed_variance(2L)$variance, 2)
  expect_s3_class(ig(1, 1), c("kb_ig", "kb_variance_prior"), exact = TRUE)
  expect_s3_class(fixed_variance(1), c("kb_fixed", "kb_variance_prior"), exact = TRUE)
  for (bad in list(0, -1, NA, Inf, "a", c(1, 2), NULL)) {
    expect_error(ig(bad, 1), "shape", class = "kb_error_argument")
    expect_error(ig(1, bad), "scale", class = "kb_error_argument")
    expect_error(fixed_variance(bad), "variance", class = "kb_error_argument")
  }
})

test_that("priors format and print", {
  expect_identical(format(ig(1, 0.01)), "ig(shape = 1, scale = 0.01)")
  expect_identical(format(fixed_variance(0.25)), "fixed_variance(0.25)")
  expect_output(print(ig(2, 3)), "ig(shape = 2, scale = 3)", fixed = TRUE)
  expect_output(print(fixed_variance(3)), "fixed_variance(3)", fixed = TRUE)
})

test_that("check_variance_prior names what it requires", {
  expect_identical(check_variance_prior(ig(1, 2)), ig(1, 2))
  noise <- 3
  expect_error(check_variance_prior(noise), "noise",
    class = "kb_error_argument"
  )
  expect_error(check_variance_prior(noise), "fixed_variance(variance)", fixed = TRUE)
})

test_that("arguments of makers and rows of their tables agree", {
  makers <- list(
    list(smc_control, smc_options), list(mcmc_control, mcmc_options),
    list(srvm_prior, srvm_options), list(kgs_prior, kgs_options),
    list(srvm_memory, memory_options)
  )
  for (maker in makers) {
    expect_setequal(names(maker[[2]]), names(formals(maker[[1]])))
  }
  expect_true(all(names(bark_options) %in% names(formals(bark_prior))))
  # Words are told once.
  for (rows in list(smc_options, mcmc_options, srvm_options, kgs_options)) {
    expect_identical(anyDuplicated(option_words(rows)), 0L)
  }
})
