# Sums and means of logarithms, errors and other small numbers.

log_sum_exp <- function(x) {
  top <- max(x)
  if (is.finite(top)) top + log(sum(exp(x - top))) else top
}

# log of the row sums of exp(x), for finite x
log_row_sums <- function(x) {
  top <- x[cbind(seq_len(nrow(x)), max.col(x, "first"))]
  top + log(rowSums(exp(x - top)))
}

log_mean_exp <- function(x) max(x) + log(mean(exp(x - max(x))))

# An unbiased estimate of a variance may be negative, and is then useless
standard_error <- function(variance) {
  if (is.na(variance) || variance < 0) NA_real_ else sqrt(variance)
}

root_mean_square <- function(y, copies) {
  out <- sqrt(copy_means(cbind(y^2), copies))
  if (out > 0) out else 1
}

# Which points are equal. Numbers that are computed twice, by poly() on all rows
# and on new ones, or read from a text, differ by rounding: two numbers of a
# column are equal if they are closer than 1e-9 of its range, which no kernel
# distinguishes, or than the rounding of their size.

#' Equal numbers of each column by equal integers, in their order
#' @param to The points whose columns' ranges count.
#' @noRd
point_codes <- function(x, to = x) {
  for (j in seq_len(ncol(x))) {
    ends <- range(to[, j])
    least <- 1e-9 * (ends[[2]] - ends[[1]]) + 4e-16 * max(abs(ends))
    order <- order(x[, j])
    x[order, j] <- cumsum(c(0, diff(x[order, j]) > least))
  }
  x
}

#' Rows that are equal points
#' @param ... Passed on to `point_codes()`.
#' @return `first`: a row of each kind; `kind`: that of each row.
#' @noRd
distinct_rows <- function(x, ...) {
  n <- nrow(x)
  if (n == 0) {
    return(list(first = integer(), kind = integer()))
  }
  x <- point_codes(x, ...)
  order <- seq_len(n)
  if (ncol(x) > 0) {
    order <- do.call(base::order, lapply(seq_len(ncol(x)), function(j) x[, j]))
  }
  sorted <- x[order, , drop = FALSE]
  new <- c(TRUE, rowSums(
    sorted[-1, , drop = FALSE] != sorted[-n, , drop = FALSE]
  ) > 0)
  kind <- integer(n)
  kind[order] <- cumsum(new)
  first <- match(seq_len(max(kind)), kind)
  list(first = first, kind = kind)
}

# Which row of `to` each row of `x` is, or NA
match_points <- function(x, to) {
  known <- seq_len(nrow(to))
  if (length(known) == 0) {
    return(rep(NA_integer_, nrow(x)))
  }
  kind <- distinct_rows(rbind(to, x), to)$kind
  match(kind[-known], kind[known])
}

# Equal points as equal numbers, those of the first
equal_points <- function(x) {
  rows <- distinct_rows(x)
  x[rows$first[rows$kind], , drop = FALSE]
}

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
