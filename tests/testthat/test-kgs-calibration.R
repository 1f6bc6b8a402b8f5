# Simulation-based calibration of kgs() (extended): rates, directions and
# labels are drawn from the model, and the posterior's distribution function
# at the truth must be uniform.

calibration_x <- matrix(c(
  0.3, -1.2, 1.1, -0.2, 0.9, 0.4, -1, -0.6, 0.1, 1.6, -0.8, 0.5, 1.3, -1.5,
  0.7, -0.1, 0.2, -1, 0.6, 1.2, -0.3, 0.8, -0.7, 0.4
), 12)
calibration_new <- matrix(c(0.4, -0.2), 1)

#' Draws of the rates from the prior
draw_prior_rates <- function(noise, classes) {
  if (noise$kind == "beta") {
    upper <- (classes - 1) / classes
    at <- stats::runif(1) * stats::pbeta(upper, noise$a, noise$b)
    return(stats::qbeta(at, noise$a, noise$b))
  }
  repeat {
    rates <- stats::rbeta(2, noise$a, noise$b)
    if (sum(rates) < 1) {
      return(rates)
    }
  }
}

#' Labels made wrong at the given rates
flip_labels <- function(true, rates, classes) {
  rate <- if (length(rates) == 1) rates else rates[true]
  flip <- stats::runif(length(true)) < rate
  shift <- sample.int(classes - 1, length(true), replace = TRUE)
  ifelse(flip, (true - 1 + shift) %% classes + 1, true)
}

#' A vector, its true classes, and those of the new point
#' @param features Of training points and the new one, without the parts that
#'   the complement and the nugget add.
draw_truth <- function(features, own, classes) {
  functions <- if (classes == 2) 1 else classes
  w <- matrix(stats::rnorm(ncol(features) * functions), ncol(features))
  f <- features %*% w
  latent <- f + sqrt(own) * stats::rnorm(length(f))
  class <- if (classes == 2) 1 + (latent[, 1] > 0) else max.col(latent)
  list(w = w / sqrt(sum(w^2)), f = f, class = class)
}

#' Positions of the truth in the posterior, from one data set
kgs_place <- function(classes, noise, nugget, method, seed) {
  x <- calibration_x
  m <- nrow(x)
  kernel <- kernel_gaussian(0.8)
  basis <- kgs_basis(kernel + kernel_constant(1), x, m)
  features <- basis_features(basis, rbind(x, calibration_new))
  # The part of the new point's variance that training points leave.
  own <- c(rep(0, m), 2 - sum(features[m + 1, ]^2)) + nugget
  truth <- draw_truth(features, own, classes)
  rates <- draw_prior_rates(noise, classes)
  label <- flip_labels(truth$class[seq_len(m)], rates, classes)
  # A single class is refused. Drawing everything again leaves the law given y
  # unchanged.
  if (length(unique(label)) < classes) {
    return(kgs_place(classes, noise, nugget, method, seed))
  }
  fit <- suppressWarnings(kgs(x, factor(label, seq_len(classes)),
    kernel = kernel, noise = noise, nugget = nugget, scale = FALSE,
    method = method, seed = seed, progress = FALSE,
    control = mcmc_control(1, 300, 1500, 3)
  ))
  pool <- posterior_pool(fit)
  # Ties are broken at random.
  place <- function(draws, value) {
    mean(draws < value) + stats::runif(1) * mean(draws == value)
  }
  p <- unname(predict(fit, calibration_new, type = "true_prob")[1, ])
  class <- truth$class[[m + 1]]
  out <- c(
    q = place(pool$rates[, 1], rates[[1]]),
    e = place(rowSums(pool$wrong), sum(label != truth$class[seq_len(m)])),
    class = sum(p[seq_len(class - 1)]) + stats::runif(1) * p[[class]]
  )
  if (length(rates) == 2) out["q2"] <- place(pool$rates[, 2], rates[[2]])
  # With a nugget, draws hold only a part of the direction.
  if (nugget == 0) {
    f <- pool$w[, , 1] %*% features[m + 1, ]
    out["f"] <- place(f, sum(features[m + 1, ] * truth$w[, 1]))
  }
  out
}

test_that("kgs() is calibrated for rates, wrong labels, f and classes", {
  skip_unless_extended()
  # Null: 400 independent uniform numbers in 10 bins, up to the error of the
  # chains; chi-square, 1e-4 over all settings and quantities (Bonferroni).
  settings <- list(
    list(2, noise_beta(1, 2), 0, "hmc"),
    list(2, noise_beta(1, 2), 0, "circle"),
    list(2, noise_beta(1, 2), 0, "coordinate"),
    list(2, noise_class(1, 2), 0, "hmc"),
    list(2, noise_beta(1, 2), 0.5, "block"),
    list(2, noise_beta(1, 2), 0.5, "hmc"),
    list(2, noise_class(1, 2), 0.5, "block"),
    list(3, noise_beta(1, 2), 0, "hmc"),
    list(3, noise_beta(1, 2), 0, "circle"),
    list(3, noise_beta(1, 2), 0.5, "hmc")
  )
  for (s in settings) {
    u <- withr::with_seed(30, lapply(1:400, function(r) {
      kgs_place(s[[1]], s[[2]], s[[3]], s[[4]], r)
    }))
    u <- do.call(rbind, u)
    for (name in colnames(u)) {
      count <- tabulate(pmin(floor(u[, name] * 10) + 1, 10), 10)
      expect_gt(stats::chisq.test(count)$p.value * 44, 1e-4,
        label = toString(c(name, s[[1]], format(s[[2]]), s[[3]], s[[4]]))
      )
    }
  }
})
