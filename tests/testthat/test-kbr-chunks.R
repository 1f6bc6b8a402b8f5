# kbr() on chunks against kbr() in memory, here and on two workers.

pairs <- kbr_pairs(600)
new <- normal_points(9, 2, 5)
prior <- list(points = 0.5 + normal_points(80, 2, 7), weights = seq_len(80) - 9)
f <- function(x) cbind(product = x[, 1] * x[, 2], x[, 1] > 0)

#' Chunks of given sizes of the pairs
in_chunks <- function(sizes = c(100, 250, 1, 149, 100), data = pairs) {
  ends <- cumsum(sizes)
  rows <- Map(seq, ends - sizes + 1, ends)
  read <- function(i) {
    list(
      x = data$x[rows[[i]], , drop = FALSE],
      y = data$y[rows[[i]], , drop = FALSE]
    )
  }
  # Workers need the data, not this session.
  environment(read) <- list2env(
    list(data = data, rows = rows),
    parent = baseenv()
  )
  kbr_chunks(read, length(sizes))
}

quietly <- function(expr) {
  withCallingHandlers(expr, kb_warning = function(w) {
    invokeRestart("muffleWarning")
  })
}

#' Settings for which chunks must agree with memory
settings <- list(
  plain = list(rank = 40),
  prior = list(rank = 40, prior = prior),
  iw = list(rank = 40, prior = prior, method = "iw"),
  raw = list(rank = 40, normalize = FALSE, eps = 1e-3, delta = 1e-2),
  scaled = list(rank = 40, scale = TRUE, prior = prior),
  tolerance = list(tol = 1e-3, kernel_x = kernel_laplace(2)),
  schedule = list(rank = 30, eps = kbr_schedule(0.25, 2, 1e-3, 1e-3))
)

expect_same_posterior <- function(chunked, fit) {
  testthat::expect_identical(chunked$settings$eps, fit$settings$eps)
  expect_close(predict(chunked, new), predict(fit, new), 1e-8)
  expect_close(
    predict(chunked, new, type = "expectation"),
    predict(fit, new, type = "expectation", f = f), 1e-8
  )
  variance <- function(fit) kbr_variance(fit, kbr_seen(fit, new))
  testthat::expect_equal(variance(chunked), variance(fit), tolerance = 1e-7)
  testthat::expect_equal(
    chunked$posterior$spectrum, fit$posterior$spectrum,
    tolerance = 1e-9
  )
}

in_memory <- function(setting) {
  utils::modifyList(list(method = "kbr"), setting)
}

test_that("chunks agree with memory", {
  for (setting in settings) {
    fit <- quietly(do.call(kbr, c(list(pairs$x, pairs$y), in_memory(setting))))
    chunked <- quietly(do.call(kbr, c(list(in_chunks()), f = f, setting)))
    expect_s3_class(chunked, c("kb_kbr_chunked", "kb_kbr", "kb_fit"),
      exact = TRUE
    )
    expect_same_posterior(chunked, fit)
    expect_identical(nobs(chunked), 600L)
  }
  one <- quietly(kbr_rule(in_chunks(600), rank = 40, f = f))
  expect_same_posterior(one, quietly(kbr_rule(pairs$x, pairs$y, rank = 40)))
})

test_that("spread is around the mean: states far from 0", {
  moved <- list(x = pairs$x + 1e7, y = pairs$y)
  chunked <- quietly(kbr_rule(in_chunks(data = moved), rank = 40))
  fit <- quietly(kbr_rule(pairs$x, pairs$y, rank = 40))
  variance <- function(fit) kbr_variance(fit, kbr_seen(fit, new))
  expect_equal(variance(chunked), variance(fit), tolerance = 1e-6)
})

