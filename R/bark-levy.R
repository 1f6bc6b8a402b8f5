# The Levy measure of bark(): quantities implied by its parameters, and the
# parameters implied by a number of kernels and a discrepancy.

# Expected number of kernels: (B2), eq. 8 of the paper
#
# By Gamma(1 + x) = x Gamma(x), so that it is finite down to alpha = 0, where
# it tends to gamma; it tends to 0 as alpha tends to 2.
bark_nu <- function(alpha, gamma, eps) {
  exp(log(gamma) + alpha * (log(2) - log(eps) - log(alpha) / 2) +
    lgamma(1 + alpha / 2) - lgamma(1 - alpha / 2))
}

# Expected squared discrepancy of the continuous approximation over |g|^2
#
# The integral of b^2 (|b|^(-1 - alpha) - (b^2 + alpha eps^2)^(-(1 + alpha) /
# 2)) gamma c_alpha, for which eq. 12 of the paper is intended as a bound: (B4).
bark_discrepancy <- function(alpha, gamma, eps) {
  bark_nu(alpha, gamma, eps) * discrepancy_ratio(alpha, eps)
}

# Discrepancy of one expected kernel, (B4): the same for both approximations
discrepancy_ratio <- function(alpha, eps) {
  alpha * eps^2 / (2 - alpha)
}

# Expected number of kernels where |beta| is truncated at eps: (B3)
#
# Gamma(alpha) sin(pi alpha / 2) is written without the sine, which would lose
# its digits near alpha = 2.
bark_nu_truncated <- function(alpha, gamma, eps) {
  exp(log(gamma) + alpha * (log(2) - log(eps)) - log(pi) / 2 +
    lgamma((1 + alpha) / 2) - lgamma(1 - alpha / 2))
}

bark_discrepancy_truncated <- function(alpha, gamma, eps) {
  bark_nu_truncated(alpha, gamma, eps) * discrepancy_ratio(alpha, eps)
}

# Expected number of kernels and discrepancy of either approximation
levy_size <- function(alpha, gamma, eps, approximation = NULL) {
  if (identical(approximation, "truncation")) {
    list(
      nu = bark_nu_truncated(alpha, gamma, eps),
      discrepancy = bark_discrepancy_truncated(alpha, gamma, eps)
    )
  } else {
    list(
      nu = bark_nu(alpha, gamma, eps),
      discrepancy = bark_discrepancy(alpha, gamma, eps)
    )
  }
}

# The eps and gamma of a number of kernels and a discrepancy
#
# Their ratio determines eps, (B5), and nu is proportional to gamma.
bark_elicit <- function(alpha, n_kernels, discrepancy, approximation = NULL) {
  eps <- sqrt(discrepancy / n_kernels * (2 - alpha) / alpha)
  nu <- levy_size(alpha, 1, eps, approximation)$nu
  list(eps = eps, gamma = n_kernels / nu)
}

# Checks ---------------------------------------------------------------------

# Do n_kernels and discrepancy replace eps and gamma?
check_elicitation <- function(n_kernels, discrepancy, given) {
  elicited <- c(
    n_kernels = !is.null(n_kernels), discrepancy = !is.null(discrepancy)
  )
  if (!any(elicited)) {
    return(FALSE)
  }
  came <- names(which(elicited))
  if (any(given)) {
    kb_abort(c(
      "{.arg n_kernels} and {.arg discrepancy} replace {.arg gamma} and
       {.arg eps}: give one pair only.",
      x = "You gave {.arg {c(names(which(given)), came)}}."
    ), "argument", argument = came[[1]])
  }
  if (!all(elicited)) {
    absent <- setdiff(names(elicited), came)
    kb_abort(c(
      "{.arg n_kernels} and {.arg discrepancy} must be given together.",
      x = "{.arg {absent}} is missing.",
      i = "The two determine {.arg gamma} and {.arg eps}."
    ), "argument", argument = absent)
  }
  TRUE
}

# The expected number of kernels must be one that a sampler can hold
check_levy <- function(alpha, levy, approximation = NULL) {
  implied <- levy_size(alpha, levy$gamma, levy$eps, approximation)
  nu <- implied$nu
  size <- c(levy$eps, levy$gamma, implied$discrepancy)
  fine <- nu > 0 && nu <= .Machine$integer.max && all(is.finite(size)) &&
    all(size > 0)
  if (!isTRUE(fine)) {
    kb_abort(c(
      "The expected number of kernels must be a positive number below 2^31,
       and the discrepancy positive and finite.",
      x = "{.code alpha = {format(alpha)}}, {.code gamma = {format(levy$gamma)}}
           and {.code eps = {format(levy$eps)}} make them {format(nu)} and
           {format(size[[3]])}."
    ), "argument", argument = "gamma")
  }
}
