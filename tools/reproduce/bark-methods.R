# One method on one split, for tools/reproduce/bark.R: bark() with each of its
# priors, and the packages of tools/peers-tuned.R.

bark_types <- c("equal", "different", "select_equal", "select_different")
papers_methods <- c(bark_types, "ksvm", "dbarts")

# ---- bark() -----------------------------------------------------------------

# Results carry R-hat and the effective sample size: no warning is needed.
without_convergence_warning <- function(expr) {
  withCallingHandlers(expr, kb_warning_convergence = function(w) {
    invokeRestart("muffleWarning")
  })
}

# `control`: arguments of mcmc_control(); the rest are its defaults.
run_bark <- function(x, y, type, control, seed) {
  without_convergence_warning(bark(x, y,
    prior = bark_prior_paper(type), scale = "linear",
    control = do.call(mcmc_control, control), seed = seed, progress = FALSE
  ))
}

worst_of <- function(v, of) if (all(is.na(v))) NA_real_ else of(v, na.rm = TRUE)

# Mixing of f at the 20 rows that `diagnostics()` follows.
bark_facts <- function(fit) {
  mixing <- diagnostics(fit)$convergence
  f <- mixing[startsWith(mixing$variable, "f["), ]
  c(
    kernels = mean(posterior::extract_variable(as_draws(fit), "J")),
    rhat = worst_of(f$rhat, max), ess = worst_of(f$ess_bulk, min)
  )
}

answer_bark <- function(type, control) {
  function(x, y, new, seed) {
    fit <- run_bark(x, y, type, control, seed)
    facts <- bark_facts(fit)
    if (is.factor(y)) {
      p <- stats::predict(fit, new, type = "prob")
      return(list(mean = p[, levels(y)[[2]]], facts = facts))
    }
    limits <- function(interval) {
      stats::predict(fit, new, interval = interval, level = 0.9)
    }
    list(
      mean = stats::predict(fit, new), f = limits("credible"),
      y = limits("prediction"), facts = facts
    )
  }
}

# ---- all methods ------------------------------------------------------------

peer_package <- function(methods) {
  package <- sub("_.*", "", methods)
  ifelse(package %in% c("ksvm", "gausspr"), "kernlab", package)
}

# Functions of (x, y, new, seed) by name, except those whose package is missing.
all_methods <- function(control) {
  ours <- lapply(stats::setNames(nm = bark_types), answer_bark, control)
  there <- !is.na(package_versions(peer_package(names(tuned_peers))))
  c(ours, tuned_peers[there])
}

# ---- scores -----------------------------------------------------------------

# How many `values` are inside; NA if there are no limits or values.
hits <- function(limits, values) {
  if (is.null(limits) || is.null(values)) {
    return(NA_real_)
  }
  sum(values >= limits[, "lwr"] & values <= limits[, "upr"])
}

# Sums over the test rows. `loss`: squared errors, relative to the noiseless
# function if known, or the number of misclassified rows.
score <- function(answer, split) {
  truth <- if (is.null(split$f_new)) split$y_new else split$f_new
  loss <- if (is.factor(truth)) {
    sum((answer$mean > 0.5) != (as.integer(truth) == 2))
  } else {
    sum((answer$mean - truth)^2)
  }
  facts <- answer$facts
  if (is.null(facts)) facts <- c(kernels = NA, rhat = NA, ess = NA)
  data.frame(
    rows = length(truth), loss = loss, inside_f = hits(answer$f, split$f_new),
    inside_y = if (is.factor(truth)) NA_real_ else hits(answer$y, split$y_new),
    t(facts)
  )
}

# `seconds`: time of the whole call, with tuning and prediction.
run_method <- function(method, split, seed) {
  started <- Sys.time()
  silent <- utils::capture.output({
    answer <- method(split$x, split$y, split$new, seed)
  })
  seconds <- as.numeric(Sys.time() - started, units = "secs")
  cbind(score(answer, split), seconds = seconds)
}

# ---- results for the figures ------------------------------------------------

# importance() with its diagnostics.
lambda_summary <- function(x, y, type, control, seed) {
  fit <- run_bark(x, y, type, control, seed)
  table <- as.data.frame(importance(fit, level = 0.9))
  class(table) <- "data.frame"
  data.frame(table, t(bark_facts(fit)), row.names = NULL)
}
