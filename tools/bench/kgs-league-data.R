# The data of the league of kgs(): sets, splits and wrong labels. Sourced by
# kgs-league.R, after tools/reproduce/bark-data.R and league-data.R.
#
# Settings of this package are chosen on the sets of `choices` and `tails` only.
# Those of `report` are for reports: nothing is ever chosen on them, and a set
# does not move from one group to the other. The list of reports was committed
# before any of the settings was chosen.
#
# report   Sonar, Pima, BreastCancer, Glass, crabs, two_class_dat, spam (at most
#          600 training rows), Satellite and LetterRecognition (2000)
# choices  Ionosphere, Vehicle (500), and four simulated ones: moons, quadratic,
#          normals and three_normals
# tails    for choices too, of how predictors with long tails are scaled: cells,
#          credit, hpc (500 each) and ads
#
# Splits 1 to 20. Split s of a real set shuffles the rows by sample(n) after
# set.seed(); two thirds of them, rounded, and no more than the training rows
# above, are for training, and the next ones, at most 1000, for tests. A
# simulated set has 200 training rows and 1000 test rows in each split. Rows
# with missing values are dropped first; in each split also predictors that are
# constant in its training rows, and test rows of a class that no training row
# has.
#
# Then a share of the training labels, and of the test labels, becomes wrong: a
# number of rows that is the share rounded to a whole one, drawn at random; a
# wrong label is any of the other classes with the same probability. Shares are
# nested: the wrong labels of a smaller share are also those of a larger one.
# All methods have the same splits and labels.

kgs_league_groups <- list(
  choices = c(
    "Ionosphere", "Vehicle", "moons", "quadratic", "normals", "three_normals"
  ),
  report = c(
    "Sonar", "Pima", "BreastCancer", "Glass", "crabs", "two_class_dat", "spam",
    "Satellite", "LetterRecognition"
  ),
  tails = c("cells", "credit", "hpc", "ads")
)

wrong_shares <- c(0, 0.1, 0.2)
most_kgs_splits <- 20

most_fit_rows <- c(
  Vehicle = 500, spam = 600, Satellite = 2000, LetterRecognition = 2000,
  cells = 500, credit = 500, hpc = 500
)
most_new_rows <- 1000
simulated_fit_rows <- 200

# ---- sets -------------------------------------------------------------------

all_numbers <- function(but) {
  function(data) with_numbers(setdiff(names(data), but))(data)
}

numbers_and <- function(class) {
  function(data) data[vapply(data, is.numeric, NA) | names(data) == class]
}

species_as_number <- function(data) {
  data$sp <- as.numeric(data$sp == "O")
  data
}

# Ionosphere: V2 is constant. crabs: the sex, with the species among the
# predictors. credit, hpc: predictors that are numbers.
kgs_package_sets <- list(
  Ionosphere = package_sets$Ionosphere,
  Vehicle = league_set("mlbench", "Class"),
  Sonar = package_sets$Sonar,
  Pima = league_set("mlbench", "diabetes", name = "PimaIndiansDiabetes"),
  BreastCancer = league_set("mlbench", "Class", "Id",
    change = all_numbers(but = c("Id", "Class"))
  ),
  Glass = league_set("mlbench", "Type"),
  crabs = league_set("MASS", "sex", "index", change = species_as_number),
  two_class_dat = package_sets$two_class_dat,
  spam = package_sets$spam,
  Satellite = league_set("mlbench", "classes"),
  LetterRecognition = league_set("mlbench", "lettr"),
  cells = league_set("modeldata", "class", "case"),
  credit = league_set("modeldata", "Status",
    name = "credit_data", change = numbers_and("Status")
  ),
  hpc = league_set("modeldata", "class",
    name = "hpc_data", change = numbers_and("class")
  ),
  ads = league_set("modeldata", "Class",
    name = "ad_data", change = numbers_and("Class")
  )
)

# Normal classes of equal probability, with unit variances, around the rows of
# `centres`.
normal_classes <- function(n, centres, seed) {
  set.seed(seed)
  class <- sample(nrow(centres), n, replace = TRUE)
  x <- centres[class, ] + stats::rnorm(n * ncol(centres))
  colnames(x) <- paste0("x", seq_len(ncol(x)))
  data.frame(x, clean = factor(class, seq_len(nrow(centres))))
}

# The best classifier is wrong for 20% of the rows.
two_centres <- rbind(rep(0, 5), rep(2 * stats::qnorm(0.8) / sqrt(5), 5))

# At the corners of a triangle, with two predictors that have no effect; also
# 20%.
three_centres <- 1.35 * cbind(
  cos(2 * pi * (0:2) / 3), sin(2 * pi * (0:2) / 3), 0, 0
)

# The true classes are in the column `clean`.
kgs_simulators <- list(
  moons = function(n, seed) sim_moons(n, seed = seed, truth = TRUE),
  quadratic = function(n, seed) sim_quadratic(n, seed = seed, truth = TRUE),
  normals = function(n, seed) normal_classes(n, two_centres, seed),
  three_normals = function(n, seed) normal_classes(n, three_centres, seed)
)

# ---- splits -----------------------------------------------------------------

split_seed <- function(name, split) {
  100 * match(name, unlist(kgs_league_groups)) + split
}

package_split <- function(name, split) {
  data <- read_package_set(name, kgs_package_sets)
  set.seed(split_seed(name, split))
  rows <- sample(length(data$y))
  n <- min(round(2 / 3 * length(rows)), most_fit_rows[name], na.rm = TRUE)
  test <- utils::head(rows[-seq_len(n)], most_new_rows)
  train <- rows[seq_len(n)]
  list(
    x = data$x[train, , drop = FALSE], y = droplevels(data$y[train]),
    new = data$x[test, , drop = FALSE], y_new = data$y[test]
  )
}

simulated_classes_split <- function(name, split) {
  rows_of <- function(n, seed) {
    data <- kgs_simulators[[name]](n, seed)
    list(x = data[startsWith(names(data), "x")], y = data$clean)
  }
  seed <- split_seed(name, split)
  fit <- rows_of(simulated_fit_rows, seed)
  test <- rows_of(most_new_rows, 10000 + seed)
  list(x = fit$x, y = fit$y, new = test$x, y_new = test$y)
}

# All rows get a place in the order of the flips, and a wrong label.
with_wrong_labels <- function(y, share) {
  place <- sample(length(y))
  step <- sample(nlevels(y) - 1, length(y), replace = TRUE)
  wrong <- place <= round(share * length(y))
  moved <- (as.integer(y) - 1 + step * wrong) %% nlevels(y) + 1
  factor(levels(y)[moved], levels(y))
}

# `y` and `y_new` are the recorded labels, `clean` and `clean_new` the true
# ones. `most` caps the training rows for quick runs.
kgs_league_split <- function(name, split, share, most = Inf) {
  simulated <- name %in% names(kgs_simulators)
  data <- (if (simulated) simulated_classes_split else package_split)(
    name, split
  )
  fit <- seq_len(min(nrow(data$x), most))
  data$x <- data$x[fit, , drop = FALSE]
  data$y <- droplevels(data$y[fit])
  known <- data$y_new %in% levels(data$y)
  data$new <- data$new[known, , drop = FALSE]
  data$y_new <- factor(data$y_new[known], levels(data$y))
  data <- tidy_split(data)
  data$clean <- data$y
  data$clean_new <- data$y_new
  set.seed(20000 + split_seed(name, split))
  data$y <- with_wrong_labels(data$clean, share)
  data$y_new <- with_wrong_labels(data$clean_new, share)
  data
}
