# Variables of the data move with all columns that come of them: against
# predictions with the values put into the user's data.

quiet <- function(expr) suppressMessages(suppressWarnings(expr))

moving_data <- function(n = 40) {
  withr::with_seed(1, {
    data <- data.frame(
      x = stats::rnorm(n), z = stats::runif(n, 0.5, 2),
      k = rep_len(2:4, n), g = factor(rep_len(c("a", "", "c d", "a"), n)),
      s = sample(c("u", "v"), n, TRUE), l = stats::rnorm(n) > 0,
      h = rep_len(letters[1:8], n), b1 = stats::rnorm(n)
    )
    data$m <- cbind(A = stats::rnorm(n), B = stats::rnorm(n))
    data$o <- factor(rep_len(c("lo", "mid", "hi"), n), c("lo", "mid", "hi"),
      ordered = TRUE
    )
    data$`dose (mg)` <- stats::rexp(n)
    data$`if` <- stats::rexp(n)
    data$day <- as.Date("2020-01-01") + seq_len(n)
    data$y <- data$x + (data$g == "a") * data$x^2 + stats::rnorm(n, sd = 0.3)
    data$class <- factor(data$y > 1, labels = c("p", "q"))
    data
  })
}

# Each has values for the variables that its formulas move
moving_values <- list(
  x = 0.7, z = 1.2, k = 3, g = "", s = "v", l = TRUE, h = "b", b1 = -1,
  o = "mid", day = as.Date("2020-01-05"), `dose (mg)` = 1, `if` = 2, mA = 0.5
)

set_value <- function(data, name) {
  value <- moving_values[[name]]
  if (name == "mA") {
    data$m[, "A"] <- value
  } else {
    v <- data[[name]]
    if (is.factor(v)) value <- factor(value, levels(v), ordered = is.ordered(v))
    data[[name]] <- rep(value, nrow(data))
  }
  data
}

moving_formulas <- list(
  y ~ x * g, y ~ x:z, y ~ x + I(x^2), y ~ poly(x, 2) + z,
  y ~ splines::ns(x, 3) + g, y ~ log(z) + x, y ~ factor(k) + x,
  y ~ cut(z, c(0, 1, 1.5, 3)) + x, y ~ m + x, y ~ o * x,
  y ~ `dose (mg)` * x + `if`, y ~ day + x:day, y ~ s:x + l, y ~ g + gb1
)

short <- mcmc_control(chains = 2, warmup = 30, iter = 20)

moving_fits <- function(formula, data) {
  labels <- formula
  labels[[2]] <- quote(class)
  list(
    bark = quiet(bark(formula, data, control = short, seed = 1)),
    # Its moves give predictions that are those of the posterior of f.
    srvm = quiet(srvm(formula, data, seed = 1, control = smc_control(
      particles = 20, proposal = "paper"
    ), kernel = kernel_gaussian(1))),
    kgs = quiet(kgs(labels, data,
      control = short, kernel = kernel_gaussian(1), seed = 1
    ))
  )
}

moved_names <- function(formula) {
  names <- all.vars(formula[[3]])
  names[names == "m"] <- "mA"
  intersect(names, names(moving_values))
}

test_that("partial dependence is the mean of predictions of moved data", {
  data <- moving_data()
  # A name that is also that of a column of g
  data$gb1 <- data$b1
  levels(data$g)[[2]] <- "b1"
  moving_values$g <- "b1"
  for (formula in moving_formulas) {
    fits <- moving_fits(formula, data)
    for (engine in names(fits)) {
      fit <- fits[[engine]]
      for (name in moved_names(formula)) {
        value <- moving_values[[name]]
        moved <- data
        if (name == "g") moved$g[] <- "b1" else moved <- set_value(data, name)
        expected <- if (engine == "kgs") {
          mean(predict(fit, moved, type = "prob")[, 2])
        } else {
          mean(predict(fit, moved))
        }
        out <- partial_dependence(fit, name, grid = value)
        expect_equal(out$mean, expected,
          info = paste(engine, deparse1(formula), name)
        )
        expect_identical(names(out)[[1]], name)
      }
    }
  }
})

