# Makes inst/extdata/camera.rds: Rscript data-raw/camera/render.R
# Renders another path, for experiments; camera_from_file() of read.R reads it:
#   Rscript data-raw/camera/render.R --speed=3 --seed=1 --output=file.rds
#     [--frames=3600]
#
# Needs povray 3.7 (Debian package povray) and a system that forks; for the
# package's path also this package, installed. 3600 frames of 20 x 20 RGB of the
# room in room.pov, along a smooth bounded path of yaw, pitch and roll. The
# package's path has no random numbers. --folder=f keeps the frames in f;
# --processes=3 renders in fewer processes than 6.

n_frames <- 3600
side <- 20

# ---- the path ---------------------------------------------------------------

# Two waves per angle. The package's periods, in frames, are primes; phases are
# in periods.
camera_waves <- list(
  amplitude = cbind(yaw = c(1.3, 0.5), pitch = c(0.4, 0.2), roll = c(0.4, 0.2)),
  period = cbind(yaw = c(353, 137), pitch = c(251, 97), roll = c(419, 157)),
  phase = cbind(yaw = c(0, 0.2), pitch = c(0.9, 0.4), roll = c(0.7, 0.1))
)

# The same kind of motion elsewhere: other phases, and periods up to a quarter
# longer or shorter.
random_waves <- function(seed) {
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  out <- camera_waves
  out$phase[] <- stats::runif(6)
  out$period <- out$period * 1.25^stats::runif(6, -1, 1)
  out
}

# Angles are whole microradians, so that the file stores them exactly.
camera_path <- function(t = seq_len(n_frames), waves = camera_waves) {
  radians <- vapply(colnames(waves$phase), function(angle) {
    rowSums(mapply(function(a, p, f) a * sin(2 * pi * (t / p + f)),
      waves$amplitude[, angle], waves$period[, angle], waves$phase[, angle]
    ))
  }, numeric(length(t)))
  out <- round(1e6 * radians)
  storage.mode(out) <- "integer"
  out
}

# ---- rendering --------------------------------------------------------------

write_poses <- function(rotations, file) {
  numbers <- formatC(t(rotations), digits = 17, format = "g")
  writeLines(c(
    sprintf("#declare Pose = array[%d] {", length(numbers)),
    paste0("  ", paste(numbers, collapse = ",\n  ")), "}"
  ), file)
}

# One sample in each of 4 x 4 parts of a pixel, averaged (-J: no jitter). +KFF
# is the last frame of the animation, +SF and +EF the first and last to render.
render <- function(from, to, n, program = "povray", width = side,
                   rays = c("+AM1", "+A0.0", "+R4", "-J")) {
  log <- sprintf("log-%04d", from)
  status <- system2(program, c(
    "+Iroom.pov", "+Oframe.ppm", "+FP8", sprintf("+W%d +H%d", width, width),
    sprintf("+KFI1 +KFF%d +SF%d +EF%d", n, from, to),
    rays, "-D", "-GA", "+WT1", "File_Gamma=sRGB"
  ), stdout = FALSE, stderr = log)
  if (status != 0) {
    stop("povray failed: ", file.path(getwd(), log))
  }
}

# povray mostly waits, so several processes share one core well.
render_all <- function(n, processes) {
  last <- round(n * seq_len(processes) / processes)
  from <- c(1, utils::head(last, -1) + 1)
  done <- parallel::mcmapply(render, from, last,
    MoreArgs = list(n = n), mc.cores = processes, SIMPLIFY = FALSE
  )
  problem <- Filter(function(x) inherits(x, "try-error"), done)
  if (length(problem) > 0) stop(problem[[1]])
}

# The bytes of a square binary PPM file after its header: red, green and blue of
# the pixels, by rows from the top, each from left to right.
read_ppm <- function(file, side = 20) {
  size <- file.size(file)
  bytes <- readBin(file, "raw", size)
  n <- 3 * side^2
  header <- rawToChar(bytes[seq_len(size - n)])
  fields <- scan(text = gsub("#[^\n]*", "", header), what = "", quiet = TRUE)
  stopifnot(identical(fields, c("P6", side, side, 255)))
  utils::tail(bytes, n)
}

render_frames <- function(rotations, folder, here, processes) {
  old <- enter(folder, here)
  on.exit(setwd(old))
  write_poses(rotations, "poses.inc")
  n <- nrow(rotations)
  render_all(n, processes)
  # povray writes all numbers as wide as the last.
  files <- sprintf("frame%0*d.ppm", nchar(sprintf("%d", n)), seq_len(n))
  vapply(files, function(file) in_levels(read_ppm(file)), raw(3 * side^2),
    USE.NAMES = FALSE
  )
}

# The present folder, before this enters `folder`, with the scene in it
enter <- function(folder, here) {
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  file.copy(file.path(here, "room.pov"), folder, overwrite = TRUE)
  setwd(folder)
}

