# Fits of kgs() whose functions have noise with a density: the sampler
# "leapfrog", which learns the nugget and bandwidths.

is_noisy <- function(settings) settings$method == "leapfrog"

learns_nugget <- function(settings) identical(settings$nugget, "learn")

# Priors ---------------------------------------------------------------------

#' Priors of the nugget and of bandwidths of [kgs()]
#'
#' `kgs(prior = kgs_prior(nugget = 0.1))` changes the priors of what is learned: the
#' nugget, the variance of the noise of f where the kernel has variance 1 (plus
#' `bias`), and bandwidths. Both are log-normal, bandwidths about the median distance
#' of the points: with `"learn"` and `"evidence"` one bandwidth, with `"ard"` one for
#' each predictor; a part of their logarithms is common to all.
#' @param nugget Median of the nugget.
#' @param nugget_sd Standard deviation of its logarithm.
#' @param bandwidth_sd Standard deviation of the common part of the logarithms
#'   of bandwidths.
#' @param ard_sd Standard deviation of the part that belongs to a predictor.
#' @return An object of class `kb_kgs_prior`.
#' @examples
#' kgs_prior(ard_sd = 0.5)
#' @export
kgs_prior <- function(nugget = 0.25, nugget_sd = 2, bandwidth_sd = 0.7,
                      ard_sd = 1) {
  structure(given_options(kgs_options), class = "kb_kgs_prior")
}

kgs_options <- list(
  nugget = option(check_by(check_number, 0, open = TRUE), "median of the nugget"),
  nugget_sd = option(check_by(check_number, 0, open = TRUE), "sd of its logarithm"),
  bandwidth_sd = option(
    check_by(check_number, 0, open = TRUE), "sd of log bandwidths, common to all"
  ),
  ard_sd = option(check_by(check_number, 0, open = TRUE), "sd of each one's own part")
)

#' @export
print.kb_kgs_prior <- function(x, ...) print_options(x, kgs_options)

# Settings -------------------------------------------------------------------

# Kernels that learn bandwidths, and which: "ard", "learn", "evidence" until it
# is found, or "none"
learned_bandwidths <- function(kernel) {
  for (word in learned_words) {
    if (kernel_has(kernel, word)) {
      if (!identical(kernel$bandwidth, word)) refuse_ard_part(word)
      return(word)
    }
  }
  "none"
}

# What the core needs besides the data: see kgs_r::noisy_model()
noisy_config <- function(settings, columns) {
  prior <- settings$prior
  learned <- learns_nugget(settings)
  nugget <- if (learned) prior$nugget else settings$nugget
  kernel <- learned_kernel(settings, columns)
  n <- if (is.null(kernel)) 0L else ncol(kernel$design)
  list(
    noise = unclass(settings$noise),
    scale = list(
      learned = learned, log_s = -log(nugget) / 2, sd = prior$nugget_sd / 2
    ),
    learned = kernel, sites = NULL,
    proposal = list(centre = numeric(n), slope = numeric(n), root = diag(1, n)),
    start = list(log_s = -log(nugget) / 2, sd = 0, rate = 0.1)
  )
}

learned_kernel <- function(settings, columns) {
  which <- learned_bandwidths(settings$kernel)
  if (which == "none") {
    return(NULL)
  }
  list(
    kernel = core_kernel(settings$kernel), pivots = settings$basis$points,
    bias = settings$bias,
    offset = rep(-log(settings$bandwidth), columns),
    design = bandwidth_design(which, columns, settings$prior)
  )
}

# As the core reads it: it has the bandwidths from elsewhere
core_kernel <- function(kernel) {
  kernel <- unclass(kernel)
  kernel$bandwidth <- "ard"
  kernel
}

# The logarithms of inverse bandwidths are an offset plus this times standard
# normal variables, (G37)
bandwidth_design <- function(which, columns, prior) {
  if (which == "learn") {
    return(matrix(prior$bandwidth_sd, columns, 1))
  }
  if (columns == 1) {
    return(matrix(sqrt(prior$bandwidth_sd^2 + prior$ard_sd^2)))
  }
  cbind(prior$bandwidth_sd, diag(prior$ard_sd, columns))
}

