# check_moves() on the problems of helper-tdsmc.R: it passes right ones and
# names the errors of broken ones. Its help states the null of its simulations;
# their seeds are fixed here.

wrong_checks <- function(result, move) {
  table <- result$table
  unique(table$check[!table$ok & table$move == move])
}

test_that("right problems pass", {
  for (p in list(
    centre_problem(), centre_problem("formula"),
    centre_problem(rows = 5, kmax = 2), centre_problem(move_fraction = 0.5),
    adapted_problem(), change_problem(), change_problem(rejuvenate = NULL)
  )) {
    result <- check_problem(p)
    expect_true(result$ok)
    expect_identical(result$wrong, character())
    expect_identical(NROW(result$worst), 0L)
    exact <- result$table[is.na(result$table$p_value), ]
    expect_lt(max(exact$discrepancy), 1e-10)
    expect_output(print(result), "exact")
  }
})

test_that("the papers' printed weights are caught", {
  result <- check_problem(centre_problem("printed"))
  expect_false(result$ok)
  expect_setequal(result$wrong, c("zero", "birth", "death", "(all moves)"))
  expect_setequal(
    unique(result$table$check[!result$table$ok]),
    c("support", "weight", "identity")
  )
  # With forced births the set cannot stay empty.
  expect_identical(wrong_checks(result, "zero"), c("support", "weight"))
  # Moves without a reverse choice are tested as far as possible.
  p <- centre_problem("printed")
  for (name in names(p$moves)) {
    p$moves[[name]][c("log_reverse", "reverse_probability")] <- list(NULL)
  }
  result <- check_problem(p)
  expect_identical(result$wrong, "(all moves)")
  expect_identical(wrong_checks(result, "(all moves)"), "identity")
})

test_that("the printed weights are off by as much as the oracle says", {
  p <- centre_problem("printed")
  result <- check_problem(p, steps = 4, n = 0)
  ancestors <- p$states(3)
  sums <- vapply(p$states(4), function(S) {
    total <- 0
    for (old in ancestors) {
      next_states <- oracle_transition_paper(old, 4, p$model)
      hit <- vapply(next_states$set, setequal, TRUE, S)
      total <- total + sum(exp(
        oracle_log_gamma(old, 3, p$model) + next_states$log_prob[hit] +
          next_states$log_weight[hit]
      ))
    }
    total / exp(oracle_log_gamma(S, 4, p$model))
  }, 0)
  line <- result$table[result$table$check == "identity", ]
  expect_equal(line$discrepancy, max(abs(sums - 1)))
  expect_equal(
    result$worst$is[result$worst$check == "identity"][[1]],
    sums[[which.max(abs(sums - 1))]]
  )
})

test_that("a uniform death as the reverse of every birth is caught", {
  result <- check_problem(centre_problem("uniform_death"))
  expect_setequal(result$wrong, c("birth", "(all moves)"))
  expect_setequal(wrong_checks(result, "birth"), c("log_reverse", "weight"))
  expect_output(print(result), "birth: the reverse density sums to 0.333, not")
})

test_that("a forgotten c_{t-1}/c_t is caught, in all moves", {
  result <- check_problem(centre_problem("no_c"))
  expect_setequal(result$wrong, c("zero", "birth", "death", "(all moves)"))
  # At kmax = 3 all c differ up to step 3, and are equal from then on.
  fault <- result$table[!result$table$ok & result$table$check == "identity", ]
  expect_identical(fault$t, 1:3)
})

test_that("a weight that forgets the choice of the move is caught", {
  result <- check_problem(centre_problem("choice"))
  expect_setequal(result$wrong, c("death", "(all moves)"))
  expect_identical(wrong_checks(result, "death"), "weight")
})

test_that("wrong probabilities are caught", {
  result <- check_problem(centre_problem("alpha"))
  expect_true("probability" %in% wrong_checks(result, "(all moves)"))
  result <- check_problem(centre_problem("zero"))
  expect_true("zero" %in% result$wrong)
  expect_true("reverse_probability" %in% wrong_checks(result, "(all moves)"))
})

test_that("a proposal that does not draw what it states is caught", {
  result <- check_problem(centre_problem("propose"), n = 1000)
  expect_identical(result$wrong, "birth")
  expect_identical(wrong_checks(result, "birth"), "propose")
  expect_true(check_problem(centre_problem("propose"), n = 0)$ok)
  # A draw of probability zero, and a draw that is not a state.
  p <- change_problem()
  p$moves$change$propose <- p$moves$stay$propose
  expect_identical(check_problem(p, n = 1)$wrong, "change")
  p$moves$change$propose <- function(states, t, data) {
    cbind(states, rep(2, nrow(states)))
  }
  result <- check_problem(p, n = 1)
  expect_identical(result$wrong, "change")
  expect_true("1, 0 -> no state" %in% result$worst$state)
})

