# The same calls in this process, on threads and on the workers of each backend:
#
#   Rscript tools/cluster/run.R                        what runs without Slurm
#   tools/cluster/slurm.sh Rscript tools/cluster/run.R   all
#   ... --part=bark,folds   only these calls
#   ... --on=mirai,slurm    only these backends
#   ... --loss              kill a worker, or cancel its job, in every call
#   ... --size=10           longer calls (1: about a second each)
#   ... --installed         the installed package, not the checkout
#
# Prints markdown: seconds of wall clock, CPU seconds of the whole machine (so
# nothing else should run), megabytes sent and received, warnings of lost
# workers, and whether the result equals that of one thread to the last bit. The
# exit status is 1 if one does not.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
tools <- dirname(dirname(script))
source(file.path(tools, "deps.R"))
source(file.path(tools, "arguments.R"))

refuse_unknown(c("loss", "installed"), c("part", "on", "size"))
if (!flag("installed")) {
  .libPaths(c(install_checkout(dirname(tools)), .libPaths()))
}
# Workers see the same libraries.
Sys.setenv(R_LIBS = paste(.libPaths(), collapse = ":"))
library(kernelbayes)
# Jobs of future leave their files in the working directory.
setwd(tempdir())
size <- as.numeric(option("size", "1"))

# Calls ------------------------------------------------------------------------

friedman <- sim_friedman(200, seed = 1)
moons <- sim_moons(200, flips = 0.1, seed = 1)
sinc <- sim_sinc(200, seed = 1)
long <- function(iter, ...) {
  mcmc_control(chains = 4, warmup = 100, iter = ceiling(size * iter), ...)
}
quiet <- function(expr) {
  suppressMessages(suppressWarnings(expr, classes = setdiff(
    c(
      "kb_warning_convergence", "kb_warning_low_ess", "kb_warning_rank",
      "kb_warning_few_draws"
    ), "kb_warning_worker"
  )))
}
few <- quiet(bark(y ~ ., friedman, control = long(20), seed = 1))
labels <- quiet(kgs(y ~ x1 + x2, moons,
  nugget = 0, control = long(200), seed = 1
))
line <- quiet(srvm(y ~ x, sinc,
  kernel = kernel_gaussian(), control = smc_control(100), seed = 1
))

write_chunks <- function() {
  folder <- tempfile("chunks")
  dir.create(folder)
  vapply(seq_len(20), function(i) {
    file <- file.path(folder, paste0(i, ".rds"))
    set.seed(i)
    x <- stats::rnorm(ceiling(2e4 * size))
    saveRDS(data.frame(x, y = x + stats::rnorm(length(x))), file)
    file
  }, "")
}
files <- write_chunks()

calls <- list(
  bark = function() bark(y ~ ., friedman, control = long(150), seed = 1),
  bark_tempered = function() {
    bark(y ~ ., friedman, control = long(40, n_temps = 3), seed = 1)
  },
  bark_evidence = function() {
    evidence(few,
      n_temps = 8, warmup = 10, iter = ceiling(40 * size), chains = 2, seed = 1
    )[c("log_evidence", "mc_se")]
  },
  kgs = function() {
    kgs(y ~ x1 + x2, moons, nugget = 0, control = long(4000), seed = 1)
  },
  kgs_evidence = function() {
    evidence(labels,
      n_temps = 8, warmup = 10, iter = ceiling(100 * size), chains = 2, seed = 1
    )[c("log_evidence", "mc_se")]
  },
  select_kernel = function() {
    select_kernel(y ~ x1 + x2, moons,
      bandwidths = c(0.2, 1), iter = ceiling(50 * size), chains = 2, seed = 1
    )$table
  },
  srvm_mcmc = function() {
    srvm(y ~ x, sinc,
      kernel = kernel_gaussian(), method = "mcmc", control = long(500),
      seed = 1
    )
  },
  srvm_replicates = function() {
    srvm(y ~ x, sinc,
      kernel = kernel_gaussian(),
      control = smc_control(ceiling(200 * size), replicates = 4), seed = 1
    )
  },
  srvm_kernels = function() {
    srvm(y ~ x, sinc, control = smc_control(ceiling(200 * size)), seed = 1)
  },
  orders = function() {
    order_spread(line, orders = ceiling(6 * size), seed = 1)[
      c("log_evidence", "summary")
    ]
  },
  folds = function() {
    cross_validate(labels, folds = ceiling(6 * size), seed = 1)
  },
  tune = function() {
    tune_kbr(friedman$x1, friedman$y,
      bandwidths = exp(seq(-1, 1, length.out = ceiling(6 * size))), seed = 1
    )$table
  },
  chunks = function() {
    fit <- kbr(
      kbr_chunks(files, states = "x", observations = "y"),
      rank = 100, seed = 1
    )
    predict(fit, c(-1, 1))
  },
  simulate = function() {
    kbr_simulate(
      function(n) stats::rexp(n),
      function(rate) {
        vapply(rate, function(r) mean(stats::rexp(2000, r)), 0)
      },
      n = ceiling(2e4 * size), seed = 1, batches = 20
    )
  }
)

