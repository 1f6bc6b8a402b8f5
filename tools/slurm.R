# Run by tools/slurm.sh: fits and folds as Slurm jobs, some of which are
# cancelled, compared with the same work in this process.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(script), "deps.R"))
source(file.path(dirname(script), "arguments.R"))
root <- dirname(dirname(script))

template <- c(
  "#!/bin/sh", "#SBATCH --job-name=<%= job.name %>",
  "#SBATCH --output=<%= log.file %>", "#SBATCH --ntasks=1",
  "Rscript -e 'batchtools::doJobCollection(\"<%= uri %>\")'"
)

# Cancels a running job every few seconds, `n` times; a file notes each.
canceller <- function(n, file) {
  callr::r_bg(
    function(n, file) {
      ask <- function(...) system2("squeue", c("-h", ...), stdout = TRUE)
      while (n > 0) {
        Sys.sleep(stats::runif(1, 2, 5))
        jobs <- ask("-t", "RUNNING", "-o", "%i")
        if (length(jobs) == 0) next
        system2("scancel", jobs[[sample.int(length(jobs), 1)]])
        cat("cancelled\n", file = file, append = TRUE)
        n <- n - 1
      }
    },
    list(n, file)
  )
}

plain <- function(x) {
  if (inherits(x, "kb_fit")) {
    x[c("call", "seconds")] <- NULL
    x$runs <- lapply(x$runs, function(run) {
      run[setdiff(names(run), c("seconds", "shared_seconds"))]
    })
  }
  x
}

# A row of figures.
compare <- function(name, run, cancel) {
  future::plan("sequential")
  here <- system.time(wanted <- suppressWarnings(run()))[["elapsed"]]
  future::plan(future.batchtools::batchtools_slurm,
    workers = 4, template = "slurm.tmpl"
  )
  file <- tempfile()
  file.create(file)
  process <- canceller(cancel, file)
  told <- character()
  there <- system.time(value <- tryCatch(
    withCallingHandlers(run(), warning = function(w) {
      told <<- c(told, class(w)[[1]])
      tryInvokeRestart("muffleWarning")
    }),
    error = identity
  ))[["elapsed"]]
  process$kill()
  system2("scancel", c("-u", "root"))
  if (inherits(value, "error")) message(conditionMessage(value))
  data.frame(
    call = name, serial = round(here, 1), slurm = round(there, 1),
    cancelled = length(readLines(file)),
    warned = sum(told == "kb_warning_worker"),
    other_warnings = toString(setdiff(told, "kb_warning_worker")),
    identical = identical(plain(value), plain(wanted))
  )
}

main <- function() {
  install_needs(root, "tests")
  if (!flag("installed")) {
    .libPaths(c(install_checkout(root), .libPaths()))
  }
  # Jobs see the same libraries.
  Sys.setenv(R_LIBS = paste(.libPaths(), collapse = ":"))
  library(kernelbayes)
  setwd(Sys.getenv("KB_SLURM_FOLDER"))
  writeLines(template, "slurm.tmpl")
  options(width = 120)
  set.seed(1)
  line <- sim_sinc(100, seed = 1)
  moons <- sim_moons(100, flips = 0.1, seed = 1)
  long <- function(iter) mcmc_control(chains = 4, warmup = 500, iter = iter)
  labels <- suppressWarnings(
    kgs(y ~ x1 + x2, moons, control = long(6000), seed = 1)
  )
  cancel <- as.integer(option("cancel", "3"))
  iter <- as.integer(option("iter", "4000"))
  calls <- list(
    bark = function() bark(y ~ x, line, control = long(iter), seed = 1),
    cross_validate = function() cross_validate(labels, folds = 6, seed = 1),
    nothing_cancelled = function() cross_validate(labels, folds = 4, seed = 1)
  )
  table <- do.call(rbind, lapply(names(calls), function(name) {
    compare(name, calls[[name]], if (name == "nothing_cancelled") 0 else cancel)
  }))
  print(table, row.names = FALSE)
  if (!all(table$identical)) quit(status = 1)
}

main()
