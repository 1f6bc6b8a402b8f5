# The data sets of Ouyang, Clyde and Wolpert (2008), split as in the paper.
# Sourced by tools/reproduce/bark.R and tools/bench/bark.R.
#
# Simulated: 200 rows to fit and 1000 more to test; repeat r uses seeds r and
# 1000 + r. The paper states 200 rows only for Friedman 2 and 3. Friedman's
# second predictor is uniform on [40 pi, 560 pi], as in his article; the paper
# omits pi.
# Real: five folds. Repeat r shuffles the rows by sample(n) after set.seed(r);
# the rows to fit stay in that order.

simulated_rows <- c(fit = 200, test = 1000)

friedman_set <- function(which) {
  list(
    family = "regression", folds = 1,
    sample = function(n, seed) {
      sim_friedman(n, which = which, seed = seed, truth = TRUE)
    }
  )
}

circle_set <- function(p) {
  list(
    family = "classes", folds = 1,
    sample = function(n, seed) sim_circle(n, p, seed = seed)
  )
}

# `read` returns a list: `x`, a numeric matrix, and `y`.
real_set <- function(family, read) {
  list(family = family, folds = 5, read = read)
}

# The columns of a data frame except the response and those in `drop`.
split_response <- function(data, response, drop = character()) {
  x <- data[setdiff(names(data), c(response, drop))]
  list(
    x = vapply(x, as_numbers, numeric(nrow(data))), y = data[[response]]
  )
}

# Indicators stored as factors with levels "0" and "1".
as_numbers <- function(v) {
  if (is.factor(v)) as.numeric(as.character(v)) else as.numeric(v)
}

from_package <- function(name, package) {
  space <- new.env()
  utils::data(list = name, package = package, envir = space)
  space[[name]]
}

read_bank <- function() {
  bank <- from_package("banknote", "mclust")
  bank$Status <- factor(bank$Status, c("genuine", "counterfeit"))
  split_response(bank, "Status")
}

# The second column is constant.
read_ionosphere <- function() {
  split_response(from_package("Ionosphere", "mlbench"), "Class", "V2")
}

# Keeps the density, from which the response was computed.
read_bodyfat <- function() {
  split_response(
    from_package("bodyfat", "mfp"), "siri", c("case", "brozek")
  )
}

read_basketball <- function() {
  file <- system.file("extdata", "basketball.csv", package = "kernelbayes")
  split_response(utils::read.csv(file), "points_per_minute")
}

bark_sets <- list(
  friedman1 = friedman_set(1), friedman2 = friedman_set(2),
  friedman3 = friedman_set(3),
  boston = real_set("regression", function() {
    split_response(from_package("Boston", "MASS"), "medv")
  }),
  bodyfat = real_set("regression", read_bodyfat),
  basketball = real_set("regression", read_basketball),
  circle2 = circle_set(2), circle5 = circle_set(5), circle20 = circle_set(20),
  bank = real_set("classes", read_bank),
  wdbc = real_set("classes", function() {
    split_response(from_package("wdbc", "mclust"), "Diagnosis", "ID")
  }),
  ionosphere = real_set("classes", read_ionosphere)
)

predictors <- function(data) {
  as.matrix(data[startsWith(names(data), "x")])
}

# `x`, `y`: rows to fit; `new`, `y_new`: rows to test, with their mean `f_new`
# if known.
simulated_split <- function(set, r) {
  fit <- set$sample(simulated_rows[["fit"]], r)
  test <- set$sample(simulated_rows[["test"]], 1000 + r)
  list(
    x = predictors(fit), y = fit$y, new = predictors(test), y_new = test$y,
    f_new = test$f
  )
}

folded_split <- function(set, r, fold) {
  data <- set$read()
  set.seed(r)
  rows <- sample(nrow(data$x))
  out <- rep_len(seq_len(set$folds), length(rows)) == fold
  list(
    x = data$x[rows[!out], ], y = data$y[rows[!out]],
    new = data$x[rows[out], ], y_new = data$y[rows[out]]
  )
}

split_for <- function(name, r, fold) {
  set <- bark_sets[[name]]
  if (is.null(set$read)) {
    simulated_split(set, r)
  } else {
    folded_split(set, r, fold)
  }
}

# All rows, for the figures.
whole_data <- function(name) {
  set <- bark_sets[[name]]
  if (is.null(set$read)) {
    return(simulated_split(set, 1)[c("x", "y")])
  }
  set$read()
}
