library(testthat)
library(kernelbayes)

test_check("kernelbayes")
