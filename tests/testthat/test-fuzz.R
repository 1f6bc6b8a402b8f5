# Any input to a function or a fit gives a value or an error with a class. Each
# case runs in its own process, so that a crash is found and named. Extended:
# 2000 inputs per case; otherwise 40 for some cases.

fuzz_in_process <- function(names, size, seed) {
  skip_without_processes()
  log <- tempfile()
  run <- function(folder, names, size, seed, log, library) {
    attachNamespace("kernelbayes")
    assign("extended", function() FALSE, globalenv())
    for (file in c("helper-fuzz.R", "helper-fuzz-cases.R")) {
      sys.source(file.path(folder, file), globalenv())
    }
    # If a random name becomes that of a checkpoint, its file is here.
    setwd(tempdir())
    note <- function(what) cat(what, "\n", file = log)
    unlist(lapply(names, function(name) {
      case <- fuzz_cases()[[name]]()
      found <- if (!is.null(case$fits)) {
        fuzz_bad_calls(case$fits, size, seed, note)
      } else if (is.null(case$questions)) {
        fuzz_call(case$f, case$arguments, size, seed, note)
      } else {
        fuzz_fit(case$fit, case$questions, size, seed, note)
      }
      if (length(found) > 0) paste0(name, ": ", found)
    }))
  }
  tryCatch(
    in_process(run, getwd(), names, size, seed, log),
    error = function(error) {
      last <- if (file.exists(log)) readLines(log, warn = FALSE)
      c(paste("the process ended at:", last), conditionMessage(error))
    }
  )
}

test_that("damaged fits give a value or a classed error", {
  cases <- c("srvm_offset", "srvm_mcmc", "bark", "bark_slopes", "kgs",
    "kgs_noisy", "kbr_bounds", "kbr_filter", "hmm_particles", "hmm_turning"
  )
  expect_identical(
    fuzz_in_process(cases, fuzz_size(), 11), NULL
  )
})

test_that("damaged arguments give a value or a classed error", {
  cases <- c(
    "srvm_call", "bark_call", "kgs_call", "kbr_call", "srvm_update",
    "srvm_xy_call", "srvm_xy_update", "hmm_adjusted_call", "hmm_particles_call"
  )
  expect_identical(
    fuzz_in_process(cases, fuzz_size(), 12), NULL
  )
})

test_that("any values for any function give a value or a classed error", {
  expect_identical(
    fuzz_in_process("bad_calls", fuzz_size(100, 3000), 14), NULL
  )
})

test_that("all cases do so, many times", {
  skip_unless_extended()
  for (name in names(fuzz_cases())) {
    expect_identical(fuzz_in_process(name, fuzz_size(), 13), NULL, info = name)
  }
})
