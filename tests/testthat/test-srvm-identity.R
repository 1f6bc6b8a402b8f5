# One seed, one result: for any threads, workers, splits and processes.

data <- sim_sinc(24, seed = 3)
small <- function(...) {
  settings <- list(particles = 40, n_moves = 3)
  do.call(smc_control, utils::modifyList(settings, list(...)))
}

fit_sinc <- function(rows = data, ..., control = small(), seed = 5) {
  fixed <- if (identical(control$proposal, "paper")) {
    list(prior = srvm_prior(10))
  }
  do.call(srvm, c(
    list(y ~ x, rows, control = control, seed = seed, progress = FALSE),
    fixed, list(...)
  ))
}

test_that("two runs with one seed are identical", {
  expect_same_fit(fit_sinc(), fit_sinc())
  expect_false(identical(
    plain_fit(fit_sinc())$runs, plain_fit(fit_sinc(seed = 6))$runs
  ))
})

test_that("the result does not depend on the number of threads", {
  for (n_moves in c(0, 3)) {
    one <- fit_sinc(control = small(particles = 200, n_moves = n_moves))
    two <- fit_sinc(
      control = small(particles = 200, n_moves = n_moves, threads = 2)
    )
    expect_same_fit(two, one)
  }
})

# update() --------------------------------------------------------------------

#' Fit the first block, add the others with update()
#' @param ends The last rows of the blocks.
fit_in_blocks <- function(x, y, ends, all, control) {
  first <- seq_len(ends[[1]])
  fit <- srvm(x[first, , drop = FALSE], y[first],
    control = control, reference = all, seed = all$seed, progress = FALSE
  )
  for (i in seq_along(ends)[-1]) {
    rows <- (ends[[i - 1]] + 1):ends[[i]]
    fit <- update(fit,
      newx = x[rows, , drop = FALSE], newy = y[rows], progress = FALSE
    )
  }
  fit
}

#' A fit in blocks is the one-shot fit: the first and the last row separately,
#' one in the middle, several at once; or `ends = 1:n`, row by row
expect_splits <- function(x, y, control = small(), ..., n = 20,
                          ends = c(1, 7, 8, n - 1, n)) {
  x <- as.matrix(x)[1:n, , drop = FALSE]
  y <- y[1:n]
  few_particles({
    all <- srvm(x, y, control = control, ..., seed = 5, progress = FALSE)
    expect_same_fit(fit_in_blocks(x, y, ends, all, control), all)
  })
}

x <- data$x
y <- data$y

test_that("update() in any split equals one fit", {
  for (n_moves in c(0, 3)) {
    expect_splits(x, y, small(n_moves = n_moves))
    expect_splits(x, y, small(n_moves = n_moves), ends = 1:20)
    expect_splits(x, y, small(n_moves = n_moves), ends = c(10, 20))
  }
  expect_splits(x, y, scale = FALSE)
  expect_splits(x, y, scale = FALSE, kernel = kernel_laplace(2))
})

test_that("update() equals one fit with fixed variances", {
  # 140 rows: rounding is cleared at row 64 and row 128.
  both <- srvm_prior(noise = fixed_variance(0.05), coef = fixed_variance(0.7))
  for (n_moves in c(0, 3)) {
    expect_splits(x, y, small(n_moves = n_moves), prior = both)
    long <- sim_sinc(140, seed = 4)
    expect_splits(long$x, long$y, small(particles = 10, n_moves = n_moves),
      prior = both, n = 140, ends = c(1, 63:65, 100, 127:129, 140)
    )
  }
  expect_splits(x, y, prior = srvm_prior(noise = fixed_variance(0.05)))
  expect_splits(x, y, prior = srvm_prior(coef = fixed_variance(0.7)))
})

test_that("update() equals one fit with repeated rows in x", {
  repeated <- x[c(1:5, 5:1, 3, 3, 6:9, 7, 10, 1, 1)]
  for (n_moves in c(0, 3)) {
    expect_splits(repeated, y, small(n_moves = n_moves), ends = 1:20)
    expect_splits(repeated, y, small(n_moves = n_moves),
      prior = srvm_prior(centres = "iid"), ends = 1:20
    )
  }
})

test_that("update() equals one fit with other priors and models", {
  expect_splits(x, y, prior = srvm_prior(centres = "iid"))
  expect_splits(x, y, prior = srvm_prior(lambda = 2, kmax = 3))
  expect_splits(x, y, prior = srvm_prior(kmax = 0))
  expect_splits(x, y, intercept = FALSE)
  expect_splits(x, y, small(n_moves = 0), intercept = FALSE)
})

