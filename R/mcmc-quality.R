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
