# Simulated regressions with a known truth, for examples, tests and
# experiments; classes are in R/simulate.R.

#' Simulate the sinc function with noise
#'
#' `n` equally spaced points x, and
#' \eqn{y = \sin(x) / x + \epsilon}{y = sin(x) / x + e} with independent
#' Gaussian noise; sinc(0) is 1.
#'
#' The defaults are those of Vermaak, Godsill and Doucet (2003, see [srvm()]).
#' @param n Number of points, at least 1.
#' @param sd Standard deviation of the noise, at least 0, in units of y.
#' @param order `"random"` puts the rows in random order, `"given"` leaves x
#'   increasing.
#' @template args-seed
#' @param range First and last x, two finite increasing numbers.
#' @template args-truth-function
#' @return A data frame of `n` rows with the columns `x` and `y`; with `truth`
#'   also `f`, the noiseless function.
#' @examples
#' d <- sim_sinc(seed = 1, truth = TRUE)
#' plot(y ~ x, d)
#' lines(f ~ x, d[order(d$x), ])
#' @export
sim_sinc <- function(n = 50, sd = 0.1, order = c("random", "given"),
                     seed = NULL, range = c(-10, 10), truth = FALSE) {
  n <- check_size(n, 1, each = 6)
  sd <- check_number(sd, 0)
  order <- check_choice(order, c("random", "given"))
  range <- check_range(range)
  truth <- check_flag(truth)
  with_local_seed(seed, {
    x <- seq(range[[1]], range[[2]], length.out = n)
    if (order == "random") {
      x <- x[sample.int(n)]
    }
    f <- ifelse(x == 0, 1, sin(x) / x)
    with_truth(data.frame(x = x, y = f + sd * stats::rnorm(n)), f, truth)
  })
}

with_truth <- function(data, f, truth) {
  if (truth) data$f <- f
  data
}

check_range <- function(x, arg = rlang::caller_arg(x)) {
  increasing <- is.numeric(x) && length(x) == 2 && all(is.finite(x)) &&
    x[[1]] < x[[2]]
  if (!isTRUE(increasing)) {
    bad_argument(x, arg, "two finite increasing numbers")
  }
  as.double(x)
}

#' Simulate Friedman's regression functions
#'
#' Independent uniform predictors, a function of the first five or four of
#' them, and independent Gaussian noise.
#'
#' 1. `10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5`, predictors uniform
#'    on \[0, 1\], noise of standard deviation 1.
#' 2. `sqrt(x1^2 + (x2 x3 - 1 / (x2 x4))^2)`, noise 125.
#' 3. `atan((x2 x3 - 1 / (x2 x4)) / x1)`, noise 0.1.
#'
#' In 2 and 3 the predictors are uniform on \[0, 100\], `range`, \[0, 1\] and \[1, 11\].
#' Those beyond are uniform on \[0, 1\] and have no effect.
#' @inheritParams sim_sinc
#' @param p Number of predictors: at least 5 for function 1 (default 10), at
#'   least 4 for functions 2 and 3 (default 4).
#' @param which Which function: 1, 2 or 3.
#' @param range Of x2 in functions 2 and 3, where it is an angular frequency: two
#'   increasing numbers. Ouyang, Clyde and Wolpert (2008) print 40 and 560, the
#'   frequency itself.
#' @return A data frame of `n` rows with the columns `x1`, ..., `xp` and `y`;
#'   with `truth` also `f`, the noiseless function.
#' @references
#' Friedman, J. H. (1991). Multivariate adaptive regression splines. *Annals of
#' Statistics* 19, 1-67. \doi{10.1214/aos/1176347963}
#' @examples
#' d <- sim_friedman(100, seed = 1)
#' str(d)
#' @export
sim_friedman <- function(n, p = if (which == 1) 10 else 4, which = 1,
                         sd = c(1, 125, 0.1)[[which]],
                         range = c(40, 560) * pi, seed = NULL,
                         truth = FALSE) {
  n <- check_size(n, 1, each = 10)
  which <- check_count(which, 1, 3)
  p <- check_size(p, if (which == 1) 5 else 4, each = 2 * n)
  sd <- check_number(sd, 0)
  range <- check_range(range)
  truth <- check_flag(truth)
  with_local_seed(seed, {
    x <- matrix(stats::runif(as.double(n) * p), n, p)
    if (which > 1) {
      x[, 1] <- 100 * x[, 1]
      x[, 2] <- range[[1]] + diff(range) * x[, 2]
      x[, 4] <- 1 + 10 * x[, 4]
    }
    colnames(x) <- paste0("x", seq_len(p))
    f <- friedman_function(x, which)
    with_truth(data.frame(x, y = f + sd * stats::rnorm(n)), f, truth)
  })
}