# A picture of the room in all directions, for predict_frames() of the reader:
# 3 x width x width x 8, for the signs of x, y and z. Cells are |x| and |y| of
# directions with |x| + |y| + |z| = 1. In each of the eight parts these are
# linear, so a camera with such axes sees it. Half of each picture is not used.
render_room <- function(folder, here, width = 256) {
  old <- enter(folder, here)
  on.exit(setwd(old))
  signs <- as.matrix(expand.grid(c(1, -1), c(1, -1), c(1, -1)))
  across <- cbind(signs[, 1], 0, -signs[, 3])
  down <- cbind(0, signs[, 2], -signs[, 3])
  ahead <- cbind(0, 0, signs[, 3]) + (across + down) / 2
  # The scene multiplies by 1.65.
  write_poses(cbind(ahead, -across / 1.65, -down / 1.65), "poses.inc")
  render(1, 8, 8, width = width, rays = "-A")
  out <- vapply(1:8, function(k) {
    array(read_ppm(sprintf("frame%d.ppm", k), width), c(3, width, width))
  }, array(raw(1), c(3, width, width)))
  used <- outer(seq_len(width), seq_len(width), "+") <= width + 2
  out[!rep(rep(used, each = 3), 8)] <- as.raw(0)
  out
}

# Fewer levels than a byte: half the size, and steps far below the noise that
# the experiments add.
in_levels <- function(bytes) as.raw(round(as.integer(bytes) * 63 / 255))

# ---- files ------------------------------------------------------------------

package_file <- function(root, frames_of, room, reader) {
  angles <- camera_path()
  list(
    file = file.path(root, "inst", "extdata", "camera.rds"),
    stored = pack(frames_of(angles), angles, room, reader)
  )
}

# What camera_data() reads, and unpacks to the same frames
pack <- function(frames, angles, room, reader) {
  reader$camera_rays_cpp <- getFromNamespace("camera_rays_cpp", "kernelbayes")
  predicted <- reader$predict_frames(angles * 1e-6, room)
  coded <- take_codes(array(as.integer(frames), dim(frames)) - predicted)
  stopifnot(identical(
    predicted + reader$undo_codes(coded$codes, coded$large),
    array(as.integer(frames), dim(frames))
  ))
  c(list(room = room), coded, list(angles = reader$take_differences(angles)))
}

# Undone by undo_codes() of the reader
take_codes <- function(differences) {
  cut <- pmax(pmin(differences, 2L), -2L)
  large <- abs(differences)[abs(cut) == 2L] - 2L
  codes <- c(1, 5, 25) %*% matrix(cut + 2L, 3)
  list(
    codes = t(matrix(as.raw(codes), ncol = ncol(differences))),
    large = as.raw(large)
  )
}

other_file <- function(options, frames_of) {
  file <- options$option("output", "")
  # Rendering takes minutes: know before it that the file can be written.
  if (file == "" || !dir.exists(dirname(file))) {
    options$refuse_arguments("--output must be a file in a folder that exists.")
  }
  speed <- number(options, "speed")
  seed <- number(options, "seed")
  n <- number(options, "frames", n_frames)
  angles <- camera_path(speed * seq_len(n), random_waves(seed))
  stored <- list(
    frames = frames_of(angles), angles = angles, speed = speed, seed = seed
  )
  list(file = file, stored = stored)
}

# A number above 0, whole unless it is the speed
number <- function(options, name, default = NA) {
  text <- options$option(name, default)
  out <- suppressWarnings(as.numeric(text))
  if (!isTRUE(out > 0 && (name == "speed" || out == round(out)))) {
    options$refuse_arguments(
      paste0("--", name, " must be a number above 0; it is ", text, ".")
    )
  }
  out
}

main <- function() {
  args <- grep("^--file=", commandArgs(), value = TRUE)
  here <- dirname(normalizePath(sub("^--file=", "", args[[1]])))
  root <- dirname(dirname(here))
  reader <- new.env()
  options <- new.env()
  sys.source(file.path(root, "R", "simulate.R"), reader)
  sys.source(file.path(root, "tools", "arguments.R"), options)
  path <- c("speed", "seed", "output", "frames")
  options$refuse_unknown(options = c(path, "folder", "processes"))
  folder <- normalizePath(options$option("folder", tempfile("camera")),
    mustWork = FALSE
  )
  frames_of <- function(angles) {
    frames <- render_frames(reader$camera_rotations(angles / 1e6), folder, here,
      number(options, "processes", 6)
    )
    message("frames: md5 ", digest_of(frames))
    frames
  }
  other <- any(startsWith(options$args, paste0("--", path)))
  made <- if (other) other_file(options, frames_of) else
    package_file(root, frames_of, render_room(file.path(folder, "room"), here),
      reader
    )
  saveRDS(made$stored, made$file, version = 2, compress = "xz")
  message(
    made$file, ": ", file.size(made$file), " bytes, md5 ",
    tools::md5sum(made$file)
  )
}

digest_of <- function(bytes) {
  file <- tempfile()
  writeBin(as.vector(bytes), file)
  unname(tools::md5sum(file))
}

if (sys.nframe() == 0) main()
