# The tasks of the benchmark of simulation-based inference: pairs for kbr() with
# known answers, or answers that others have published.

#' Simulate the tasks of a benchmark of simulation-based inference
#'
#' `sim_sbi("two_moons", n)` draws parameters from a prior and an observation given
#' each, for [kbr()]: the tasks of Lueckmann et al. (2021). N(m, v) is the normal
#' distribution with variance v, U(a, b) the uniform and LN(m, s) the log-normal
#' distribution, whose logarithm has mean m and standard deviation s.
#'
#' | task | parameters | observations |
#' |---|---|---|
#' | `"gaussian_linear"` | theta1, ..., theta10 | y1, ..., y10 |
#' | `"gaussian_linear_uniform"` | theta1, ..., theta10 | y1, ..., y10 |
#' | `"gaussian_mixture"` | theta1, theta2 | y1, y2 |
#' | `"two_moons"` | theta1, theta2 | y1, y2 |
#' | `"slcp"` | theta1, ..., theta5 | y1, ..., y8 |
#' | `"slcp_distractors"` | theta1, ..., theta5 | y1, ..., y100 |
#' | `"bernoulli_glm"` | offset, f1, ..., f9 | count, lag0, ..., lag8 |
#' | `"sir"` | beta, gamma | infected_0, infected_17, ..., infected_153 |
#' | `"lotka_volterra"` | alpha, ..., delta | prey_0, ..., predators_18.9 |
#' @section Models:
#'
#' **Gaussian, linear.** `theta_j ~ N(0, 0.1)`, `y_j ~ N(theta_j, 0.1)`. The
#' posterior is N(y_j / 2, 0.05). With a uniform prior, `theta_j ~ U(-1, 1)`.
#'
#' **Gaussian mixture.** `theta_j ~ U(-10, 10)`. The noise of both components of
#' an observation has variance 1 or 0.01, with probability 1/2 each:
#' `y ~ N(theta, 1)` or `y ~ N(theta, 0.01)`.
#'
#' **Two moons.** `theta_j ~ U(-1, 1)`. A point near a half-circle,
#' `(1/4 + r cos a, r sin a)` with an angle `a ~ U(-pi/2, pi/2)` and a radius r
#' from N(0.1, 0.0001), is moved by
#' `(-|theta1 + theta2|, theta2 - theta1) / sqrt(2)`. The posterior has two
#' crescents.
#'
#' **SLCP** (simple likelihood, complex posterior). `theta_j ~ U(-3, 3)`. Four
#' points in the plane, (y1, y2), ..., (y7, y8), are bivariate normal with the
#' means (theta1, theta2), the standard deviations `s1 = theta3^2` and
#' `s2 = theta4^2` and the correlation `tanh(theta5)`. As in the benchmark, 1e-6
#' is added to both variances. The posterior has up to four modes.
#'
#' **SLCP with distractors.** 92 components without information are added, in
#' an order that was drawn once. They are a draw from a mixture of 20
#' multivariate Student distributions with 2 degrees of freedom, whose locations
#' and scales were drawn once. Order and mixture are those of the benchmark. The
#' components of SLCP are y23, y34, y24, y68, y43, y22, y17 and y91.
#'
#' **Bernoulli GLM.** Spikes of a neuron in 100 time bins:
#' `s_t ~ Bernoulli(p_t)`, `logit(p_t) = offset + sum_j f_j v_(t - j + 1)`, with
#' a fixed stimulus v of white noise that is 0 before the first bin. The
#' observations are sufficient: `count = sum_t s_t` and
#' `lag_k = sum_t v_(t - k) s_t`. The prior is `offset ~ N(0, 2)` and
#' `f ~ N(0, (F'F)^-1)`, where F has `1 + sqrt((i - 1) / 9)` on its diagonal, -2
#' and 1 on the two diagonals below and 0 elsewhere, which makes f smooth.
#'
#' **SIR.** An epidemic in a population of N = 1e6 with one infected at day 0:
#' `dS/dt = -beta S I / N`, `dI/dt = beta S I / N - gamma I`,
#' `dR/dt = gamma I`. Of 1000 people, the number of infected is observed at days
#' 0, 17, ..., 153: `infected_t ~ Binomial(1000, I_t / N)`. The prior is
#' `beta ~ LN(log(0.4), 0.5)` and `gamma ~ LN(log(0.125), 0.2)`.
#'
#' **Lotka-Volterra.** Prey x and predators y, from 30 and 1 at time 0:
#' `dx/dt = alpha x - beta x y`, `dy/dt = -gamma y + delta x y`. Both are
#' observed at times 0, 2.1, ..., 18.9: `prey_t ~ LN(log(x_t), 0.1)`,
#' `predators_t ~ LN(log(y_t), 0.1)`. As in the benchmark, x_t and y_t are first
#' limited to \[1e-10, 1e4\]. The prior is `LN(-0.125, 0.5)` for alpha and
#' gamma, `LN(-3, 0.5)` for beta and delta.
#'
#' Populations have relative errors below 1e-4. At extreme `theta` a solution may
#' overflow: observations are then `NA`, and a warning (`kb_warning_simulator`)
#' counts them.
#' @param task The name of a task, as in the table.
#' @param n Number of pairs, at least 1. Can be left out if `theta` is given.
#' @param theta Parameters: a matrix or data frame with one row for each pair,
#'   or one set of parameters for all pairs. Names, if there are any, must be
#'   those above, in any order. `NULL` draws from the prior. Parameters of the
#'   last two tasks must be above 0; otherwise `theta` may lie outside of the
#'   prior's support.
#' @template args-seed
#' @return An object of class `kb_pairs`, for [kbr()], as from [kbr_simulate()]:
#'   a list of the matrices `x` (n rows of parameters), `y` (n rows of
#'   observations) and `support`, which has a column for each parameter and the
#'   rows `lower` and `upper`, the bounds of the prior, infinite where there is
#'   none.
#' @references
#' Lueckmann, J.-M., Boelts, J., Greenberg, D. S., Goncalves, P. J. and Macke,
#' J. H. (2021). Benchmarking simulation-based inference. *Proceedings of the
#' 24th International Conference on Artificial Intelligence and Statistics*,
#' PMLR 130, 343-351.
#' @examples
#' # the posterior mean of parameters, given an observation at 0
#' pairs <- sim_sbi("two_moons", 400, seed = 1)
#' fit <- kbr(pairs)
#' predict(fit, c(y1 = 0, y2 = 0))
#'
#' # what the model predicts for given parameters
#' epidemic <- sim_sbi("sir", 50, theta = c(beta = 0.5, gamma = 0.15), seed = 1)
#' matplot(t(epidemic$y), type = "l", col = "grey", lty = 1)
#' @export
sim_sbi <- function(task, n = NULL, theta = NULL, seed = NULL) {
  task <- sbi_tasks[[check_choice(task, names(sbi_tasks))]]
  if (!is.null(theta)) theta <- task_parameters(theta, task)
  n <- number_of_pairs(n, theta, task)
  with_local_seed(seed, {
    x <- if (is.null(theta)) {
      task$prior(n)
    } else {
      theta[rep_len(seq_len(nrow(theta)), n), , drop = FALSE]
    }
    y <- task$simulate(x)
  })
  dimnames(x) <- list(NULL, task$parameters)
  dimnames(y) <- list(NULL, task$observations)
  support <- matrix(c(task$lower, task$upper), 2, ncol(x),
    dimnames = list(c("lower", "upper"), task$parameters)
  )
  warn_of_missing(y)
  structure(list(x = x, y = y, support = support), class = "kb_pairs")
}

