# Makes inst/extdata/camera.rds: Rscript data-raw/camera/render.R
#
# Needs povray 3.7 (Debian package povray) and a system that forks. 3600 frames
# of 20 x 20 RGB of the room in room.pov, along a smooth bounded path of yaw,
# pitch and roll, without random numbers. --folder=f keeps the frames in f.

n_frames <- 3600
side <- 20

# ---- the path ---------------------------------------------------------------

# Two waves per angle; their periods, in frames, are primes. Angles are whole
# microradians, so that the file stores them exactly.
wave <- function(t, amplitude, period, phase) {
  rowSums(mapply(function(a, p, f) a * sin(2 * pi * (t / p + f)),
    amplitude, period, phase
  ))
}

camera_path <- function(t = seq_len(n_frames)) {
  radians <- cbind(
    yaw = wave(t, c(1.3, 0.5), c(353, 137), c(0, 0.2)),
    pitch = wave(t, c(0.4, 0.2), c(251, 97), c(0.9, 0.4)),
    roll = wave(t, c(0.4, 0.2), c(419, 157), c(0.7, 0.1))
  )
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
render <- function(from, to, program = "povray") {
  log <- sprintf("log-%04d", from)
  status <- system2(program, c(
    "+Iroom.pov", "+Oframe.ppm", "+FP8", sprintf("+W%d +H%d", side, side),
    sprintf("+KFI1 +KFF%d +SF%d +EF%d", n_frames, from, to),
    "+AM1 +A0.0 +R4 -J", "-D", "-GA", "+WT1", "File_Gamma=sRGB"
  ), stdout = FALSE, stderr = log)
  if (status != 0) {
    stop("povray failed: ", file.path(getwd(), log))
  }
}

# povray mostly waits, so several processes share one core well.
render_all <- function(processes = 6) {
  last <- round(n_frames * seq_len(processes) / processes)
  from <- c(1, utils::head(last, -1) + 1)
  done <- parallel::mcmapply(render, from, last,
    mc.cores = processes, SIMPLIFY = FALSE
  )
  problem <- Filter(function(x) inherits(x, "try-error"), done)
  if (length(problem) > 0) stop(problem[[1]])
}

# The 3 x 20 x 20 bytes of a binary PPM file after its header: red, green and
# blue of the pixels, by rows from the top, each from left to right.
read_ppm <- function(file) {
  size <- file.size(file)
  bytes <- readBin(file, "raw", size)
  n <- 3 * side^2
  header <- rawToChar(bytes[seq_len(size - n)])
  fields <- scan(text = gsub("#[^\n]*", "", header), what = "", quiet = TRUE)
  stopifnot(identical(fields, c("P6", side, side, 255)))
  utils::tail(bytes, n)
}

render_frames <- function(rotations, folder, here) {
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  file.copy(file.path(here, "room.pov"), folder, overwrite = TRUE)
  old <- setwd(folder)
  on.exit(setwd(old))
  write_poses(rotations, "poses.inc")
  render_all()
  files <- sprintf("frame%04d.ppm", seq_len(n_frames))
  vapply(files, function(file) in_levels(read_ppm(file)), raw(3 * side^2),
    USE.NAMES = FALSE
  )
}

# Fewer levels than a byte: half the size, and steps far below the noise that
# the experiments add.
in_levels <- function(bytes) as.raw(round(as.integer(bytes) * 63 / 255))

main <- function() {
  args <- grep("^--file=", commandArgs(), value = TRUE)
  here <- dirname(normalizePath(sub("^--file=", "", args[[1]])))
  root <- dirname(dirname(here))
  reader <- new.env()
  sys.source(file.path(root, "R", "camera-data.R"), reader)
  folder <- sub("^--folder=", "", commandArgs(trailingOnly = TRUE))
  if (length(folder) == 0) folder <- tempfile("camera")
  angles <- camera_path()
  rotations <- reader$camera_rotations(angles / 1e6)
  frames <- render_frames(rotations, normalizePath(folder, mustWork = FALSE),
    here
  )
  file <- file.path(root, "inst", "extdata", "camera.rds")
  saveRDS(
    list(frames = frames, angles = reader$take_differences(angles)), file,
    version = 2, compress = "xz"
  )
  message(
    file, ": ", file.size(file), " bytes, md5 ", tools::md5sum(file),
    " (frames: ", digest_of(frames), ")"
  )
}

digest_of <- function(bytes) {
  file <- tempfile()
  writeBin(as.vector(bytes), file)
  unname(tools::md5sum(file))
}

if (sys.nframe() == 0) main()
