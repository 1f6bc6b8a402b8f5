# tdsmc() from C++: inst/include/kernelbayes/transdim*.hpp, by the shipped
# example, compiled once together with the additions that tests need.

#' Skip unless C++ can be compiled against the installed package
skip_without_compiler <- function() {
  skip_on_cran()
  skip_if_not_installed("BH", "1.90.0")
  skip_if(length(compiler()) == 0, "there is no compiler")
}

#' The compiler and its flags, or nothing
compiler <- function() {
  config <- function(name) {
    out <- suppressWarnings(system2(
      file.path(R.home("bin"), "R"), c("CMD", "config", name),
      stdout = TRUE, stderr = FALSE
    ))
    if (is.null(attr(out, "status"))) strsplit(out, " +")[[1]]
  }
  found <- config("CXX17")
  if (length(found) > 0 && nzchar(Sys.which(found[[1]]))) {
    c(found, config("CXX17STD"))
  }
}

example_file <- function() {
  system.file("examples", "coal-changepoints.cpp", package = "kernelbayes")
}

#' The example and `transdim-moves.cpp`, compiled into an environment
compiled <- local({
  env <- NULL
  function() {
    skip_without_compiler()
    if (is.null(env)) {
      code <- c(readLines(example_file()), readLines("transdim-moves.cpp"))
      made <- new.env()
      # Half the time of -O2; sanitizers have their own flags.
      if (!nzchar(Sys.getenv("R_MAKEVARS_USER"))) {
        withr::local_envvar(MAKEFLAGS = "CXX17FLAGS=-O1")
      }
      Rcpp::sourceCpp(code = paste(code, collapse = "\n"), env = made)
      env <<- made
    }
    env
  }
})

#' Exact log evidence and distribution of the number of changes, by recursion
#' over the last segment
exact_changes_of <- function(counts, most = 12, p = 0.02, shape = 1,
                             rate = 0.5) {
  n <- length(counts)
  from <- row(diag(n))
  to <- col(diag(n))
  sums <- c(0, cumsum(counts))
  sum <- sums[to + 1] - sums[from]
  segment <- lgamma(shape + sum) - lgamma(shape) + shape * log(rate) -
    (shape + sum) * log(rate + pmax(to - from + 1, 0)) +
    (to - from) * log(1 - p)
  segment[from > to] <- -Inf
  by_number <- matrix(-Inf, most + 1, n)
  by_number[1, ] <- segment[1, ]
  for (k in seq_len(most)) {
    for (t in (k + 1):n) {
      by_number[k + 1, t] <- log(p) +
        log_sum_exp(by_number[k, 1:(t - 1)] + segment[2:t, t])
    }
  }
  log_z <- log_sum_exp(by_number[, n])
  list(
    log_evidence = log_z - sum(lfactorial(counts)),
    changes = exp(by_number[, n] - log_z)
  )
}

coal_counts <- function() {
  skip_if_not_installed("boot")
  tabulate(floor(boot::coal$date) - 1850, 112)
}

#' p-value of independent runs: Zhat, and Zhat times the estimated probability
#' of k changes, are unbiased. The smallest of the t-test's p-values, times
#' their number; probabilities below .05 are left out.
runs_p <- function(runs, exact) {
  z <- exp(vapply(runs, `[[`, 0, "log_evidence") - exact$log_evidence)
  k <- which(exact$changes > 0.05) - 1
  share <- vapply(runs, function(run) {
    vapply(k, function(k) sum(run$weights[run$changes == k]), 0)
  }, numeric(length(k)))
  difference <- cbind(z - 1, t(share) * z - rep(
    exact$changes[k + 1], each = length(z)
  ))
  t <- colMeans(difference) / apply(difference, 2, stats::sd) *
    sqrt(length(z))
  min(1, 2 * stats::pt(-abs(t), length(z) - 1) * length(t))
}

test_that("change points of the coal data have their exact posterior", {
  # Null: as in test-tdsmc.R, means over runs are about t-distributed around the
  # exact values. Among 20000 bootstrap samples of 60 out of 1500 runs the least
  # p-value was 6e-6, so that a right sampler fails with probability below 1e-4
  # (the mean of those 1500 Zhat was 1.005 Z, standard error .005).
  counts <- coal_counts()
  cpp <- compiled()
  exact <- exact_changes_of(counts)
  runs <- lapply(1:60, function(seed) cpp$count_changes(counts, 400, seed))
  expect_gt(runs_p(runs, exact), 1e-6)
  # Over the 1500, log Zhat has sd .187 and its standard error a mean of .132
  # (too low because families were founded anew); the log ratio has an sd of .1
  # with 60: the limit is more than four of these away.
  spread <- stats::sd(vapply(runs, `[[`, 0, "log_evidence"))
  se <- mean(vapply(runs, `[[`, 0, "mc_se"))
  expect_lt(abs(log(se / spread)), log(2.2))
  # Broken: half of the reverse choice is forgotten, or draws do not come from
  # their stated density (p-values of 1e-37 and less).
  for (fault in c("forgotten", "draws")) {
    runs <- lapply(1:30, function(seed) {
      cpp$count_wrongly(counts, 400, seed, fault)
    })
    expect_lt(runs_p(runs, exact), 1e-6)
  }
})

