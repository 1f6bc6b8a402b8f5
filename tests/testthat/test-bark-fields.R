# bark() with a field for each class: probabilities by quadrature, moves by
# one-step invariance and exact rejection, chains and evidence of tiny problems
# against importance sampling from the prior.
#
# Seen to fail, one mutant at a time:
# - responses: z_ik left in its own mean, variance 1, q not updated, the largest
#   response above the last of the others only, a row's shift of variance 1 / C;
# - scale: n degrees of freedom, the prior left out of Q; shift: the prior left
#   out, the mean without data, half of its deviation;
# - magnitude: alpha left out of the power, the exponent's factor g for g^2,
#   responses not redrawn, another row's noise, varphi not scaled;
# - exchange: always accepted, half of its ratio, the amplitude not handed over,
#   the first field left out; the likelihood kept at the mean of the
#   coefficients.

fields_setting <- function(type = "select_different", ...) {
  probit_setting(type, ...)
}

fields_x <- matrix(c(0.3, -1.7, 2.1, -0.4, 1.2, 0.8, -0.6, 0.1, 1.4, -1.1), 5)

#' An engine of run_engine() without a fit around it
fields_engine <- function(x, y, prior = fields_setting(), warmup = 20,
                          iter = 40, n_temps = 1, seed = 1, thin = 1,
                          classes = 3, sweep = "full", prior_only = FALSE) {
  structure(
    list(
      config = list(
        prior = prior, seed = seed, prior_only = prior_only,
        family = "probit", fields = classes, warmup = warmup,
        iter = iter, thin = thin, n_temps = n_temps, sweep = sweep
      ),
      x = x, y = as.integer(y), weights = rep(1, length(y))
    ),
    class = c("kb_engine_bark", "kb_engine_chain", "kb_engine")
  )
}

run_fields <- function(engine, index = 1) {
  run_parts(engine, engine_total(engine), index)
}

# Probabilities ---------------------------------------------------------------

#' P(number k is the largest) by adaptive quadrature between the points where
#' the integrand bends
largest_by_integrate <- function(mean, sd, k) {
  f <- function(u) {
    out <- stats::dnorm(u, mean[k], sd[k])
    for (j in seq_along(mean)[-k]) {
      out <- out * stats::pnorm(u, mean[j], sd[j])
    }
    out
  }
  ends <- sort(unique(c(outer(sd, c(-9, -6, -3, -1, 0, 1, 3, 6, 9)) + mean)))
  ends <- ends[abs(ends - mean[k]) <= 9 * sd[k]]
  sum(vapply(seq_along(ends)[-1], function(i) {
    stats::integrate(f, ends[i - 1], ends[i],
      rel.tol = 1e-11, abs.tol = 1e-300, stop.on.error = FALSE
    )$value
  }, 0))
}

test_that("probabilities of the largest agree with quadrature", {
  cases <- withr::with_seed(1, lapply(1:60, function(i) {
    size <- sample(2:5, 1)
    spread <- c(1, 4, 40, 2000)[1 + i %% 4]
    list(
      mean = stats::rnorm(size, 0, spread * stats::runif(1)),
      sd = sqrt(1 + (spread * stats::runif(size))^2)
    )
  }))
  cases <- c(cases, list(
    list(mean = c(0, 0, 0), sd = c(1, 1, 1)),
    list(mean = c(0, 0, 0), sd = c(1000, 1, 1)),
    list(mean = c(300, 0, -300), sd = c(1000, 1, 1)),
    list(mean = c(-300, 0), sd = c(300, 1))
  ))
  for (case in cases) {
    size <- length(case$mean)
    mean <- lapply(case$mean, matrix, 1, 1)
    variance <- lapply(case$sd^2 - 1, matrix, 1, 1)
    exact <- vapply(seq_len(size), function(k) {
      largest_by_integrate(case$mean, case$sd, k)
    }, 0)
    label <- toString(unlist(case))
    p <- drop(bark_class_probability_cpp(mean, variance, TRUE))
    expect_lt(max(abs(p - exact)), 1e-6, label = label)
    expect_equal(sum(p), 1)
    log_p <- vapply(seq_len(size), function(k) {
      drop(bark_class_log_probability_cpp(mean, variance, k))
    }, 0)
    expect_lt(max(abs(exp(log_p) - exact)), 1e-7, label = label)
  }
})

