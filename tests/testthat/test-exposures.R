exposure_fits <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      data <- withr::with_seed(2, {
        data <- data.frame(
          a = stats::runif(60), b = stats::runif(60), c = stats::runif(60),
          z = stats::rnorm(60)
        )
        data$y <- 3 * data$a * data$b + data$z + stats::rnorm(60, sd = 0.2)
        data
      })
      data$up <- factor(data$y > mean(data$y))
      fits <<- list(
        one = bark_quick(y ~ kernels(a, b, c) + z, data, prior = bark_prior()),
        two = bark_quick(y ~ kernels(a, b) + kernels(c) + z, data,
          prior = bark_prior()
        ),
        class = bark_quick(up ~ a + b, data), data = data
      )
    }
    fits
  }
})

test_that("contrasts are differences of draws of f", {
  fits <- exposure_fits()
  fit <- fits$one
  at <- function(...) {
    new <- data.frame(a = NA, b = NA, c = NA, z = 0)[rep(1, ...length()), ]
    new[1:3] <- do.call(rbind, list(...))
    predict(fit, new, type = "draws")
  }
  q <- function(p) unlist(lapply(fits$data[1:3], stats::quantile, p))
  draws <- at(q(0.75), q(0.5))
  overall <- exposure_effects(fit, "overall", quantiles = c(0.5, 0.75))
  expect_equal(overall$mean, c(0, mean(draws[, 1] - draws[, 2])))
  expect_equal(overall$upper[[2]],
    unname(stats::quantile(draws[, 1] - draws[, 2], 0.95))
  )
  change <- function(p) {
    low <- high <- q(p)
    low[[2]] <- q(0.25)[[2]]
    high[[2]] <- q(0.75)[[2]]
    draws <- at(high, low)
    draws[, 1] - draws[, 2]
  }
  single <- exposure_effects(fit, "single", exposures = c("b", "a", "c"))
  expect_equal(single$mean[single$exposure == "b"],
    c(mean(change(0.25)), mean(change(0.5)), mean(change(0.75)))
  )
  interactions <- exposure_effects(fit, "interactions")
  expect_equal(interactions$mean[[2]], mean(change(0.75) - change(0.25)))
  expect_equal(interactions$sd[[2]], stats::sd(change(0.75) - change(0.25)))
  curves <- exposure_effects(fit, "curves", n = 5)
  expect_equal(nrow(curves), 15)
  first <- q(0.5)
  first[[1]] <- min(fits$data$a)
  draws <- at(first, q(0.5))
  expect_equal(curves$mean[[1]], mean(draws[, 1] - draws[, 2]))
  pairs <- exposure_effects(fit, "pairs", exposures = c("a", "b"), n = 4)
  expect_equal(nrow(pairs), 2 * 3 * 4)
  same <- pairs[pairs$exposure == "a" & pairs$quantile == 0.5, ]
  expect_equal(same$mean,
    exposure_effects(fit, "curves", exposures = "a", n = 4)$mean
  )
})

test_that("inclusion has exposures and, of several kernels(), each", {
  fits <- exposure_fits()
  one <- exposure_effects(fits$one, "inclusion")
  table <- importance(fits$one)
  expect_equal(one$effect, as.data.frame(table)$effect)
  two <- exposure_effects(fits$two, "inclusion")
  expect_equal(two$exposure, c("a", "b", "c", "all", "all"))
  expect_equal(two$kernels[3:5], c("kernels(c)", "kernels(a, b)", "kernels(c)"))
  # One input alone and together with itself.
  expect_equal(two$effect[[3]], two$effect[[5]])
})

test_that("tables print and are drawn", {
  fits <- exposure_fits()
  for (type in c(
    "curves", "pairs", "overall", "single", "interactions", "inclusion"
  )) {
    effects <- if (type %in% c("curves", "pairs")) {
      exposure_effects(fits$two, type, n = 3)
    } else {
      exposure_effects(fits$two, type)
    }
    expect_output(print(effects), "exposure")
    withr::with_pdf(NULL, expect_invisible(plot(effects)))
    if (requireNamespace("ggplot2", quietly = TRUE)) {
      expect_s3_class(ggplot2::autoplot(effects), "ggplot")
    }
  }
  expect_output(
    print(exposure_effects(fits$class, "overall")), "latent response"
  )
})

