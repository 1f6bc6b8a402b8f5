# Have chains mixed? Monitored quantities, the worst of them, and the warning.

#' @export
warn_quality.kb_mcmc <- function(fit, since = 0L) {
  if (fit$status != "complete") {
    return(invisible())
  }
  inform_memory(fit)
  inform_short(fit)
  if (is_too_short_to_judge(fit)) {
    return(invisible())
  }
  poor <- unmet_convergence(fit, trusted_mixing)
  if (nrow(poor) > 0) warn_mixing(fit, poor)
}

# Beyond it what users read may change with the seed, posterior means by a third
# of their sd: the error is known to a quarter. Chains without a fixed length aim
# at less.
trusted_mixing <- list(error = 0.3)
aimed_error <- 0.25

trusted_until <- function(most) {
  convergence(max_iter = most, error = aimed_error)
}

#' Warn of what users read if chains have not mixed
#' @param poor The rows of `chain_mixing()` that say so.
#' @noRd
warn_mixing <- function(fit, poor) {
  kb_warn(c(
    "The chains have not mixed well: what you read may change with the seed.",
    unmet_bullets(fit, trusted_mixing, poor),
    i = "{.code update(fit, iter = {more_iterations(fit, poor)})} continues;
         {.code update(fit, until = convergence(error = {aimed_error}))} until
         Monte Carlo errors are at most {100 * aimed_error}% of posterior sds.",
    i = mixing_advice(fit, poor$variable)
  ), "convergence", variables = poor$variable)
}

# Chains that ended before they had converged are not too short to be judged
is_too_short_to_judge <- function(fit, least = 100) {
  draws <- fit$control$iter %/% fit$control$thin
  is.null(fit$control$until) && draws < least &&
    draws * length(fit$runs) < 4 * least
}

# Why mixing cannot be judged: words, or none
short_words <- function(fit) {
  n <- fit$control$iter %/% fit$control$thin
  c(
    if (is_too_short_to_judge(fit)) {
      paste(
        counted(n, "draw"), "per chain: too few to judge mixing"
      )
    },
    if (length(fit$runs) == 1) "one chain: only its halves can be compared"
  )
}

inform_short <- function(fit) {
  words <- short_words(fit)
  if (length(words) > 0) {
    kb_inform(c(
      paste0("There ", if (grepl("^1 |^one", words[[1]])) "is " else "are ",
        paste(words, collapse = ", and "), "."
      ),
      i = "Set {.arg chains} and {.arg iter} in {.fn mcmc_control};
           {.code update(fit, iter = )} continues."
    ), "few_draws")
  }
}

# Iterations after which the largest Monte Carlo error is the one aimed at, which
# chains that have not mixed understate
more_iterations <- function(fit, poor) {
  iter <- as.double(fit$control$iter)
  table <- chain_mixing(fit)
  error <- c(
    if ("f" %in% watched_kind(poor$variable)) prediction_error(table),
    poor$error[watched_kind(poor$variable) != "f"]
  )
  wanted <- if (anyNA(error)) Inf else iter * ((max(error) / aimed_error)^2 - 1)
  format(signif(min(max(wanted, iter), 10 * iter), 1), scientific = FALSE)
}

worst <- function(of, x) {
  x <- x[!is.na(x)]
  if (length(x) == 0) NA_real_ else of(x)
}

#' Further advice for chains of this engine: a line, or NULL
#' @param poor Names of the quantities that do not mix.
#' @noRd
mixing_advice <- function(fit, poor) UseMethod("mixing_advice")

#' @export
mixing_advice.default <- function(fit, poor) NULL

# Mixing ----------------------------------------------------------------------

#' @export
ess.kb_mcmc <- function(object, ...) {
  object <- checked_fit(object, ...)
  chain_mixing(object)[c("variable", "ess_bulk", "ess_tail", "rhat")]
}

# `mixing_table()` of all monitored quantities
#
# The tables of the last fits are kept: print() and the warning use the same.
chain_mixing <- function(fit) {
  key <- rlang::hash(list(class(fit), fit$data, fit$runs, fit$mould$levels))
  table <- mixing_memory$tables[[key]]
  if (is.null(table)) {
    table <- mixing_table(watched_matrices(fit))
    mixing_memory$tables <- utils::tail(
      c(mixing_memory$tables, stats::setNames(list(table), key)), 8
    )
  }
  table
}

mixing_memory <- new.env(parent = emptyenv())
mixing_memory$tables <- list()

# The smaller effective sample size, of the bulk or of the tails
least_size <- function(table) {
  pmin(table$ess_bulk, table$ess_tail, na.rm = TRUE)
}