# The share of the kernel at its approximate mode that the pivots leave out
noisy_unexplained <- function(settings, x) {
  learned <- settings$noisy$learned
  if (is.null(learned)) {
    return(settings$basis$unexplained)
  }
  kernel <- kernel_of_basis(settings, exp(-central_log_inverse(settings$noisy)))
  square <- kernel_evaluate(kernel, settings$basis$points)
  # The core's jitter
  square <- square + diag(1e-6 * (1 + settings$bias), nrow(square))
  basis <- list(
    kernel = kernel, points = settings$basis$points, factor = t(chol(square))
  )
  max(0, unexplained_share(basis, x))
}

noisy_data_of <- function(fit) {
  x <- scaling_x(fit$settings$scaling, fit$data$x)
  noisy_data(fit$settings, x, fit$data$y, fit$data$weights)
}

# Labels, and points or features
noisy_data <- function(settings, x, y, weights = NULL) {
  points <- if (learned_bandwidths(settings$kernel) == "none") {
    basis_features(settings$basis, x)
  } else {
    x
  }
  list(
    points = points, label = as.integer(y) - 1L, classes = settings$classes,
    weight = as.double(label_weights(settings, y, weights))
  )
}

# Of rows times those of their classes; NULL if all are 1
label_weights <- function(settings, y, weights) {
  of_class <- settings$class_weights[as.integer(y)]
  if (is.null(of_class) || is.null(weights)) c(of_class, weights) else {
    weights * of_class
  }
}

# The normal approximation at the mode ----------------------------------------

#' The normal approximation of the posterior that samplers start from
#'
#' Parameters are log s, the logit of the rate of wrong labels and h of the
#' bandwidths, each where it is learned. Functions are integrated out by the
#' approximation (G42), whose sites are found anew at each mode.
#' @param at Where the search starts.
#' @return `config` with sites, proposal and start.
#' @noRd
learn_proposal <- function(config, data, at = noisy_start(config)) {
  if (length(at) == 0) {
    config$sites <- kgs_sites_cpp(config, data, at)
    return(config)
  }
  for (round in 1:8) {
    config$sites <- kgs_sites_cpp(config, data, at)
    before <- at
    at <- climb(config, data, at)
    if (max(abs(at - before)) < 0.1) break
  }
  config$sites <- kgs_sites_cpp(config, data, at)
  covariance <- mode_covariance(config, data, at)
  with_proposal(config, at, covariance, data$classes)
}

# Where a search with fixed sites ends, of several that with the highest mode
best_climb <- function(config, data, starts) {
  with_sites <- function(at) {
    config$sites <- kgs_sites_cpp(config, data, at)
    config
  }
  ends <- lapply(starts, function(at) climb(with_sites(at), data, at))
  value <- vapply(ends, function(at) {
    kgs_mode_cpp(with_sites(at), data, at)$value
  }, 0)
  ends[[which.max(value)]]
}

# Start: priors' centres, and a rate of one in ten
noisy_start <- function(config, h = rep(0, noisy_dimension(config))) {
  c(
    if (config$scale$learned) config$scale$log_s,
    if (config$noise$kind != "fixed") log(0.1 / 0.9),
    h
  )
}

# Where `config` has the mean: the inverse of with_proposal()
noisy_centre <- function(config, classes) {
  share <- min(config$start$rate * classes / (classes - 1), 0.99)
  c(
    if (config$scale$learned) config$start$log_s,
    if (config$noise$kind != "fixed") stats::qlogis(share),
    config$proposal$centre
  )
}

noisy_dimension <- function(config) {
  if (is.null(config$learned)) 0L else ncol(config$learned$design)
}

climb <- function(config, data, at) {
  mode <- remembered_mode(config, data)
  stats::optim(at, mode$value, mode$slope,
    method = "BFGS", control = list(fnscale = -1, maxit = 30, reltol = 1e-6)
  )$par
}

# optim() asks for values and slopes apart; one evaluation has both
remembered_mode <- function(config, data) {
  last <- list(at = NULL)
  evaluate <- function(at) {
    if (!identical(at, last$at)) {
      last <<- c(list(at = at), kgs_mode_cpp(config, data, at))
    }
    last
  }
  list(
    value = function(at) evaluate(at)$value,
    slope = function(at) evaluate(at)$slope
  )
}

