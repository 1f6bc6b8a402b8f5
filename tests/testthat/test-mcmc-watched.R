# What diagnostics of chains watch besides parameters.

control <- mcmc_control(chains = 2, warmup = 50, iter = 120)
line <- sim_sinc(40, seed = 1)
circle <- sim_circle(60, seed = 1)

watched_fit <- function(...) {
  suppressWarnings(bark(..., control = control, seed = 1),
    classes = "kb_warning_convergence"
  )
}

watched_fits <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      flowers <- iris[seq(1, 150, 5), ]
      grades <- transform(circle, grade = cut(x1, 3, c("a", "b", "c"),
        ordered_result = TRUE
      ))
      fits <<- list(
        gaussian = watched_fit(y ~ x, line),
        student = watched_fit(y ~ x, line, prior = bark_prior_paper(df = 4)),
        probit = watched_fit(y ~ x1 + x2, circle),
        truncated = watched_fit(y ~ x, line, prior = bark_prior_paper(
          n_kernels = 10, discrepancy = 0.05, approximation = "truncation"
        )),
        ordered = watched_fit(grade ~ x1 + x2, grades),
        fields = watched_fit(Species ~ ., flowers),
        own = watched_fit(y ~ x1 + x2, circle,
          prior = bark_prior_paper(own_scales = TRUE)
        ),
        equal = watched_fit(y ~ x1 + x2, circle, prior = bark_prior_paper("equal")),
        directions = watched_fit(y ~ x1 + x2, circle,
          prior = bark_prior_paper(directions = 2)
        ),
        kgs = suppressWarnings(kgs(y ~ x1 + x2, circle,
          control = control, seed = 1
        )),
        kgs_paper = suppressWarnings(kgs(y ~ x1 + x2, circle,
          nugget = 0, control = control, seed = 1
        )),
        kgs_three = suppressWarnings(kgs(Species ~ ., flowers,
          control = control, seed = 1
        )),
        srvm = suppressWarnings(srvm(y ~ x, line,
          kernel = kernel_gaussian(0.3), method = "mcmc",
          control = control, seed = 1
        ))
      )
    }
    fits
  }
})

test_that("rows are chosen only by the predictors, over their full range", {
  withr::local_seed(2)
  x <- cbind(stats::rnorm(300), 0.01 * stats::rnorm(300))
  rows <- watched_rows(x)
  before <- .Random.seed
  expect_identical(watched_rows(x), rows)
  expect_identical(.Random.seed, before)
  expect_length(unique(rows), 20)
  # In units of each predictor, here two that are nearly equal.
  wide <- cbind(x[, 1], x[, 1] + x[, 2], 3)
  place <- rank(wide[, 1])[watched_rows(wide)]
  expect_true(all(abs(sort(place) - (300 * (1:20 - 0.5) / 20)) < 8))
  expect_identical(watched_rows(matrix(c(5, 5, 7))), c(1L, 3L))
  expect_identical(watched_rows(matrix(0, 9, 2)), 1L)
})

test_that("f agrees with draws of predict(), at the same rows in any fit", {
  for (name in c("gaussian", "student", "probit", "truncated", "srvm")) {
    fit <- watched_fits()[[name]]
    expect_identical(
      length(ess(fit)$variable), length(watched_matrices(fit)), info = name
    )
    rows <- watched_rows(fit$data$x)
    f <- stats::predict(fit, type = "draws")[, rows]
    found <- watched_functions(fit)
    expect_identical(names(found), paste0("f[", rows, "]"), info = name)
    expect_equal(unname(vapply(found, as.vector, f[, 1])), unname(f))
    expect_true(all(names(found) %in% ess(fit)$variable))
  }
  fit <- watched_fits()$gaussian
  longer <- suppressWarnings(update(fit, iter = 30))
  expect_identical(ess(longer)$variable, ess(fit)$variable)
  expect_false(identical(ess(longer), ess(fit)))
})

test_that("with several classes the probability of each is watched", {
  for (name in c("ordered", "fields")) {
    fit <- watched_fits()[[name]]
    found <- watched_functions(fit)
    rows <- watched_rows(fit$data$x)
    levels <- fit$mould$levels
    expect_identical(names(found), paste0(
      "p[", rep(levels, each = length(rows)), ",", rows, "]"
    ))
    p <- vapply(found, mean, 0)
    exact <- stats::predict(fit, type = "prob")[rows, ]
    # predict() has the exact mean over the coefficients, which are drawn here.
    # Null: differences have a standard deviation of at most .5 / sqrt(240) =
    # .032, also if draws are the same in both, 20 x 3 of them: 5.5 of these.
    expect_lt(max(abs(p - exact)), 0.18)
    total <- Reduce(`+`, split(p, rep(seq_along(levels), each = length(rows))))
    expect_equal(unname(total), rep(1, length(rows)), tolerance = 1e-5)
  }
  kgs <- watched_fits()$kgs_three
  levels <- kgs$mould$levels
  expect_identical(
    unique(sub(",.*", "", names(watched_functions(kgs)))), paste0("f[", levels)
  )
})

