# tdsmc() on problems with exact answers (helper-tdsmc.R), and its promises
# about seeds, continued runs, replicates, ancestry and errors.
#
# Statistical tests: replicates are independent, and Zhat and Zhat times the
# estimated probability of a group of states are unbiased. Null: their means
# over replicates are about t-distributed around the exact values. They are
# skew, which makes the tail heavier: among 20000 bootstrap samples of 500 to
# 2000 replicates of births and deaths of centres, of change points and of the
# Kalman problem each, at most one had a p-value (with Bonferroni over groups)
# below 1e-6, so that at this limit a right sampler fails with probability below
# 1e-4. Seen to fail for every break of helper-tdsmc.R that leaves the run
# without an error, and with tdsmc() itself broken: a factor left out of the law
# of the weights, the evidence not divided by N after resampling, weights kept
# at resampling, log densities not carried along or kept after rejuvenation,
# particles put back in the order of their moves, one seed for all steps or
# replicates, rejuvenation at t instead of t - 1.

limit <- 1e-6
many <- smc_control(particles = 60, replicates = 40)
more <- smc_control(particles = 60, replicates = 100)
rows_of <- function(states) apply(states, 1, paste, collapse = "")

exact_changes <- function(t, p) {
  states <- p$states(t)
  stats::setNames(p$target$log_density(states, t, p$data), rows_of(states))
}

# Exact answers ---------------------------------------------------------------

test_that("zero, birth and death of centres give the enumerated posterior", {
  groups <- row_groups(enumerate_subsets(4, 3))
  for (broken in c("none", "formula")) {
    p <- centre_problem(broken)
    fit <- run_problem(p, control = more)
    expect_gt(replicate_p(fit, exact_sets(p), sets_of, groups), limit)
  }
  for (broken in c("printed", "uniform_death", "no_c", "propose", "zero")) {
    p <- centre_problem(broken)
    fit <- run_problem(p, control = many)
    expect_lt(replicate_p(fit, exact_sets(p), sets_of, groups), limit)
  }
})

test_that("the adapted proposal gives the enumerated posterior", {
  p <- adapted_problem()
  fit <- run_problem(p, control = many)
  expect_gt(replicate_p(fit, exact_sets(p), sets_of), limit)
  # Its weights depend only on the old state: one row's evidence is exact.
  one <- run_problem(p, steps = 1)
  expect_equal(evidence(one)$log_evidence, log_sum_exp(exact_sets(p, 1)))
  expect_equal(ess(one)$fraction, 1)
})

test_that("change points of counts have their enumerated posterior", {
  p <- change_problem()
  exact <- exact_changes(6, p)
  for (rejuvenate in list(NULL, change_flip())) {
    p <- change_problem(rejuvenate = rejuvenate)
    fit <- run_problem(p, control = many)
    expect_gt(replicate_p(fit, exact, rows_of), limit)
  }
  fit <- run_problem(
    change_problem(rejuvenate = change_flip(TRUE)), control = many
  )
  expect_lt(replicate_p(fit, exact, rows_of), limit)
})

test_that("every scheme and rule of resampling gives the posterior", {
  p <- change_problem()
  exact <- exact_changes(6, p)
  settings <- c(
    lapply(resampling_schemes_cpp(), function(name) list(resampling = name)),
    list(list(resample_every_step = TRUE), list(ess_threshold = 0))
  )
  for (setting in settings) {
    control <- do.call(
      smc_control, c(list(particles = 40, replicates = 40), setting)
    )
    fit <- run_problem(p, control = control)
    expect_gt(replicate_p(fit, exact, rows_of), limit)
  }
})

test_that("a linear Gaussian model has the evidence of the Kalman filter", {
  exact <- kalman_log_evidence()
  p <- kalman_problem()
  fit <- run_problem(p, control = many)
  expect_gt(replicate_p(fit, exact$log_evidence), limit)
  # Null: the pooled mean is normal; its sd over 40 seeds is .013 here.
  mean <- predict(fit, function(x) x[, ncol(x)])
  expect_lt(abs(mean - exact$mean), 0.06)
  wrong <- run_problem(kalman_problem("density"), control = many)
  expect_lt(replicate_p(wrong, exact$log_evidence), limit)
})

