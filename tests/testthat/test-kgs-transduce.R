# transduce(): joint labels of new points.
#
# Seen to fail, one mutant at a time: the complement of the training points
# drawn for each point separately, or not at all; a length of 1; the nugget left
# out, or shared; several functions with the same complement; the class with the
# smallest f; unknown f treated as known under a nugget; a rare labelling that
# is central.

moons <- sim_moons(30, flips = 0.1, seed = 3)
new_moons <- sim_moons(25, seed = 4)
three_moons <- moons
three_moons$y <- cut(moons$x1 + moons$x2, c(-Inf, 0, 2, Inf), c("a", "b", "c"))

fit_moons <- function(..., data = moons, iter = 500, noise = noise_beta(),
                      nugget = 0) {
  suppressWarnings(kgs(y ~ x1 + x2, data,
    kernel = kernel_gaussian(0.7), noise = noise, nugget = nugget,
    scale = FALSE, seed = 1, progress = FALSE,
    control = mcmc_control(chains = 2, warmup = 200, iter = iter), ...
  ))
}

# Against the prior ------------------------------------------------------------

#' Joint labels by importance sampling: f of training and new points from its
#' prior, weighted by the likelihood of labels with a known noise
prior_labels <- function(x, y, new, nugget, noise, functions, draws = 1e5) {
  all <- rbind(x, new)
  gram <- exp(-as.matrix(stats::dist(all))^2 / (2 * 0.7^2)) + 1
  root <- t(chol(gram + diag(max(nugget, 1e-10), nrow(all))))
  withr::with_seed(7, {
    f <- array(
      root %*% matrix(stats::rnorm(nrow(all) * draws * functions), nrow(all)),
      c(nrow(all), draws, functions)
    )
  })
  label <- largest_function(f)
  errors <- colSums(label[seq_along(y), ] != y)
  classes <- max(functions, 2)
  list(
    labels = t(label[-seq_along(y), ]),
    weights = (noise / (classes - 1))^errors * (1 - noise)^(length(y) - errors)
  )
}

#' Does the share of draws for which `what` is true agree with the prior's?
joint_z <- function(out, prior, what) {
  drawn <- what(out$labels)
  wanted <- what(prior$labels)
  w <- prior$weights / sum(prior$weights)
  share <- sum(w * wanted)
  # Draws of one chain, in order, as posterior's standard error requires.
  error <- posterior::mcse_mean(matrix(as.double(drawn), ncol = 2))
  (mean(drawn) - share) / sqrt(error^2 + sum(w^2 * (wanted - share)^2))
}

test_that("joint labels have the probabilities of the model", {
  # Null: means of a run and of importance sampling agree; normal z, 1e-4 over
  # all settings and events (Bonferroni).
  x <- cbind(x1 = c(0, 0.6, 1.5), x2 = c(0, 0.4, -1))
  new <- cbind(x1 = c(0.3, 2.6, 2.8, 2.8), x2 = c(0.2, 1, 1, 1))
  events <- list(
    function(y) y[, 2] == y[, 3], function(y) y[, 3] == y[, 4],
    function(y) y[, 1] == 2 & y[, 2] == 2, function(y) y[, 1] == 1 & y[, 3] == 1
  )
  settings <- list(
    list(nugget = 0, classes = 2), list(nugget = 0.5, classes = 2, method = "block"),
    list(nugget = 0.5, classes = 2, method = "hmc"),
    list(nugget = 0, classes = 3),
    list(nugget = 0.5, classes = 3, method = "hmc")
  )
  limit <- stats::qnorm(1e-4 / (4 * length(settings)) / 2, lower.tail = FALSE)
  for (one in settings) {
    y <- if (one$classes == 2) c(1, 1, 2) else 1:3
    fit <- suppressWarnings(kgs(x, factor(y),
      kernel = kernel_gaussian(0.7), noise = 0.2, nugget = one$nugget,
      method = if (is.null(one$method)) "auto" else one$method, scale = FALSE,
      control = mcmc_control(chains = 2, warmup = 200, iter = 10000), seed = 2,
      progress = FALSE
    ))
    out <- transduce(fit, new)
    functions <- if (one$classes == 2) 1 else 3
    prior <- prior_labels(x, y, new, one$nugget, 0.2, functions)
    z <- vapply(events, function(what) {
      # Equal points without a nugget always agree.
      if (all(what(out$labels))) {
        expect_identical(one$nugget, 0)
        return(0)
      }
      joint_z(out, prior, what)
    }, 0)
    expect_lt(max(abs(z)), limit, label = paste(one, collapse = " "))
  }
})

test_that("marginals agree with predict()", {
  # Null: given the posterior draws, votes are Bernoulli numbers whose mean is
  # predict()'s (with three classes at most twice their variance); normal z,
  # 1e-4 over all settings and points (Bonferroni).
  limit <- stats::qnorm(1e-4 / (3 * 25 * 3) / 2, lower.tail = FALSE)
  for (fit in list(
    fit_moons(), fit_moons(nugget = 0.3, method = "block"),
    fit_moons(data = three_moons)
  )) {
    out <- transduce(fit, new_moons)
    p <- predict(fit, new_moons, type = "true_prob")
    variance <- p * (1 - p) * (if (ncol(p) == 3) 2 else 1) / nrow(out$labels)
    z <- (out$probability - p) / sqrt(variance)
    expect_lt(max(abs(z[variance > 0])), limit)
    expect_identical(dimnames(out$probability), dimnames(p))
  }
})