test_that("the weights of the example are exact, by enumeration", {
  cpp <- compiled()
  found <- cpp$check_change_points(c(2, 1, 0, 6, 5), 200)
  expect_true(all(found$ok))
  expect_setequal(found$move, c("(model)", "(all moves)", "stay", "change"))
  expect_setequal(found$check, c(
    "initial", "log_forward", "log_reverse", "support", "propose", "weight",
    "identity", "reverse_probability"
  ))
  expect_lt(max(found$error[found$check == "identity"]), 1e-12)
})

test_that("broken moves are found, and named", {
  cpp <- compiled()
  faults <- function(fault) {
    found <- cpp$check_wrong_moves(c(2, 1, 0, 6, 5), 1000, fault)
    found <- found[!found$ok, ]
    unique(paste(found$move, found$check))
  }
  expect_identical(faults("none"), character())
  both <- c("(all moves) identity", "(all moves) reverse_probability")
  expect_setequal(faults("forgotten"), both)
  # A uniform death goes to sets that never existed.
  expect_setequal(
    faults("uniform_death"),
    c("change log_reverse", "change weight", "(all moves) identity")
  )
  expect_setequal(faults("draws"), "stay propose")
  # The identity is only about densities, whether or not these are drawn from.
  expect_setequal(
    faults("density"), c("change log_forward", "change propose")
  )
  expect_setequal(
    faults("log_weight"), c("change weight", "(all moves) identity")
  )
  expect_setequal(
    faults("increment"),
    c(
      "stay log_increment", "stay weight", "change log_increment",
      "change weight", "(all moves) identity"
    )
  )
  expect_error(faults("probability"), "sum to 1.1.*step 2")
})

test_that("moves of continuous states are checked by simulation", {
  # Null: the mean of differences is 0, about normal; a fault is a p-value below
  # 1e-6 for all comparisons of a step. Over 200 seeds with 1000 particles no
  # right problem was called wrong.
  cpp <- compiled()
  data <- c(0.8, -0.2, 1.4)
  faults <- function(fault, seed = 1) {
    found <- cpp$simulate_levels(data, 20000, seed, fault)
    expect_setequal(
      found$check, c("reverse_probability", "balance", "rejuvenate")
    )
    found <- found[!found$ok, ]
    unique(paste(found$move, found$check))
  }
  for (seed in 1:5) expect_identical(faults("none", seed), character())
  expect_true("(all moves) reverse_probability" %in% faults("forgotten"))
  expect_true("keep / new balance" %in% faults("density"))
  expect_identical(faults("rejuvenate"), "(model) rejuvenate")
  # A datum that leaves few particles ends the test.
  expect_identical(
    max(cpp$simulate_levels(c(0, 30, 0), 1000, 1, "none")$t), 1L
  )
})

test_that("moves make reversible jumps", {
  # The checks by simulation as above; and Zhat and Zhat P(a level) are
  # unbiased, as in test-tdsmc.R. Seen to fail if a way back has no probability.
  cpp <- compiled()
  data <- c(0.8, -0.2, 1.4, 0.9)
  ok <- function(fault) {
    found <- cpp$simulate_jumps(data[1:3], 20000, 1, fault)
    expect_true("rejuvenate" %in% found$check)
    all(found$ok[found$check == "rejuvenate"])
  }
  expect_true(ok("none"))
  expect_false(ok("density"))
  n <- length(data)
  log_z <- log(0.5) + c(
    sum(stats::dnorm(data, log = TRUE)),
    sum(stats::dnorm(data, log = TRUE)) - log(n + 1) / 2 +
      sum(data)^2 / (n + 1) / 2
  )
  runs <- vapply(1:100, function(seed) {
    unlist(cpp$run_jumps(data, 100, seed))
  }, numeric(2))
  z <- exp(runs[1, ] - log_sum_exp(log_z))
  some <- exp(log_z[[2]] - log_sum_exp(log_z))
  expect_gt(stats::t.test(z, mu = 1)$p.value, 1e-6)
  expect_gt(stats::t.test(z * runs[2, ], mu = some)$p.value, 1e-6)
  expect_error(cpp$pair_wrongly(), "undone_by")
})

