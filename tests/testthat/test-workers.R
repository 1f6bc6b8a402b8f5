# Chains of bark() and kgs() on two workers of each backend: the draws agree
# with this process, and progress comes back. srvm(), tdsmc() and kbr_chunks()
# have such tests in their own files.

moons <- sim_moons(30, flips = 0.1, seed = 1)
moons$three <- cut(moons$x1, c(-Inf, 0, 1.5, Inf), c("low", "mid", "high"))
short <- mcmc_control(chains = 3, warmup = 20, iter = 20)

quiet <- function(expr) suppressWarnings(expr, classes = "kb_warning")

#' The fits of all engines with chains
chain_fits <- function(progress = FALSE) {
  quiet(list(
    bark = bark(x1 ~ x2, moons, control = short, seed = 1, progress = progress),
    probit = bark(y ~ x1 + x2, moons,
      control = short, seed = 1, progress = progress
    ),
    fields = bark(three ~ x2, moons,
      control = short, seed = 1, progress = progress
    ),
    hmc = kgs(y ~ x1 + x2, moons,
      control = short, method = "hmc", seed = 1, progress = progress
    ),
    several = kgs(three ~ x1 + x2, moons,
      control = short, seed = 1, progress = progress
    )
  ))
}

test_on_each("chains on workers agree with this process", function(backend) {
  here <- chain_fits()
  local_workers(backend)
  expect_identical(worker_count(), 2L)
  there <- chain_fits()
  for (name in names(here)) {
    expect_same_fit(there[[name]], here[[name]])
    expect_identical(
      suppressWarnings(as_draws(there[[name]])),
      suppressWarnings(as_draws(here[[name]]))
    )
  }
})

test_on_each("so do ladders of their evidence, and folds", function(backend) {
  short <- mcmc_control(chains = 2, warmup = 20, iter = 20)
  ask <- function() {
    line <- quiet(bark(x1 ~ x2, moons, control = short, seed = 1))
    labels <- quiet(kgs(y ~ x1, moons, nugget = 0, control = short, seed = 1))
    quiet(list(
      bark = evidence(line,
        n_temps = 3, warmup = 20, iter = 20, chains = 2, seed = 2
      )[c("log_evidence", "mc_se")],
      kgs = evidence(labels,
        n_temps = 3, warmup = 20, iter = 20, chains = 2, seed = 2
      )[c("log_evidence", "mc_se")],
      folds = cross_validate(labels, folds = 3, seed = 3)
    ))
  }
  here <- ask()
  local_workers(backend)
  expect_identical(ask(), here)
})

# The choice -------------------------------------------------------------------

test_that("daemons of mirai come before a plan of future, if there are two", {
  rule <- function(mirai, future) {
    backend <- function(name, n) list(name = name, workers = function() n)
    local_mocked(
      mirai_backend = backend("mirai", mirai),
      future_backend = backend("future", future)
    )
    find_backend()$name
  }
  expect_null(rule(0, 0))
  expect_null(rule(1, 1))
  expect_identical(rule(2, 0), "mirai")
  expect_identical(rule(3, 4), "mirai")
  expect_identical(rule(1, 2), "future")
})

test_that("daemons that have not come are told", {
  skip_without_workers("mirai")
  mirai <- asNamespace("mirai")
  mirai$daemons(url = mirai$local_url())
  withr::defer(mirai$daemons(0))
  expect_message(found <- find_backend(), class = "kb_message_workers")
  expect_null(found)
})

# Lost workers ----------------------------------------------------------------

#' `ask()` gives the same with a killed worker, and a warning
expect_survives <- function(ask, backend, frame = parent.frame()) {
  here <- quiet(ask())
  local_lethal_worker(backend, frame)
  told <- character()
  there <- withCallingHandlers(ask(), kb_warning = function(w) {
    told <<- c(told, class(w)[[1]])
    invokeRestart("muffleWarning")
  })
  expect_true("kb_warning_worker" %in% told)
  if (inherits(here, "kb_fit")) {
    return(expect_same_fit(there, here))
  }
  expect_identical(there, here)
}

test_on_each("folds of a killed worker are done again", function(backend) {
  skip_on_os("windows")
  labels <- quiet(kgs(y ~ x1, moons, control = short, seed = 1))
  expect_survives(
    function() cross_validate(labels, folds = 3, seed = 3), backend
  )
})

