# The extended suite: README.md says what belongs to it.
extended <- function() {
  identical(Sys.getenv("KERNELBAYES_EXTENDED_TESTS"), "true")
}

skip_unless_extended <- function() testthat::skip_if_not(extended())
