# Speed and memory of kbr(), one core, compared with the same algebra in plain R
# and with package abc:
#
#   Rscript tools/bench/kbr.R              everything
#   Rscript tools/bench/kbr.R --quick      smaller
#   Rscript tools/bench/kbr.R --part=a,b   of low_rank, dense, abc, chunks,
#                                          files (needs mirai, nanoparquet)
#
# Prints markdown. Needs the installed package, and abc for its part. Times are
# seconds, the smallest over several runs of the whole: kernels, factors, and
# the posterior mean at one observation. "ten": seconds for ten further
# observations. Machines are shared and noisy: compare within one run.
#
# The pairs: X ~ N(0, V / 2), Y given X ~ N(X, V), V = A'A + 2 I, A uniform on
# (-1, 1). Bandwidths and regularisation are the defaults. "error" is the
# distance to the exact posterior mean, y / 3, root mean square over
# coordinates: for one observation, only to see that all compute the same.
#
# Target: n = 10^4, d = 2, rank 100: 0.05 s; d = 6, rank 400: 0.7 s; dense,
# n = 2000: 1.2 s; n = 10^6, rank 100, in chunks: 10 s and below 2 GB; n = 10^7
# from files: two daemons .6 of the time of one, below 500 MB each.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "arguments.R"))
source(file.path(dirname(script), "report.R"))

refuse_unknown("quick", "part")
quick <- flag("quick")
chosen <- several(
  "part", c("low_rank", "dense", "abc", "chunks", "files"), "one_chunked"
)

# ---- data -------------------------------------------------------------------

model_root <- function(d) {
  set.seed(d)
  a <- matrix(runif(d^2, -1, 1), d)
  chol(crossprod(a) + 2 * diag(d))
}

draw_pairs <- function(n, d, seed) {
  root <- model_root(d)
  set.seed(seed)
  x <- matrix(rnorm(n * d), n) %*% root / sqrt(2)
  y <- x + matrix(rnorm(n * d), n) %*% root
  colnames(x) <- paste0("x", seq_len(d))
  colnames(y) <- paste0("y", seq_len(d))
  list(x = x, y = y)
}

new_observations <- function(n, d) draw_pairs(n, d, 1000)$y

# ---- one row ----------------------------------------------------------------

runs <- if (quick) 2 else 5

fastest <- function(f) min(replicate(runs, seconds_of(f())))

without_rank_warning <- function(expr) {
  withCallingHandlers(expr, kb_warning_rank = function(w) {
    invokeRestart("muffleWarning")
  })
}

line_of <- function(method, n, d, rank, seconds, ten, guess, y) {
  data.frame(
    method = method, n = n, d = d, rank = rank, seconds = seconds, ten = ten,
    error = sqrt(mean((guess - y / 3)^2))
  )
}

bench_kbr <- function(n, d, rank) {
  pairs <- draw_pairs(n, d, 1)
  new <- new_observations(11, d)
  fit <- NULL
  guess <- NULL
  seconds <- fastest(function() {
    fit <<- without_rank_warning(kbr(pairs$x, pairs$y,
      method = "kbr", rank = rank
    ))
    guess <<- predict(fit, new[1, , drop = FALSE])
  })
  ten <- fastest(function() predict(fit, new[-1, ]))
  label <- if (rank == "full") "kbr, full" else "kbr"
  line_of(
    label, n, d, ncol(fit$features$observations$factor), seconds, ten, guess, new[1, ]
  )
}

bench_low_rank <- function() {
  cat("\n## Low rank\n\n")
  n <- if (quick) 2000 else 1e4
  markdown(rbind(bench_kbr(n, 2, 100), bench_kbr(n, 6, 400)))
}

# ---- dense ------------------------------------------------------------------

gauss <- function(a, b, width) {
  squares <- outer(rowSums(a^2), rowSums(b^2), `+`) - 2 * tcrossprod(a, b)
  exp(-squares / (2 * width^2))
}

# The formulas of ?kbr as written; 0.1 / n and twice that are its defaults. A
# further observation would need the last line again.
plain_kbr <- function(pairs, y) {
  n <- nrow(pairs$x)
  eps <- 0.1 / n
  gram_x <- gauss(pairs$x, pairs$x, bandwidth_median(pairs$x))
  width_y <- bandwidth_median(pairs$y)
  mu <- solve(gram_x + diag(n * eps, n), rowMeans(gram_x))
  l <- mu * gauss(pairs$y, pairs$y, width_y)
  k <- gauss(pairs$y, y, width_y)
  w <- l %*% solve(l %*% l + diag(2 * eps, n), mu * k)
  t(crossprod(pairs$x, w) / sum(w))
}

bench_plain <- function(n, d) {
  pairs <- draw_pairs(n, d, 1)
  y <- new_observations(11, d)[1, , drop = FALSE]
  guess <- NULL
  seconds <- fastest(function() guess <<- plain_kbr(pairs, y))
  line_of("plain R", n, d, n, seconds, NA, guess, y)
}