test_that("scales are logarithms, those too small to matter are equal", {
  fit <- watched_fits()$probit
  found <- watched_scales(fit)
  expect_identical(names(found), c(
    "log_lambda[1]", "log_lambda[2]", "delta[1]", "delta[2]"
  ))
  draws <- as_draws(fit)
  # Standardised predictors: variances are 59 / 60.
  least <- 1e-6 * 60 / 59
  expect_equal(
    as.vector(found[["log_lambda[1]"]]),
    log(pmax(as.vector(draws[["lambda[1]"]]), least))
  )
  expect_identical(
    as.vector(found[["delta[2]"]]), as.vector(draws[["delta[2]"]])
  )
  expect_named(watched_scales(watched_fits()$equal), "log_lambda[1]")
  expect_named(
    watched_scales(watched_fits()$directions),
    c("log_lambda", "share[1]", "share[2]", "d")
  )
  own <- watched_scales(watched_fits()$own)
  expect_equal(
    as.vector(own[["log_lambda[2]"]]),
    log(pmax(as.vector(as_draws(watched_fits()$own)[["lambda[2]"]]), least))
  )
  expect_length(watched_scales(watched_fits()$kgs_paper), 0)
  expect_named(
    watched_scales(watched_fits()$kgs), paste0("log_bandwidth[", 1:2, "]")
  )
  expect_length(watched_scales(watched_fits()$fields), 2 * 3 * 4)
})

test_that("print names the worst quantity, with its R-hat and its size", {
  for (fit in watched_fits()) {
    shown <- capture.output(print(fit))
    expect_lte(length(shown), 15)
    expect_lte(max(nchar(shown)), 80)
    error <- prediction_error(chain_mixing(fit))
    expect_match(paste(shown, collapse = "\n"), paste0(
      "predictions: Monte Carlo error ", format(100 * error, digits = 2),
      "% of the posterior sd"
    ), fixed = TRUE)
  }
})

test_that("chains with a stuck f give a warning, whatever the parameters", {
  # The second chain is the first with f upside down: all watched parameters are
  # equal.
  fit <- watched_fits()$gaussian
  fit$runs[[2]] <- fit$runs[[1]]
  fit <- sealed(fit)
  draws <- fit$runs[[2]]$draws
  fit$runs[[2]]$draws$beta <- -draws$beta
  fit <- sealed(fit)
  table <- ess(fit)
  is_f <- startsWith(table$variable, "f[")
  # Halves whose ranks all differ have an R-hat near 1.8.
  expect_gt(max(table$rhat[is_f]), 1.7)
  expect_true(all(table$rhat[!is_f] < 1.5, na.rm = TRUE))
  fit$status <- "complete"
  fit <- sealed(fit)
  warning <- expect_warning(
    warn_quality(fit), class = "kb_warning_convergence"
  )
  expect_true(any(startsWith(warning$variables, "f[")))
  expect_match(conditionMessage(warning), "Predictions: ", fixed = TRUE)
  # So does until = convergence().
  unmet <- unmet_convergence(fit, convergence(rhat = 1.6, ess = 1))
  expect_true(nrow(unmet) > 0 && all(startsWith(unmet$variable, "f[")))
})

test_that("scales that do not mix are diagnosed, and do not warn", {
  # The second chain has the first one's scales, swapped and enlarged.
  fit <- watched_fits()$probit
  swap <- function(v) as.vector(matrix(v, 2)[2:1, ])
  fit$runs[[2]] <- fit$runs[[1]]
  fit$runs[[2]]$draws$log_lambda <- swap(fit$runs[[1]]$draws$log_lambda) + 3
  fit <- sealed(fit)
  table <- diagnostics(fit)$convergence
  expect_gt(table$rhat[table$variable == "log_lambda[1]"], 1.1)
  unmet <- unmet_convergence(fit, convergence())
  expect_true("log_lambda[1]" %in% unmet$variable)
  unmet <- unmet_convergence(fit, convergence(error = 0.001))
  expect_false("log_lambda[1]" %in% unmet$variable)
})

test_that("few draws and one chain are reported", {
  settings <- mcmc_control(chains = 1, warmup = 20, iter = 99)
  expect_message(
    few <- bark(y ~ x, line, control = settings, seed = 1),
    "99 draws per chain.*one chain", class = "kb_message_few_draws"
  )
  shown <- capture.output(print(few))
  expect_match(shown, "99 draws per chain: too few", all = FALSE)
  expect_match(shown, "one chain: only its halves", all = FALSE)
  settings <- mcmc_control(chains = 2, warmup = 20, iter = 100, thin = 2)
  expect_message(
    srvm(y ~ x, line,
      kernel = kernel_gaussian(0.3), method = "mcmc", control = settings,
      seed = 1
    ),
    "50 draws per chain", class = "kb_message_few_draws"
  )
  # Nothing is known from a single draw.
  one <- suppressMessages(bark(y ~ x, line, seed = 1,
    control = mcmc_control(chains = 1, warmup = 1, iter = 1)
  ))
  expect_output(print(one), "mixing: +1 draw per chain")
  expect_true(all(is.na(ess(one)$rhat)))
  expect_true(all(is.na(importance(one)$mc_se)))
  expect_message(
    kgs(y ~ x1 + x2, circle,
      control = mcmc_control(chains = 1, iter = 10, warmup = 10), seed = 1
    ),
    "one chain", class = "kb_message_few_draws"
  )
  expect_no_message(
    suppressWarnings(bark(y ~ x, line, control = control, seed = 1)),
    class = "kb_message_few_draws"
  )
})
