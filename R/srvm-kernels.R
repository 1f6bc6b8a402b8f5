# Several kernels in one srvm fit: each has its own filter (as many runs as
# there are replicates), and results are averages with weights p(h) Z-hat(h).

# The grid ---------------------------------------------------------------------

# The meaning of `kernel = NULL`. Bandwidths of particles are learned by moves.
default_kernel <- function(prior, control, memory) {
  no_moves <- inherits(control, "kb_smc_control") && control$n_moves == 0
  if (is_improper(prior) || identical(control$proposal, "paper")) {
    kernel_gaussian("median")
  } else if (no_moves && !is_bounded(memory)) {
    kernel_gaussian("learn")
  } else {
    kernel_matern("ard")
  }
}

#' The kernel of a fit, or the list of kernels to average over
#' @param kernel A kernel or a list of them.
#' @param x Points as the model sees them.
#' @noRd
srvm_kernels <- function(kernel, x) {
  if (is_dictionary(kernel)) {
    return(srvm_dictionary(kernel, x))
  }
  refuse_mixed(kernel)
  kernels <- check_kernels(kernel)
  for (one in kernels) {
    if (!kernel_is_builtin(one)) refuse_custom()
    check_kernel_dimension(one, ncol(x))
  }
  if (any(vapply(kernels, kernel_has, NA, "ard"))) {
    return(check_ard(kernels))
  }
  kernels <- do.call(c, lapply(kernels, kernel_learn, x))
  if (length(kernels) == 1) kernels[[1]] else kernels
}

# Replace a bandwidth "learn" by those of the grid: a list of kernels
kernel_learn <- function(kernel, x) {
  if (!kernel_has(kernel, "learn")) {
    return(list(kernel_resolve(kernel, x)))
  }
  lapply(bandwidth_median(x) * learn_factors, function(bandwidth) {
    kernel_resolve(kernel_fill(kernel, "learn", bandwidth), x)
  })
}

# Multiples of the median distance: halving steps, as most functions vary over
# less than half the range of the points
learn_factors <- 2^(-3:1)

refuse_custom <- function() {
  kb_abort(c(
    "Kernels of a list or a dictionary must be built in.",
    x = "One has a part made by {.fn kernel_custom}.",
    i = "{.fn srvm} takes it as the only kernel."
  ), "argument", argument = "kernel")
}

# Weights of kernels in a prior

# Prior probabilities of the kernels
kernel_prior_resolve <- function(weights, n) {
  if (is.null(weights)) weights <- rep(1, n)
  if (length(weights) != n) {
    kb_abort(c(
      "{.arg kernels} of {.arg prior} must have a weight for each kernel.",
      x = "It has {length(weights)} weights for {n} kernel{?s}."
    ), "argument", argument = "prior")
  }
  weights / sum(weights)
}

# The kernels of a fit: a list, with one element if they are not averaged
settings_kernels <- function(settings) {
  kernel <- settings$kernel
  one <- is.null(kernel) || inherits(kernel, "kb_kernel") ||
    is_dictionary(kernel)
  if (one) list(kernel) else kernel
}

n_kernels <- function(settings) length(settings_kernels(settings))

is_averaged <- function(fit) n_kernels(fit$settings) > 1

# Runs -------------------------------------------------------------------------

# A replicate is one run for each kernel, in the order of the kernels: run i is
# of kernel (i - 1) %% n + 1. Only replicates whose runs are all at the fit's
# time count, since an average over some of the kernels would be a different
# posterior.

#' The indices of the runs of each replicate: a list
#' @param runs Runs of whole replicates.
#' @noRd
run_groups <- function(fit, runs = fit$runs) {
  group_runs(length(runs), n_kernels(fit$settings))
}

group_runs <- function(n_runs, n_kernels) {
  lapply(seq_len(n_runs %/% n_kernels), function(replicate) {
    (replicate - 1L) * n_kernels + seq_len(n_kernels)
  })
}

