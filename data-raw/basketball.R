# Makes inst/extdata/basketball.csv: Rscript data-raw/basketball.R
#
# The values come from the data set `basketball` of the CRAN package Clustering
# (1.7.10; GPL, version 2 or later), which names the KEEL repository as its
# source. Only the archive is read, since the package itself needs many others.
# README.md in this folder says what is known about their history.

archive <- utils::download.packages("Clustering", tempdir(),
  repos = "https://cloud.r-project.org", type = "source", quiet = TRUE
)[1, 2]
utils::untar(archive, "Clustering/data/basketball.rda", exdir = tempdir())
source <- new.env()
load(file.path(tempdir(), "Clustering", "data", "basketball.rda"), source)

basketball <- data.frame(
  assists_per_minute = source$basketball$assists_per_minuteReal,
  height = source$basketball$heightInteger,
  minutes = source$basketball$time_playedReal,
  age = source$basketball$ageInteger,
  points_per_minute = source$basketball$points_per_minuteReal
)
stopifnot(
  dim(basketball) == c(96, 5), !anyNA(basketball), !anyDuplicated(basketball)
)

args <- grep("^--file=", commandArgs(), value = TRUE)
root <- dirname(dirname(normalizePath(sub("^--file=", "", args[[1]]))))
utils::write.csv(basketball,
  file.path(root, "inst", "extdata", "basketball.csv"),
  row.names = FALSE, quote = FALSE
)
