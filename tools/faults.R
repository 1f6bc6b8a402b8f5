# Interrupts (SIGINT) calls at random moments and checks what is left:
#   Rscript tools/faults.R [--trials=40] [--filter=regex]
#     [--workers=mirai|future] [--installed]
# Each call runs repeatedly in its own process, which is interrupted at a random
# moment between the start of the call and 1.1 times its duration. `--workers`:
# with two workers; `--installed`: uses the installed copy.
# Fails unless every call ends with a value or a condition of the package, the
# process survives, and continuing gives identical bits: by update() of a fit,
# or for others by the same call again, with which a partial result must agree.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(script), "deps.R"))
source(file.path(dirname(script), "arguments.R"))
root <- dirname(dirname(script))

# In the child process --------------------------------------------------------

# A list of calls. Each has `run`, a function; `on`, which continues from an
# incomplete value; and `part`, a function of a value and the complete one: is
# the first a part of the second?
calls <- function() {
  moons <- sim_moons(60, flips = 0.1, seed = 1)
  line <- sim_sinc(60, seed = 1)
  chains <- function(iter) mcmc_control(chains = 2, warmup = 50, iter = iter)
  again <- function(run) function(value) run()
  lines_of <- function(value, whole) {
    a <- as.data.frame(value)
    key <- function(v) paste(v$model, v$row, v$bandwidth, v$c0, v$kernel)
    b <- as.data.frame(whole)
    all(key(a) %in% key(b)) &&
      identical(unname(as.list(a)), unname(as.list(b[match(key(a), key(b)), ])))
  }
  fit <- function(run) {
    list(run = run, on = stats::update, part = function(value, whole) TRUE)
  }
  other <- function(run, part = function(value, whole) TRUE) {
    list(run = run, on = again(run), part = part)
  }
  labels <- kgs(y ~ x1 + x2, moons, control = chains(50), seed = 1, nugget = 0)
  curve <- bark(y ~ x, line, control = chains(50), seed = 1)
  rows <- srvm(y ~ x, line, control = smc_control(particles = 50), seed = 1)
  many <- sim_moons(600, seed = 1)
  mixed <- bark(x2 ~ x1 + z + v,
    data.frame(moons[1:2], z = moons$x1^2, v = seq_len(60)),
    control = chains(50), seed = 1
  )
  slow <- function(x) {
    Sys.sleep(length(x) / 1500)
    x + stats::rnorm(length(x))
  }
  # Set-ups of one row each
  seen <- sim_linear_hmm(120, seed = 1)
  delayedAssign("hmm", kbr_hmm(seen$states, seen$observations, seed = 1))
  delayedAssign("noisy", kgs(y ~ x1 + x2, moons,
    control = chains(50), seed = 1
  ))
  delayedAssign("pairs", kbr(many$x1, many$x2))
  # A sum of normals, one more per step
  sums <- td_target(
    function(states, t, data) {
      if (t == 0) {
        return(numeric(length(states)))
      }
      stats::dnorm(states, sd = sqrt(t), log = TRUE)
    },
    function(n, data) numeric(n)
  )
  add <- list(add = td_move(
    function(states, t, data) states + stats::rnorm(length(states)),
    function(new, old, t, data) stats::dnorm(new, old, log = TRUE),
    function(old, new, t, data) {
      if (t == 1) {
        return(numeric(length(new)))
      }
      left <- (t - 1) / t
      stats::dnorm(old, new * left, sqrt(left), log = TRUE)
    }
  ))
  list(
    srvm = fit(function() {
      srvm(y ~ x, sim_sinc(200, seed = 1),
        kernel = kernel_gaussian(), control = smc_control(particles = 150),
        seed = 1
      )
    }),
    # A pilot of all kernels, and then the probable ones again.
    srvm_average = fit(function() {
      srvm(y ~ x, sim_sinc(120, seed = 1),
        control = smc_control(particles = 100), seed = 1
      )
    }),
    srvm_mcmc = fit(function() {
      srvm(y ~ x, line,
        kernel = kernel_gaussian(), method = "mcmc", control = chains(1500),
        seed = 1
      )
    }),
    bark = fit(function() bark(y ~ x, line, control = chains(1500), seed = 1)),
    kgs = fit(function() {
      kgs(y ~ x1 + x2, moons, control = chains(8000), seed = 1, nugget = 0)
    }),
    kgs_noisy = fit(function() {
      kgs(y ~ x1 + x2, moons, control = chains(600), seed = 1)
    }),
    bark_classes = fit(function() {
      bark(Species ~ Sepal.Length + Sepal.Width, iris,
        control = chains(30), seed = 1
      )
    }),
    srvm_stream = fit(function() {
      update(rows, sim_sinc(150, seed = 4), particles = 100)
    }),
    tdsmc = fit(function() {
      tdsmc(sums, add,
        steps = 20, control = smc_control(particles = 5000), seed = 1
      )
    }),
    check_moves = other(function() {
      check_moves(sums, add, steps = 1:4, n = 10000, seed = 1)
    }),
    evidence_noisy = other(function() evidence(noisy, seed = 1)),
    evidence_bark = other(function() {
      evidence(curve,
        n_temps = 5, warmup = 30, iter = 90, chains = 3, seed = 1
      )
    }),
    evidence_kgs = other(function() evidence(labels, iter = 150, seed = 1)),
    order_spread = other(function() order_spread(rows, orders = 6, seed = 1)),
    importance_bark = other(function() {
      importance(curve, method = "permutation", permutations = 100, seed = 1)
    }),
    kfold = other(function() {
      set.seed(1)
      loo::kfold(curve, K = 5)
    }),
    acquire = other(function() acquire(labels, many, n = 20)),
    estimate_cost = other(function() {
      class(estimate_cost(
        quote(srvm(y ~ x, line, kernel = kernel_gaussian(0.3)))
      ))
    }),
    importance = other(
      function() importance(labels, permutations = 30, seed = 1)
    ),
    exposure_effects = other(
      function() exposure_effects(mixed, "curves", n = 300),
      function(value, whole) all(value$mean == whole$mean[seq_len(nrow(value))])
    ),
    kbr_simulate = other(
      function() {
        kbr_simulate(stats::rnorm, slow, n = 900, batches = 9, seed = 1)
      },
      function(value, whole) {
        identical(value$x, whole$x[seq_len(nrow(value$x)), , drop = FALSE])
      }
    ),
    kbr_rounds = other(function() {
      kbr_simulate(stats::rnorm, slow,
        n = 900, rounds = 3, observation = 0.5, seed = 1
      )
    }),
    calibrate = other(function() {
      calibrate(kbr(many$x1, many$x2, seed = 1), folds = 8, seed = 1)
    }),
    kbr = other(function() kbr(many[1:2], many$x1^2 + many$x2, seed = 1)),
    kbr_draws = other(function() {
      set.seed(1)
      predict(pairs, seq(-1, 1, length.out = 50),
        type = "draws", ndraws = 500
      )
    }),
    posterior_predictive_check = other(function() {
      posterior_predictive_check(pairs, 0.5, function(x) slow(x[, 1]), seed = 1)
    }),
    kbr_hmm = other(function() {
      kbr_hmm(seen$states, seen$observations, seed = 1)
    }),
    kbr_filter = other(function() {
      kbr_filter(hmm, sim_linear_hmm(300, seed = 2)$observations)
    }),
    tune_kbr_hmm = other(function() {
      tune_kbr_hmm(seen$states, seen$observations, settings = list(
        list(method = "kbr"), list(method = "iw"),
        list(summaries = FALSE, lag = 0, inflate = 1)
      ), folds = 3, steps = 10, seed = 1)
    }),
    cross_validate = other(
      function() cross_validate(list(labels, labels), folds = 8, seed = 1),
      lines_of
    ),
    tune_kbr = other(
      function() {
        tune_kbr(line$x, line$y, bandwidths = 2^(-3:3), folds = 6, seed = 1)
      },
      function(value, whole) lines_of(value$table, whole$table)
    ),
    select_kernel = other(
      function() {
        select_kernel(y ~ x1 + x2, moons,
          bandwidths = c(0.5, 1, 2), control = chains(300), iter = 100,
          chains = 2, seed = 1
        )
      },
      function(value, whole) {
        # The last evidence may come from fewer sweeps.
        done <- seq_len(max(nrow(value$table) - 1, 0))
        identical(value$table$kernel[done], whole$table$kernel[done]) &&
          identical(
            value$table$log_evidence[done], whole$table$log_evidence[done]
          )
      }
    )
  )
}