# `theta` as a matrix of doubles in the order of the task, or an error
task_parameters <- function(theta, task) {
  names <- task$parameters
  refuse <- function(wanted) bad_argument(theta, "theta", wanted)
  x <- if (is.data.frame(theta)) as.matrix(theta) else theta
  if (is.null(dim(x)) && is.numeric(x)) {
    x <- matrix(x, 1, dimnames = list(NULL, names(x)))
  }
  fine <- is.numeric(x) && length(dim(x)) == 2 && ncol(x) == length(names) &&
    nrow(x) > 0 && all(is.finite(x))
  if (!fine) {
    refuse(paste("finite numbers in rows of", length(names), "parameters"))
  }
  if (!is.null(colnames(x))) {
    if (!setequal(colnames(x), names)) {
      refuse(paste(
        "without names, or have the names", paste(names, collapse = ", ")
      ))
    }
    x <- x[, names, drop = FALSE]
  }
  if (task$lower == 0 && any(x <= 0)) refuse("above 0")
  matrix(as.double(x), nrow(x))
}

number_of_pairs <- function(n, theta, task) {
  if (is.null(n) && !is.null(theta)) {
    return(nrow(theta))
  }
  n <- check_size(n, 1, 4 * length(task$parameters))
  if (!is.null(theta) && !nrow(theta) %in% c(1, n)) {
    bad_argument(n, "n", paste0(
      nrow(theta), ", the number of rows of `theta`, or left out"
    ))
  }
  n
}

