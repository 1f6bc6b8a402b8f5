# Regression and classification by other packages, tuned as a careful user
# would: sourced by tools/reproduce/bark.R and tools/bench/bark.R.
#
# Each takes a numeric matrix `x` with its rows in random order, a response `y`
# (numbers, or a factor of two levels), the rows `new` and a seed. Predictors,
# and a numeric response, are standardised by the rows of `x`. The result is a
# list: `mean`, an estimate for each row of `new`, for classes the probability
# of the second level (0 or 1 if the method gives only classes); `f` and `y`,
# matrices with the limits `lwr` and `upr` of 90% intervals for the regression
# function and for new responses, NULL if the method has none.
#
#   ksvm      kernlab::ksvm, radial kernel. Tuned: width, and C of 1, 10 and
#             100, by five-fold cross-validation; or the package's defaults
#   gausspr   kernlab::gausspr, radial kernel. Regression: width, amplitude and
#             noise variance that maximise the marginal likelihood. Classes:
#             width and amplitude by the log score of five-fold
#             cross-validation
#   dbarts    dbarts::bart, its defaults except 1000 iterations of burn-in
#   ranger    ranger::ranger, its defaults
#   bark_*    bark::bark (CRAN), its defaults: 10 000 iterations of burn-in,
#             then 10 000 of which every 100th is kept
#
# The radial kernel is exp(-rate r^2). For cross-validation, its rates are
# `tuning_rates` divided by the number of predictors.

tuning_rates <- 4^(-3:1)
tuning_costs <- c(1, 10, 100)
tails <- c(0.05, 0.95)

# ---- scaling and cross-validation -------------------------------------------

column_scale <- function(x) {
  centre <- colMeans(x)
  spread <- apply(x, 2, stats::sd)
  list(centre = centre, spread = ifelse(spread > 0, spread, 1))
}

apply_scale <- function(x, by) {
  sweep(sweep(x, 2, by$centre), 2, by$spread, "/")
}

# Undoes the scaling of a numeric response; `answer` is in the scaled units.
unscale_answer <- function(answer, by) {
  back <- function(v) if (!is.null(v)) by$centre + by$spread * v
  lapply(answer, back)
}

# Turns a method for standardised predictors and response into one for data in
# their own units.
on_standard_scale <- function(method) {
  function(x, y, new, seed, ...) {
    by <- column_scale(x)
    x <- apply_scale(x, by)
    new <- apply_scale(new, by)
    if (is.factor(y)) {
      return(method(x, y, new, seed, ...))
    }
    response <- column_scale(matrix(y))
    y <- (y - response$centre) / response$spread
    unscale_answer(method(x, y, new, seed, ...), response)
  }
}

# Rows are in random order, so the folds need no random numbers.
cv_loss <- function(x, y, fit, loss) {
  fold <- rep_len(1:5, nrow(x))
  sum(vapply(1:5, function(i) {
    out <- fold == i
    made <- fit(x[!out, , drop = FALSE], y[!out])
    loss(made, x[out, , drop = FALSE], y[out])
  }, 0))
}

# ---- support vector machines ------------------------------------------------

fit_ksvm <- function(x, y, rate, cost) {
  type <- if (is.factor(y)) "C-svc" else "eps-svr"
  kernlab::ksvm(x, y,
    scaled = FALSE, type = type, kernel = "rbfdot",
    kpar = list(sigma = rate), C = cost
  )
}

ksvm_loss <- function(fit, x, y) {
  guess <- kernlab::predict(fit, x)
  if (is.factor(y)) sum(guess != y) else sum((guess - y)^2)
}

ksvm_choice <- function(x, y) {
  grid <- expand.grid(rate = tuning_rates / ncol(x), cost = tuning_costs)
  losses <- mapply(function(rate, cost) {
    cv_loss(x, y, function(x, y) fit_ksvm(x, y, rate, cost), ksvm_loss)
  }, grid$rate, grid$cost)
  grid[which.min(losses), ]
}

