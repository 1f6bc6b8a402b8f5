# Regression methods of other packages, with the settings of the experiments and
# benchmarks: sourced by tools/reproduce and tools/bench.
#
# Each takes a numeric matrix `x`, a response `y` with a mean near 0, and `rate`
# of the kernel exp(-rate r^2), and returns the package's own fit.
#
#   rvm      kernlab::rvm, its defaults (no intercept)
#   ksvm     kernlab::ksvm, epsilon regression, epsilon 0.1 and C 1 (its
#            defaults), or C of 1, 10 and 100 by five-fold cross-validation
#   gausspr  kernlab::gausspr, kernel of amplitude 1, noise variance that
#            maximises the marginal likelihood
#   gam      mgcv::gam, y ~ s(x, k), REML (one predictor)

peer_rvm <- function(x, y, rate) {
  kernlab::rvm(x, y, kernel = "rbfdot", kpar = list(sigma = rate))
}

peer_ksvm <- function(x, y, rate, cost = 1) {
  kernlab::ksvm(x, y,
    scaled = FALSE, type = "eps-svr", kernel = "rbfdot",
    kpar = list(sigma = rate), epsilon = 0.1, C = cost
  )
}

# Rows are in random order, so the folds need no random numbers.
peer_ksvm_cv <- function(x, y, rate, costs = c(1, 10, 100)) {
  fold <- rep_len(1:5, length(y))
  errors <- vapply(costs, function(cost) {
    sum(vapply(1:5, function(i) {
      out <- fold == i
      fit <- peer_ksvm(x[!out, , drop = FALSE], y[!out], rate, cost)
      sum((kernlab::predict(fit, x[out, , drop = FALSE]) - y[out])^2)
    }, 0))
  }, 0)
  peer_ksvm(x, y, rate, costs[[which.min(errors)]])
}

peer_gausspr <- function(x, y, rate) {
  kernlab::gausspr(x, y,
    scaled = FALSE, kernel = "rbfdot", kpar = list(sigma = rate),
    var = gp_noise(x, y, rate), variance.model = TRUE
  )
}

# The noise variance with the largest marginal likelihood, by the eigenvalues
# of the Gram matrix: y ~ N(0, K + v I).
gp_noise <- function(x, y, rate) {
  gram <- exp(-rate * as.matrix(stats::dist(x))^2)
  parts <- eigen(gram, symmetric = TRUE)
  squares <- crossprod(parts$vectors, y)^2
  misfit <- function(log_v) {
    total <- pmax(parts$values, 0) + exp(log_v)
    sum(squares / total) + sum(log(total))
  }
  exp(stats::optimize(misfit, log(c(1e-6, 10)))$minimum)
}

peer_gam <- function(x, y, k) {
  data <- data.frame(x = x[, 1], y = y)
  # mgcv looks for s() by its name.
  mgcv::gam(stats::formula(sprintf("y ~ s(x, k = %d)", k)),
    data = data, method = "REML"
  )
}

# Means at the rows of `new`, with the limits of a 90% interval for the
# regression function if the package gives its standard deviation.
peer_predict <- function(fit, new) {
  spread <- NA_real_
  if (inherits(fit, "gam")) {
    out <- stats::predict(fit, data.frame(x = new[, 1]), se.fit = TRUE)
    mean <- as.vector(out$fit)
    spread <- as.vector(out$se.fit)
  } else {
    mean <- as.vector(kernlab::predict(fit, new))
    if (inherits(fit, "gausspr")) {
      spread <- as.vector(kernlab::predict(fit, new, type = "sdeviation"))
    }
  }
  half <- stats::qnorm(0.95) * spread
  cbind(fit = mean, lwr = mean - half, upr = mean + half)
}

# Kernels (relevance or support vectors) and noise standard deviation, if
# meaningful.
peer_facts <- function(fit) {
  if (inherits(fit, "rvm")) {
    return(c(
      kernels = length(kernlab::RVindex(fit)), sigma = sqrt(fit@nvar)
    ))
  }
  if (inherits(fit, "ksvm")) {
    return(c(kernels = kernlab::nSV(fit), sigma = NA))
  }
  if (inherits(fit, "gam")) {
    return(c(kernels = NA, sigma = sqrt(fit$sig2)))
  }
  c(kernels = NA, sigma = NA)
}
