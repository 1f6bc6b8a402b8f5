# Writes the files of data-raw/bench/uci from a copy of the collection:
#
#   Rscript data-raw/bench/uci.R folder
#
# `folder` holds NAME-data.csv.gz, whose last column is the response, and
# NAME-test_mask.csv.gz, one column per split, where 1 marks a test row. Kept
# are the rows that the league uses in splits 1 to 5, with their values as
# written. If a split has more training or test rows than the league uses, the
# ones used are evenly spaced among them, in the order of the file.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
here <- dirname(script)
root <- dirname(dirname(here))
source(file.path(root, "tools", "bench", "league-data.R"))
source(file.path(root, "tools", "bench", "uci-files.R"))

# 1 for training rows, 2 for test rows, 0 for rows that are not used.
use_of_rows <- function(mask, group) {
  use <- integer(length(mask))
  train <- evenly_spaced(which(mask == 0), most_training_rows[[group]])
  test <- evenly_spaced(which(mask == 1), most_test_rows[[group]])
  use[train] <- 1L
  use[test] <- 2L
  use
}

write_set <- function(name, group, folder) {
  data <- read_plain(folder, name, "data", colClasses = "character")
  mask <- read_plain(folder, name, "test_mask")[seq_len(most_splits)]
  names(data) <- c(paste0("x", seq_len(ncol(data) - 1)), "y")
  splits <- vapply(mask, use_of_rows, integer(nrow(data)), group = group)
  colnames(splits) <- paste0("split", seq_len(most_splits))
  used <- rowSums(splits) > 0
  to <- xzfile(file.path(here, "uci", paste0(name, ".csv.xz")), compression = 9)
  utils::write.csv(cbind(data, splits)[used, ], to,
    row.names = FALSE, quote = FALSE
  )
}

folder <- commandArgs(trailingOnly = TRUE)
if (length(folder) != 1 || !dir.exists(folder)) {
  stop("give the folder of the collection as the only argument.")
}
for (group in c("tuning", "uci")) {
  for (name in league_groups[[group]]) write_set(name, group, folder)
}
