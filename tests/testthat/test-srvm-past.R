# Streams with bounded memory keep the last rows and a record of the others.

past_data <- function(n) {
  withr::with_seed(1, {
    x <- stats::runif(n, -10, 10)
    data.frame(x = x, y = sin(x) + stats::rnorm(n, 0, 0.3))
  })
}

past_fit <- function(data, keep_rows = 60, ..., replicates = 1,
                     control = smc_control(30,
                       n_moves = 1, replicates = replicates
                     )) {
  few_particles(srvm(y ~ x, data,
    control = control, seed = 1, progress = FALSE,
    memory = srvm_memory(window = 40, keep_rows = keep_rows), ...
  ))
}

two_kernels <- list(kernel_gaussian(0.15), kernel_gaussian(0.4))

test_that("the size of a fit does not grow with rows", {
  data <- past_data(5000)
  control <- smc_control(10, n_moves = 0, sweep_every = 20)
  fit <- function(n, memory) {
    few_particles(srvm(y ~ x, data[seq_len(n), ],
      kernel = kernel_gaussian(0.2), memory = memory, control = control,
      prior = srvm_prior(3, noise = ig(10, 1)), seed = 1, progress = FALSE
    ))
  }
  for (memory in list(
    srvm_memory(window = 50, candidates = 10), srvm_memory(forgetting = 0.8)
  )) {
    short <- fit(1500, memory)
    long <- few_particles(update(short, newdata = data[1501:5000, ]))
    expect_lt(utils::object.size(long) - utils::object.size(short), 3e4)
    expect_identical(nobs(long), 5000L)
    expect_length(fitted(long), 1000)
    again <- few_particles(update(long, newdata = data[1, ]))
    expect_length(fitted(again), 1001)
  }
})

test_that("a fit that dropped rows answers as one that kept them", {
  data <- past_data(250)
  fit <- past_fit(data, 60, kernel = two_kernels, replicates = 2)
  all <- past_fit(data, Inf, kernel = two_kernels, replicates = 2)
  # Six rows are dropped at once.
  last <- 187:250
  expect_identical(nrow(fit$data$x), 64L)
  for (name in c("log_evidence", "mc_se", "mc_se_replicates", "note")) {
    expect_identical(evidence(fit)[[name]], evidence(all)[[name]])
  }
  bare <- function(table) as.list(table)
  expect_equal(bare(evidence(fit)$path), bare(evidence(all)$path[last, ]))
  expect_equal(bare(prequential(fit)), bare(prequential(all)[last, ]))
  expect_equal(bare(ess(fit)), bare(ess(all)[last, ]))
  expect_equal(
    bare(kernel_posterior(fit, by_row = TRUE)),
    bare(kernel_posterior(all, by_row = TRUE)[last, ])
  )
  expect_equal(bare(inclusion(fit)), bare(inclusion(all)[last, ]))
  expect_equal(diagnostics(fit), diagnostics(all))
  expect_identical(predict(fit, data[1:9, ]), predict(all, data[1:9, ]))
  expect_identical(fitted(fit), fitted(all)[last])
  expect_identical(residuals(fit), residuals(all)[last])
  expect_identical(coef(fit), coef(all))
  shown <- function(fit) {
    out <- utils::capture.output(print(fit))
    out[!startsWith(out, "  time:")]
  }
  expect_identical(shown(fit), shown(all))
})

test_that("update() drops the same rows as one call", {
  data <- past_data(160)
  rownames(data) <- paste0("r", 1:160)
  for (settings in list(
    list(kernel = two_kernels, replicates = 2),
    list(kernel = do.call(kernel_dictionary, two_kernels))
  )) {
    all <- do.call(past_fit, c(list(data), settings))
    for (ends in list(c(45, 160), c(100, 101, 130, 160))) {
      part <- few_particles(srvm(y ~ x, data[seq_len(ends[[1]]), ],
        control = all$control, reference = all, seed = 1, progress = FALSE
      ))
      for (i in seq_along(ends)[-1]) {
        part <- unserialize(serialize(part, NULL))
        rows <- (ends[[i - 1]] + 1):ends[[i]]
        part <- few_particles(update(part, newdata = data[rows, ]))
      }
      expect_same_fit(part, all)
    }
  }
  expect_identical(names(fitted(all)), paste0("r", 97:160))
  expect_setequal(inclusion(all)$row, 97:160)
})