# The time of each replicate: NA while its runs differ or have not begun
replicate_times <- function(fit) {
  times <- run_times(fit)
  times[lengths(fit$runs) == 0] <- NA
  times <- matrix(times, n_kernels(fit$settings))
  first <- times[1, ]
  same <- colSums(times == rep(first, each = nrow(times))) == nrow(times)
  first[!same %in% TRUE] <- NA
  first
}

# The core's configuration of one run: its kernel and its random numbers
run_config <- function(config, index) {
  kernels <- settings_kernels(config)
  kernel <- (index - 1) %% length(kernels) + 1
  config$kernel <- kernels[[kernel]]
  config$particles <- particles_of(config$particles, config$shares, kernel)
  c(config, list(replicate = index))
}

# The kernel of each of the runs that count, by number
run_kernels <- function(fit, runs) {
  rep_len(seq_len(n_kernels(fit$settings)), length(runs))
}

# Log of the prior probability of each run's kernel, relative to an equal one
#
# The weight of a run is its evidence times this: 0 for a single kernel.
run_log_prior <- function(fit, runs) {
  if (!is_averaged(fit)) {
    return(numeric(length(runs)))
  }
  prior <- fit$settings$prior$kernels
  log(prior * length(prior))[run_kernels(fit, runs)]
}

#' Sums over replicates of numbers by row, averaged over kernels by their
#' probabilities at that row
#' @param values List, one vector per run.
#' @noRd
average_over_kernels <- function(fit, runs, values) {
  if (is_averaged(fit)) {
    p <- kernel_path(fit, runs)
    kernel <- run_kernels(fit, runs)
    values <- Map(function(value, h) value * p[, h], values, kernel)
  }
  Reduce(`+`, values)
}

# Posterior of the kernels after each row: rows x kernels
kernel_path <- function(fit, runs) {
  logs <- evidence_paths(runs, fit$time - n_past(fit))
  logs <- sweep(logs, 2, run_log_prior(fit, runs), "+")
  logs <- logs - apply(logs, 1, max)
  sums <- t(rowsum(t(exp(logs)), run_kernels(fit, runs)))
  unname(sums / rowSums(sums))
}

# The posterior over kernels ---------------------------------------------------

#' The posterior over kernels
#'
#' `kernel_posterior(fit)` has the weights of the kernels over which a fit of
#' [srvm()] with several kernels, or with a bandwidth `"learn"`, averages: kernel h
#' has \deqn{p(h | y) \propto p(h) \hat{Z}_h,} its prior probability (see
#' [srvm_prior()]) times the estimate of its evidence from its own particles, which
#' is unbiased. Of a fit with a [dictionary][kernel_dictionary], which is one model,
#' it has the share of the centres that each kernel has.
#' @param object A fit of [srvm()].
#' @param by_row `TRUE`: the probabilities after each row.
#' @param ... Not used: unknown arguments are errors.
#' @return A data frame with one line per kernel, in the order given: `kernel` (as
#'   text), `bandwidth` (in the units of the standardised predictors if `scale =
#'   TRUE`; `NA` if it is not one number), `prior` (its probability before the data),
#'   `log_evidence` (of the response in its own units) and its Monte Carlo standard
#'   error `mc_se`, `probability` and its standard error `probability_se`, to first
#'   order from those of the evidences (`NA` where the estimate of a variance is
#'   negative), with the same limitations as in [evidence()].
#'
#'   For a dictionary: `kernel`, `bandwidth`, the posterior mean `centres` of
#'   the number of centres with this kernel and its standard deviation
#'   `centres_sd`, the `probability` that there is at least one, and the
#'   posterior mean `share` and standard deviation `share_sd` of its share of
#'   the centres, given that there are any (`NA` if no particle has any).
#'
#'   With `by_row = TRUE` a data frame with a line for each row of data in the
#'   order of processing: `row`, and the probability of each kernel given the
#'   rows up to this one in the columns `kernel1`, `kernel2` and so on.
#' @seealso [evidence()] for the evidence of the average.
#' @examples
#' data <- sim_sinc(40, seed = 1)
#' fit <- srvm(y ~ x, data,
#'   kernel = list(kernel_gaussian(0.2), kernel_laplace(0.5)),
#'   control = smc_control(particles = 100), seed = 1
#' )
#' kernel_posterior(fit)
#' tail(kernel_posterior(fit, by_row = TRUE), 3)
#' plot(fit, type = "kernels")
#' @export
kernel_posterior <- function(object, ...) UseMethod("kernel_posterior")

