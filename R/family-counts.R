# Counts with a log link: Poisson, and negative binomial with a size that is
# learned. f has an intercept, whose prior is around the log of the mean rate.

#' A family of counts
#' @param title What `print()` adds; `parameters`: names of its parameters.
#' @param object,called The family object that stands for it, or NULL, and what
#'   it is called then.
#' @param draw,density,cdf,quantile,variance Functions of counts (their number, or
#'   a probability), means, and the size of each.
#' @noRd
family_of_counts <- function(title, object, parameters, draw, density, cdf,
                             quantile, variance, called = NULL) {
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
      log(max(sum(weights * y), 0.5)) - most -
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
