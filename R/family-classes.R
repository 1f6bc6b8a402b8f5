# Two classes; that of a row is the second with probability Phi(f).

family_probit <- list(
  outcome = "factor", object = c(binomial = "probit"), title = ", probit",
  numbers = function(y, scaling, offset) class_signs(y),
  types = c("class", "prob", "response", "link", "draws", "log_score"),
  effects = c("response", "link"),
  expected = function(fit, f, pool, chosen) stats::pnorm(f),
  respond = function(fit, f, rows, pool, chosen) {
    matrix(as.integer(f + stats::rnorm(length(f)) > 0), nrow(f))
  },
  log_lik = function(fit, f, rows, pool, chosen) {
    signs <- class_signs(rep(rows$y, each = nrow(f)))
    stats::pnorm(signs * f, log.p = TRUE)
  },
  truncation = TRUE, rung_power = 4,
  check = function(mould, prior) {
    check_two_classes(mould$y, mould$outcome_name)
  }
)

# Numbers of successes, and two classes, with a logit link; successes with a
# probit link, too. Two classes with a probit link have a latent normal form:
# R/family-classes.R.

#' A family of successes, or of two classes
#' @param link The name of the link, and the end of the sampler's name.
#' @param inverse From f to the probability; with `log.p` to its logarithm.
#' @param counted The responses as a list of `y`, successes, and `trials`.
#' @param ... Other elements of the row.
#' @noRd
family_of_trials <- function(link, inverse, counted, ...) {
  list(
    ...,
    link_label = if (link == "logit") "log odds of" else "probit of",
    sampler = paste0("binomial_", link), parameters = character(),
    own_scales = "pooled", weights = "copies",
    numbers = function(y, scaling, offset) counted(y),
    effects = c("response", "link"),
    expected = function(fit, f, pool, chosen) inverse(f),
    respond = function(fit, f, rows, pool, chosen) {
      none <- is.na(f)
      trials <- rep(counted(rows$y)$trials, each = nrow(f))
      # Of two classes; new rows come without labels.
      if (is.null(rows$y)) trials <- 1
      p <- as.vector(inverse(replace(f, none, 0)))
      out <- stats::rbinom(length(f), ifelse(none, 1, trials), p)
      replace(matrix(out, nrow(f)), none, NA)
    },
    # Logarithms of both probabilities: 1 - p would lose digits.
    log_lik = function(fit, f, rows, pool, chosen) {
      of <- lapply(counted(rows$y), rep, each = nrow(f))
      yes <- inverse(f, log.p = TRUE)
      no <- inverse(-f, log.p = TRUE)
      failures <- of$trials - of$y
      out <- lchoose(of$trials, of$y) + ifelse(of$y > 0, of$y * yes, 0) +
        ifelse(failures > 0, failures * no, 0)
      matrix(out, nrow(f))
    },
    cdf = function(fit, f, rows, pool, chosen, y) {
      trials <- rep(counted(rows$y)$trials, each = nrow(f))
      y <- rep(y, each = nrow(f))
      matrix(stats::pbinom(y, trials, as.vector(inverse(f))), nrow(f))
    },
    quantile = function(fit, f, rows, pool, chosen, p) {
      trials <- rep(counted(rows$y)$trials, each = nrow(f))
      matrix(stats::qbinom(p, trials, as.vector(inverse(f))), nrow(f))
    },
    ends = function(y) {
      s <- counted(y)$y
      cbind(s - 1, s)
    },
    # Of a single trial
    variance = function(fit, f, pool, chosen) {
      p <- inverse(f)
      p * (1 - p)
    },
    shown = function(y) {
      of <- counted(y)
      of$y / of$trials
    },
    intercept = function(y, offset, weights) {
      of <- counted(y)
      p <- (sum(weights * of$y) + 0.5) / (sum(weights * of$trials) + 1)
      inverse_of(link)(p) - sum(weights * offset) / sum(weights)
    },
    truncation = FALSE
  )
}

inverse_of <- function(link) stats::make.link(link)$linkfun

class_counts <- function(y) {
  list(y = as.integer(y) - 1, trials = rep(1, length(y)))
}

trial_counts <- function(y) list(y = unname(y[, 1]), trials = rowSums(y))

family_logit <- family_of_trials("logit", stats::plogis, class_counts,
  outcome = "factor", object = c(binomial = "logit"), title = ", logit",
  types = c("class", "prob", "response", "link", "draws", "log_score"),
  warmup = 50L, check = function(mould, prior) {
    check_two_classes(mould$y, mould$outcome_name)
  }
)

trial_types <- c("response", "link", "draws", "log_score")

family_trials_logit <- family_of_trials("logit", stats::plogis, trial_counts,
  outcome = "trials", derived = "logit", title = ", binomial, logit",
  types = trial_types
)