test_that("two workers agree with one process", {
  here <- lapply(settings[c("prior", "iw", "scaled")], function(setting) {
    quietly(do.call(kbr, c(list(in_chunks()), f = f, setting)))
  })
  local_workers()
  expect_identical(worker_count(), 2L)
  there <- lapply(settings[c("prior", "iw", "scaled")], function(setting) {
    quietly(do.call(kbr, c(list(in_chunks()), f = f, setting)))
  })
  for (name in names(here)) {
    fit <- quietly(do.call(kbr, c(
      list(pairs$x, pairs$y), in_memory(settings[[name]])
    )))
    expect_same_posterior(there[[name]], fit)
    expect_close(
      predict(there[[name]], new), predict(here[[name]], new), 1e-10
    )
  }
  # Chunks must be read there, not here.
  read <- function(i) {
    list(x = Sys.getpid() + (1:20) / 20, y = (1:20) / 20)
  }
  environment(read) <- baseenv()
  fit <- quietly(kbr(kbr_chunks(read, 4), kernel_gaussian(1e6), rank = 5))
  pids <- fit$posterior$center - mean((1:20) / 20)
  expect_gt(abs(pids - Sys.getpid()), 0.5)
})

test_that("errors in chunks come back from workers", {
  local_workers()
  chunks <- in_chunks(rep(100, 6))
  environment(chunks$read)$data$y[450, 1] <- NA
  cnd <- rlang::catch_cnd(quietly(kbr(chunks, pool = 1, rank = 5)), "error")
  expect_s3_class(cnd, "kb_error_chunk")
  expect_identical(cnd$chunk, 5L)
})

test_that("landmarks are the features", {
  # Dense algebra: G := Phi Phi', Phi the features of the landmarks.
  k_x <- kernel_gaussian(1)
  k_y <- kernel_gaussian(0.8)
  landmarks <- list(x = normal_points(12, 2, 21), y = normal_points(15, 2, 22))
  features <- function(kernel, z, marks) {
    t(solve(t(chol(kernel_matrix(kernel, marks))), kernel_matrix(
      kernel, marks, z
    )))
  }
  phi_x <- features(k_x, pairs$x, landmarks$x)
  phi_y <- features(k_y, pairs$y, landmarks$y)
  phi_u <- features(k_x, prior$points, landmarks$x)
  at <- features(k_y, new, landmarks$y)
  gamma <- prior$weights / sum(prior$weights)
  for (method in c("kbr", "iw")) {
    chunked <- quietly(kbr(in_chunks(), k_x, k_y,
      prior = prior, landmarks = landmarks, method = method, pool = 50
    ))
    dense <- if (method == "kbr") dense_kbr else dense_iw
    w <- dense(
      tcrossprod(phi_x), tcrossprod(phi_y), tcrossprod(phi_x, phi_u), gamma,
      tcrossprod(phi_y, at), chunked$settings$eps, chunked$settings$delta
    )$w
    expect_close(predict(chunked, new), t(w) %*% pairs$x / colSums(w), 1e-9)
    # Mode and draws come from the projection on the landmarks.
    means <- kernel_mean_points(chunked, observe(chunked, new))
    expect_setequal(means$points[, 1], landmarks$x[, 1])
    expect_close(
      means$value,
      kernel_matrix(k_x, means$points) %*% t(means$weights), 1e-8
    )
    wanted <- features(k_x, means$points, landmarks$x) %*% crossprod(phi_x, w)
    expect_close(means$value, sweep(wanted, 2, colSums(w), "/"), 1e-8)
  }
})

test_that("mode and draws are near those in memory", {
  fit <- quietly(kbr_rule(pairs$x, pairs$y, rank = 80, eps = 1e-3))
  chunked <- quietly(kbr_rule(in_chunks(), rank = 80, eps = 1e-3))
  map <- predict(chunked, new, type = "map")
  expect_identical(attr(map, "converged"), rep(TRUE, 9))
  expect_equal(map, predict(fit, new, type = "map"), tolerance = 0.02)
  draws <- predict(chunked, new, type = "draws", ndraws = 300)
  expect_identical(dim(draws), c(300L, 2L, 9L))
  in_memory <- predict(fit, new, type = "draws", ndraws = 300)
  centres <- function(draws) t(apply(draws, 2:3, mean))
  expect_lt(max(abs(centres(draws) - centres(in_memory))), 0.05)
})

