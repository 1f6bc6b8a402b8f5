# One vocabulary: names of arguments and columns mean the same everywhere. The
# table is in CONTRIBUTING.md, "Names".

space <- asNamespace("kernelbayes")
methods <- ls(space, all.names = TRUE)
methods <- methods[vapply(methods, function(name) {
  is.function(get(name, space)) && any(vapply(
    c("kb_[a-z_]+", "formula", "matrix", "numeric", "data.frame", "default"),
    function(class) grepl(paste0("^[A-Za-z_2.]+\\.", class, "$"), name), NA
  ))
}, NA)]
public <- unique(c(getNamespaceExports(space), methods))
public <- public[vapply(public, function(name) {
  is.function(get(name, space))
}, NA)]
arguments <- lapply(stats::setNames(nm = public), function(name) {
  names(formals(get(name, space)))
})

test_that("no argument has another name for what has one", {
  # The name that is used, and what others call it
  other_names <- list(
    iter = c("n_iter", "niter", "nsamples", "n_samples", "samples"),
    na.action = c("na_action", "missing"), newdata = c("new_data", "newX"),
    ndraws = c("n_draws", "draws_n"), chains = c("n_chains", "nchain"),
    warmup = c("burnin", "burn_in", "n_warmup"), seed = c("random_state"),
    particles = c("n_particles", "nparticles"), thin = c("thinning"),
    level = c("credible", "confidence", "conf", "prob_level", "ci"),
    bandwidth = c("bw", "sigma_kernel", "lengthscale", "length_scale"),
    progress = c("verbose", "quiet", "trace"), threads = c("cores", "n_threads"),
    weights = c("weight", "wts"), level = c("cl", "coverage"),
    scale = c("standardize", "standardise", "normalise"),
    centres = c("centers", "knots"), intercept = c("constant_term"),
    control = c("ctrl", "params"), prior = c("priors")
  )
  for (canonical in names(other_names)) {
    wrong <- Filter(function(a) any(a %in% other_names[[canonical]]), arguments)
    expect_identical(names(wrong), character(), label = canonical)
  }
})

test_that("arguments of several functions have one default", {
  # Those whose default is not a choice of each function
  shared <- list(
    seed = list(NULL), progress = list(NULL), level = list(0.9),
    conf.level = list(0.9), conf.int = list(TRUE), na.action = list(
      quote(c("omit", "fail"))
    ), newx = list(NULL), newy = list(NULL), re_formula = list(NULL),
    time_limit = list(NULL, Inf), weights = list(NULL), offset = list(NULL, 1),
    prob = list(0.9)
  )
  elsewhere <- list(
    # A test's level, and shares of centres and of the parts of a mixture
    level = "check_moves",
    weights = c("centre_near_rows", "centre_rows", "lambda_gamma")
  )
  for (name in names(shared)) {
    for (f in setdiff(public, elsewhere[[name]])) {
      given <- formals(get(f, space))
      if (!name %in% names(given)) next
      if (identical(given[[name]], quote(expr = ))) next
      fine <- any(vapply(shared[[name]], identical, NA, given[[name]]))
      expect_true(fine, label = paste0(f, "(", name, " = )"))
    }
  }
})

test_that("limits have the same names in tables of one kind", {
  data <- sim_friedman(30, p = 5, seed = 1)
  fit <- suppressMessages(suppressWarnings(bark(y ~ ., data,
    control = mcmc_control(chains = 2, warmup = 20, iter = 30), seed = 1
  )))
  # base R: matrices of predict()
  expect_identical(
    colnames(predict(fit, interval = "credible")), c("fit", "lwr", "upr")
  )
  # broom: tidy() and augment()
  expect_true(all(c("conf.low", "conf.high") %in% names(tidy(fit))))
  expect_true(all(c(".fitted", ".lower", ".upper") %in% names(augment(fit))))
  # This package: all else
  tables <- list(
    partial_dependence(fit, "x1", n = 3), importance(fit),
    importance(fit, method = "permutation")
  )
  for (table in tables) {
    expect_true(all(c("lower", "upper") %in% names(table)))
    expect_false(any(c("lwr", "conf.low", "q5", "low") %in% names(table)))
  }
})
