# Simulated hidden Markov models with known noise, for examples, tests and
# experiments. Noise is drawn in one order: start, states, observations; a seed
# gives the same path of states whatever `sd_observation` is.

#' Simulate noisy motion around the origin
#'
#' Hidden Markov models of Fukumizu, Song and Gretton: a point (u, v) moves
#' around the origin and is observed with noise.
#'
#' \deqn{(u_{t+1}, v_{t+1}) = r(\theta_{t+1}) (\cos \theta_{t+1},
#'   \sin \theta_{t+1}) + z_t, \quad
#'   \theta_{t+1} = \mathrm{atan2}(v_t, u_t) + s,}{(u', v') = r(theta)
#'   (cos theta, sin theta) + z, theta = atan2(v, u) + s,}
#' \deqn{y_t = (u_t, v_t) + w_t,}{y = (u, v) + w,}
#' where the components of z and w are independent Gaussian noise and s is the
#' `step`.
#'
#' - `sim_rotation()`: r = 1, s = 0.3.
#' - `sim_oscillation()`: r = 1 + 0.4 sin(8 theta), s = 0.4.
#'
#' The first state has the same form with theta uniform on the circle, which
#' makes the rotation stationary. The authors print arctan(v / u), which covers
#' only half of the circle; atan2 is used here. The defaults are theirs, except
#' for the first state, which they do not describe.
#'
#' @param n Number of time points, at least 1.
#' @param step Angle from one time point to the next, in radians.
#' @param sd_state Standard deviation of each component of the noise of the
#'   states, at least 0, in units of u and v.
#' @param sd_observation The same for the observations.
#' @template args-seed
#'
#' @return A list of the matrices `states` (n x 2, columns u and v) and
#'   `observations` (n x 2, columns y1 and y2), one row per time point. A
#'   further sequence comes from another seed.
#' @section Errors: An argument outside its range is an error of class
#'   `kb_error_argument`.
#' @references
#' Fukumizu, K., Song, L. and Gretton, A. (2013). Kernel Bayes' rule: Bayesian
#' inference with positive definite kernels. *Journal of Machine Learning
#' Research*, 14, 3753--3783.
#' @examples
#' d <- sim_oscillation(400, seed = 1)
#' plot(d$states, asp = 1)
#' points(d$observations, col = "grey")
#' @export
sim_rotation <- function(n, step = 0.3, sd_state = 0.2, sd_observation = 0.2,
                         seed = NULL) {
  sim_plane_motion(n, step, function(theta) 1, sd_state, sd_observation, seed)
}

#' @rdname sim_rotation
#' @export
sim_oscillation <- function(n, step = 0.4, sd_state = 0.2,
                            sd_observation = 0.2, seed = NULL) {
  radius <- function(theta) 1 + 0.4 * sin(8 * theta)
  sim_plane_motion(n, step, radius, sd_state, sd_observation, seed)
}

sim_plane_motion <- function(n, step, radius, sd_state, sd_observation, seed) {
  n <- check_size(n, 1, each = 6)
  step <- check_number(step)
  sd_state <- check_number(sd_state, 0)
  sd_observation <- check_number(sd_observation, 0)
  on_curve <- function(theta) radius(theta) * c(cos(theta), sin(theta))
  with_local_seed(seed, {
    theta <- stats::runif(1, -pi, pi)
    states <- sd_state * matrix(stats::rnorm(2 * n), n, 2, byrow = TRUE)
    colnames(states) <- c("u", "v")
    for (t in seq_len(n)) {
      if (t > 1) theta <- atan2(states[[t - 1, 2]], states[[t - 1, 1]]) + step
      states[t, ] <- states[t, ] + on_curve(theta)
    }
    observed_states(states, sd_observation)
  })
}

observed_states <- function(states, sd_observation) {
  noise <- matrix(stats::rnorm(length(states)), ncol(states))
  observations <- unname(states) + sd_observation * t(noise)
  colnames(observations) <- position_names(ncol(states), "y")
  list(states = states, observations = observations)
}

#' Simulate a linear Gaussian hidden Markov model
#'
#' One state, an autoregression, and one observation of it with noise:
#' \deqn{x_{t+1} = c x_t + z_t, \quad y_t = x_t + w_t,}{x' = c x + z,
#'   y = x + w,}
#' z and w independent Gaussian noise, c the `coef`. The start has the
#' stationary distribution, Gaussian with mean 0 and variance
#' `sd_state^2 / (1 - coef^2)`: 1 at the defaults. The Kalman filter and
#' smoother give exact results.
#'
#' @inheritParams sim_rotation
#' @param coef Coefficient of the autoregression, strictly between -1 and 1.
#' @param sd_state Standard deviation of z, at least 0.
#' @param sd_observation Standard deviation of w, at least 0.
#' @template args-seed
#'
#' @return A list of the matrices `states` (n x 1, column x) and `observations`
#'   (n x 1, column y), one row per time point. A further sequence comes from
#'   another seed.
#' @section Errors: An argument outside its range is an error of class
#'   `kb_error_argument`.
#' @examples
#' d <- sim_linear_hmm(100, seed = 1)
#' plot(d$observations, ylab = "x and y", xlab = "t")
#' lines(d$states)
#' @export
sim_linear_hmm <- function(n, coef = 0.8, sd_state = 0.6, sd_observation = 0.7,
                           seed = NULL) {
  n <- check_size(n, 1, each = 6)
  coef <- check_number(coef, -1, 1, open = TRUE)
  sd_state <- check_number(sd_state, 0)
  sd_observation <- check_number(sd_observation, 0)
  with_local_seed(seed, {
    noise <- sd_state * stats::rnorm(n)
    noise[[1]] <- noise[[1]] / sqrt(1 - coef^2)
    states <- stats::filter(noise, coef, method = "recursive")
    observed_states(matrix(states, n, 1, dimnames = list(NULL, "x")),
      sd_observation
    )
  })
}