test_that("the standard error of the evidence agrees with replicates", {
  # Null, for multinomial resampling and if families were never founded anew:
  # Zhat^2 times the estimated relative variance is an unbiased estimate of the
  # variance of Zhat (Lee and Whiteley, 2018); t-test of differences.
  exact <- kalman_log_evidence()$log_evidence
  fit <- run_problem(kalman_problem(),
    steps = 8, control = smc_control(200,
      replicates = 100, resampling = "multinomial", ess_threshold = 0.3
    )
  )
  closed <- vapply(fit$runs, function(run) run$genealogy$closed, 0)
  expect_identical(unique(closed), 0)
  expect_true(any(ess(fit)$resampled))
  z <- exp(evidence(fit)$replicates - exact)
  v <- vapply(fit$runs, `[[`, 0, "relative_variance")
  difference <- z^2 * v - (z - 1)^2
  expect_gt(stats::t.test(difference)$p.value, limit)
  # Of the right size: if families were founded anew, the covariance that the
  # estimate leaves out makes it .6 of the variance here, and the variance over
  # 40 replicates has a relative standard deviation of .22.
  fit <- run_problem(kalman_problem(), control = many)
  e <- evidence(fit)
  expect_lt(abs(log(e$mc_se / e$mc_se_replicates)), log(2))
})

test_that("the genealogy is counted as in the core", {
  # srvm() records the ancestors and the core's counts of them.
  fit <- few_particles(srvm(y ~ x, sim_sinc(40, seed = 1),
    kernel = kernel_gaussian(),
    control = smc_control(40,
      n_moves = 0, ancestry = "full", resample_every_step = TRUE,
      cess_threshold = 0
    ), seed = 1
  ))
  history <- ancestry(fit)[[1]]
  g <- new_genealogy(40)
  for (t in 2:40) {
    g <- genealogy_resample(
      g, history$ancestors[t - 1, ], history$weights[t - 1, ], FALSE
    )
  }
  run <- fit$runs[[1]]
  expect_identical(length(unique(g$founders)), ess(fit)$founders[[40]])
  expect_equal(genealogy_variance(g, run$weights), run$relative_variance)
  expect_gt(g$closed, 0)
})

# Seeds, continued runs, replicates -------------------------------------------

test_that("one seed gives one result and leaves R's generator alone", {
  withr::local_preserve_seed()
  p <- change_problem()
  set.seed(4)
  before <- .Random.seed
  fit <- run_problem(p)
  expect_identical(.Random.seed, before)
  expect_same_fit(run_problem(p), fit)
  expect_false(identical(run_problem(p, seed = 2)$runs, fit$runs))
  drawn <- run_problem(p, seed = NULL)
  set.seed(4)
  expect_same_fit(run_problem(p, seed = NULL), drawn)
  expect_same_fit(run_problem(p, seed = drawn$seed), drawn)
})

test_that("update() in any split equals one run", {
  for (ancestry in c("summary", "full")) {
    control <- smc_control(particles = 30, replicates = 2, ancestry = ancestry)
    for (p in list(change_problem(), kalman_problem(), centre_problem())) {
      n <- length(p$data)
      all <- run_problem(p, control = control)
      first <- run_problem(p, control = control, data = p$data[1:2])
      expect_same_fit(few_particles(update(first, data = p$data)), all)
      steps <- run_problem(p, control = control, steps = 1)
      for (t in 2:n) steps <- few_particles(update(steps, steps = t))
      expect_same_fit(steps, all)
      expect_identical(update(all), all)
    }
  }
})