test_that("rows in a random order have their own numbers", {
  data <- past_data(150)
  of <- function(keep_rows) {
    fit <- past_fit(data[1:120, ], keep_rows,
      kernel = kernel_gaussian(0.3), order = "random"
    )
    few_particles(update(fit, newdata = data[121:150, ]))
  }
  all <- of(Inf)
  fit <- of(50)
  expect_identical(ess(fit)$row, ess(all)$row[101:150])
  own <- inclusion(fit)
  expect_identical(own$probability, inclusion(all)$probability[own$row])
  expect_identical(unname(fit$data$x[, 1]), data$x[own$row])
})

test_that("classes and rejuvenated fits drop rows, too", {
  data <- past_data(130)
  data$y <- factor(data$y > 0)
  all <- past_fit(data, Inf, kernel = kernel_gaussian(0.3))
  fit <- past_fit(data, 50, kernel = kernel_gaussian(0.3))
  expect_identical(predict(fit), predict(all)[81:130])
  more <- function(fit) {
    fit <- few_particles(update(fit, n_moves = 2, particles = 40))
    few_particles(update(fit, newdata = data[1:20, ]))
  }
  expect_identical(
    predict(more(fit), type = "link"),
    predict(more(all), type = "link")[101:150]
  )
})

test_that("an interrupted stream keeps rows that are not yet processed", {
  data <- past_data(400)
  fit <- suppressWarnings(past_fit(data, 50,
    kernel = kernel_gaussian(0.3),
    control = smc_control(30, n_moves = 1, time_limit = 1e-9)
  ))
  expect_lt(fit$time, 400)
  fit <- few_particles(update(fit, time_limit = Inf))
  expect_same_fit(fit, past_fit(data, 50, kernel = kernel_gaussian(0.3)))
})

test_that("an ancestry, or a bound on candidates only, keeps all rows", {
  data <- past_data(120)
  fit <- past_fit(data, 50,
    kernel = kernel_gaussian(0.3),
    control = smc_control(10, ancestry = "full")
  )
  expect_identical(nrow(fit$data$x), 120L)
  fit <- few_particles(srvm(y ~ x, data,
    kernel = kernel_gaussian(0.3), seed = 1,
    memory = srvm_memory(candidates = 20, keep_rows = 50),
    control = smc_control(10)
  ))
  expect_identical(nrow(fit$data$x), 120L)
})

test_that("fits from before rows could be dropped keep theirs", {
  data <- past_data(120)
  all <- past_fit(data, Inf, kernel = kernel_gaussian(0.3))
  fit <- few_particles(srvm(y ~ x, data[1:100, ],
    control = all$control, reference = all, seed = 1, progress = FALSE
  ))
  fit$settings$memory$keep_rows <- NULL
  fit <- sealed(fit)
  fit <- few_particles(update(fit, newdata = data[101:120, ]))
  expect_identical(fit$runs[[1]]$path, all$runs[[1]]$path)
  expect_identical(fit$data, all$data)
})

test_that("requests that need dropped rows are refused", {
  fit <- past_fit(past_data(120), 50, kernel = kernel_gaussian(0.3))
  expect_error(order_spread(fit), class = "kb_error_not_defined")
  expect_error(cross_validate(fit), class = "kb_error_not_defined")
  expect_error(srvm_memory(keep_rows = 0), class = "kb_error_argument")
})

test_that("an edited past is refused", {
  fit <- past_fit(past_data(120), 50, kernel = kernel_gaussian(0.3))
  row <- data.frame(x = 1, y = 1)
  edits <- list(
    function(fit) within_past(fit, rows = 69L),
    function(fit) within_past(fit, numbers = rev(fit$past$numbers)),
    function(fit) within_past(fit, lowest = NULL),
    function(fit) {
      fit["past"] <- list(NULL)
      fit
    },
    function(fit) {
      fit$runs[[1]]$past$tried <- 1
      fit
    },
    function(fit) {
      fit$runs[[1]]$pool$row_of[] <- 3L
      fit <- sealed(fit)
      fit
    }
  )
  within_past <- function(fit, ...) {
    fit$past <- utils::modifyList(fit$past, list(...))
    fit
  }
  for (edit in edits) {
    expect_error(update(edit(fit), newdata = row), class = "kb_error_fit")
  }
  # Only the core knows the right values of these.
  fit$runs[[1]]$pool$last_row[] <- 3L
  fit <- sealed(fit)
  expect_error(update(fit, newdata = row), class = "kb_error_fit")
})
