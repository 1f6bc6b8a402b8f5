# Modes and draws from the embedding of a posterior of kbr().

need_kernel_x <- function(fit, what) {
  if (is.null(fit$features$states$kernel)) {
    kb_abort(c(
      "{.code type = \"{what}\"} needs the kernel of the states.",
      x = "{.arg kernel_x} is a matrix."
    ), "argument", argument = "type")
  }
}

#' @export
kernel_mean_points.kb_kbr <- function(fit, seen, signed = TRUE) {
  weights <- if (signed) weight_shares else probability_weights
  w <- weights(fit, seen)
  factor <- fit$features$states$factor
  list(
    points = fit$data$states, scaled = scaled_states(fit), weights = w,
    value = factor %*% crossprod(factor, t(w))
  )
}

# States as their kernel sees them
scaled_states <- function(fit) {
  scaling_x(fit$settings$scaling$states, fit$data$states)
}

scaled_observations <- function(fit, y = fit$data$observations) {
  scaling_x(fit$settings$scaling$observations, summarised(fit, y))
}

unscale_states <- function(fit, x) unscale(fit$settings$scaling$states, x)

unscale <- function(scaling, x) {
  sweep(sweep(x, 2, scaling$x_scale, "*"), 2, scaling$x_center, "+")
}

kbr_map <- function(fit, seen) UseMethod("kbr_map")

#' @export
kbr_map.kb_kbr <- function(fit, seen) {
  need_kernel_x(fit, "map")
  moments <- kbr_moments(fit, seen, normalize = TRUE)
  centre <- scaling_x(
    fit$settings$scaling$states,
    sweep(moments$first, 2, fit$posterior$center, "+")
  )
  modes <- kernel_modes(
    kernel_mean_points(fit, seen), fit$features$states$kernel, centre
  )
  mode_states(fit, modes)
}

# Modes in the units of the states
mode_states <- function(fit, modes) {
  out <- state_names(within_support(fit, unscale_states(fit, modes$x)), fit)
  attr(out, "converged") <- modes$converged
  out
}

kbr_draws <- function(fit, seen, ndraws) UseMethod("kbr_draws")

check_kbr_draws <- function(ndraws, fit, seen) {
  check_size(ndraws, 1, each = 2 * ncol(fit$data$states) * max(1, NROW(seen)))
}

#' @export
kbr_draws.kb_kbr <- function(fit, seen, ndraws) {
  ndraws <- check_kbr_draws(if (is.null(ndraws)) 200L else ndraws, fit, seen)
  need_kernel_x(fit, "draws")
  draws <- herded_points(
    kernel_mean_points(fit, seen, signed = FALSE), fit$features$states$kernel,
    ndraws
  )
  dimnames(draws) <- list(NULL, colnames(fit$data$states), NULL)
  structure(draws, rows = "last")
}

kbr_embeddings <- function(fit, seen) {
  need_kernel_x(fit, "embedding")
  w <- kbr_weights(fit, seen)
  states <- scaled_states(fit)
  lapply(seq_len(nrow(w)), function(i) {
    if (anyNA(w[i, ])) {
      return(NULL)
    }
    out <- kernel_mean(states, fit$features$states$kernel, w[i, ])
    # When used as a prior, its points are converted back to the units of the
    # states.
    if (fit$settings$scale) out$scaling <- fit$settings$scaling$states
    out
  })
}
