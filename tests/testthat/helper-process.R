# Compares fits, and starts, interrupts and kills R processes.

#' A fit without the parts that may differ between equal runs: the arguments,
#' the rows, seconds, and settings that do not affect the result
plain_fit <- function(fit) {
  fit[c("call", "request", "seconds", "seal")] <- NULL
  fit$settings$seal <- NULL
  fit$mould[c("n_rows", "omitted")] <- NULL
  fit$control[c("threads", "checkpoint", "checkpoint_every", "time_limit")] <-
    NULL
  fit$runs <- lapply(fit$runs, function(run) {
    run[setdiff(names(run), c("seconds", "shared_seconds"))]
  })
  fit
}

#' Compared bit by bit
expect_same_fit <- function(fit, wanted) {
  testthat::expect_identical(plain_fit(fit), plain_fit(wanted))
}

#' Fits with few particles, or with printed weights, warn; these tests are not
#' about that
few_particles <- function(expr) {
  muffle <- function(w) invokeRestart("muffleWarning")
  withCallingHandlers(expr,
    kb_warning_low_ess = muffle, kb_warning_inexact = muffle,
    kb_warning_no_moves = muffle
  )
}

#' A run of half a second or more, to be cut in the middle
long_data <- function(n = 400) sim_sinc(n, seed = 1)

long_control <- function(..., particles = 120) {
  smc_control(particles = particles, n_moves = 10, ...)
}

#' The result of the same run without interruption; fitted once
long_fit <- local({
  fits <- list()
  function(replicates = 1) {
    key <- as.character(replicates)
    if (is.null(fits[[key]])) {
      fits[[key]] <<- srvm(y ~ x, long_data(),
        kernel = kernel_gaussian(),
        control = long_control(replicates = replicates), seed = 1,
        progress = FALSE
      )
    }
    fits[[key]]
  }
})

#' The backends that can be tested here
backends_here <- function() {
  Filter(
    function(name) requireNamespace(name, quietly = TRUE), c("mirai", "future")
  )
}

#' A test on each backend
test_on_each <- function(what, test) {
  for (backend in backends_here()) {
    testthat::test_that(paste0(what, " (", backend, ")"), {
      test(backend)
    })
  }
}

#' Use two workers of a backend until the caller returns
local_workers <- function(backend = "future", frame = parent.frame()) {
  skip_without_workers(backend)
  switch(backend,
    mirai = local_daemons(2, frame), future = local_cluster(frame)
  )
}

local_daemons <- function(n, frame = parent.frame()) {
  mirai <- asNamespace("mirai")
  withr::with_envvar(
    c(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)),
    mirai$daemons(n)
  )
  withr::defer(mirai$daemons(0), frame)
  wait_until(function() mirai$status()$connections == n)
}

#' One cluster serves all tests of a session: starting it takes a second.
local_cluster <- local({
  cluster <- NULL
  function(frame = parent.frame()) {
    if (is.null(cluster)) {
      cluster <<- parallel::makePSOCKcluster(2)
      # .libPaths itself would carry its own list of libraries along.
      set <- function(paths) .libPaths(paths)
      environment(set) <- globalenv()
      parallel::clusterCall(cluster, set, .libPaths())
      withr::defer(
        {
          parallel::stopCluster(cluster)
          cluster <<- NULL
        },
        testthat::teardown_env()
      )
    }
    old <- future::plan(future::cluster, workers = cluster)
    withr::defer(future::plan(old), envir = frame)
  }
})

#' Use two workers, one of which dies on its first piece of work
local_lethal_worker <- function(backend = "future", frame = parent.frame()) {
  local_workers(backend, frame)
  arm <- function() {
    home <- loadNamespace("kernelbayes")
    die <- function(...) tools::pskill(Sys.getpid(), tools::SIGKILL)
    work <- c(
      "worker_slice", "score_fold", "tune_cell", "calibrate_block",
      "chunk_group"
    )
    for (name in work) {
      get("unlockBinding", baseenv())(name, home)
      assign(name, die, home)
    }
  }
  environment(arm) <- globalenv()
  if (backend == "mirai") {
    # The other daemon is busy meanwhile.
    mirai <- asNamespace("mirai")
    busy <- mirai$mirai(Sys.sleep(1))
    mirai$mirai(arm(), arm = arm)[]
    mirai$call_mirai(busy)
    return(invisible())
  }
  cluster <- parallel::makePSOCKcluster(1)
  withr::defer(try(close(cluster[[1]]$con), silent = TRUE), frame)
  set <- function(paths) .libPaths(paths)
  environment(set) <- globalenv()
  parallel::clusterCall(cluster, set, .libPaths())
  parallel::clusterCall(cluster, arm)
  healthy <- environment(local_cluster)$cluster
  workers <- structure(c(cluster, healthy[1]), class = class(healthy))
  old <- future::plan(future::cluster, workers = workers)
  withr::defer(future::plan(old), envir = frame)
}

