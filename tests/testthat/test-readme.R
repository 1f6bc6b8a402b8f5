# README.md, and the article with the tables of methods. Needs the source tree:
# an installed package has neither, nor tools/.

readme <- file.path("..", "..", "README.md")
script <- file.path("..", "..", "tools", "method-table.R")
skip_if_not(file.exists(readme) && file.exists(script), "no source tree")
tools <- new.env()
sys.source(script, tools)

test_that("every method of fits has a row in the table", {
  expect_identical(tools$generics_without_row(), character())
})

test_that("a generic without a row is noticed", {
  less <- new.env()
  sys.source(script, less)
  less$rows[["`bayes_point()`"]] <- NULL
  less$rows[["`ggplot2::autoplot()`"]] <- NULL
  less$usual$drawn <- NULL
  expect_setequal(less$generics_without_row(), c("autoplot", "bayes_point"))
})

test_that("the tables of methods agree with the methods", {
  article <- file.path(dirname(readme), "vignettes", "articles", "methods.Rmd")
  for (package in c("bayesplot", "ggplot2", "loo", "rstantools", "survival")) {
    skip_if_not_installed(package)
  }
  for (name in names(tools$tables)) {
    expect_identical(
      tools$read_table(article, name), tools$tables[[name]](),
      label = name
    )
  }
})

test_that("the sentence on wrong labels has the stored figures", {
  labels <- new.env()
  sys.source(file.path(dirname(script), "readme-labels.R"), labels)
  runs <- labels$stored_label_runs(dirname(readme))
  expect_identical(
    labels$read_labels_sentence(readme), labels$labels_sentence(runs)
  )
  expect_identical(as.vector(table(runs$flips)), rep(100L, 11))
  # Draws with 1 of 2 and 3 of 4 labels: the share is 4/6, not the mean of 1/2
  # and 3/4; the error is that of a ratio of means.
  out <- labels$share_with_error(c(1, 3), c(2, 4))
  expect_equal(out$share, 2 / 3)
  expect_equal(out$se, sd(c(1, 3) - c(2, 4) * 2 / 3) / sqrt(2) / 3)
})

test_that("the pictures of README.md exist, and are small", {
  text <- paste(readLines(readme), collapse = "\n")
  pictures <- regmatches(text, gregexpr("tools/figures/[-a-z]+[.]png", text,
    ignore.case = TRUE
  ))[[1]]
  expect_gt(length(pictures), 0)
  size <- file.size(file.path(dirname(readme), pictures))
  expect_true(all(size < 40e3))
})
