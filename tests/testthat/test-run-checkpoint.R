# Fits on disk.

new_file <- function(frame = parent.frame()) {
  file.path(local_folder(frame), "fit.rds")
}

checkpointed <- function(file, ..., rows = 30, progress = FALSE) {
  srvm(y ~ x, sim_sinc(rows, seed = 1),
    kernel = kernel_gaussian(), control = smc_control(
      particles = 50, n_moves = 2, checkpoint = file, ...
    ),
    seed = 1, progress = progress
  )
}

#' The files that a run leaves next to its checkpoint
expect_clean <- function(file) {
  expect_identical(dir(dirname(file), all.files = TRUE, no.. = TRUE), "fit.rds")
}

#' A message that names the file; cli breaks lines anywhere
expect_names_file <- function(error, file) {
  squeeze <- function(x) gsub("[[:space:]]", "", x)
  message <- squeeze(conditionMessage(error))
  expect_true(grepl(squeeze(file), message, fixed = TRUE))
}

# Writing ---------------------------------------------------------------------

test_that("the last checkpoint is the complete fit", {
  file <- new_file()
  fit <- checkpointed(file)
  kept <- read_checkpoint(file)
  expect_same_fit(kept, fit)
  expect_identical(kept$status, "complete")
  expect_identical(predict(kept), predict(fit))
  expect_identical(update(kept), kept)
  expect_clean(file)
})

test_that("a checkpoint changes nothing in the fit", {
  fit <- checkpointed(new_file(), checkpoint_every = 1e-6)
  expect_same_fit(fit, checkpointed(NULL))
})

test_that("replicates write one checkpoint", {
  file <- new_file()
  fit <- checkpointed(file, replicates = 3, checkpoint_every = 1e-6)
  expect_same_fit(read_checkpoint(file), fit)
  expect_clean(file)
})

test_that("update() continues the checkpoint", {
  file <- new_file()
  fit <- checkpointed(file)
  fit <- update(fit, newdata = sim_sinc(5, seed = 2), progress = FALSE)
  expect_identical(read_checkpoint(file)$time, 35L)
  expect_same_fit(read_checkpoint(file), fit)
})

test_that("checkpoints appear at intervals and lead to the same end", {
  file <- new_file()
  fit <- long_fit()
  seen <- list()
  save <- function(states) {
    write_checkpoint(sealed(finish_fit(fit, states, 0)), file)
    seen[[length(seen) + 1]] <<- read_checkpoint(file)
  }
  control <- list(checkpoint = file, checkpoint_every = 0.05, time_limit = Inf)
  out <- run_engine(fit_engine(fit), list(NULL), control, FALSE, save)
  times <- vapply(seen, `[[`, 0L, "time")
  expect_identical(times[[1]], 0L)
  expect_identical(times[[length(times)]], 400L)
  expect_true(length(times) > 3 && !is.unsorted(times))
  middle <- seen[[length(seen) - 1]]
  expect_identical(middle$status, "interrupted")
  expect_same_fit(update(middle, progress = FALSE), fit)
})

test_that("a file of another kind is refused, and kept", {
  file <- new_file()
  writeLines("a diary", file)
  error <- expect_error(checkpointed(file), class = "kb_error_checkpoint")
  expect_s3_class(error, "kb_error_checkpoint_exists")
  expect_names_file(error, file)
  expect_identical(readLines(file), "a diary")
  saveRDS(mtcars, file)
  expect_error(checkpointed(file), class = "kb_error_checkpoint_exists")
  fit <- checkpointed(file, overwrite = TRUE)
  expect_same_fit(read_checkpoint(file), fit)
  expect_clean(file)
})

