# The site's index and the examples. Needs the source tree: an installed package
# has neither _pkgdown.yml nor man/.

root <- normalizePath(file.path("..", ".."))
skip_if_not(
  file.exists(file.path(root, "_pkgdown.yml")), "no source tree"
)

# The items below `section:` of _pkgdown.yml, one per line.
listed <- function(section) {
  text <- readLines(file.path(root, "_pkgdown.yml"))
  starts <- grep("^[a-z]+:", text)
  first <- match(paste0(section, ":"), text)
  last <- min(starts[starts > first], length(text) + 1) - 1
  items <- grep("^      - ", text[first:last], value = TRUE)
  sub("^      - ", "", items)
}

topics <- function() {
  files <- list.files(file.path(root, "man"), "[.]Rd$", full.names = TRUE)
  text <- lapply(files, readLines, encoding = "UTF-8")
  names(text) <- sub("[.]Rd$", "", basename(files))
  internal <- vapply(text, function(lines) {
    any(lines == "\\keyword{internal}")
  }, NA)
  text[!internal]
}

test_that("every public help page is in the site's index, once", {
  expect_identical(sort(listed("reference")), sort(names(topics())))
})

test_that("every vignette is in the site's index, once", {
  files <- list.files(
    file.path(root, "vignettes"), "[.]Rmd$", recursive = TRUE
  )
  expect_identical(sort(listed("articles")), sort(sub("[.]Rmd$", "", files)))
})

test_that("every export has a public help page, or is re-exported", {
  alias <- unlist(lapply(topics(), grep, pattern = "^.alias[{]", value = TRUE))
  alias <- sub("^.alias[{](.*)[}]$", "\\1", alias)
  # Called by parsnip, for the specifications.
  hidden <- c("bark_survival", "bark_train", "kgs_train", "srvm_train")
  passed_on <- c(
    "as_draws", "augment", "fixef", "glance", "ranef", "tidy", "VarCorr"
  )
  expect_identical(
    sort(setdiff(getNamespaceExports("kernelbayes"), alias)),
    sort(c(hidden, passed_on))
  )
})

test_that("every public help page has an example that runs", {
  runs <- vapply(topics(), function(lines) {
    any(grepl("^.examples[{]", lines)) &&
      !any(grepl("^.(dontrun|donttest)[{]", lines))
  }, NA)
  expect_identical(names(runs)[!runs], character())
})

test_that("STANDARDS.md names files that exist", {
  text <- readLines(file.path(root, "STANDARDS.md"))
  named <- unlist(regmatches(text, gregexpr("`[^`]+`", text)))
  named <- gsub("`", "", named)
  files <- grep("^[-A-Za-z_/]+([.]R|[.]md|/)$|^(vignettes|inst)/", named,
    value = TRUE
  )
  tests <- grepl("^(test|helper)-", files)
  files[tests] <- file.path("tests", "testthat", files[tests])
  expect_gt(sum(tests), 10)
  expect_identical(files[!file.exists(file.path(root, files))], character())
})

test_that("each file in R/ is on a floor of the map in CONTRIBUTING.md", {
  files <- setdiff(
    list.files(file.path(root, "R"), "[.]R$"),
    c("RcppExports.R", "kernelbayes-package.R", "autoplot.R")
  )
  map <- readLines(file.path(root, "CONTRIBUTING.md"))
  first <- match("R/", substr(map, 1, 2))
  floors <- sub("^  ([a-z]+).*", "\\1", grep("^  [a-z]", map[first:(first + 40)],
    value = TRUE
  ))
  floors <- c(floors, "family", "workers", "predict", "exposures", "fit", "bark",
    "srvm", "tdsmc", "kgs", "kbr", "hmm", "kdr"
  )
  expect_identical(setdiff(sub("[-.].*", "", files), floors), character())
  expect_lte(length(files), 130)
})
