library(testthat)
library(kernelbayes)

# All files run if NOT_CRAN is "true". Otherwise, as on CRAN, only these run:
# quick ones, which together cover every engine (README.md).
quick <- c(
  "base-checks", "base-conditions", "base-seal", "cran", "data-model-frame",
  "family", "kbr-exact", "kernel", "kernel-cond-embedding",
  "kernel-incomplete-cholesky", "kernel-mean", "mcmc-mixing"
)

test_check("kernelbayes",
  filter = if (!identical(Sys.getenv("NOT_CRAN"), "true")) {
    paste0("^(", paste(quick, collapse = "|"), ")$")
  }
)
