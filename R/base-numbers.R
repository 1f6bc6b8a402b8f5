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