#' Skip unless the workers of a backend can do the work
#'
#' Under covr, future sends its own messages, which interfere.
skip_without_workers <- function(backend = "future") {
  skip_without_processes()
  testthat::skip_if_not_installed(backend)
  testthat::skip_on_covr()
}

#' Skip unless new R processes can load the package
skip_without_processes <- function() {
  testthat::skip_on_cran()
  testthat::skip_if_not_installed("callr")
  testthat::skip_if_not(
    file.exists(system.file("Meta", package = "kernelbayes")),
    "the package is not installed"
  )
}

#' Start two workers in this process; `kind` is "mirai", a plan of future or
#' NULL. It also runs in other processes.
start_workers <- function(kind) {
  if (identical(kind, "mirai")) {
    getExportedValue("mirai", "daemons")(0)
    getExportedValue("mirai", "daemons")(2)
  } else if (!is.null(kind)) {
    future::plan(kind, workers = 2)
  }
}
environment(start_workers) <- globalenv()

#' The kinds of workers of `start_workers()` for each backend
worker_kinds <- c(mirai = "mirai", future = "multisession")

#' Call `run(...)` in a new R process with this session's libraries
#' @param background TRUE returns the process, FALSE the value.
in_process <- function(run, ..., background = FALSE) {
  environment(run) <- globalenv()
  start <- if (background) callr::r_bg else callr::r
  start(run, list(...),
    libpath = .libPaths(), user_profile = FALSE, system_profile = FALSE
  )
}

#' Wait until something holds, or fail
wait_until <- function(holds, process = NULL, seconds = 120) {
  deadline <- Sys.time() + seconds
  while (!holds()) {
    if (!is.null(process) && !process$is_alive()) {
      process$get_result()
      stop("the process ended too early")
    }
    if (Sys.time() > deadline) stop("waited in vain")
    Sys.sleep(0.01)
  }
}

#' The value of a process that must end on its own
value_of <- function(process, seconds = 120) {
  process$wait(seconds * 1000)
  if (process$is_alive()) {
    process$kill()
    stop("the process did not end")
  }
  process$get_result()
}

#' Does a checkpoint show a run that has begun but not ended?
half_way <- function(file) {
  function() {
    if (!file.exists(file)) {
      return(FALSE)
    }
    fit <- read_checkpoint(file)
    fit$time > 0 && fit$status != "complete"
  }
}

#' An empty folder that is deleted with the caller
local_folder <- function(frame = parent.frame()) {
  withr::local_tempdir("kb-", .local_envir = frame)
}

#' Replace internal functions until the caller returns
local_mocked <- function(..., frame = parent.frame()) {
  force(frame)
  with <- list(...)
  home <- asNamespace("kernelbayes")
  for (name in names(with)) {
    local({
      name <- name
      old <- get(name, home)
      unlock <- get("unlockBinding", baseenv())
      unlock(name, home)
      assign(name, with[[name]], home)
      withr::defer({
        assign(name, old, home)
        lockBinding(name, home)
      }, envir = frame)
    })
  }
}

#' Let an internal function interrupt this process at its k-th call
local_interrupt_at <- function(name, k, frame = parent.frame()) {
  force(frame)
  work <- get(name, asNamespace("kernelbayes"))
  calls <- 0
  interrupted <- function(...) {
    calls <<- calls + 1
    if (calls == k) {
      tools::pskill(Sys.getpid(), tools::SIGINT)
      Sys.sleep(5)
    }
    work(...)
  }
  do.call(local_mocked, c(
    stats::setNames(list(interrupted), name), list(frame = frame)
  ))
}
