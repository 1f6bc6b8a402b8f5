# The sums over the data that a run's particles share take long to compute from
# a state: O(t^3) at row t where moves may propose any candidate. So the last of
# them are kept from one update() to the next, in this process. They are not
# part of a fit; a run that finds none computes them with bitwise identical
# results.

pools <- new.env(parent = emptyenv())
pools$held <- list()

# The key of the shared sums; NULL where there are none, and for a state of few
# rows, for which they are computed quickly
pool_key <- function(engine, index, state, fewest = 100) {
  done <- state_time(state) - engine$config$past
  if (done < fewest || learns_scales(engine$config)) {
    return(NULL)
  }
  rows <- seq_len(done)
  list(
    state = state[c("time", "k", "sets", "pool")],
    config = run_config(engine$config, index),
    x = engine$x[rows, , drop = FALSE], y = engine$y[rows, , drop = FALSE]
  )
}

#' @return The pool, a pointer, or NULL.
#' @noRd
held_pool <- function(key) {
  for (i in seq_along(pools$held)) {
    entry <- pools$held[[i]]
    if (!is.null(key) && identical(entry$key, key)) {
      # Used pools are dropped last.
      pools$held <- c(pools$held[i], pools$held[-i])
      return(entry$pool)
    }
  }
  NULL
}

#' Keep the pool of a run, the latest first, as far as memory allows
#' @param at_end Is the run at its end? Then its pool is taken.
#' @noRd
hold_pool <- function(key, handle, at_end = FALSE) {
  limit <- getOption("kernelbayes.held_memory", 2e8)
  bytes <- srvm_pool_bytes_cpp(handle)
  if (is.null(key) || bytes > limit) {
    return(invisible())
  }
  keep_pools(limit - bytes, key)
  # Without memory for it the run continues without the pool.
  pool <- tryCatch(srvm_pool_cpp(handle, at_end), error = function(error) NULL)
  if (!is.null(pool)) {
    entry <- list(key = key, pool = pool, bytes = bytes)
    pools$held <- c(list(entry), pools$held)
  }
}

# Keep at most this much, and only the last but one pool of a run, to which its
# last will be added; R's garbage collector does not see their size
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