friedman_function <- function(x, which) {
  if (which == 1) {
    return(10 * sin(pi * x[, 1] * x[, 2]) + 20 * (x[, 3] - 0.5)^2 +
      10 * x[, 4] + 5 * x[, 5])
  }
  reactance <- x[, 2] * x[, 3] - 1 / (x[, 2] * x[, 4])
  if (which == 2) {
    return(sqrt(x[, 1]^2 + reactance^2))
  }
  atan(reactance / x[, 1])
}

# Simulated classes with a known truth, for examples, tests and experiments.

#' @rdname sim_moons
#' @export
sim_circle <- function(n, p = 2, seed = NULL) {
  n <- check_size(n, 1, each = 4)
  p <- check_size(p, 2, each = 2 * n)
  with_local_seed(seed, {
    x <- matrix(stats::runif(as.double(n) * p, -1, 1), n, p)
    colnames(x) <- paste0("x", seq_len(p))
    data.frame(x, y = two_classes(x[, 1]^2 + x[, 2]^2 <= 2 / pi))
  })
}

# Both levels, even if only one of them occurs
two_classes <- function(positive) {
  factor(as.integer(positive), levels = c("0", "1"))
}

#' Labels after flips, which come last: a seed gives the same predictors, and
#' nested sets of flips, whatever `flips` is
#' @param truth Add the labels before the flips?
#' @noRd
flip_labels <- function(positive, flips, truth) {
  flipped <- stats::runif(length(positive)) < flips
  out <- data.frame(y = two_classes(xor(positive, flipped)))
  if (truth) out$clean <- two_classes(positive)
  out
}