test_on_each("settings of a killed worker are tried again", function(backend) {
  skip_on_os("windows")
  expect_survives(function() {
    tune_kbr(moons$x1, moons$x2,
      bandwidths = c(1, 2), c0 = c(0.01, 0.1), folds = 2, seed = 1
    )$table
  }, backend)
})

test_on_each("blocks of a killed worker are predicted again", function(backend) {
  skip_on_os("windows")
  wide <- sim_moons(60, seed = 2)
  fit <- kbr(wide$x1, wide$x2)
  expect_survives(function() calibrate(fit, folds = 2, seed = 1), backend)
})

test_on_each("chunks of a killed worker are read again", function(backend) {
  skip_on_os("windows")
  read <- function(i) list(x = sin(i * 1:20), y = cos(i * 1:20))
  expect_survives(function() {
    predict(kbr(kbr_chunks(read, 3), rank = 5, seed = 1), c(-1, 1))
  }, backend)
})

test_on_each("chains of a killed worker continue elsewhere", function(backend) {
  skip_on_os("windows")
  expect_survives(function() {
    bark(x1 ~ x2, moons, control = short, seed = 1)
  }, backend)
})

test_on_each("so do orders of the rows", function(backend) {
  skip_on_os("windows")
  fit <- few_particles(srvm(x1 ~ x2, moons,
    kernel = kernel_gaussian(), control = smc_control(particles = 20), seed = 1
  ))
  expect_survives(function() {
    order_spread(fit, orders = 3, seed = 2)[c("log_evidence", "summary")]
  }, backend)
})

test_on_each("ladders of a killed worker go on elsewhere", function(backend) {
  skip_on_os("windows")
  labels <- quiet(kgs(y ~ x1, moons, nugget = 0, control = short, seed = 1))
  expect_survives(function() {
    evidence(labels,
      n_temps = 3, warmup = 20, iter = 20, chains = 2, seed = 2
    )[c("log_evidence", "mc_se")]
  }, backend)
})

test_that("work that no worker will ever finish is done here", {
  left <- 2
  cancelled <- 0
  gone <- list(
    name = "toy", workers = function() left, keeps = function() TRUE,
    start = function(message, needed) {
      left <<- 0
      message
    },
    is_home = function(task) FALSE,
    cancel = function(tasks) cancelled <<- cancelled + length(tasks)
  )
  give_up <- give_up_lost
  local_mocked(
    find_backend = function() gone,
    give_up_lost = function(calls) give_up(calls, patience = 1.5)
  )
  expect_warning(
    out <- map_tasks(list(1, 2, 3), "max", shared = 0),
    "No worker is connected", class = "kb_warning_worker"
  )
  expect_identical(cancelled, 2)
  expect_identical(out$values, list(1, 2, 3))
})

test_that("a task that three workers do not survive is done here", {
  tried <- 0
  fatal <- list(
    name = "toy", workers = function() 100, keeps = function() TRUE,
    start = function(message, needed) {
      tried <<- tried + (message$arguments$tasks[[1]] == 2)
      message
    },
    is_home = function(task) TRUE, cancel = function(tasks) NULL,
    value = function(task) {
      if (task$arguments$tasks[[1]] == 2) {
        return(simpleError("killed"))
      }
      answer_message(task)
    }
  )
  local_mocked(find_backend = function() fatal)
  expect_warning(
    out <- map_tasks(list(1, 2, 3), "max", shared = 0),
    class = "kb_warning_worker"
  )
  expect_identical(tried, 3)
  expect_identical(out$values, list(1, 2, 3))
})

test_that("work that cannot be sent is done here", {
  labels <- quiet(kgs(y ~ x1, moons, control = short, seed = 1))
  ask <- function() cross_validate(labels, folds = 3, seed = 3)
  without <- ask()
  # Current versions of future read the option when the plan is made.
  withr::local_options(future.globals.maxSize = 10)
  local_workers()
  expect_warning(here <- ask(), class = "kb_warning_worker")
  expect_identical(here, without)
})

test_on_each("an error in the work is not a lost worker", function(backend) {
  local_workers(backend)
  read <- function(i) {
    if (i == 2) stop("the file is gone")
    list(x = i, y = 2)
  }
  expect_error(kbr(kbr_chunks(read, 3), rank = 1), "the file is gone")
})

