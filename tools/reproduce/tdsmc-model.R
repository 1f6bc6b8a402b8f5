# Sinusoids of unknown number and frequencies, for tools/reproduce/tdsmc.R and
# the article on tdsmc(), which shows the parts between the labels.

## ---- sinusoid-data ----
set.seed(4)
time <- 1:30
y <- 1.3 * cos(2 * pi * 0.11 * time) + 1.1 * sin(2 * pi * 0.27 * time + 1) +
  rnorm(30)

## ---- sinusoid-target ----
prior <- dpois(0:3, 1.5) / sum(dpois(0:3, 1.5))

# Amplitudes are N(0, 1) and integrated out, the noise is N(0, 1).
log_likelihood <- function(w, t, y) {
  y <- y[seq_len(t)]
  angle <- outer(seq_len(t), 2 * pi * w)
  x <- cbind(cos(angle), sin(angle))
  out <- sum(dnorm(y, log = TRUE))
  if (length(w) == 0 || t == 0) return(out)
  root <- chol(crossprod(x) + diag(ncol(x)))
  z <- backsolve(root, crossprod(x, y), transpose = TRUE)
  out + sum(z^2) / 2 - sum(log(diag(root)))
}
log_density <- function(states, t, data) {
  vapply(states, function(w) {
    if (any(w < 0 | w > 0.5)) return(-Inf)
    log(prior[length(w) + 1]) + length(w) * log(2) + log_likelihood(w, t, data)
  }, 0)
}
initial <- function(n, data) {
  lapply(sample(0:3, n, replace = TRUE, prior), runif, max = 0.5)
}

## ---- sinusoid-moves ----
none <- function(new, old, t, data) numeric(length(new))
chance <- function(p) function(states, t, data) p[lengths(states) + 1]
birth <- td_move(
  propose = function(states, t, data) {
    lapply(states, function(w) c(w, runif(1, 0, 0.5)))
  },
  log_forward = function(new, old, t, data) rep(log(2), length(new)),
  log_reverse = none,
  probability = chance(c(0.4, 0.2, 0.2, 0)),
  reverse_probability = chance(c(0, 0.2, 0.2, 0.4))
)
death <- td_move(
  propose = function(states, t, data) lapply(states, function(w) w[-length(w)]),
  log_forward = none,
  log_reverse = function(old, new, t, data) rep(log(2), length(new)),
  probability = chance(c(0, 0.2, 0.2, 0.4)),
  reverse_probability = chance(c(0.4, 0.2, 0.2, 0))
)
# One frequency, at random and then the first, goes a small or a large step.
walk <- td_move(
  propose = function(states, t, data) {
    lapply(states, function(w) {
      w <- w[sample.int(length(w))]
      w[1] <- w[1] + rnorm(1, 0, 0.1 * exp(-runif(1, 0, 4)))
      w
    })
  },
  log_forward = none,
  log_reverse = none,
  probability = chance(c(0, 0.6, 0.6, 0.6))
)

## ---- sinusoid-stay ----
jumps <- td_rejuvenate(list(birth = birth, death = death, walk = walk),
  reverse = c(birth = "death"), rounds = 5
)
target <- td_target(log_density, initial, rejuvenate = jumps)

## ---- sinusoid-extend ----
stay <- td_move(function(states, t, data) states, none, none,
  probability = 0.6, reverse_probability = 0.6
)
extend <- list(stay = stay, birth = birth, death = death)

## ---- sinusoid-power ----
at_power <- function(states, t, data, power) {
  before <- log_density(states, max(t - 1, 0), data)
  if (t == 0) return(before)
  ifelse(before == -Inf, -Inf,
    before + power * (log_density(states, t, data) - before)
  )
}
gradual <- td_target(at_power, initial, rejuvenate = jumps)
