# Data with states and sensors, and peers that learn from the same period.
# Sourced by kbr_hmm-sensor.R.

levels19 <- 1:19 / 20

# ---- data -----------------------------------------------------------------

# A data set of a source package from CRAN; the package is not installed.
package_data <- function(package, object, folder = sensor_folder) {
  file <- file.path(folder, package, "data", paste0(object, ".rda"))
  if (!file.exists(file)) {
    dir.create(folder, showWarnings = FALSE, recursive = TRUE)
    got <- utils::download.packages(package, folder, type = "source")
    utils::untar(got[1, 2], exdir = folder)
  }
  seen <- new.env()
  load(file, seen)
  seen[[object]]
}

# "wifi"  position of a person (metres) from the strength of WiFi signals
# "air"   nitrogen oxides (log ppb, log ug/m3) from five cheap gas sensors
#
# Names ending in "tune" are for choosing settings, the others for reports. The
# test walks of "wifi" are those of another person, at places partly between
# those of training; nothing observes the position across the corridor.
sensor_data <- function(name = c("wifi", "wifi-tune", "air", "air-tune")) {
  switch(match.arg(name),
    "wifi" = wifi_data(),
    "wifi-tune" = wifi_split(wifi_data()$train, c(1, 2, 3, 4, 5)),
    "air" = air_data(7112:8511, 8512:9357),
    "air-tune" = air_data(2075:3074, 3075:3513))
}

# Survey of a corridor with a phone: eight walkers, then five later walks in
# between the surveyed places. A signal too weak to be seen counts as -100 dBm;
# access points seen in less than 5% of the training scans are left out.
wifi_data <- function() {
  train <- package_data("ipft", "ipftrain")
  test <- package_data("ipft", "ipftest")
  often <- colMeans(!is.na(train[, 1:168])) >= 0.05
  part <- function(x, group) {
    y <- as.matrix(x[, 1:168])[, often]
    y[is.na(y)] <- -100
    list(states = as.matrix(x[, c("X", "Y")]), observations = y,
      group = group)
  }
  breaks <- cumsum(c(TRUE, abs(diff(test$TIMESTAMP)) > 60))
  list(train = part(train, train$USERID), test = part(test, breaks))
}

wifi_split <- function(x, walkers) {
  first <- x$group %in% walkers
  lapply(list(train = first, test = !first), function(rows) {
    list(states = x$states[rows, ], observations = x$observations[rows, ],
      group = x$group[rows])
  })
}

# Hourly data of 2004-5 (UCI Air Quality). The rows of the package are in
# random order: their names are the hours. -200 means missing. In training,
# gaps of up to 3 hours are filled by lines, longer ones start a new group;
# nothing is filled in the test period.
air_data <- function(train, test) {
  x <- package_data("conTree", "air_quality")$xco
  x <- x[order(as.integer(rownames(x))), ]
  x[x == -200] <- NA
  states <- log(as.matrix(x[c("NOx.GT.", "NO2.GT.")]))
  sensors <- log(as.matrix(x[grep("^PT08", names(x))]))
  both <- apply(cbind(states, sensors)[train, ], 2, fill_short)
  whole <- stats::complete.cases(both)
  group <- cumsum(c(1, diff(whole) == 1))[whole]
  list(
    train = list(states = both[whole, 1:2], observations = both[whole, -(1:2)],
      group = group),
    test = list(states = states[test, ], observations = sensors[test, ],
      group = rep(1, length(test))))
}

fill_short <- function(x, longest = 3) {
  gap <- rle(is.na(x))
  short <- rep(gap$values & gap$lengths <= longest, gap$lengths)
  x[short] <- stats::approx(seq_along(x), x, which(short))$y
  x
}

# ---- helpers ----------------------------------------------------------------

# The row `lag` steps earlier, but not before the start of its group.
earlier <- function(group, lag) {
  start <- match(group, group)
  pmax(seq_along(group) - lag, start)
}

# Last observation carried forward, for methods that need complete rows.
carry <- function(y) {
  seen <- stats::complete.cases(y)
  y[cummax(ifelse(seen, seq_along(seen), which(seen)[1])), , drop = FALSE]
}

