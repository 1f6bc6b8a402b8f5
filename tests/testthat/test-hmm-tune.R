# tune_kbr_hmm(): settings by filtering left-out stretches.

tuning_case <- function(settings, n = 120, ...) {
  seen <- sim_linear_hmm(n, seed = 1)
  tune_kbr_hmm(seen$states, seen$observations,
    settings = settings, folds = 3, steps = 20, seed = 1, ...
  )
}

test_that("the best setting is found, and a model of all rows learned", {
  bad <- list(method = "kbr", eps = 100, delta = 200)
  good <- list(method = "kbr")
  tuned <- tuning_case(list(bad, good, list(method = "iw", eps = 50)))
  expect_identical(tuned$best, 2L)
  expect_s3_class(tuned$fit, "kb_kbr_hmm")
  expect_identical(tuned$table$setting[[2]], "method = kbr")
  expect_gt(tuned$table$score[[1]], tuned$table$score[[2]])
  # Two stretches for all, the third for the two that were better.
  expect_identical(sort(tuned$table$stretches), c(2, 3, 3))
  seen <- sim_linear_hmm(120, seed = 1)
  again <- kbr_hmm(seen$states, seen$observations, method = "kbr", seed = 1)
  expect_equal(tuned$fit$pairs, again$pairs)
  expect_output(print(tuned), "3 settings")
  same <- tuning_case(list(bad, good, list(method = "iw", eps = 50)))
  expect_identical(same$table, tuned$table)
})

test_that("the score is the energy score of a filter of left-out rows", {
  tuned <- tuning_case(list(list(method = "kbr")))
  seen <- sim_linear_hmm(120, seed = 1)
  scores <- vapply(1:3, function(k) {
    held <- (40 * k - 39):(40 * k)
    rest <- setdiff(1:120, held)
    hmm <- kbr_hmm(seen$states[rest, ], seen$observations[rest, ],
      group = cumsum(c(1, diff(rest) > 1)), method = "kbr", seed = 1
    )
    rows <- held[11:30]
    draws <- predict(kbr_filter(hmm, seen$observations[rows, ]),
      type = "draws", ndraws = 100
    )
    x <- seen$states[rows, ]
    unit <- stats::sd(seen$states)
    mean(vapply(6:20, function(t) {
      d <- draws[, 1, t]
      mean(abs(d - x[[t]])) - mean(abs(d[1:50] - d[51:100])) / 2
    }, 0)) / unit
  }, 0)
  expect_equal(tuned$table$score, mean(scores), tolerance = 1e-10)
  expect_equal(tuned$table$se, stats::sd(scores) / sqrt(3), tolerance = 1e-10)
})

test_that("the default settings name all that they try", {
  some <- hmm_settings(matrix(0, 3, 1), TRUE)
  labels <- vapply(some, setting_label, "")
  expect_false(anyDuplicated(labels) > 0)
  expect_identical(length(hmm_settings(matrix(0, 3, 1), FALSE)), 24L)
  shared <- list(
    space = "euclidean", scale = FALSE, states = cbind(x = 1:20 / 10),
    observations = cbind(1:20)
  )
  found <- setting_arguments(shared, some[[length(some)]], rep(TRUE, 20))
  expect_equal(found$eps, 1 / 20)
  expect_equal(
    found$kernel_x$bandwidth, 1.2 * bandwidth_median(shared$states)
  )
})

test_that("sequences, times and inputs are kept together", {
  seen <- sim_linear_hmm(90, seed = 2)
  tuned <- tune_kbr_hmm(seen$states, seen$observations,
    group = rep(1:2, c(40, 50)), times = c(1:40, 2 * (1:50)),
    inputs = cbind(u = sin(1:90)), folds = 3, steps = 15, seed = 1,
    settings = list(
      list(lag = 0, summaries = FALSE, inflate = 1, particles = 50),
      list(lag = 0, summaries = FALSE, inflate = 100, particles = 50)
    )
  )
  expect_identical(tuned$best, 1L)
  expect_identical(tuned$fit$settings$input_names, "u")
  expect_identical(tuned$fit$settings$unit_time, 2)
})

test_that("observations without column names need none later", {
  seen <- sim_oscillation(60, seed = 1)
  y <- unname(as.matrix(seen$observations))
  tuned <- tune_kbr_hmm(unname(as.matrix(seen$states)), y,
    settings = list(list(method = "kbr")), folds = 2, steps = 10, seed = 1
  )
  path <- kbr_filter(tuned$fit, y[1:5, , drop = FALSE])
  named <- stats::setNames(as.data.frame(y), c("a", "b"))
  by_name <- tune_kbr_hmm(seen$states, named,
    settings = list(list(method = "kbr")), folds = 2, steps = 10, seed = 1
  )
  expect_equal(
    unname(predict(path)),
    unname(predict(kbr_filter(by_name$fit, named[1:5, 2:1])))
  )
  expect_error(kbr_filter(by_name$fit, y), class = "kb_error_columns")
})

test_that("bad requests are refused", {
  expect_error(tuning_case(list(list(foo = 1))), class = "kb_error_argument")
  expect_error(tuning_case(list(1)), class = "kb_error_argument")
  expect_error(tuning_case(list()), class = "kb_error_argument")
  expect_error(tuning_case(list(list(eps = -1, method = "kbr"))),
    class = "kb_error_settings"
  )
  expect_error(tuning_case(list(list()), foo = 1),
    class = "kb_error_unknown_argument"
  )
  expect_error(tuning_case(list(list()), n = 15), class = "kb_error_argument")
})

test_that("an interrupt leaves a choice among the stretches that were filtered", {
  skip_on_os("windows")
  settings <- list(
    list(method = "kbr"), list(method = "iw"), list(method = "kbr", eps = 100),
    list(method = "iw", eps = 50)
  )
  stopped_at <- function(k) {
    local_interrupt_at("hmm_tune_cell", k)
    expect_warning(out <- tuning_case(settings),
      class = "kb_warning_interrupted"
    )
    out
  }
  # Of two first stretches of each, two whole settings and half of the third
  some <- stopped_at(6)
  expect_identical(some$table$stretches, c(2, 2, 1))
  expect_true(all(is.finite(some$table$score)))
  expect_length(some$settings, 3)
  expect_identical(some$best, which.min(some$table$score[1:2]))
  expect_s3_class(some$fit, "kb_kbr_hmm")
  # In the second part, the first of the better settings is whole.
  expect_identical(sum(stopped_at(10)$table$stretches), 9)
  local({
    local_interrupt_at("hmm_tune_cell", 1)
    expect_error(tuning_case(settings), class = "kb_error_interrupted")
  })
})