test_that("rotations in chunks have their mean and mode on the group", {
  states <- t(apply(normal_points(60, 9, 3), 1, function(m) {
    q <- qr.Q(qr(matrix(m, 3)))
    q * sign(det(q))
  }))
  data <- list(x = states, y = states[, 1:3])
  fit <- quietly(kbr_rule(states, states[, 1:3], kernel_rotation()))
  chunked <- quietly(kbr_rule(in_chunks(c(20, 40), data), kernel_rotation()))
  at <- states[1:4, 1:3] * 0.9
  expect_equal(predict(chunked, at), predict(fit, at), tolerance = 1e-8)
  expect_equal(
    predict(chunked, at, type = "map"), predict(fit, at, type = "map"),
    tolerance = 1e-7
  )
})

test_that("a pool smaller than the data takes from all chunks", {
  pool <- chunk_pool(in_chunks(), 50)
  expect_identical(dim(pool$x), c(41L, 2L))
  expect_true(all(pool$x[, 1] %in% pairs$x[, 1]))
  many <- chunk_pool(in_chunks(rep(10, 60)), 100)
  expect_identical(dim(many$y), c(100L, 2L))
  chunked <- quietly(kbr_rule(in_chunks(), rank = 40, pool = 300, eps = 1e-3))
  fit <- quietly(kbr_rule(pairs$x, pairs$y, rank = 40, eps = 1e-3))
  expect_equal(predict(chunked, new), predict(fit, new), tolerance = 0.1)
})

test_that("missing rows, and vectors, are treated as in memory", {
  read <- function(i) list(x = pairs$x[, 1] + i, y = pairs$y[, 1] + i)
  chunked <- kbr(kbr_chunks(read, 2), rank = 20)
  expect_identical(dim(predict(chunked, c(0, NA, 1))), c(3L, 1L))
  expect_true(is.na(predict(chunked, c(0, NA, 1))[2, ]))
  pairs_read <- function(i) {
    kbr_simulate(rnorm, function(x) x + rnorm(length(x)), 50, seed = i)
  }
  expect_s3_class(kbr(kbr_chunks(pairs_read, 3)), "kb_kbr_chunked")
})

# Refused ----------------------------------------------------------------------

refuse <- function(expr, message, class) {
  cnd <- rlang::catch_cnd(quietly(expr), "error")
  expect_s3_class(cnd, class)
  expect_s3_class(cnd, "kb_error")
  expect_match(conditionMessage(cnd), message)
}

test_that("bad chunks are refused by number", {
  bad <- list(
    NULL, 1, "a", list(x = 1:3), list(y = 1:3), list(x = letters, y = 1:26),
    list(x = pairs$x[0, ], y = pairs$y[0, ]),
    list(x = pairs$x, y = pairs$y[-1, ]), list(x = pairs$x[, 1], y = pairs$y),
    list(x = pairs$x, y = cbind(pairs$y, 1)),
    list(x = replace(pairs$x, 7, NA), y = pairs$y),
    list(x = pairs$x, y = replace(pairs$y, 7, Inf)),
    list(x = array(1, c(600, 1, 2)), y = pairs$y)
  )
  for (chunk in bad) {
    # In the pool, and after it.
    good <- lapply(pairs, head, 20)
    read <- function(i) if (i == 3) chunk else good
    refuse(kbr(kbr_chunks(read, 4)), "Chunk 3", "kb_error_chunk")
    late <- function(i) if (i == 12) chunk else good
    expect_false(12 %in% spread_over(40, 20))
    refuse(kbr(kbr_chunks(late, 40), rank = 9), "Chunk 12", "kb_error_chunk")
  }
  named <- function(i) {
    names <- if (i == 2) c("b", "a") else c("a", "b")
    list(x = `colnames<-`(pairs$x, names), y = pairs$y)
  }
  refuse(kbr(kbr_chunks(named, 2)), "Chunk 2.*b, a", "kb_error_chunk")
})