# Backends ---------------------------------------------------------------------

slurm <- nzchar(Sys.which("sbatch")) && nzchar(Sys.getenv("SLURM_CONF"))
daemons <- function(...) getExportedValue("mirai", "daemons")(...)
connected <- function() getExportedValue("mirai", "status")()$connections
wait_for_daemons <- function(n) {
  for (i in 1:600) if (connected() >= n) return() else Sys.sleep(0.1)
  stop("the daemons did not come")
}

# A function that starts two workers and one that ends them.
backends <- list(
  threads = list(
    start = function() options(mc.cores = 2),
    stop = function() options(mc.cores = 1)
  ),
  mirai = list(
    start = function() daemons(2), stop = function() daemons(0)
  ),
  mirai_tls = list(
    start = function() {
      here <- getExportedValue("mirai", "remote_config")(
        "sh", c("-c", "."), quote = TRUE
      )
      daemons(2, url = "tls+tcp://127.0.0.1:0", remote = here)
      wait_for_daemons(2)
    },
    stop = function() daemons(0)
  ),
  mirai_slurm = list(
    start = function() {
      jobs <- getExportedValue("mirai", "cluster_config")(
        "sbatch", "#SBATCH --ntasks=1\n#SBATCH --output=/dev/null"
      )
      daemons(2, url = "tls+tcp://127.0.0.1:0", remote = jobs)
      wait_for_daemons(2)
    },
    stop = function() daemons(0)
  ),
  future = list(
    start = function() future::plan("multisession", workers = 2),
    stop = function() future::plan("sequential")
  ),
  future_slurm = list(
    start = function() {
      template <- tempfile(fileext = ".tmpl")
      writeLines(c(
        "#!/bin/sh", "#SBATCH --job-name=<%= job.name %>",
        "#SBATCH --output=<%= log.file %>", "#SBATCH --ntasks=1",
        "Rscript -e 'batchtools::doJobCollection(\"<%= uri %>\")'"
      ), template)
      future::plan(future.batchtools::batchtools_slurm,
        workers = 2, template = template
      )
    },
    stop = function() future::plan("sequential")
  )
)
needs <- list(
  mirai = "mirai", mirai_tls = "mirai", mirai_slurm = "mirai",
  future = "future", future_slurm = "future.batchtools"
)
available <- Filter(function(name) {
  (slurm || !grepl("slurm", name)) && (is.null(needs[[name]]) ||
    requireNamespace(needs[[name]], quietly = TRUE))
}, names(backends))

# Losses -----------------------------------------------------------------------

# Workers inherit this variable.
mark <- paste0("KERNELBAYES_CLUSTER=", Sys.getpid())
Sys.setenv(KERNELBAYES_CLUSTER = Sys.getpid())

# A process that ends one of the workers after a while.
thief <- function(on, seconds) {
  callr::r_bg(
    function(slurm, mark, seconds) {
      Sys.sleep(seconds)
      if (slurm) {
        jobs <- system2("squeue", c("-h", "-t", "RUNNING", "-o", "%i"),
          stdout = TRUE
        )
        if (length(jobs) > 0) system2("scancel", c("-s", "KILL", jobs[[1]]))
      } else {
        lines <- system2("ps", c("-eo", "pid,args"), stdout = TRUE)
        lines <- grep("mirai::daemon|workRSOCK", lines, value = TRUE)
        lines <- grep("exec/R", lines, value = TRUE)
        pids <- as.integer(sub("^ *([0-9]+) .*", "\\1", lines))
        # Not those of other processes.
        ours <- Filter(function(pid) {
          file <- file.path("/proc", pid, "environ")
          any(grepl(mark, readLines(file, warn = FALSE, skipNul = TRUE)))
        }, pids)
        if (length(ours) > 0) tools::pskill(ours[[1]], tools::SIGKILL)
      }
    },
    list(grepl("slurm", on), mark, seconds)
  )
}