test_that("the checkpoint of another run is refused, too", {
  file <- new_file()
  fit <- checkpointed(file)
  again <- function(..., data = sim_sinc(30, seed = 1), seed = 1,
                    kernel = kernel_gaussian()) {
    srvm(y ~ x, data,
      kernel = kernel,
      control = smc_control(50, 2, checkpoint = file, ...), seed = seed,
      progress = FALSE
    )
  }
  refused <- function(expr, message) {
    before <- tools::md5sum(file)
    expect_error(expr, message, class = "kb_error_checkpoint_exists")
    expect_identical(tools::md5sum(file), before)
  }
  # The same call again makes the same fit.
  expect_same_fit(again(), fit)
  edited <- sim_sinc(30, seed = 1)
  edited$y[[7]] <- edited$y[[7]] + 1
  refused(again(data = edited), "other data")
  refused(again(seed = 2), "another run")
  refused(again(kernel = kernel_gaussian(0.3)), "another run")
  # An unfinished fit is worth more than a new start.
  fit$status <- "interrupted"
  fit <- sealed(fit)
  saveRDS(fit, file)
  refused(again(), "unfinished")
  expect_identical(again(overwrite = TRUE)$status, "complete")
})

test_that("a link is followed, and stays", {
  skip_on_os("windows")
  folder <- local_folder()
  link <- file.path(folder, "link.rds")
  inner <- file.path(folder, "disk")
  dir.create(inner)
  file.symlink("disk/fit.rds", link)
  fit <- checkpointed(link)
  expect_identical(Sys.readlink(link), "disk/fit.rds")
  expect_same_fit(read_checkpoint(file.path(inner, "fit.rds")), fit)
  fit <- update(fit, newdata = sim_sinc(5, seed = 2), progress = FALSE)
  expect_identical(Sys.readlink(link), "disk/fit.rds")
  expect_same_fit(read_checkpoint(link), fit)
  expect_setequal(dir(folder), c("disk", "link.rds"))
  expect_identical(dir(inner), "fit.rds")
})

test_that("a relative name refers to the folder of the call", {
  first <- local_folder()
  withr::with_dir(first, {
    control <- smc_control(50, 2, checkpoint = "fit.rds")
  })
  second <- local_folder()
  withr::with_dir(second, {
    srvm(y ~ x, sim_sinc(10, seed = 1), control = control, seed = 1,
      kernel = kernel_gaussian(), progress = FALSE
    )
  })
  expect_identical(dir(first), "fit.rds")
  expect_identical(dir(second), character())
})

test_that("the next run removes what a killed run was writing", {
  skip_on_os("windows")
  file <- new_file()
  dead <- callr::r(Sys.getpid)
  parts <- file.path(dirname(file), c(
    part_name(file, dead), part_name(file, 1), part_name("other.rds", dead)
  ))
  file.create(parts)
  checkpointed(file)
  # The first process is alive; the other file is not of this checkpoint.
  expect_setequal(dir(dirname(file)), c("fit.rds", basename(parts[2:3])))
})

test_that("a full disk is an error, and leaves nothing open", {
  skip_if_not(file.exists("/dev/full"))
  before <- nrow(showConnections())
  problems <- testthat::capture_warnings(write_bytes(raw(1e6), "/dev/full"))
  expect_match(problems, "problem writing", all = FALSE)
  expect_identical(nrow(showConnections()), before)
})

test_that("an old checkpoint stays complete while the new one is written", {
  file <- new_file()
  write_checkpoint("old", file)
  # A file cannot replace a folder that is not empty.
  blocked <- file.path(dirname(file), "blocked")
  dir.create(file.path(blocked, "full"), recursive = TRUE)
  error <- expect_error(
    write_checkpoint("new", blocked), class = "kb_error_checkpoint"
  )
  expect_names_file(error, blocked)
  expect_identical(readRDS(file), "old")
  write_checkpoint("new", file)
  expect_identical(readRDS(file), "new")
  expect_setequal(dir(dirname(file)), c("blocked", "fit.rds"))
})

test_that("a new checkpoint replaces the old one in one step", {
  file <- new_file()
  write_checkpoint("old", file)
  # If the file were overwritten, its other name would change too.
  other <- paste0(file, "-link")
  skip_if_not(suppressWarnings(file.link(file, other)))
  write_checkpoint("new", file)
  expect_identical(readRDS(file), "new")
  expect_identical(readRDS(other), "old")
})

