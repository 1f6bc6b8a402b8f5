# New responses under Student's noise: densities and quantiles of a normal
# variable plus Student's t, against base R and stats::integrate.

log_density_one <- function(y, m, v, noise, df) {
  n <- length(y)
  mixture_log_density_cpp(matrix(m, n), matrix(v, n), rbind(noise), 1, df, y)
}

quantiles_one <- function(p, m, v, noise, df) {
  mixture_quantiles_cpp(matrix(m), matrix(v), rbind(noise), 1, df, p)[1, ]
}

#' Integral of f over pieces that resolve each of two scales
#' @noRd
over_normal <- function(f, sd, at) {
  scales <- c(0.5, 1, 2, 3, 5, 10, 30, 100, 1e3, 1e4)
  ends <- c(0, at, sd * c(-8:8, -12, 12, -38, 38), at - scales, at + scales)
  ends <- sort(unique(ends[abs(ends) <= 38 * sd]))
  pieces <- vapply(seq_along(ends)[-1], function(i) {
    stats::integrate(f, ends[[i - 1]], ends[[i]],
      rel.tol = 1e-10, subdivisions = 1000, stop.on.error = FALSE
    )$value
  }, 0)
  sum(pieces)
}

degrees <- c(0.1, 0.5, 1, 1.5, 2, 4, 10, 30, 150, 1e3, 1e6)

test_that("if f is known they are those of Student's t", {
  y <- c(0, 0.01, 0.3, 1, 2, 5, 10, 50, 1e3, 1e6)
  for (df in degrees) {
    exact <- stats::dt(y / 2, df, log = TRUE) - log(2)
    expect_lt(max(abs(log_density_one(y + 3, 3, 0, 4, df) - exact)), 1e-6)
    p <- c(if (df > 0.1) 1e-20, 1e-6, 0.001, 0.05, 0.3, 0.5, 0.8, 0.95, 0.9999)
    exact <- 3 + 2 * stats::qt(p, df)
    got <- quantiles_one(p, 3, 0, 4, df)
    expect_lt(max(abs(got - exact) / pmax(1, abs(exact))), 1e-6)
  }
  expect_equal(
    log_density_one(c(-1e100, 1e100), 0, 0, 1, 4),
    stats::dt(c(-1e100, 1e100), 4, log = TRUE)
  )
})

test_that("they are right whether f or the noise is wider", {
  for (df in c(0.5, 1.5, 4, 20, 1000)) {
    for (v in c(1e-8, 1e-3, 0.25, 1, 10, 1e4, 1e8)) {
      sd <- sqrt(v)
      y <- sqrt(1 + v) * c(0, 1, 4, 12, 25)
      exact <- vapply(y, function(y) {
        term <- function(f) {
          stats::dnorm(f, 0, sd, TRUE) + stats::dt(y - f, df, log = TRUE)
        }
        top <- max(term(c(0, y, sd * seq(-38, 38, 0.01))))
        top + log(over_normal(function(f) exp(term(f) - top), sd, y))
      }, 0)
      expect_lt(max(abs(log_density_one(y, 0, v, 1, df) - exact)), 1e-6)
      p <- c(1e-6, 0.025, 0.3, 0.9)
      q <- quantiles_one(p, 0, v, 1, df)
      back <- vapply(q, function(q) {
        over_normal(
          function(f) stats::dnorm(f, 0, sd) * stats::pt(q - f, df), sd, q
        )
      }, 0)
      expect_lt(max(abs(back / p - 1)), 1e-6)
    }
  }
})

test_that("mixtures are averages of their components", {
  m <- c(-2, 0, 3)
  v <- c(0.1, 2, 0)
  noise <- c(1, 0.2, 0.5)
  w <- c(0.3, 0.7, 0)
  for (df in c(1, 5)) {
    each <- vapply(1:3, function(i) {
      log_density_one(1.3, m[[i]], v[[i]], noise[[i]], df)
    }, 0)
    y <- mixture_log_density_cpp(rbind(m), rbind(v), rbind(noise), w, df, 1.3)
    expect_equal(y, log(sum(w * exp(each))), tolerance = 1e-12)
    p <- c(1e-9, 0.05, 0.5, 0.77, 0.99)
    q <- mixture_quantiles_cpp(rbind(m), rbind(v), rbind(noise), w, df, p)[1, ]
    below <- vapply(q, function(q) {
      sum(w * vapply(1:3, function(i) {
        if (v[[i]] == 0) return(stats::pt((q - m[[i]]) / sqrt(noise[[i]]), df))
        s <- sqrt(noise[[i]])
        over_normal(function(f) {
          stats::dnorm(f, 0, sqrt(v[[i]])) * stats::pt((q - m[[i]] - f) / s, df)
        }, sqrt(v[[i]]), q - m[[i]])
      }, 0))
    }, 0)
    expect_lt(max(abs(below / p - 1)), 1e-6)
  }
})

test_that("many degrees of freedom give the normal mixture", {
  withr::with_seed(1, {
    m <- matrix(stats::rnorm(20), 2)
    v <- matrix(stats::rexp(20), 2)
    noise <- stats::rexp(10)
  })
  w <- rep(0.1, 10)
  p <- c(0.01, 0.4, 0.95)
  expect_equal(
    mixture_quantiles_cpp(m, v, rbind(noise), w, 1e9, p),
    mixture_quantiles_cpp(m, v, rbind(noise), w, Inf, p),
    tolerance = 1e-6
  )
  expect_equal(
    mixture_log_density_cpp(m, v, rbind(noise), w, 1e9, c(0, 2)),
    mixture_log_density_cpp(m, v, rbind(noise), w, Inf, c(0, 2)),
    tolerance = 1e-6
  )
})
