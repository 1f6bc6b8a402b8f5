# Numbers known up to an interval: f plus noise, or their logarithms (accelerated
# failure times), with normal noise or that of Weibull's distribution, the log
# of an exponential variable.

#' A family of numbers that may be censored
#' @param normal Is the noise normal?
#' @param logs Are the logarithms of the responses f plus noise?
#' @param ... Other elements of the row.
#' @noRd
family_of_censored <- function(normal, logs, ...) {
  from <- if (logs) log else identity
  to <- if (logs) exp else identity
  shape <- if (normal) normal_noise else extreme_noise
  # Scales of the noise, element by element of f
  scale_of <- function(fit, f, pool, chosen) {
    rep(noise_draws(fit, pool, chosen), ncol(f))
  }
  standard <- function(fit, f, pool, chosen, y) {
    if (logs) y <- pmax(y, 0)
    (rep(from(y), each = nrow(f)) - f) / scale_of(fit, f, pool, chosen)
  }
  list(
    ...,
    link_label = if (logs) "log",
    outcome = "interval", noise = TRUE, parameters = character(), logs = logs,
    exponential = logs,
    own_scales = "pooled", weights = "copies",
    sampler = if (normal) "censored_normal" else "censored_extreme",
    located = function(y) {
      if (!logs) {
        return(middle_of(y))
      }
      y <- middle_of(pmax(y, 0))
      # Rows that are censored from time 0 on say nothing.
      from(replace(y, y == 0, min(y[y > 0])))
    },
    shown = function(y) ifelse(y[, 1] == y[, 2], y[, 1], NA),
    numbers = function(y, scaling, offset) {
      if (logs) y <- pmax(y, 0)
      z <- scaling_y(scaling, from(y) - offset)
      list(y = z[, 1], upper = z[, 2])
    },
    # What remains of the log likelihood in the units of the response
    log_units = function(y, scaling, weights) {
      known <- y[, 1] == y[, 2]
      sum(weights[known]) * log(scaling$y_scale) +
        if (logs) sum(weights[known] * log(y[known, 1])) else 0
    },
    types = c(
      "response", if (logs) "link", "quantile", "survival", "draws",
      "log_score"
    ),
    # f has a mean more often than its exponential.
    effects = c(if (logs) "link", "response"),
    expected = function(fit, f, pool, chosen) {
      to(f + scale_of(fit, f, pool, chosen) * shape$quantile(0.5))
    },
    respond = function(fit, f, rows, pool, chosen) {
      noise <- shape$draw(length(f))
      to(f + scale_of(fit, f, pool, chosen) * noise)
    },
    log_lik = function(fit, f, rows, pool, chosen) {
      e <- lapply(1:2, function(k) {
        standard(fit, f, pool, chosen, rows$y[, k])
      })
      known <- rep(rows$y[, 1] == rows$y[, 2], each = nrow(f))
      units <- log(scale_of(fit, f, pool, chosen))
      if (logs) {
        units <- units + rep(log(pmax(rows$y[, 1], 0)), each = nrow(f))
      }
      matrix(ifelse(known, shape$log_density(e[[1]]) - units,
        log_between(shape, e[[1]], e[[2]])
      ), nrow(f))
    },
    survival = function(fit, f, pool, chosen, y) {
      e <- standard(fit, f, pool, chosen, y)
      matrix(exp(shape$log_survival(e)), nrow(f))
    },
    cdf = function(fit, f, rows, pool, chosen, y) {
      matrix(-expm1(shape$log_survival(
        standard(fit, f, pool, chosen, y)
      )), nrow(f))
    },
    quantile = function(fit, f, rows, pool, chosen, p) {
      to(f + scale_of(fit, f, pool, chosen) * shape$quantile(p))
    },
    ends = identity, continuous = TRUE,
    intercept = function(y, offset, weights) 0,
    truncation = FALSE,
    check_values = if (logs) check_times_positive,
    check = function(mould, prior) {
      check_censored(mould$y, logs, mould$outcome_name)
    }
  )
}

normal_noise <- list(
  draw = stats::rnorm, quantile = stats::qnorm,
  log_density = function(e) stats::dnorm(e, log = TRUE),
  log_survival = function(e) {
    stats::pnorm(e, lower.tail = FALSE, log.p = TRUE)
  },
  log_below = function(e) stats::pnorm(e, log.p = TRUE)
)

extreme_noise <- list(
  draw = function(n) log(stats::rexp(n)),
  quantile = function(p) log(-log1p(-p)),
  log_density = function(e) e - exp(e),
  log_survival = function(e) -exp(e),
  log_below = function(e) ifelse(e < -30, e, log(-expm1(-exp(e))))
)

# log P(from < noise <= to), without loss of digits in either tail
log_between <- function(shape, from, to) {
  # The difference of two of -Inf is that of a probability of 0.
  less <- function(a, b) {
    out <- a + log(-expm1(b - a))
    ifelse(a == -Inf, -Inf, out)
  }
  upper <- less(shape$log_survival(from), shape$log_survival(to))
  lower <- less(shape$log_below(to), shape$log_below(from))
  ifelse(from > 0, upper, lower)
}

# The number itself where it is known; the finite limit, or the middle
middle_of <- function(y) {
  ifelse(is.infinite(y[, 1]), y[, 2], ifelse(is.infinite(y[, 2]), y[, 1],
    (y[, 1] + y[, 2]) / 2
  ))
}

check_censored <- function(y, logs, name) {
  for (k in 1:2) {
    if (all(is.infinite(y[, k]))) {
      kb_abort(c(
        "{.arg {name}} must not be censored in every row.",
        x = "All {nrow(y)} numbers are censored on the
             {c('left', 'right')[[k]]}."
      ), "outcome", argument = name)
    }
  }
  if (logs) check_times_positive(y, name)
}

# Time 0 may be the start of an interval.
check_times_positive <- function(y, name) {
  low <- which(y[, 2] <= 0 | (y[, 1] <= 0 & y[, 1] == y[, 2]))
  if (length(low) > 0) {
    kb_abort(c(
      "{.arg {name}} must be positive.",
      x = "Element {low[[1]]} is {format(y[low[[1]], 2])}.",
      i = "{.code family = gaussian()} takes censored numbers of any sign."
    ), "outcome", argument = name)
  }
}

family_weibull <- family_of_censored(FALSE, TRUE,
  title = ", Weibull", called = c(Weibull = "log")
)

family_lognormal <- family_of_censored(TRUE, TRUE,
  title = ", log-normal", called = c("log-normal" = "log")
)

# Limits of detection
family_censored <- family_of_censored(TRUE, FALSE,
  derived = "gaussian", title = ", censored"
)