#' @export
kernel_posterior.default <- function(object, ...) {
  not_defined("kernel_posterior", object, of = "srvm")
}

#' @export
kernel_posterior.kb_srvm_mcmc <- function(object, ...) {
  object <- checked_fit(object)
  if (has_dictionary(object)) {
    return(kernel_posterior.kb_srvm(object, ...))
  }
  refuse_batch("kernel_posterior()", "A batch fit has one kernel")
}

#' @rdname kernel_posterior
#' @export
kernel_posterior.kb_srvm <- function(object, by_row = FALSE, ...) {
  object <- checked_fit(object, ...)
  by_row <- check_flag(by_row)
  if (has_dictionary(object)) {
    if (by_row) refuse_shares_by_row()
    return(dictionary_posterior(object))
  }
  runs <- fit_runs(object)
  if (by_row) {
    path <- kernel_path(object, runs)
    colnames(path) <- paste0("kernel", seq_len(ncol(path)))
    return(data.frame(
      row = row_numbers(object)[rows_taken_in(object)], path
    ))
  }
  kernels <- settings_kernels(object$settings)
  each <- kernel_evidences(object, runs)
  prior <- object$settings$prior$kernels
  if (is.null(prior)) prior <- rep(1 / length(kernels), length(kernels))
  log_p <- log(prior) + each$log_evidence
  p <- exp(log_p - log_sum_exp(log_p))
  data.frame(
    kernel = vapply(kernels, format, ""),
    bandwidth = vapply(kernels, single_bandwidth, 0), prior = prior,
    log_evidence = each$log_evidence,
    mc_se = vapply(each$variance, standard_error, 0),
    probability = p, probability_se = probability_se(p, each$variance)
  )
}

# Log evidence of each kernel, in the response's units, and the relative
# variance of its estimate
kernel_evidences <- function(fit, runs) {
  units <- rows_counted(fit) * log(fit$settings$scaling$y_scale)
  by_kernel <- split(runs, run_kernels(fit, runs))
  log_z <- vapply(by_kernel, function(runs) {
    log_mean_exp(vapply(runs, `[[`, 0, "log_evidence"))
  }, 0)
  list(
    log_evidence = unname(log_z) - units,
    variance = unname(vapply(by_kernel, mean_variance, 0))
  )
}

#' Relative variance of the weighted mean of the runs' evidences: (S37)
#' @param log_prior Of each run, see `run_log_prior()`.
#' @noRd
mean_variance <- function(runs, log_prior = 0) {
  variance <- vapply(runs, `[[`, 0, "relative_variance")
  sum(evidence_share(runs, log_prior)^2 * variance)
}

# Standard errors of p(h) Z(h) / sum p Z, to first order, (S38): with v the
# relative variances of Z, p_h^2 [(1 - p_h)^2 v_h + sum_{j != h} p_j^2 v_j]
probability_se <- function(p, v) {
  if (length(p) == 1) {
    return(0)
  }
  others <- sum(p^2 * v) - p^2 * v
  vapply(p^2 * ((1 - p)^2 * v + others), standard_error, 0)
}

# Printing -------------------------------------------------------------------

# The lines of print() on the kernel, or on the most probable ones
describe_kernels <- function(x, most = 3) {
  if (has_dictionary(x)) {
    return(describe_dictionary(x, most))
  }
  if (!is_averaged(x)) {
    return(paste0(
      "  kernel:       ", format(shown_kernel(x$settings)),
      if (has_linear_part(x$settings)) ", linear part", "\n"
    ))
  }
  table <- kernel_posterior(x)
  top <- utils::head(order(-table$probability), most)
  lines <- paste0(
    "    ", format(round(table$probability[top], 3), nsmall = 3), " (se ",
    format(round(table$probability_se[top], 3), nsmall = 3), ")  ",
    vapply(table$kernel[top], shorten, "", most = 52), "\n"
  )
  paste0(
    "  kernel:       average of ", nrow(table), ", by probability:\n",
    paste(lines, collapse = ""),
    if (has_linear_part(x$settings)) "    and a linear part\n"
  )
}

