# The models of the experiments on kbr(), with known posterior means. Sourced by
# tools/reproduce/kbr.R.
#
# gauss_<d>: Gaussian, as on the slides, with a V of our own. X ~ N(0, V / 2) in
#   d dimensions, Y given X ~ N(X, V), V = A'A + 2 I, A uniform on (-1, 1):
#   E[X | y] = y / 3.
# two_<d>: the same likelihood, and as prior an equal mixture of N(-m, V / 2)
#   and N(m, V / 2), m of length 3 and equal in all coordinates. The posterior
#   mean is no longer linear in y.
#
# Repeat r has its own V, and 10 observations drawn from the model.

models <- c("gauss_2", "gauss_6", "two_2", "two_6")

model_size <- function(name) as.integer(sub(".*_", "", name))

draw_model <- function(name, r) {
  d <- model_size(name)
  set.seed(r)
  a <- matrix(stats::runif(d^2, -1, 1), d)
  v <- crossprod(a) + 2 * diag(d)
  shift <- if (startsWith(name, "two")) rep(3 / sqrt(d), d) else rep(0, d)
  list(d = d, v = v, root = chol(v), shift = shift)
}

# n pairs; parameters and summaries have names because abc() requires them.
draw_pairs <- function(model, n) {
  d <- model$d
  noise <- function() matrix(stats::rnorm(n * d), n) %*% model$root
  x <- noise() / sqrt(2)
  if (any(model$shift != 0)) {
    x <- x + outer(sample(c(-1, 1), n, replace = TRUE), model$shift)
  }
  y <- x + noise()
  colnames(x) <- paste0("x", seq_len(d))
  colnames(y) <- paste0("y", seq_len(d))
  list(x = x, y = y)
}

# E[X | y], one row per row of y. Each component is Gaussian: its mean is its
# prior mean plus a third of the way to y, its weight the density of y under
# N(+-m, 3 V / 2).
posterior_mean <- function(model, y) {
  m <- model$shift
  log_odds <- 4 / 3 * (y %*% solve(model$v, m))[, 1]
  y / 3 + outer(tanh(log_odds / 2), 2 * m / 3)
}

# The observations of repeat r and the truth.
draw_task <- function(name, r, n = 10) {
  model <- draw_model(name, r)
  set.seed(1e6 + r)
  y <- draw_pairs(model, n)$y
  list(model = model, y = y, truth = posterior_mean(model, y))
}