test_that("bad arguments are refused", {
  argument <- "kb_error_argument"
  refuse(kbr_chunks(1), "read", argument)
  refuse(kbr_chunks(identity), "n_chunks", argument)
  refuse(kbr_chunks(identity, 0), "n_chunks", argument)
  refuse(kbr_chunks(identity, 2, states = "a"), "states", argument)
  refuse(kbr_chunks(identity, 2, observations = "a"), "observations", argument)
  chunks <- in_chunks(c(20, 30), lapply(pairs, head, 50))
  marks <- list(x = new, y = new)
  refuse(kbr(chunks, foo = 1), "foo", "kb_error_unknown_argument")
  refuse(kbr(chunks, pool = 0), "pool", argument)
  refuse(kbr(chunks, f = 1), "f", argument)
  refuse(kbr(chunks, f = sum), "f", argument)
  refuse(kbr(chunks, method = "x"), "method", argument)
  refuse(kbr(chunks, normalize = 2), "normalize", argument)
  refuse(kbr(chunks, scale = NA), "scale", argument)
  refuse(kbr(chunks, eps = -1), "eps", argument)
  refuse(kbr(chunks, seed = "a"), "seed", argument)
  refuse(kbr(chunks, progress = 1), "progress", argument)
  refuse(kbr(chunks, kernel_y = diag(50)), "kernel_y", argument)
  refuse(kbr(chunks, kernel_rotation()), "9 columns", "kb_error_dimension")
  refuse(kbr(chunks, landmarks = 1), "landmarks", argument)
  refuse(kbr(chunks, landmarks = list(x = new)), "landmarks", argument)
  refuse(kbr(chunks, landmarks = list(x = new, y = new[0, ])), "landmarks.y",
    argument
  )
  refuse(kbr(chunks, landmarks = list(x = new[, 1], y = new)), "landmarks.x",
    "kb_error_dimension"
  )
  refuse(kbr(chunks, landmarks = marks, rank = 3), "rank", argument)
  refuse(kbr(chunks, landmarks = marks, tol = 0.1), "tol", argument)
  refuse(kbr(chunks, prior = list(weights = rep(1, 50))), "prior", argument)
  refuse(kbr(chunks, prior = list(points = new[, 1])), "prior",
    "kb_error_dimension"
  )
})

test_that("requests that need the pairs are not defined", {
  fit <- quietly(kbr_rule(in_chunks(), rank = 10))
  not_defined <- "kb_error_not_defined"
  for (type in c("weights", "quantile", "embedding")) {
    refuse(predict(fit, new, type = type), type, not_defined)
  }
  refuse(predict(fit, new, type = "density", at = new), "density", not_defined)
  refuse(update(fit, prior = prior), "update", not_defined)
  refuse(diagnostics(fit), "diagnostics", not_defined)
  refuse(summary(fit), "summary", not_defined)
  refuse(fitted(fit), "fitted", not_defined)
  refuse(residuals(fit), "fitted", not_defined)
  refuse(plot(fit, new[1, ]), "plot", not_defined)
  refuse(tidy(fit, new), "quantile", not_defined)
  refuse(predict(fit), "newdata", "kb_error_argument")
  refuse(simulate(fit), "newdata", "kb_error_argument")
  refuse(predict(fit, new, type = "expectation"), "f", "kb_error_argument")
  refuse(predict(fit, new, type = "expectation", f = f), "f",
    "kb_error_argument"
  )
  expect_output(print(fit), "600")
  expect_identical(glance(fit)$rank_y, 10L)
  expect_identical(dim(simulate(fit, 3, newdata = new)), c(3L, 2L, 9L))
})

test_that("a pool that the landmarks do not explain gives a warning", {
  expect_warning(
    expect_warning(kbr_rule(in_chunks(), rank = 3), class = "kb_warning_rank"),
    class = "kb_warning_rank"
  )
})

test_that("the fit holds sums, not pairs", {
  fit <- quietly(kbr_rule(in_chunks(), rank = 10, f = f))
  expect_lt(as.numeric(object.size(fit)), 1e5)
  expect_false(any(rapply(fit, is.function, how = "unlist")))
  expect_output(print(in_chunks()), "5 chunks of pairs")
})