test_that("a checkpoint in a folder that does not exist is refused", {
  file <- file.path(local_folder(), "nowhere", "fit.rds")
  expect_error(smc_control(checkpoint = file), class = "kb_error_argument")
  # The folder may have disappeared since.
  gone <- new_file()
  control <- smc_control(particles = 10, checkpoint = gone)
  unlink(dirname(gone), recursive = TRUE)
  error <- expect_error(
    srvm(y ~ x, sim_sinc(10, seed = 1), control = control, progress = FALSE),
    class = "kb_error_checkpoint"
  )
  expect_names_file(error, gone)
})

test_that("a folder that disappears during the run does not end it", {
  file <- new_file()
  engine <- fit_engine(long_fit())
  save <- function(states) {
    write_checkpoint(states, file)
    unlink(dirname(file), recursive = TRUE)
  }
  control <- list(checkpoint = file, checkpoint_every = 60, time_limit = 0.01)
  expect_warning(
    out <- run_engine(engine, list(NULL), control, FALSE, save),
    class = "kb_warning_checkpoint"
  )
  expect_gt(out$states[[1]]$time, 0)
})

test_that("files that cannot be written leave no connections open", {
  gone <- file.path(local_folder(), "nowhere", "fit.rds")
  before <- nrow(showConnections(all = TRUE))
  for (attempt in 1:10) {
    expect_error(write_checkpoint("fit", gone), class = "kb_error_checkpoint")
  }
  expect_identical(nrow(showConnections(all = TRUE)), before)
})

test_that("a run says once that its checkpoints fail, and goes on", {
  file <- new_file()
  fit <- checkpointed(file, checkpoint_every = 1e-9)
  unlink(dirname(file), recursive = TRUE)
  more <- sim_sinc(30, seed = 2)
  told <- testthat::capture_warnings(
    longer <- update(fit, newdata = more, progress = FALSE)
  )
  expect_identical(sum(grepl("without a new checkpoint", told)), 1L)
  expect_match(told, "No such file", all = FALSE)
  expect_identical(longer$time, 60L)
  expect_identical(longer$status, "complete")
  # Batches of a connection are one run.
  lines <- paste(more$x, more$y, sep = ",")
  told <- testthat::capture_warnings(
    update(fit, textConnection(lines), rows = 5, header = c("x", "y"))
  )
  expect_identical(sum(grepl("without a new checkpoint", told)), 1L)
})

