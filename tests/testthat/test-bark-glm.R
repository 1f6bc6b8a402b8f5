# The sampler of families without a latent normal form: moves of one kernel with
# its coefficient, all coefficients, the parameters of the family.
#
# Seen to fail, one fault at a time: see the end of this list in each test.

glm_families <- c(
  "poisson", "negbinomial", "gamma", "binomial_logit", "binomial_probit",
  "ordered_probit", "censored_normal", "censored_extreme"
)

glm_pairs <- if (extended()) 40000 else 5000

# Coefficients with tails so light that counts stay small
glm_prior <- function(...) {
  bark_setting("select_different", own_scales = TRUE, alpha = 8, eps = 1, ...)
}

glm_config <- function(family, n = 5) {
  list(
    family = family, trials = rep(20, n), classes = 4,
    terms = list(
      linear = cbind(1, c(0.5, -1, 1, 0.2, -0.7)), linear_sd = c(1, 0.6),
      linear_mean = c(0.4, 0),
      groupings = list(), offset = c(1.3, 1, 0.5, 2, 1.2)
    )
  )
}

glm_scores <- function(family, prior, move, turns = 30, again = FALSE,
                       config = glm_config(family)) {
  out <- bark_glm_pairs_cpp(
    config, prior, five_rows, move, turns, glm_pairs, 5, again
  )
  # f and its likelihood follow the moves.
  if (prior$alpha > 1) expect_lt(out$stale, 1e-7, label = paste(family, move))
  paired_scores(out)
}

# Two crossed factors, one with slopes. The t priors of their standard deviations
# have heavy tails: binomial responses only.
grouped_config <- function() {
  config <- glm_config("binomial_logit")
  config$terms$groupings <- list(
    list(group = c(1, 1, 2, 2, 2), count = 2, z = matrix(1, 5), scale = 0.7),
    list(
      group = c(1, 2, 3, 1, 2), count = 3,
      z = cbind(1, c(0.3, -1, 0.8, 1.2, -0.4)), scale = c(0.5, 1)
    )
  )
  config
}

test_that("each move leaves the joint law of parameters and data invariant", {
  # Null: sums over independent pairs over their root mean square are normal, up
  # to rare large terms; about 77 per call in 40 calls. |z| > 6.2 has probability
  # 6e-10 each.
  priors <- list(
    glm_prior(nu = 3), glm_prior(nu = 3, centre_sd = 0.4),
    bark_setting("equal", own_scales = TRUE, nu = 3, alpha = 8, eps = 1)
  )
  for (family in glm_families) {
    moves <- c(
      "birth_death", "relocate", "local", "scales", "flips", "coefficients",
      if (!family %in% c("poisson", "binomial_logit", "binomial_probit")) {
        "parameters"
      }
    )
    for (move in moves) {
      prior <- priors[[1]]
      expect_lt(max(abs(c(0, glm_scores(family, prior, move)))), 6.2,
        label = paste(family, move)
      )
    }
  }
  for (move in c("birth_death", "relocate", "scales", "coefficients")) {
    for (k in 2:3) {
      expect_lt(max(abs(c(0, glm_scores("binomial_logit", priors[[k]], move)))), 6.2,
        label = paste(move, k)
      )
    }
  }
})

test_that("moves of pooled scales leave it invariant", {
  # Null: as above, 8 calls. Seen to fail: the spread stretched without its
  # Jacobian; columns left as they were where scales follow the pool; f left as it
  # was, though only in the comparison with f computed anew. Coefficients drawn
  # from their prior there would be no fault: their densities cancel.
  prior <- glm_prior(nu = 3, pool = pool_prior)
  for (move in c(
    "birth_death", "relocate", "local", "scales", "flips", "coefficients", "pool"
  )) {
    expect_lt(max(abs(glm_scores("binomial_logit", prior, move))), 6.2, label = move)
  }
  z <- glm_scores("binomial_logit", prior, "sweep", 5, TRUE)
  expect_lt(max(abs(z)), 6.2)
})

