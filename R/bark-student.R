# Student-t noise in bark fits. Its sampler is in
# src/core/bark/moves/student.cpp; predictions use noise_df().

# Degrees of freedom with equal probabilities, if they are learned. A chain of
# bark() starts with the first; the last is nearly the normal distribution.
learned_df <- c(8, 2.5, 3, 4, 5, 6, 11, 16, 32, 64, 1000)

is_student_prior <- function(prior) {
  !is.null(prior$df) && !identical(prior$df, Inf)
}

learns_df <- function(fit) length(fit$settings$prior$df) > 1

refuse_class_df <- function(prior) {
  if (is_student_prior(prior)) {
    kb_abort(c(
      "{.arg df} of {.arg prior} must be Inf for classification.",
      x = "It is {format(prior$df)}.",
      i = "The noise of a latent response is normal, with variance 1."
    ), "argument", argument = "df")
  }
}

# log of the density of the response with f = 0 and the noise integrated out
#
# Over the logarithm of its precision, where the integrand has one mode: Z_0 of
# (B62).
student_base <- function(engine) {
  dfs <- engine$config$prior$df
  each <- vapply(dfs, function(df) student_base_at(engine, df), 0)
  log_mean_exp(each)
}

student_base_at <- function(engine, df) {
  prior <- engine$config$prior
  log_density <- function(log_phi) {
    vapply(log_phi, function(l) {
      scale <- exp(-l / 2) / sqrt(engine$weights)
      sum(log_noise_density(engine$y, scale, df))
    }, 0)
  }
  if (prior$noise_fixed) {
    return(log_density(log(prior$noise_precision)))
  }
  c <- prior$noise_shape
  d <- prior$noise_rate
  log_integral(function(l) {
    c * log(d) - lgamma(c) + c * l - d * exp(l) + log_density(l)
  }, c(-600, 600))
}

# log of the integral of exp(f) over the real line, f unimodal with its mode
# in `range`: trapezoids where f is within 40 of its maximum, on a grid that
# coarse ones place
log_integral <- function(f, range, points = 401) {
  values <- function(at) {
    value <- f(at)
    replace(value, is.nan(value), -Inf)
  }
  for (pass in 1:3) {
    at <- seq(range[[1]], range[[2]], length.out = 101)
    value <- values(at)
    shown <- range(which(value >= max(value) - 40))
    range <- at[c(max(shown[[1]] - 1, 1), min(shown[[2]] + 1, 101))]
  }
  at <- seq(range[[1]], range[[2]], length.out = points)
  value <- values(at)
  top <- max(value)
  top + log(sum(exp(value - top))) + log(at[[2]] - at[[1]])
}
