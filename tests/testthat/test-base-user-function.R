# Functions of the user's: one guard for all of them.

two <- function(n) cbind(m = stats::rnorm(n), s = stats::rexp(n))
points <- matrix(c(0.1, 0.5, 0.9))
embedded <- kbr(points[rep(1:3, 10), , drop = FALSE], rep(1:3, 10) / 2)
walk <- function(...) {
  parts <- utils::modifyList(list(
    log_density = function(states, t, data) stats::dnorm(states, log = TRUE),
    initial = function(n, data) stats::rnorm(n)
  ), list(...))
  function() {
    tdsmc(td_target(parts$log_density, parts$initial),
      data = 1:8, seed = 1, control = smc_control(20)
    )
  }
}
simulate <- function(simulator, prior = two, ...) {
  function() kbr_simulate(prior, simulator, n = 60, seed = 1, ...)
}
check <- function(simulator) {
  function() {
    posterior_predictive_check(embedded, 1, simulator, ndraws = 20, seed = 1)
  }
}
kernel <- function(f) function() kernel_matrix(kernel_custom(f), points)
chunks <- function(read) function() kbr(kbr_chunks(read, 2), rank = 2, seed = 1)

test_that("errors and values that do not fit show how to write the function", {
  # The call, the name in the message, and a part of the call that works
  cases <- list(
    list(simulate(function(p) stats::rnorm(p, p["m"])), "simulator", "apply"),
    list(simulate(function(p) stats::rnorm(10, p[1], p[2])), "simulator",
      "apply"
    ),
    list(simulate(function(p) stop("no")), "simulator", "apply"),
    list(simulate(function(p) letters, batches = 3), "simulator", "apply"),
    list(simulate(function(p) p, function() 1), "prior_sampler",
      "function\\(n\\)"
    ),
    list(simulate(function(p) p, function(n) NULL), "prior_sampler",
      "function\\(n\\)"
    ),
    list(check(function(x) stop("no")), "simulator", "apply"),
    list(check(function(x) x[1:3]), "simulator", "apply"),
    list(check(function(x) x / 0), "simulator", "apply"),
    list(kernel(function(x) x), "kernel_custom\\(\\)", "tcrossprod"),
    list(kernel(function(x, z) 1), "kernel_custom\\(\\)", "tcrossprod"),
    list(kernel(function(x, z) NA * x %*% t(z)), "kernel_custom\\(\\)",
      "tcrossprod"
    ),
    list(function() predict(embedded, 1, "expectation", f = function(x, y) y),
      "f", "x\\[, 1\\]"
    ),
    list(function() predict(embedded, 1, "expectation", f = function(x) 1:7),
      "f", "x\\[, 1\\]"
    ),
    list(chunks(function(i) stop("no")), "read", "function\\(i\\)"),
    list(walk(log_density = function(states, t) 1), "log_density\\(\\)",
      "function\\(states, t, data\\)"
    ),
    list(walk(log_density = function(states, t, data) "a"),
      "log_density\\(\\)", "function\\(states, t, data\\)"
    ),
    list(walk(initial = function(n) 1), "initial\\(\\)",
      "function\\(n, data\\)"
    ),
    list(function() predict(walk()(), function(x, y) y), "f", "states\\^2")
  )
  for (i in seq_along(cases)) {
    error <- expect_error(cases[[i]][[1]](),
      class = "kb_error_user_function", info = i
    )
    message <- gsub("\\s+", " ", conditionMessage(error))
    expect_match(message, paste0("`", cases[[i]][[2]], "`"), info = i)
    expect_match(message, "It is called", info = i)
    expect_match(message, paste0("For example `.*", cases[[i]][[3]]), info = i)
  }
})

test_that("warnings of users' functions are told once, with their number", {
  odd <- function(f) {
    function(x, ...) {
      warning("an odd thing")
      f(x, ...)
    }
  }
  calls <- list(
    list(simulate(odd(identity), batches = 6), 6),
    list(simulate(odd(identity)), 1),
    list(check(odd(identity)), 1),
    list(kernel(odd(function(x, z) x %*% t(z))), 1),
    # Before the first step, and at each
    list(walk(log_density = odd(function(x, t, data) 0 * x)), 9)
  )
  for (call in calls) {
    told <- testthat::capture_warnings(call[[1]]())
    expect_length(told, 1)
    expect_match(told, paste0("gave ", call[[2]], " warning"))
    expect_match(told, "an odd thing")
  }
  expect_warning(check(odd(identity))(), class = "kb_warning_user_function")
})

test_that("interrupts of users' functions pass", {
  skip_on_os("windows")
  cut <- function(...) {
    tools::pskill(Sys.getpid(), tools::SIGINT)
    Sys.sleep(5)
  }
  expect_identical(
    tryCatch(kernel(cut)(), interrupt = function(condition) "interrupt"),
    "interrupt"
  )
  expect_error(simulate(cut)(), class = "kb_error_interrupted")
})

test_that("simulators see whole numbers where the prior has them", {
  withr::local_seed(1)
  k <- stats::rpois(300, 5)
  y <- stats::rbinom(300, k, 0.5)
  fit <- kbr(cbind(k = k, m = k / 3), cbind(y = y + 0), method = "adjusted")
  seen <- NULL
  count <- function(x) {
    seen <<- x
    cbind(y = stats::rbinom(nrow(x), x[, "k"], 0.5))
  }
  expect_silent(posterior_predictive_check(fit, c(y = 3), count, seed = 1))
  expect_true(all(seen[, "k"] %in% k))
  expect_false(all(seen[, "m"] %in% (k / 3)))
  expect_identical(
    like_whole(matrix(c(-4, 0.4, 3, 9)), matrix(c(0, 1, 5))),
    matrix(c(0, 0, 5, 5))
  )
})
