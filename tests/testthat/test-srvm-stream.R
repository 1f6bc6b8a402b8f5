# Rows from a connection: the same as all rows at once.

data <- sim_sinc(40, seed = 1)
settings <- smc_control(particles = 30, n_moves = 2)
# Few particles are enough to compare bits, but give warnings.
few <- function(...) suppressWarnings(srvm(..., control = settings, seed = 1))
take_in <- function(...) suppressWarnings(update(...))
one <- few(y ~ x, data,
  kernel = kernel_gaussian(0.3), memory = srvm_memory(window = 12)
)
first <- few(y ~ x, data[1:10, ], reference = one)

lines_of <- function(data) {
  out <- character()
  connection <- textConnection("out", "w", local = TRUE)
  on.exit(close(connection))
  # Seventeen digits identify the number.
  text <- lapply(data, formatC, digits = 17, format = "g")
  utils::write.csv(as.data.frame(text), connection,
    row.names = FALSE, quote = FALSE
  )
  out
}

rest <- lines_of(data[11:40, ])

test_that("a connection gives the same as all rows at once", {
  for (rows in c(1, 7, 1000)) {
    fit <- take_in(first, textConnection(rest), rows = rows)
    expect_same_fit(fit, one)
  }
  bare <- take_in(first, textConnection(rest[-1]), header = c("x", "y"))
  expect_same_fit(bare, one)
  order <- lines_of(data[11:40, c("y", "x")])
  expect_same_fit(
    take_in(first, textConnection(order[-1]), header = FALSE), one
  )
})

test_that("an interrupt between two batches leaves both, and the connection", {
  skip_on_os("windows")
  # While the next rows are read, and while the quality of a batch is assessed
  for (at in c("read_batch", "warn_quality")) {
    file <- withr::local_tempfile(lines = rest)
    connection <- file(file, "r")
    part <- local({
      local_interrupt_at(at, if (at == "read_batch") 3 else 2)
      expect_warning(
        value <- withCallingHandlers(
          update(first, connection, rows = 7),
          kb_warning_low_ess = function(w) invokeRestart("muffleWarning")
        ),
        class = "kb_warning_interrupted"
      )
      value
    })
    expect_identical(part$time, 24L)
    expect_same_fit(take_in(part, connection, header = c("x", "y")), one)
    close(connection)
  }
})

test_that("files are opened and closed", {
  file <- withr::local_tempfile(lines = rest)
  connection <- file(file)
  expect_same_fit(take_in(first, connection), one)
  expect_error(isOpen(connection))
})

test_that("a stopped stream continues", {
  file <- withr::local_tempfile(lines = rest)
  connection <- file(file, "r")
  on.exit(close(connection))
  expect_warning(
    part <- update(first, connection, rows = 10, time_limit = 1e-9),
    class = "kb_warning_time_limit"
  )
  expect_identical(nrow(part$data$x), 20L)
  part <- take_in(part, time_limit = Inf)
  expect_same_fit(take_in(part, connection, header = c("x", "y")), one)
})

test_that("input that is not a table of rows is refused", {
  expect_error(update(first, textConnection(c("x", "1"))),
    class = "kb_error_columns"
  )
  expect_error(update(first, textConnection(c("x,y", "1,2,3"))),
    class = "kb_error_columns"
  )
  expect_error(update(first, rows = 3), "`rows`", class = "kb_error_argument")
  expect_error(update(first, textConnection(rest), rows = 0), "`rows`",
    class = "kb_error_argument"
  )
  by_matrix <- few(as.matrix(data$x[1:5]), data$y[1:5],
    kernel = kernel_gaussian(0.3)
  )
  expect_error(update(by_matrix, textConnection(rest)), "connection",
    class = "kb_error_argument"
  )
  expect_identical(update(first, textConnection("x,y")), first)
})
