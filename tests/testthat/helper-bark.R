# Dense algebra for states of bark(), by the definitions.

#' Coefficient variances of a state's slots
slot_variances <- function(state, alpha) {
  if (alpha == 1) {
    return(state$copies^2 / state$varphi)
  }
  slot <- rep(seq_along(state$copies), state$copies)
  as.vector(tapply(1 / state$varphi, slot, sum))
}

#' K, one column a slot, by its definition
slot_columns <- function(state, x) {
  lambda <- exp(state$log_lambda) * state$included
  vapply(state$location, function(location) {
    if (location == 0) {
      return(rep(1, nrow(x)))
    }
    exp(-colSums(lambda * (t(x) - x[location, ])^2))
  }, numeric(nrow(x)))
}

#' The log density of y, dense
dense_log_likelihood <- function(state, x, y, weights, alpha) {
  phi <- slot_columns(state, x)
  v <- slot_variances(state, alpha)
  cov <- diag(1 / (state$noise * weights)) + phi %*% (v * t(phi))
  r <- chol(cov)
  z <- backsolve(r, y, transpose = TRUE)
  -length(y) / 2 * log(2 * pi) - sum(log(diag(r))) - sum(z^2) / 2
}