# Observations at lags 0, ..., k; one step later if `ahead`.
lagged <- function(x, k, ahead) {
  y <- carry(x$observations)
  lags <- (0:k) + ahead
  all <- lapply(lags, function(lag) y[earlier(x$group, lag), , drop = FALSE])
  all <- do.call(cbind, all)
  colnames(all) <- paste0("v", seq_len(ncol(all)))
  all
}

usable <- function(x, ahead) {
  if (ahead) duplicated(x$group) else rep(TRUE, length(x$group))
}

gaussian <- function(mean, sd) {
  sd <- pmax(sd, 1e-12)
  quantiles <- vapply(levels19, function(p) mean + stats::qnorm(p) * sd, mean)
  list(mean = mean, quantiles = quantiles)
}

# Apply a filter to each group by itself.
by_group <- function(group, one) {
  rows <- split(seq_along(group), group)
  parts <- lapply(rows, one)
  back <- order(unlist(rows))
  bind <- function(what) do.call(rbind, lapply(parts, `[[`, what))[back, ]
  gaussian(bind("mean"), bind("sd"))
}

# Least squares for x' = A x + e, y = C x + u about the means.
linear_model <- function(states, observations, group) {
  x <- scale(states, scale = FALSE)
  y <- scale(observations, scale = FALSE)
  to <- which(duplicated(group))
  from <- earlier(group, 1)[to]
  A <- t(qr.coef(qr(x[from, , drop = FALSE]), x[to, , drop = FALSE]))
  C <- t(qr.coef(qr(x), y))
  list(A = A, C = C, P = stats::cov(x),
    Q = stats::cov(x[to, ] - x[from, ] %*% t(A)),
    R = stats::cov(y - x %*% t(C)),
    mx = attr(x, "scaled:center"), my = attr(y, "scaled:center"))
}

# Means and standard deviations of the Kalman filter (or one step ahead).
kalman <- function(model, y, ahead) {
  m <- 0 * model$mx
  P <- model$P
  mean <- sd <- matrix(0, nrow(y), length(m))
  for (i in seq_len(nrow(y))) {
    if (i > 1) {
      m <- model$A %*% m
      P <- model$A %*% P %*% t(model$A) + model$Q
    }
    if (ahead) keep <- list(m, P)
    if (!anyNA(y[i, ])) {
      S <- model$C %*% P %*% t(model$C) + model$R
      gain <- P %*% t(model$C) %*% solve(S + diag(1e-9 * diag(S), nrow(S)))
      m <- m + gain %*% (y[i, ] - model$my - model$C %*% m)
      P <- P - gain %*% model$C %*% P
    }
    if (!ahead) keep <- list(m, P)
    mean[i, ] <- keep[[1]] + model$mx
    sd[i, ] <- sqrt(pmax(diag(keep[[2]]), 0))
  }
  list(mean = mean, sd = sd)
}

# Principal components of the training observations, if there are many (5 was
# the best of 2, 3, 5, 10, 20 for KFAS on "wifi-tune"), made
# such that the errors of the regression on the states are uncorrelated.
whitened <- function(train, test, most) {
  y <- train$observations
  if (ncol(y) > most) {
    turn <- stats::prcomp(y)$rotation[, seq_len(most)]
    train$observations <- y %*% turn
    test$observations <- test$observations %*% turn
  }
  R <- linear_model(train$states, train$observations, train$group)$R
  W <- solve(chol(R))
  train$observations <- train$observations %*% W
  test$observations <- test$observations %*% W
  list(train = train, test = test)
}

# Rows of NA (or `value`) between the groups.
with_gaps <- function(x, group, gap = 24, value = NA) {
  parts <- lapply(split(seq_along(group), group), function(rows) {
    rbind(x[rows, , drop = FALSE], matrix(value, gap, ncol(x)))
  })
  do.call(rbind, parts)
}

# ---- peers: training data, test observations -> mean and quantiles -----------

# Regression of the state on the observation of the same time (or before).
lm_peer <- function(train, test, ahead) {
  rows <- usable(train, ahead)
  from <- cbind(1, lagged(train, 0, ahead))[rows, ]
  fit <- qr(from)
  x <- train$states[rows, ]
  rest <- colSums(qr.resid(fit, x)^2) / (nrow(from) - fit$rank)
  mean <- cbind(1, lagged(test, 0, ahead)) %*% qr.coef(fit, x)
  gaussian(mean, rep(sqrt(rest), each = nrow(mean)) + 0 * mean)
}