# Only a run that continues it replaces a checkpoint: what is in the file, what
# would replace it, and why that is refused, or NULL.
test_that("a checkpoint is replaced by runs that are as long, and no others", {
  line <- sim_sinc(30, seed = 1)
  other <- transform(line, y = y + 1)
  moons <- sim_moons(30, seed = 1)
  quiet <- function(expr) suppressMessages(suppressWarnings(expr))
  curve <- function(..., data = line, scale = TRUE) {
    function(file) {
      settings <- utils::modifyList(
        list(chains = 2, warmup = 20, iter = 40, checkpoint = file), list(...)
      )
      bark(y ~ x, data,
        scale = scale, control = do.call(mcmc_control, settings), seed = 1
      )
    }
  }
  rows <- function(..., data = line) {
    function(file) {
      settings <- utils::modifyList(
        list(particles = 30, n_moves = 1, checkpoint = file), list(...)
      )
      srvm(y ~ x, data,
        kernel = kernel_gaussian(), control = do.call(smc_control, settings),
        seed = 1
      )
    }
  }
  labels <- function(file, data = moons[1:20, ]) {
    kgs(y ~ x1 + x2, data,
      control = mcmc_control(2, 20, 40, checkpoint = file), seed = 1
    )
  }
  walk <- function(n = 20, y = c(0.3, 1.1), mean = 0) {
    target <- td_target(
      eval(bquote(function(states, t, data) {
        dnorm(states, .(mean), log = TRUE) + vapply(states, function(x) {
          sum(dnorm(data[seq_len(t)], x, log = TRUE))
        }, 0)
      })),
      function(n, data) rnorm(n)
    )
    function(file) {
      tdsmc(target,
        data = y, control = smc_control(n, checkpoint = file), seed = 1
      )
    }
  }
  # A fit made elsewhere, which takes over the file
  from <- function(make, ...) {
    function(file) {
      fit <- quiet(make(NULL))
      fit$control$checkpoint <- file
      fit <- sealed(fit)
      update(fit, ...)
    }
  }
  cases <- list(
    list(curve(), curve(), NULL),
    list(curve(), curve(iter = 80), NULL),
    list(curve(), curve(chains = 3), NULL),
    list(curve(), curve(iter = 20), "longer run: iter 40"),
    list(curve(), curve(chains = 1), "longer run: chains 2"),
    list(curve(), curve(warmup = 5), "longer run: warmup 20"),
    list(curve(), curve(thin = 2), "longer run: draws 40"),
    list(curve(), curve(scale = FALSE), "another run"),
    list(curve(), from(curve(), iter = 10), NULL),
    list(curve(iter = 80), from(curve(), iter = 10), "longer run: iter 80"),
    list(curve(), from(curve(data = other), iter = 10), "other data"),
    list(curve(), from(curve(scale = FALSE), iter = 10),
      "another run"
    ),
    list(rows(), rows(particles = 50), NULL),
    list(rows(), rows(particles = 20), "longer run: particles 30"),
    list(rows(replicates = 2), rows(), "particles 60, replicates 2"),
    list(rows(), from(rows(), n_moves = 2), NULL),
    list(rows(), from(rows(data = other), n_moves = 2), "other data"),
    list(rows(), from(rows(), newdata = sim_sinc(3, seed = 2)), NULL),
    list(rows(), from(rows(data = other), newdata = line), "other data"),
    list(labels, from(labels, newdata = moons[21:30, ]), NULL),
    list(labels, from(function(file) labels(file, moons[2:21, ]),
      newdata = moons[22:30, ]
    ), "other data"),
    list(walk(), from(walk(), data = c(0.3, 1.1, 2)), NULL),
    list(walk(), from(walk(y = 1:2), data = 1:3), "other data"),
    list(walk(), from(walk(mean = 1), particles = 50), "another run"),
    list(walk(40), from(walk(), particles = 30), "particles 40"),
    list(walk(), labels, "another run")
  )
  for (i in seq_along(cases)) {
    file <- new_file()
    quiet(cases[[i]][[1]](file))
    before <- tools::md5sum(file)
    why <- cases[[i]][[3]]
    if (is.null(why)) {
      fit <- quiet(cases[[i]][[2]](file))
      expect_identical(read_checkpoint(file)$runs, fit$runs, info = i)
    } else {
      error <- expect_error(quiet(cases[[i]][[2]](file)),
        class = "kb_error_checkpoint_exists", info = i
      )
      expect_match(gsub("\\s+", " ", conditionMessage(error)), why, info = i)
      expect_identical(tools::md5sum(file), before, info = i)
    }
  }
})

# Reading ---------------------------------------------------------------------

expect_refused <- function(file, class = "kb_error_checkpoint") {
  error <- expect_error(read_checkpoint(file), class = class)
  expect_names_file(error, file)
}

test_that("a truncated checkpoint is refused, at any length", {
  file <- new_file()
  checkpointed(file, rows = 5)
  bytes <- readBin(file, "raw", file.size(file))
  n <- length(bytes)
  for (kept in unique(c(0:15, round(seq(31, n - 1, length.out = 15)), n - 1))) {
    writeBin(bytes[seq_len(kept)], file)
    expect_refused(file)
  }
  writeBin(bytes, file)
  expect_s3_class(read_checkpoint(file), "kb_srvm")
})

test_that("files that are not checkpoints are refused", {
  file <- new_file()
  for (object in list(1:3, NULL, mtcars, structure(list(), class = "lm"))) {
    saveRDS(object, file)
    expect_refused(file)
  }
  writeLines("a text {with} braces", file)
  expect_refused(file)
  x <- 1
  save(x, file = file)
  expect_refused(file)
  expect_refused(dirname(file))
})

