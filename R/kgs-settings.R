# The settings of a fit of kgs(): what the user left open, and what the data
# determine at the first call.

# The model and its kernel where they are left open
kgs_defaults <- function(given, columns, classes) {
  given$method <- check_kgs_sampler(given$method)
  noisy <- given$method %in% c("auto", "leapfrog")
  if (is.null(given$nugget)) given$nugget <- if (noisy) "learn" else 0
  noisy <- noisy && !identical(given$nugget, 0)
  if (is.null(given$kernel)) {
    given$kernel <- kernel_gaussian(
      if (noisy) kgs_bandwidth(columns, classes) else "median"
    )
  }
  if (is.null(given$noise)) {
    given$noise <- if (noisy) noise_beta(1, 9) else noise_beta()
  }
  given
}

# More bandwidths of their own take long, and the data tell little of each. With
# several classes chains that learn bandwidths mix slowly.
kgs_ard_columns <- 20

kgs_bandwidth <- function(columns, classes) {
  if (classes > 2) "evidence" else if (columns <= kgs_ard_columns) "ard" else {
    "learn"
  }
}

# A longer budget where it takes seconds
kgs_length <- function(settings, rows) {
  if (!is_noisy(settings)) {
    return(open_length())
  }
  few <- rows * (settings$classes - 1) <= 500
  list(
    warmup = 200L, iter = 200L, until = trusted_until(if (few) 800L else 400L)
  )
}

# Settings that are determined by the data at the first call
kgs_settings <- function(mould, kernel, noise, bias, nugget, method, rank,
                         scale, prior = kgs_prior(), class_weights = NULL) {
  scale <- check_scale(scale)
  classes <- nlevels(mould$y)
  check_classes_present(mould$y, mould$outcome_name)
  noise <- check_label_noise(noise, classes)
  bias <- check_number(bias, 0)
  nugget <- check_nugget(nugget)
  prior <- check_class(prior, "kb_kgs_prior", "`kgs_prior()`")
  kernel <- check_kernel(kernel)
  class_weights <- check_class_weights(class_weights, levels(mould$y))
  copies <- label_weights(
    list(class_weights = class_weights), mould$y, mould$weights
  )
  logs <- isTRUE(scale) && learned_bandwidths(kernel) != "none"
  scaling <- scaling_learn(
    mould$x, mould$y, !isFALSE(scale),
    logs & may_take_logs(mould), copies
  )
  x <- scaling_x(scaling, mould$x)
  kernel <- resolve_kgs_kernel(kernel, x, copies)
  distinct <- x[distinct_rows(x)$first, , drop = FALSE]
  method <- choose_kgs_method(method, classes, nugget, kernel)
  refuse_clashes("kgs", list(
    method = method, weights = mould$weights, class_weights = class_weights
  ))
  rank <- check_rank(rank, nrow(distinct), kernel, method)
  settings <- list(
    kernel = kernel, noise = noise, bias = bias, nugget = nugget,
    method = method, prior = prior, bandwidth = median_of(kernel, x, copies),
    scaling = scaling, scale = scale, classes = classes, rank_limit = rank,
    class_weights = class_weights
  )
  if (learned_bandwidths(kernel) == "evidence") {
    settings$kernel <- evidence_kernel(settings, x, mould$y, mould$weights)
    settings["bandwidth"] <- list(NULL)
  }
  if (learned_bandwidths(settings$kernel) == "none") {
    with_bias <- kernel_of_basis(settings)
    settings$basis <- kgs_basis(
      with_bias, distinct, rank, span_tolerance(settings, distinct)
    )
    pilot <- NULL
  } else {
    pilot <- run_pilot(settings, x, mould$y, mould$weights)
    settings$basis <- pilot_basis(settings, pilot, distinct)
  }
  settings$explained <- nugget_explained(settings, x)
  if (is_noisy(settings)) {
    settings$noisy <- learn_noisy(settings, x, mould$y, mould$weights, pilot)
    settings$basis$unexplained <- noisy_unexplained(settings, distinct)
  }
  check_basis(settings$basis)
  settings
}

# The median distance, where bandwidths are learned
median_of <- function(kernel, x, copies) {
  if (learned_bandwidths(kernel) == "none") NULL else finite_median(x, copies)
}

# With the bias
#' @param bandwidth Of a kernel whose bandwidths are learned.
#' @noRd
kernel_of_basis <- function(settings, bandwidth = settings$bandwidth) {
  kernel <- settings$kernel
  which <- learned_bandwidths(kernel)
  if (which != "none") kernel <- kernel_fill(kernel, which, bandwidth)
  if (settings$bias > 0) kernel + kernel_constant(settings$bias) else kernel
}