test_that("the complement of the training points has predict()'s variance", {
  x <- as.matrix(new_moons[c("x1", "x2")])
  for (fit in list(
    fit_moons(iter = 50), fit_moons(iter = 50, nugget = 0.3, method = "block"),
    fit_moons(iter = 50, nugget = 0.3, method = "hmc")
  )) {
    features <- kgs_features(fit, x)
    variance <- complement_variance(fit, x, features) - fit$settings$nugget
    root <- complement_root(fit, x, features)
    expect_equal(rowSums(root^2), variance, tolerance = 1e-6)
  }
})

test_that("training points keep their draws", {
  fit <- fit_moons()
  out <- transduce(fit, moons)
  expect_equal(out$probability, predict(fit, moons, type = "vote"))
  # Far from all of them only the bias is known: points agree.
  far <- transduce(fit, data.frame(x1 = c(30, 30, 60), x2 = 0))
  expect_true(all(far$labels[, 1] == far$labels[, 2]))
  expect_lt(mean(far$labels[, 1] == far$labels[, 3]), 0.95)
})

# Results from the draws -------------------------------------------------------

test_that("the central labelling is found by counting and by distances", {
  votes <- cbind(c(1, 1, 2), c(1, 2, 2), c(2, 2, 2), c(1, 2, 1), c(1, 2, 1))
  out <- new_transduction(votes, rep(TRUE, 3), c("a", "b"))
  expect_identical(as.character(out$most_probable), c("a", "b", "a"))
  expect_identical(out$frequency, 0.4)
  expect_identical(as.character(out$class), c("a", "b", "b"))
  expect_equal(out$probability[, "a"], c(4, 1, 2) / 5)
  # All different: the smallest sum of distances.
  votes <- withr::with_seed(1, matrix(sample(3, 20 * 40, TRUE), 20))
  out <- new_transduction(votes, rep(TRUE, 20), c("a", "b", "c"))
  distance <- vapply(1:40, function(s) sum(votes != votes[, s]), 0L)
  expect_identical(out$frequency, 1 / 40)
  best <- votes[, which.min(distance)]
  expect_identical(as.integer(out$most_probable), best)
})

test_that("the result has the documented shapes", {
  fit <- fit_moons(iter = 50)
  out <- transduce(fit, new_moons)
  expect_s3_class(out, "kb_transduction")
  expect_identical(dim(out$labels), c(100L, 25L))
  expect_type(out$labels, "integer")
  expect_identical(dim(out$probability), c(25L, 2L))
  expect_identical(levels(out$class), c("0", "1"))
  expect_identical(transduce(fit, new_moons), out)
  few <- transduce(fit, new_moons[1, ], ndraws = 7)
  expect_identical(dim(few$labels), c(7L, 1L))
  holes <- new_moons
  holes$x2[c(1, 9)] <- NA
  part <- transduce(fit, holes)
  expect_true(all(is.na(part$labels[, c(1, 9)])))
  expect_identical(which(is.na(part$class)), c(1L, 9L))
  expect_identical(which(is.na(part$most_probable)), c(1L, 9L))
  holes$x1 <- NA_real_
  expect_no_warning(none <- transduce(fit, holes))
  expect_identical(dim(none$labels), c(100L, 25L))
  expect_true(all(is.na(none$labels)))
  expect_output(print(none), "25 points")
  noisy <- fit_moons(data = three_moons, iter = 50, nugget = "learn")
  expect_no_warning(none <- transduce(noisy, holes))
  expect_true(all(is.na(none$labels)))
})

test_that("the generator of the session is left alone", {
  keep_random_state()
  fit <- fit_moons(iter = 50, data = three_moons)
  set.seed(3)
  before <- .Random.seed
  transduce(fit, new_moons)
  expect_identical(.Random.seed, before)
})

test_that("it prints its certainty", {
  fit <- fit_moons(iter = 50)
  shown <- capture.output(print(transduce(fit, new_moons)))
  expect_match(shown[[1]], "25 points, 100 draws", fixed = TRUE)
  expect_match(shown[[2]], "0 (", fixed = TRUE)
  expect_true(any(grepl("labellings:", shown)))
})

test_that("input that it cannot label is refused", {
  fit <- fit_moons(iter = 50)
  expect_error(transduce(fit), class = "kb_error_argument")
  expect_error(transduce(fit, new_moons["x1"]), class = "kb_error_columns")
  expect_error(transduce(fit, new_moons, ndraws = 0),
    class = "kb_error_argument"
  )
  expect_error(transduce(fit, new_moons, size = 1),
    class = "kb_error_unknown_argument"
  )
  expect_error(transduce(1, new_moons), class = "kb_error_not_defined")
})