test_that("terms beside kernels move, by the draws", {
  data <- moving_data()
  formulas <- list(
    y ~ kernels(x) + x * z, y ~ kernels(x, z) + g * x + offset(2 * x),
    y ~ kernels(x) + (x | h), y ~ kernels(x, g) + kernels(z) + g + log(z),
    y ~ kernels(o, x) + o + (1 | h)
  )
  for (formula in formulas) {
    fit <- quiet(bark(formula, data, control = short, seed = 1))
    for (name in moved_names(formula)) {
      draws <- quiet(rowMeans(
        predict(fit, set_value(data, name), type = "draws")
      ))
      out <- partial_dependence(fit, name, grid = moving_values[[name]])
      expect_equal(
        c(out$mean, out$lower, out$upper),
        c(mean(draws), quantile(draws, c(0.05, 0.95), names = FALSE))
      )
    }
  }
})

test_that("two variables of an interaction move together", {
  data <- moving_data()
  fit <- quiet(bark(y ~ x * g + z, data, control = short, seed = 1))
  out <- partial_dependence(fit, c("x", "g"), list(0.7, c("a", "")))
  moved <- set_value(data, "x")
  moved$g[] <- "a"
  expect_equal(out$mean[[1]], mean(predict(fit, moved)))
  expect_equal(out$mean[[2]], mean(predict(fit, set_value(moved, "g"))))
})

test_that("kbr() moves variables, the others at medians or at their rows", {
  data <- moving_data(60)
  for (formula in list(y ~ x + I(x^2) + g, y ~ x * g, y ~ `dose (mg)` + o)) {
    fit <- quiet(kbr(formula, data, method = "kbr"))
    name <- all.vars(formula[[3]])[[1]]
    out <- quiet(partial_dependence(fit, name,
      grid = moving_values[[name]], others = "average"
    ))
    expect_equal(out$mean, quiet(mean(predict(fit, set_value(data, name)))))
    typical <- data[1, ]
    typical$g[] <- names(which.max(table(data$g)))
    typical$o[] <- names(which.max(table(data$o)))
    out <- quiet(partial_dependence(fit, name, grid = moving_values[[name]]))
    expect_equal(out$mean, quiet(unname(
      predict(fit, set_value(typical, name))
    )), ignore_attr = TRUE)
  }
})

test_that("importance permutes variables and has a row for each", {
  data <- moving_data()
  for (formula in list(y ~ x * g, y ~ poly(x, 2) + `dose (mg)`, y ~ m + o:x)) {
    fits <- moving_fits(formula, data)
    names <- all.vars(formula[[3]])
    for (fit in fits) {
      out <- importance(fit,
        method = "permutation", permutations = 1, ndraws = 1e4, seed = 2
      )
      expect_identical(out$variable, names)
      columns <- importance(fit,
        method = "permutation", permutations = 1, by = "column", seed = 2
      )
      expect_identical(columns$variable, fit$mould$x_names)
    }
    scales <- importance(fits$bark)
    expect_identical(scales$variable, names)
    expect_equal(sum(scales$share), 1)
    columns <- importance(fits$bark, by = "column")
    expect_identical(columns$variable, fits$bark$mould$x_names)
    expect_output(print(scales), names[[2]], fixed = TRUE)
  }
})

test_that("the rise is that of data with the variable permuted", {
  data <- moving_data()
  fit <- moving_fits(y ~ x * g, data)$srvm
  out <- importance(fit, permutations = 1, ndraws = 1e4, seed = 2)
  order <- withr::with_seed(2, sample.int(nrow(data)))
  loss <- function(rows) {
    pool <- posterior_pool(fit)
    f <- posterior_draws(
      fit, mould_forge(fit$mould, rows)$x, pool, seq_along(pool$weights)
    )
    sum(pool$weights * rowMeans(sweep(f, 2, data$y)^2))
  }
  for (name in c("x", "g")) {
    moved <- data
    moved[[name]] <- moved[[name]][order]
    expect_equal(
      out$mean[out$variable == name], loss(moved) - loss(data)
    )
  }
  new <- importance(fit,
    newdata = data[40:1, ], permutations = 1, ndraws = 1e4, seed = 2
  )
  expect_identical(new$variable, c("x", "g"))
})