test_that("replicates are independent runs, pooled by their evidence", {
  p <- change_problem()
  one <- run_problem(p)
  three <- run_problem(p,
    control = smc_control(particles = 60, replicates = 3)
  )
  plain <- plain_fit(three)$runs
  expect_identical(plain[1], plain_fit(one)$runs)
  z <- evidence(three)
  expect_identical(anyDuplicated(z$replicates), 0L)
  expect_equal(z$log_evidence, log(mean(exp(z$replicates))))
  w <- weights(three)
  expect_length(w, 180)
  expect_equal(sum(w), 1)
  share <- exp(z$replicates) / sum(exp(z$replicates))
  expect_equal(as.vector(rowsum(w, rep(1:3, each = 60))), share)
  expect_equal(nrow(predict(three, type = "states")), 180)
})

test_that("replicates on workers equal those in this process", {
  local_workers()
  # Functions that exist nowhere else travel with their environment.
  p <- kalman_problem()
  control <- smc_control(particles = 20, replicates = 3)
  there <- run_problem(p, control = control)
  future::plan("sequential")
  expect_equal(
    plain_fit(run_problem(p, control = control))$runs, plain_fit(there)$runs
  )
})

test_that("a time limit and an interrupt give a fit that update() completes", {
  p <- kalman_problem()
  all <- run_problem(p)
  expect_warning(
    fit <- run_problem(p,
      control = smc_control(particles = 60, time_limit = 1e-9)
    ), class = "kb_warning_time_limit"
  )
  expect_identical(fit$status, "time_limit")
  expect_lt(fit$time, 8)
  expect_output(print(fit), "INCOMPLETE")
  expect_same_fit(
    few_particles(update(fit, time_limit = Inf))[-match("status", names(fit))],
    all[-match("status", names(fit))]
  )
})

test_that("an interrupt takes effect between two steps", {
  skip_on_cran()
  skip_on_os("windows")
  p <- kalman_problem()
  all <- run_problem(p)
  density <- p$target$log_density
  sent <- FALSE
  p$target$log_density <- function(states, t, data) {
    if (t == 3 && !sent) {
      sent <<- TRUE
      tools::pskill(Sys.getpid(), tools::SIGINT)
    }
    density(states, t, data)
  }
  expect_warning(fit <- run_problem(p), class = "kb_warning_interrupted")
  expect_identical(fit$status, "interrupted")
  expect_gte(fit$time, 3)
  done <- few_particles(update(fit))
  expect_identical(plain_fit(done)$runs, plain_fit(all)$runs)
})

test_that("a checkpoint can be continued, also in a file", {
  p <- kalman_problem()
  file <- file.path(withr::local_tempdir(), "fit.rds")
  fit <- run_problem(p,
    control = smc_control(particles = 60, checkpoint = file), steps = 3
  )
  fit <- update(read_checkpoint(file), steps = 8)
  expect_identical(
    weights(fit), weights(run_problem(p))
  )
})

test_that("the ancestry leads from the particles to the founders", {
  p <- change_problem(rejuvenate = NULL)
  expect_error(ancestry(run_problem(p)), class = "kb_error_not_defined")
  fit <- run_problem(p,
    control = smc_control(30, ancestry = "full", ess_threshold = 0.9)
  )
  history <- ancestry(fit)[[1]]
  expect_identical(dim(history$ancestors), c(5L, 30L))
  expect_equal(1 / rowSums(history$weights^2), ess(fit)$ess)
  for (t in 2:6) {
    parent <- history$states[[t - 1]][history$ancestors[t - 1, ], ]
    expect_identical(as.vector(history$states[[t]][, -t]), as.vector(parent))
  }
  expect_gt(sum(ess(fit)$resampled), 0)
  only <- run_problem(p, control = smc_control(30, ancestry = "genealogy"))
  expect_named(ancestry(only)[[1]], "ancestors")
})

# States ----------------------------------------------------------------------

