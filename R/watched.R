# Quantities that diagnostics of chains monitor besides parameters: results that
# people use, f at rows of the data, and the scales and inclusion of predictors.

# What diagnostics watch: named matrices, a row per draw and a column per chain
watched_matrices <- function(fit) {
  chains <- chain_matrices(fit)
  # Of draws from the prior it may be -Inf.
  if (is_prior_only(fit)) chains$log_lik <- NULL
  c(chains, watched_functions(fit), watched_scales(fit))
}

# f at `watched_rows()`; for several classes the function or probability of each
watched_functions <- function(fit) UseMethod("watched_functions")

# Scales and inclusion of predictors, if kernels have them
watched_scales <- function(fit) UseMethod("watched_scales")

#' @export
watched_scales.kb_mcmc <- function(fit) list()

# Names of quantities in words
watched_words <- function(fit, variable) {
  pattern <- "^([^[]+)\\[(?:(.*),)?([0-9]+)\\]$"
  part <- regmatches(variable, regexec(pattern, variable, perl = TRUE))
  words <- Map(function(part, name) {
    if (length(part) == 4) quantity_words(fit, part[[2]], part[[3]], part[[4]])
  }, part, variable)
  known <- lengths(words) > 0
  variable[known] <- paste0(variable[known], " (", unlist(words), ")")
  variable
}

#' @param class "" where there is none.
#' @param index Number of a row or predictor.
#' @noRd
quantity_words <- function(fit, what, class, index) {
  predictor <- fit$mould$x_names[as.integer(index)]
  words <- switch(what,
    f = paste0("f", if (nzchar(class)) paste(" of", class), " at row ", index),
    p = paste0("P(", class, ") at row ", index),
    log_lambda = paste("log scale of", predictor),
    log_bandwidth = paste("log bandwidth of", predictor),
    delta = paste("inclusion of", predictor),
    share = paste("share of", predictor),
    sigma = paste(noise_words(fit), "at row", index)
  )
  if (nzchar(class) && what %in% c("log_lambda", "delta")) {
    words <- paste0(words, ", ", class)
  }
  words
}

# Rows -------------------------------------------------------------------------

# The training rows at which f is watched
#
# They depend only on the predictors, so that every fit of the same data,
# including a longer one, monitors the same rows. They are evenly spaced in the
# order of the data along a direction of large variance, including both ends.
# Ten steps of the power method give the direction: it is close to the first
# principal axis, cheap with many rows or columns, and stable if two axes are
# similar.
watched_rows <- function(x, most = 20) {
  first <- distinct_rows(x)$first
  x <- scale(x[first, , drop = FALSE], scale = FALSE)
  spread <- sqrt(colMeans(x^2))
  x <- sweep(x, 2, ifelse(spread > 0, spread, 1), "/")
  # Not a direction in which the data do not vary.
  along <- x[which.max(rowSums(x^2)), ]
  for (step in 1:10) {
    along <- drop(crossprod(x, x %*% along))
    along <- along / max(abs(along), .Machine$double.xmin)
  }
  order <- order(drop(x %*% along), first)
  sort(first[order[spread_over(nrow(x), min(most, nrow(x)))]])
}

watched_x <- function(fit) {
  rows <- watched_rows(wide_x(fit))
  list(rows = rows, x = wide_x(fit, rows))
}

#' Draws as `watched_matrices()` has them
#' @param draws Matrix, all draws chain by chain x quantities.
#' @noRd
by_chain <- function(fit, draws, names) {
  chains <- length(fit_runs(fit))
  out <- lapply(seq_len(ncol(draws)), function(i) {
    matrix(as.double(draws[, i]), ncol = chains)
  })
  stats::setNames(out, names)
}

#' The same for each class
#' @param draws Array, draws x rows x classes.
#' @noRd
classes_by_chain <- function(fit, draws, rows, what) {
  levels <- fit$mould$levels
  by_chain(fit, matrix(draws, nrow(draws)), paste0(
    what, "[", rep(levels, each = length(rows)), ",",
    rep(rows, length(levels)), "]"
  ))
}