warn_of_missing <- function(y) {
  missing <- sum(is.na(y[, 1]))
  if (missing > 0) {
    kb_warn(c(
      "Some observations are {.code NA}.",
      x = "{missing} row{?s} of observations {?is/are}.",
      i = "The solution of the equations overflows or needs too many steps."
    ), "simulator")
  }
}

# Parts of the tasks --------------------------------------------------------

normal_rows <- function(n, width) matrix(stats::rnorm(n * width), n)

# A sampler of n rows of uniform numbers
uniform_prior <- function(bound, width) {
  function(n) matrix(stats::runif(n * width, -bound, bound), n)
}

# A sampler of n rows of log-normal numbers
lognormal_prior <- function(mean, sd) {
  function(n) {
    z <- normal_rows(n, length(mean))
    exp(rep(mean, each = n) + rep(sd, each = n) * z)
  }
}

add_noise <- function(theta) {
  theta + sqrt(0.1) * normal_rows(nrow(theta), ncol(theta))
}

mixture_rows <- function(theta) {
  n <- nrow(theta)
  sd <- ifelse(stats::runif(n) < 0.5, 1, 0.1)
  theta + sd * normal_rows(n, 2)
}

moon_rows <- function(theta) {
  n <- nrow(theta)
  angle <- stats::runif(n, -pi / 2, pi / 2)
  radius <- 0.1 + 0.01 * stats::rnorm(n)
  cbind(
    radius * cos(angle) + 0.25 - abs(theta[, 1] + theta[, 2]) / sqrt(2),
    radius * sin(angle) + (theta[, 2] - theta[, 1]) / sqrt(2)
  )
}

slcp_rows <- function(theta) {
  n <- nrow(theta)
  s1 <- theta[, 3]^2
  s2 <- theta[, 4]^2
  # The Cholesky factor of each covariance matrix
  l11 <- sqrt(s1^2 + 1e-6)
  l21 <- tanh(theta[, 5]) * s1 * s2 / l11
  l22 <- sqrt(pmax(s2^2 + 1e-6 - l21^2, 0))
  first <- normal_rows(n, 4)
  second <- normal_rows(n, 4)
  points <- cbind(
    theta[, 1] + l11 * first, theta[, 2] + l21 * first + l22 * second
  )
  points[, c(1, 5, 2, 6, 3, 7, 4, 8), drop = FALSE]
}

distractor_rows <- function(theta) {
  n <- nrow(theta)
  data <- slcp_rows(theta)
  mixture <- distractors()
  component <- sample.int(20, n, replace = TRUE)
  noise <- normal_rows(n, 92) / sqrt(stats::rchisq(n, 2) / 2)
  for (k in unique(component)) {
    rows <- component == k
    noise[rows, ] <- rep(mixture$location[, k], each = sum(rows)) +
      noise[rows, , drop = FALSE] %*% t(mixture$scale[[k]])
  }
  cbind(data, noise)[, mixture$order, drop = FALSE]
}

#' The mixture that distractors are drawn from
#' @return A list: `location` (92 x 20), `scale`, 20 lower triangular matrices,
#'   and `order`, of the columns with those of SLCP first.
#' @noRd
distractors <- function() {
  normals <- benchmark_normals(20 * 92 * (1 + 92 + 1))
  location <- 15 * matrix(normals[seq_len(20 * 92)], 92)
  rest <- matrix(normals[-seq_len(20 * 92)], 92 * 93)
  scale <- lapply(seq_len(20), function(k) {
    rows <- matrix(rest[, k], 92)
    # Rows of the benchmark's matrices are columns here.
    lower <- t(rows[, -93])
    lower[upper.tri(lower)] <- 0
    3 * (lower + diag(exp(rows[, 93])))
  })
  list(location = location, scale = scale, order = c(
    88, 48, 40, 10, 26, 22, 27, 95, 42, 31, 35, 45, 13, 28, 90, 21, 7, 14, 52,
    41, 55, 6, 1, 3, 76, 44, 15, 98, 30, 73, 80, 100, 99, 2, 39, 66, 84, 53, 75,
    64, 20, 71, 5, 37, 97, 82, 36, 50, 32, 77, 85, 29, 12, 67, 38, 86, 57, 61,
    49, 11, 23, 83, 25, 9, 43, 33, 74, 4, 60, 96, 91, 51, 19, 69, 46, 68, 93,
    92, 18, 94, 34, 79, 89, 63, 47, 65, 58, 87, 56, 78, 8, 81, 70, 24, 59, 72,
    16, 62, 54, 17
  ))
}

