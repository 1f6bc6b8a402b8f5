# Reads a path that render.R made for an experiment. Scripts source this file.

# Frames, rotations, angles and train, as camera_data() returns them for the
# package's path. `root` is the source tree.
camera_from_file <- function(file, root) {
  reader <- new.env()
  sys.source(file.path(root, "R", "simulate.R"), reader)
  stored <- readRDS(file)
  reader$camera_of(stored$frames, 1e-6 * stored$angles)
}
