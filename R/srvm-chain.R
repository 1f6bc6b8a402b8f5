# The batch sampler of srvm() as an engine of run_engine(): one run per chain.

#' @export
fit_engine.kb_srvm_mcmc <- function(fit) {
  rows <- fit$sequence
  structure(
    list(
      config = c(
        model_config(fit$settings),
        list(seed = fit$seed, simd = fit$simd, threads = chain_threads(fit)),
        fit$control[c(
          "warmup", "iter", "thin", "n_moves", "move_fraction"
        )]
      ),
      x = engine_points(fit)[rows, , drop = FALSE],
      y = response_rows(fit)[rows, , drop = FALSE]
    ),
    class = c("kb_engine_srvm_chain", "kb_engine_chain", "kb_engine")
  )
}

#' @export
engine_open.kb_engine_srvm_chain <- function(engine, index, state) {
  config <- c(engine$config, list(chain = index))
  srvm_chain_open_cpp(config, engine$x, engine$y, state)
}

#' @export
engine_grown.kb_engine_srvm_chain <- function(engine) {
  list("k", "sets", "noise", "coef", "factor", "z", "log_inverse", "spread",
    "df", "draws")
}
