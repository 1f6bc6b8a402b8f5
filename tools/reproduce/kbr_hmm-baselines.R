# Methods that kbr_hmm() is compared with, in plain R. Sourced by kbr_hmm.R.
#
# Filters that know the model (of sim_rotation(), sim_oscillation() and
# sim_linear_hmm()):
#   extended Kalman filter
#   unscented Kalman filter, scaled form, with the settings of `ukf_settings`
#   bootstrap particle filter, systematic resampling at every step
#   Kalman filter and Rauch-Tung-Striebel smoother
# All start from the model's own distribution of the first state, the Gaussian
# ones from its mean and covariance.
#
# Methods that learn from a training stretch, as kbr_hmm() does:
#   linear Gaussian model by least squares, then the Kalman filter; states are
#     the nine numbers of rotation matrices, or quaternions. Either with the
#     covariance of all pixels' residuals, or with their variances only: that
#     filter treats the pixels as independent given the state
#   nearest neighbour
#   kernel ridge regression of the states on the observations
# Ridges and bandwidths are chosen on the training stretch, by cross-validation
# over blocks of consecutive rows. No principal components are used: the Kalman
# filter has the 1200 x 1200 covariance of the residuals.
#
# Observations are matrices with one row per time point; estimates are matrices
# with the same number of rows.

# ---- the models -------------------------------------------------------------

# x' = f(x) + noise, y = x + noise. `f` takes and returns one point per row; the
# angle is atan2, which is right on the whole circle.
motion_model <- function(name, sd_state = 0.2, sd_observation = 0.2) {
  wave <- if (name == "oscillation") 0.4 else 0
  step <- if (name == "oscillation") 0.4 else 0.3
  radius <- function(theta) 1 + wave * sin(8 * theta)
  list(
    step = step, radius = radius,
    slope = function(theta) 8 * wave * cos(8 * theta),
    state_cov = sd_state^2 * diag(2), observation_cov = sd_observation^2 *
      diag(2),
    start_mean = c(0, 0),
    # Half the mean of the squared radius, uniform angle.
    start_cov = ((1 + wave^2 / 2) / 2 + sd_state^2) * diag(2),
    sd_state = sd_state, sd_observation = sd_observation
  )
}

angle_after <- function(model, x) atan2(x[, 2], x[, 1]) + model$step

on_curve <- function(model, theta) {
  model$radius(theta) * cbind(cos(theta), sin(theta))
}

motion <- function(model, x) on_curve(model, angle_after(model, x))

# Jacobian of motion() at one point: 2 x 2, one row per output.
motion_jacobian <- function(model, x) {
  theta <- angle_after(model, rbind(x))
  along <- model$slope(theta) * c(cos(theta), sin(theta)) +
    model$radius(theta) * c(-sin(theta), cos(theta))
  along %o% c(-x[[2]], x[[1]]) / sum(x^2)
}

# ---- extended and unscented -------------------------------------------------

# `predict(mean, cov)` returns a list with the `mean` and `cov` of the next
# state without its noise. Observations are states with noise: that update is
# exact.
gaussian_filter <- function(model, y, predict) {
  now <- list(mean = model$start_mean, cov = model$start_cov)
  out <- y
  for (t in seq_len(nrow(y))) {
    if (t > 1) {
      now <- predict(now$mean, now$cov)
      now$cov <- now$cov + model$state_cov
    }
    gain <- now$cov %*% solve(now$cov + model$observation_cov)
    now$mean <- as.vector(now$mean + gain %*% (y[t, ] - now$mean))
    now$cov <- now$cov - gain %*% now$cov
    out[t, ] <- now$mean
  }
  out
}

extended_filter <- function(model, y) {
  gaussian_filter(model, y, function(mean, cov) {
    jacobian <- motion_jacobian(model, mean)
    list(
      mean = as.vector(motion(model, rbind(mean))),
      cov = jacobian %*% cov %*% t(jacobian)
    )
  })
}

