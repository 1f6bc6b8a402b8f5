# The paper's experiments on simulated data, for tools/reproduce/kgs.R: figures
# 1, 3 and 4, and learned noise. One replicate of each is a cell, see cells.R.
#
# Kernels, bias and scale are the paper's: bias 0, unscaled predictors.

# `control` for short runs that keep `draws` draws.
sampled <- function(draws, thin, quick) {
  warmup <- if (quick) 100 else 500
  list(chains = 1, warmup = warmup, iter = draws * thin, thin = thin)
}

papers_kgs <- function(data, kernel, noise, control, seed) {
  without_mixing_warning(kgs(
    y ~ ., data,
    kernel = kernel, noise = noise, bias = 0, scale = FALSE,
    control = do.call(mcmc_control, control), seed = seed, progress = FALSE,
    nugget = 0
  ))
}

share_wrong <- function(guess, truth) mean(guess != truth)

# ---- figure 1: the log posterior on the sphere ------------------------------

figure1_rows <- c(10, 1000)
figure1_rate <- 0.2

# Centres of the cells of a grid of directions: longitude from 0 to 2 pi, angle
# from the north pole from 0 to pi.
sphere_grid <- function(columns, rows) {
  expand.grid(
    longitude = (seq_len(columns) - 0.5) * 2 * pi / columns,
    polar = (seq_len(rows) - 0.5) * pi / rows
  )
}

as_direction <- function(longitude, polar) {
  cbind(
    sin(polar) * cos(longitude), sin(polar) * sin(longitude), cos(polar)
  )
}

# Number of errors at each direction of the grid, columns x rows.
sphere_errors <- function(data, columns, rows) {
  grid <- sphere_grid(columns, rows)
  w <- as_direction(grid$longitude, grid$polar)
  label <- 2 * as.integer(data$y) - 3
  margins <- w %*% t(as.matrix(data[c("x1", "x2", "x3")]) * label)
  matrix(as.integer(rowSums(margins <= 0)), columns)
}

# Local maxima of the posterior: connected regions of cells with equal errors,
# without a neighbouring cell that has fewer. The grid misses or cuts regions
# smaller than a cell. Longitudes wrap around; nothing lies beyond the poles.
count_modes <- function(errors) {
  region <- matrix(seq_along(errors), nrow(errors))
  repeat {
    same <- Map(
      function(r, e) ifelse(e == errors, r, 0), shifted(region), shifted(errors)
    )
    wider <- Reduce(pmax, same, region)
    if (all(wider == region)) break
    region <- wider
  }
  lower <- Reduce(`|`, lapply(shifted(errors), function(e) e < errors))
  length(setdiff(region, region[lower]))
}

shifted <- function(m) {
  columns <- nrow(m)
  rows <- ncol(m)
  list(
    m[c(2:columns, 1), ], m[c(columns, 2:columns - 1), ],
    m[, c(2:rows, rows)], m[, c(1, 2:rows - 1)]
  )
}

# `share`: posterior probability of directions within 30 degrees of the truth,
# the south pole.
sphere_posterior <- function(m, seed, columns = 180, rows = 90) {
  data <- sim_sphere(m, flips = figure1_rate, seed = seed)
  errors <- sphere_errors(data, columns, rows)
  polar <- sphere_grid(columns, rows)$polar
  beta <- log((1 - figure1_rate) / figure1_rate)
  mass <- sin(polar) * exp(-beta * (errors - min(errors)))
  list(
    errors = errors, modes = count_modes(errors),
    share = sum(mass[polar > 5 * pi / 6]) / sum(mass)
  )
}

# The picture shows repeat 1.
figure1 <- function(repeats = 20) {
  lapply(figure1_rows, function(m) {
    all <- lapply(seq_len(repeats), sphere_posterior, m = m)
    modes <- vapply(all, `[[`, 0L, "modes")
    shares <- vapply(all, `[[`, 0, "share")
    list(
      m = m, errors = all[[1]]$errors, repeats = repeats, modes = mean(modes),
      several = mean(modes > 1), share = mean(shares)
    )
  })
}

