# Accessors of srvm fits: evidence(), inclusion(), model_size(), ess(),
# timings(), diagnostics(), ancestry().

#' @export
evidence.kb_srvm <- function(object, ...) {
  object <- checked_fit(object, ...)
  runs <- fit_runs(object)
  units <- log(object$settings$scaling$y_scale)
  log_prior <- run_log_prior(object, runs)
  log_z <- vapply(runs, `[[`, 0, "log_evidence") + log_prior
  path <- predictive_path(object, runs)
  counted <- units * rows_counted(object)
  share <- evidence_share(runs, log_prior)
  replicates <- run_groups(object, runs)
  structure(
    list(
      log_evidence = log_mean_exp(log_z) - counted,
      mc_se = standard_error(mean_variance(runs, log_prior)),
      mc_se_replicates = replicate_se(
        vapply(replicates, function(group) sum(share[group]), 0)
      ),
      replicates = vapply(replicates, function(group) {
        log_mean_exp(log_z[group])
      }, 0) - counted,
      note = evidence_note(object), path = path
    ),
    class = "kb_evidence"
  )
}

# The number of rows that the evidence covers, at each step or the last
rows_counted <- function(object, time = object$time) {
  pmin(time, object$settings$memory$window)
}

# Log predictive densities and log evidence by row, averaged over runs
#
# Runs are weighted by their evidence before the row enters, without the rows
# that have left.
predictive_path <- function(object, runs) {
  steps <- recorded_steps(object)
  n <- length(steps)
  log_prior <- run_log_prior(object, runs)
  units <- log(object$settings$scaling$y_scale)
  after <- evidence_paths(runs, n)
  gained <- run_paths(runs, "log_increment", n) -
    run_paths(runs, "log_lost", n)
  predictive <- run_paths(runs, "log_predictive", n)
  before <- sweep(after - gained, 2, log_prior, `+`)
  before <- before - apply(before, 1, max)
  log_z <- log_mean_paths(after, log_prior)
  data.frame(
    row = row_numbers(object)[rows_taken_in(object)],
    log_predictive = log_mean_paths(before + predictive) -
      log_mean_paths(before) - units,
    log_evidence = log_z - units * rows_counted(object, steps)
  )
}

# Why the number is not an evidence, or not a good estimate of it: NULL or a
# line
evidence_note <- function(object) {
  if (is_improper(object$settings$prior)) {
    return("no evidence: the prior is improper")
  }
  if (identical(object$control$proposal, "paper")) {
    return("no evidence: the printed weights are not exact")
  }
  if (object$settings$memory$forgetting < 1) {
    return("no evidence: rows are forgotten")
  }
  lines <- c(
    evidence_doubts(object),
    if (learns_scales(object$settings) && length(run_groups(object)) == 1) {
      paste(
        "bandwidths are learned: the error of one run is up to twice the se,",
        "smc_control(replicates = ) measures it"
      )
    }
  )
  if (length(lines) > 0) paste(lines, collapse = "; ")
}

# Is the number of evidence() not an evidence?
is_no_evidence <- function(z) {
  !is.null(z$note) && startsWith(z$note, "no evidence")
}

# An unbiased estimate of a variance may be negative, and is then useless
standard_error <- function(variance) {
  if (is.na(variance) || variance < 0) NA_real_ else sqrt(variance)
}

log_mean_exp <- function(x) max(x) + log(mean(exp(x - max(x))))

# Log evidence of each run after each recorded step: steps x runs
evidence_paths <- function(runs, time) {
  matrix(vapply(runs, function(run) {
    running_sums(run$path$log_increment, run[["past"]]$log_evidence)
  }, numeric(time)), time)
}

# Records of runs at each step, one column per run
run_paths <- function(runs, name, time) {
  matrix(vapply(runs, function(run) run$path[[name]], numeric(time)), time)
}

#' Log of the mean over runs of the evidence at each step
#' @param log_prior Of each run, see `run_log_prior()`.
#' @noRd
log_mean_paths <- function(paths, log_prior = 0) {
  apply(paths, 1, function(log_z) log_mean_exp(log_z + log_prior))
}