ksvm_answer <- function(fit, new) {
  guess <- kernlab::predict(fit, new)
  if (is.factor(guess)) {
    return(list(mean = as.numeric(guess == levels(guess)[[2]])))
  }
  list(mean = as.vector(guess))
}

tuned_ksvm <- on_standard_scale(function(x, y, new, seed) {
  best <- ksvm_choice(x, y)
  ksvm_answer(fit_ksvm(x, y, best$rate, best$cost), new)
})

# The default width is drawn from the data at random.
default_ksvm <- on_standard_scale(function(x, y, new, seed) {
  set.seed(seed)
  ksvm_answer(kernlab::ksvm(x, y, scaled = FALSE), new)
})

# ---- Gaussian processes -----------------------------------------------------

# kernlab's radial kernel has amplitude 1, which is far too low for classes. Its
# class is found only if kernlab is attached: last, so that it masks nothing.
library(kernlab, pos = length(search()), warn.conflicts = FALSE)
methods::setClass("amplified_rbf",
  contains = "rbfkernel",
  slots = c(amplitude = "numeric"), where = globalenv()
)
methods::setMethod(kernlab::kernelMatrix, "amplified_rbf",
  function(kernel, x, y = NULL) {
    kernel@amplitude *
      kernlab::kernelMatrix(methods::as(kernel, "rbfkernel"), x, y)
  },
  where = globalenv()
)
methods::setMethod(kernlab::kernelMult, "amplified_rbf",
  function(kernel, x, y = NULL, z, blocksize = 128) {
    kernel@amplitude *
      kernlab::kernelMult(methods::as(kernel, "rbfkernel"), x, y, z)
  },
  where = globalenv()
)

amplified_rbf <- function(rate, amplitude) {
  methods::new("amplified_rbf", kernlab::rbfdot(rate), amplitude = amplitude)
}

# y ~ N(0, a (K + u I)): the amplitude a has a closed form, the ratio u is found
# by search. `misfit` is -2 log likelihood up to a constant.
gp_profile <- function(x, y, rate) {
  gram <- exp(-rate * as.matrix(stats::dist(x))^2)
  parts <- eigen(gram, symmetric = TRUE)
  squares <- crossprod(parts$vectors, y)^2
  spectrum <- function(log_u) pmax(parts$values, 0) + exp(log_u)
  misfit <- function(log_u) {
    length(y) * log(mean(squares / spectrum(log_u))) +
      sum(log(spectrum(log_u)))
  }
  best <- stats::optimize(misfit, log(c(1e-6, 10)))
  amplitude <- mean(squares / spectrum(best$minimum))
  data.frame(
    rate = rate, amplitude = amplitude, noise = amplitude * exp(best$minimum),
    misfit = best$objective
  )
}

gp_choice <- function(x, y) {
  rates <- 2^seq(-12, 3) / ncol(x)
  profile <- do.call(rbind, lapply(rates, gp_profile, x = x, y = y))
  profile[which.min(profile$misfit), ]
}

# kernlab refuses noise variances below 0.001, so the response is multiplied by
# ten.
gausspr_regression <- function(x, y, new) {
  best <- gp_choice(x, y)
  noise <- max(best$noise, 1.001e-5)
  fit <- kernlab::gausspr(x, 10 * y,
    scaled = FALSE, kernel = amplified_rbf(best$rate, 100 * best$amplitude),
    var = 100 * noise, variance.model = TRUE
  )
  mean <- as.vector(kernlab::predict(fit, new)) / 10
  variance <- as.vector(kernlab::predict(fit, new, type = "variance")) / 100
  band <- function(variance) {
    half <- stats::qnorm(tails[[2]]) * sqrt(pmax(variance, 0))
    cbind(lwr = mean - half, upr = mean + half)
  }
  list(mean = mean, f = band(variance), y = band(variance + noise))
}

fit_gausspr_classes <- function(x, y, rate, amplitude) {
  kernlab::gausspr(x, y,
    scaled = FALSE, type = "classification",
    kernel = amplified_rbf(rate, amplitude)
  )
}