# ---- figure 3: samples for several noise rates ------------------------------

figure3_rates <- c(0, 0.1, 0.2)
figure3_draws <- 50
figure3_kernel <- function() kernel_gaussian(1)
figure3_data <- function(seed) sim_moons(76, seed = seed)

figure3_fit <- function(data, q, seed) {
  papers_kgs(data, figure3_kernel(), q, sampled(figure3_draws, 10, FALSE), seed)
}

picture_grid <- function(n) {
  expand.grid(
    x1 = seq(-3.2, 4.8, length.out = n), x2 = seq(-2.8, 3.6, length.out = n)
  )
}

# Share of pairs of draws that differ, averaged over the columns of a matrix
# draws x points of signs.
disagreement <- function(positive) {
  draws <- nrow(positive)
  yes <- colSums(positive)
  mean(2 * yes * (draws - yes) / (draws * (draws - 1)))
}

# Errors are relative to labels before flips; none are flipped here. Rejection
# is by votes, of those test rows that are least certain.
figure3_scores <- function(data, q, seed) {
  fit <- figure3_fit(data, q, seed)
  test <- sim_moons(2000, seed = 1000 + seed, truth = TRUE)
  votes <- stats::predict(fit, test, type = "vote")
  signs <- stats::predict(fit, test, type = "draws") > 0
  trained <- stats::predict(fit, type = "draws") > 0
  truth <- test$clean == levels(test$clean)[[2]]
  label <- as.integer(data$y) == 2
  rejected <- function(share) {
    class <- stats::predict(fit, test, complement = FALSE, reject = share)
    mean((class != test$clean)[!is.na(class)])
  }
  grid <- stats::predict(fit, picture_grid(40), type = "draws") > 0
  data.frame(
    q = q, train_errors = mean(rowSums(sweep(trained, 2, label, `!=`))),
    differ_train = disagreement(trained), differ_test = disagreement(signs),
    differ_grid = disagreement(grid),
    vote = share_wrong(votes[, 2] > 0.5, truth),
    bpm = share_wrong(stats::predict(fit, test, type = "bpm"), test$clean),
    single = mean(sweep(signs, 2, truth, `!=`)),
    reject_10 = rejected(0.1), reject_40 = rejected(0.4)
  )
}

# For the picture: the points, and f of each draw on a grid, one bit each.
figure3_picture <- function(n = 100, draws = figure3_draws) {
  data <- figure3_data(1)
  grid <- picture_grid(n)
  fits <- lapply(figure3_rates, function(q) figure3_fit(data, q, 1))
  list(
    data = data, rates = figure3_rates, x1 = unique(grid$x1),
    x2 = unique(grid$x2), share = lapply(fits, function(fit) {
      f <- stats::predict(fit, grid, type = "draws") > 0
      matrix(colMeans(f), n)
    }),
    draws = lapply(fits, function(fit) {
      f <- stats::predict(fit, grid, type = "draws", ndraws = draws)
      array(t(f > 0), c(n, n, draws))
    })
  )
}

# ---- figure 4: Bayes points and support vector machines ---------------------

figure4_rates <- c(0.01, 0.05, 0.1, 0.2, 0.3, 0.4)
figure4_slacks <- c(0.001, 0.01, 0.1, 0.3, 0.5, 1, 2, 5, 10, 20, 50)
figure4_flips <- 0.05

sphere_matrix <- function(data) as.matrix(data[c("x1", "x2", "x3")])