test_that("states may be vectors, lists, matrices and data frames", {
  as_state <- list(
    vector = identity, list = as.list, matrix = function(x) matrix(x),
    frame = function(x) data.frame(x = x)
  )
  as_number <- list(
    identity, unlist, function(s) s[, 1], function(s) s[["x"]]
  )
  fits <- Map(function(wrap, number) {
    target <- td_target(
      function(states, t, data) {
        stats::dnorm(number(states), t, 1, log = TRUE) + 0.5 * t
      },
      function(n, data) wrap(stats::rnorm(n))
    )
    zero <- function(new, old, t, data) numeric(length(number(new)))
    up <- function(by) {
      td_move(function(states, t, data) wrap(number(states) + by), zero, zero,
        probability = 0.5, reverse_probability = 0.5
      )
    }
    tdsmc(target, list(one = up(1), half = up(0.5)),
      steps = 4, control = smc_control(40, ess_threshold = 1), seed = 1
    )
  }, as_state, as_number)
  for (fit in fits) {
    expect_identical(weights(fit), weights(fits$vector))
    expect_identical(evidence(fit)$path, evidence(fits$vector)$path)
  }
  expect_identical(
    predict(fits$frame, type = "states")$x,
    predict(fits$vector, type = "states")
  )
  # One particle, and a vector for a single move.
  expect_identical(evidence(run_problem(
    kalman_problem(), control = smc_control(1)
  ))$mc_se, NA_real_)
})

test_that("moves that are not chosen are not called", {
  p <- change_problem()
  called <- 0
  p$moves$never <- td_move(
    function(...) stop("called"), function(...) stop("called"),
    function(...) stop("called"), 0, 0
  )
  expect_no_error(run_problem(p))
})

# Queries of a fit ------------------------------------------------------------

test_that("predict() gives expectations, distributions and states", {
  fit <- run_problem(change_problem())
  w <- weights(fit)
  states <- predict(fit, type = "states")
  k <- rowSums(states) - 1
  expect_equal(predict(fit, function(s) rowSums(s) - 1), sum(w * k))
  expect_equal(
    predict(fit, function(s) cbind(k = rowSums(s) - 1, first = s[, 1])),
    c(k = sum(w * k), first = 1)
  )
  table <- predict(fit, function(s) rowSums(s) - 1, type = "distribution")
  expect_equal(sum(table$probability), 1)
  expect_equal(sum(table$value * table$probability), sum(w * k))
  draws <- as_draws(fit, function(s) data.frame(k = rowSums(s) - 1))
  expect_s3_class(draws, "draws_df")
  # Systematic equal-weight draws: within 1/60 of each probability.
  expect_lt(abs(mean(draws$k) - sum(w * k)), 6 / 60)
  weighted <- as_draws(fit, function(s) rowSums(s), weighted = TRUE)
  expect_equal(stats::weights(weighted), w)
  s <- posterior::summarise_draws(draws)
  expect_true(all(is.na(c(s$rhat, s$ess_bulk, s$ess_tail))))
  expect_error(predict(fit), class = "kb_error_argument")
  expect_error(predict(fit, sum), class = "kb_error_user_function")
  expect_error(predict(fit, identity, type = "states"),
    class = "kb_error_argument"
  )
  expect_error(predict(fit, mean, typ = "x"), class = "kb_error")
  expect_error(fitted(fit), class = "kb_error_not_defined")
  expect_error(residuals(fit), class = "kb_error_not_defined")
  expect_error(coef(fit), class = "kb_error_not_defined")
  expect_error(formula(fit), class = "kb_error_not_defined")
  expect_identical(nobs(fit), 6L)
})

test_that("tidy() and glance() use the weighted particles", {
  fit <- run_problem(change_problem())
  w <- weights(fit)
  expect_gt(diff(range(w)), 0)
  # Distinct numbers, so that each weight matters to a quantile.
  own <- seq_along(w) + rowSums(predict(fit, type = "states")) / 100
  f <- function(s) cbind(own = seq_len(nrow(s)) + rowSums(s) / 100, one = 1)
  out <- tidy(fit, f, conf.level = 0.5)
  expect_identical(out$term, c("own", "one"))
  mean <- sum(w * own)
  expect_equal(out$estimate, c(mean, 1))
  expect_equal(out$std.error, c(sqrt(sum(w * (own - mean)^2)), 0))
  below <- cumsum(w[order(own)])
  expect_equal(out$conf.low[[1]], sort(own)[which(below >= 0.25)[[1]]])
  expect_equal(out$conf.high[[1]], sort(own)[which(below >= 0.75)[[1]]])
  expect_identical(tidy(fit, function(s) rowSums(s))$term, "f")
  one <- glance(fit)
  expect_identical(one$nobs, 6L)
  expect_identical(one$particles, 60L)
  expect_equal(one$log_evidence, evidence(fit)$log_evidence)
  expect_error(tidy(fit, sum), class = "kb_error_user_function")
  expect_error(simulate(fit), class = "kb_error_not_defined")
})