test_that("two classes agree with the probit link, also far in the tails", {
  at <- cbind(
    mean = c(0, 1, -3, -40, -400, 5, -1e4), sd1 = c(1, 2, 1, 1, 7, 1e5, 1),
    sd2 = c(1, 1, 3, 2, 1, 1, 1e3)
  )
  exact <- stats::pnorm(
    at[, "mean"] / sqrt(at[, "sd1"]^2 + at[, "sd2"]^2),
    log.p = TRUE
  )
  log_p <- drop(bark_class_log_probability_cpp(
    list(matrix(at[, "mean"]), matrix(0, 7)),
    list(matrix(at[, "sd1"]^2 - 1), matrix(at[, "sd2"]^2 - 1)), rep(1, 7)
  ))
  expect_equal(log_p, exact, tolerance = 1e-8)
  # Indistinguishable classes, of any number, are equally probable.
  for (size in c(2, 3, 10, 50)) {
    p <- bark_class_probability_cpp(
      rep(list(matrix(3)), size), rep(list(matrix(0.5)), size), TRUE
    )
    expect_equal(drop(p), rep(1 / size, size))
  }
})

# Moves -----------------------------------------------------------------------

test_that("moves of several fields leave their joint law invariant", {
  # Null: 252 nearly standard normal scores per call, 24 calls: |z| > 6
  # somewhere has probability 1.2e-5.
  moves <- c(
    "latent", "latent_scale", "latent_shift", "magnitude", "magnitude_all",
    "sweep", "single", "geweke"
  )
  cases <- list(
    list("select_different", 1, 1), list("equal", 1.5, 0.2),
    list("different", 1, 0.6)
  )
  for (case in if (extended()) cases else cases[1:2]) {
    for (move in moves) {
      fast <- if (move %in% moves[1:5]) 5000 else 1500
      pairs <- if (extended()) 60000 else fast
      out <- bark_fields_invariance_cpp(
        fields_setting(case[[1]], case[[2]]), fields_x, 3, move,
        if (move == "geweke") 2 else 3, pairs, case[[3]], 7
      )
      expect_true(out$consistent)
      expect_gt(mean(out$before != out$after), 0.1)
      expect_lt(max(abs(paired_scores(out))), 6,
        label = paste(c(move, case), collapse = " ")
      )
    }
  }
})

test_that("exchanges of levels leave the law of both invariant", {
  # Null: 56 scores per case, nearly standard normal, 2 cases; |z| > 6.
  for (t in c(0.1, 0)) {
    out <- bark_fields_exchange_cpp(
      fields_setting("different"), fields_x[1:2, ], 2, t, 20000, 4
    )
    expect_gt(mean(out$before[1, ] != out$after[1, ]), 0.05)
    d <- rbind(out$after, out$after^2) - rbind(out$before, out$before^2)
    z <- rowMeans(d) / sqrt(rowMeans(d^2)) * sqrt(ncol(d))
    expect_lt(max(abs(z), na.rm = TRUE), 6, label = paste("score at", t))
  }
})

#' Draws of responses (rows x fields each) whose largest agree with the classes
#' y, by rejection
reject_responses <- function(cov, y, n) {
  out <- NULL
  roots <- lapply(cov, function(m) t(chol(m)))
  while (NCOL(out) < n || is.null(out)) {
    z <- lapply(roots, function(r) r %*% matrix(stats::rnorm(2 * n), 2))
    z <- do.call(rbind, z)
    rows <- lapply(1:2, function(i) t(z[c(i, i + 2, i + 4), ]))
    kept <- max.col(rows[[1]]) == y[[1]] & max.col(rows[[2]]) == y[[2]]
    out <- cbind(out, z[, kept, drop = FALSE])
  }
  out[, seq_len(n)]
}

