# The evidence of fits of kgs() whose functions have noise, by bridge sampling.

#' The evidence from the draws of a fit: its first halves shape the proposal
#' @param proposals Number for each draw of the second halves.
#' @noRd
noisy_evidence <- function(fit, seed, proposals = 4L) {
  seen <- noisy_hyper(fit)
  chain <- seen$chain
  first <- seen$iteration <= max(seen$iteration) / 2
  guess <- normal_guess(seen$at[first, , drop = FALSE])
  used <- which(!first)
  own <- bridge_ratio(fit, seen, used, guess)
  drawn <- with_local_seed(seed, {
    bridge_proposals(fit, guess, proposals * length(used))
  })
  batch <- bridge_batches(chain[used], seen$iteration[used])
  batches <- lapply(split(seq_along(used), batch), function(i) {
    j <- rep((i - 1) * proposals, each = proposals) + seq_len(proposals)
    list(own = own[i], drawn = drawn[j], chain = chain[used][i[[1]]])
  })
  of <- function(b) bridge(unlist(lapply(b, `[[`, "own")), unlist(lapply(
    b, `[[`, "drawn"
  )))
  each <- vapply(split(batches, vapply(batches, `[[`, 0L, "chain")), of, 0)
  se <- left_out_se(batches, of)
  whole <- of(batches)
  structure(
    list(
      log_evidence = whole, mc_se = se, replicates = unname(each),
      pac_bayes = pac_bayes_of_fit(fit, whole), note = chains_differ(each, se)
    ),
    class = c("kb_evidence_noisy", "kb_evidence")
  )
}

#' @export
print.kb_evidence_noisy <- function(x, digits = 4, ...) {
  check_no_dots(...)
  NextMethod()
  print_pac_bayes(x$pac_bayes)
  invisible(x)
}

# The jackknife over batches
left_out_se <- function(batches, of) {
  n <- length(batches)
  values <- vapply(seq_len(n), function(i) of(batches[-i]), 0)
  sqrt((n - 1) / n * sum((values - mean(values))^2))
}

chains_differ <- function(each, se) {
  note <- ladders_differ(each, se)
  if (!is.null(note)) {
    "The chains differ by more than mc_se suggests: update() continues them."
  }
}

# Parts of chains, as even as possible
bridge_batches <- function(chain, iteration, parts = 5) {
  from <- min(iteration)
  length <- max(iteration) - from + 1
  paste(chain, ceiling((iteration - from + 1) * parts / length))
}

# Parameters besides w -------------------------------------------------------

#' Parameters of all draws on the real line: log s, logits of rates, and
#' bandwidths in units of their prior
#' @return List: `at` (draws x parameters), `chain`, `iteration`, `pool`.
#' @noRd
noisy_hyper <- function(fit) {
  pool <- posterior_pool(fit)
  draws <- draws_in(fit)[draws_in(fit) > 0]
  list(
    at = cbind(
      if (learns_nugget(fit$settings)) pool$log_s,
      if (fit$settings$noise$kind != "fixed") rates_to_line(fit, pool$rates),
      bandwidths_to_line(fit, pool$log_inverse)
    ),
    chain = rep(seq_along(draws), draws), iteration = sequence(draws),
    pool = pool
  )
}

rate_top <- function(fit) {
  (fit$settings$classes - 1) / fit$settings$classes
}

# By class the second rate is a share of what the first leaves
rates_to_line <- function(fit, rates) {
  if (ncol(rates) == 1) {
    return(stats::qlogis(rates / rate_top(fit)))
  }
  stats::qlogis(cbind(rates[, 1], rates[, 2] / (1 - rates[, 1])))
}

line_to_rates <- function(fit, at) {
  share <- stats::plogis(at)
  if (ncol(at) == 1) {
    return(share * rate_top(fit))
  }
  cbind(share[, 1], share[, 2] * (1 - share[, 1]))
}

# The root of the prior covariance of logarithms of inverse bandwidths
bandwidth_root <- function(fit) {
  design <- fit$settings$noisy$learned$design
  if (ncol(design) <= 1) design else t(chol(tcrossprod(design)))
}

bandwidths_to_line <- function(fit, log_inverse) {
  learned <- fit$settings$noisy$learned
  if (is.null(learned)) {
    return(NULL)
  }
  root <- bandwidth_root(fit)
  own <- seq_len(ncol(root))
  t(forwardsolve(
    root[own, , drop = FALSE], (log_inverse - learned$offset)[own, ,
      drop = FALSE
    ]
  ))
}

# Columns of the matrix of parameters
noisy_columns <- function(fit) {
  s <- if (learns_nugget(fit$settings)) 1L else integer()
  kind <- fit$settings$noise$kind
  rates <- length(s) + seq_len(c(fixed = 0, beta = 1, class = 2)[[kind]])
  learned <- fit$settings$noisy$learned
  own <- if (is.null(learned)) 0 else ncol(bandwidth_root(fit))
  list(s = s, rates = rates, own = length(s) + length(rates) + seq_len(own))
}

