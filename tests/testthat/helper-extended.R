# The extended suite, described in README.md.
extended <- function() {
  identical(Sys.getenv("KERNELBAYES_EXTENDED_TESTS"), "true")
}

skip_unless_extended <- function() testthat::skip_if_not(extended())