# Julier and Uhlmann's original form has alpha = 1 and beta = 0; alpha = 1e-3,
# beta = 2, kappa = 0 is the usual choice in the scaled form. In two dimensions
# kappa = 1 gives n + kappa = 3.
ukf_settings <- list(
  ukf_kappa1 = c(alpha = 1, beta = 0, kappa = 1),
  ukf_alpha0.001 = c(alpha = 1e-3, beta = 2, kappa = 0)
)

sigma_weights <- function(n, settings) {
  spread <- settings[["alpha"]]^2 * (n + settings[["kappa"]])
  centre <- (spread - n) / spread
  other <- rep(1 / (2 * spread), 2 * n)
  list(
    spread = spread, mean = c(centre, other),
    cov = c(centre + 1 - settings[["alpha"]]^2 + settings[["beta"]], other)
  )
}

unscented_filter <- function(model, y, settings) {
  weights <- sigma_weights(ncol(y), settings)
  gaussian_filter(model, y, function(mean, cov) {
    root <- chol(weights$spread * cov)
    points <- sweep(rbind(0, root, -root), 2, mean, "+")
    after <- motion(model, points)
    # Differences from the first point, so that weights of 1e6 lose no digits.
    apart <- sweep(after, 2, after[1, ])
    shift <- colSums(weights$mean * apart)
    apart <- sweep(apart, 2, shift)
    list(mean = after[1, ] + shift, cov = crossprod(apart, weights$cov * apart))
  })
}

# ---- particles --------------------------------------------------------------

systematic <- function(weight) {
  n <- length(weight)
  at <- (seq_len(n) - stats::runif(1)) / n
  pmin(findInterval(at, cumsum(weight) / sum(weight)) + 1, n)
}

# Starts are drawn as in the simulators. Uses R's generator.
particle_filter <- function(model, y, particles = 5000) {
  theta <- stats::runif(particles, -pi, pi)
  noise <- function() {
    matrix(stats::rnorm(2 * particles, sd = model$sd_state), particles)
  }
  x <- on_curve(model, theta) + noise()
  out <- y
  for (t in seq_len(nrow(y))) {
    if (t > 1) x <- motion(model, x) + noise()
    miss <- rowSums(sweep(x, 2, y[t, ])^2) / (2 * model$sd_observation^2)
    weight <- exp(min(miss) - miss)
    out[t, ] <- colSums(weight * x) / sum(weight)
    x <- x[systematic(weight), ]
  }
  out
}

# ---- linear -----------------------------------------------------------------

# x' = A x + a + noise of covariance Q, y = C x + c + noise of covariance R.
# Long observations enter only through C' R^-1 C and C' R^-1 (y - c).
linear_model <- function(A, Q, C, R, a = 0, c = 0, start_mean, start_cov) {
  whitened <- solve(R, C)
  list(
    A = A, a = rep_len(a, nrow(A)), Q = Q, information = crossprod(C, whitened),
    reduce = function(y) sweep(y, 2, rep_len(c, ncol(y))) %*% whitened,
    start_mean = start_mean, start_cov = start_cov
  )
}

# `mean` and `predicted`: T x d; `cov` and `predicted_cov`: lists of T matrices.
kalman_filter <- function(model, y) {
  news <- model$reduce(y)
  steps <- nrow(y)
  out <- list(
    mean = news, predicted = news, cov = vector("list", steps),
    predicted_cov = vector("list", steps)
  )
  mean <- model$start_mean
  cov <- model$start_cov
  for (t in seq_len(steps)) {
    if (t > 1) {
      mean <- as.vector(model$A %*% mean + model$a)
      cov <- model$A %*% cov %*% t(model$A) + model$Q
    }
    out$predicted[t, ] <- mean
    out$predicted_cov[[t]] <- cov
    cov <- solve(solve(cov) + model$information)
    cov <- (cov + t(cov)) / 2
    mean <- mean + as.vector(cov %*% (news[t, ] - model$information %*% mean))
    out$mean[t, ] <- mean
    out$cov[[t]] <- cov
  }
  out
}

