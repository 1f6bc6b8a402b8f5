# Chains of the core of kgs() on given features, and exact answers for them.

kgs_walkers <- c("circle", "hmc", "coordinate")

#' Labelled points as the core reads them
#' @param features Points x rank.
#' @param label From 0.
kgs_points <- function(features, label, point = seq_along(label),
                       classes = 2L) {
  list(
    features = features, point = as.integer(point),
    label = as.integer(label), classes = as.integer(classes)
  )
}

#' The rate as the core reads it; .5 included
kgs_known <- function(q) list(kind = "fixed", rate = q)

#' An engine of run_engine() without a fit around it
kgs_engine <- function(data, method, noise = kgs_known(0.1), iter = 1000,
                       warmup = 0, thin = 1, nugget = 0,
                       kept = ncol(data$features), start = NULL, seed = 1) {
  structure(
    list(
      config = list(
        method = method, noise = noise, nugget = nugget, kept = kept,
        seed = seed, warmup = warmup, iter = iter, thin = thin
      ),
      starts = list(start), data = data
    ),
    class = c("kb_engine_kgs", "kb_engine_chain", "kb_engine")
  )
}

#' A whole chain
#' @return List: `w` (draws x coordinates), `rates`, `wrong` (draws x classes),
#'   `flipped` (share of the draws, by datum), `state` (at the end).
kgs_chain <- function(data, method, ...) {
  engine <- kgs_engine(data, method, ...)
  handle <- engine_open(engine, 1L, NULL)
  engine_advance(engine, handle, engine$config$warmup + engine$config$iter)
  state <- engine_state(engine, handle)
  draws <- state$draws
  wrong <- matrix(draws$wrong, ncol = data$classes, byrow = TRUE)
  by_draw <- function(v) matrix(v, nrow(wrong), byrow = TRUE)
  list(
    w = by_draw(draws$w), rates = by_draw(draws$rates), wrong = wrong,
    flipped = draws$flipped / nrow(wrong), state = state
  )
}

#' Which labels are wrong at vectors w, from the definition
#' @param w Vectors x coordinates (function by function).
#' @return Vectors x data.
kgs_wrong <- function(data, w) {
  features <- data$features
  rank <- ncol(features)
  at <- function(c) {
    f <- tcrossprod(w[, (c - 1) * rank + seq_len(rank), drop = FALSE], features)
    f[, data$point, drop = FALSE]
  }
  if (data$classes == 2) {
    f <- at(1)
    sign <- rep(2 * data$label - 1, each = nrow(w))
    return(matrix(sign * f <= 0, nrow(w)))
  }
  f <- lapply(seq_len(data$classes), at)
  own <- f[[1]]
  best <- matrix(-Inf, nrow(own), ncol(own))
  for (c in seq_along(f)) {
    is_own <- data$label == c - 1
    own[, is_own] <- f[[c]][, is_own]
    best[, !is_own] <- pmax(best[, !is_own], f[[c]][, !is_own])
  }
  unname(own <= best)
}

#' Probabilities of patterns, from 1, of rows of zeros and ones
pattern_share <- function(wrong, weights = NULL) {
  m <- ncol(wrong)
  index <- factor(1 + wrong %*% 2^(seq_len(m) - 1), seq_len(2^m))
  if (is.null(weights)) weights <- rep(1, nrow(wrong))
  unname(c(tapply(weights, index, sum, default = 0)) / sum(weights))
}

all_patterns <- function(m) {
  as.matrix(expand.grid(rep(list(0:1), m))) == 1
}

share_distance <- function(p, q) sum(abs(p - q)) / 2

#' Posterior of patterns of wrong labels
#' @param prior Function of signs, 1 or -1: their probability.
#' @param log_likelihood Function of wrong labels (logical).
pattern_posterior <- function(sign, prior, log_likelihood) {
  wrong <- all_patterns(length(sign))
  p <- apply(wrong, 1, function(e) {
    prior(ifelse(e, -sign, sign)) * exp(log_likelihood(e))
  })
  p / sum(p)
}

