# A tour of the package, in three minutes on a machine with only R and a
# compiler: Rscript tools/quickstart.R
# Installs the package and what it needs into a library of its own, fits real
# data with default calls, compares intervals with held-out rows and draws
# pictures.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(script), "deps.R"))
root <- dirname(dirname(script))
lib <- use_own_library("kernelbayes")
install_needs(root, "quickstart")
install_checkout(root)
library(kernelbayes)

# Next to the temporary folder of this process, which is deleted at the end.
folder <- tempfile("kernelbayes-quickstart-", dirname(tempdir()))
dir.create(folder)
pictures <- character()
picture <- function(name, draw) {
  file <- file.path(folder, name)
  type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
  grDevices::png(file, width = 1200, height = 900, res = 150, type = type)
  on.exit(grDevices::dev.off())
  draw()
  pictures <<- c(pictures, file)
}

part <- function(...) cat("\n---- ", ..., " ----\n\n", sep = "")
level <- .9
rmse <- function(guess) sqrt(mean((test$medv - guess)^2))

part("A curve and its noise: prices of 506 tracts in Boston")

boston <- MASS::Boston
curve <- bark(medv ~ lstat, data = boston, sigma = ~lstat, seed = 1)
print(curve)

picture("curve.png", function() {
  plot(curve, level = level,
    xlab = "poorer residents (%)", ylab = "median price ($1000)"
  )
})

part("All 13 predictors: 356 tracts to learn from, 150 to predict")

set.seed(1)
rows <- sample(nrow(boston))
train <- boston[rows[1:356], ]
test <- boston[rows[-(1:356)], ]
seconds <- system.time(
  fit <- bark(medv ~ ., data = train, seed = 1)
)[["elapsed"]]
print(fit)

predicted <- predict(fit, test, interval = "prediction", level = level)
inside <- test$medv >= predicted[, "lwr"] & test$medv <= predicted[, "upr"]
linear <- stats::predict(stats::lm(medv ~ ., train), test)
cat(sprintf(
  paste0(
    "\nFitted in %.1f s. Of the 150 prices held out, %.0f%% are inside their ",
    "%.0f%% intervals.\n",
    "Root mean squared error: %.2f (lm(): %.2f, mean: %.2f)\n"
  ),
  seconds, 100 * mean(inside), 100 * level, rmse(predicted[, "fit"]),
  rmse(linear), rmse(mean(train$medv))
))

picture("importance.png", function() plot(importance(fit)))

part("Rows one by one: srvm(), whose fits can take in more")

waves <- sim_sinc(60, sd = .1, seed = 1)
first <- srvm(y ~ x, data = waves[1:40, ], seed = 1)
second <- update(first, waves[41:60, ])
print(second)

picture("sinc.png", function() {
  plot(second, level = level)
  x <- seq(-10, 10, length.out = 400)
  lines(x, ifelse(x == 0, 1, sin(x) / x), lty = 2, lwd = 1.5)
  legend("topright", "true function", lty = 2, lwd = 1.5, bty = "n")
})

part("Classes, some of them wrong: sonar echoes of mines and rocks")

sonar <- get(data("Sonar", package = "mlbench"))
rows <- sample(nrow(sonar))
train <- sonar[rows[1:140], ]
test <- sonar[rows[-(1:140)], ]
seconds <- system.time(
  classes <- kgs(Class ~ ., data = train, seed = 1)
)[["elapsed"]]
print(classes)
probability <- predict(classes, test, type = "prob")
chosen <- probability[cbind(seq_len(nrow(test)), as.integer(test$Class))]
cat(sprintf(
  "\nFitted in %.1f s. Of %d echoes held out, %.0f%% wrong; log loss %.2f\n",
  seconds, nrow(test),
  100 * mean(predict(classes, test) != test$Class), -mean(log(chosen))
))

part("A simulator, no likelihood: the level of Lake Huron")

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
  lake <- kbr(pairs)
  observed <- t(summaries(LakeHuron))
  estimate <- predict(lake, observed)
})[["elapsed"]]
likelihood <- stats::arima(LakeHuron, c(1, 0, 0))
print(lake)
cat(sprintf(
  paste0(
    "\n3000 simulations, learnt in %.1f s\n",
    "  posterior mean without a likelihood: coefficient %.2f, sd %.2f\n",
    "  maximum likelihood:                  coefficient %.2f, sd %.2f\n"
  ),
  seconds, estimate[[1]], estimate[[2]], stats::coef(likelihood)[["ar1"]],
  sqrt(likelihood$sigma2)
))

picture("lake.png", function() plot(lake, observed))

part("Where does the camera point? 1800 pictures with answers, 200 without")

camera <- camera_data()
learn <- which(camera$train)
follow <- max(learn) + 1:200
seconds <- system.time({
  hmm <- kbr_hmm(camera$rotations[learn, ], camera$frames[learn, ],
    space = "rotation", seed = 1
  )
  filtered <- kbr_filter(hmm, camera$frames[follow, ])
})[["elapsed"]]
print(hmm)
angle <- acos(pmin((rowSums(
  predict(filtered) * camera$rotations[follow, ]
) - 1) / 2, 1))
cat(sprintf(
  paste0(
    "\n%d pictures to learn from and %d to follow: %.0f s\n",
    "  off by %.1f degrees (median), %.1f at most in 9 of 10 pictures\n"
  ),
  length(learn), length(follow), seconds, 180 / pi * median(angle),
  180 / pi * stats::quantile(angle, 0.9)
))

picture("camera.png", function() {
  plot(filtered, truth = camera$rotations[follow, ])
})

part("What next")

cat("Pictures, the first to show a colleague:\n", paste0("  ", pictures, "\n"),
  "\nIn R:\n  library(kernelbayes, lib.loc = ", deparse(lib), ")\n",
  "  vignette(\"kernelbayes\") is in vignettes/kernelbayes.Rmd\n",
  sep = ""
)