test_that("update() equals one fit for any resampling and ancestry", {
  expect_splits(x, y, small(resample_every_step = TRUE))
  expect_splits(x, y, small(ess_threshold = 0))
  for (scheme in setdiff(resampling_schemes_cpp(), "systematic")) {
    expect_splits(x, y, small(resampling = scheme))
  }
  for (ancestry in c("genealogy", "full")) {
    expect_splits(x, y, small(ancestry = ancestry))
    expect_splits(x, y, small(ancestry = ancestry, n_moves = 0))
  }
})

test_that("every proposal is reproducible: seed, threads, splits, files", {
  for (proposal in c("birth_death", "paper")) {
    for (n_moves in c(0, 3)) {
      control <- function(...) {
        small(proposal = proposal, n_moves = n_moves, particles = 60, ...)
      }
      few_particles({
        one <- fit_sinc(control = control())
        expect_same_fit(fit_sinc(control = control()), one)
        expect_same_fit(fit_sinc(control = control(threads = 2)), one)
      })
      expect_splits(x, y, control(), prior = srvm_prior(10), ends = 1:20)
    }
    expect_splits(x, y, small(proposal = proposal, ess_threshold = 0),
      prior = srvm_prior(10)
    )
    expect_splits(x[c(1:5, 5:1, 3, 3, 6:9, 7, 10, 1, 1)], y,
      small(proposal = proposal, replicates = 2),
      prior = srvm_prior(3, 6, centres = "iid")
    )
    expect_splits(x, y, small(proposal = proposal),
      prior = srvm_prior(10, scaled = TRUE)
    )
    first <- few_particles(
      fit_sinc(data[1:16, ], control = small(proposal = proposal))
    )
    file <- file.path(local_folder(), "fit.rds")
    saveRDS(first, file)
    few_particles(expect_same_fit(
      update(readRDS(file), newdata = data[17:24, ]),
      update(first, newdata = data[17:24, ])
    ))
  }
})

test_that("update() equals one fit under the papers' prior", {
  improper <- function(expr) {
    withCallingHandlers(expr,
      kb_warning_improper = function(w) invokeRestart("muffleWarning")
    )
  }
  improper(expect_splits(x, y, prior = srvm_prior_paper()))
  improper(
    expect_splits(x, y, prior = srvm_prior_paper(), intercept = FALSE)
  )
})

test_that("update() equals one fit with several columns", {
  friedman <- sim_friedman(20, seed = 2)
  wide <- as.matrix(friedman[startsWith(names(friedman), "x")])
  expect_splits(wide, friedman$y, kernel = kernel_gaussian(2))
  expect_splits(wide, friedman$y)
})

test_that("update() equals one fit with one particle, threads, replicates", {
  expect_splits(x, y, small(particles = 1))
  expect_splits(x, y, small(particles = 64, threads = 2))
  expect_splits(x, y, small(replicates = 2))
})

test_that("update() of a formula fit equals one fit", {
  frame <- data.frame(data, g = factor(rep(c("a", "b", "c"), 8)))
  fit <- function(rows, ...) {
    srvm(y ~ x + g, frame[rows, ],
      control = small(), seed = 5, progress = FALSE, ...
    )
  }
  all <- fit(1:24)
  parts <- fit(1:10, reference = all)
  for (rows in list(11, 12:24)) {
    parts <- update(parts, newdata = frame[rows, ], progress = FALSE)
  }
  expect_same_fit(parts, all)
})

test_that("update() without new rows returns a complete fit as it is", {
  fit <- fit_sinc()
  expect_identical(update(fit), fit)
})

# Seeds -----------------------------------------------------------------------

test_that("seed = NULL honours set.seed() and stores the seed drawn", {
  withr::local_preserve_seed()
  set.seed(11)
  one <- fit_sinc(seed = NULL)
  set.seed(11)
  two <- fit_sinc(seed = NULL)
  three <- fit_sinc(seed = NULL)
  expect_same_fit(two, one)
  expect_false(three$seed == two$seed)
  expect_same_fit(fit_sinc(seed = one$seed), one)
})

test_that("a seed leaves R's generator untouched", {
  withr::local_preserve_seed()
  set.seed(11)
  before <- .Random.seed
  fit <- fit_sinc(control = small(replicates = 2), order = "random")
  fit <- update(fit, newdata = data[1:2, ], progress = FALSE)
  predict(fit, data, interval = "credible")
  predict(fit, data, type = "draws")
  expect_identical(.Random.seed, before)
})

# Replicates and workers ------------------------------------------------------