# Relative standard error of the mean of Z over replicates, from its shares
replicate_se <- function(share) {
  r <- length(share)
  if (r < 2) NA_real_ else stats::sd(share * r) / sqrt(r)
}

#' @export
inclusion.kb_srvm <- function(object, ...) {
  object <- checked_fit(object, ...)
  pool <- srvm_pool(object)
  if (has_dictionary(object)) {
    return(dictionary_inclusion(object, pool))
  }
  probability <- numeric(nrow(object$data$x))
  if (length(pool$sets) > 0) {
    sums <- rowsum(rep(pool$weights, pool$k), pool$rows[pool$sets])
    probability[as.integer(rownames(sums))] <- pmin(sums, 1)
  }
  data.frame(row = row_numbers(object), probability = probability)
}

#' @export
model_size.kb_srvm <- function(object, ...) {
  object <- checked_fit(object, ...)
  pool <- srvm_pool(object)
  sums <- rowsum(pool$weights, pool$k)
  data.frame(k = as.integer(rownames(sums)), probability = as.vector(sums))
}

#' @export
ess.kb_srvm <- function(object, ...) {
  object <- checked_fit(object, ...)
  ess_path(object, fit_runs(object))
}

# The value of ess() for these runs
ess_path <- function(object, runs) {
  total <- function(what) {
    average_over_kernels(object, runs, lapply(runs, what))
  }
  size <- total(function(run) run$path$ess)
  particles <- particles_by_row(object, runs)
  data.frame(
    row = row_numbers(object)[rows_taken_in(object)], ess = size,
    fraction = size / particles, lowest = total(run_lowest) / particles,
    founders = total(function(run) run$path$founders),
    resampled = Reduce(`|`, lapply(runs, function(run) run$path$resampled > 0))
  )
}

# Number of particles of a kernel, in all replicates, at each row: update()
# may change it
particles_by_row <- function(fit, runs = fit_runs(fit)) {
  average_over_kernels(fit, runs, lapply(runs, function(run) {
    n <- run$path$particles
    # Older fits, in which it could not change, have no record.
    if (is.null(n)) rep(length(run$k), length(run$path$ess)) else n
  }))
}

#' @export
timings.kb_srvm <- function(object, ...) {
  object <- checked_fit(object, ...)
  total <- function(name) {
    sum(vapply(object$runs, function(run) {
      if (is.null(run)) 0 else run[[name]]
    }, 0))
  }
  list(
    sampler = sum(total("seconds"), object[["replaced_seconds"]]),
    shared = total("shared_seconds"), total = object$seconds
  )
}

#' @export
diagnostics.kb_srvm <- function(object, ...) {
  object <- checked_fit(object, ...)
  runs <- fit_runs(object)
  moves <- function(name) {
    counts <- unlist(lapply(runs, function(run) {
      c(run[["past"]][[name]], run$path[[name]])
    }))
    rowSums(matrix(counts, 3))
  }
  structure(
    c(path_diagnostics(object), list(
      acceptance = stats::setNames(
        moves("accepted") / moves("tried"), c("birth", "death", "swap")
      )
    )),
    class = "kb_diagnostics"
  )
}

#' @export
ancestry.kb_srvm <- function(object, ...) {
  object <- checked_fit(object, ...)
  kept <- object$control$ancestry
  if (kept == "summary") refuse_no_ancestry()
  lapply(fit_runs(object), run_ancestry, object, kept == "full")
}

refuse_no_ancestry <- function() {
  kb_abort(c(
    "The fit has not kept its ancestry.",
    i = "Fit with {.code smc_control(ancestry = \"genealogy\")} or
         {.code \"full\"}."
  ), "not_defined")
}

run_ancestry <- function(run, object, full) {
  n <- length(run$k)
  by_row <- function(values) matrix(values, ncol = n, byrow = TRUE)
  out <- list(ancestors = by_row(run$ancestors + 1L))
  if (full) {
    history <- run$history
    step <- rep(seq_len(run$time), each = n)
    particle <- rep(seq_along(history$k), history$k)
    sets <- split(
      object$sequence[history$rows + 1L],
      factor(particle, levels = seq_along(history$k))
    )
    out$weights <- by_row(history$weights)
    out$k <- by_row(history$k)
    out$sets <- unname(split(unname(sets), step))
  }
  out
}
