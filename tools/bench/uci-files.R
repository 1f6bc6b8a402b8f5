# The files of a copy of the UCI collection: sourced by rows.R and
# data-raw/bench/uci.R, which describes them.

read_plain <- function(folder, name, part, ...) {
  file <- file.path(folder, paste0(name, "-", part, ".csv.gz"))
  utils::read.csv(file, header = FALSE, ...)
}

evenly_spaced <- function(rows, most) {
  if (length(rows) <= most) {
    return(rows)
  }
  rows[round(seq(1, length(rows), length.out = most))]
}