test_that("files of an arrow Dataset are chunks", {
  skip_if_not_installed("arrow")
  folder <- local_folder()
  table <- data.frame(
    a = pairs$x[, 1], y1 = pairs$y[, 1], b = pairs$x[, 2], y2 = pairs$y[, 2],
    note = "text"
  )
  for (i in 1:3) {
    arrow_export("write_parquet")(
      table[200 * (i - 1) + 1:200, ], file.path(folder, paste0(i, ".parquet"))
    )
  }
  dataset <- arrow_export("open_dataset")(folder)
  chunks <- kbr_chunks(dataset,
    states = c("a", "b"), observations = c("y1", "y2")
  )
  expect_identical(chunks$n_chunks, 3L)
  fit <- quietly(kbr_rule(pairs$x, pairs$y, rank = 40))
  expect_same <- function() {
    named <- `colnames<-`(new, c("y1", "y2"))
    expect_equal(
      unname(predict(quietly(kbr(chunks, rank = 40)), named)),
      unname(predict(fit, new)),
      tolerance = 1e-9
    )
  }
  expect_same()
  refuse(kbr_chunks(dataset, states = "a"), "observations", "kb_error_argument")
  refuse(kbr_chunks(dataset, states = "z", observations = "y1"), "states",
    "kb_error_argument"
  )
  local_workers()
  expect_same()
})

# Files and workers ------------------------------------------------------------

pairs_table <- data.frame(
  a = pairs$x[, 1], y1 = pairs$y[, 1], b = pairs$x[, 2], y2 = pairs$y[, 2],
  note = "text"
)

#' Names of three files with 200 pairs each
pairs_files <- function(folder, type, write) {
  vapply(1:3, function(i) {
    file <- file.path(folder, paste0(i, ".", type))
    write(pairs_table[200 * (i - 1) + 1:200, ], file)
    file
  }, "")
}

test_that("files are chunks", {
  fit <- quietly(kbr_rule(pairs$x, pairs$y, rank = 40))
  named <- `colnames<-`(new, c("y1", "y2"))
  writers <- list(
    rds = saveRDS,
    csv = function(table, file) {
      # All digits, so that the pairs are the same.
      table[] <- lapply(table, format, digits = 17, trim = TRUE)
      utils::write.csv(table, file, row.names = FALSE, quote = FALSE)
    }
  )
  if (requireNamespace("nanoparquet", quietly = TRUE)) {
    writers$parquet <- getExportedValue("nanoparquet", "write_parquet")
  }
  for (type in names(writers)) {
    files <- pairs_files(local_folder(), type, writers[[type]])
    chunks <- kbr_chunks(files, states = c("a", "b"),
      observations = c("y1", "y2")
    )
    expect_identical(chunks$n_chunks, 3L)
    chunked <- quietly(kbr(chunks, rank = 40))
    expect_equal(
      unname(predict(chunked, named)), unname(predict(fit, new)),
      tolerance = 1e-9
    )
  }
})

test_that("files that cannot be read are refused", {
  folder <- local_folder()
  files <- pairs_files(folder, "rds", saveRDS)
  argument <- "kb_error_argument"
  chunks <- function(files, states = "a", observations = "y1", ...) {
    kbr_chunks(files, ..., states = states, observations = observations)
  }
  refuse(kbr_chunks(files), "states", argument)
  refuse(chunks(files, "a", character()), "observations", argument)
  refuse(chunks(files, n_chunks = 3), "n_chunks", argument)
  refuse(chunks(c(files, "no.csv")), "no.csv", argument)
  refuse(chunks(character()), "read", argument)
  other <- file.path(folder, "pairs.xls")
  file.create(other)
  refuse(chunks(other), "xls", argument)
  refuse(
    kbr(chunks(files, "a", "y3")), "Chunk 1.*y.*lacks.*y3", "kb_error_chunk"
  )
  refuse(kbr(chunks(files, "note")), "Chunk 1.*x", "kb_error_chunk")
})

test_that("sums of chunks are the same to the last bit on workers", {
  chunks <- kbr_chunks(function(i) {
    list(x = sin(i * 1:30 / 7), y = cos(i * 1:30 / 9))
  }, 70)
  ask <- function() predict(quietly(kbr(chunks, rank = 10)), c(-1, 0.3, 1))
  here <- ask()
  for (backend in backends_here()) {
    local({
      local_workers(backend)
      expect_identical(ask(), here)
    })
  }
})
