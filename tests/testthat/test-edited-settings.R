# Settings are lists, which users edit in place.

# The arguments of a call of the package, and the object that is edited
edited_settings <- function() {
  data <- sim_sinc(8, seed = 1)
  classes <- data.frame(x = data$x, c = factor(rep(c("a", "b"), 4)))
  short <- function(...) {
    mcmc_control(chains = 1, warmup = 2, iter = 2, n_moves = 1,
      time_limit = 0.02, ...
    )
  }
  particles <- smc_control(particles = 3, n_moves = 1)
  srvm_with <- function(..., control = particles) {
    srvm(y ~ x, data, ..., control = control, seed = 1)
  }
  bark_with <- function(..., control = short()) {
    bark(y ~ x, data, ..., control = control, seed = 1)
  }
  kgs_with <- function(..., control = short()) {
    kgs(c ~ x, classes, ..., control = control, seed = 1)
  }
  stay <- td_move(
    function(states, t, data) states, function(a, b, t, data) numeric(3),
    function(a, b, t, data) numeric(3)
  )
  target <- function() {
    td_target(function(x, t, data) numeric(nrow(x)),
      function(n, data) matrix(0, n, 1)
    )
  }
  td_with <- function(target, move = stay) {
    tdsmc(target, list(go = move),
      steps = 1, control = smc_control(particles = 3), seed = 1
    )
  }
  of_kernel <- function(kernel) kernel_matrix(kernel, 1:2)
  list(
    list(smc_control(3, n_moves = 1), function(v) srvm_with(control = v)),
    list(short(), function(v) bark_with(control = v)),
    list(convergence(1.1, 2, 4), function(v) {
      bark_with(control = short(until = v))
    }),
    list(bark_prior(), function(v) bark_with(prior = v)),
    list(noise_gamma(1, 1), function(v) bark_prior(noise = v)),
    list(noise_improper(), function(v) bark_prior(noise = v)),
    list(centre_rows(), function(v) bark_prior(centres = v)),
    list(centre_near_rows(), function(v) bark_prior(centres = v)),
    list(kgs_prior(), function(v) kgs_with(prior = v)),
    list(noise_beta(1, 9), function(v) kgs_with(noise = v)),
    list(noise_class(1, 9), function(v) kgs_with(noise = v)),
    list(srvm_prior(), function(v) srvm_with(prior = v)),
    list(srvm_prior_paper(), function(v) srvm_with(prior = v)),
    list(ig(1, 1), function(v) srvm_prior(noise = v)),
    list(fixed_variance(1), function(v) srvm_prior(coef = v)),
    list(srvm_prior_paper()$noise, function(v) {
      srvm_with(prior = replace(srvm_prior_paper(), "noise", list(v)))
    }),
    list(lambda_gamma(1, 1), function(v) srvm_prior(lambda = v)),
    list(srvm_memory(window = 5), function(v) srvm_with(memory = v)),
    list(kbr_schedule(), function(v) kbr(data$x, data$y, eps = v)),
    list(target(), td_with),
    list(td_rejuvenate(list(go = stay)), function(v) {
      td_target(function(x, t, data) 0, function(n) 0, v)
    }),
    list(stay, function(v) td_with(target(), v)),
    list(kernel_gaussian(), of_kernel), list(kernel_matern(), of_kernel),
    list(kernel_laplace(), of_kernel), list(kernel_rotation(), of_kernel),
    list(kernel_rational_quadratic(), of_kernel),
    list(kernel_periodic(), of_kernel), list(kernel_polynomial(), of_kernel),
    list(kernel_linear(), of_kernel), list(kernel_constant(), of_kernel),
    list(kernel_custom(function(x, y) x %*% t(y)), of_kernel),
    list(1 + kernel_linear(), of_kernel),
    list(kernel_dictionary(kernel_gaussian(1), kernel_linear()), function(v) {
      srvm_with(kernel = v)
    })
  )
}

