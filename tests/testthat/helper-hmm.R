#' Exact filter and smoother of sim_linear_hmm(): x' = .8 x + .6 e, y = x + .7 e
linear_kalman <- function(y) {
  n <- length(y)
  filter <- before <- variance <- ahead <- numeric(n)
  for (t in seq_len(n)) {
    before[t] <- if (t == 1) 0 else 0.8 * filter[t - 1]
    ahead[t] <- if (t == 1) 1 else 0.64 * variance[t - 1] + 0.36
    gain <- if (is.na(y[t])) 0 else ahead[t] / (ahead[t] + 0.49)
    filter[t] <- before[t] + if (is.na(y[t])) 0 else gain * (y[t] - before[t])
    variance[t] <- (1 - gain) * ahead[t]
  }
  smoother <- filter
  for (t in rev(seq_len(n - 1))) {
    back <- variance[t] * 0.8 / ahead[t + 1]
    smoother[t] <- filter[t] + back * (smoother[t + 1] - before[t + 1])
  }
  list(filter = filter, smoother = smoother)
}

# A model by the paper's algorithm
rule_hmm <- function(..., method = "kbr") kbr_hmm(..., method = method)