# Removes what may differ between equal runs.
plain <- function(x) {
  if (!is.list(x)) {
    return(x)
  }
  x$seconds <- NULL
  if (inherits(x, "kb_fit")) {
    x[c("call", "replaced_seconds")] <- NULL
    x$runs <- lapply(x$runs, function(run) {
      run[setdiff(names(run), c("seconds", "shared_seconds"))]
    })
  }
  if (!is.null(x$fit)) x$fit <- NULL
  x$evidences <- NULL
  x
}

# One call with its conditions: the `value`, the classes of `warnings`, and how
# it `ended`: "value", "error", "unclassed error" or "interrupt".
observe_call <- function(run) {
  warnings <- character()
  out <- tryCatch(
    list(
      value = withCallingHandlers(run(),
        warning = function(w) {
          warnings <<- c(warnings, class(w)[[1]])
          tryInvokeRestart("muffleWarning")
        },
        message = function(m) tryInvokeRestart("muffleMessage")
      ),
      ended = "value"
    ),
    kb_error = function(error) list(ended = class(error)[[1]]),
    error = function(error) {
      list(ended = "unclassed error", message = conditionMessage(error))
    },
    interrupt = function(condition) list(ended = "interrupt")
  )
  out$warnings <- warnings
  out
}

# Wait for a file, ignoring interrupts.
await <- function(file) {
  sleep <- function(seconds) {
    tryCatch(allowInterrupts(Sys.sleep(seconds)),
      interrupt = function(condition) NULL
    )
  }
  while (!file.exists(file)) sleep(0.01)
  sleep(0.1)
}

