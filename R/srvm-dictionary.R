# Fits of srvm() whose one model has several kernels (kernel_dictionary()): a
# candidate is a pair of a row and a kernel. The core numbers the candidates of
# a row consecutively.

# The dictionary of a fit's model, given the points x
srvm_dictionary <- function(dictionary, x) {
  dictionary <- check_class(dictionary, "kb_kernel_dictionary",
    "`kernel_dictionary()`", "kernel"
  )
  if (any(vapply(dictionary$parts, kernel_has, NA, "ard"))) refuse_ard_part()
  kernels <- srvm_kernels(dictionary$parts, x)
  if (inherits(kernels, "kb_kernel")) kernels <- list(kernels)
  new_dictionary(unique(kernels))
}

has_dictionary <- function(fit) is_dictionary(fit$settings$kernel)

# The kernels that candidates of a pool may have
candidate_kernel_list <- function(settings) {
  kernel <- settings$kernel
  if (is_dictionary(kernel)) kernel$parts else settings_kernels(settings)
}

# Do the candidates of a fit differ in their kernels?
names_kernels <- function(fit) is_averaged(fit) || has_dictionary(fit)

# Candidates per row
kernels_a_row <- function(settings) {
  if (is_dictionary(settings$kernel)) length(settings$kernel$parts) else 1L
}

refuse_dictionary <- function(settings, method, control) {
  if (!is_dictionary(settings$kernel) || method == "mcmc" ||
    control$proposal == "adapted") {
    return(invisible())
  }
  kb_abort(c(
    "{.arg kernel} must not be a dictionary here.",
    x = "{.code proposal = \"{control$proposal}\"} supports only one kernel per
         row.",
    i = "Use {.code proposal = \"adapted\"}."
  ), c("not_defined", "argument"), argument = "kernel")
}

# A dictionary within a list
refuse_mixed <- function(kernel) {
  if (is.list(kernel) && !inherits(kernel, "kb_kernel") &&
    any(vapply(kernel, is_dictionary, NA))) {
    kb_abort(c(
      "{.arg kernel} must be a dictionary or a list of kernels, not both.",
      i = "Compare fits with each by {.fn evidence}."
    ), "argument", argument = "kernel")
  }
}

refuse_shares_by_row <- function() {
  kb_abort(c(
    "Shares of the kernels of a dictionary are not available by row.",
    i = "{.code kernel_posterior(fit)} has them given all rows."
  ), "not_defined")
}

# Results ----------------------------------------------------------------------

# Numbers of centres: particles x kernels
centre_counts <- function(fit, pool) {
  kernels <- seq_along(candidate_kernel_list(fit$settings))
  particle <- factor(rep(seq_along(pool$k), pool$k), seq_along(pool$k))
  kernel <- factor(candidate_kernels(fit, pool$sets, pool), kernels)
  unclass(unname(table(particle, kernel)))
}

# The value of kernel_posterior() for a dictionary
dictionary_posterior <- function(fit) {
  pool <- srvm_pool(fit)
  counts <- centre_counts(fit, pool)
  moments <- function(values, weights) {
    mean <- colSums(weights * values)
    square <- colSums(weights * sweep(values, 2, mean)^2)
    list(mean = mean, sd = sqrt(square))
  }
  number <- moments(counts, pool$weights)
  some <- pool$k > 0
  share <- moments(
    counts[some, , drop = FALSE] / pool$k[some],
    pool$weights[some] / sum(pool$weights[some])
  )
  if (!any(some)) share <- list(mean = NA_real_, sd = NA_real_)
  kernels <- candidate_kernel_list(fit$settings)
  data.frame(
    kernel = vapply(kernels, format, ""),
    bandwidth = vapply(kernels, single_bandwidth, 0),
    centres = number$mean, centres_sd = number$sd,
    probability = colSums(pool$weights * (counts > 0)),
    share = share$mean, share_sd = share$sd
  )
}

# Probability that each row is a centre with any kernel and with each
dictionary_inclusion <- function(fit, pool) {
  particle <- rep(seq_along(pool$k), pool$k)
  row <- pool$rows[pool$sets]
  kernel <- candidate_kernels(fit, pool$sets, pool)
  n <- nrow(fit$data$x)
  sums <- function(keep) {
    out <- numeric(n)
    if (any(keep)) {
      total <- rowsum(pool$weights[particle[keep]], row[keep])
      out[as.integer(rownames(total))] <- pmin(total, 1)
    }
    out
  }
  out <- data.frame(
    row = row_numbers(fit),
    probability = sums(!duplicated(cbind(particle, row)))
  )
  for (h in seq_along(candidate_kernel_list(fit$settings))) {
    out[[paste0("kernel", h)]] <- sums(kernel == h)
  }
  out
}

# The numbers of centres by kernel in the form of as_draws()
dictionary_parameters <- function(fit, pool) {
  counts <- as.data.frame(centre_counts(fit, pool))
  names(counts) <- paste0("k_kernel[", seq_along(counts), "]")
  counts
}

# Printing -------------------------------------------------------------------

describe_dictionary <- function(x, most = 3) {
  table <- dictionary_posterior(x)
  top <- utils::head(order(-table$share), most)
  show <- function(v) format(round(v, 2), nsmall = 2)
  paste0(
    "  kernel:       dictionary of ", nrow(table), ", by share of centres:\n",
    paste0(
      "    ", show(table$share[top]), " (sd ", show(table$share_sd[top]), ")  ",
      vapply(table$kernel[top], shorten, "", most = 54), "\n",
      collapse = ""
    )
  )
}

print_dictionary <- function(fit, digits) {
  table <- dictionary_posterior(fit)
  table$kernel <- vapply(table$kernel, shorten, "", most = 36)
  figures <- c("centres", "centres_sd", "probability", "share", "share_sd")
  table[figures] <- lapply(table[figures], round, digits)
  print(table[c("kernel", figures)], digits = digits, row.names = FALSE)
}