test_that("replicates are independent runs that do not depend on each other", {
  one <- fit_sinc(kernel = kernel_gaussian())
  three <- fit_sinc(
    kernel = kernel_gaussian(), control = small(replicates = 3)
  )
  expect_identical(plain_fit(three)$runs[1], plain_fit(one)$runs)
  sets <- lapply(three$runs, `[[`, "log_evidence")
  expect_identical(anyDuplicated(sets), 0L)
})

test_that("replicates on workers equal those in this process", {
  skip_without_workers()
  control <- small(replicates = 3)
  serial <- fit_sinc(control = control)
  withr::local_preserve_seed()
  set.seed(1)
  before <- .Random.seed
  old <- future::plan(future::multisession, workers = 2)
  withr::defer(future::plan(old))
  expect_same_fit(fit_sinc(control = control), serial)
  first <- fit_sinc(data[1:10, ], control = control, reference = serial)
  expect_same_fit(update(first, newdata = data[11:24, ]), serial)
  expect_identical(.Random.seed, before)
})

test_that("replicates on a cluster's workers equal those in this process", {
  local_workers()
  # More runs than workers, and a threaded one in each.
  control <- small(replicates = 5, threads = 2)
  on_workers <- fit_sinc(control = control)
  future::plan("sequential")
  expect_same_fit(on_workers, fit_sinc(control = small(replicates = 5)))
})

# A fit is plain data ---------------------------------------------------------

#' Types that do not survive in a file, and their positions
find_handles <- function(x, path = "fit") {
  own <- if (typeof(x) %in% c("externalptr", "weakref", "environment")) {
    dead <- !identical(x, globalenv()) && !isNamespace(x) &&
      !identical(x, baseenv()) && !identical(x, emptyenv())
    if (!is.environment(x) || dead) path
  }
  # Attributes of the global environment belong to other code.
  kept <- if (!is.environment(x)) attributes(x)
  inside <- if (is.recursive(x) && !is.environment(x)) as.list(x)
  if (is.function(x) && !is.primitive(x)) {
    inside <- c(inside, list(environment = environment(x)))
  }
  both <- c(inside, kept)
  labels <- paste0(path, "$", if (length(both)) seq_along(both), names(both))
  c(own, unlist(Map(find_handles, both, labels), use.names = FALSE))
}

test_that("a fit holds no pointers and no environments", {
  expect_identical(find_handles(fit_sinc()), NULL)
  expect_identical(
    find_handles(srvm(x, y, control = small(replicates = 2), seed = 1)), NULL
  )
  # Nor does the state sent to workers.
  expect_identical(find_handles(fit_engine(fit_sinc())), NULL)
  # The check finds a pointer if there is one.
  pointer <- srvm_open_cpp(
    run_config(fit_engine(fit_sinc())$config, 1L),
    as.matrix(x), cbind(y), NULL
  )
  expect_length(find_handles(list(a = list(pointer))), 1)
  expect_true(length(find_handles(list(function() NULL))) > 0)
})

test_that("a fit does not carry along the environment of the call", {
  inside <- function(junk) {
    force(junk)
    fit_sinc(control = small(particles = 5))
  }
  size <- function(fit) length(serialize(fit, NULL))
  expect_lt(size(inside(numeric(1e6))), 1e5)
  expect_equal(size(inside(numeric(1e6))), size(inside(0)), tolerance = 0.05)
  computed <- function(junk) {
    force(junk)
    formula <- y ~ x
    do.call(srvm, list(formula, data, control = small(particles = 5)))
  }
  expect_lt(size(computed(numeric(1e6))), 1e5)
})

test_that("a saved fit works in a new process", {
  skip_without_processes()
  ask <- function(fit, data) {
    new <- list(newdata = data)
    if (is.null(fit$mould$formula)) new <- list(newx = data$x, newy = data$y)
    list(
      mean = predict(fit, data), draws = predict(fit, data, type = "draws"),
      interval = predict(fit, data, interval = "credible"),
      updated = do.call(update, c(list(fit), new))
    )
  }
  fits <- list(
    fit_sinc(data[1:16, ]),
    srvm(x[1:16], y[1:16], control = small(n_moves = 0), seed = 2)
  )
  file <- file.path(local_folder(), "fits.rds")
  saveRDS(fits, file)
  environment(ask) <- globalenv()
  there <- in_process(function(file, ask, data) {
    library(kernelbayes)
    lapply(readRDS(file), ask, data)
  }, file, ask, data[17:24, ])
  for (i in 1:2) {
    here <- ask(fits[[i]], data[17:24, ])
    expect_identical(there[[i]][1:3], here[1:3])
    expect_same_fit(there[[i]]$updated, here$updated)
  }
})