gausspr_log_loss <- function(fit, x, y) {
  p <- kernlab::predict(fit, x, type = "probabilities")
  -sum(log(pmax(p[cbind(seq_along(y), as.integer(y))], 1e-12)))
}

# The rate at amplitude 10 first, then the amplitude: a full grid is slow.
gausspr_classes <- function(x, y, new) {
  loss <- function(rate, amplitude) {
    fit <- function(x, y) fit_gausspr_classes(x, y, rate, amplitude)
    cv_loss(x, y, fit, gausspr_log_loss)
  }
  rates <- tuning_rates / ncol(x)
  by_rate <- vapply(rates, loss, 0, amplitude = 10)
  rate <- rates[[which.min(by_rate)]]
  losses <- c(min(by_rate), loss(rate, 1), loss(rate, 100))
  amplitude <- c(10, 1, 100)[[which.min(losses)]]
  fit <- fit_gausspr_classes(x, y, rate, amplitude)
  p <- kernlab::predict(fit, new, type = "probabilities")
  list(mean = as.vector(p[, 2]))
}

tuned_gausspr <- on_standard_scale(function(x, y, new, seed) {
  choose <- if (is.factor(y)) gausspr_classes else gausspr_regression
  choose(x, y, new)
})

# ---- trees ------------------------------------------------------------------

# `f`: draws x rows, on the probit scale for classes; `sigma`: one per draw. New
# responses are drawn, with the caller's seed.
draws_answer <- function(f, sigma, classes) {
  if (classes) {
    return(list(mean = colMeans(stats::pnorm(f))))
  }
  limits <- function(draws) {
    out <- t(apply(draws, 2, stats::quantile, tails, names = FALSE))
    colnames(out) <- c("lwr", "upr")
    out
  }
  noisy <- f + as.vector(sigma) * stats::rnorm(length(f))
  list(mean = colMeans(f), f = limits(f), y = limits(noisy))
}

# The second level is 1.
as_response <- function(y) if (is.factor(y)) as.numeric(y) - 1 else y

fit_dbarts <- function(x, y, new, seed, ...) {
  dbarts::bart(x, as_response(y), new,
    nskip = 1000, verbose = FALSE, seed = seed, ...
  )
}

default_dbarts <- on_standard_scale(function(x, y, new, seed) {
  fit <- fit_dbarts(x, y, new, seed)
  set.seed(seed)
  draws_answer(fit$yhat.test, fit$sigma, is.factor(y))
})

default_ranger <- on_standard_scale(function(x, y, new, seed) {
  fit <- ranger::ranger(
    x = as.data.frame(x), y = y, probability = is.factor(y), num.threads = 1,
    seed = seed
  )
  guess <- stats::predict(fit, as.data.frame(new), num.threads = 1)$predictions
  list(mean = if (is.factor(y)) guess[, levels(y)[[2]]] else guess)
})

# ---- the package bark of CRAN -----------------------------------------------

fit_cran_bark <- function(x, y, new, seed, type, ...) {
  frame <- data.frame(x, response = as_response(y))
  set.seed(seed)
  bark::bark(response ~ ., frame,
    testdata = data.frame(new), classification = is.factor(y),
    selection = startsWith(type, "select"), common_lambdas = endsWith(
      type, "equal"
    ), ...
  )
}

# Its draws are in units of the standardised response that it is given.
default_cran_bark <- function(type) {
  on_standard_scale(function(x, y, new, seed) {
    fit <- fit_cran_bark(x, y, new, seed, type)
    draws_answer(t(fit$yhat.test), 1 / sqrt(fit$theta.phi), is.factor(y))
  })
}

tuned_peers <- list(
  ksvm = tuned_ksvm, ksvm_default = default_ksvm, gausspr = tuned_gausspr,
  dbarts = default_dbarts, ranger = default_ranger,
  bark_equal = default_cran_bark("equal"),
  bark_different = default_cran_bark("different"),
  bark_select_equal = default_cran_bark("select_equal"),
  bark_select_different = default_cran_bark("select_different")
)