#' @param near From another fit or basis: the posterior is about there. NULL:
#'   its mode is sought.
#' @noRd
learn_noisy <- function(settings, x, y, weights, near = NULL) {
  config <- noisy_config(settings, ncol(x))
  data <- noisy_data(settings, x, y, weights)
  if (is.null(near)) {
    return(learn_proposal(config, data))
  }
  config[c("proposal", "start")] <- near[c("proposal", "start")]
  config$sites <- kgs_sites_cpp(
    config, data, noisy_centre(config, settings$classes)
  )
  config
}

# NULL, or positive numbers named by the classes, in their order
check_class_weights <- function(weights, levels) {
  if (is.null(weights)) {
    return(NULL)
  }
  fine <- is.numeric(weights) && setequal(names(weights), levels) &&
    length(weights) == length(levels) && all(is.finite(weights) & weights > 0)
  if (!isTRUE(fine)) {
    bad_argument(
      weights, "class_weights", "a positive number for each class, by its name"
    )
  }
  as.double(weights[levels])
}

check_nugget <- function(nugget) {
  if (identical(nugget, "learn")) nugget else check_number(nugget, 0)
}

check_classes_present <- function(y, arg) {
  if (nlevels(y) < 2) {
    kb_abort(c(
      "The response {.arg {arg}} must have at least two classes.",
      x = "It has {nlevels(y)}: {.val {levels(y)}}."
    ), "outcome", argument = arg, levels = levels(y))
  }
}

# The kernel for scaled points, without the bias
resolve_kgs_kernel <- function(kernel, x, copies) {
  check_kernel_dimension(kernel, ncol(x))
  if (learned_bandwidths(kernel) == "none") {
    return(kernel_resolve(kernel, x, copies))
  }
  kernel
}

kgs_methods <- c("auto", "circle", "hmc", "block", "coordinate", "leapfrog")

# Above this size the full rank takes long.
kgs_full_points <- 1500

check_kgs_sampler <- function(method) check_choice(method, kgs_methods)

choose_kgs_method <- function(method, classes, nugget, kernel) {
  method <- check_kgs_sampler(method)
  learned <- identical(nugget, "learn") || learned_bandwidths(kernel) != "none"
  noisy <- method == "leapfrog" || method == "auto" && nugget != 0
  if (learned || noisy) {
    return(check_leapfrog(method, nugget))
  }
  if (method == "auto") {
    return("hmc")
  }
  if (method == "block" && (nugget == 0 || classes > 2)) {
    kb_abort(c(
      "{.code method = \"block\"} is for two classes and a positive
       {.arg nugget}.",
      x = "There are {classes} classes and the nugget is {nugget}.",
      i = "{.code \"auto\"} chooses a suitable one."
    ), "argument", argument = "method")
  }
  method
}