# Rauch, Tung and Striebel: means and covariances given all observations.
kalman_smoother <- function(model, filtered) {
  out <- filtered[c("mean", "cov")]
  for (t in rev(seq_len(nrow(out$mean) - 1))) {
    following <- filtered$predicted_cov[[t + 1]]
    gain <- filtered$cov[[t]] %*% t(model$A) %*% solve(following)
    out$mean[t, ] <- filtered$mean[t, ] +
      gain %*% (out$mean[t + 1, ] - filtered$predicted[t + 1, ])
    out$cov[[t]] <- filtered$cov[[t]] +
      gain %*% (out$cov[[t + 1]] - following) %*% t(gain)
  }
  out
}

# The model of sim_linear_hmm().
autoregression <- function(coef = 0.8, sd_state = 0.6, sd_observation = 0.7) {
  linear_model(
    A = matrix(coef), Q = matrix(sd_state^2), C = matrix(1),
    R = matrix(sd_observation^2), start_mean = 0,
    start_cov = matrix(sd_state^2 / (1 - coef^2))
  )
}

# Largest differences from KFAS in means and variances; NULL without KFAS.
differ_from_kfas <- function(y) {
  if (is.na(package_versions("KFAS"))) {
    return(NULL)
  }
  SSMcustom <- KFAS::SSMcustom # its formulas want this name
  theirs <- KFAS::KFS(KFAS::SSModel(
    as.vector(y) ~ -1 + SSMcustom(
      Z = 1, T = 0.8, R = 1, Q = 0.36, a1 = 0, P1 = 1, P1inf = 0
    ), H = matrix(0.49)
  ), filtering = "state", smoothing = "state")
  model <- autoregression()
  filtered <- kalman_filter(model, y)
  smoothed <- kalman_smoother(model, filtered)
  gap <- function(a, b) max(abs(unlist(a) - as.vector(b)))
  c(
    filter = gap(filtered$mean, theirs$att),
    filter_var = gap(filtered$cov, theirs$Ptt),
    smoother = gap(smoothed$mean, theirs$alphahat),
    smoother_var = gap(smoothed$cov, theirs$V)
  )
}

# ---- learned linear ---------------------------------------------------------

# Residual covariance of least squares, plus `ridge` times its mean variance.
least_squares <- function(x, y, ridge) {
  fit <- stats::lm.fit(cbind(1, x), y)
  # Constraints among the states make some coefficients undefined.
  coef <- fit$coefficients
  coef[is.na(coef)] <- 0
  cov <- crossprod(as.matrix(fit$residuals)) / nrow(x)
  diag(cov) <- diag(cov) + ridge * mean(diag(cov))
  list(offset = coef[1, ], slope = t(coef[-1, , drop = FALSE]), cov = cov)
}

# `group` marks unbroken stretches: rows of one stretch have the same value.
learn_linear <- function(states, y, ridge, group = rep(1, nrow(states)),
                         diagonal = FALSE) {
  last <- nrow(states)
  pair <- which(group[-1] == group[-last])
  move <- least_squares(states[pair, ], states[pair + 1, ], 1e-3)
  see <- least_squares(states, y, ridge)
  if (diagonal) see$cov <- diag(diag(see$cov))
  cov <- stats::cov(states)
  linear_model(
    A = move$slope, a = move$offset, Q = move$cov, C = see$slope,
    c = see$offset, R = see$cov, start_mean = colMeans(states),
    start_cov = cov + 1e-6 * mean(diag(cov)) * diag(ncol(states))
  )
}

linear_ridges <- 10^(-3:2)

# Chooses the ridge of the observations' covariance by blocks, then filters
# `new`.
learned_kalman <- function(states, y, new) {
  loss <- block_losses(states, linear_ridges, function(rows, held, ridge) {
    model <- learn_linear(states[rows, ], y[rows, ], ridge, rows > held[[1]])
    kalman_filter(model, y[held, ])$mean
  })
  ridge <- linear_ridges[[which.min(loss)]]
  model <- learn_linear(states, y, ridge)
  list(mean = kalman_filter(model, new)$mean, facts = c(ridge = ridge))
}

diagonal_kalman <- function(states, y, new) {
  model <- learn_linear(states, y, 0, diagonal = TRUE)
  list(mean = kalman_filter(model, new)$mean, facts = c(ridge = 0))
}

# ---- blocks -----------------------------------------------------------------

