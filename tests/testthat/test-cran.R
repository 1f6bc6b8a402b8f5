# The tests of each engine on CRAN (README.md): an exact answer, bad input, and
# a fit read from a file. The cases, with their null distributions, are in
# helper-cran.R.

cases <- cran_cases()

for (name in names(cases)) {
  case <- cases[[name]]

  test_that(paste(name, "gives the exact answer"), {
    expect_lt(case$exact(), case$limit)
  })

  test_that(paste(name, "refuses bad input with errors of a class"), {
    for (i in seq_along(case$refused)) {
      expect_error(
        case$refused[[i]](), class = names(case$refused)[[i]],
        label = paste("call", i)
      )
    }
  })

  test_that(paste(name, "continues from a file as if it had not stopped"), {
    file <- tempfile(fileext = ".rds")
    on.exit(unlink(file))
    fit <- case$fit()
    saveRDS(fit, file)
    read <- readRDS(file)
    expect_identical(case$ask(read), case$ask(fit))
    on <- case$ask(case$go_on(read))
    expect_identical(on, case$ask(case$go_on(fit)))
    expect_equal(on, case$ask(case$whole()), tolerance = 1e-8)
  })
}
