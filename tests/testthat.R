library(testthat)
library(kernelbayes)

# All files run if NOT_CRAN is "true". Otherwise, as on CRAN, only these run:
# quick ones, which together cover every engine (README.md).
quick <- c(
  "checks", "cond-embedding", "conditions", "cran", "family", "fit-layout",
  "incomplete-cholesky", "kbr-exact", "kernel", "kernel-mean", "mixing",
  "model-frame"
)

test_check("kernelbayes",
  filter = if (!identical(Sys.getenv("NOT_CRAN"), "true")) {
    paste0("^(", paste(quick, collapse = "|"), ")$")
  }
)