known_rate <- function(q) {
  function(wrong) sum(wrong) * log(q) + sum(!wrong) * log(1 - q)
}

# Orthants -------------------------------------------------------------------

#' P(all z_i > 0) of up to four normal variables of correlation R
#'
#' Plackett: along R(t) = I + t (R - I) the probability changes by r_ij times
#' the density of (z_i, z_j) at 0 times the probability of the others given z_i
#' = z_j = 0, an arcsine.
orthant <- function(r) {
  r <- stats::cov2cor(r)
  m <- nrow(r)
  if (m == 1) {
    return(1 / 2)
  }
  arcsines <- sum(asin(r[upper.tri(r)]))
  if (m == 2) {
    return(1 / 4 + arcsines / (2 * pi))
  }
  if (m == 3) {
    return(1 / 8 + arcsines / (4 * pi))
  }
  stopifnot(m == 4)
  pairs <- utils::combn(4, 2)
  slope <- function(t) {
    at <- diag(4) + t * (r - diag(4))
    sum(apply(pairs, 2, function(ij) {
      given <- at[ij, ij]
      rest <- at[-ij, -ij] - at[-ij, ij] %*% solve(given, at[ij, -ij])
      r[ij[1], ij[2]] / (2 * pi * sqrt(det(given))) * orthant(rest)
    }))
  }
  1 / 16 + stats::integrate(Vectorize(slope), 0, 1, rel.tol = 1e-10)$value
}

#' The prior probability of signs of variables of covariance G
orthant_prior <- function(g) {
  function(sign) orthant(g * tcrossprod(sign))
}

# The circle, for rank 2 -----------------------------------------------------

#' Arcs of directions between the walls of points in the plane
#' @return List: `from`, `to`, and `wrong` (arcs x data).
plane_arcs <- function(data) {
  angle <- atan2(data$features[, 2], data$features[, 1]) + pi / 2
  angle <- angle[rowSums(data$features^2) > 0]
  at <- sort(unique(c(angle, angle + pi) %% (2 * pi)))
  to <- c(at[-1], at[[1]] + 2 * pi)
  middle <- (at + to) / 2
  list(
    from = at, to = to,
    wrong = kgs_wrong(data, cbind(cos(middle), sin(middle)))
  )
}

#' Which arc each direction lies in
arc_of <- function(arcs, w) {
  angle <- (atan2(w[, 2], w[, 1]) - arcs$from[[1]]) %% (2 * pi)
  findInterval(angle, arcs$from - arcs$from[[1]])
}

# Chains ---------------------------------------------------------------------

#' Mean of a chain minus a number in standard errors, by batches
batch_z <- function(x, value = 0, batches = 50) {
  n <- length(x) %/% batches
  means <- colMeans(matrix(x[seq_len(n * batches)], n))
  (mean(means) - value) / (stats::sd(means) / sqrt(batches))
}

#' The limit that |z| of `k` such numbers exceeds with probability 1e-4
batch_limit <- function(k, batches = 50) {
  stats::qt(1 - 1e-4 / (2 * k), batches - 1)
}

#' Do chains have these probabilities of patterns of wrong labels?
#'
#' Null: batch means of each pattern, 1e-4 over all patterns (Bonferroni) and
#' `tests` calls.
expect_patterns <- function(wrong, exact, tests = 1, label = NULL) {
  index <- c(wrong %*% 2^(seq_len(ncol(wrong)) - 1)) + 1
  # Batch means of very rare events are not normal.
  often <- which(exact > 0.005 & exact < 1)
  z <- vapply(often, function(k) batch_z(index == k, exact[[k]]), 0)
  z <- max(0, abs(z))
  testthat::expect_lt(z, batch_limit(length(often) * tests), label = label)
  testthat::expect_true(all(tabulate(index, length(exact))[exact == 0] == 0))
}
