# The draws that chains of kgs() hold.

# The number of functions: one for two classes
kgs_functions <- function(fit) {
  if (fit$settings$classes == 2) 1L else fit$settings$classes
}

kgs_rank <- function(fit) ncol(fit$settings$basis$factor)

# Dimension of the sphere, including what the nugget adds to the span
kgs_dimension <- function(fit) {
  settings <- fit$settings
  n <- nrow(fit$data$x)
  if (settings$method == "block") {
    return(n)
  }
  own <- if (settings$nugget > 0) n else 0
  (kgs_rank(fit) + own) * kgs_functions(fit)
}

#' @export
draws_in.kb_kgs <- function(fit) {
  size <- fit$settings$classes
  vapply(fit$runs, function(run) length(run$draws$wrong) %/% size, 0L)
}

#' @export
head_draws.kb_kgs <- function(fit, run, n) {
  each <- if (is_noisy(fit$settings)) noisy_sizes(fit) else kgs_sizes(fit)
  run$draws[names(each)] <- Map(
    function(v, size) v[seq_len(n * size)], run$draws[names(each)], each
  )
  run
}

# Numbers per draw
kgs_sizes <- function(fit) {
  c(
    w = kgs_rank(fit) * kgs_functions(fit),
    rates = if (fit$settings$noise$kind == "class") 2 else 1,
    wrong = fit$settings$classes
  )
}

# Number of values that the draws of all chains will hold
kgs_draws_size <- function(fit) {
  control <- fit$control
  as.double(control$chains) * (control$iter %/% control$thin) *
    kgs_rank(fit) * kgs_functions(fit)
}

#' @export
mixing_advice.kb_kgs <- function(fit, poor) {
  if (fit$settings$method %in% c("hmc", "block")) {
    return(NULL)
  }
  "{.code method = \"hmc\"} mixes best where its time and memory allow."
}

# The number of wrong labels, the rates and the log likelihood
#' @export
chain_matrices.kb_kgs <- function(fit) {
  draws <- lapply(fit_runs(fit), `[[`, "draws")
  n <- length(draws[[1]]$wrong) / fit$settings$classes
  column <- function(get) matrix(vapply(draws, get, numeric(n)), n)
  out <- list(errors = column(function(d) {
    as.double(colSums(matrix(d$wrong, fit$settings$classes)))
  }))
  names <- kgs_rate_names(fit)
  for (i in seq_along(names)) {
    out[[names[[i]]]] <- column(function(d) {
      d$rates[seq(i, by = length(names), length.out = n)]
    })
  }
  out$log_lik <- label_log_likelihood(fit)
  out
}

# The names of the learned rates
kgs_rate_names <- function(fit) {
  switch(fit$settings$noise$kind,
    fixed = character(),
    beta = "q",
    class = paste0("q[", fit$mould$levels, "]")
  )
}

# The (first) function at training points spread over the data, as `as_draws()`
# has it
first_function <- function(fit, most = 10) {
  rows <- spread_over(nrow(fit$data$x), min(most, nrow(fit$data$x)))
  f <- latent_draws(
    fit, fit$data$x[rows, , drop = FALSE], posterior_pool(fit)
  )
  f <- matrix(f[, , 1], length(rows))
  by_chain(fit, t(f), paste0("f[", rows, "]"))
}

#' All draws, chain by chain
#' @return List: `w` (S x rank x functions), `rates` (S x number of rates),
#'   `wrong` (S x classes), `weights`.
#' @export
#' @noRd
posterior_pool.kb_kgs <- function(fit) {
  draws <- lapply(fit_runs(fit), `[[`, "draws")
  by_row <- function(name, size) {
    matrix(unlist(lapply(draws, `[[`, name)), ncol = size, byrow = TRUE)
  }
  classes <- fit$settings$classes
  wrong <- by_row("wrong", classes)
  functions <- kgs_functions(fit)
  w <- by_row("w", kgs_rank(fit) * functions)
  list(
    w = array(w, c(nrow(w), kgs_rank(fit), functions)),
    rates = matrix(unlist(lapply(draws, `[[`, "rates")),
      nrow = nrow(w), byrow = TRUE
    ),
    wrong = wrong, weights = rep(1 / nrow(wrong), nrow(wrong))
  )
}