#' Simulate two classes
#'
#' `sim_moons(100, flips = 0.1, seed = 1)` gives two interleaved half-circles, one class
#' each, with wrong labels; the others have other boundaries.
#' * `sim_moons()`: with t uniform on \[0, pi\] and k the class before flips, x =
#'   `scale (cos t, sin t) + e` for `k = 0`, `scale (1 - cos t, 1/2 - sin t) + e` for
#'   `k = 1`, the components of e independent Gaussian noise. The classes have equal
#'   numbers of rows, `"0"` one more if `n` is odd, in random order. At the defaults
#'   and without flips the best classifier is wrong for 7.5% of new points.
#' * `sim_quadratic()`: independent standard Gaussian predictors; before flips the
#'   class is `"1"` where `x1 + x2 x3 + x4^2 / 2 - 1/2 > 0`, with probability 0.484.
#' * `sim_sphere()`: points on the unit sphere in three dimensions; before flips the
#'   class is `"1"` where `x3 < 0`: the linear classifier without a bias whose
#'   weights are (0, 0, -1). With independent A ~ Beta(a, a) and B ~ Beta(b, b), the
#'   longitude is `l = 2 pi A`, the angle from the north pole is `h = pi B`, and
#'   `(x1, x2, x3) = (sin h cos l, sin h sin l, cos h)`. Both classes have
#'   probability 1/2. A small `b` puts most points next to the poles, far from the
#'   boundary. Figure 4 of Graepel and Herbrich (2001, see [kgs()]) has the default
#'   `a` and `b`, `flips = 0.05`, 100 rows to learn from and 1000 to test.
#' * `sim_circle()`: predictors uniform on \[-1, 1\]; the class is `"1"` where
#'   \eqn{x_1^2 + x_2^2 \le 2 / \pi}{x1^2 + x2^2 <= 2 / pi}, which has probability
#'   1/2, and there are no flips. Ouyang, Clyde and Wolpert (2008, see [bark()]) use
#'   `p` of 2, 5 and 20.
#' @param n Number of rows, at least 1.
#' @param p Number of predictors, at least 4 (of `sim_circle()` 2). Those that are
#'   not in the formulas have no effect.
#' @param sd Standard deviation of the noise in each coordinate, at least 0, in
#'   units of x1 and x2: `scale` does not multiply it.
#' @template args-flips
#' @param scale Radius of the moons, above 0, in units of x1 and x2.
#' @param a,b Shapes of the symmetric Beta distributions of the longitude and of
#'   the angle from the pole, above 0.
#' @template args-seed
#' @template args-truth-classes
#' @return A data frame of `n` rows with the columns `x1`, `x2` and so on, and `y`, a
#'   factor with levels `"0"` and `"1"`; with `truth` also `clean`, the same
#'   before flips.
#' @examples
#' d <- sim_moons(76, flips = 0.05, seed = 1, truth = TRUE)
#' plot(x2 ~ x1, d, col = d$y, pch = ifelse(d$y == d$clean, 1, 4), asp = 1)
#' d <- sim_circle(200, seed = 1)
#' plot(x2 ~ x1, d, col = d$y, asp = 1)
#' table(sim_quadratic(100, flips = 0.05, seed = 1)$y)
#' plot(x3 ~ x1, sim_sphere(100, seed = 1), asp = 1)
#' @export
sim_moons <- function(n, sd = 0.45, flips = 0, scale = 1.6, seed = NULL,
                      truth = FALSE) {
  n <- check_size(n, 1, each = 6)
  sd <- check_number(sd, 0)
  flips <- check_number(flips, 0, 1)
  truth <- check_flag(truth)
  scale <- check_number(scale, 0, open = TRUE)
  with_local_seed(seed, {
    k <- rep_len(0:1, n)[sample.int(n)]
    t <- stats::runif(n, 0, pi)
    side <- 1 - 2 * k
    data.frame(
      x1 = scale * (k + side * cos(t)) + sd * stats::rnorm(n),
      x2 = scale * (k / 2 + side * sin(t)) + sd * stats::rnorm(n),
      flip_labels(k == 1, flips, truth)
    )
  })
}

#' @rdname sim_moons
#' @export
sim_quadratic <- function(n, p = 10, flips = 0, seed = NULL, truth = FALSE) {
  n <- check_size(n, 1, each = 4)
  p <- check_size(p, 4, each = 2 * n)
  flips <- check_number(flips, 0, 1)
  truth <- check_flag(truth)
  with_local_seed(seed, {
    x <- matrix(stats::rnorm(as.double(n) * p), n, p)
    colnames(x) <- paste0("x", seq_len(p))
    f <- x[, 1] + x[, 2] * x[, 3] + x[, 4]^2 / 2 - 0.5
    data.frame(x, flip_labels(f > 0, flips, truth))
  })
}

#' @rdname sim_moons
#' @export
sim_sphere <- function(n, flips = 0, a = 5, b = 0.1, seed = NULL,
                       truth = FALSE) {
  n <- check_size(n, 1, each = 6)
  flips <- check_number(flips, 0, 1)
  truth <- check_flag(truth)
  a <- check_number(a, 0, open = TRUE)
  b <- check_number(b, 0, open = TRUE)
  with_local_seed(seed, {
    longitude <- 2 * pi * stats::rbeta(n, a, a)
    polar <- pi * stats::rbeta(n, b, b)
    x3 <- cos(polar)
    data.frame(
      x1 = sin(polar) * cos(longitude), x2 = sin(polar) * sin(longitude), x3,
      flip_labels(x3 < 0, flips, truth)
    )
  })
}

# Simulated hidden Markov models with known noise, for examples, tests and
# experiments. Noise is drawn in one order: start, states, observations; a seed
# gives the same path of states whatever `sd_observation` is.