test_that("the accessors agree with one another", {
  fit <- run_problem(change_problem())
  z <- evidence(fit)
  expect_equal(sum(z$path$log_predictive), z$log_evidence)
  path <- ess(fit)
  expect_named(path,
    c("step", "ess", "fraction", "lowest", "founders", "resampled")
  )
  expect_equal(path$ess[[6]], 1 / sum(weights(fit)^2))
  d <- diagnostics(fit)
  expect_equal(d$ess_min, min(path$fraction))
  expect_identical(d$ess_min_step, which.min(path$fraction))
  expect_identical(d$resamplings, sum(path$resampled))
  moves <- summary(fit)$moves
  expect_identical(sum(moves$chosen), 6L * 60L)
  expect_equal(sum(moves$weighted), 1)
  expect_error(inclusion(fit), class = "kb_error_not_defined")
})

test_that("print and summary are short, plots draw", {
  fit <- run_problem(centre_problem())
  expect_lte(length(capture.output(print(fit))), 15)
  expect_output(print(fit), "zero .*birth .*death")
  expect_output(print(summary(fit)), "times chosen")
  expect_output(print(fit$target), "log_density")
  expect_output(print(fit$moves[[1]]), "general formula")
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  for (type in c("ess", "evidence", "moves")) {
    expect_identical(plot(fit, type = type, main = "title"), fit)
    expect_no_error(plot(run_problem(centre_problem(), steps = 1), type = type))
  }
  expect_error(plot(fit, type = "k"), class = "kb_error_argument")
  expect_error(plot(fit, lwd = 2), class = "kb_error_unknown_argument")
})

# Errors ----------------------------------------------------------------------

test_that("bad arguments are refused", {
  p <- change_problem()
  refused <- function(expr) expect_error(expr, class = "kb_error_argument")
  refused(td_target(1, identity))
  refused(td_target(identity, identity, "x"))
  refused(td_move(identity, identity))
  refused(td_move(identity, identity, identity, probability = 2))
  refused(td_move(identity, identity, identity, reverse_probability = NULL))
  expect_no_error(td_move(identity, identity,
    reverse_probability = NULL, log_weight = identity
  ))
  refused(tdsmc(list(), p$moves, p$data))
  refused(tdsmc(p$target, unname(p$moves), p$data))
  refused(tdsmc(p$target, list(), p$data))
  refused(tdsmc(p$target, p$moves[c(1, 1)], p$data))
  refused(tdsmc(p$target, p$moves))
  refused(tdsmc(p$target, p$moves, p$data, steps = 0))
  refused(tdsmc(p$target, p$moves, p$data, control = mcmc_control()))
  for (control in list(
    smc_control(proposal = "birth_death"), smc_control(n_moves = 3),
    smc_control(move_fraction = 0.5), smc_control(threads = 2)
  )) {
    refused(tdsmc(p$target, p$moves, p$data, control = control))
  }
  fit <- run_problem(p)
  refused(update(fit, steps = 3))
  refused(update(fit, data = p$data[1:3]))
  expect_error(tdsmc(p$target, p$moves, p$data, sed = 1),
    class = "kb_error_unknown_argument"
  )
})