family_trials_probit <- family_of_trials("probit", stats::pnorm, trial_counts,
  outcome = "trials", derived = "probit", title = ", binomial, probit",
  types = trial_types
)

# Ordered classes in bark fits: cut points, probabilities, the base of the
# evidence. The class of a row is that of its latent response f + N(0, 1) among
# the cut points.

family_ordered <- list(
  outcome = "ordered", title = ", probit of ordered classes",
  called = c("ordered classes" = "probit"),
  numbers = function(y, scaling, offset) as.double(as.integer(y)),
  types = c("class", "prob", "link", "draws", "log_score"),
  effects = "link",
  expected = function(fit, f, pool, chosen) ordered_epred(fit, f, pool, chosen),
  respond = function(fit, f, rows, pool, chosen) {
    ordered_draws(fit, f, pool, chosen)
  },
  log_lik = function(fit, f, rows, pool, chosen) {
    ordered_log_lik(fit, f, rows$y, pool, chosen)
  },
  truncation = FALSE, rung_start = 1e-10, check = function(mould, prior) NULL
)

# With case weights: a power of a probability has no latent normal form.
family_ordered_probit <- utils::modifyList(family_ordered, list(
  derived = "ordered", parameters = character(), own_scales = "pooled",
  weights = "copies",
  # The first cut point is 0.
  intercept = function(y, offset, weights) {
    first <- sum(weights[as.integer(y) == 1]) / sum(weights)
    -stats::qnorm(min(max(first, 0.02), 0.98)) -
      sum(weights * offset) / sum(weights)
  }
))

# An ordered factor from numbers or names of levels
ordered_class <- function(class, fit) {
  levels <- fit$mould$levels
  if (is.numeric(class)) class <- levels[class]
  factor(class, levels, ordered = TRUE)
}

# Cut points -------------------------------------------------------------------

# Names of the C - 1 cut points; none for other families
cut_names <- function(fit) {
  if (!is_ordered(fit)) {
    return(character())
  }
  levels <- fit$mould$levels
  paste0("cut[", levels[-length(levels)], "|", levels[-1], "]")
}

# Draws of the cut points, S x (C - 1)
bark_cuts <- function(fit, pool) {
  names <- cut_names(fit)
  matrix(pool$cuts, ncol = length(names), byrow = TRUE,
    dimnames = list(NULL, names)
  )
}

# Those that are free, as `chain_matrices()` has them
cut_chains <- function(draws, fit) {
  interleaved_chains(draws, "cuts", cut_names(fit))[-1]
}

cuts_line <- function(x, show) {
  cuts <- colMeans(bark_cuts(x, bark_pool(x)))
  line <- toString(paste(
    substring(names(cuts), 5, nchar(names(cuts)) - 1), vapply(cuts, show, "")
  ))
  paste0("  cut points:   ", shorten(line), "\n")
}

# Probabilities ----------------------------------------------------------------

# log(Phi(to) - Phi(from)) of vectors, in both tails
log_normal_interval <- function(from, to) {
  upper <- from > 0
  a <- ifelse(upper, -to, from)
  b <- ifelse(upper, -from, to)
  most <- stats::pnorm(b, log.p = TRUE)
  most + log(-expm1(stats::pnorm(a, log.p = TRUE) - most))
}

#' log probabilities of one class, one element per element of f
#' @param sd Standard deviation of the latent response given f, or of f plus
#'   noise.
#' @param cuts Matrix, one row per draw; `draw` is the row for each element.
#' @noRd
log_class_probability <- function(f, sd, cuts, draw, class) {
  edge <- cbind(-Inf, cuts, Inf)
  at <- cbind(as.vector(draw), as.vector(class))
  above <- at + rep(0:1, each = nrow(at))
  log_normal_interval(
    as.vector(edge[at] - f) / sd, as.vector(edge[above] - f) / sd
  )
}

# Posterior predictive probabilities, n x C: (B59)
ordered_probability <- function(fit, x, pool) {
  cuts <- bark_cuts(fit, pool)
  blocks <- in_blocks(fit, x, pool, function(rows, moments) {
    sd <- sqrt(1 + moments$variance)
    draw <- col(sd)
    p <- vapply(seq_len(ncol(cuts) + 1), function(k) {
      log_p <- log_class_probability(moments$mean, sd, cuts, draw, k)
      drop(matrix(exp(log_p), length(rows)) %*% pool$weights)
    }, numeric(length(rows)))
    matrix(p, length(rows))
  })
  out <- do.call(rbind, c(list(matrix(0, 0, ncol(cuts) + 1)), blocks))
  colnames(out) <- fit$mould$levels
  out
}