#' Simulate hidden Markov models
#'
#' `sim_rotation(400, seed = 1)` and `sim_oscillation()` are the models of Fukumizu,
#' Song and Gretton (2013, see [kbr()]): a point (u, v) moves around the origin and
#' is observed with noise. \deqn{(u_{t+1}, v_{t+1}) = r(\theta_{t+1}) (\cos
#' \theta_{t+1}, \sin \theta_{t+1}) + z_t, \quad \theta_{t+1} = \mathrm{atan2}(v_t,
#' u_t) + s,}{(u', v') = r(theta) (cos theta, sin theta) + z, theta = atan2(v, u) +
#' s,} \deqn{y_t = (u_t, v_t) + w_t,}{y = (u, v) + w,} where the components of z and
#' w are independent Gaussian noise and s is the `step`: r = 1 and s = 0.3, or
#' r is `1 + 0.4 sin(8 theta)` and s = 0.4. The first state has the same form with theta
#' uniform on the circle. The authors print arctan(v / u), which covers only half of
#' the circle. The defaults are theirs.
#'
#' `sim_linear_hmm()` is one state, an autoregression, and one observation of it:
#' \deqn{x_{t+1} = c x_t + z_t, \quad y_t = x_t + w_t,}{x' = c x + z,
#'   y = x + w,}
#' c the `coef`, from the stationary distribution, with variance
#' `sd_state^2 / (1 - coef^2)`: 1 at the defaults. The Kalman filter and smoother give
#' exact results.
#' @param n Number of time points, at least 1.
#' @param step Angle from one time point to the next, in radians.
#' @param sd_state Standard deviation of each component of the noise of the
#'   states, at least 0, in units of u and v.
#' @param sd_observation The same for the observations.
#' @template args-seed
#' @return A list of the matrices `states` (n x 2, columns u and v, or n x 1, column x)
#'   and `observations` (n x 2, columns y1 and y2, or n x 1, column y), one row per time
#'   point. A further sequence comes from another seed.
#' @examples
#' d <- sim_oscillation(400, seed = 1)
#' plot(d$states, asp = 1)
#' points(d$observations, col = "grey")
#' d <- sim_linear_hmm(100, seed = 1)
#' plot(d$observations, ylab = "x and y", xlab = "t")
#' lines(d$states)
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

#' @rdname sim_rotation
#' @param coef Coefficient of the autoregression, strictly between -1 and 1.
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

# The camera data: frames of a room, and the camera's direction for each.

#' Frames of a turning camera
#'
#' 3600 small colour frames of a room, from a camera that stays in one place and
#' turns on a smooth path, with the direction of each: an example of filtering
#' states from images.
#'
#' The room was rendered after the experiment of Fukumizu, Song and Gretton (see
#' [kbr()]), whose room and path are not published. Frames are 20 x 20 pixels in 64
#' levels of the colour space sRGB, without noise. Each angle is the sum of two sine
#' waves with periods between 97 and 419 frames; the second half of the path passes
#' near, not through, the directions of the first.
#'
#' A rotation matrix is R = Rz(yaw) Ry(pitch) Rx(roll): yaw about the vertical axis
#' z, positive to the left, pitch positive downwards, roll about the view, positive
#' where the left side goes up. Its columns are the directions of the camera's axes
#' forward, left and up in the room.
#' @return A list:
#' * `frames`: matrix, 3600 x 1200, numbers in \[0, 1\]. Each row is a frame:
#'   red, green and blue of each pixel, from left to right and from top to
#'   bottom.
#' * `rotations`: matrix, 3600 x 9, one rotation matrix per row, by columns, as
#'   for [kernel_rotation()].
#' * `angles`: matrix, 3600 x 3, columns yaw, pitch and roll in radians, whole
#'   multiples of 1e-6.
#' * `train`: logical, `TRUE` for the first 1800 frames.
#' @section Errors: A missing or changed file is an error of class
#'   `kb_error_file`.
#' @source Own work, rendered by `data-raw/camera/render.R` of the package's
#'   sources from the scene `data-raw/camera/room.pov`.
#' @examples
#' camera <- camera_data()
#' matplot(camera$angles, type = "l", lty = 1, xlab = "frame", ylab = "radians")
#' picture <- array(camera$frames[100, ], c(3, 20, 20))
#' plot(as.raster(aperm(picture, c(3, 2, 1))), interpolate = FALSE)
#' @export
camera_data <- function() {
  stored <- read_camera(system.file("extdata", "camera.rds",
    package = "kernelbayes"
  ))
  angles <- 1e-6 * undo_differences(stored$angles)
  frames <- predict_frames(angles, stored$room) +
    undo_codes(stored$codes, stored$large)
  camera_of(frames, angles)
}