test_that("the standard error is missing where it is unknown", {
  # As in R: one particle has none; equal weights have none to estimate.
  cpp <- compiled()
  counts <- c(4, 5, 0, 1, 0)
  expect_true(is.na(cpp$run_small(counts, 1)$mc_se))
  expect_gt(cpp$run_small(counts, 200)$mc_se, 0)
  expect_identical(cpp$run_small(4, 7)$mc_se, 0)
  target <- td_target(
    function(states, t, data) numeric(length(states)),
    function(n, data) numeric(n)
  )
  se <- vapply(2:12, function(n) {
    evidence(tdsmc(target, steps = 1, control = smc_control(n), seed = 1))$mc_se
  }, 0)
  expect_identical(se, numeric(11))
})

test_that("the result depends neither on chunks nor on stops", {
  cpp <- compiled()
  counts <- c(4, 5, 0, 1, 0, 3, 2, 7)
  all <- cpp$run_in_parts(counts, 50, 0, 1)
  expect_identical(cpp$run_in_parts(counts, 50, 0, 2), all)
  for (cut in c(1, 5)) {
    expect_identical(cpp$run_in_parts(counts, 50, cut, 1), all)
    expect_identical(cpp$run_in_parts(counts, 50, cut, 2), all)
  }
})

test_that("densities may be given in other ways", {
  cpp <- compiled()
  counts <- c(4, 5, 0, 1, 0, 3, 2, 7)
  one <- cpp$run_in_parts(counts, 50, 8, 1)
  for (way in c("increment", "log_weight", "silent")) {
    other <- cpp$run_another_way(counts, 50, way)
    expect_identical(other$changes, one$changes)
    expect_equal(other$log_evidence, one$log_evidence, tolerance = 1e-12)
  }
})

test_that("each step is recorded", {
  cpp <- compiled()
  counts <- c(4, 5, 0, 1, 0, 3, 2, 7)
  run <- cpp$run_in_parts(counts, 50, 8, 1)
  chosen <- matrix(run$chosen, 2)
  expect_equal(colSums(chosen), rep(50, 8))
  expect_identical(chosen[, 1], c(0L, 50L))
  expect_equal(colSums(matrix(run$share, 2)), rep(1, 8))
  # add_datum() was called at each step, after_step() had particles and weights.
  expect_identical(run$added, 1:8)
  expect_equal(run$mean_changes, sum(run$weights * run$changes))
  before <- cpp$run_in_parts(counts, 50, 7, 1)
  expect_equal(before$recorded, run$mean_changes)
})

test_that("particles of weight zero do no harm, and none alive is an error", {
  cpp <- compiled()
  # Years 2 to 4 cannot begin a rate, but this shows only at step 4.
  counts <- c(2, 1, 0, 6, 5)
  run <- cpp$run_with_zeros(counts, 2000, 4, 1)
  expect_equal(sum(run$weights), 1)
  expect_true(all(run$states[run$weights > 0] %in% list(1L, c(1L, 5L))))
  exact <- cpp$log_gamma(list(1L, c(1L, 5L)), counts)
  # Null: Zhat is about normal around Z, and log Zhat has sd .009 over 200
  # seeds.
  expect_lt(abs(run$log_evidence - log_sum_exp(exact)), 0.05)
  expect_error(cpp$run_with_zeros(counts, 20, 0, 1), "step 1")
})

test_that("invalid values from users' functions are named", {
  cpp <- compiled()
  wrong <- function(what) cpp$run_with_fault(c(1, 2, 3), what)
  expect_error(wrong("log_density"), "log_density.*nan.*step 2")
  expect_error(wrong("log_forward"), "log_forward.*not finite.*step 2")
  expect_error(wrong("log_reverse"), "log_reverse.*nan.*step 2")
  expect_error(wrong("probability"), "probability.*-1.*step 2")
  expect_error(wrong("reverse_probability"), "reverse_probability.*2.*step 2")
})

test_that("an incomplete model or move is refused in words", {
  skip_without_compiler()
  command <- compiler()
  messages <- suppressWarnings(system2(
    command[[1]],
    c(command[-1], "-fsyntax-only", paste0("-I", shQuote(c(
      system.file("include", package = "kernelbayes"),
      system.file("include", package = "BH")
    ))), "transdim-refused.cpp"),
    stdout = TRUE, stderr = TRUE
  ))
  messages <- paste(messages, collapse = "\n")
  for (said in c(
    "a model needs:  State initial", "a model needs log_density",
    "must be:  void rejuvenate", "a move needs:  void propose",
    "a move needs:  double log_forward", "a move needs log_reverse",
    "must be:  double probability", "each needs probability",
    "each needs reverse_probability", "at least one move"
  )) {
    expect_match(messages, said, fixed = TRUE)
  }
})
