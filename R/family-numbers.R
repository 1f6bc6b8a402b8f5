# Numbers with normal noise, or Student's.

family_gaussian <- list(
  outcome = "numeric", object = c(gaussian = "identity"), title = "",
  numbers = function(y, scaling, offset) scaling_y(scaling, y - offset),
  types = c("response", "quantile", "draws", "log_score"),
  effects = "response",
  expected = function(fit, f, pool, chosen) f,
  respond = function(fit, f, rows, pool, chosen) {
    f + response_sd(fit, rows, pool, chosen) *
      standard_noise(length(f), chosen_df(fit, pool, chosen))
  },
  log_lik = function(fit, f, rows, pool, chosen) {
    log_noise_density(
      rep(rows$y, each = nrow(f)) - f, response_sd(fit, rows, pool, chosen),
      chosen_df(fit, pool, chosen)
    )
  },
  cdf = function(fit, f, rows, pool, chosen, y) {
    e <- (rep(y, each = nrow(f)) - f) / response_sd(fit, rows, pool, chosen)
    df <- chosen_df(fit, pool, chosen)
    if (has_student_noise(df)) stats::pt(e, df) else stats::pnorm(e)
  },
  ends = function(y) cbind(y, y),
  noise = TRUE, weights = "precision", truncation = TRUE, rung_power = 4
)

# The same with finite degrees of freedom: never stored
family_student <- list(
  outcome = "numeric", truncation = FALSE, rung_start = 1e-10
)

# Scales of the noise of responses, S x n
response_sd <- function(fit, rows, pool, chosen) {
  w <- rows$weights
  if (has_varying_noise(fit)) {
    x <- rows$x[rows$complete, , drop = FALSE]
    sd <- varying_sd(fit, x, pool, chosen, w[rows$complete])
    return(t(spread_rows(sd, rows$complete)))
  }
  if (is.null(w)) w <- rep(1, nrow(rows$x))
  outer(noise_draws(fit, pool, chosen), 1 / sqrt(w))
}

# Degrees of freedom of the noise of these draws; or one number
chosen_df <- function(fit, pool, chosen) {
  df <- noise_df(fit, pool)
  if (length(df) > 1) df[chosen] else df
}

# n draws of noise of scale 1
standard_noise <- function(n, df) {
  if (has_student_noise(df)) stats::rt(n, df) else stats::rnorm(n)
}

# Log density of noise of this scale
log_noise_density <- function(residual, scale, df) {
  if (has_student_noise(df)) {
    stats::dt(residual / scale, df, log = TRUE) - log(scale)
  } else {
    stats::dnorm(residual, 0, scale, log = TRUE)
  }
}

# Counts with a log link: Poisson, and negative binomial with a size that is
# learned. f has an intercept, whose prior is around the log of the mean rate.

#' A family of counts
#' @param title What `print()` adds; `parameters`: names of its parameters.
#' @param object,called The family object that stands for it, or NULL, and what
#'   it is called then.
#' @param draw,density,cdf,quantile,variance Functions of counts (their number, or
#'   a probability), means, and the size of each.
#' @param least The smallest sum of counts from which the intercept is learned.
#' @noRd
family_of_counts <- function(title, object, parameters, draw, density, cdf,
                             quantile, variance, called = NULL, least = 0.5) {
  # Means and sizes, element by element of f; R knows no counts of larger means
  with_size <- function(g) {
    function(fit, f, pool, chosen, y) {
      size <- if (length(parameters) > 0) pool$parameters[chosen]
      mean <- pmin(as.vector(exp(f)), 1e100)
      matrix(g(y, mean, rep(size, ncol(f))), nrow(f))
    }
  }
  list(
    outcome = "numeric", object = object, called = called, title = title,
    weights = "copies", own_scales = "pooled",
    link_label = "log mean", exponential = TRUE,
    parameters = parameters,
    numbers = function(y, scaling, offset) as.double(y),
    types = c("response", "link", "quantile", "draws", "log_score"),
    effects = c("response", "link"),
    expected = function(fit, f, pool, chosen) exp(f),
    # NA where f is, or where its mean is not a number
    respond = function(fit, f, rows, pool, chosen) {
      none <- !is.finite(exp(f))
      out <- with_size(draw)(fit, replace(f, none, 0), pool, chosen, length(f))
      replace(out, none, NA)
    },
    log_lik = function(fit, f, rows, pool, chosen) {
      with_size(density)(fit, f, pool, chosen, rep(rows$y, each = nrow(f)))
    },
    cdf = function(fit, f, rows, pool, chosen, y) {
      with_size(cdf)(fit, f, pool, chosen, rep(y, each = nrow(f)))
    },
    quantile = function(fit, f, rows, pool, chosen, p) {
      with_size(quantile)(fit, f, pool, chosen, p)
    },
    variance = function(fit, f, pool, chosen) {
      with_size(variance)(fit, f, pool, chosen, NULL)
    },
    ends = function(y) cbind(y - 1, y),
    intercept = function(y, offset, weights) {
      most <- max(offset)
      log(max(sum(weights * y), least)) - most -
        log(sum(weights * exp(offset - most)))
    },
    truncation = FALSE,
    check_values = check_counts,
    check = function(mould, prior) check_counts(mould$y, mould$outcome_name)
  )
}