# From the line to log s, rates and logarithms of inverse bandwidths
noisy_parameters <- function(fit, at) {
  columns <- noisy_columns(fit)
  n <- nrow(at)
  settings <- fit$settings
  learned <- settings$noisy$learned
  list(
    log_s = if (length(columns$s)) at[, columns$s] else {
      rep(settings$noisy$scale$log_s, n)
    },
    rates = if (length(columns$rates)) {
      line_to_rates(fit, at[, columns$rates, drop = FALSE])
    } else {
      matrix(settings$noise$rate, n, 1)
    },
    log_inverse = if (is.null(learned)) matrix(0, 0, n) else {
      learned$offset + tcrossprod(
        bandwidth_root(fit), at[, columns$own, drop = FALSE]
      )
    }
  )
}

# Log prior densities on the line
noisy_log_prior <- function(fit, at) {
  columns <- noisy_columns(fit)
  scale <- fit$settings$noisy$scale
  out <- numeric(nrow(at))
  if (length(columns$s)) {
    s <- at[, columns$s]
    out <- out + stats::dnorm(s, scale$log_s, scale$sd, log = TRUE)
  }
  if (length(columns$rates)) {
    out <- out + rates_log_prior(fit, at[, columns$rates, drop = FALSE])
  }
  # Not dnorm() of the matrix, which loses its shape without columns
  own <- at[, columns$own, drop = FALSE]
  out - rowSums(own^2) / 2 - ncol(own) * log(2 * pi) / 2
}

rates_log_prior <- function(fit, at) {
  noise <- fit$settings$noise
  rates <- line_to_rates(fit, at)
  density <- rowSums(
    stats::dbeta(rates, noise$a, noise$b, log = TRUE)
  )
  # d rate / d logit
  rest <- stats::plogis(at, lower.tail = FALSE, log.p = TRUE)
  change <- rowSums(log(rates) + rest)
  density + change - log(rates_mass(fit))
}

# The prior probability of rates that are information
rates_mass <- function(fit) {
  noise <- fit$settings$noise
  if (noise$kind == "beta") {
    return(stats::pbeta(rate_top(fit), noise$a, noise$b))
  }
  stats::integrate(function(u) {
    stats::pbeta(1 - stats::qbeta(u, noise$a, noise$b), noise$a, noise$b)
  }, 0, 1, rel.tol = 1e-8)$value
}

# Bridge sampling ------------------------------------------------------------

# A normal distribution with the moments of draws
normal_guess <- function(at) {
  if (ncol(at) == 0) {
    return(list(mean = numeric(), root = matrix(0, 0, 0)))
  }
  covariance <- stats::cov(at)
  # Few draws of many parameters
  covariance <- covariance + diag(1e-3 * diag(covariance) + 1e-8, ncol(at))
  list(mean = colMeans(at), root = t(chol(covariance)))
}

log_guess <- function(guess, at) {
  if (ncol(at) == 0) {
    return(numeric(nrow(at)))
  }
  z <- forwardsolve(guess$root, t(at) - guess$mean)
  colSums(stats::dnorm(z, log = TRUE)) - sum(log(diag(guess$root)))
}

# log of joint density by proposal density, at draws: (G47)
bridge_ratio <- function(fit, seen, used, guess) {
  at <- seen$at[used, , drop = FALSE]
  pool <- noisy_pool_subset(seen$pool, used)
  ratio <- noisy_ratio(
    fit, pool$log_inverse, pool$log_s, t(pool$rates), pool$w, FALSE
  )
  ratio + noisy_log_prior(fit, at) - log_guess(guess, at)
}

# and at proposals
bridge_proposals <- function(fit, guess, n) {
  d <- length(guess$mean)
  z <- matrix(stats::rnorm(d * n), d, n)
  at <- t(guess$mean + guess$root %*% z)
  to <- noisy_parameters(fit, at)
  w <- stats::rnorm(kgs_rank(fit) * noisy_functions(fit) * n)
  ratio <- noisy_ratio(fit, to$log_inverse, to$log_s, t(to$rates), w, TRUE)
  ratio + noisy_log_prior(fit, at) - log_guess(guess, at)
}

noisy_ratio <- function(fit, log_inverse, log_s, rates, w, is_z) {
  settings <- fit$settings
  kgs_noisy_ratio_cpp(
    settings$noisy, noisy_data_of(fit), log_inverse, log_s, rates, w, is_z
  )
}

#' The log of the normalising constant, by the optimal bridge of Meng and Wong
#' (1996): (G48)
#' @param own,drawn Log ratios of densities at draws from the posterior and from
#'   the proposal.
#' @noRd
bridge <- function(own, drawn) {
  share <- length(own) / (length(own) + length(drawn))
  log_z <- stats::median(own)
  for (step in 1:1000) {
    before <- log_z
    top <- drawn - log_add(log(share) + drawn, log1p(-share) + log_z)
    bottom <- -log_add(log(share) + own, log1p(-share) + log_z)
    log_z <- log_mean_exp(top) - log_mean_exp(bottom)
    if (abs(log_z - before) < 1e-8) break
  }
  log_z
}

log_add <- function(a, b) {
  top <- pmax(a, b)
  top + log(exp(a - top) + exp(b - top))
}