# State of the nearest observation of the training period.
nearest_peer <- function(train, test, ahead) {
  rows <- usable(train, ahead)
  from <- scale(lagged(train, 0, ahead)[rows, ])
  to <- scale(lagged(test, 0, ahead), attr(from, "scaled:center"),
    attr(from, "scaled:scale"))
  near <- apply(to, 1, function(y) which.min(colSums((t(from) - y)^2)))
  list(mean = train$states[rows, ][near, ])
}

# Forests of the states on the observations now and at k earlier times.
forest_fits <- function(train, k, ahead) {
  rows <- usable(train, ahead)
  from <- lagged(train, k, ahead)[rows, ]
  lapply(seq_len(ncol(train$states)), function(j) {
    ranger::ranger(x = from, y = train$states[rows, j], quantreg = TRUE,
      num.threads = 1, seed = 1)
  })
}

forest_peer <- function(train, test, ahead, lags = c(0, 1, 3, 6)) {
  tries <- lapply(lags, function(k) forest_fits(train, k, ahead))
  error <- vapply(tries, FUN.VALUE = 1, function(fits) {
    sum(vapply(fits, `[[`, 1, "prediction.error"))
  })
  best <- which.min(error)
  from <- lagged(test, lags[best], ahead)
  get <- function(fit, ...) {
    stats::predict(fit, from, num.threads = 1, ...)$predictions
  }
  q <- lapply(tries[[best]], get, type = "quantiles", quantiles = levels19)
  list(mean = vapply(tries[[best]], get, numeric(nrow(from))),
    quantiles = aperm(simplify2array(q), c(1, 3, 2)), lags = lags[best])
}

ls_kalman_peer <- function(train, test, ahead) {
  model <- linear_model(train$states, train$observations, train$group)
  by_group(test$group, function(rows) {
    kalman(model, test$observations[rows, , drop = FALSE], ahead)
  })
}

# A forest's prediction of the state is the observation of a Kalman filter,
# whose errors are those of the out-of-bag predictions.
forest_kalman_peer <- function(train, test, ahead) {
  fits <- forest_fits(train, 0, FALSE)
  out <- vapply(fits, `[[`, train$states[, 1], "predictions")
  model <- linear_model(train$states, out, train$group)
  now <- test$observations
  seen <- stats::complete.cases(now)
  y <- matrix(NA_real_, nrow(now), ncol(out))
  colnames(now) <- paste0("v", seq_len(ncol(now)))
  y[seen, ] <- vapply(fits, FUN.VALUE = numeric(sum(seen)), function(fit) {
    stats::predict(fit, now[seen, ], num.threads = 1)$predictions
  })
  by_group(test$group, function(rows) kalman(model, y[rows, ], ahead))
}

# KFAS: x is a VAR(1); a sensor is a linear function of x, plus an error that
# is an AR(1), plus a white one. As the states of the training period are
# known, the likelihood is a product over (whitened) sensors.
kfas_sensor <- function(y, x) {
  model <- KFAS::SSModel(y ~ x + SSMarima(ar = 0.5, Q = 0.5), H = 0.5)
  set <- function(p, model) {
    p <- c(stats::plogis(p[1]) * 0.999, exp(p[2:3]))
    ar <- KFAS::SSMarima(ar = p[1], Q = p[2])
    model["T", "arima"] <- ar$T
    model["Q", "arima"] <- p[2]
    model["P1", "arima"] <- ar$P1
    model["H"] <- p[3]
    model
  }
  fit <- KFAS::fitSSM(model, c(1, -1, -1), set, method = "BFGS")
  p <- fit$optim.out$par
  smooth <- KFAS::KFS(fit$model, smoothing = "state")$alphahat[1, ]
  list(b = smooth[1 + seq_len(ncol(x))], mean = smooth[[1]],
    phi = stats::plogis(p[1]) * 0.999, q = exp(p[2]), h = exp(p[3]))
}

