# The camera data: frames of a room, and the camera's direction for each.

#' Frames of a turning camera
#'
#' 3600 small colour frames of a room, from a camera that stays in one place and
#' turns on a smooth path, with the direction of each: an example of filtering
#' states from images.
#'
#' The room was rendered with POV-Ray 3.7 for this package, after the experiment
#' of Fukumizu, Song and Gretton, whose room and path are not published. Frames
#' are 20 x 20 pixels, each the mean of 16 rays or more, in 64 levels of the
#' colour space sRGB. Each angle is the sum of two sine waves with periods
#' between 97 and 419 frames; the second half of the path passes near, not
#' through, the directions of the first. There is no noise: the experiments add
#' independent Gaussian noise of variance 1e-4 and 1e-3 to the frames.
#'
#' A rotation matrix is R = Rz(yaw) Ry(pitch) Rx(roll), as in
#' [plot.kb_kbr_path()]: yaw about the vertical axis z, positive to the left,
#' pitch positive downwards, roll about the view, positive where the left side
#' goes up. Its columns are the directions of the camera's axes forward, left
#' and up in the room.
#'
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
#' @references
#' Fukumizu, K., Song, L. and Gretton, A. (2013). Kernel Bayes' rule: Bayesian
#' inference with positive definite kernels. *Journal of Machine Learning
#' Research*, 14, 3753--3783.
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