test_that("faults of the target are caught", {
  p <- change_problem(rejuvenate = change_flip(always = TRUE))
  result <- check_problem(p)
  expect_identical(result$wrong, "(target)")
  expect_identical(wrong_checks(result, "(target)"), "rejuvenate")
  p <- change_problem()
  p$target$log_density <- function(states, t, data) {
    change_log_density(states, t, data) + log(2) * (t == 0)
  }
  expect_identical(wrong_checks(check_problem(p), "(target)"), "initial")
})

test_that("unreachable states are caught", {
  p <- change_problem()
  p$moves$change$probability <- 0
  p$moves$stay$probability <- 1
  result <- check_problem(p)
  expect_true("support" %in% wrong_checks(result, "change"))
  p <- change_problem()
  p$moves$stay$log_forward <- function(new, old, t, data) {
    numeric(nrow(new))
  }
  expect_identical(
    wrong_checks(check_problem(p), "stay"), c("log_forward", "propose")
  )
})

test_that("weights with other shares are right if their sum is", {
  # Both moves do the same here, so their shares are free.
  target <- td_target(
    function(states, t, data) stats::dbinom(states, 1, 0.3, log = TRUE),
    function(n, data) stats::rbinom(n, 1, 0.3)
  )
  any <- function(weight) {
    td_move(
      function(states, t, data) stats::rbinom(length(states), 1, 0.5),
      function(new, old, t, data) rep(log(0.5), length(new)),
      function(old, new, t, data) stats::dbinom(old, 1, 0.3, log = TRUE),
      probability = 0.5, reverse_probability = 0.5,
      log_weight = function(new, old, t, data) {
        stats::dbinom(new, 1, 0.3, log = TRUE) + log(2 * weight)
      }
    )
  }
  check <- function(a, b) {
    check_moves(target, list(a = any(a), b = any(b)),
      states = function(t) 0:1, steps = 1, n = 100, seed = 1
    )
  }
  expect_true(check(1, 1)$ok)
  expect_true(check(0.5, 1.5)$ok)
  expect_false(check(0.5, 1)$ok)
})

test_that("false alarms of the simulations are as rare as stated", {
  # Null: at level .2 at most 20% of 100 checks of a right problem alarm; the
  # number is below the binomial's 1 - 1e-4 quantile. Without the correction for
  # multiple tests more than 90% alarm.
  p <- centre_problem()
  results <- lapply(1:100, function(seed) {
    check_problem(p, steps = 3, n = 50, level = 0.2, seed = seed)
  })
  alarms <- sum(!vapply(results, `[[`, TRUE, "ok"))
  expect_lte(alarms, stats::qbinom(1 - 1e-4, 100, 0.2))
  expect_gt(alarms, 0)
})

test_that("the seed decides, and R's generator is left alone", {
  withr::local_preserve_seed()
  set.seed(2)
  before <- .Random.seed
  p <- change_problem()
  one <- check_problem(p, steps = 2)
  expect_identical(.Random.seed, before)
  expect_identical(check_problem(p, steps = 2), one)
  expect_identical(one$steps, 2L)
})

test_that("bad arguments are refused", {
  p <- change_problem()
  refused <- function(...) {
    expect_error(check_problem(p, ...), class = "kb_error_argument")
  }
  refused(steps = 0)
  refused(steps = "a")
  refused(level = 2)
  refused(n = -1)
  refused(key = "a")
  refused(key = function(states) rep("a", nrow(states)))
  expect_error(check_problem(p, key = function(states) 1),
    class = "kb_error_user_function"
  )
  expect_error(check_moves(p$target, p$moves, p$data, states = 1),
    class = "kb_error_argument"
  )
  expect_error(
    check_moves(p$target, p$moves, p$data, states = function(t) stop("no")),
    "states", class = "kb_error_user_function"
  )
  expect_error(
    check_moves(p$target, p$moves, p$data, states = function(t) list()),
    class = "kb_error_argument"
  )
})

test_that("states of every shape have keys", {
  expect_identical(particle_keys(c(a = 1, b = 2)), c("1", "2"))
  expect_identical(
    particle_keys(list(1:2, c(1, 2), list(c(1, 2), 3), list(1, c(2, 3)))),
    c("{1, 2}", "{1, 2}", "{{1, 2}, {3}}", "{{1}, {2, 3}}")
  )
  expect_identical(particle_keys(list(integer(), 0.1 + 0.2)), c("{}", "{0.3}"))
  expect_identical(particle_keys(diag(2)), c("1, 0", "0, 1"))
  expect_identical(particle_keys(matrix(0, 2, 0)), c("", ""))
  expect_identical(
    particle_keys(data.frame(a = 1:2, b = c("x", "y"))), c("1, x", "2, y")
  )
})