# Priors have precision 1 or more in these units: so has the posterior, roughly
mode_covariance <- function(config, data, at, least = 1) {
  mode <- remembered_mode(config, data)
  curvature <- -stats::optimHess(at, mode$value, mode$slope,
    control = list(ndeps = rep(0.02, length(at)))
  )
  spectrum <- eigen((curvature + t(curvature)) / 2, symmetric = TRUE)
  root <- spectrum$vectors %*%
    diag(1 / sqrt(pmax(spectrum$values, least)), length(at))
  tcrossprod(root)
}

with_proposal <- function(config, at, covariance, classes) {
  n <- noisy_dimension(config)
  own <- length(at) - n + seq_len(n)
  s <- if (config$scale$learned) 1L
  rate <- if (config$noise$kind != "fixed") length(s) + 1L
  root <- if (n > 0) t(chol(covariance[own, own, drop = FALSE])) else {
    matrix(0, 0, 0)
  }
  # E log s given centre + root x
  across <- if (is.null(s) || n == 0) numeric(n) else {
    forwardsolve(root, covariance[own, s])
  }
  config$proposal <- list(
    centre = at[own], slope = as.double(across), root = root
  )
  if (!is.null(s)) {
    config$start$log_s <- at[[s]]
    config$start$sd <- sqrt(max(covariance[s, s] - sum(across^2), 1e-4))
  }
  if (!is.null(rate)) {
    config$start$rate <- stats::plogis(at[[rate]]) * (classes - 1) / classes
  }
  config
}

# The chains -----------------------------------------------------------------

#' @export
fit_engine.kb_kgs_noisy <- function(fit) {
  settings <- fit$settings
  structure(
    list(
      config = c(
        list(method = "leapfrog", seed = fit$seed), settings$noisy,
        fit$control[c("warmup", "iter", "thin")]
      ),
      data = noisy_data_of(fit)
    ),
    class = c(
      "kb_engine_kgs_noisy", "kb_engine_kgs", "kb_engine_chain", "kb_engine"
    )
  )
}

#' @export
engine_open.kb_engine_kgs_noisy <- function(engine, index, state) {
  kgs_open_cpp(c(engine$config, list(chain = index)), engine$data, state)
}

#' @export
engine_grown.kb_engine_kgs_noisy <- function(engine) {
  lapply(noisy_draw_names, function(name) c("draws", name))
}

noisy_draw_names <- c(
  "w", "log_s", "rates", "log_inverse", "log_lik", "wrong"
)

# Draws ----------------------------------------------------------------------

# Contrasts of functions, in which the sampler works: one for two classes
noisy_functions <- function(fit) fit$settings$classes - 1L

#' @export
chain_matrices.kb_kgs_noisy <- function(fit) {
  draws <- lapply(fit_runs(fit), `[[`, "draws")
  n <- length(draws[[1]]$log_lik)
  column <- function(get) matrix(vapply(draws, get, numeric(n)), n)
  out <- list(errors = column(function(d) {
    colSums(matrix(d$wrong, fit$settings$classes))
  }))
  names <- kgs_rate_names(fit)
  for (i in seq_along(names)) {
    out[[names[[i]]]] <- column(function(d) {
      d$rates[seq(i, by = length(names), length.out = n)]
    })
  }
  if (learns_nugget(fit$settings)) {
    out$log_nugget <- column(function(d) -2 * d$log_s)
  }
  out$log_lik <- column(function(d) d$log_lik)
  out
}

#' @export
posterior_pool.kb_kgs_noisy <- function(fit) {
  draws <- lapply(fit_runs(fit), `[[`, "draws")
  all <- function(name) unlist(lapply(draws, `[[`, name))
  log_s <- all("log_s")
  n <- length(log_s)
  list(
    w = matrix(all("w"), ncol = n), log_s = log_s,
    log_inverse = matrix(all("log_inverse"), ncol = n),
    rates = matrix(all("rates"), nrow = n, byrow = TRUE),
    wrong = matrix(all("wrong"), nrow = n, byrow = TRUE),
    weights = rep(1 / n, n)
  )
}

noisy_pool_subset <- function(pool, chosen) {
  list(
    w = pool$w[, chosen, drop = FALSE], log_s = pool$log_s[chosen],
    log_inverse = pool$log_inverse[, chosen, drop = FALSE],
    rates = pool$rates[chosen, , drop = FALSE],
    wrong = pool$wrong[chosen, , drop = FALSE],
    weights = rep(1 / length(chosen), length(chosen))
  )
}

