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

in_tarball <- c(
  "kernelbayes", "case-study", "srvm", "kbr", "kbr-hmm", "kgs", "bark"
)

# Are files left out of the tarball?
build_ignored <- function(files) {
  patterns <- readLines(file.path(root, ".Rbuildignore"))
  Reduce(`|`, lapply(patterns[nzchar(patterns)], grepl, files,
    perl = TRUE, ignore.case = TRUE
  ))
}

# Names of stored results that a vignette reads.
stored_names <- function(text) {
  text <- paste(text, collapse = "\n")
  calls <- regmatches(text, gregexpr(
    "stored\\(\"[a-z_]+|precomputed\", \"[a-z_]+", text
  ))
  sub(".*\"", "", unlist(calls))
}

test_that("the vignettes are in the tarball, with what they read", {
  files <- file.path("vignettes", paste0(in_tarball, ".Rmd"))
  expect_setequal(
    list.files(file.path(root, "vignettes"), "[.]Rmd$"), basename(files)
  )
  text <- lapply(file.path(root, files), readLines)
  stored <- unlist(lapply(text, stored_names))
  expect_setequal(stored, c(
    "case_study", "srvm", "kbr", "kbr_hmm", "kbr_hmm_systems", "kgs", "bark"
  ))
  stored <- file.path("vignettes", "precomputed", paste0(stored, ".rds"))
  expect_true(all(file.exists(file.path(root, stored))))
  expect_false(any(build_ignored(c(files, stored))))
})

test_that("browseVignettes() lists the vignettes by their titles", {
  for (name in in_tarball) {
    text <- readLines(file.path(root, "vignettes", paste0(name, ".Rmd")))
    title <- sub("^title: \"(.*)\"$", "\\1", text[[2]])
    expect_true(
      paste0("  %\\VignetteIndexEntry{", title, "}") %in% text, label = name
    )
    # Without extracted scripts
    expect_true(
      "  %\\VignetteEngine{knitr::rmarkdown_notangle}" %in% text, label = name
    )
  }
})

test_that("vignettes with papers' tables compute a row when they are built", {
  for (name in setdiff(in_tarball, c("kernelbayes", "case-study"))) {
    text <- readLines(file.path(root, "vignettes", paste0(name, ".Rmd")))
    now <- grep("^```[{]r [a-z0-9]+-now[,}]", text, value = TRUE)
    expect_gt(length(now), 0, label = name)
    expect_false(any(grepl("cache = TRUE|eval = FALSE", now)), label = name)
  }
})

test_that("results that only articles read are not in the tarball", {
  folder <- file.path(root, "vignettes")
  vignettes <- list.files(folder, "[.]Rmd$", full.names = TRUE)
  read <- unlist(lapply(vignettes, function(f) stored_names(readLines(f))))
  all <- list.files(file.path(folder, "precomputed"))
  others <- setdiff(all, paste0(read, ".rds"))
  expect_true(all(
    build_ignored(file.path("vignettes", "precomputed", others))
  ))
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

test_that("the help of predict() describes every type of prediction", {
  of <- function(families) unlist(lapply(response_families[families], `[[`, "types"))
  types <- list(
    bark = c(of(stored_families), names(further_types)),
    srvm = of(c("gaussian", "student", "probit")), kgs = names(kgs_types)
  )
  for (engine in names(types)) {
    help <- topics()[[paste0("predict.kb_", engine)]]
    lost <- Filter(function(type) {
      !any(grepl(paste0("\"", type, "\""), help, fixed = TRUE))
    }, unique(types[[engine]]))
    expect_identical(lost, character(), label = engine)
  }
})