# The machine with quadratic slacks and no bias: a hard margin in the kernel
# K + lambda I. Its dual is: minimise a' Q a / 2 - sum(a), a >= 0, with
# Q = y y' (K + lambda I). At the minimum sum(a) is the squared length of the
# weights, at most n / lambda, so the bound that ipop() requires never matters.
# `gap`: violation of the optimality conditions, in units of the margin.
slack_machine <- function(x, sign, lambda) {
  n <- nrow(x)
  q <- tcrossprod(x * sign) + diag(lambda, n)
  # Solved for lambda a, whose size depends less on lambda.
  solution <- kernlab::ipop(
    c = rep(-1, n), H = q / lambda, A = matrix(1, 1, n), b = 0, r = n,
    l = rep(0, n), u = rep(n, n), maxiter = 200
  )
  a <- kernlab::primal(solution) / lambda
  slope <- (q %*% a)[, 1] - 1
  list(
    weights = crossprod(x, sign * a)[, 1],
    gap = max(-min(slope), abs(sum(a * slope)) / sum(a), 0)
  )
}

# `error`: for labels with flips, as in the paper; `clean`: before flips.
sphere_scores <- function(guess, test) {
  data.frame(
    error = share_wrong(guess, test$y), clean = share_wrong(guess, test$clean)
  )
}

figure4_machines <- function(fit, test) {
  sign <- 2 * as.integer(fit$y) - 3
  lines <- lapply(figure4_slacks, function(lambda) {
    made <- slack_machine(sphere_matrix(fit), sign, lambda)
    positive <- sphere_matrix(test) %*% made$weights > 0
    guess <- levels(test$y)[1 + positive]
    data.frame(setting = lambda, sphere_scores(guess, test), gap = made$gap)
  })
  do.call(rbind, lines)
}

figure4_points <- function(fit, test, seed, quick) {
  lines <- lapply(figure4_rates, function(q) {
    made <- papers_kgs(
      fit, kernel_linear(), q, sampled(100, 10, quick), seed
    )
    guess <- stats::predict(made, test, type = "bpm")
    data.frame(setting = q, sphere_scores(guess, test), gap = NA)
  })
  do.call(rbind, lines)
}

figure4_scores <- function(method, seed, quick) {
  fit <- sim_sphere(100, flips = figure4_flips, seed = seed)
  test <- sim_sphere(1000,
    flips = figure4_flips, seed = 1000 + seed, truth = TRUE
  )
  switch(method,
    bpm = figure4_points(fit, test, seed, quick),
    svm = figure4_machines(fit, test)
  )
}

# For each penalty: the machine's error minus the mean of the Bayes point's over
# the rates, on the same rows.
figure4_versus <- function(runs) {
  points <- runs[runs$method == "bpm", ]
  mean_error <- tapply(points$error, points$set, mean)
  machines <- runs[runs$method == "svm", ]
  machines$error <- machines$error - mean_error[as.character(machines$set)]
  mean_table(machines, "setting", "error")
}

# ---- learned noise ----------------------------------------------------------

learned_flips <- c(learned_0 = 0, learned_10 = 0.1, learned_20 = 0.2)
fixed_rates <- c(0.02, 0.05, 0.1, 0.2, 0.3)
learned_methods <- c("learned", paste0("q_", fixed_rates))

# Moons that overlap less than in figure 3: the noise is in the labels.
learned_sd <- 0.35

# The errors are relative to labels before flips.
learned_scores <- function(name, method, seed, quick) {
  fit <- sim_moons(
    120,
    sd = learned_sd, flips = learned_flips[[name]], seed = seed
  )
  test <- sim_moons(2000, sd = learned_sd, seed = 1000 + seed, truth = TRUE)
  noise <- if (method == "learned") {
    noise_beta()
  } else {
    as.numeric(sub("q_", "", method))
  }
  control <- list(
    chains = 2, warmup = if (quick) 100 else 500,
    iter = if (quick) 200 else 1000
  )
  made <- papers_kgs(fit, kernel_gaussian(1), noise, control, seed)
  p <- stats::predict(made, test, type = "true_prob")
  truth <- as.integer(test$clean)
  data.frame(
    error = mean(max.col(p, ties.method = "first") != truth),
    log_loss = -mean(log(pmax(p[cbind(seq_along(truth), truth)], 1e-6))),
    q = if (is.numeric(noise)) noise else mean_draws(made, "q")
  )
}

mean_draws <- function(fit, name) {
  mean(posterior::extract_variable(as_draws(fit), name))
}
