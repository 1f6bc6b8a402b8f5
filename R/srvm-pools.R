# The sums over the data that a run's particles share take long to compute from
# a state: O(t^3) at row t where moves may propose any candidate. So the last of
# them are held from one update() to the next, in this process: a fit has none
# of it, and a run that finds none computes them, to the same bits.

pools <- new.env(parent = emptyenv())
pools$held <- list()

# What the shared sums follow from; NULL for a state of few rows, from which
# they are computed at once
pool_key <- function(engine, index, state, fewest = 100) {
  done <- state_time(state) - engine$config$past
  if (done < fewest) {
    return(NULL)
  }
  rows <- seq_len(done)
  list(
    state = state[c("time", "k", "sets", "pool")],
    config = run_config(engine$config, index),
    x = engine$x[rows, , drop = FALSE], y = engine$y[rows]
  )
}

#' @return The pool, a pointer, or NULL.
#' @noRd
held_pool <- function(key) {
  for (i in seq_along(pools$held)) {
    entry <- pools$held[[i]]
    if (!is.null(key) && identical(entry$key, key)) {
      # What is used is the last to go.
      pools$held <- c(pools$held[i], pools$held[-i])
      return(entry$pool)
    }
  }
  NULL
}

#' Hold the pool of a run, the latest first, as far as the memory goes
#' @param at_end Is the run at its end? Then its pool is taken.
#' @noRd
hold_pool <- function(key, handle, at_end = FALSE) {
  limit <- getOption("kernelbayes.held_memory", 2e8)
  bytes <- srvm_pool_bytes_cpp(handle)
  if (is.null(key) || bytes > limit) {
    return(invisible())
  }
  keep_pools(limit - bytes, key)
  # Where there is no memory for it the run goes on without.
  pool <- tryCatch(srvm_pool_cpp(handle, at_end), error = function(error) NULL)
  if (!is.null(pool)) {
    entry <- list(key = key, pool = pool, bytes = bytes)
    pools$held <- c(list(entry), pools$held)
  }
}

# Hold no more than this, and of a run only the last but one, beside which its
# last will be; R's collector does not see how much there is
keep_pools <- function(limit, key) {
  run <- function(key) key$config[names(key$config) != "past"]
  own <- vapply(pools$held, function(entry) {
    identical(run(entry$key), run(key))
  }, NA)
  size <- vapply(pools$held, `[[`, 0, "bytes")
  stays <- cumsum(size) <= limit & (!own | cumsum(own) == 1)
  for (entry in pools$held[!stays]) srvm_free_pool_cpp(entry$pool)
  pools$held <- pools$held[stays]
}
