# Start of the benchmarks that run methods on repeats of data sets and keep the
# results: sourced by scripts of this folder, which set `tools`, the folder
# above, and then define fit_cell() as in reproduce/cells.R.

source(file.path(tools, "arguments.R"))
source(file.path(tools, "bench", "report.R"))
source(file.path(tools, "reproduce", "cells.R"))

cell_settings <- function(cell, control) control

# One of the data sets made by `make`, by the number of the repeat: a fifth of
# its rows is held out.
split_of <- function(make, repeat_number) {
  set.seed(1000 + repeat_number)
  data <- droplevels(make())
  rownames(data) <- NULL
  test <- sample(nrow(data), nrow(data) %/% 5)
  list(train = data[-test, ], test = data[test, ])
}

# Methods on repeats of data sets, by the options of the script. The hidden
# methods are run only by name.
cells_of <- function(methods, sets, hidden = character(), repeats = 20) {
  expand.grid(
    method = several("methods", setdiff(names(methods), hidden), hidden),
    set = seq_len(as.integer(option("repeats", repeats))), fold = 1,
    data = several("data", names(sets)), stringsAsFactors = FALSE
  )
}

quiet <- function(expr) {
  utils::capture.output(
    value <- suppressWarnings(suppressMessages(expr))
  )
  value
}
