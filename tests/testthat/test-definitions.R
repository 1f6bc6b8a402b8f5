# A name that two files of R/ define would be that of the file read last, without
# a word. Needs the source tree. Seen to fail: two functions of the same name.

folder <- file.path("..", "..", "R")
skip_if_not(dir.exists(folder), "no source tree")

defined_in <- function(file) {
  calls <- as.list(parse(file, keep.source = FALSE, encoding = "UTF-8"))
  named <- Filter(function(call) {
    is.call(call) && identical(call[[1]], as.name("<-")) && is.name(call[[2]])
  }, calls)
  vapply(named, function(call) as.character(call[[2]]), "")
}

test_that("each name is defined once", {
  files <- list.files(folder, "[.]R$", full.names = TRUE)
  names <- unlist(lapply(files, defined_in))
  expect_gt(length(names), 1000)
  expect_identical(unique(names[duplicated(names)]), character())
})
