# The draws that chains of bark() hold.

#' @export
draws_in.kb_bark <- function(fit) {
  vapply(fit$runs, function(run) length(run$draws$m), 0L)
}

#' @export
head_draws.kb_bark <- function(fit, run, n) {
  m <- run$draws$m[seq_len(n)]
  p <- ncol(fit$data$x)
  slots <- sum(m)
  sizes <- c(
    m = n, location = slots, copies = slots, included = n * p,
    log_lambda = n * p, noise = n, log_likelihood = n, variance = slots,
    beta = slots, factor = sum(m * (m + 1) / 2), z = slots
  )
  run$draws[names(sizes)] <- Map(
    function(v, n) v[seq_len(n)], run$draws[names(sizes)], sizes
  )
  run
}

#' @export
mixing_advice.kb_bark <- function(fit) {
  "More {.arg n_temps} in {.fn mcmc_control} help chains that are stuck."
}

#' @export
chain_matrices.kb_bark <- function(fit) {
  draws <- lapply(fit_runs(fit), `[[`, "draws")
  n <- length(draws[[1]]$m)
  column <- function(get) matrix(vapply(draws, get, numeric(n)), n)
  units <- fit$time * log(fit$settings$scaling$y_scale)
  list(
    sigma = unscale_sd(
      fit$settings$scaling, 1 / sqrt(column(function(d) d$noise))
    ),
    J = column(function(d) {
      as.double(tapply(
        c(d$copies, integer(n)), c(rep(seq_len(n), d$m), seq_len(n)), sum
      ))
    }),
    log_lik = column(function(d) d$log_likelihood) - units
  )
}
