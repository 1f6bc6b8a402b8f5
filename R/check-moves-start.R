# check_moves() of problems whose states cannot be listed: is gamma_0 the
# density of the draws of initial()? Where states vary continuously, the share of
# draws in an ellipsoid is compared with the integral of gamma_0 over it.

check_first_draws <- function(problem, states) {
  groups <- continuous_groups(states)
  half <- seq_len(particle_count(states) %/% 2)
  found <- lapply(groups, function(group) {
    tryCatch(
      suppressWarnings(check_group(problem, states, group, half)),
      # The user's function fails at other states than those drawn.
      kb_error_user_function = function(error) NULL
    )
  })
  found <- do.call(rbind, found)
  if (is.null(found)) {
    return(NULL)
  }
  list(finding("(target)", "initial", 0L, found$is, found$should_be, found$key,
    found$p,
    error = abs(found$is - found$should_be)
  ))
}

#' The groups with most draws: equal in the number of coordinates and in their
#' discrete values
#' @return List of `at`, which states, and `x`, their continuous coordinates.
#' @noRd
continuous_groups <- function(states, most = 3) {
  x <- state_coordinates(states)
  if (is.null(x)) {
    return(NULL)
  }
  groups <- split(seq_along(x), lengths(x))
  groups <- unlist(lapply(groups, function(at) {
    split_discrete(at, do.call(rbind, x[at]))
  }), recursive = FALSE)
  sizes <- vapply(groups, function(group) length(group$at), 0L)
  unname(groups[order(-sizes)][seq_len(min(most, length(groups)))])
}

split_discrete <- function(at, x) {
  if (is.null(x)) x <- matrix(0, length(at), 0)
  labels <- matrix(apply(x, 2, discrete_labels), nrow(x))
  lapply(split(seq_along(at), particle_keys(labels)), function(i) {
    list(
      at = at[i], x = x[i, , drop = FALSE],
      vary = which(labels[i[[1]], ] == "*")
    )
  })
}

# Values of a coordinate that has few or whole ones, or that many draws share;
# "*" for others
discrete_labels <- function(v) {
  shared <- tabulate(match(v, v), length(v))[match(v, v)]
  few <- length(unique(v)) <= 1 + length(v) / 10 || all(v == round(v))
  ifelse(few | shared > max(2, length(v) / 100), as.character(v), "*")
}

# The numbers of each state, or NULL if it has others than numbers
state_coordinates <- function(states) {
  if (is.data.frame(states)) {
    if (!all(vapply(states, is.numeric, TRUE))) {
      return(NULL)
    }
    states <- as.matrix(states)
  }
  if (is.matrix(states)) {
    if (!is.numeric(states)) {
      return(NULL)
    }
    return(lapply(seq_len(nrow(states)), function(i) unname(states[i, ])))
  }
  flat <- lapply(states, unlist)
  numbers <- vapply(flat, function(s) is.null(s) || is.numeric(s), TRUE)
  if (all(numbers)) flat
}

# A state like a given one, with other coordinates
with_coordinates <- function(states, like, x) {
  if (has_rows(states)) {
    out <- particle_subset(states, rep(like, nrow(x)))
    out[] <- if (is.data.frame(out)) as.data.frame(x) else x
    return(out)
  }
  if (is.list(states)) {
    return(lapply(seq_len(nrow(x)), function(i) {
      utils::relist(x[i, ], states[[like]])
    }))
  }
  drop(x)
}

#' One group: the share of the draws of the second half of the particles in a
#' region, the integral of gamma_0 over it, and the p-value of their difference
#' @param half The first half, which defines the region.
#' @noRd
check_group <- function(problem, states, group, half) {
  n <- particle_count(states)
  later <- setdiff(seq_len(n), half)
  first <- group$at %in% half
  log_density <- function(states, t = 0) {
    td_log_density(problem, states, t)
  }
  key <- paste0("dimension ", ncol(group$x))
  if (length(group$vary) == 0) {
    at <- particle_subset(states, group$at[[1]])
    prob <- exp(log_density(at))
    count <- sum(!first)
    return(data.frame(
      is = count / length(later), should_be = prob,
      key = shorten(particle_keys(at)),
      p = two_sided(count, length(later), min(prob, 1))
    ))
  }
  x <- group$x[, group$vary, drop = FALSE]
  if (sum(first) < 20 * length(group$vary)) {
    return(NULL)
  }
  region <- ellipsoid(x[first, , drop = FALSE])
  inside <- sum(region$holds(x[!first, , drop = FALSE]))
  points <- group$x[rep(1, n), , drop = FALSE]
  points[, group$vary] <- region$draw(n)
  values <- region$volume *
    exp(log_density(with_coordinates(states, group$at[[1]], points)))
  share <- inside / length(later)
  variance <- stats::var(values) / n + share * (1 - share) / length(later)
  data.frame(
    is = share, should_be = mean(values), key = key,
    p = 2 * stats::pnorm(-abs(share - mean(values)) / sqrt(variance))
  )
}

two_sided <- function(count, n, prob) {
  min(1, 2 * min(
    stats::pbinom(count, n, prob),
    stats::pbinom(count - 1, n, prob, lower.tail = FALSE)
  ))
}

# The ellipsoid of the normal distribution with the mean and covariance of the
# rows of x, which holds half of them
ellipsoid <- function(x) {
  d <- ncol(x)
  centre <- colMeans(x)
  root <- chol(stats::cov(x) + 1e-12 * diag(diag(stats::cov(x)), d))
  distance <- function(x) {
    colSums(backsolve(root, t(x) - centre, transpose = TRUE)^2)
  }
  radius <- sqrt(stats::median(distance(x)))
  list(
    holds = function(x) distance(x) <= radius^2,
    draw = function(n) {
      z <- matrix(stats::rnorm(n * d), n)
      z <- z / sqrt(rowSums(z^2)) * radius * stats::runif(n)^(1 / d)
      sweep(z %*% root, 2, centre, `+`)
    },
    volume = exp(d / 2 * log(pi) - lgamma(d / 2 + 1) + d * log(radius) +
      sum(log(diag(root))))
  )
}
