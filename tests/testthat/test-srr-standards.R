# The tags of standards. Needs the source tree: an installed package has neither
# comments nor tools/.

#' @srrstats {G3.0} Numbers are compared for equality only where they are copies
#'   of each other (duplicated rows).
#' @srrstats {G5.0} Boston, iris, Sonar, and simulators with a known truth.
#' @srrstats {G5.1} `sim_*()`, `camera_data()` and `inst/extdata` are there for
#'   users.
#' @srrstats {G5.5} Seeds are fixed, see `tests/README.md`.
#' @srrstats {G5.10} `KERNELBAYES_EXTENDED_TESTS=true`, or `Rscript tools/test.R
#'   --extended`.
#' @srrstats {G5.12} `tests/README.md` and CONTRIBUTING.md.
#' @noRd
NULL

root <- normalizePath(file.path("..", ".."))
script <- file.path(root, "tools", "standards.R")
skip_if_not(file.exists(script), "no source tree")
tools <- new.env()
sys.source(script, tools)

test_that("every standard has one tag, and every tag is a standard", {
  expect_identical(lengths(tools$standards), c(
    General = 68L, Bayesian = 56L, Regression = 48L
  ))
  expect_null(tools$tag_problems(tools$read_tags(root)))
})

test_that("missing, duplicate and unknown tags are noticed", {
  tags <- tools$read_tags(root)
  expect_match(tools$tag_problems(tags[tags$standard != "G5.9a", ]), "G5.9a")
  twice <- rbind(tags, tags[tags$standard == "BS4.4", ])
  expect_identical(tools$tag_problems(twice), "two tags: BS4.4")
  tags$standard[tags$standard == "RE7.4"] <- "RE7.9"
  expect_identical(
    tools$tag_problems(tags),
    c("no tag: RE7.4", "no such standard: RE7.9")
  )
})

test_that("tags are read to the end of their lines", {
  file <- withr::local_tempfile(lines = c(
    "#' @srrstats {G1.0} One", "#'   and more.", "#' @srrstatsNA {G1.1} Two.",
    "#' @noRd", "NULL"
  ))
  expect_identical(tools$tags_in(file, "R/a.R"), data.frame(
    standard = c("G1.0", "G1.1"), met = c(TRUE, FALSE),
    text = c("One and more.", "Two."), file = "R/a.R"
  ))
  writeLines("#' @srrstats G1.0 No braces.", file)
  expect_error(tools$tags_in(file, "R/a.R"), "no tag of a standard")
})

test_that("STANDARDS.md agrees with the tags", {
  expect_identical(
    readLines(file.path(root, "STANDARDS.md"), encoding = "UTF-8"),
    tools$standards_page(tools$read_tags(root))
  )
})

test_that("standards that do not apply are in one block that says so", {
  tags <- tools$read_tags(root)
  expect_identical(unique(tags$file[!tags$met]), "R/srr-standards.R")
  lines <- readLines(file.path(root, "R", "srr-standards.R"))
  expect_lt(
    grep("^#' NA_standards$", lines), min(grep("^#' @srrstatsNA", lines))
  )
  expect_lt(
    max(grep("^#' @srrstats ", lines)), grep("^#' NA_standards$", lines)
  )
})