# The normal numbers that the benchmark drew once: the first n, an even number,
# of numpy's RandomState(42). Distractors need 172960, too many to be stored.
benchmark_normals <- function(n) {
  word <- 42
  for (i in seq_len(623)) {
    last <- word[[i]]
    # Knuth's recursion: 1812433253 times last xor (last >> 30), plus i. Halves
    # of 16 bits keep the product exact in a double.
    mixed <- last - last %% 4 + bitwXor(last %% 4, last %/% 2^30)
    high <- (1812433253 * (mixed %/% 2^16)) %% 2^16
    word[[i + 1]] <- (high * 2^16 + 1812433253 * (mixed %% 2^16) + i) %% 2^32
  }
  state <- as.integer(word - 2^32 * (word >= 2^31))
  # R has the same Mersenne Twister, but seeds it in another way.
  uniform <- with_local_seed(0, {
    restore_random_state(list(kind = RNGkind(), seed = c(10403L, 624L, state)))
    words <- matrix(floor(stats::runif(4 * n) * 2^32), 2)
    (words[1, ] %/% 2^5 * 2^26 + words[2, ] %/% 2^6) / 2^53
  })
  # Marsaglia's polar method, the second coordinate first
  pair <- matrix(2 * uniform - 1, 2)
  square <- colSums(pair^2)
  inside <- which(square < 1 & square > 0)[seq_len(n / 2)]
  square <- square[inside]
  as.vector(pair[2:1, inside] * rep(sqrt(-2 * log(square) / square), each = 2))
}

# A column of ones and the stimulus, delayed by 0 to 8 bins
spike_design <- function() {
  stimulus <- benchmark_normals(100)
  delayed <- function(lag) c(numeric(lag), stimulus[seq_len(100 - lag)])
  cbind(1, vapply(0:8, delayed, stimulus))
}

# F of the prior, whose F f is white noise
spike_smoother <- function() {
  i <- seq_len(9)
  lag <- outer(i, i, "-")
  diag(1 + sqrt((i - 1) / 9)) - 2 * (lag == 1) + (lag == 2)
}

spike_prior <- function(n) {
  filter <- forwardsolve(spike_smoother(), matrix(stats::rnorm(9 * n), 9))
  cbind(sqrt(2) * stats::rnorm(n), t(filter))
}

spike_rows <- function(theta) {
  design <- spike_design()
  prob <- stats::plogis(theta %*% t(design))
  (stats::runif(length(prob)) < prob) %*% design
}

sir_days <- seq(0, 153, by = 17)

# The shares of susceptible and infected people, as logarithms
sir_paths <- function(theta, ...) {
  rate <- function(theta) {
    function(state) {
      share <- exp(state)
      cbind(-theta[, 1] * share[, 2], theta[, 1] * share[, 1] - theta[, 2])
    }
  }
  solve_ode(rate, theta, log(c(1 - 1e-6, 1e-6)), 17, 10, steps = 17, ...)
}

sir_rows <- function(theta) {
  prob <- pmin(exp(sir_paths(theta)[[2]]), 1)
  known <- !is.na(prob)
  prob[known] <- stats::rbinom(sum(known), 1000, prob[known])
  prob
}

prey_times <- seq(0, 18.9, by = 2.1)

# Prey and predators, as logarithms
prey_paths <- function(theta, ...) {
  rate <- function(theta) {
    function(state) {
      size <- exp(state)
      cbind(
        theta[, 1] - theta[, 2] * size[, 2], theta[, 4] * size[, 1] - theta[, 3]
      )
    }
  }
  solve_ode(rate, theta, log(c(30, 1)), 2.1, 10, steps = 25, ...)
}

prey_rows <- function(theta) {
  paths <- do.call(cbind, prey_paths(theta))
  limited <- pmin(pmax(paths, log(1e-10)), log(1e4))
  exp(limited + 0.1 * normal_rows(nrow(theta), 20))
}

# The table of tasks --------------------------------------------------------

