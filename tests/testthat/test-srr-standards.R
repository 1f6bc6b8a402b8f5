# tools/standards.csv. Needs the source tree: an installed package has no tools/.

root <- normalizePath(file.path("..", ".."))
script <- file.path(root, "tools", "standards.R")
skip_if_not(file.exists(script), "no source tree")
tools <- new.env()
sys.source(script, tools)

test_that("every standard has one row, whose file exists", {
  expect_identical(lengths(tools$standards), c(
    General = 68L, Bayesian = 56L, Regression = 48L
  ))
  rows <- tools$read_standards(root)
  expect_null(tools$standard_problems(rows))
  files <- setdiff(rows$file, "")
  expect_identical(files[!file.exists(file.path(root, files))], character())
  expect_true(all(nzchar(rows$text)))
  expect_identical(unique(rows$file[!rows$met]), "")
})

test_that("missing, duplicate and unknown rows are noticed", {
  rows <- tools$read_standards(root)
  expect_match(tools$standard_problems(rows[rows$standard != "G5.9a", ]), "G5.9a")
  twice <- rbind(rows, rows[rows$standard == "BS4.4", ])
  expect_identical(tools$standard_problems(twice), "two rows: BS4.4")
  rows$standard[rows$standard == "RE7.4"] <- "RE7.9"
  expect_identical(
    tools$standard_problems(rows),
    c("no row: RE7.4", "no such standard: RE7.9")
  )
})

test_that("STANDARDS.md agrees with the rows", {
  expect_identical(
    readLines(file.path(root, "STANDARDS.md"), encoding = "UTF-8"),
    tools$standards_page(tools$read_standards(root))
  )
})