# The only sampler that learns the nugget and bandwidths
check_leapfrog <- function(method, nugget) {
  if (!method %in% c("auto", "leapfrog")) {
    kb_abort(c(
      "{.code method = \"{method}\"} cannot learn the nugget or bandwidths.",
      i = "{.code method = \"leapfrog\"} can; or give a number and a kernel with
           a known bandwidth."
    ), "argument", argument = "method")
  }
  if (identical(nugget, 0)) {
    kb_abort(c(
      "{.arg nugget} must be positive, or {.val learn}, where bandwidths are
       learned and with {.code method = \"leapfrog\"}.",
      x = "It is 0."
    ), "argument", argument = "nugget")
  }
  "leapfrog"
}

# The largest rank, also for rows added later
check_rank <- function(rank, points, kernel, method) {
  if (is.null(rank)) {
    if (method == "leapfrog") {
      sampled <- learned_bandwidths(kernel) %in% c("ard", "learn")
      return(if (sampled) 100L else 200L)
    }
    return(if (points <= kgs_full_points) Inf else 200L)
  }
  rank <- check_count(rank, 1)
  if (rank < points && !kernel_is_builtin(kernel)) {
    kb_abort(c(
      "{.arg rank} needs a built-in kernel.",
      x = "{.code {format(kernel)}} has a custom part."
    ), "custom_kernel")
  }
  rank
}

check_basis <- function(basis) {
  if (ncol(basis$factor) == 0) {
    kb_abort(c(
      "The kernel is zero at all points.",
      i = "Use a positive {.arg bias}, or another kernel."
    ), "argument", argument = "kernel")
  }
  if (basis$unexplained > 0.05) {
    kb_warn(c(
      "The rank leaves more than 5 percent of the kernel unexplained.",
      x = "Rank {ncol(basis$factor)} leaves
           {format(100 * basis$unexplained, digits = 2)} percent.",
      "*" = "The model is that of the pivots, not that of the kernel.",
      i = "Use a larger {.arg rank} or a wider kernel."
    ), "rank")
  }
}

# The part of the features' variance that data with a nugget explain, r x r,
# after (G18). NULL for samplers that draw the features themselves
nugget_explained <- function(settings, x) {
  if (settings$method != "block") {
    return(NULL)
  }
  square <- crossprod(basis_features(settings$basis, x))
  with_nugget <- square + diag(settings$nugget, nrow(square))
  out <- solve(with_nugget, square)
  (out + t(out)) / 2
}

# Coordinates of the span of the training points' features, in which the prior
# of kgs() is isotropic: f = L w with L L' = G, from a pivoted Cholesky factor.

#' A basis of the span of points
#'
#' Any square root of G gives the same model: the prior is the same in all
#' orthonormal bases of the span. The root from a pivoted Cholesky factor needs
#' only the kernel at the pivots, and can be extended by further points.
#' @param kernel A resolved kernel, bias included.
#' @param x Distinct points.
#' @param rank The largest rank.
#' @return List: `kernel`, `points` (the pivots, in order of choice), `factor`
#'   (their lower triangular factor, r x r), `unexplained` (the share of the
#'   kernel's trace that is not in the span).
#' @noRd
kgs_basis <- function(kernel, x, rank, tol = 1e-12) {
  if (!kernel_is_builtin(kernel)) {
    return(extend_basis(empty_basis(kernel, x), x, tol, rank))
  }
  rank <- min(rank, nrow(x))
  check_memory(
    as.double(nrow(x)) * rank, "The features",
    "Use a smaller {.arg rank}."
  )
  found <- core_value(incomplete_cholesky_cpp(kernel, x, rank, tol))
  list(
    kernel = kernel, points = x[found$pivots, , drop = FALSE],
    factor = found$factor[found$pivots, , drop = FALSE],
    unexplained = found$residual / found$trace
  )
}

empty_basis <- function(kernel, x) {
  list(kernel = kernel, points = x[0, , drop = FALSE], factor = matrix(0, 0, 0))
}

#' The basis extended by further points: existing coordinates do not change
#'
#' In blocks of points, so that memory is bounded.
#' @param limit The largest rank.
#' @noRd
extend_basis <- function(basis, x, tol = 1e-12, limit = Inf) {
  for (rows in row_blocks(x, 1000, 1e6)) {
    basis <- extend_by_block(basis, x[rows, , drop = FALSE], tol, limit)
  }
  basis$unexplained <- unexplained_share(basis, x)
  basis
}

extend_by_block <- function(basis, x, tol, limit) {
  r <- nrow(basis$factor)
  if (r >= limit) {
    return(basis)
  }
  old <- basis_features(basis, x)
  residual <- kernel_evaluate(basis$kernel, x) - tcrossprod(old)
  # chol() compares a single residual; all together may leave out a share.
  self <- kernel_self(basis$kernel, x)
  least <- max(tol * mean(self), 1e-12 * sum(self))
  # chol() always accepts the first pivot.
  if (max(diag(residual)) <= least) {
    return(basis)
  }
  root <- suppressWarnings(chol(residual, pivot = TRUE, tol = least))
  new <- seq_len(min(attr(root, "rank"), limit - r))
  pivots <- attr(root, "pivot")[new]
  factor <- matrix(0, r + length(new), r + length(new))
  factor[seq_len(r), seq_len(r)] <- basis$factor
  factor[r + new, seq_len(r)] <- old[pivots, ]
  factor[r + new, r + new] <- t(root[new, new])
  basis$points <- rbind(basis$points, x[pivots, , drop = FALSE])
  basis$factor <- factor
  basis
}

# The share of the kernel's trace at points that is not in the span
unexplained_share <- function(basis, x) {
  trace <- sum(kernel_self(basis$kernel, x))
  if (trace == 0) 0 else 1 - sum(basis_features(basis, x)^2) / trace
}

# Coordinates of points, n x r
basis_features <- function(basis, x) {
  if (nrow(basis$points) == 0) {
    return(matrix(0, nrow(x), 0))
  }
  if (kernel_is_builtin(basis$kernel)) {
    return(incomplete_cholesky_features_cpp(
      basis$kernel, basis$points, basis$factor, x
    ))
  }
  t(forwardsolve(
    basis$factor, t(kernel_evaluate(basis$kernel, x, basis$points))
  ))
}