# The list above, from the frames' levels and angles in radians; also for the
# paths that data-raw/camera/render.R makes.
camera_of <- function(levels, angles) {
  n <- nrow(angles)
  list(
    frames = t(matrix(as.integer(levels) / camera_levels, ncol = n)),
    rotations = camera_rotations(angles), angles = angles,
    train = seq_len(n) <= n / 2
  )
}

# Frames are whole numbers from 0 to this.
camera_levels <- 63

# The file has a picture of the room, and what the frames differ by from frames
# predicted from it: 1200 x n. Light is whole numbers up to `most`, so that sums
# of 16 rays are exact; the picture and the frames have the colour space sRGB.
predict_frames <- function(angles, room) {
  most <- 8191
  grey <- 0:255 / 255
  light <- ifelse(grey <= 0.04045, grey / 12.92, ((grey + 0.055) / 1.055)^2.4)
  rays <- camera_rays_cpp(camera_rotations(angles),
    as.integer(round(most * light))[as.integer(room) + 1L], dim(room)[[2]]
  )
  mean <- seq(0, 16 * most) / (16 * most)
  grey <- ifelse(mean <= 0.0031308,
    12.92 * mean, 1.055 * mean^(1 / 2.4) - 0.055
  )
  level <- as.integer(round(round(255 * grey) * camera_levels / 255))
  matrix(level[rays + 1L], nrow(rays))
}

# Differences of red, green and blue, cut to -2, ..., 2, are the digits of one
# byte; `large` is what is cut off, wherever they are -2 or 2. Codes have a
# column per pixel: frames vary slowly.
undo_codes <- function(codes, large) {
  digits <- t(as.matrix(expand.grid(-2:2, -2:2, -2:2)))
  out <- matrix(digits[, as.integer(t(codes)) + 1L], ncol = nrow(codes))
  cut <- which(abs(out) == 2L)
  out[cut] <- out[cut] + (out[cut] %/% 2L) * as.integer(large)
  out
}

# Third differences of the angles are kept, after three zeros: they are small.
take_differences <- function(angles) {
  apply(rbind(0L, 0L, 0L, angles), 2, diff, differences = 3)
}

undo_differences <- function(steps) {
  apply(steps, 2, function(d) stats::diffinv(d, differences = 3)[-(1:3)])
}

# The room, codes of the frames, and differences of the angles in microradians
read_camera <- function(file) {
  stored <- tryCatch(suppressWarnings(readRDS(file)), error = function(e) NULL)
  whole <- is.list(stored) && is.integer(stored$angles) &&
    is.raw(stored$room) && is.raw(stored$codes) && is.raw(stored$large) &&
    identical(dim(stored$angles), c(3600L, 3L)) &&
    identical(dim(stored$codes), c(3600L, 400L)) &&
    identical(dim(stored$room), c(3L, 256L, 256L, 8L))
  if (!whole) {
    kb_abort(c(
      "The camera data cannot be read from {.file {file}}.",
      i = "Install the package again."
    ), "file")
  }
  stored
}

# Rotation matrices by columns, one per row: Rz(yaw) Ry(pitch) Rx(roll)
camera_rotations <- function(angles) {
  cosine <- cos(angles)
  sine <- sin(angles)
  # The camera's axes before it rolls: `level` is left, `above` is up.
  forward <- cbind(cosine[, 1] * cosine[, 2], sine[, 1] * cosine[, 2],
    -sine[, 2]
  )
  level <- cbind(-sine[, 1], cosine[, 1], 0)
  above <- cbind(cosine[, 1] * sine[, 2], sine[, 1] * sine[, 2], cosine[, 2])
  left <- cosine[, 3] * level + sine[, 3] * above
  up <- cosine[, 3] * above - sine[, 3] * level
  unname(cbind(forward, left, up))
}
