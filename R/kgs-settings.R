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
  refuse_weights(method, mould$weights, class_weights)
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

# Other samplers count wrong labels
refuse_weights <- function(method, weights, class_weights) {
  if (method == "leapfrog" || is.null(weights) && is.null(class_weights)) {
    return(invisible())
  }
  given <- if (is.null(weights)) "class_weights" else "weights"
  kb_abort(c(
    "{.arg {given}} needs {.code method = \"leapfrog\"}.",
    x = "The method is {.val {method}}.",
    i = "{.code nugget = \"learn\"} chooses it."
  ), "argument", argument = given)
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

kgs_methods <- c(
  "auto", "circle", "ellipse", "hmc", "block", "coordinate", "leapfrog"
)

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
