# R's generator: used for one number per fit (the seed of the C++ streams) and
# for the simulators. Nothing else in the package draws from it.

# Evaluate an expression under a seed, leaving the caller's generator alone
#
# The kind of generator is pinned, so that a seed gives the same numbers
# regardless of the session's [RNGkind()]. With `seed = NULL` the expression
# draws from the session's generator as usual.
with_local_seed <- function(seed, expr) {
  if (is.null(seed)) {
    return(memory_value(expr))
  }
  seed <- check_count(seed, arg = "seed")
  state <- random_state()
  on.exit(restore_random_state(state))
  set.seed(seed,
    kind = "Mersenne-Twister", normal.kind = "Inversion",
    sample.kind = "Rejection"
  )
  memory_value(expr)
}

random_state <- function() {
  list(
    kind = RNGkind(),
    seed = get0(".Random.seed", globalenv(), inherits = FALSE)
  )
}

restore_random_state <- function(state) {
  # RNGkind() warns about sample.kind = "Rounding", which was the caller's
  # choice; it also draws a new seed, so the state itself comes last.
  suppressWarnings(do.call(RNGkind, as.list(state$kind)))
  if (is.null(state$seed)) {
    rm(".Random.seed", envir = globalenv())
  } else {
    assign(
      ".Random.seed", state$seed, # nolint: object_name_linter.
      envir = globalenv()
    )
  }
}

# The seed that a fit stores: the one given, or one drawn from R's generator
draw_seed <- function(seed = NULL) {
  if (is.null(seed)) {
    return(sample.int(.Machine$integer.max, 1))
  }
  check_count(seed, arg = "seed")
}

# The instruction set of the sampler's loops over rows.

simd_sets <- c("avx512", "avx2", "portable")

# The widest set of this processor that `options(kernelbayes.simd = )` allows
choose_simd <- function() {
  widest <- getOption("kernelbayes.simd", simd_sets[[1]])
  simd_cpp(check_choice(widest, simd_sets, "kernelbayes.simd"))
}