# Mean squared error over blocks of consecutive rows, for each of `settings` (a
# list or vector). `estimate(rows, held, setting)` learns from `rows`.
block_losses <- function(states, settings, estimate, blocks = 5) {
  n <- nrow(states)
  block <- ceiling(seq_len(n) * blocks / n)
  one <- function(k, setting) {
    held <- which(block == k)
    miss <- estimate(which(block != k), held, setting) - states[held, ]
    sum(miss^2)
  }
  vapply(seq_along(settings), function(i) {
    sum(vapply(seq_len(blocks), one, 0, settings[[i]])) / n
  }, 0)
}

# ---- neighbours and kernels -------------------------------------------------

squared_distances <- function(x, y) {
  d2 <- outer(rowSums(x^2), rowSums(y^2), "+") - 2 * tcrossprod(x, y)
  pmax(d2, 0)
}

nearest_neighbour <- function(states, y, new) {
  states[max.col(-squared_distances(new, y), "first"), ]
}

krr_grid <- function() {
  grid <- expand.grid(
    factor = c(0.15, 0.25, 0.4, 0.6, 1), ridge = 10^(-6:-1)
  )
  split(grid, seq_len(nrow(grid)))
}

# Gaussian kernel with bandwidth `factor` times the median distance, ridge times
# the number of rows; the mean of the states is subtracted.
kernel_ridge <- function(states, y, new, factor, ridge) {
  kernel <- kernel_gaussian(factor * bandwidth_median(y))
  n <- nrow(y)
  root <- chol(kernel_matrix(kernel, y) + n * ridge * diag(n))
  centre <- colMeans(states)
  coef <- backsolve(root, backsolve(root, sweep(states, 2, centre),
    transpose = TRUE
  ))
  sweep(kernel_matrix(kernel, new, y) %*% coef, 2, centre, "+")
}

# Tuned on at most 900 evenly spaced rows.
tuned_kernel_ridge <- function(states, y, new) {
  grid <- krr_grid()
  some <- unique(round(seq(1, nrow(y), length.out = min(nrow(y), 900))))
  x <- states[some, ]
  z <- y[some, ]
  loss <- block_losses(x, grid, function(rows, held, setting) {
    kernel_ridge(x[rows, ], z[rows, ], z[held, ], setting$factor, setting$ridge)
  })
  best <- grid[[which.min(loss)]]
  list(
    mean = kernel_ridge(states, y, new, best$factor, best$ridge),
    facts = c(factor = best$factor, ridge = best$ridge)
  )
}

# ---- rotations --------------------------------------------------------------

# From rows of nine numbers, a matrix by columns, to the nearest rotations.
nearest_rotations <- function(x) {
  t(apply(x, 1, function(m) {
    s <- svd(matrix(m, 3))
    sign <- c(1, 1, det(s$u) * det(s$v))
    s$u %*% (sign * t(s$v))
  }))
}

# Unit quaternions (w, x, y, z), one per row, without jumps of sign from row to
# row. The eigenvector form is accurate for all angles.
to_quaternions <- function(rotations) {
  q <- t(apply(rotations, 1, function(r) {
    m <- matrix(r, 3)
    skew <- c(m[3, 2] - m[2, 3], m[1, 3] - m[3, 1], m[2, 1] - m[1, 2])
    trace <- sum(diag(m))
    four <- rbind(
      c(trace, skew), cbind(skew, m + t(m) - trace * diag(3))
    )
    eigen(four, symmetric = TRUE)$vectors[, 1]
  }))
  jump <- rowSums(q[-1, ] * q[-nrow(q), ]) < 0
  q * (-1)^cumsum(c(q[1, 1] < 0, jump))
}

to_rotations <- function(q) {
  q <- q / sqrt(rowSums(q^2))
  w <- q[, 1]
  x <- q[, 2]
  y <- q[, 3]
  z <- q[, 4]
  unname(cbind(
    1 - 2 * (y^2 + z^2), 2 * (x * y + w * z), 2 * (x * z - w * y),
    2 * (x * y - w * z), 1 - 2 * (x^2 + z^2), 2 * (y * z + w * x),
    2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x^2 + y^2)
  ))
}
