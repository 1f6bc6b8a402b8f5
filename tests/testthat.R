library(testthat)
library(kernelbayes)

# All files run where NOT_CRAN is "true". Elsewhere, as on CRAN, only these do:
# quick ones, in which every engine has its part (README.md).
quick <- c(
  "checks", "cond-embedding", "conditions", "cran", "family", "fit-layout",
  "hsic-test", "incomplete-cholesky", "kbr-exact", "kernel", "kernel-mean",
  "mixing", "mmd-test", "model-frame"
)

test_check("kernelbayes",
  filter = if (!identical(Sys.getenv("NOT_CRAN"), "true")) {
    paste0("^(", paste(quick, collapse = "|"), ")$")
  }
)