check_counts <- function(y, name) {
  odd <- which(y < 0 | y != round(y))
  if (length(odd) > 0) {
    kb_abort(c(
      "{.arg {name}} must be counts: whole numbers, at least 0.",
      x = "Element {odd[[1]]} is {format(y[[odd[[1]]]])}.",
      i = "A rate is a count with the log of its exposure as
           {.code offset(log(exposure))}."
    ), "argument", argument = name)
  }
}

check_positive_numbers <- function(y, name) {
  refuse_low(y, y <= 0, name, "numbers", "argument")
}

#' @param low Which elements of y are not positive; `numbers`: what y has.
#' @noRd
refuse_low <- function(y, low, name, numbers, class) {
  at <- which(low)
  if (length(at) > 0) {
    kb_abort(c(
      "{.arg {name}} must be positive.",
      x = "Element {at[[1]]} is {format(y[[at[[1]]]])}.",
      i = "{.code family = gaussian()} takes {numbers} of any sign."
    ), class, argument = name)
  }
}

family_poisson <- family_of_counts(", Poisson", c(poisson = "log"), character(),
  draw = function(n, mean, size) stats::rpois(n, mean),
  density = function(y, mean, size) stats::dpois(y, mean, log = TRUE),
  cdf = function(y, mean, size) stats::ppois(y, mean),
  quantile = function(p, mean, size) stats::qpois(p, mean),
  variance = function(y, mean, size) mean
)

# R searches from a number that may be far away if the mean is large. Then by
# halving, near the quantile of the gamma variable that is the mean of a Poisson
# count
negbinomial_quantile <- function(p, mean, size) {
  large <- which(mean > 1e4)
  out <- stats::qnbinom(p, size = size, mu = replace(mean, large, 1))
  mean <- mean[large]
  size <- size[large]
  near <- stats::qgamma(p, size, scale = mean / size)
  reach <- 10 * (1 + sqrt(near))
  low <- floor(pmax(near - reach, -1))
  high <- ceiling(near + reach)
  repeat {
    middle <- floor((low + high) / 2)
    apart <- middle > low & middle < high
    if (!any(apart)) break
    enough <- stats::pnbinom(middle, size = size, mu = mean) >= p
    high[apart & enough] <- middle[apart & enough]
    low[apart & !enough] <- middle[apart & !enough]
  }
  replace(out, large, high)
}

family_negbinomial <- family_of_counts(", negative binomial", NULL, "size",
  draw = function(n, mean, size) stats::rnbinom(n, size = size, mu = mean),
  density = function(y, mean, size) {
    stats::dnbinom(y, size = size, mu = mean, log = TRUE)
  },
  cdf = function(y, mean, size) stats::pnbinom(y, size = size, mu = mean),
  quantile = negbinomial_quantile,
  variance = function(y, mean, size) mean + mean^2 / size,
  called = c("negative binomial" = "log")
)

# Positive numbers, such as costs: Gamma with a log link, as counts are
family_gamma <- utils::modifyList(
  family_of_counts(", Gamma", c(Gamma = "log"), "shape",
    draw = function(n, mean, shape) stats::rgamma(n, shape, scale = mean / shape),
    density = function(y, mean, shape) {
      stats::dgamma(y, shape, scale = mean / shape, log = TRUE)
    },
    cdf = function(y, mean, shape) stats::pgamma(y, shape, scale = mean / shape),
    quantile = function(p, mean, shape) {
      stats::qgamma(p, shape, scale = mean / shape)
    },
    variance = function(y, mean, shape) mean^2 / shape, least = 0
  ),
  list(
    ends = function(y) cbind(y, y), continuous = TRUE,
    check_values = check_positive_numbers,
    check = function(mould, prior) {
      check_positive_numbers(mould$y, mould$outcome_name)
    }
  )
)

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
  low <- y[, 2] <= 0 | (y[, 1] <= 0 & y[, 1] == y[, 2])
  refuse_low(y[, 2], low, name, "censored numbers", "outcome")
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
