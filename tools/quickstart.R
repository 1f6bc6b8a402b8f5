# A tour of the package: Rscript tools/quickstart.R
# Installs the package and what it needs, fits real data, compares its intervals
# with held-out rows and draws pictures.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(script), "deps.R"))
root <- dirname(dirname(script))
install_needs(root, "quickstart")
lib <- install_checkout(root)
library(kernelbayes, lib.loc = c(lib, .libPaths()))

# Next to the temporary folder of this process, which is deleted at the end.
folder <- tempfile("kernelbayes-quickstart-", dirname(tempdir()))
dir.create(folder)
picture <- function(name, draw) {
  file <- file.path(folder, name)
  type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
  grDevices::png(file, width = 1200, height = 900, res = 150, type = type)
  on.exit(grDevices::dev.off())
  draw()
}

# ---- Boston housing: 356 rows to fit, 150 to predict ------------------------

boston <- MASS::Boston
set.seed(1)
rows <- sample(nrow(boston))
train <- boston[rows[1:356], ]
test <- boston[rows[-(1:356)], ]

seconds <- system.time(
  fit <- srvm(medv ~ ., data = train, seed = 1, progress = FALSE)
)[["elapsed"]]
print(fit)

level <- .9
predicted <- predict(fit, test, interval = "prediction", level = level)
inside <- test$medv >= predicted[, "lwr"] & test$medv <= predicted[, "upr"]
rmse <- function(guess) sqrt(mean((test$medv - guess)^2))

cat(sprintf(
  paste0(
    "\nMASS::Boston, medv (thousands of dollars), %d rows fitted in %.1f s, ",
    "%d held out\n",
    "  coverage of the %.0f%% prediction intervals: %.1f%%\n",
    "  RMSE: %.2f   (predicting the mean: %.2f)\n",
    "  log evidence: %.1f (Monte Carlo standard error %.2f)\n"
  ),
  nrow(train), seconds, nrow(test), 100 * level, 100 * mean(inside),
  rmse(predicted[, "fit"]), rmse(mean(train$medv)),
  evidence(fit)$log_evidence, evidence(fit)$mc_se
))

picture("boston.png", function() {
  limits <- range(predicted, test$medv)
  colours <- c(outside = "#D55E00", inside = "#0072B2")
  colour <- colours[1 + inside]
  plot(test$medv, predicted[, "fit"],
    xlim = limits, ylim = limits, pch = c(17, 19)[1 + inside], cex = .7,
    col = colour, las = 1, bty = "l",
    xlab = "observed medv", ylab = "predicted medv",
    main = sprintf("Held-out rows with %.0f%% intervals", 100 * level)
  )
  segments(test$medv, predicted[, "lwr"], test$medv, predicted[, "upr"],
    col = grDevices::adjustcolor(colour, .5)
  )
  abline(0, 1, lty = 2)
  legend("topleft",
    c("outside their interval", "inside", "observed = predicted"),
    col = c(colours, "black"), pch = c(17, 19, NA), lty = c(1, 1, 2), bty = "n"
  )
})

picture("diagnostics.png", function() {
  par(mfrow = c(3, 1), mar = c(4, 4, 2, 1), cex = 0.8)
  for (type in c("ess", "k", "evidence")) {
    plot(fit, type = type)
  }
})

# ---- The same rows, one scale per predictor ---------------------------------

seconds <- system.time(
  additive <- bark(medv ~ .,
    data = train, seed = 1, progress = FALSE,
    control = mcmc_control(chains = 2, warmup = 500, iter = 2000, thin = 2)
  )
)[["elapsed"]]
cat("\n")
print(additive)

predicted <- predict(additive, test, interval = "prediction", level = level)
inside <- test$medv >= predicted[, "lwr"] & test$medv <= predicted[, "upr"]
cat(sprintf(
  paste0(
    "\nbark(), two chains in %.1f s\n",
    "  coverage of the %.0f%% prediction intervals: %.1f%%\n",
    "  RMSE: %.2f\n"
  ),
  seconds, 100 * level, 100 * mean(inside), rmse(predicted[, "fit"])
))

picture("importance.png", function() plot(importance(additive)))

# ---- Classes, some of them wrong: sonar echoes of mines and rocks ------------

