# Whether predictors have an effect on f: a scale that is not 0 may still be
# too small to change anything.

# f has to change by this share of the standard deviation of the response.
effect_least <- 0.01

#' How much f changes with each predictor in each draw
#'
#' Its values are permuted among rows, in an order determined by the seed of the
#' fit; the change is the root mean square over rows. For several classes f is a
#' field minus the mean of all fields, on which probabilities depend.
#' @param pools List of pools, one per field.
#' @param class Number of the field; NULL: any of them.
#' @param chosen Draws by number; `inputs` predictors by number.
#' @return Matrix, `chosen` x `inputs`.
#' @noRd
bark_changes <- function(fit, pools, class, chosen, inputs, most_rows = 100) {
  n <- nrow(fit$data$x)
  x <- fit$data$x[spread_over(n, min(n, most_rows)), , drop = FALSE]
  orders <- with_local_seed(fit$seed, lapply(seq_len(ncol(x)), function(l) {
    sample.int(nrow(x))
  }))
  of <- if (is.null(class)) seq_along(pools) else class
  base <- relative_fields(fit, x, pools, chosen)
  out <- vapply(inputs, function(l) {
    permuted <- x
    # Several inputs are permuted together.
    permuted[, l] <- x[orders[[l[[1]]]], l]
    moved <- relative_fields(fit, permuted, pools, chosen)
    change <- lapply(of, function(k) sqrt(colMeans((moved[[k]] - base[[k]])^2)))
    do.call(pmax, change)
  }, numeric(length(chosen)))
  matrix(out, length(chosen))
}

# Whether a change is an effect: compared with a share of the standard deviation
# of the response (for classes, of the latent response)
has_effect <- function(fit, changes) {
  (changes > effect_least * response_spread(fit)) + 0
}

# Each predictor's part of the sum of squared changes; 0 if f is constant
change_shares <- function(changes) {
  total <- rowSums(changes^2)
  changes^2 / ifelse(total > 0, total, 1)
}

# f of each draw, points x draws; for several fields minus their mean
relative_fields <- function(fit, x, pools, chosen) {
  f <- lapply(pools, function(pool) {
    kernel_values(fit, x, pool, "draw", chosen)$mean
  })
  if (length(f) == 1) {
    return(f)
  }
  mean <- Reduce(`+`, f) / length(f)
  lapply(f, function(v) v - mean)
}

# The standard deviation of the response that the model sees; the noise of a
# latent one is 1
response_spread <- function(fit) {
  if (!has_noise(fit)) {
    return(1)
  }
  y <- located(fit$settings$family, fit$data$y)
  spread <- stats::sd(scaling_y(fit$settings$scaling, y))
  if (is.na(spread)) 0 else spread
}

# Draws of every chain, evenly chosen: by number, chain by chain
spread_draws <- function(fit, ndraws) {
  chains <- length(fit_runs(fit))
  n <- length(posterior_pool(fit)$weights) %/% chains
  each <- spread_over(n, min(n, ceiling(ndraws / chains)))
  as.vector(outer(each, n * (seq_len(chains) - 1), `+`))
}

#' The probabilities of an effect, their Monte Carlo errors, and those of the
#' prior; and shares of the change of f
#' @param prior_draws 0: none.
#' @noRd
effect_table <- function(fit, pools, class = NULL, ndraws = 400,
                         inputs = seq_len(ncol(fit$data$x)),
                         prior_draws = ndraws) {
  chosen <- spread_draws(fit, ndraws)
  changes <- bark_changes(fit, pools, class, chosen, inputs)
  effect <- has_effect(fit, changes)
  share <- change_shares(changes)
  chains <- length(fit_runs(fit))
  out <- data.frame(
    share = colMeans(share), share_se = monte_carlo_errors(share, chains),
    effect = colMeans(effect), effect_se = monte_carlo_errors(effect, chains)
  )
  if (prior_draws > 0) {
    prior <- with_local_seed(fit$seed, {
      lapply(pools, function(pool) draw_bark_pool(fit, prior_draws))
    })
    out$effect_prior <- colMeans(has_effect(
      fit, bark_changes(fit, prior, class, seq_len(prior_draws), inputs)
    ))
  }
  out
}

#' Standard errors of means over draws, from their effective sample sizes, after
#' (B77); NA if all draws are equal
#' @param draws Matrix, all draws chain by chain x quantities.
#' @noRd
monte_carlo_errors <- function(draws, chains) {
  out <- apply(draws, 2, stats::sd) / sqrt(mean_size_cpp(draws, chains))
  out[is.nan(out) | out %in% 0] <- NA
  out
}

#' The predictors that matter most: from few draws, and if there are many
#' predictors only for those with large scales
#' @param by `"effect"` or `"share"`.
#' @return Numbers of predictors, the first first, named by the probability of an
#'   effect, or the share.
#' @noRd
leading_inputs <- function(fit, pools, scales, by = leading_by(fit), most = 12) {
  x <- scaling_x(fit$settings$scaling, fit$data$x)
  variance <- colMeans(sweep(x, 2, colMeans(x))^2)
  size <- colMeans(1 - exp(-scales * rep(variance, each = nrow(scales))))
  inputs <- utils::head(order(-size), most)
  value <- effect_table(
    fit, pools,
    ndraws = 100, inputs = inputs, prior_draws = 0
  )[[by]]
  order <- order(-value, -size[inputs])
  stats::setNames(inputs[order], value[order])
}

# Where kernels have scales of their own, most of them contain something of every
# predictor, and all probabilities of an effect are near 1.
leading_by <- function(fit) if (has_own_scales(fit)) "share" else "effect"