# The table without uninformative columns, on one line per kernel
print_kernels <- function(fit, digits) {
  if (has_dictionary(fit)) {
    return(print_dictionary(fit, digits))
  }
  table <- kernel_posterior(fit)
  name <- if (differ_in_bandwidth(fit)) "bandwidth" else "kernel"
  table$kernel <- vapply(table$kernel, shorten, "", most = 36)
  shown <- c(name, "log_evidence", "mc_se", "probability", "probability_se")
  if (diff(range(table$prior)) > 1e-12) shown <- append(shown, "prior", 1)
  table$log_evidence <- format(round(table$log_evidence, 2), nsmall = 2)
  figures <- c("probability", "probability_se")
  table[figures] <- lapply(table[figures], round, digits)
  print(table[shown], digits = digits, row.names = FALSE)
}

# Do the kernels of a fit differ only in one bandwidth each?
differ_in_bandwidth <- function(fit) {
  kernels <- settings_kernels(fit$settings)
  bandwidths <- vapply(kernels, single_bandwidth, 0)
  rest <- lapply(kernels, function(kernel) kernel[names(kernel) != "bandwidth"])
  !anyNA(bandwidths) && !anyDuplicated(bandwidths) && length(unique(rest)) == 1
}

# Probabilities of the kernels with bars of two standard errors; for a
# dictionary shares of the centres with two standard deviations
kernels_picture <- function(x) {
  table <- kernel_posterior(x)
  shares <- has_dictionary(x)
  value <- if (shares) table$share else table$probability
  reach <- 2 * if (shares) table$share_sd else table$probability_se
  reach[is.na(reach)] <- 0
  by_number <- shares || !differ_in_bandwidth(x)
  at <- if (by_number) seq_along(value) else table$bandwidth
  # The colours of a dictionary are those of its centres.
  by <- groups("kernel", at, ordered_colours(length(at)), key = FALSE)
  new_picture(panel(
    if (by_number) "kernel" else "bandwidth",
    if (shares) "share of the centres" else "probability",
    ranges_layer(at, 0, value, colour = "sky", lwd = 12, group = at,
      by = if (shares) by
    ),
    points_layer(at, value,
      colour = "black", size = 1, label = if (shares) "share" else "posterior"
    ),
    ranges_layer(at, pmax(value - reach, 0), pmin(value + reach, 1),
      colour = "black", lwd = 1.5,
      label = if (shares) "two standard deviations" else "two standard errors"
    ),
    if (!shares) {
      points_layer(at, table$prior,
        shape = 4, size = 1, colour = "grey", label = "prior"
      )
    },
    ylim = 0:1, log = if (by_number) "" else "x",
    xlim = if (by_number) range(at) + c(-0.5, 0.5),
    ticks = if (by_number) "whole"
  ))
}

# Probabilities of the kernels against rows
kernel_path_picture <- function(x) {
  path <- as.matrix(kernel_posterior(x, by_row = TRUE)[-1])
  kernels <- settings_kernels(x$settings)
  by_bandwidth <- differ_in_bandwidth(x)
  names <- seq_along(kernels)
  if (by_bandwidth) names <- vapply(kernels, single_bandwidth, 0)
  if (!anyDuplicated(signif(names, 2))) names <- signif(names, 2)
  new_picture(panel(
    path_label("row"), "probability of the kernel",
    layer("lines", matrix_lines(recorded_steps(x), path, names),
      lwd = 1.5, by = groups(
        if (by_bandwidth) "bandwidth" else "kernel", names,
        rev(ordered_colours(length(names)))
      )
    ),
    ylim = 0:1
  ))
}

