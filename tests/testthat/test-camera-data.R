camera <- camera_data()

# Elementary rotations about the axes x, y, z by a right-handed angle.
turn <- function(axis, angle) {
  out <- diag(3)
  plane <- list(2:3, c(3, 1), 1:2)[[axis]]
  out[plane, plane] <- c(cos(angle), sin(angle), -sin(angle), cos(angle))
  out
}

test_that("the camera data have the documented sizes and ranges", {
  expect_named(camera, c("frames", "rotations", "angles", "train"))
  expect_identical(dim(camera$frames), c(3600L, 1200L))
  expect_identical(dim(camera$rotations), c(3600L, 9L))
  expect_identical(dim(camera$angles), c(3600L, 3L))
  expect_identical(colnames(camera$angles), c("yaw", "pitch", "roll"))
  expect_identical(camera$train, rep(c(TRUE, FALSE), each = 1800))
  expect_true(all(camera$frames >= 0 & camera$frames <= 1))
  expect_equal(camera$frames * 63, round(camera$frames * 63))
  expect_equal(camera$angles * 1e6, round(camera$angles * 1e6))
})

test_that("rotations match the angles, Rz(yaw) Ry(pitch) Rx(roll)", {
  for (i in c(1, 77, 1800, 3333)) {
    a <- camera$angles[i, ]
    rotation <- turn(3, a[[1]]) %*% turn(2, a[[2]]) %*% turn(1, a[[3]])
    expect_equal(matrix(camera$rotations[i, ], 3), rotation,
      tolerance = 1e-14
    )
  }
  defect <- apply(camera$rotations, 1, function(r) {
    r <- matrix(r, 3)
    max(abs(crossprod(r) - diag(3)), abs(det(r) - 1))
  })
  expect_lt(max(defect), 1e-14)
  # Axes by name: to the left, down, and the left side up.
  axes <- function(yaw = 0, pitch = 0, roll = 0) {
    matrix(camera_rotations(cbind(yaw, pitch, roll)), 3)
  }
  expect_equal(axes(), diag(3))
  expect_equal(axes(yaw = pi / 2)[, 1], c(0, 1, 0))
  expect_equal(axes(pitch = pi / 2)[, 1], c(0, 0, -1))
  expect_equal(axes(roll = pi / 2)[, 2], c(0, 0, 1))
})

test_that("the path is smooth and bounded", {
  expect_lt(max(abs(diff(camera$angles))), 0.06)
  expect_lt(max(abs(camera$angles[, "yaw"])), 1.81)
  expect_lt(max(abs(camera$angles[, c("pitch", "roll")])), 0.61)
})

test_that("frames show the direction", {
  # The left wall is red, the right one green.
  redness <- rowMeans(camera$frames[, seq(1, 1200, 3)]) -
    rowMeans(camera$frames[, seq(2, 1200, 3)])
  yaw <- camera$angles[, "yaw"]
  expect_gt(min(redness[yaw > 1.2]), max(redness[yaw < -1.2]))
  # Rows are from the top: the ceiling, seen well above the horizon, is grey.
  above <- which.min(camera$angles[, "pitch"])
  colour <- matrix(camera$frames[above, 1:60], 3)
  expect_lt(max(apply(colour, 2, function(p) diff(range(p)))), 0.15)
  change <- rowSums(diff(camera$frames)^2)
  turned <- rowSums(diff(camera$rotations)^2)
  expect_gt(cor(change, turned, method = "spearman"), 0.5)
})

test_that("the bytes are as rendered", {
  file <- system.file("extdata", "camera.rds", package = "kernelbayes")
  expect_lt(file.size(file), 4e5)
  bytes <- withr::local_tempfile()
  writeBin(as.raw(round(63 * t(camera$frames))), bytes)
  expect_identical(
    unname(tools::md5sum(bytes)), "fc7ff2e11fc6ee1f7594f111d784ca3c"
  )
  # A linear checksum of the angles, exact in doubles.
  micro <- round(1e6 * camera$angles)
  expect_identical(sum(micro * seq_len(3600)), -17516725496)
})