# Names of parameters and observations, the prior's support (one bound for all
# parameters), its sampler, and the simulator of a row of observations for each
# row of parameters. Tasks with the lower bound 0 are not defined below it.
sbi_tasks <- list(
  gaussian_linear = list(
    parameters = paste0("theta", 1:10), observations = paste0("y", 1:10),
    lower = -Inf, upper = Inf,
    prior = function(n) sqrt(0.1) * normal_rows(n, 10), simulate = add_noise
  ),
  gaussian_linear_uniform = list(
    parameters = paste0("theta", 1:10), observations = paste0("y", 1:10),
    lower = -1, upper = 1,
    prior = uniform_prior(1, 10), simulate = add_noise
  ),
  gaussian_mixture = list(
    parameters = paste0("theta", 1:2), observations = paste0("y", 1:2),
    lower = -10, upper = 10,
    prior = uniform_prior(10, 2), simulate = mixture_rows
  ),
  two_moons = list(
    parameters = paste0("theta", 1:2), observations = paste0("y", 1:2),
    lower = -1, upper = 1,
    prior = uniform_prior(1, 2), simulate = moon_rows
  ),
  slcp = list(
    parameters = paste0("theta", 1:5), observations = paste0("y", 1:8),
    lower = -3, upper = 3,
    prior = uniform_prior(3, 5), simulate = slcp_rows
  ),
  slcp_distractors = list(
    parameters = paste0("theta", 1:5), observations = paste0("y", 1:100),
    lower = -3, upper = 3,
    prior = uniform_prior(3, 5), simulate = distractor_rows
  ),
  bernoulli_glm = list(
    parameters = c("offset", paste0("f", 1:9)),
    observations = c("count", paste0("lag", 0:8)),
    lower = -Inf, upper = Inf,
    prior = spike_prior, simulate = spike_rows
  ),
  sir = list(
    parameters = c("beta", "gamma"),
    observations = paste0("infected_", sir_days),
    lower = 0, upper = Inf,
    prior = lognormal_prior(log(c(0.4, 0.125)), c(0.5, 0.2)),
    simulate = sir_rows
  ),
  lotka_volterra = list(
    parameters = c("alpha", "beta", "gamma", "delta"),
    observations = c(
      paste0("prey_", prey_times), paste0("predators_", prey_times)
    ),
    lower = 0, upper = Inf,
    prior = lognormal_prior(c(-0.125, -3, -0.125, -3), rep(0.5, 4)),
    simulate = prey_rows
  )
)

# Ordinary differential equations, many sets of parameters at a time, for
# simulators.

#' Solve equations for all rows of a matrix of parameters
#'
#' The classical Runge-Kutta method of order 4, with steps of one size for a
#' row. Steps are halved for the rows that the last halving has changed, so that
#' few rows need small steps. The error after a halving is about 1/15 of the
#' change: with the default `tolerance` below 1e-4.
#'
#' States are logarithms in the models here: populations stay positive, and a
#' change is a relative one.
#' @param rate A function of rows of `theta` that returns a function from states
#'   (a row each) to their rates of change.
#' @param start The state at time 0, the same for all rows.
#' @param span Time from one output to the next; there are `times` of them, the
#'   first at time 0.
#' @param steps The first number of steps for a span.
#' @param halvings How many at most. Of 1e5 draws from the priors of the models
#'   here none needs more than 5.
#' @return A list of matrices, one for each coordinate of the state: a row for
#'   each set of parameters, a column for each time. A row that is not finite or
#'   still changes after all `halvings` is NA.
#' @noRd
solve_ode <- function(rate, theta, start, span, times, steps,
                      tolerance = 3e-4, halvings = 6) {
  rows <- seq_len(nrow(theta))
  out <- runge_kutta(rate(theta), length(rows), start, span, times, steps)
  for (i in seq_len(halvings)) {
    steps <- 2 * steps
    finer <- runge_kutta(
      rate(theta[rows, , drop = FALSE]), length(rows), start, span, times, steps
    )
    change <- apply(abs(finer - out[rows, , drop = FALSE]), 1, max)
    out[rows, ] <- finer
    rows <- rows[is.na(change) | change > tolerance]
    if (length(rows) == 0) break
  }
  out[rows, ] <- NA
  coordinate <- rep(seq_along(start), times)
  lapply(seq_along(start), function(j) out[, coordinate == j, drop = FALSE])
}

runge_kutta <- function(rate, n, start, span, times, steps) {
  state <- matrix(start, n, length(start), byrow = TRUE)
  out <- vector("list", times)
  out[[1]] <- state
  h <- span / steps
  for (time in seq_len(times)[-1]) {
    for (i in seq_len(steps)) {
      k1 <- rate(state)
      k2 <- rate(state + h / 2 * k1)
      k3 <- rate(state + h / 2 * k2)
      k4 <- rate(state + h * k3)
      state <- state + h / 6 * (k1 + 2 * (k2 + k3) + k4)
    }
    out[[time]] <- state
  }
  do.call(cbind, out)
}
