# Which residuals count at an observation: those of pairs nearby, (K43), chosen
# by the energy score of left-out pairs, (K44).

# The effective number of pairs at an observation is at least this.
least_local <- 20

#' Weights of pairs at squared distances d2, (K43)
#' @param w Weights of the prior.
#' @noRd
local_weights <- function(d2, w, width) {
  if (!is.finite(width)) {
    return(w / sum(w))
  }
  least <- min(least_local, 0.5 * sum(w)^2 / sum(w^2))
  repeat {
    local <- log(w) - d2 / (2 * width^2)
    local <- exp(local - max(local))
    if (sum(local)^2 >= least * sum(local^2)) {
      return(local / sum(local))
    }
    width <- 1.3 * width
  }
}

# Squared distances of rows of z from a point, per column
distances_to <- function(z, at) {
  rowSums(sweep(z, 2, at)^2) / max(ncol(z), 1)
}

# What can be chosen, the simplest first: `varying` residuals are scaled by the
# variance at the observation; distances are those of predicted states, of
# predicted states and squares, or of observations.
locality_table <- function() {
  widths <- c(Inf, 1.6, 0.8, 0.4, 0.2, 0.1, 0.05)
  table <- expand.grid(
    varying = c(FALSE, TRUE), space = c("states", "moments", "observations"),
    width = widths, stringsAsFactors = FALSE
  )
  table[is.finite(table$width) | table$space == "states", ]
}

# Pairs whose scores are computed, pairs that they are predicted from, and draws
# of each prediction
scored_pairs <- 200
scored_from <- 2e4
scored_draws <- 64

#' Energy scores of all choices at left-out pairs, (K44)
#' @param model From `state_regression()`.
#' @param spaces Coordinates of the pairs in each space.
#' @param w Weights of the prior.
#' @param unit Of each state.
#' @return Matrix, pairs x choices.
#' @noRd
locality_scores <- function(model, spaces, w, table, unit) {
  n <- length(w)
  pool <- spread_over(n, min(n, scored_from))
  rows <- systematic_rows(w, min(n, scored_pairs))
  # Points are columns here, so that vectors are recycled along them.
  plain <- t(model$plain) / unit
  varying <- t(model$varying)
  sd <- model$scale * exp(t(model$log_variance$left_out) / 2) / unit
  spaces <- lapply(spaces, t)
  # Residuals that vary and those that do not share their weights.
  place <- paste(table$space, table$width)
  places <- which(!duplicated(place))
  near <- function(k, d2, prior) {
    local <- local_weights(d2[[table$space[[k]]]], prior, table$width[[k]])
    pool[systematic_rows(local, scored_draws)]
  }
  score <- function(k, i, chosen) {
    draws <- if (table$varying[[k]]) {
      varying[, chosen, drop = FALSE] * sd[, i]
    } else {
      plain[, chosen, drop = FALSE]
    }
    energy_score(draws - plain[, i])
  }
  t(vapply(rows, function(i) {
    d2 <- lapply(spaces, function(z) {
      colMeans((z[, pool, drop = FALSE] - z[, i])^2)
    })
    prior <- w[pool]
    prior[pool == i] <- 0
    chosen <- lapply(places, near, d2, prior)[match(place, place[places])]
    vapply(seq_len(nrow(table)), function(k) score(k, i, chosen[[k]]), 0)
  }, numeric(nrow(table))))
}

# E|X|^1/2 - E|X - X'|^1/2 / 2 of equally likely columns: the score of X at 0
#
# Of distances themselves, the score of separate modes hardly depends on how
# narrow each is.
energy_score <- function(x) {
  n <- ncol(x)
  mean(colSums(x^2)^0.25) - sum(sqrt(stats::dist(t(x)))) / n^2
}

# The simplest choice that is not worse than the best by more than a share of
# the standard error of the difference
simplest_choice <- function(scores, share = 0.5) {
  best <- which.min(colMeans(scores))
  behind <- scores - scores[, best]
  se <- apply(behind, 2, stats::sd) / sqrt(nrow(scores))
  which(colMeans(behind) <= share * se)[[1]]
}

# Rows with probabilities w, at even steps of their sums
systematic_rows <- function(w, n) {
  cumulative <- cumsum(w)
  cells_at((seq_len(n) - 0.5) / n * cumulative[[length(w)]], cumulative)
}