#' The message of a run in which one function is replaced
message_with <- function(part, f, move = "stay", p = change_problem()) {
  if (part %in% names(p$target)) {
    p$target[[part]] <- f
  } else {
    p$moves[[move]][[part]] <- f
  }
  error <- tryCatch(run_problem(p), error = identity)
  expect_s3_class(error, "kb_error_user_function")
  gsub("[[:space:]]+", " ", conditionMessage(error))
}

test_that("errors of a user's function are named", {
  const <- function(x) function(...) x
  expect_match(message_with("log_density", const(1:3)), "log_density.*60 numb")
  expect_match(message_with("log_density", const("a")), "\"a\"")
  expect_match(
    message_with("log_density", function(s, t, data) {
      change_log_density(s, t, data) * if (t == 2) NA else 1
    }), "step 2.*missing"
  )
  expect_match(message_with("log_density", const(rep(Inf, 60))), "Inf")
  expect_match(message_with("log_density", const(rep(-Inf, 60))), "initial")
  expect_match(
    message_with("log_density", function(...) stop("no luck")), "no luck"
  )
  expect_match(message_with("initial", const(matrix(0, 3, 0))), "initial.*60")
  expect_match(message_with("initial", const(NULL)), "NULL")
  expect_match(message_with("rejuvenate", const(1:2)), "rejuvenate.*60 states")
  expect_match(message_with("propose", const(0)), "propose.*\"stay\"")
  expect_match(
    message_with("propose", function(s, t, data) cbind(s, 0, 0)), "columns"
  )
  expect_match(message_with("log_forward", const(0)), "log_forward.*\"stay\"")
  expect_match(
    message_with("log_forward", function(new, ...) rep(-Inf, nrow(new))),
    "that `propose\\(\\)` drew"
  )
  expect_match(message_with("log_reverse", const(NULL)), "log_reverse.*NULL")
  expect_match(
    message_with("probability", function(s, ...) rep(2, nrow(s))),
    "between 0 and 1.*number 2"
  )
  expect_match(message_with("probability", 0.5), "sum to 1.5: stay 0.5")
  expect_match(
    message_with("reverse_probability", const(-1)), "reverse_probability"
  )
  expect_match(message_with("log_weight", const("x")), "log_weight.*\"stay\"")
})

test_that("particles that all have weight zero are an error", {
  p <- change_problem()
  density <- p$target$log_density
  p$target$log_density <- function(states, t, data) {
    density(states, t, data) - if (t == 4) Inf else 0
  }
  expect_error(run_problem(p), "step 4", class = "kb_error_weights")
})

test_that("particles of weight zero do no harm", {
  # States that begin a segment at row 2 are impossible from then on, and are
  # never passed to the functions again.
  p <- change_problem(rejuvenate = NULL)
  p$target$log_density <- function(states, t, data) {
    if (t > 2) stopifnot(all(states[, 2] == 0))
    out <- change_log_density(states, t, data)
    if (t >= 2) out[states[, 2] == 1] <- -Inf
    out
  }
  exact <- exact_changes(6, change_problem())
  exact[substr(names(exact), 2, 2) == "1"] <- -Inf
  fit <- run_problem(p,
    control = smc_control(60, replicates = 60, ess_threshold = 0)
  )
  expect_gt(replicate_p(fit, exact, rows_of), limit)
})

test_that("few effective particles give a warning", {
  p <- kalman_problem()
  expect_warning(
    tdsmc(p$target, p$moves, c(0, 0, 30),
      control = smc_control(particles = 60), seed = 1
    ),
    class = "kb_warning_low_ess"
  )
  # Also if they were few on the way.
  surprise <- function(...) {
    tdsmc(p$target, p$moves, c(0, 0, 30, 26, 24, 22),
      control = smc_control(particles = 60), seed = 1
    )
  }
  fit <- suppressWarnings(surprise())
  expect_lt(ess(fit)$fraction[[3]], 0.05)
  expect_gt(diagnostics(fit)$ess_final, 0.1)
  expect_warning(surprise(), "at step 3", class = "kb_warning_low_ess")
  expect_output(print(fit), "at step 3", fixed = TRUE)
})