test_that("latent responses have the moments of exact rejection", {
  # Two rows, of classes 1 and 3. 200 independent runs against 40000 draws by
  # rejection; null: nearly t scores with 199 degrees of freedom, |t| > 6.5 has
  # probability 6e-10 each; 5 cases of 27 scores.
  x <- matrix(c(0, 0.8), 2)
  y <- c(1, 3)
  location <- c(0, 2)
  k <- cbind(1, exp(-0.7 * (x[, 1] - x[2, 1])^2))
  small <- cbind(c(0.5, 2), c(1, 0.1), c(2, 0.3))
  cases <- list(
    list("latent", small), list(c("latent", "latent_shift"), small),
    list(c("latent", "latent_scale"), 0.05 * small),
    list(c("latent", "latent_scale", "latent_shift"), small / 20)
  )
  with_products <- function(z) {
    pair <- which(upper.tri(diag(6), diag = TRUE), arr.ind = TRUE)
    rbind(z, z[pair[, 1], ] * z[pair[, 2], ])
  }
  for (case in cases) {
    cov <- lapply(1:3, function(c) {
      diag(2) + k %*% (1 / case[[2]][, c] * t(k))
    })
    exact <- with_products(withr::with_seed(3, reject_responses(cov, y, 40000)))
    means <- vapply(1:200, function(seed) {
      z <- bark_fields_latent_cpp(
        fields_setting("different"), x, y, 3, location, case[[2]], log(0.7),
        case[[1]], 140, seed
      )[-(1:40)]
      rowMeans(with_products(vapply(z, as.vector, numeric(6))))
    }, numeric(27))
    error <- sqrt(
      apply(means, 1, stats::var) / 200 + apply(exact, 1, stats::var) / 40000
    )
    score <- (rowMeans(means) - rowMeans(exact)) / error
    expect_lt(max(abs(score)), 6.5, label = toString(case[[1]]))
  }
  # A field whose responses determine one another, drawn from N(0, 1e14).
  z <- bark_fields_latent_cpp(
    fields_setting("different"), matrix(0.4), 1, 2, 0, cbind(1e-14, 1), 0,
    c("latent", "latent_scale"), 4000, 3
  )
  first <- vapply(z, `[[`, 0, 1) / sqrt(1 + 1e14)
  expect_gt(min(first), -1e-6)
  expect_lt(abs(mean(first) - sqrt(2 / pi)) / sqrt(1 - 2 / pi) * sqrt(4000), 8)
})

test_that("responses without kernels are normal, the largest in its place", {
  # The largest of three standard normals has mean 3 / (2 sqrt(pi)), the others
  # have minus half of that. Null: normal scores of 3000 rows, |z| > 6.
  y <- rep(1:3, 1000)
  z <- bark_fields_latent_cpp(
    fields_setting("different"), matrix(0, 3000, 1), y, 3, integer(),
    matrix(0, 0, 3), 0, character(), 1, 5
  )[[1]]
  expect_identical(max.col(z), y)
  top <- z[cbind(1:3000, y)]
  score <- function(v, mean) (mean(v) - mean) / stats::sd(v) * sqrt(length(v))
  expect_lt(abs(score(top, 1.5 / sqrt(pi))), 6)
  expect_lt(abs(score((rowSums(z) - top) / 2, -0.75 / sqrt(pi))), 6)
})

# Chains ----------------------------------------------------------------------

test_that("a chain of fields cut anywhere continues unchanged", {
  y <- c(1, 3, 2, 1, 3)
  for (sweep in c("full", "single")) {
    for (n_temps in c(1, 3)) {
      engine <- fields_engine(fields_x, y,
        n_temps = n_temps, thin = 2, sweep = sweep
      )
      expect_identical(run_parts(engine, c(7, 20, 1, 32)), run_fields(engine))
    }
  }
})

#' P(each class) given f, draws x classes, by sums over a fine grid
class_shares <- function(f) {
  u <- seq(-9, 9, 0.125)
  out <- vapply(seq_len(ncol(f)), function(k) {
    inside <- vapply(u, function(at) {
      p <- stats::dnorm(at)
      for (j in seq_len(ncol(f))[-k]) {
        p <- p * stats::pnorm(at + f[, k] - f[, j])
      }
      p
    }, numeric(nrow(f)))
    0.125 * rowSums(matrix(inside, nrow(f)))
  }, numeric(nrow(f)))
  matrix(out, nrow(f))
}