test_that("whole sweeps leave it invariant, also with heavy tails", {
  for (family in glm_families) {
    expect_lt(max(abs(glm_scores(family, glm_prior(nu = 3), "sweep", 5, TRUE))),
      6.2,
      label = family
    )
  }
  cauchy <- bark_setting("select_different", own_scales = TRUE, nu = 3)
  expect_lt(max(abs(glm_scores("binomial_logit", cauchy, "sweep", 5, TRUE))), 6.2)
})

test_that("groups leave it invariant", {
  # Null: as above, 3 calls with about 300 scores each.
  for (move in c("groups", "coefficients", "sweep")) {
    again <- move == "sweep"
    z <- glm_scores("binomial_logit", glm_prior(nu = 3), move, if (again) 5 else 30,
      again, grouped_config()
    )
    expect_lt(max(abs(z)), 6.2, label = move)
  }
})

test_that("log densities and their derivatives are right", {
  f <- c(-3, -0.5, 0, 0.7, 2, 4)
  upper <- c(0, 2.3, Inf, 3, 2.01, 2)
  lower <- c(0, 2, 1, 3, 2, -Inf)
  # Numbers with these probabilities that noise is larger
  censored <- function(above, log_density) {
    function(y, f) {
      s <- 0.7
      ifelse(lower == upper, log_density((lower - f) / s) - log(s),
        log(above((lower - f) / s) - above((upper - f) / s))
      )
    }
  }
  densities <- list(
    poisson = function(y, f) stats::dpois(y, exp(f), log = TRUE),
    negbinomial = function(y, f) {
      stats::dnbinom(y, size = 0.7, mu = exp(f), log = TRUE)
    },
    gamma = function(y, f) {
      stats::dgamma(y, 0.7, scale = exp(f) / 0.7, log = TRUE)
    },
    binomial_logit = function(y, f) {
      stats::dbinom(y, 3, stats::plogis(f), log = TRUE)
    },
    binomial_probit = function(y, f) {
      stats::dbinom(y, 3, stats::pnorm(f), log = TRUE)
    },
    ordered_probit = function(y, f) {
      cuts <- c(-Inf, 0, 0.7, Inf)
      log(stats::pnorm(cuts[y + 1] - f) - stats::pnorm(cuts[y] - f))
    },
    censored_normal = censored(
      function(e) stats::pnorm(e, lower.tail = FALSE),
      function(e) stats::dnorm(e, log = TRUE)
    ),
    censored_extreme = censored(
      function(e) exp(-exp(e)), function(e) e - exp(e)
    )
  )
  for (family in names(densities)) {
    density <- densities[[family]]
    is_censored <- grepl("censored", family)
    y <- switch(family, ordered_probit = c(1, 2, 1, 3, 2, 3),
      gamma = c(0.1, 2, 1, 3, 20, 0.5), c(0, 2, 1, 3, 2, 0)
    )
    rows <- bark_glm_rows_cpp(
      list(family = family, trials = 3, classes = 3),
      if (is_censored) lower else y, upper, f, 0.7
    )
    expect_equal(rows[, 1], density(y, f), label = family)
    h <- 1e-4
    up <- density(y, f + h)
    down <- density(y, f - h)
    expect_equal(rows[, 2], (up - down) / (2 * h),
      tolerance = 1e-5, label = family
    )
    expect_equal(rows[, 3], -(up - 2 * density(y, f) + down) / h^2,
      tolerance = 1e-3, label = family
    )
  }
  # Far out nothing overflows.
  far <- c(-900, 900)
  for (family in c("binomial_logit", "binomial_probit")) {
    rows <- bark_glm_rows_cpp(
      list(family = family, trials = 3), c(1, 1), c(1, 1), far, numeric()
    )
    expect_true(all(is.finite(rows)), label = family)
  }
  rows <- bark_glm_rows_cpp(
    list(family = "censored_normal", trials = 3), c(1, -Inf), c(Inf, 1), far,
    0.7
  )
  expect_true(all(is.finite(rows)))
})