# All trials of one call, in a process that another one interrupts.
trials <- function(name, n, folder, workers) {
  library(kernelbayes)
  plan <- function() {
    if (workers == "future") future::plan("multisession", workers = 2)
    if (workers == "mirai") {
      getExportedValue("mirai", "daemons")(0)
      getExportedValue("mirai", "daemons")(2)
    }
  }
  call <- suppressWarnings(calls())[[name]]
  plan()
  quiet <- function(expr) suppressWarnings(suppressMessages(expr))
  quiet(call$run())
  seconds <- system.time(whole <- quiet(call$run()))[["elapsed"]]
  for (entry in c("run_engine", "map_tasks")) {
    suppressMessages(trace(entry, quote(options(kb_begun = TRUE)),
      print = FALSE, where = asNamespace("kernelbayes")
    ))
  }
  at <- function(what, i) file.path(folder, paste0(what, i))
  writeLines(format(seconds), at("seconds", 0))
  out <- list()
  for (i in seq_len(n)) {
    options(kb_begun = FALSE)
    suspendInterrupts({
      seen <- observe_call(function() {
        file.create(at("begin", i))
        allowInterrupts(call$run())
      })
      await(at("sent", i))
    })
    seen$begun <- getOption("kb_begun")
    lost <- "kb_warning_worker" %in% seen$warnings || seen$ended == "interrupt"
    if (lost) plan()
    if (seen$ended == "value") {
      stopped <- "kb_warning_interrupted" %in% seen$warnings
      seen$part <- isTRUE(call$part(seen$value, whole))
      seen$partial <- stopped && !identical(plain(seen$value), plain(whole))
      if (stopped) seen$value <- quiet(call$on(seen$value))
      seen$same <- identical(plain(seen$value), plain(whole))
    } else {
      seen$same <- identical(plain(quiet(call$run())), plain(whole))
    }
    seen$value <- NULL
    out[[i]] <- seen
  }
  out
}

