# The data of the league: sets, splits and training rows. Sourced by league.R,
# after tools/reproduce/bark-data.R, and by data-raw/bench/uci.R.
#
# Settings of this package are chosen on the sets of `tuning` only. The other
# groups are for reports: nothing is ever chosen on them, and a set does not
# move from one group to another. This list was fixed before any of them was
# run.
#
# tuning    nine sets of the UCI repository, at most 300 training rows
# uci       six further ones, at most 500
# packages  14 numeric responses of R packages, at most 200
# classes   8 sets with two classes, likewise
#
# Four sets of `packages` hold the same measurements as sets of `tuning`, with
# other columns or splits (`seen`): tables give means without them too.
#
# Splits 1 to 5. UCI sets: the first five columns of the published masks, rows
# by a fixed rule, see data-raw/bench/uci.R. Sets of packages: split s shuffles
# the rows by sample(n) after set.seed(s); two thirds of them, rounded, and no
# more than the training rows above, are for training, and the next ones, at
# most 1000, for tests. Rows with missing values are dropped first.
#
# In each split predictors that are constant in its training rows are left out,
# and so are test rows with a level of a factor that no training row has.

league_groups <- list(
  tuning = c(
    "autompg", "yacht", "energy", "concrete", "servo", "stock", "airfoil",
    "machine", "forest"
  ),
  uci = c("wine", "kin40k", "protein", "pol", "bike", "elevators"),
  packages = c(
    "Boston", "airquality", "mtcars", "mcycle", "concrete", "ames", "Auto",
    "Hitters", "Wage", "Ozone", "Servo", "Chicago", "quakes", "cpus"
  ),
  classes = c(
    "Sonar", "Ionosphere", "Pima", "two_class_dat", "crabs", "Default",
    "attrition", "spam"
  )
)

report_groups <- c("uci", "packages", "classes")
most_splits <- 5

most_training_rows <- c(tuning = 300, uci = 500, packages = 200, classes = 200)
most_test_rows <- c(tuning = 2000, uci = 2000, packages = 1000, classes = 1000)

seen <- c("concrete", "Auto", "Servo", "cpus")

# ---- sets of packages -------------------------------------------------------

league_set <- function(package, response, drop = character(), name = NULL,
                       change = identity) {
  list(
    package = package, response = response, drop = drop, name = name,
    change = change
  )
}

numeric_columns <- function(data) data[vapply(data, is.numeric, NA)]

with_numbers <- function(columns) {
  function(data) {
    data[columns] <- lapply(data[columns], function(v) {
      as.numeric(as.character(v))
    })
    data
  }
}

log_price <- function(data) {
  data$Sale_Price <- log10(data$Sale_Price)
  numeric_columns(data)
}

# ames: numeric columns only, the price as a logarithm. Auto: the origin is a
# number, as in its package. Ozone: month and days are numbers. Ionosphere: V2
# is constant. Pima: rows without missing values. crabs: the species.
package_sets <- list(
  Boston = league_set("MASS", "medv"),
  airquality = league_set("datasets", "Ozone"),
  mtcars = league_set("datasets", "mpg"),
  mcycle = league_set("MASS", "accel"),
  concrete = league_set("modeldata", "compressive_strength"),
  ames = league_set("modeldata", "Sale_Price", change = log_price),
  Auto = league_set("ISLR", "mpg", "name"),
  Hitters = league_set("ISLR", "Salary"),
  Wage = league_set("ISLR", "wage", c("logwage", "region")),
  Ozone = league_set("mlbench", "V4",
    change = with_numbers(c("V1", "V2", "V3"))
  ),
  Servo = league_set("mlbench", "Class"),
  Chicago = league_set("modeldata", "ridership", "date"),
  quakes = league_set("datasets", "mag"),
  cpus = league_set("MASS", "perf", c("name", "estperf")),
  Sonar = league_set("mlbench", "Class"),
  Ionosphere = league_set("mlbench", "Class", "V2",
    change = with_numbers("V1")
  ),
  Pima = league_set("mlbench", "diabetes", name = "PimaIndiansDiabetes2"),
  two_class_dat = league_set("modeldata", "Class"),
  crabs = league_set("MASS", "sp", "index"),
  Default = league_set("ISLR", "default"),
  attrition = league_set("modeldata", "Attrition"),
  spam = league_set("kernlab", "type")
)

# Ordered levels become their numbers: not all methods take them.
read_package_set <- function(name, sets = package_sets) {
  set <- sets[[name]]
  source <- if (is.null(set$name)) name else set$name
  data <- set$change(as.data.frame(from_package(source, set$package)))
  data <- stats::na.omit(data[setdiff(names(data), set$drop)])
  x <- data[setdiff(names(data), set$response)]
  x[] <- lapply(x, function(v) if (is.ordered(v)) as.integer(v) else v)
  y <- data[[set$response]]
  list(x = x, y = if (is.factor(y)) y else as.double(y))
}

package_rows <- function(n, split, group) {
  set.seed(split)
  rows <- sample(n)
  train <- min(round(2 / 3 * n), most_training_rows[[group]])
  test <- min(n - train, most_test_rows[[group]])
  list(train = rows[seq_len(train)], test = rows[train + seq_len(test)])
}

# ---- UCI sets ---------------------------------------------------------------

# Columns x1, x2, ..., y and split1, ..., split5, where 1 marks a training row
# and 2 a test row.
read_uci_set <- function(name, folder) {
  data <- utils::read.csv(file.path(folder, paste0(name, ".csv.xz")))
  list(
    x = data[grepl("^x", names(data))], y = data$y,
    splits = data[grepl("^split", names(data))]
  )
}

uci_rows <- function(splits, split) {
  use <- splits[[split]]
  list(train = which(use == 1), test = which(use == 2))
}

# ---- splits -----------------------------------------------------------------

# `folder` holds the files of the UCI sets. `most` caps the training rows for
# quick runs.
league_split <- function(group, name, split, folder, most = Inf) {
  if (group %in% c("tuning", "uci")) {
    data <- read_uci_set(name, folder)
    rows <- uci_rows(data$splits, split)
  } else {
    data <- read_package_set(name)
    rows <- package_rows(length(data$y), split, group)
  }
  rows$train <- utils::head(rows$train, most)
  tidy_split(list(
    x = data$x[rows$train, , drop = FALSE], y = data$y[rows$train],
    new = data$x[rows$test, , drop = FALSE], y_new = data$y[rows$test]
  ))
}

tidy_split <- function(split) {
  varies <- vapply(split$x, function(v) length(unique(v)) > 1, NA)
  split$x <- droplevels(split$x[varies])
  split$new <- split$new[varies]
  known <- rep(TRUE, nrow(split$new))
  for (name in names(split$x)[vapply(split$x, is.factor, NA)]) {
    levels <- levels(split$x[[name]])
    split$new[[name]] <- factor(split$new[[name]], levels)
    known <- known & !is.na(split$new[[name]])
  }
  split$new <- split$new[known, , drop = FALSE]
  split$y_new <- split$y_new[known]
  split
}