# The source tree's data-raw/camera, which an installed package does not have
camera_tools <- function() {
  root <- file.path("..", "..")
  folder <- file.path(root, "data-raw", "camera")
  skip_if_not(dir.exists(folder), "no source tree")
  out <- new.env()
  sys.source(file.path(folder, "render.R"), out)
  sys.source(file.path(folder, "read.R"), out)
  out$root <- root
  out
}

test_that("the angles are the path that data-raw/camera/render.R renders", {
  tools <- camera_tools()
  expect_identical(1e-6 * tools$camera_path(), camera$angles)
})

test_that("frames packed by data-raw/camera/render.R come back", {
  tools <- camera_tools()
  withr::local_preserve_seed()
  set.seed(1)
  reader <- new.env()
  sys.source(file.path(tools$root, "R", "simulate.R"), reader)
  frames <- array(as.raw(sample(0:63, 1200 * 5, TRUE)), c(1200, 5))
  room <- array(as.raw(sample(0:255, 3 * 16^2 * 8, TRUE)), c(3, 16, 16, 8))
  angles <- tools$camera_path(1:5)
  packed <- tools$pack(frames, angles, room, reader)
  expect_identical(packed$room, room)
  expect_equal(undo_differences(packed$angles), angles, tolerance = 0)
  levels <- predict_frames(1e-6 * angles, room) +
    undo_codes(packed$codes, packed$large)
  expect_identical(as.raw(levels), c(frames))
})

test_that("a frame is predicted from the light of its rays", {
  # A room of one colour looks the same everywhere.
  room <- array(as.raw(c(0, 100, 255)), c(3, 16, 16, 8))
  angles <- cbind(yaw = c(0, 2, -3), pitch = c(0, 0.5, -1), roll = c(0, 1, 3))
  level <- as.integer(round(c(0, 100, 255) * 63 / 255))
  expect_identical(
    predict_frames(angles, room), matrix(level, 1200, 3)
  )
  # White above the horizon, black below
  room[, , , 1:4] <- as.raw(255)
  room[, , , 5:8] <- as.raw(0)
  expect_identical(
    c(predict_frames(angles[1, , drop = FALSE], room)),
    rep(c(63L, 0L), each = 600)
  )
})

test_that("other paths have waves of a seed, with the same amplitudes", {
  tools <- camera_tools()
  withr::local_preserve_seed()
  waves <- tools$random_waves(2)
  expect_identical(waves, tools$random_waves(2))
  expect_identical(waves$amplitude, tools$camera_waves$amplitude)
  many <- lapply(1:50, tools$random_waves)
  factors <- sapply(many, `[[`, "period") / c(tools$camera_waves$period)
  expect_equal(range(factors), c(0.8, 1.25), tolerance = 0.01)
  phases <- sapply(many, `[[`, "phase")
  expect_equal(range(phases), c(0, 1), tolerance = 0.01)
  expect_identical(anyDuplicated(c(factors, phases)), 0L)
  # At three times the speed, frame t shows what was frame 3 t.
  every_third <- 3 * 1:20
  expect_identical(
    tools$camera_path(every_third, waves),
    tools$camera_path(1:60, waves)[every_third, ]
  )
})

test_that("camera_from_file() reads such a path as camera_data() does", {
  tools <- camera_tools()
  file <- withr::local_tempfile()
  rows <- 1:10
  bytes <- as.raw(round(63 * t(camera$frames[rows, ])))
  saveRDS(list(
    frames = matrix(bytes, 1200), angles = tools$camera_path(rows), speed = 1,
    seed = 1
  ), file)
  expect_identical(tools$camera_from_file(file, tools$root), list(
    frames = camera$frames[rows, ], rotations = camera$rotations[rows, ],
    angles = camera$angles[rows, ], train = rep(c(TRUE, FALSE), each = 5)
  ))
})

test_that("a file that is not the package's is an error", {
  error <- "kb_error_file"
  expect_error(read_camera(""), "camera data", class = error)
  file <- withr::local_tempfile()
  writeLines("no data", file)
  expect_error(read_camera(file), class = error)
  saveRDS(list(frames = raw(3), angles = 1L), file)
  expect_error(read_camera(file), class = error)
})