kfas_model <- function(train) {
  model <- linear_model(train$states, train$observations, train$group)
  x <- sweep(train$states, 2, model$mx)
  x <- with_gaps(x, train$group, value = 0)
  y <- with_gaps(train$observations, train$group)
  fits <- lapply(seq_len(ncol(y)), function(j) kfas_sensor(y[, j], x))
  get <- function(what) vapply(fits, `[[`, 1, what)
  phi <- get("phi")
  block <- function(a, b) {
    z <- matrix(0, nrow(a), ncol(b))
    rbind(cbind(a, z), cbind(t(z), b))
  }
  list(mx = model$mx, my = get("mean"), H = diag(get("h")),
    Z = cbind(t(vapply(fits, `[[`, x[1, ], "b")), diag(length(fits))),
    T = block(model$A, diag(phi)), Q = block(model$Q, diag(get("q"))),
    P = block(model$P, diag(get("q") / (1 - phi^2))))
}

kfas_filter <- function(model, y, ahead) {
  y <- sweep(y, 2, model$my)
  m <- nrow(model$T)
  fit <- KFAS::SSModel(y ~ -1 + SSMcustom(Z = model$Z, T = model$T,
    R = diag(m), Q = model$Q, a1 = numeric(m), P1 = model$P), H = model$H)
  fit <- KFAS::KFS(fit, filtering = "state", smoothing = "none")
  mean <- if (ahead) fit$a else fit$att
  var <- if (ahead) fit$P else fit$Ptt
  rows <- seq_len(nrow(y))
  x <- seq_along(model$mx)
  list(mean = sweep(mean[rows, x, drop = FALSE], 2, model$mx, "+"),
    sd = t(apply(var[x, x, rows, drop = FALSE], 3, function(v) sqrt(diag(v)))))
}

kfas_peer <- function(train, test, ahead) {
  suppressPackageStartupMessages(require(KFAS, quietly = TRUE))
  x <- whitened(train, test, 5)
  model <- kfas_model(x$train)
  by_group(test$group, function(rows) {
    kfas_filter(model, x$test$observations[rows, , drop = FALSE], ahead)
  })
}

# dlm: the states are local levels, the sensors linear in them. The variances
# of the levels and the scale of the sensors' errors maximise the likelihood
# of the sensors in the training period.
dlm_build <- function(model, p) {
  d <- length(model$mx)
  dlm::dlm(m0 = numeric(d), C0 = model$P, FF = model$C, GG = diag(d),
    V = exp(p[d + 1]) * model$R, W = diag(exp(p[seq_len(d)]), d))
}

dlm_filter <- function(built, model, y, ahead) {
  fit <- dlm::dlmFilter(sweep(y, 2, model$my), built)
  rows <- seq_len(nrow(y))
  mean <- if (ahead) fit$a else as.matrix(fit$m)[rows + 1, , drop = FALSE]
  var <- if (ahead) dlm::dlmSvd2var(fit$U.R, fit$D.R) else
    dlm::dlmSvd2var(fit$U.C, fit$D.C)[-1]
  list(mean = sweep(matrix(mean, nrow(y)), 2, model$mx, "+"),
    sd = t(vapply(var, function(v) sqrt(diag(v)), model$mx)))
}

dlm_peer <- function(train, test, ahead) {
  x <- whitened(train, test, 5)
  model <- linear_model(train$states, x$train$observations, train$group)
  y <- with_gaps(sweep(x$train$observations, 2, model$my), train$group, 1)
  best <- dlm::dlmMLE(y, c(log(diag(model$Q)), 0),
    function(p) dlm_build(model, p))
  built <- dlm_build(model, best$par)
  by_group(test$group, function(rows) {
    dlm_filter(built, model, x$test$observations[rows, , drop = FALSE], ahead)
  })
}

sensor_peers <- list(
  "mean of training" = function(train, test, ahead) {
    mean <- test$states
    mean[] <- rep(colMeans(train$states), each = nrow(mean))
    gaussian(mean, rep(apply(train$states, 2, stats::sd), each = nrow(mean)) +
      0 * mean)
  },
  "lm" = lm_peer, "nearest neighbour" = nearest_peer,
  "forest on lags" = forest_peer, "least squares Kalman" = ls_kalman_peer,
  "KFAS" = kfas_peer, "dlm" = dlm_peer,
  "forest and Kalman" = forest_kalman_peer
)