test_that("the stored log likelihood is for the drawn coefficients", {
  y <- c(1, 3, 2, 1, 3)
  draws <- run_fields(fields_engine(fields_x, y, iter = 20))$draws
  f <- vapply(draws$fields, function(field) {
    bark_values_cpp(field, fields_x, fields_x, "draw", 1:20)$mean
  }, matrix(0, 5, 20))
  exact <- vapply(1:20, function(s) {
    sum(log(class_shares(f[, s, ])[cbind(1:5, y)]))
  }, 0)
  expect_equal(draws$log_likelihood, exact, tolerance = 1e-7)
})

#' Draws from the prior with their weights
fields_importance <- function(prior, x, y, at, classes, n) {
  fields <- lapply(seq_len(classes), function(class) {
    draw_bark_functions(prior, x, at, n)
  })
  share <- function(i) {
    class_shares(vapply(fields, function(field) field$f[, i], numeric(n)))
  }
  weight <- Reduce(`*`, lapply(seq_along(y), function(i) share(i)[, y[[i]]]))
  answers <- rbind(
    fields[[1]]$J, fields[[classes]]$J, fields[[1]]$d, weight,
    t(share(nrow(x) + 1)[, 1:2])
  )
  list(weight = weight, answers = answers)
}

#' The same for a run: numbers of kernels of the first and the last class, of
#' predictors of the first, the likelihood, probabilities of two classes
fields_answers <- function(run, x, at) {
  fields <- run$draws$fields
  s <- length(run$draws$log_likelihood)
  moments <- lapply(fields, function(field) {
    bark_values_cpp(field, at, x, "moments", seq_len(s))
  })
  p <- bark_class_probability_cpp(
    lapply(moments, `[[`, "mean"), lapply(moments, `[[`, "variance"), TRUE
  )
  last <- fields[[length(fields)]]
  c(
    sum(fields[[1]]$copies) / s, sum(last$copies) / s,
    sum(fields[[1]]$included) / s, mean(exp(run$draws$log_likelihood)), p[1:2]
  )
}

fields_tiny <- function() {
  list(
    list(
      x = fields_x[1:4, ], y = c(1, 2, 3, 1), prior = fields_setting(eps = 1),
      classes = 3
    ),
    list(
      x = fields_x[1:4, 1, drop = FALSE], y = c(2, 2, 1, 1), classes = 2,
      prior = fields_setting("different", 1.5, 4, eps = 1)
    ),
    list(
      x = fields_x[1:3, ], y = c(1, 1, 2), classes = 4,
      prior = fields_setting("select_equal", 1, 4, eps = 1)
    )
  )
}

fields_exact <- local({
  kept <- NULL
  function() {
    if (is.null(kept)) {
      kept <<- lapply(fields_tiny(), function(case) {
        at <- c(0.2, -0.4)[seq_len(ncol(case$x))]
        withr::with_seed(6, fields_importance(
          case$prior, case$x, case$y, at, case$classes,
          if (extended()) 20000 else 2500
        ))
      })
    }
    kept
  }
})