# Interrupts ------------------------------------------------------------------

#' The value of a call that must warn of an interrupt, `said`
stopped <- function(expr, said) {
  told <- "nothing"
  value <- withCallingHandlers(expr, kb_warning_interrupted = function(w) {
    told <<- conditionMessage(w)
    invokeRestart("muffleWarning")
  })
  expect_match(told, said)
  value
}

test_that("an interrupt leaves the finished folds", {
  skip_on_os("windows")
  labels <- quiet(kgs(y ~ x1, moons, control = short, seed = 1))
  fits <- list(a = labels, b = labels)
  ask <- function() cross_validate(fits, folds = 3, seed = 3)
  whole <- ask()
  # Two tasks per fold: the fifth one.
  part <- local({
    local_interrupt_at("score_fold", 5)
    stopped(ask(), "2 of 3 folds")
  })
  expect_setequal(part$fold, 1:2)
  wanted <- whole[whole$fold %in% 1:2, ]
  expect_equal(as.list(part), as.list(wanted), tolerance = 0)
  expect_identical(nrow(summary(part)), 2L)
  local({
    local_interrupt_at("score_fold", 2)
    expect_error(ask(), class = "kb_error_interrupted")
  })
  expect_identical(ask(), whole)
})

test_that("an interrupted fit is not used for a fold", {
  skip_on_os("windows")
  labels <- quiet(kgs(y ~ x1, moons, control = short, seed = 1))
  local_interrupt_at("engine_state.default", 5)
  part <- stopped(cross_validate(labels, folds = 3, seed = 3), "of 3 folds")
  expect_identical(unique(part$fold), 1L)
})

test_that("an interrupt leaves the finished bandwidths", {
  skip_on_os("windows")
  ask <- function() {
    tune_kbr(moons$x1, moons$x2,
      bandwidths = c(1, 2, 4), c0 = c(0.01, 0.1), folds = 2, seed = 1
    )
  }
  whole <- ask()
  part <- local({
    local_interrupt_at("tune_cell", 4)
    stopped(ask(), "1 of 3 bandwidths")
  })
  expect_equal(part$table, whole$table[1:2, ], tolerance = 0)
  expect_s3_class(part$fit, "kb_kbr")
  local({
    local_interrupt_at("tune_cell", 2)
    expect_error(ask(), class = "kb_error_interrupted")
  })
})

test_that("an interrupt leaves the finished blocks of calibrate()", {
  skip_on_os("windows")
  wide <- sim_moons(60, seed = 2)
  fit <- kbr(wide$x1, wide$x2)
  ask <- function() calibrate(fit, folds = 2, seed = 1)
  whole <- ask()
  part <- local({
    local_interrupt_at("calibrate_block", 2)
    stopped(ask(), "1 of 2 blocks")
  })
  half <- seq_len(nrow(part$pit))
  expect_equal(part$pit, whole$pit[half, , drop = FALSE], tolerance = 0)
  expect_lt(length(half), nrow(whole$pit))
})

test_that("sums of only some chunks are not used", {
  skip_on_os("windows")
  read <- function(i) list(x = sin(i * 1:20), y = cos(i * 1:20))
  local_interrupt_at("chunk_group", 2)
  expect_error(kbr(kbr_chunks(read, 3), rank = 5, seed = 1),
    class = "kb_error_interrupted"
  )
})