sonar <- get(data("Sonar", package = "mlbench"))
rows <- sample(nrow(sonar))
train <- sonar[rows[1:140], ]
test <- sonar[rows[-(1:140)], ]
seconds <- system.time(
  classes <- kgs(Class ~ ., data = train, seed = 1, progress = FALSE)
)[["elapsed"]]
cat("\n")
print(classes)
probability <- predict(classes, test, type = "prob")
chosen <- probability[cbind(seq_len(nrow(test)), as.integer(test$Class))]
cat(sprintf(
  paste0(
    "\nmlbench::Sonar, %d rows fitted in %.1f s, %d held out\n",
    "  wrong classes: %.1f%%, log loss: %.3f\n"
  ),
  nrow(train), seconds, nrow(test),
  100 * mean(predict(classes, test) != test$Class), -mean(log(chosen))
))

# ---- A likelihood without a formula: the level of Lake Huron -----------------

# An autoregression over 98 years, known only through simulations: coefficient
# and standard deviation of the noise from three summaries of a series.
summaries <- function(level) {
  level <- level - mean(level)
  lagged <- function(k) {
    sum(utils::head(level, -k) * utils::tail(level, -k)) / sum(level^2)
  }
  c(lag_1 = lagged(1), lag_2 = lagged(2), steps = log(sd(diff(level))))
}
autoregression <- function(theta) {
  level <- rnorm(nrow(theta), sd = theta$sd / sqrt(1 - theta$coefficient^2))
  series <- matrix(level, nrow(theta), 98)
  for (t in 2:98) {
    series[, t] <- theta$coefficient * series[, t - 1] +
      rnorm(nrow(theta), sd = theta$sd)
  }
  t(apply(series, 1, summaries))
}
draw_prior <- function(n) {
  data.frame(coefficient = runif(n, -0.98, 0.98), sd = runif(n, 0.1, 2))
}
seconds <- system.time({
  pairs <- kbr_simulate(draw_prior, autoregression, n = 3000, seed = 1)
  lake <- tune_kbr(pairs, scale = TRUE, rank = 100, progress = FALSE)$fit
  observed <- t(summaries(LakeHuron))
  estimate <- predict(lake, observed)
})[["elapsed"]]
likelihood <- stats::arima(LakeHuron, c(1, 0, 0))
cat("\n")
print(lake)
cat(sprintf(
  paste0(
    "\nLakeHuron, autoregression, 3000 simulations and tuning in %.1f s\n",
    "  posterior mean without a likelihood: coefficient %.2f, sd %.2f\n",
    "  maximum likelihood:                  coefficient %.2f, sd %.2f\n"
  ),
  seconds, estimate[[1]], estimate[[2]], stats::coef(likelihood)[["ar1"]],
  sqrt(likelihood$sigma2)
))

picture("lake.png", function() plot(lake, observed))

# ---- Where does the camera point? 1800 pictures with answers, 200 without ----

camera <- camera_data()
learn <- which(camera$train)
follow <- max(learn) + 1:200
seconds <- system.time({
  hmm <- kbr_hmm(camera$rotations[learn, ], camera$frames[learn, ],
    space = "rotation", seed = 1, progress = FALSE
  )
  filtered <- kbr_filter(hmm, camera$frames[follow, ], progress = FALSE)
})[["elapsed"]]
cat("\n")
print(hmm)
angle <- acos(pmin((rowSums(
  predict(filtered) * camera$rotations[follow, ]
) - 1) / 2, 1))
cat(sprintf(
  paste0(
    "\nCamera, %d pictures to learn from and %d to follow: %.0f s\n",
    "  off by %.1f degrees (median), %.1f at most in 9 of 10 pictures\n"
  ),
  length(learn), length(follow), seconds, 180 / pi * median(angle),
  180 / pi * stats::quantile(angle, 0.9)
))

picture("camera.png", function() {
  plot(filtered, truth = camera$rotations[follow, ])
})

# ---- A curve: 50 noisy points of sinc ---------------------------------------

curve_data <- sim_sinc(50, sd = .1, seed = 1)
curve_fit <- srvm(y ~ x,
  data = curve_data, kernel = kernel_gaussian(.2), seed = 1, progress = FALSE
)

picture("sinc.png", function() {
  plot(curve_fit, level = level)
  x <- seq(-10, 10, length.out = 400)
  lines(x, ifelse(x == 0, 1, sin(x) / x), lty = 2, lwd = 1.5)
  legend("topright", "true function", lty = 2, lwd = 1.5, bty = "n")
})

cat("\nPictures:\n")
cat(paste0("  ", file.path(folder, c(
  "boston.png", "diagnostics.png", "importance.png", "lake.png", "camera.png",
  "sinc.png"
))), sep = "\n")