# Kernels of the user's own in srvm(). Its core evaluates kernels in C++ while
# rows arrive: it gets coordinates of the rows in which the kernel is an inner
# product, and the linear kernel.
#
# With the kernel c(x, z) = k(x, z) / sqrt(k(x, x) k(z, z)) and its matrix
# C = U diag(l) U' of the distinct rows X, a point has the coordinates
# sqrt(k(x, x)) diag(l)^(-1/2) U' c(X, x): their inner products with those of X are
# k(x, X). One more coordinate, 0 at rows of X, makes up for the rest of k(x, x).

#' @param x Points as the kernel sees them.
#' @return List of `kernel`, distinct `points`, their `size`, square roots of
#'   k(x, x), and `axes`, from normalised kernel values to coordinates.
#' @noRd
custom_map <- function(kernel, x) {
  if (kernel_has(kernel, "ard") || kernel_has(kernel, "learn")) {
    kb_abort(c(
      "Bandwidths beside {.fn kernel_custom} cannot be learned.",
      i = "Give a number, or {.code bandwidth = \"median\"}."
    ), "argument", argument = "kernel")
  }
  kernel <- kernel_resolve(kernel, x)
  points <- x[distinct_rows(x)$first, , drop = FALSE]
  gram <- kernel_evaluate(kernel, points)
  if (any(diag(gram) < 0)) refuse_indefinite(range(diag(gram)))
  size <- unit_size(diag(gram))
  found <- eigen(gram / outer(size, size), symmetric = TRUE)
  values <- found$values
  least <- max(values, 0) * nrow(points) * .Machine$double.eps
  if (max(values) <= 0 || min(values) < -max(1e-8 * max(values), least)) {
    refuse_indefinite(range(values))
  }
  kept <- values > max(1e-12 * max(values), least)
  list(
    kernel = kernel, points = points, size = size,
    axes = sweep(found$vectors[, kept, drop = FALSE], 2,
      sqrt(values[kept]), "/"
    )
  )
}

# Square roots of k(x, x), 1 where they are 0
unit_size <- function(self) ifelse(self > 0, sqrt(pmax(self, 0)), 1)

refuse_indefinite <- function(values) {
  kb_abort(c(
    "{.arg kernel} must be positive definite.",
    x = "Eigenvalues of its matrix at the training rows, or values k(x, x), go
         from {format(values[[1]], digits = 3)} to
         {format(values[[2]], digits = 3)}."
  ), "argument", argument = "kernel")
}

# Equal rows get equal coordinates, to the last bit.
map_points <- function(map, x) {
  if (nrow(x) == 0) {
    return(matrix(0, 0, ncol(map$axes) + 1))
  }
  rows <- distinct_rows(x)
  x <- x[rows$first, , drop = FALSE]
  whole <- kernel_self(map$kernel, x)
  size <- unit_size(whole)
  values <- kernel_evaluate(map$kernel, x, map$points)
  found <- (values / outer(size, map$size)) %*% map$axes
  rest <- (whole > 0) - rowSums(found^2)
  rest[rest < 1e-8] <- 0
  (size * cbind(found, sqrt(rest)))[rows$kind, , drop = FALSE]
}

# Rows that are to be training rows: the map must know the kernel between them
refuse_unmapped <- function(settings, x) {
  if (is.null(settings$scaling$map) || nrow(x) == 0) {
    return(invisible())
  }
  x <- scaling_x(settings$scaling, x)
  if (any(x[, ncol(x)] > 0)) {
    kb_abort(c(
      "New rows cannot be training rows of a fit whose kernel is from
       {.fn kernel_custom}.",
      i = "Fit all rows at once with {.fn srvm}."
    ), "not_defined")
  }
}

# The kernel that the user gave
shown_kernel <- function(settings) {
  map <- settings$scaling$map
  if (is.null(map)) settings$kernel else map$kernel
}

is_custom <- function(kernel) {
  inherits(kernel, "kb_kernel") && !kernel_is_builtin(kernel)
}