# Functions at points, by the sd of the noise, n x S x contrasts
#
# `outside`: is the part of the kernel outside the pivots' span noise too?
noisy_contrasts <- function(fit, x, pool, outside) {
  settings <- fit$settings
  x <- scaling_x(settings$scaling, x)
  learned <- settings$noisy$learned
  features <- if (is.null(learned)) basis_features(settings$basis, x) else x
  left <- if (is.null(learned)) {
    pmax(kernel_self(settings$basis$kernel, x) - rowSums(features^2), 0)
  } else {
    numeric(nrow(x))
  }
  kgs_noisy_functions_cpp(
    learned, features, left, pool$log_inverse, pool$w, pool$log_s,
    noisy_functions(fit), outside
  )
}

# By the sd of the noise
#' @export
latent_draws.kb_kgs_noisy <- function(fit, x, pool, chosen = NULL) {
  if (!is.null(chosen)) pool <- noisy_pool_subset(pool, chosen)
  eta <- noisy_contrasts(fit, x, pool, FALSE)
  if (dim(eta)[[3]] == 1) eta else functions_of_contrasts(eta)
}

# Probabilities of classes with noise, n x S x C, (G45)
#' @export
class_draws.kb_kgs_noisy <- function(fit, x, pool, complement) {
  eta <- noisy_contrasts(fit, x, pool, complement)
  size <- dim(eta)
  if (size[[3]] == 1) {
    p <- stats::pnorm(matrix(eta, size[[1]]))
    return(array(c(1 - p, p), c(size[1:2], 2)))
  }
  f <- functions_of_contrasts(eta) * (pi / sqrt(6))
  most <- do.call(pmax, lapply(seq_len(size[[3]] + 1), function(c) f[, , c]))
  p <- exp(f - as.vector(most))
  p / as.vector(rowSums(p, dims = 2))
}

#' @export
class_given_function.kb_kgs_noisy <- class_draws.kb_kgs_noisy

#' @export
class_given_joint.kb_kgs_noisy <- class_draws.kb_kgs_noisy

# Points have independent noise given f, which the span determines
#' @export
joint_votes.kb_kgs_noisy <- function(fit, x, pool, chosen) {
  p <- class_draws(fit, x, noisy_pool_subset(pool, chosen), FALSE)
  with_local_seed(fit$seed, draw_labels(p))
}

# Of a kernel that is given: rank x functions
noisy_direction <- function(fit) {
  if (!is.null(fit$settings$noisy$learned)) {
    kb_abort(c(
      "The Bayes point is not defined where bandwidths are learned.",
      x = "Each draw has a kernel of its own.",
      i = "A known kernel, such as {.code kernel_gaussian(\"median\")}, has
           one; here {.code predict(type = \"link\")} has the mean of f."
    ), "not_defined")
  }
  pool <- posterior_pool(fit)
  w <- rowMeans(pool$w * rep(exp(pool$log_s), each = nrow(pool$w)))
  w <- matrix(w, kgs_rank(fit))
  if (ncol(w) == 1) w else w %*% t(helmert(fit$settings$classes))
}

# The C functions, which add up to 0, from C - 1 contrasts
functions_of_contrasts <- function(eta) {
  size <- dim(eta)
  classes <- size[[3]] + 1
  out <- matrix(eta, ncol = size[[3]]) %*% t(helmert(classes))
  array(out, c(size[1:2], classes))
}

# Orthonormal columns, as in the core
helmert <- function(classes) {
  vapply(seq_len(classes - 1), function(k) {
    c(rep(1, k), -k, rep(0, classes - k - 1)) / sqrt(k * (k + 1))
  }, numeric(classes))
}

# Diagnostics ----------------------------------------------------------------

#' @export
watched_scales.kb_kgs_noisy <- function(fit) {
  pool <- posterior_pool(fit)
  if (nrow(pool$log_inverse) == 0) {
    return(list())
  }
  by_chain(
    fit, -t(pool$log_inverse),
    paste0("log_bandwidth[", seq_len(nrow(pool$log_inverse)), "]")
  )
}

#' @export
mixing_advice.kb_kgs_noisy <- function(fit, poor) {
  if (is.null(fit$settings$noisy$learned)) {
    return(NULL)
  }
  "{.code kernel_gaussian(\"evidence\")} finds one bandwidth beforehand: its
   chains mix faster."
}