# Calls whose stages are calls of an internal function: interrupted in the first
# stage there is nothing, in the third the part of the whole that two stages
# make.
test_that("an interrupt leaves the finished stages of every loop", {
  skip_on_os("windows")
  wide <- sim_moons(60, seed = 2)
  labels <- quiet(kgs(y ~ x1 + x2, moons, control = short, seed = 1))
  curve <- quiet(bark(y ~ x1 + x2 + x3,
    data.frame(wide[1:2], x3 = wide$x1^2, y = wide$x2),
    control = short, seed = 1
  ))
  pairs <- function(...) {
    kbr_simulate(rnorm, function(x) x + rnorm(length(x)), ..., seed = 1)
  }
  loops <- list(
    list("permuted_rises", "2 of 4 permutations",
      function() importance(labels, permutations = 4, seed = 1),
      function(a, b) {
        expect_identical(a$variable, b$variable)
        expect_false(identical(a$mean, b$mean))
      }
    ),
    list("exposure_bands_of", "2 of 3 exposures",
      function() exposure_effects(curve, "curves", n = 5),
      function(a, b) {
        expect_equal(as.list(a), as.list(b[1:10, ]), tolerance = 0)
      }
    ),
    list("simulate_batch", "2 of 5 batches",
      function() pairs(n = 50, batches = 5),
      function(a, b) {
        expect_identical(a$x, b$x[1:20, , drop = FALSE])
        expect_output(print(a), "INCOMPLETE")
      }
    )
  )
  for (loop in loops) {
    whole <- loop[[3]]()
    part <- local({
      local_interrupt_at(loop[[1]], 3)
      stopped(loop[[3]](), loop[[2]])
    })
    loop[[4]](part, whole)
    local({
      local_interrupt_at(loop[[1]], 1)
      expect_error(loop[[3]](), class = "kb_error_interrupted")
    })
    expect_identical(loop[[3]](), whole)
  }
})

test_that("an interrupt ends all rounds and leaves the pairs so far", {
  skip_on_os("windows")
  ask <- function(batches) {
    kbr_simulate(rnorm, function(x) x + rnorm(length(x)),
      n = 900, rounds = 3, observation = 0.5, batches = batches, seed = 1
    )
  }
  # One batch makes the pilot, the others are those of rounds.
  at <- function(k, batches, said) {
    local_interrupt_at("simulate_batch", k)
    stopped(ask(batches), said)
  }
  two <- at(4, 1, "round 3 of 3")
  expect_identical(two$status, "interrupted")
  expect_identical(two$rounds$pairs, c(300L, 300L))
  expect_equal(mean(two$weights), 1)
  expect_identical(two$rounds[1:2], ask(1)$rounds[1:2, 1:2])
  expect_s3_class(kbr(two), "kb_kbr")
  one <- at(3, 1, "round 2 of 3")
  expect_identical(one$rounds$pairs, 300L)
  half <- at(6, 3, "round 2 of 3")
  expect_identical(half$rounds$pairs, c(300L, 100L))
  local({
    local_interrupt_at("simulate_batch", 2)
    expect_error(ask(1), class = "kb_error_interrupted")
  })
  local({
    local_interrupt_at("posterior_region", 2)
    expect_identical(
      stopped(ask(1), "round 3 of 3")$rounds$pairs, c(300L, 300L)
    )
  })
})

# What is sent to workers -----------------------------------------------------

test_on_each("users' functions find their objects", function(backend) {
  ask <- function() {
    read <- function(i) {
      kbr_simulate(
        function(n) half * rnorm(n), function(x) x + half * rnorm(length(x)),
        n = 50, seed = i
      )
    }
    environment(read) <- globalenv()
    predict(kbr(kbr_chunks(read, n_chunks = 3), rank = 5, seed = 1), c(-1, 1))
  }
  assign("half", 0.5, globalenv())
  withr::defer(rm("half", envir = globalenv()))
  here <- ask()
  local_workers(backend)
  expect_equal(ask(), here, tolerance = 1e-10)
})

test_on_each("data are sent to each worker once", function(backend) {
  local_workers(backend)
  sent <- 0
  real <- find_backend()
  counting <- real
  counting$start <- function(message, needed) {
    sent <<- sent + !is.null(message$parcel$data)
    real$start(message, needed)
  }
  local_mocked(find_backend = function() counting)
  out <- map_tasks(as.list(1:20), "max", shared = 0)
  expect_identical(out$values, as.list(1:20 + 0))
  # Some tasks find a worker that has had none yet.
  expect_gte(sent, 2)
  expect_lte(sent, 6)
})

test_that("workers that are new processes get several tasks at once", {
  messages <- list()
  jobs <- list(
    name = "toy", workers = function() 2, keeps = function() FALSE,
    start = function(message, needed) {
      messages <<- c(messages, list(message))
      message
    },
    is_home = function(task) TRUE, cancel = function(tasks) NULL,
    value = answer_message
  )
  local_mocked(find_backend = function() jobs)
  out <- map_tasks(as.list(1:9), "max", shared = 0)
  expect_identical(out$values, as.list(1:9 + 0))
  expect_identical(out$done, rep(TRUE, 9))
  expect_identical(
    lengths(lapply(messages, function(m) m$arguments$tasks)), c(3L, 2L, 2L, 2L)
  )
  whole <- vapply(messages, function(m) !is.null(m$parcel$data), NA)
  expect_true(all(whole))
})

