# The arguments on their way from a method to its engine.

test_that("expressions as arguments are refused, not evaluated", {
  data <- sim_sinc(20, seed = 1)
  moons <- sim_moons(20, seed = 1)
  bad <- quote(not_there + 1)
  calls <- list(
    srvm = function(...) srvm(y ~ x, data, ...),
    bark = function(...) bark(y ~ x, data, ...),
    kgs = function(...) kgs(y ~ x1 + x2, moons, ...),
    kbr = function(...) kbr(x ~ y, data, ...)
  )
  for (name in names(calls)) {
    for (argument in c("scale", "seed", "na.action")) {
      given <- stats::setNames(list(bad), argument)
      expect_error(do.call(calls[[name]], given, quote = TRUE), argument,
        class = "kb_error_argument", info = paste(name, argument)
      )
    }
  }
  expect_error(srvm(y ~ x, data, kernel = bad), class = "kb_error")
  expect_error(bark(y ~ x, data, prior = bad), class = "kb_error_argument")
  expect_error(kgs(y ~ ., moons, noise = bad), class = "kb_error")
})