# Engines ----------------------------------------------------------------------

#' @export
watched_functions.kb_mcmc <- function(fit) {
  at <- watched_x(fit)
  f <- posterior_draws(fit, at$x, posterior_pool(fit))
  by_chain(fit, f, paste0("f[", at$rows, "]"))
}

#' @export
watched_functions.kb_bark <- function(fit) {
  if (!is_ordered(fit)) {
    return(c(watched_functions.kb_mcmc(fit), watched_noise(fit)))
  }
  at <- watched_x(fit)
  pool <- bark_pool(fit)
  p <- ordered_epred(
    fit, posterior_draws(fit, at$x, pool), pool, seq_along(pool$m)
  )
  classes_by_chain(fit, p, at$rows, "p")
}

#' @export
watched_functions.kb_bark_multinomial <- function(fit) {
  at <- watched_x(fit)
  pool <- posterior_pool(fit)
  rows <- complete_x(at$x)
  p <- fields_class_draws(fit, rows, pool, seq_along(pool$weights))
  classes_by_chain(fit, p, at$rows, "p")
}

#' @export
watched_functions.kb_kgs <- function(fit) {
  at <- watched_x(fit)
  f <- latent_draws(fit, at$x, posterior_pool(fit))
  f <- aperm(f, c(2, 1, 3))
  if (kgs_functions(fit) == 1) {
    return(by_chain(fit, matrix(f, nrow(f)), paste0("f[", at$rows, "]")))
  }
  classes_by_chain(fit, f, at$rows, "f")
}

#' @export
watched_scales.kb_bark <- function(fit) {
  if (ncol(fit$data$x) == 0) {
    return(list())
  }
  pool <- bark_pool(fit)
  included <- bark_included(fit, pool)
  if (has_directions(fit)) {
    return(watched_directions(fit, pool, included))
  }
  watched_inputs(fit, bark_scales(fit, pool), included)
}

#' @export
watched_scales.kb_bark_multinomial <- function(fit) {
  if (ncol(fit$data$x) == 0) {
    return(list())
  }
  fields <- field_pools(fit)
  out <- Map(function(pool, class) {
    watched_inputs(fit, bark_scales(fit, pool), bark_included(fit, pool),
      paste0(class, ",")
    )
  }, fields, names(fields))
  do.call(c, unname(out))
}

#' @param scales,included Draws x predictors.
#' @param class Prefix of the numbers in names.
#' @noRd
watched_inputs <- function(fit, scales, included, class = "") {
  type <- fit$settings$prior$type
  index <- paste0("[", class, seq_len(ncol(scales)), "]")
  x <- scaling_x(fit$settings$scaling, fit$data$x)
  least <- least_scales(x)
  scales <- log(pmax(scales, rep(least, each = nrow(scales))))
  # One scale for all.
  if (type == "equal") {
    scales <- scales[, 1, drop = FALSE]
    index <- index[[1]]
  }
  c(
    by_chain(fit, scales, paste0("log_lambda", index)),
    if (bark_selects(type)) {
      by_chain(fit, included, paste0("delta", index))
    }
  )
}

# Scales below these change a kernel by a millionth over a standard deviation of
# the predictor: smaller values make no difference, nor does it matter whether
# the predictor is in the kernel
least_scales <- function(x) {
  variance <- colMeans(sweep(x, 2, colMeans(x))^2)
  1e-6 / ifelse(variance > 0, variance, 1)
}

# The numbering of directions is arbitrary: use the sum of their scales, and the
# share of each predictor
watched_directions <- function(fit, pool, included) {
  x <- scaling_x(fit$settings$scaling, fit$data$x)
  total <- pmax(rowSums(bark_scales(fit, pool)), min(least_scales(x)))
  shares <- predictor_shares(fit, pool)
  c(
    by_chain(fit, cbind(log(total)), "log_lambda"),
    by_chain(fit, shares, paste0("share[", seq_len(ncol(shares)), "]")),
    if (bark_selects(fit$settings$prior$type)) {
      by_chain(fit, cbind(rowSums(included)), "d")
    }
  )
}
