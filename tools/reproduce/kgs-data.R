# The real data of the experiments on kgs(), split into training and test rows,
# with flipped labels. Sourced by tools/reproduce/kgs.R after bark-data.R.
#
# Two thirds of the rows are for training. Repeat r shuffles the rows by
# sample(n) after set.seed(r), and then flips a share `flips` of the training
# labels, rounded to a whole number. Test labels are never flipped. So repeat r
# has the same rows with and without flips, and for all methods.
#
# Pima is MASS::Pima.tr and Pima.te together: 532 women without missing values.

read_sonar <- function() {
  split_response(from_package("Sonar", "mlbench"), "Class")
}

read_pima <- function() {
  parts <- lapply(c("Pima.tr", "Pima.te"), from_package, "MASS")
  split_response(do.call(rbind, parts), "type")
}

noisy_set <- function(read, flips) list(read = read, flips = flips)

kgs_sets <- list(
  sonar = noisy_set(read_sonar, 0), sonar_flips = noisy_set(read_sonar, 0.1),
  ionosphere = noisy_set(read_ionosphere, 0),
  ionosphere_flips = noisy_set(read_ionosphere, 0.1),
  pima = noisy_set(read_pima, 0), pima_flips = noisy_set(read_pima, 0.1)
)

flip_some <- function(y, share) {
  chosen <- sample(length(y), round(share * length(y)))
  y[chosen] <- levels(y)[3 - as.integer(y[chosen])]
  y
}

# `x`, `y`: training rows; `new`, `y_new`: test rows.
noisy_split <- function(name, r) {
  set <- kgs_sets[[name]]
  data <- set$read()
  set.seed(r)
  rows <- sample(nrow(data$x))
  fit <- utils::head(rows, round(2 / 3 * length(rows)))
  test <- setdiff(rows, fit)
  list(
    x = data$x[fit, ], y = flip_some(data$y[fit], set$flips),
    new = data$x[test, ], y_new = data$y[test]
  )
}