test_that("names of columns are refused with the variable that they come of", {
  data <- moving_data()
  fit <- quiet(bark(y ~ x * g + I(z^2) + `dose (mg)`, data,
    control = short, seed = 1
  ))
  expect_error(partial_dependence(fit, "I(z^2)"), "comes of \"z\"",
    class = "kb_error_argument"
  )
  expect_error(partial_dependence(fit, "x:ga"), "\"x\" and \"g\"",
    class = "kb_error_argument"
  )
  # As columns have it
  expect_identical(
    partial_dependence(fit, "`dose (mg)`", 1),
    partial_dependence(fit, "dose (mg)", 1)
  )
})

test_that("the fit keeps what its columns do not hold, through updates", {
  data <- moving_data()
  kept <- function(formula) {
    names(quiet(kgs(formula, data, control = short, seed = 1))$mould$variables)
  }
  expect_null(kept(class ~ x * g + m + o + day))
  expect_identical(kept(class ~ x + log(z) + k:x), c("z", "k"))
  fit <- quiet(srvm(y ~ x:g + z, data[1:30, ], seed = 1,
    control = smc_control(particles = 20, proposal = "paper")
  ))
  fit <- quiet(update(fit, data[31:40, ]))
  expect_equal(partial_dependence(fit, "x", 0.7)$mean,
    mean(predict(fit, set_value(data, "x")))
  )
  old <- fit
  old$mould$variables <- NULL
  old <- sealed(old)
  expect_error(partial_dependence(old, "x"), "earlier version",
    class = "kb_error_not_defined"
  )
  damaged <- fit
  damaged$mould$variables <- damaged$mould$variables[1:3, ]
  expect_error(predict(damaged), class = "kb_error_fit")
})

test_that("pictures have the user's variables, whatever they are", {
  data <- moving_data()
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  data$three <- cut(data$y, c(-Inf, 0, 1, Inf), labels = c("A", "B", "C"))
  data$NA_ <- factor(rep_len(c("NA", "x", ""), 40))
  small <- mcmc_control(chains = 2, warmup = 10, iter = 10)
  asks <- list(
    function(f) bark(f, data, control = small, seed = 1),
    function(f) {
      bark(f, data, control = small, seed = 1, prior_only = TRUE)
    },
    function(f) {
      srvm(f, data, control = smc_control(particles = 10), seed = 1)
    },
    function(f) {
      f[[2]] <- quote(three)
      bark(f, data, control = small, seed = 1)
    },
    function(f) {
      f[[2]] <- quote(three)
      kgs(f, data, control = small, kernel = kernel_gaussian(1), seed = 1)
    }
  )
  for (formula in list(
    y ~ `dose (mg)`, y ~ `if`, y ~ o, y ~ g, y ~ NA_, y ~ day, y ~ l,
    y ~ factor(k), y ~ poly(x, 2), y ~ x + I(x^2), y ~ m, y ~ g + s
  )) {
    name <- all.vars(formula[[3]])
    for (ask in asks) {
      fit <- quiet(ask(formula))
      if (!(isTRUE(fit$settings$prior_only) && length(name) > 1)) {
        expect_no_error(quiet(plot(fit)))
      }
      if (length(name) == 1 && name != "m") {
        along <- curve_along(fit, 5)
        expect_match(along$label, name, fixed = TRUE)
        out <- partial_dependence(fit, name, n = 3, ndraws = 5)
        expect_identical(names(out)[[1]], name)
        expect_no_error(quiet(plot(out)))
        expect_output(print(out), name, fixed = TRUE)
      }
      if (requireNamespace("ggplot2", quietly = TRUE) && !is_prior_only(fit)) {
        expect_no_error(quiet(ggplot2::ggplot_build(ggplot2::autoplot(fit))))
      }
    }
  }
})
