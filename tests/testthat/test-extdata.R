test_that("the basketball data are as described in data-raw/README.md", {
  file <- system.file("extdata", "basketball.csv", package = "kernelbayes")
  data <- read.csv(file)
  expect_identical(dim(data), c(96L, 5L))
  expect_named(data, c(
    "assists_per_minute", "height", "minutes", "age", "points_per_minute"
  ))
  expect_false(anyNA(data))
  # The second row, as printed in the help of another package (Rsafd).
  expect_equal(unlist(data[2, ], use.names = FALSE), c(
    0.1399, 198, 39.32, 30, 0.8291
  ))
})