test_that("chains of fields agree with importance sampling from the prior", {
  # Null: t scores with 19 degrees of freedom at worst; |t| > 8 has probability
  # 2e-7; 6 scores of 5 chains.
  tiny <- fields_tiny()
  for (i in seq_along(tiny)) {
    case <- tiny[[i]]
    exact <- fields_exact()[[i]]
    at <- matrix(c(0.2, -0.4)[seq_len(ncol(case$x))], 1)
    w <- exact$weight / sum(exact$weight)
    mean <- drop(exact$answers %*% w)
    se <- sqrt(drop((exact$answers - mean)^2 %*% w^2))
    for (n_temps in if (i == 1) c(1, 3) else 1) {
      both <- i == 1 && n_temps == 1
      for (sweep in if (both) c("full", "single") else "full") {
        engine <- fields_engine(case$x, case$y, case$prior,
          warmup = 50, iter = if (sweep == "full") 120 else 2000,
          n_temps = n_temps, classes = case$classes, sweep = sweep,
          thin = if (sweep == "full") 1 else 20
        )
        chains <- vapply(1:20, function(k) {
          fields_answers(run_fields(engine, k), case$x, at)
        }, numeric(6))
        own <- apply(chains, 1, stats::sd) / sqrt(20)
        z <- (rowMeans(chains) - mean) / pmax(sqrt(own^2 + se^2), 1e-9)
        expect_lt(max(abs(z)), 8, label = toString(c(i, n_temps, sweep)))
      }
    }
  }
})

test_that("the evidence of fields agrees with importance sampling", {
  # Null: nearly a normal score of 12 ladders' mean, |z| > 8; and the reported
  # standard error is not too small: their chi-square is below 60.
  tiny <- fields_tiny()
  for (i in if (extended()) seq_along(tiny) else c(1, 2)) {
    case <- tiny[[i]]
    weight <- fields_exact()[[i]]$weight
    exact <- log(mean(weight))
    exact_se <- stats::sd(weight) / mean(weight) / sqrt(length(weight))
    engine <- fields_engine(case$x, case$y, case$prior,
      warmup = 20, iter = 100, classes = case$classes
    )
    engine$config$rungs <- ((0:5) / 5)^4
    class(engine) <- c(class(engine), "kb_engine_ladder")
    states <- lapply(1:12, function(k) run_fields(engine, k))
    out <- new_bark_evidence(
      list(states = states, sweeps = 100, done = rep(100, 12)),
      engine$config$rungs, -length(case$y) * log(case$classes)
    )
    spread <- stats::sd(out$replicates) / sqrt(12)
    z <- (mean(out$replicates) - exact) / sqrt(spread^2 + exact_se^2)
    expect_lt(abs(z), 8, label = paste("score", i))
    expect_lt(11 * stats::var(out$replicates) / (12 * out$mc_se^2), 60)
  }
  expect_identical(run_parts(engine, c(5, 100, 15)), states[[1]])
})

test_that("a chain of the prior alone does not depend on the classes", {
  # Null: 30 independent chains; J ~ Poisson(3) in each field, t scores of 29
  # degrees of freedom, |t| > 8.
  engine <- fields_engine(fields_x, rep(1, 5), prior_only = TRUE, iter = 60)
  runs <- lapply(1:30, run_fields, engine = engine)
  for (k in 1:3) {
    j <- vapply(runs, function(run) sum(run$draws$fields[[k]]$copies) / 60, 0)
    expect_lt(abs(mean(j - 3)) / stats::sd(j) * sqrt(30), 8)
  }
  expect_true(all(runs[[1]]$levels[[1]]$fields[[1]]$latent == 0))
})

test_that("extreme problems have finite answers", {
  edges <- list(
    list(fields_x, rep(2, 5), 3), list(matrix(0.5), 1, 3),
    list(matrix(0, 6, 2), c(1, 2, 3, 1, 2, 3), 3),
    list(matrix(c(-3, -2, 0, 0.1, 2, 3)), c(1, 1, 2, 2, 3, 3), 3)
  )
  for (edge in edges) {
    for (nu in c(1e-3, 30)) {
      draws <- run_fields(fields_engine(edge[[1]], edge[[2]],
        fields_setting(nu = nu, eps = 50),
        iter = 60
      ))$draws
      expect_true(all(is.finite(unlist(draws))))
      expect_true(all(draws$log_likelihood <= 0))
      if (nu < 1 && sum(unlist(lapply(draws$fields, `[[`, "m"))) == 0) {
        dice <- -length(edge[[2]]) * log(3)
        expect_equal(draws$log_likelihood, rep(dice, 60))
      }
    }
  }
  engine <- fields_engine(fields_x, c(1, 2, 3, 4, 1))
  expect_error(engine_open(engine, 1, NULL), class = "kb_error_fit")
})
