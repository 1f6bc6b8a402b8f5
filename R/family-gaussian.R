# Numbers with normal noise, or Student's.

family_gaussian <- list(
  outcome = "numeric", object = c(gaussian = "identity"), title = "",
  numbers = function(y, scaling, offset) scaling_y(scaling, y - offset),
  types = c("response", "quantile", "draws", "log_score"),
  effects = "response",
  expected = function(fit, f, pool, chosen) f,
  respond = function(fit, f, rows, pool, chosen) {
    f + response_sd(fit, rows, pool, chosen) *
      standard_noise(length(f), chosen_df(fit, pool, chosen))
  },
  log_lik = function(fit, f, rows, pool, chosen) {
    log_noise_density(
      rep(rows$y, each = nrow(f)) - f, response_sd(fit, rows, pool, chosen),
      chosen_df(fit, pool, chosen)
    )
  },
  cdf = function(fit, f, rows, pool, chosen, y) {
    e <- (rep(y, each = nrow(f)) - f) / response_sd(fit, rows, pool, chosen)
    df <- chosen_df(fit, pool, chosen)
    if (has_student_noise(df)) stats::pt(e, df) else stats::pnorm(e)
  },
  ends = function(y) cbind(y, y),
  noise = TRUE, weights = "precision", truncation = TRUE, rung_power = 4
)

# The same with finite degrees of freedom: never stored
family_student <- list(
  outcome = "numeric", truncation = FALSE, rung_start = 1e-10
)

# Scales of the noise of responses, S x n
response_sd <- function(fit, rows, pool, chosen) {
  w <- rows$weights
  if (has_varying_noise(fit)) {
    x <- rows$x[rows$complete, , drop = FALSE]
    sd <- varying_sd(fit, x, pool, chosen, w[rows$complete])
    return(t(spread_rows(sd, rows$complete)))
  }
  if (is.null(w)) w <- rep(1, nrow(rows$x))
  outer(noise_draws(fit, pool, chosen), 1 / sqrt(w))
}

# Degrees of freedom of the noise of these draws; or one number
chosen_df <- function(fit, pool, chosen) {
  df <- noise_df(fit, pool)
  if (length(df) > 1) df[chosen] else df
}

# n draws of noise of scale 1
standard_noise <- function(n, df) {
  if (has_student_noise(df)) stats::rt(n, df) else stats::rnorm(n)
}

# Log density of noise of this scale
log_noise_density <- function(residual, scale, df) {
  if (has_student_noise(df)) {
    stats::dt(residual / scale, df, log = TRUE) - log(scale)
  } else {
    stats::dnorm(residual, 0, scale, log = TRUE)
  }
}