# Log predictive probability of the classes y
ordered_log_score <- function(fit, x, y, pool) {
  cuts <- bark_cuts(fit, pool)
  y <- as.integer(y)
  blocks <- in_blocks(fit, x, pool, function(rows, moments) {
    log_p <- log_class_probability(
      moments$mean, sqrt(1 + moments$variance), cuts, col(moments$mean),
      y[rows][row(moments$mean)]
    )
    log_p <- matrix(log_p, length(rows))
    most <- apply(log_p, 1, max)
    most + log(drop(exp(log_p - most) %*% pool$weights))
  })
  as.double(unlist(blocks))
}

#' Limits of the probabilities: quantiles over draws of f and the cut points
#' @return Array n x C x 3.
#' @noRd
ordered_bands <- function(fit, x, pool, p, level) {
  f <- posterior_draws(fit, x, pool, seq_along(pool$m))
  each <- ordered_epred(fit, f, pool, seq_along(pool$m))
  q <- apply(each, 2:3, stats::quantile, interval_ends(level), names = FALSE)
  out <- array(c(p, q[1, , ], q[2, , ]), c(dim(p), 3))
  dimnames(out) <- list(NULL, colnames(p), c("fit", "lwr", "upr"))
  out
}

# Draws ------------------------------------------------------------------------

#' Probabilities given draws of f, S x n x C
#' @param f S x n, for the draws `chosen`.
#' @noRd
ordered_epred <- function(fit, f, pool, chosen) {
  cuts <- bark_cuts(fit, pool)[chosen, , drop = FALSE]
  p <- vapply(seq_len(ncol(cuts) + 1), function(k) {
    exp(log_class_probability(f, 1, cuts, row(f), k))
  }, numeric(length(f)))
  array(p, c(dim(f), ncol(cuts) + 1), list(NULL, NULL, fit$mould$levels))
}

# Numbers of classes drawn given f, S x n, from R's generator
ordered_draws <- function(fit, f, pool, chosen) {
  cuts <- bark_cuts(fit, pool)[chosen, , drop = FALSE]
  z <- f + stats::rnorm(length(f))
  out <- 1L + 0L * is.na(z)
  for (k in seq_len(ncol(cuts))) out <- out + (z > cuts[row(z), k])
  matrix(out, nrow(f))
}

ordered_log_lik <- function(fit, f, y, pool, chosen) {
  cuts <- bark_cuts(fit, pool)[chosen, , drop = FALSE]
  log_p <- log_class_probability(f, 1, cuts, row(f), as.integer(y)[col(f)])
  matrix(log_p, nrow(f))
}

refuse_ordered_bands <- function(level_given, interval) {
  given <- c("level", "interval")[c(level_given, !is.null(interval))]
  if (length(given) > 0) {
    kb_abort(c(
      "{.arg {given}} would have no effect for ordered classes.",
      i = "{.code predict(type = \"prob\", interval = \"credible\")} has the
           limits of their probabilities."
    ), "argument", argument = given[[1]])
  }
}

# Evidence ---------------------------------------------------------------------

# log of the probability of classes with these counts where f is 0, over the
# prior of the cut points
#
# From the last point down, (B63): with L_k(c) the log probability of the
# classes after the k-th given c_k = c, L_(k-1)(c) is an integral over the next
# gap of exp(n_k log(Phi(c') - Phi(c)) + L_k(c')) at c' = c + gap. Empty
# classes at the end leave L = 0.
ordered_base <- function(counts) {
  last <- max(which(counts > 0))
  after <- if (last < length(counts)) {
    function(c) 0 * c
  } else {
    function(c) counts[[last]] * upper_log(c)
  }
  from <- min(last, length(counts) - 1)
  for (k in rev(seq_len(from))[-from]) {
    integral <- before_gap(counts[[k]], after)
    after <- if (k == 2) integral else tabled(integral, sum(counts[k:last]))
  }
  power_log(counts[[1]], log(0.5)) + after(0)
}

# L_(k-1) from L_k
before_gap <- function(n, after) {
  force(after)
  function(c) {
    log_integral(function(g) {
      to <- c + exp(g)
      stats::dnorm(g, log = TRUE) + after(to) +
        power_log(n, log_normal_interval(rep(c, length(to)), to))
    }, c(-30, 12), 801)
  }
}

upper_log <- function(c) stats::pnorm(c, lower.tail = FALSE, log.p = TRUE)

# n x, 0 for n = 0 whatever x is
power_log <- function(n, x) if (n == 0) 0 * seq_along(x) else n * x

# L(c), for n rows beyond c, by a spline in log(1 + c); beyond 15, where it is
# below -110 and negligible, approximated by Mills' ratio
tabled <- function(f, n, points = 300, most = 15) {
  at <- seq(0, log1p(most), length.out = points)
  smooth <- stats::splinefun(at, vapply(expm1(at), f, 0))
  function(c) {
    smooth(log1p(pmin(c, most))) - n * (pmax(c, most)^2 - most^2) / 2
  }
}