test_that("a missing file is refused", {
  expect_refused(file.path(local_folder(), "no such {file}.rds"))
  for (file in list(NULL, 1, NA_character_, c("a", "b"), character(), mtcars)) {
    expect_error(read_checkpoint(file), class = "kb_error_checkpoint")
  }
})

test_that("a fit of another version is refused, with its file's name", {
  file <- new_file()
  fit <- checkpointed(file)
  for (version in list(fit_version + 1L, 0L, "x", NULL)) {
    fit["version"] <- list(version)
    saveRDS(fit, file)
    expect_refused(file, "kb_error_version")
    expect_error(update(fit), class = "kb_error_version")
  }
})

test_that("compressed copies of a checkpoint can be read too", {
  file <- new_file()
  fit <- checkpointed(file)
  saveRDS(read_checkpoint(file), file, compress = "xz")
  expect_same_fit(read_checkpoint(file), fit)
})

# kill -9 ---------------------------------------------------------------------

#' Fit in a new process, kill it half way, and examine what is left
#'
#' If a run ends before the signal, it is repeated, at most twice.
kill_half_way <- function(file, replicates, plan = NULL, attempts = 3) {
  process <- in_process(
    function(control, start_workers, plan) {
      library(kernelbayes)
      start_workers(plan)
      srvm(y ~ x, sim_sinc(400, seed = 1),
        kernel = kernel_gaussian(), control = control, seed = 1
      )
    },
    long_control(
      replicates = replicates, checkpoint = file, checkpoint_every = 0.05
    ),
    start_workers, plan,
    background = TRUE
  )
  withr::defer(process$kill_tree())
  wait_until(half_way(file), process)
  process$kill_tree()
  process$wait()
  fit <- read_checkpoint(file)
  if (fit$status == "complete" && attempts > 1) {
    unlink(file)
    return(kill_half_way(file, replicates, plan, attempts - 1))
  }
  fit
}

test_that("a pipe is not a checkpoint, and nothing waits for it", {
  skip_on_os("windows")
  file <- new_file()
  system2("mkfifo", shQuote(file))
  skip_if_not(file.exists(file), "no pipes")
  expect_error(read_checkpoint(file), class = "kb_error_checkpoint")
  expect_error(
    srvm(y ~ x, sim_sinc(10, seed = 1),
      kernel = kernel_gaussian(1), seed = 1,
      control = smc_control(particles = 5, checkpoint = file)
    ),
    class = "kb_error_checkpoint_exists"
  )
})

test_that("damaged runs in a checkpoint are refused with a class", {
  fit <- function(file, ...) {
    suppressWarnings(bark(y ~ x, sim_sinc(12, seed = 1),
      control = mcmc_control(
        chains = 2, warmup = 4, iter = 8, checkpoint = file, ...
      ), seed = 1
    ))
  }
  file <- new_file()
  whole <- fit(file)
  for (runs in list(
    NULL, list(), "text", list("text", NULL), list(1, 2), 1:2, list(list()),
    list(list(time = "a")), list(list(time = NA), NULL), whole$runs[[1]],
    list(list(time = 1e9)), list(list(time = 1:3)), function(x) x
  )) {
    spoilt <- whole
    spoilt["runs"] <- list(runs)
    saveRDS(spoilt, file)
    expect_error(read_checkpoint(file), class = "kb_error_fit")
    expect_error(fit(file), class = "kb_error_checkpoint_exists")
  }
})

test_that("kill -9 loses nothing since the last checkpoint", {
  skip_without_processes()
  file <- new_file()
  fit <- kill_half_way(file, 1)
  expect_identical(fit$status, "interrupted")
  expect_true(all(is.finite(predict(fit))))
  whole <- update(fit, progress = FALSE)
  expect_same_fit(whole, long_fit())
  expect_same_fit(read_checkpoint(file), whole)
})

test_on_each("kill -9 loses nothing of workers", function(backend) {
  skip_without_workers(backend)
  file <- new_file()
  fit <- kill_half_way(file, 2, plan = worker_kinds[[backend]])
  expect_true(all(vapply(fit$runs, state_time, 0L) > 0))
  expect_same_fit(update(fit, progress = FALSE), long_fit(2))
})
