# print(), summary() and importance() show the same numbers.

shown_inputs <- function(fit) {
  line <- grep("^  inputs:", utils::capture.output(print(fit)), value = TRUE)
  parts <- strsplit(sub("^.*(change|effect\\)): ", "", line), ", ")[[1]]
  value <- as.numeric(sub(".* ", "", parts))
  stats::setNames(value, sub(" [^ ]*$", "", parts))
}

expect_told <- function(fit, column) {
  table <- importance(fit)
  shown <- shown_inputs(fit)
  expect_gte(length(shown), 2)
  value <- stats::setNames(table[[column]], table$variable)
  expect_identical(unname(shown), signif(unname(value[names(shown)]), 3))
  expect_gte(min(shown), max(0, signif(value[setdiff(names(value), names(shown))], 3)))
  if (!inherits(fit, "kb_bark_multinomial")) {
    expect_identical(as.data.frame(summary(fit)$importance), as.data.frame(table))
  }
}

test_that("print() and summary() show the shares of importance()", {
  control <- mcmc_control(2, 60, 60)
  run <- function(...) {
    suppressWarnings(bark(..., control = control, seed = 1),
      classes = "kb_warning_convergence"
    )
  }
  # An input in the linear part only: no kernel has a large scale in it.
  data <- withr::with_seed(1, data.frame(x = matrix(stats::rnorm(60 * 16), 60)))
  data$y <- 3 * data$x.16 + data$x.1 + withr::with_seed(2, stats::rnorm(60)) / 9
  fit <- run(y ~ ., data)
  expect_told(fit, "share")
  expect_identical(names(shown_inputs(fit))[1:2], c("x.16", "x.1"))
  expect_told(run(Species ~ ., datasets::iris), "share")
  expect_told(run(y ~ ., data, prior = bark_prior_paper()), "effect")
})