test_that("arguments that a type does not use are errors", {
  fit <- exposure_fits()$one
  refused <- function(pattern, ...) {
    expect_error(exposure_effects(fit, ...), pattern,
      class = "kb_error_argument"
    )
  }
  refused("at.* would have no effect.*contrast", "single", at = 0.25)
  refused("fixed.* would have no effect", "overall", fixed = 0.1)
  refused("contrast", "overall", contrast = c(0.1, 0.9))
  refused("level", "inclusion", level = 0.9)
  refused("Did you mean \"overall\"", "overal")
  unknown <- function(pattern, type) {
    expect_error(exposure_effects(fit, type, q.fixed = 0.25), pattern,
      class = "kb_error_unknown_argument"
    )
  }
  unknown("Did you mean `fixed`", "single")
  unknown("Its arguments are `quantiles`, `at`", "overall")
})

test_that("some exposures move and are named, others count all the same", {
  fit <- exposure_fits()$one
  some <- exposure_effects(fit, "overall", exposures = c("a", "b"))
  expect_equal(unique(some$exposure), "a, b")
  all <- exposure_effects(fit, "overall")
  expect_equal(unique(all$exposure), "all")
  # A table of one exposure is a part of the table of all.
  one <- exposure_effects(fit, "single", exposures = "b")
  single <- exposure_effects(fit, "single")
  expect_equal(one$mean, single$mean[single$exposure == "b"])
})

test_that("equal quantiles are told", {
  data <- exposure_fits()$data
  data$a <- pmax(data$a, 0.4)
  fit <- bark_quick(y ~ kernels(a, b), data, prior = bark_prior())
  expect_message(
    out <- exposure_effects(fit, "single", contrast = c(0.05, 0.1)), "\"a\"",
    class = "kb_message_tied"
  )
  expect_equal(out$mean[out$exposure == "a"], c(0, 0, 0))
})

test_that("effects under the prior are medians", {
  fit <- bark_quick(y ~ kernels(a, b), exposure_fits()$data,
    prior = bark_prior(), prior_only = TRUE
  )
  effects <- exposure_effects(fit, "overall", quantiles = c(0.5, 0.75))
  expect_output(print(effects), "the prior has no mean")
  expect_true(all(is.na(effects$sd)))
  expect_true(effects$mean[[2]] >= effects$lower[[2]])
})

test_that("a page has pairs of a few exposures", {
  data <- sim_friedman(40, p = 7, seed = 1)
  fit <- bark_quick(y ~ ., data)
  pairs <- exposure_effects(fit, "pairs", n = 2)
  withr::with_pdf(NULL, expect_message(plot(pairs), "5 of 7",
    class = "kb_message_panels"
  ))
})

test_that("tidy() has broom's columns", {
  fit <- exposure_fits()$one
  single <- exposure_effects(fit, "single")
  out <- tidy(single)
  expect_equal(names(out),
    c("term", "fixed", "estimate", "std.error", "conf.low", "conf.high")
  )
  expect_equal(out$estimate, single$mean)
  expect_null(tidy(single, conf.int = FALSE)$conf.low)
  expect_error(tidy(exposure_effects(fit, "inclusion")),
    class = "kb_error_not_defined"
  )
})

test_that("probabilities under the prior agree for equal exposures", {
  prior <- exposure_effects(exposure_fits()$one, "inclusion")$effect_prior
  expect_lt(diff(range(prior)), 0.025)
})

test_that("unknown exposures and quantiles are errors", {
  fits <- exposure_fits()
  expect_error(exposure_effects(fits$one, exposures = c("a", "z")),
    "must be among \"a\", \"b\"", class = "kb_error_argument"
  )
  expect_error(
    exposure_effects(fits$one, "overall", quantiles = c(0.5, 25)), "It has 25",
    class = "kb_error_argument"
  )
  expect_error(exposure_effects(fits$one, "single", contrast = 0.5),
    "2 numbers", class = "kb_error_argument"
  )
  expect_error(exposure_effects(fits$one, exposures = "z"),
    class = "kb_error_argument"
  )
  expect_error(exposure_effects(fits$one, at = 2), class = "kb_error_argument")
  expect_error(exposure_effects(fits$one, contrast = 0.5),
    class = "kb_error_argument"
  )
  expect_error(exposure_effects(fits$one, "pairs", exposures = "a"),
    class = "kb_error_argument"
  )
  expect_error(exposure_effects(1), class = "kb_error_not_defined")
})
