# The samplers of kgs() as an engine of run_engine(): one run per chain.

#' @export
fit_engine.kb_kgs <- function(fit) {
  settings <- fit$settings
  structure(
    list(
      config = c(
        list(
          method = settings$method, noise = unclass(settings$noise),
          nugget = settings$nugget, kept = ncol(settings$basis$factor),
          seed = fit$seed
        ),
        fit$control[c("warmup", "iter", "thin")]
      ),
      starts = fit$starts,
      data = kgs_data(fit)
    ),
    class = c("kb_engine_kgs", "kb_engine_chain", "kb_engine")
  )
}

# Features, pivots first, and labels from 0
#
# The nugget of a row is a separate feature, so that rows with a nugget are
# distinct even if their predictors are equal; the block sampler integrates it
# out.
kgs_data <- function(fit) {
  settings <- fit$settings
  x <- scaling_x(settings$scaling, fit$data$x)
  rows <- distinct_rows(x)
  points <- x[rows$first, , drop = FALSE]
  if (settings$nugget > 0) {
    rows <- list(kind = seq_len(nrow(x)))
    points <- x
  }
  features <- basis_features(settings$basis, points)
  # Pivots first and exactly triangular, which the sampler exploits.
  pivot <- which_pivot(settings$basis, points)
  is_pivot <- !is.na(pivot)
  features[is_pivot, ] <- settings$basis$factor[pivot[is_pivot], ]
  order <- order(pivot)
  features <- features[order, , drop = FALSE]
  if (settings$nugget > 0 && settings$method != "block") {
    features <- cbind(features, diag(sqrt(settings$nugget), nrow(features)))
  }
  list(
    features = features, point = match(seq_along(order), order)[rows$kind],
    label = as.integer(fit$data$y) - 1L, classes = settings$classes
  )
}

# Which pivot of the basis each point is, or NA
which_pivot <- function(basis, points) match_points(points, basis$points)

#' @export
engine_open.kb_engine_kgs <- function(engine, index, state) {
  config <- c(
    engine$config, list(chain = index, start = engine$starts[[index]])
  )
  kgs_open_cpp(config, engine$data, state)
}

# Not how often each label was wrong, which is counted
#' @export
engine_grown.kb_engine_kgs <- function(engine) {
  if (is_ladder(engine)) {
    return(NextMethod())
  }
  lapply(c("w", "rates", "wrong"), function(name) c("draws", name))
}

# In turn, unless the products of all chains (or rungs) would fill the memory:
# then one after the other
#' @export
engine_groups.kb_engine_kgs <- function(engine, n_runs) {
  if (walls_fit(engine, n_runs * max(1, length(engine$config$beta)))) {
    return(NextMethod())
  }
  as.list(seq_len(n_runs))
}

# May so many samplers hold the products of all walls at once?
walls_fit <- function(engine, samplers, most = 2e9) {
  walls <- if (engine$config$method == "hmc") length(engine$data$label) else 0
  8 * samplers * as.double(walls)^2 <= most
}
