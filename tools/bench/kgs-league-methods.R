# The methods of the league of kgs(): sourced by kgs-league.R, after
# league-methods.R.
#
# Each is a function of the training rows `x` (a data frame of numbers), their
# labels `y` (a factor), the test rows `new` and a seed. It returns a list:
#   prob       probabilities of the recorded label of the test rows, a matrix
#              with one column per level
#   true_prob  those of the true class; NULL if the method has only one kind
#   wrong      a function without arguments: probabilities that the labels of
#              the training rows are wrong, whose time does not count; NULL if
#              there are none
#
# Calls are the packages' defaults, one thread. What has no default, or not a
# sensible one:
#   ksvm     probabilities are Platt's (prob.model = TRUE). A label is wrong
#            with one minus the probability that it gets from a fit without its
#            fold, one of ten
#   ranger   probability = TRUE. A label is wrong with one minus the probability
#            that it gets from the trees that did not see it
#   dbarts   with several classes a fit for each against the rest, whose
#            probabilities are divided by their sum

# ---- this package -----------------------------------------------------------

# From a fit: variants of kgs() use it too.
kgs_answer <- function(fit, new) {
  probability <- function(type) stats::predict(fit, new, type = type)
  list(
    prob = probability("prob"), true_prob = probability("true_prob"),
    wrong = function() label_noise(fit)$probability
  )
}

# kgs() with further arguments.
by_kgs <- function(...) {
  function(x, y, new, seed) {
    kgs_answer(kgs(x, y, seed = seed, progress = FALSE, ...), new)
  }
}

# ---- peers ------------------------------------------------------------------

# A column for each level; a class that the method has not seen has probability
# zero.
by_level <- function(p, levels) {
  out <- matrix(0, nrow(p), length(levels), dimnames = list(NULL, levels))
  out[, colnames(p)] <- p
  out
}

ksvm_probabilities <- function(x, y, new) {
  fit <- kernlab::ksvm(as.matrix(x), droplevels(y), prob.model = TRUE)
  p <- kernlab::predict(fit, as.matrix(new), type = "probabilities")
  by_level(p, levels(y))
}

# Probabilities that `probabilities` gives to the labels of rows held out.
out_of_fold <- function(probabilities, x, y, seed, folds = 10) {
  set.seed(seed)
  fold <- sample(rep_len(seq_len(folds), nrow(x)))
  own <- numeric(nrow(x))
  for (i in seq_len(folds)) {
    out <- fold == i
    p <- probabilities(x[!out, ], y[!out], x[out, ])
    own[out] <- p[cbind(seq_len(sum(out)), as.integer(y[out]))]
  }
  own
}

by_ksvm <- function(x, y, new, seed) {
  set.seed(seed)
  list(
    prob = ksvm_probabilities(x, y, new),
    wrong = function() 1 - out_of_fold(ksvm_probabilities, x, y, seed)
  )
}

by_ranger_with_rest <- function(x, y, new, seed) {
  fit <- ranger::ranger(
    x = x, y = y, probability = TRUE, num.threads = 1, seed = seed
  )
  p <- stats::predict(fit, new, num.threads = 1)$predictions
  list(
    prob = by_level(p, levels(y)),
    wrong = function() {
      rest <- by_level(fit$predictions, levels(y))
      1 - rest[cbind(seq_along(y), as.integer(y))]
    }
  )
}

by_dbarts_classes <- function(x, y, new, seed) {
  one <- function(level) {
    fit <- dbarts::bart(x, as.numeric(y == level), new,
      verbose = FALSE, seed = seed
    )
    colMeans(stats::pnorm(fit$yhat.test))
  }
  if (nlevels(y) == 2) {
    return(two_classes(one(levels(y)[[2]])))
  }
  p <- vapply(levels(y), one, numeric(nrow(new)))
  list(prob = p / rowSums(p))
}

# ---- all --------------------------------------------------------------------

kgs_peers <- list(
  ksvm = method("kernlab", by_ksvm),
  gausspr = method("kernlab", function(x, y, new, seed) {
    by_gausspr(x, y, new, NULL, seed)
  }),
  ranger = method("ranger", by_ranger_with_rest),
  dbarts = method("dbarts", by_dbarts_classes)
)

kgs_league_methods <- c(kgs_peers, list(
  kgs = method("kernelbayes", by_kgs()),
  kgs_paper = method("kernelbayes", by_kgs(nugget = 0))
))