bench_dense <- function() {
  cat("\n## Dense, BLAS ", basename(extSoftVersion()[["BLAS"]]), "\n\n",
    sep = ""
  )
  n <- if (quick) 500 else 2000
  markdown(rbind(
    bench_kbr(n, 2, "full"), bench_plain(n, 2), bench_kbr(n, 6, "full"),
    bench_plain(n, 6)
  ))
}

# ---- abc --------------------------------------------------------------------

bench_one_abc <- function(n, d, tolerance) {
  pairs <- draw_pairs(n, d, 1)
  new <- new_observations(11, d)
  mean_at <- function(i) {
    accepted <- abc::abc(new[i, ], pairs$x, pairs$y,
      tol = tolerance, method = "rejection"
    )
    colMeans(accepted$unadj.values)
  }
  guess <- mean_at(1)
  line_of(
    paste0("abc, rejection, tol ", tolerance), n, d, NA,
    fastest(function() mean_at(1)),
    fastest(function() for (i in 2:11) mean_at(i)), guess, new[1, ]
  )
}

bench_abc <- function() {
  cat("\n## Package abc\n\n")
  if (!requireNamespace("abc", quietly = TRUE)) {
    cat("Not installed.\n")
    return(invisible())
  }
  sizes <- if (quick) 1e4 else c(1e4, 1e6)
  cells <- expand.grid(n = sizes, d = c(2, 6))
  lines <- Map(bench_one_abc, cells$n, cells$d, 100 / cells$n)
  markdown(do.call(rbind, lines)[-4])
}

# ---- chunks -----------------------------------------------------------------

chunk_size <- 5e4

# In its own process, so that no other work counts towards its memory. Chunks
# are simulated as they are read, once for the pool (up to 20 of them) and once
# in each pass; "reading": two passes of simulations only.
bench_one_chunked <- function() {
  n <- if (quick) 1e5 else 1e6
  read <- function(i) draw_pairs(chunk_size, 2, i)
  y <- new_observations(11, 2)[1, , drop = FALSE]
  chunks <- kbr_chunks(read, n / chunk_size)
  reading <- 2 * seconds_of(for (i in seq_len(chunks$n_chunks)) read(i))
  gc(reset = TRUE)
  before <- peak_megabytes()
  seconds <- seconds_of({
    fit <- without_rank_warning(kbr(chunks, rank = 100, progress = FALSE))
    guess <- predict(fit, y)
  })
  line <- line_of(
    "kbr, chunks", n, 2, ncol(fit$features$observations$factor), seconds, NA, guess, y
  )
  line$ten <- NULL
  line$reading <- reading
  line[["peak MB"]] <- peak_megabytes()
  line[["of these before"]] <- before
  markdown(line)
}

bench_chunks <- function() {
  cat("\n## In chunks\n\n")
  system2(file.path(R.home("bin"), "Rscript"),
    c(shQuote(script), "--part=one_chunked", if (quick) "--quick"),
    env = paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep))
  )
}

# ---- files ------------------------------------------------------------------

# Files of 1e5 pairs, read by one daemon of mirai and by two: times of the whole
# fit, and the largest memory of a daemon. More daemons than one are needed for
# the package to use them, so one of the two is kept busy.
bench_files <- function() {
  cat("\n## Files, on daemons\n\n")
  files <- write_files(if (quick) 10 else 100)
  on.exit(unlink(dirname(files[[1]]), recursive = TRUE))
  chunks <- kbr_chunks(files,
    states = c("x1", "x2"), observations = c("y1", "y2")
  )
  markdown(do.call(rbind, lapply(1:2, on_daemons, chunks)))
}

write_files <- function(n) {
  folder <- tempfile("pairs")
  dir.create(folder)
  vapply(seq_len(n), function(i) {
    pairs <- draw_pairs(1e5, 2, i)
    file <- file.path(folder, sprintf("%03d.parquet", i))
    nanoparquet::write_parquet(
      data.frame(pairs$x, pairs$y), file
    )
    file
  }, "")
}

on_daemons <- function(used, chunks) {
  mirai::daemons(0)
  mirai::daemons(2)
  if (used == 1) {
    busy <- mirai::mirai(Sys.sleep(3600))
    on.exit(mirai::stop_mirai(busy))
  }
  seconds <- seconds_of(
    fit <- without_rank_warning(kbr(chunks, rank = 100, seed = 1))
  )
  peak <- vapply(seq_len(4), function(i) {
    mirai::mirai(peak(), peak = peak_megabytes)[]
  }, 0)
  mirai::daemons(0)
  data.frame(
    daemons = used, pairs = fit$time, seconds = seconds, "peak MB" = max(peak),
    check.names = FALSE
  )
}

bench <- list(
  low_rank = bench_low_rank, dense = bench_dense, abc = bench_abc,
  chunks = bench_chunks, files = bench_files, one_chunked = bench_one_chunked
)
for (name in chosen) bench[[name]]()
