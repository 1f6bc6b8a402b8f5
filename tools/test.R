# Run the tests against an installed copy of the checkout, with the entries of
# tests/cpp (see test-build.R):
#   Rscript tools/test.R [--filter=regex] [--extended] [--valgrind]
#     [--assertions]
# The last line is `N passed, N failed, N skipped`: expectations that passed,
# failures and errors, skipped tests. The exit status is 0 only if nothing
# failed and at least one expectation passed. Test files are divided between two
# processes (TESTTHAT_CPUS), or run in one if TESTTHAT_PARALLEL is false.
# --assertions compiles with the assertions of libstdc++, as Fedora does: an
# index outside its vector ends the process.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(script), "deps.R"))
source(file.path(dirname(script), "arguments.R"))
source(file.path(dirname(script), "test-build.R"))
root <- dirname(dirname(script))

# In a separate process: run the suite and save the three counts.
run_suite <- function(filter, file) {
  path <- file.path(root, "tests", "testthat")
  package <- package_name(root)
  suppressPackageStartupMessages(library("testthat"))
  # The tests must not see the functions of these scripts.
  rm(list = ls(globalenv()), envir = globalenv())
  results <- testthat::test_dir(
    path,
    filter = filter, package = package, load_package = "installed",
    reporter = testthat::ProgressReporter$new(
      show_praise = FALSE, max_failures = Inf, update_interval = Inf
    ),
    stop_on_failure = FALSE, stop_on_warning = FALSE
  )
  expectations <- unlist(lapply(results, `[[`, "results"), recursive = FALSE)
  is_a <- function(type) {
    sum(vapply(expectations, inherits, NA, paste0("expectation_", type)))
  }
  saveRDS(c(
    passed = is_a("success"), failed = is_a("failure") + is_a("error"),
    skipped = is_a("skip")
  ), file)
}

# valgrind follows one process, and an abort by a sanitizer must be noticed.
set_processes <- function() {
  if (flag("valgrind") || nzchar(Sys.getenv("KERNELBAYES_PRELOAD"))) {
    Sys.setenv(TESTTHAT_PARALLEL = "false")
  }
  if (!nzchar(Sys.getenv("TESTTHAT_CPUS"))) {
    Sys.setenv(TESTTHAT_CPUS = "2")
  }
}

# The user's Makevars file, with the assertions added.
compile_with_assertions <- function() {
  makevars <- tempfile("Makevars")
  own <- unlist(lapply(tools::makevars_user(), readLines))
  writeLines(c(own, "CPPFLAGS += -D_GLIBCXX_ASSERTIONS"), makevars)
  Sys.setenv(R_MAKEVARS_USER = makevars)
}

# The counts of the suite; a suite that did not finish counts as a failure.
test_in_child <- function(lib, filter) {
  counts <- tempfile(fileext = ".rds")
  Sys.setenv(
    R_LIBS = paste(c(lib, .libPaths()), collapse = .Platform$path.sep),
    NOT_CRAN = "true", TESTTHAT_MAX_FAILS = "Inf"
  )
  set_processes()
  if (flag("extended")) {
    Sys.setenv(KERNELBAYES_EXTENDED_TESTS = "true")
  }
  args <- c("--no-echo", "--no-restore", "--no-save")
  if (flag("valgrind")) {
    args <- c(args, "-d", "valgrind --error-exitcode=99 --num-callers=30")
  }
  args <- c(
    args, paste0("--file=", gsub(" ", "~+~", script, fixed = TRUE)), "--args",
    paste0("--run-suite=", counts),
    if (!is.null(filter)) paste0("--filter=", filter)
  )
  preload <- Sys.getenv("KERNELBAYES_PRELOAD")
  if (nzchar(preload)) {
    Sys.setenv(LD_PRELOAD = preload)
  }
  status <- suppressWarnings(system2(r_binary(), shQuote(args)))
  Sys.unsetenv("LD_PRELOAD")
  finished <- file.exists(counts)
  result <- if (finished) readRDS(counts) else c(0L, 0L, 0L)
  names(result) <- c("passed", "failed", "skipped")
  if (!finished || status != 0) {
    say("The test process ended with status ", status, ".")
    result[["failed"]] <- max(1L, result[["failed"]])
  }
  result
}

main <- function() {
  refuse_unknown(
    c("extended", "valgrind", "assertions"), c("filter", "run-suite")
  )
  filter <- option("filter")
  counts_file <- option("run-suite")
  if (!is.null(counts_file)) {
    return(run_suite(filter, counts_file))
  }
  at_failure <<- function() cat("\n0 passed, 1 failed, 0 skipped\n")
  install_needs(root, "tests")
  dir <- tempfile("test")
  dir.create(file.path(dir, "lib"), recursive = TRUE)
  on.exit(unlink(dir, recursive = TRUE))
  lib <- normalizePath(file.path(dir, "lib"))
  say("Installing ", package_name(root), " into a temporary library ...")
  preload <- nzchar(Sys.getenv("KERNELBAYES_PRELOAD"))
  if (flag("assertions")) {
    compile_with_assertions()
  }
  install_sources(test_copy(root, dir), lib,
    flags = c("--no-docs", if (preload) "--no-test-load"),
    symbols = preload || flag("valgrind")
  )
  counts <- test_in_child(lib, filter)
  if (counts[["passed"]] + counts[["failed"]] == 0) {
    say("No test ran.")
  }
  flush(stderr())
  cat(sprintf(
    "\n%d passed, %d failed, %d skipped\n",
    counts[["passed"]], counts[["failed"]], counts[["skipped"]]
  ))
  ok <- counts[["failed"]] == 0 && counts[["passed"]] > 0
  unlink(dir, recursive = TRUE)
  quit(save = "no", status = if (ok) 0 else 1)
}

invisible(main())