test_that("a worker without the data asks for them", {
  message <- function(parcel) {
    list(name = "sum", arguments = list(1), parcel = parcel)
  }
  whole <- list(key = "b", data = list(2))
  expect_identical(answer_message(message(list(key = "c")))$missing, TRUE)
  expect_identical(answer_message(message(whole))$value, 3)
  expect_identical(answer_message(message(list(key = "b")))$value, 3)
})

test_on_each("warnings and messages of a task come back", function(backend) {
  local_workers(backend)
  read <- function(i) {
    if (i == 2) warning("careful")
    if (i == 3) message("done")
    list(x = sin(i * 1:20), y = cos(i * 1:20))
  }
  environment(read) <- globalenv()
  said <- character()
  withCallingHandlers(kbr(kbr_chunks(read, 3), rank = 5, seed = 1),
    warning = function(w) {
      said <<- c(said, conditionMessage(w))
      invokeRestart("muffleWarning")
    },
    message = function(m) {
      said <<- c(said, conditionMessage(m))
      invokeRestart("muffleMessage")
    }
  )
  expect_match(said, "`read` gave 1 warning.*careful", all = FALSE)
  expect_true("done\n" %in% said)
})

test_that("each draw travels once", {
  control <- mcmc_control(chains = 1, warmup = 5, iter = 40)
  fits <- quiet(list(
    bark(x1 ~ x2, moons, control = control, seed = 1),
    bark(three ~ x2, moons, control = control, seed = 1),
    bark(x1 ~ x2, moons,
      prior = bark_prior_paper(approximation = "truncation"), control = control,
      seed = 1
    ),
    kgs(three ~ x1, moons, control = control, method = "hmc", seed = 1),
    srvm(x1 ~ x2, moons,
      kernel = kernel_gaussian(), method = "mcmc", control = control, seed = 1
    )
  ))
  plain <- function(state) state[setdiff(names(state), "seconds")]
  for (fit in fits) {
    engine <- fit_engine(fit)
    slice <- function(state, goal) {
      worker_slice(engine, 1, state, goal, Inf, NULL)$state
    }
    half <- slice(NULL, 25)
    sent <- without_grown(engine, half)
    # Nothing that is sent or returned contains the earlier draws.
    expect_identical(sum(draws_in(finish_fit(fit, list(sent), 0))), 0L)
    back <- slice(sent, 45)
    expect_identical(draws_in(finish_fit(fit, list(back), 0)), 20L)
    whole <- with_grown(engine, half, back)
    expect_identical(plain(whole), plain(fit$runs[[1]]))
  }
})

test_on_each("progress of chains comes back from workers", function(backend) {
  local_workers(backend)
  units <- numeric()
  local_mocked(progress_reporter = function(engine, states, progress) {
    list(
      advance = function(n) units <<- c(units, n), close = function() NULL
    )
  })
  chain_fits(TRUE)
  # Five fits of three chains of 40 iterations.
  expect_equal(sum(units), 5 * 3 * 40)
  expect_gt(length(units), 5)
})

# Tasks of other functions ------------------------------------------------------

test_on_each("simulations are the same", function(backend) {
  ask <- function() {
    kbr_simulate(rnorm, function(x) x + rnorm(length(x)), 101,
      seed = 1, batches = 4
    )
  }
  here <- ask()
  local_workers(backend)
  expect_identical(ask(), here)
})

test_that("batches of a simulation have sizes and random numbers of their own", {
  draw <- function(n) matrix(rep(n, n))
  ask <- function(...) {
    kbr_simulate(draw, function(x) rnorm(nrow(x)), 10, seed = 1, ...)
  }
  pairs <- ask(batches = 3)
  expect_identical(pairs$x[, 1], rep(c(4, 3, 3), c(4, 3, 3)))
  expect_identical(anyDuplicated(pairs$y), 0L)
  expect_identical(ask(batches = 1), ask())
  expect_error(ask(batches = 11), class = "kb_error_argument")
  before <- globalenv()$.Random.seed
  ask(batches = 3)
  expect_identical(globalenv()$.Random.seed, before)
})