# A line of the table ----------------------------------------------------------

cpu_seconds <- function() {
  ticks <- scan("/proc/stat", "", nlines = 1, quiet = TRUE)[2:4]
  sum(as.numeric(ticks)) / 100
}

# Counts what travels; the package's own function is put back by `stop()`.
counted <- new.env()
count_bytes <- function() {
  home <- asNamespace("kernelbayes")
  find <- get("find_backend", home)
  bytes <- function(x) length(serialize(x, NULL)) / 1e6
  counting <- function() {
    backend <- find()
    if (is.null(backend)) {
      return(NULL)
    }
    real <- backend[c("start", "value")]
    backend$start <- function(message, needed) {
      counted$sent <- counted$sent + bytes(message) + bytes(needed$globals)
      real$start(message, needed)
    }
    backend$value <- function(task) {
      answer <- real$value(task)
      counted$received <- counted$received + bytes(answer)
      answer
    }
    backend
  }
  utils::assignInNamespace("find_backend", counting, home)
}

plain <- function(x) {
  if (inherits(x, "kb_fit")) {
    x[c("call", "request", "seconds", "replaced_seconds")] <- NULL
    x$runs <- lapply(x$runs, function(run) {
      run[setdiff(names(run), c("seconds", "shared_seconds"))]
    })
  }
  x
}

measure <- function(name, on, wanted = NULL, seconds = Inf) {
  told <- character()
  counted$sent <- counted$received <- 0
  loss <- flag("loss") && on != "one thread" && on != "threads"
  process <- if (loss) thief(on, min(3, seconds / 4))
  cpu <- cpu_seconds()
  wall <- system.time(value <- tryCatch(
    withCallingHandlers(quiet(calls[[name]]()), warning = function(w) {
      told <<- c(told, class(w)[[1]])
      tryInvokeRestart("muffleWarning")
    }),
    error = identity
  ))[["elapsed"]]
  cpu <- cpu_seconds() - cpu
  if (loss) process$wait(10000)
  if (inherits(value, "error")) message(name, ": ", conditionMessage(value))
  same <- if (!is.null(wanted)) identical(plain(value), plain(wanted))
  list(
    value = value, wall = wall,
    line = c(
      name, on, format(round(wall, 1), nsmall = 1),
      format(round(cpu, 1), nsmall = 1), signif(counted$sent, 2),
      signif(counted$received, 2), sum(told == "kb_warning_worker"),
      toString(setdiff(told, "kb_warning_worker")),
      if (is.null(same)) "" else if (same) "yes" else "NO"
    )
  )
}

row <- function(cells) cat("|", paste(cells, collapse = " | "), "|\n")

main <- function() {
  chosen <- several("part", names(calls))
  used <- several("on", available)
  cat(
    "kernelbayes", format(utils::packageVersion("kernelbayes")), "on",
    R.version.string, "-", format(Sys.Date()), "\n\n"
  )
  row(c(
    "call", "on", "wall", "CPU", "MB sent", "MB received", "lost",
    "other warnings", "same bits"
  ))
  row(rep("---", 9))
  count_bytes()
  options(mc.cores = 1)
  here <- lapply(stats::setNames(chosen, chosen), measure, on = "one thread")
  for (one in here) row(one$line)
  differ <- FALSE
  for (on in used) {
    for (name in chosen) {
      # Every call has its own workers if one of them is killed.
      if (flag("loss") || name == chosen[[1]]) backends[[on]]$start()
      out <- measure(name, on, here[[name]]$value, here[[name]]$wall)
      row(out$line)
      differ <- differ || utils::tail(out$line, 1) == "NO"
      if (flag("loss")) backends[[on]]$stop()
    }
    if (!flag("loss")) backends[[on]]$stop()
  }
  if (differ) quit(status = 1)
}

main()