# Rows of a table of mixing, the worst first: by R-hat where it is too large,
# then by effective sample size
worst_first <- function(table) {
  rhat <- pmax(table$rhat, 1.05)
  # Numbers that are not finite.
  rhat[is.na(rhat)] <- Inf
  table <- table[order(table$constant, -rhat, least_size(table)), ]
  rownames(table) <- NULL
  table
}

# Predictions, parameters that print() shows, and what tells how the sampler
# moves: scales, inclusion and sizes of kernels, likelihoods
watched_kind <- function(variable) {
  kinds <- c(f = "f", p = "f", log_lambda = "scale", log_bandwidth = "scale",
    delta = "scale", share = "scale", d = "scale", J = "size", k = "size",
    log_nugget = "scale", log_lik = "size"
  )
  kind <- kinds[sub("\\[.*", "", variable)]
  unname(ifelse(is.na(kind), "parameter", kind))
}

# Lines of warnings on these rows of a table of mixing
mixing_bullets <- function(fit, table, by_error) {
  found <- if (by_error) error_words(table$error) else rhat_words(table)
  lines <- paste0(watched_words(fit, table$variable), ": ", found)
  stats::setNames(gsub("([{}])", "\\1\\1", lines), rep("x", length(lines)))
}

rhat_words <- function(table) {
  size <- function(v) vapply(v, format, "", digits = 3)
  paste0(
    "R-hat ", vapply(table$rhat, format, "", digits = 4),
    ", effective sample size ", size(table$ess_bulk), " (bulk)",
    ifelse(is.na(table$ess_tail), "",
      paste0(" and ", size(table$ess_tail), " (tails)")
    )
  )
}

# R-hat and effective sample sizes of many quantities at once, after Vehtari and
# others (2021), see ?convergence. Package posterior computes them one by one,
# which takes far longer.

#' R-hat and effective sample sizes
#'
#' They are NA if all draws are equal, or if there are few. A quantity stuck at
#' a different value in each half of a chain has an infinite R-hat.
#' @param chains Named list of matrices, a row per draw and a column per chain.
#' @return Data frame with a row per quantity: `variable`, `ess_bulk`,
#'   `ess_tail`, `rhat`, `error` (of the mean, in standard deviations), and
#'   whether it is `constant`.
#' @noRd
mixing_table <- function(chains) {
  size <- dim(chains[[1]])
  draws <- matrix(
    as.double(unlist(chains, use.names = FALSE)), ncol = length(chains)
  )
  finite <- colSums(!is.finite(draws)) == 0
  same <- colSums(draws != rep(draws[1, ], each = nrow(draws))) == 0
  known <- which(finite & !same & size[[1]] >= 4)
  numbers <- matrix(NA_real_, 3, length(chains))
  numbers[, known] <- mixing_cpp(
    draws[, known, drop = FALSE], size[[2]], normal_scores(size)
  )
  numbers[is.nan(numbers)] <- NA
  data.frame(
    variable = names(chains), ess_bulk = numbers[1, ], ess_tail = numbers[2, ],
    rhat = numbers[3, ], error = mean_errors(draws, size),
    constant = finite & same %in% TRUE
  )
}

# Monte Carlo errors of means, in standard deviations, from the means of chains
# or of at least four equal parts of them: within short chains that move slowly
# nothing else is seen. Halves of these show a drift that chains share.
mean_errors <- function(draws, size) {
  parts <- ceiling(4 / size[[2]])
  pmax(
    errors_by_parts(draws, size, parts), errors_by_parts(draws, size, 2 * parts)
  )
}

errors_by_parts <- function(draws, size, parts) {
  rows <- size[[1]] %/% parts
  if (rows == 0) {
    return(rep(NA_real_, ncol(draws)))
  }
  kept <- rep(seq_len(parts * rows), size[[2]]) +
    rep(size[[1]] * (seq_len(size[[2]]) - 1), each = parts * rows)
  draws <- draws[kept, , drop = FALSE]
  means <- colMeans(array(draws, c(rows, parts * size[[2]], ncol(draws))))
  means <- matrix(means, ncol = ncol(draws))
  apply(means, 2, stats::sd) / sqrt(nrow(means)) / apply(draws, 2, stats::sd)
}

# Normal scores of the ranks 1, 3/2, 2, ... of the draws in the chains' halves,
# after (B77)
normal_scores <- function(size) {
  n <- 2 * (size[[1]] %/% 2) * size[[2]]
  rank <- if (n > 0) seq(1, n, by = 0.5)
  stats::qnorm((rank - 3 / 8) / (n + 1 / 4))
}

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
