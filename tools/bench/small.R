# Small data: bark() by default beside lm() and mgcv::gam(), sets of R and MASS with
# 15 to 150 rows.
#
#   Rscript tools/bench/small.R --splits=10
#   --sets=choosing   the sets on which settings of the package may be chosen
#   --only=hills      one set
#   --linear=0.3      bark_prior(linear = ), for choosing
#   --centre-sd=1     centre_near_rows(), for choosing
#
# Settings are chosen on `choosing` only; nothing is ever chosen on the sets of
# `report`, whose list was committed before any of them was run, and a set does not
# move from one group to the other.
#
# Split s shuffles the rows by sample(n) after set.seed(s): two thirds, rounded, are
# for training. Rows with missing values are dropped first, and test rows with a
# level that no training row has. gam has a smooth (k at most 5) of each number with
# 8 distinct values or more, as long as there are two training rows per coefficient,
# by REML. Printed: the log of the ratio of RMSE to that of lm() and gam(), with its
# standard error over the splits, and the share of test rows in 90% prediction
# intervals.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "arguments.R"))
source(file.path(dirname(script), "report.R"))
refuse_unknown(options = c("splits", "sets", "only", "linear", "centre-sd"))

given <- function(name) {
  value <- option(name, "")
  if (nzchar(value)) as.numeric(value)
}
near <- given("centre-sd")
prior <- bark_prior(
  linear = given("linear"), centres = if (!is.null(near)) centre_near_rows(near)
)

data_of <- function(name, package) {
  as.data.frame(get(utils::data(
    list = name, package = package, envir = environment()
  )[[1]]))
}

# The response comes first.
set <- function(name, response, predictors = NULL, package = "datasets") {
  function() {
    data <- data_of(name, package)
    if (is.null(predictors)) predictors <- setdiff(names(data), response)
    data <- stats::na.omit(data[c(response, predictors)])
    data[] <- lapply(data, function(v) {
      if (is.ordered(v)) factor(v, ordered = FALSE) else v
    })
    names(data)[[1]] <- "y"
    names(data) <- make.names(names(data))
    data
  }
}

groups <- list(
  choosing = list(
    cars = set("cars", "dist"), swiss = set("swiss", "Fertility"),
    stackloss = set("stackloss", "stack.loss"),
    longley = set("longley", "Employed"), rock = set("rock", "perm"),
    attitude = set("attitude", "rating"),
    LifeCycleSavings = set("LifeCycleSavings", "sr"),
    ToothGrowth = set("ToothGrowth", "len"), trees = set("trees", "Volume"),
    mtcars = set("mtcars", "mpg"), airquality = set("airquality", "Ozone")
  ),
  report = list(
    freeny = set("freeny", "y"), iris = set("iris", "Sepal.Length"),
    CO2 = set("CO2", "uptake", c("Type", "Treatment", "conc")),
    state.x77 = set("state.x77", "Life Exp"),
    USJudgeRatings = set("USJudgeRatings", "RTEN"),
    warpbreaks = set("warpbreaks", "breaks"),
    chickwts = set("chickwts", "weight"),
    Loblolly = set("Loblolly", "height", "age"),
    hills = set("hills", "time", package = "MASS"),
    petrol = set("petrol", "Y", c("SG", "VP", "V10", "EP"), package = "MASS"),
    UScrime = set("UScrime", "y", package = "MASS"),
    UScereal = set("UScereal", "calories",
      c("protein", "fat", "sodium", "fibre", "carbo", "sugars"), "MASS"
    ),
    whiteside = set("whiteside", "Gas", package = "MASS"),
    cats = set("cats", "Hwt", package = "MASS"),
    anorexia = set("anorexia", "Postwt", package = "MASS"),
    Rubber = set("Rubber", "loss", package = "MASS")
  )
)

# ---- methods ----------------------------------------------------------------

by_bark <- function(train, test, split) {
  fit <- bark(y ~ ., train, prior = prior, seed = split, progress = FALSE)
  predict(fit, test, interval = "prediction")
}

by_lm <- function(train, test, split) {
  fit <- stats::lm(y ~ ., train)
  stats::predict(fit, test, interval = "prediction", level = 0.9)
}

by_gam <- function(train, test, split) {
  x <- setdiff(names(train), "y")
  distinct <- vapply(train[x], function(v) {
    if (is.numeric(v)) length(unique(v)) else 0L
  }, 0L)
  k <- pmin(5, nrow(train) %/% (2 * length(x)))
  smooth <- distinct >= 8 & k >= 3
  terms <- ifelse(smooth, sprintf("s(%s, k = %d)", x, k), x)
  fit <- mgcv::gam(stats::reformulate(terms, "y"), data = train, method = "REML")
  p <- stats::predict(fit, test, se.fit = TRUE)
  half <- stats::qt(0.95, fit$df.residual) * sqrt(p$se.fit^2 + fit$sig2)
  cbind(p$fit, p$fit - half, p$fit + half)
}

methods <- list(bark = by_bark, lm = by_lm, gam = by_gam)

# ---- splits -----------------------------------------------------------------

known_levels <- function(test, train) {
  known <- Map(function(v, of) {
    if (is.numeric(v)) TRUE else v %in% of
  }, test, train)
  test[Reduce(`&`, known, rep(TRUE, nrow(test))), ]
}

one_split <- function(data, split) {
  set.seed(split)
  train <- sample(nrow(data), round(2 / 3 * nrow(data)))
  train_rows <- droplevels(data[train, ])
  test <- known_levels(data[-train, ], train_rows)
  vapply(methods, function(method) {
    p <- suppressMessages(suppressWarnings(method(train_rows, test, split)))
    c(
      error = sqrt(mean((p[, 1] - test$y)^2)),
      cover = mean(test$y >= p[, 2] & test$y <= p[, 3])
    )
  }, c(error = 0, cover = 0))
}

row_of <- function(name, data, splits) {
  runs <- vapply(seq_len(splits), function(s) one_split(data, s),
    matrix(0, 2, length(methods))
  )
  error <- log(runs[1, , ])
  data.frame(
    data = name, rows = nrow(data), predictors = ncol(data) - 1,
    "to lm" = with_error(error[1, ] - error[2, ], 3),
    "to gam" = with_error(error[1, ] - error[3, ], 3),
    "90% of bark" = mean(runs[2, 1, ]), "of lm" = mean(runs[2, 2, ]),
    "of gam" = mean(runs[2, 3, ]), check.names = FALSE
  )
}

sets <- groups[[option("sets", "report")]]
only <- option("only", "")
if (nzchar(only)) sets <- sets[only]
splits <- as.integer(option("splits", "10"))
markdown(do.call(rbind, Map(
  function(name, read) row_of(name, read(), splits), names(sets), sets
)))