# In the parent process -------------------------------------------------------

# Interrupt each trial at a random moment; returns the child's observations.
interrupt_trials <- function(name, n, libraries, workers) {
  folder <- tempfile("faults")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  at <- function(what, i) file.path(folder, paste0(what, i))
  inside <- list(
    calls = calls, plain = plain, observe_call = observe_call, await = await,
    trials = trials
  )
  process <- callr::r_bg(
    function(inside, ...) {
      list2env(lapply(inside, `environment<-`, globalenv()), globalenv())
      trials(...)
    },
    list(inside, name, n, folder, workers),
    libpath = libraries, stderr = at("stderr", 0)
  )
  on.exit(process$kill_tree(), add = TRUE, after = FALSE)
  wait <- function(file) {
    while (!file.exists(file) && process$is_alive()) Sys.sleep(0.005)
    process$is_alive()
  }
  wait(at("begin", 1))
  seconds <- as.double(readLines(at("seconds", 0)))
  moments <- stats::runif(n, 0, 1.1 * seconds)
  for (i in seq_len(n)) {
    if (!wait(at("begin", i))) break
    Sys.sleep(moments[[i]])
    process$interrupt()
    file.create(at("sent", i))
  }
  process$wait(600 * 1000)
  result <- tryCatch(process$get_result(), error = function(error) {
    message(name, ": ", conditionMessage(error))
    cat(utils::tail(readLines(at("stderr", 0)), 5), sep = "\n")
    list()
  })
  list(seconds = seconds, moments = moments, seen = result)
}

# A row of figures.
summarise_trials <- function(name, out, n) {
  seen <- out$seen
  of <- function(f) sum(vapply(seen, function(s) isTRUE(f(s)), NA))
  ended <- vapply(seen, `[[`, "", "ended")
  data.frame(
    call = name, seconds = round(out$seconds, 2), alive = length(seen) == n,
    whole = of(function(s) s$ended == "value" && !s$partial),
    partial = of(function(s) s$ended == "value" && s$partial),
    error = sum(startsWith(ended, "kb_")),
    before_run = of(function(s) s$ended == "interrupt" && !s$begun),
    lost = of(function(s) s$ended == "interrupt" && s$begun),
    unclassed = sum(ended == "unclassed error"),
    agrees = of(function(s) s$ended != "value" || s$part),
    same_bits = of(function(s) s$same)
  )
}

main <- function() {
  install_needs(root, "tests")
  libraries <- .libPaths()
  if (!flag("installed")) {
    libraries <- c(install_checkout(root), libraries)
  }
  .libPaths(libraries)
  library(kernelbayes)
  n <- as.integer(option("trials", "40"))
  workers <- option("workers", "none")
  set.seed(1)
  options(width = 120)
  names <- grep(option("filter", "."), names(calls()), value = TRUE)
  table <- do.call(rbind, lapply(names, function(name) {
    out <- interrupt_trials(name, n, libraries, workers)
    line <- summarise_trials(name, out, n)
    print(line, row.names = FALSE)
    for (s in out$seen) if (!is.null(s$message)) message(s$message)
    line
  }))
  cat("\n")
  print(table, row.names = FALSE)
  good <- table$alive & table$lost == 0 & table$unclassed == 0 &
    table$agrees == n & table$same_bits == n
  if (!all(good)) quit(status = 1)
}

main()