# What an edit of one part gives that is not as it should be
odd_edit <- function(case, part, edit) {
  value <- case[[1]]
  value[part] <- list(edit)
  got <- tryCatch(suppressMessages(suppressWarnings(case[[2]](value))),
    error = identity
  )
  refused <- inherits(got, "kb_error_argument") &&
    grepl(part, conditionMessage(got), fixed = TRUE)
  # Text is never valid, other values may be.
  if (!refused && (inherits(got, "error") || identical(edit, "a"))) {
    paste(class(value)[[1]], part, deparse(edit))
  }
}

test_that("edited parts of settings are valid or an error that names them", {
  others <- if (extended()) list(-1, NA, NULL, list(), Inf)
  odd <- character()
  for (case in edited_settings()) {
    # Any name of a file is valid.
    for (part in setdiff(names(case[[1]]), "checkpoint")) {
      for (edit in c("a", others)) odd <- c(odd, odd_edit(case, part, edit))
    }
  }
  expect_identical(odd, character())
})

test_that("every engine checks edited settings, and says what is odd", {
  data <- sim_sinc(8, seed = 1)
  data$c <- factor(rep(c("a", "b"), 4))
  refused <- function(expr, said) {
    expect_error(expr, said, class = "kb_error_argument")
  }
  control <- smc_control()
  control$powers <- "a"
  refused(srvm(y ~ x, data, control = control), "`powers` must be rising")
  prior <- kgs_prior()
  prior$ard_sd <- -1
  refused(kgs(c ~ x, data, prior = prior), "`ard_sd` must be a single finite")
  chains <- tiny_chains()
  chains$time_limit <- -1
  refused(bark(y ~ x, data, control = chains), "`time_limit` must be")
  refused(kgs(c ~ x, data, control = chains), "`time_limit` must be")
  refused(
    srvm(y ~ x, data, method = "mcmc", control = chains), "`time_limit` must be"
  )
  family <- replace(gaussian(), "link", 1)
  refused(srvm(y ~ x, data, family = family), "family\\$link")
  # A part that no constructor takes
  control <- smc_control()
  control$particle <- 100
  refused(srvm(y ~ x, data, control = control), "did you mean `particles`")
})

test_that("settings stay as they are where nothing is edited", {
  for (settings in c(lapply(edited_settings(), `[[`, 1), list(
    smc_control(proposal = "paper"), smc_control(cess_threshold = 0),
    smc_control(powers = 1), smc_control(n_moves = 0), mcmc_control(),
    mcmc_control(iter = NULL, until = convergence()), bark_prior_paper("equal"),
    bark_prior(selection = c(2, 3)), bark_prior(n_signals = 1),
    bark_prior(n_signals = 1, selection = 2), bark_prior(df = "learned"),
    bark_prior(n_kernels = 5, discrepancy = 1e-3, alpha = 1.5),
    bark_prior(own_scales = "pooled"), bark_prior(noise = ig(1, 1)),
    bark_prior_paper(approximation = "truncation"),
    srvm_prior(lambda = "learn", df = "learn"), srvm_prior(kernels = 1:2),
    srvm_prior(scaled = TRUE, noise = ig(1, 1)), srvm_prior_paper(2, 9, 1, 1)
  ))) {
    expect_identical(remade(settings), settings)
  }
})

test_that("settings of earlier fits can be given again", {
  data <- sim_sinc(10, seed = 1)
  data$c <- factor(rep(c("a", "b"), 5))
  fit <- function(f, formula, ...) {
    suppressMessages(suppressWarnings(f(formula, data, seed = 1, ...)))
  }
  few <- smc_control(5, n_moves = 1)
  small <- tiny_chains()
  for (prior in list(
    srvm_prior(), srvm_prior(df = "learn"), srvm_prior_paper(),
    srvm_prior(lambda = "learn", scaled = TRUE)
  )) {
    one <- fit(srvm, y ~ x, prior = prior, control = few)
    two <- fit(srvm, y ~ x, prior = one$settings$prior, control = one$control)
    expect_identical(two$settings$prior, one$settings$prior)
    expect_identical(fitted(two), fitted(one))
  }
  one <- fit(kgs, c ~ x, prior = kgs_prior(ard_sd = 0.5), control = small)
  two <- fit(kgs, c ~ x,
    prior = one$settings$prior, noise = one$settings$noise,
    control = one$control
  )
  expect_identical(two$settings$prior, one$settings$prior)
})
