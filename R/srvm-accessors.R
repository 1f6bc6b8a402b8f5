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
  row <- pool$rows[pool$sets]
  particle <- rep(seq_along(pool$k), pool$k)
  by_row <- function(values) {
    out <- numeric(nrow(object$data$x))
    if (length(values) > 0) {
      sums <- rowsum(values, row)
      out[as.integer(rownames(sums))] <- sums
    }
    out
  }
  weights <- pool$weights[particle]
  # With a dictionary a row may be the centre of several kernels.
  once <- !duplicated(cbind(particle, row))
  out <- data.frame(
    row = row_numbers(object), probability = pmin(by_row(weights * once), 1)
  )
  if (has_dictionary(object)) {
    kernel <- candidate_kernels(object, pool$sets, pool)
    for (h in seq_along(candidate_kernel_list(object$settings))) {
      out[[paste0("kernel", h)]] <- pmin(by_row(weights * (kernel == h)), 1)
    }
  }
  out$change <- by_row(weights * centre_changes(object, pool))
  out
}

# Of each centre of each particle, in units of the response: the root mean square
# over the rows of what f loses without it, (S67)
centre_changes <- function(fit, pool) {
  settings <- fit$settings
  squares <- srvm_changes_cpp(pool, n_fixed(settings), is_scaled(settings))
  unscale_sd(settings$scaling, sqrt(squares / rows_in_memory(fit)))
}

# The sum of the weights of rows that count, with their shares
rows_in_memory <- function(fit) {
  weights <- row_weights(fit)[rows_taken_in(fit)]
  memory <- fit$settings$memory
  weights <- utils::tail(weights, min(memory$window, length(weights)))
  sum(weights * memory$forgetting^(length(weights) - seq_along(weights)))
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
  refuse_where(object, "ancestry", "no_ancestry")
  lapply(fit_runs(object), run_ancestry, object, kept == "full")
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

# Quality of particles: the lowest effective size and the founders of the whole
# run, for print(), diagnostics(), evidence() and warnings.

# Below these shares of the particles estimates are unreliable: see ?srvm,
# section Warnings of the particles.
trusted_particles <- list(lowest = 0.05, final = 0.1, founders = 0.1)

# The lowest effective size of a run's particles while each row entered
run_lowest <- function(run) {
  lowest <- run$path$ess_lowest
  # No record: rows that enter at once.
  if (is.null(lowest)) run$path$ess else lowest
}

#' The lowest effective size, as a fraction of the particles, and where it was
#' @param since Rows or steps that do not count.
#' @noRd
lowest_ess <- function(fit, since = 0, path = ess(fit)) {
  path <- path[fit$time - rev(seq_len(nrow(path))) >= since, ]
  at <- which.min(path$lowest)
  lowest <- list(fraction = 1, at = NA_integer_)
  if (length(at) == 1) {
    lowest <- list(fraction = path$lowest[[at]], at = path[[1]][[at]])
  }
  # For the rows dropped by a bounded memory.
  before <- fit[["past"]]$lowest
  counts <- !is.null(before) && isTRUE(before$at > since)
  if (counts && before$fraction <= lowest$fraction) before else lowest
}

# The number of particles at each row of ess()
particles_in <- function(path) path$ess / path$fraction

# Lowest and last effective size, resamplings and founders
path_diagnostics <- function(fit) {
  path <- if (fit$time > 0) ess(fit)
  lowest <- if (is.null(path)) {
    list(fraction = 1, at = NA_integer_)
  } else {
    lowest_ess(fit, path = path)
  }
  at <- stats::setNames(list(lowest$at), paste0("ess_min_", path_unit(fit)))
  c(list(ess_min = lowest$fraction), at, list(
    ess_final = if (is.null(path)) 1 else utils::tail(path$fraction, 1),
    resamplings = sum(vapply(
      fit_runs(fit), function(run) run$genealogy$resamplings, 0L
    )),
    founders = if (is.null(path)) NA else utils::tail(path$founders, 1)
  ))
}

path_unit <- function(fit) if (inherits(fit, "kb_tdsmc")) "step" else "row"

# " (row 7)": the position of the lowest size in diagnostics()
lowest_words <- function(x, before = " (", after = ")") {
  at <- x[grepl("^ess_min_", names(x))]
  if (length(at) == 1 && !is.na(at)) {
    paste0(before, sub("ess_min_", "", names(at)), " ", at[[1]], after)
  }
}

# The words of print() for the effective size
ess_words <- function(fit) {
  found <- path_diagnostics(fit)
  paste0(
    "ESS ", percent(found$ess_final), " (lowest ", percent(found$ess_min),
    lowest_words(found, " at ", ""), ")"
  )
}

#' Are there few founders, and no moves that revise their descendants?
#'
#' Copies then stay identical, and the evidence is too low: more particles help
#' little.
#' @param time Number of rows or steps.
#' @noRd
is_unmoved <- function(fit, time = fit$time, path = ess(fit)) {
  if (time == 0 || !lacks_moves(fit)) {
    return(FALSE)
  }
  share <- path$founders / particles_in(path)
  share[[time]] < trusted_particles$founders
}

# Does the fit lack moves that revise what its particles share?
#
# Printed weights give no evidence anyway; with a bounded memory shared history
# is forgotten, as it may be under the targets of tdsmc().
lacks_moves <- function(fit) {
  inherits(fit, "kb_srvm") && fit$control$n_moves == 0 &&
    fit$control$proposal != "paper" &&
    !is_bounded(fit$settings$memory)
}

# Why an estimate of the evidence may be bad: lines, or NULL
evidence_doubts <- function(fit) {
  path <- ess(fit)
  lowest <- lowest_ess(fit, path = path)
  lines <- c(
    if (lowest$fraction < trusted_particles$lowest) {
      paste0(
        "ESS fell to ", format(100 * lowest$fraction, digits = 1), "% at ",
        path_unit(fit), " ", lowest$at, ": more likely too low than too high, ",
        "the error larger than the se"
      )
    },
    if (is_unmoved(fit, path = path)) {
      paste0(
        counted(round(utils::tail(path$founders, 1)), "founder"),
        " left, and no moves: probably too low, the error larger than the se"
      )
    }
  )
  if (length(lines) > 0) paste(lines, collapse = "; ")
}

# Warnings -------------------------------------------------------------------

# Warn of particles that have collapsed in this call, or that are never moved
#' @export
warn_quality.kb_srvm <- function(fit, since = 0L) {
  if (fit$time == 0) {
    return(invisible())
  }
  path <- ess(fit)
  lowest <- lowest_ess(fit, since, path)
  share <- utils::tail(path$fraction, 1)
  if (lowest$fraction < trusted_particles$lowest) {
    warn_low_ess(fit, lowest)
  } else if (share < trusted_particles$final) {
    last <- list(fraction = share, at = utils::tail(path[[1]], 1))
    warn_low_ess(fit, last)
  }
  if (is_unmoved(fit, path = path) && !is_unmoved(fit, since, path)) {
    warn_unmoved(utils::tail(path, 1))
  }
}

#' @export
warn_quality.kb_tdsmc <- warn_quality.kb_srvm

warn_low_ess <- function(fit, lowest) {
  kb_warn(c(
    "The effective sample size fell to few particles.",
    x = "It is {format(100 * lowest$fraction, digits = 2)}% of them at
         {path_unit(fit)} {lowest$at}.",
    "*" = "Estimates are noisy, and the standard error of the evidence may be
           too small.",
    i = particle_advice(fit)
  ), "low_ess")
}

# Advice for particles that have collapsed: a line
particle_advice <- function(fit) UseMethod("particle_advice")

#' @export
particle_advice.kb_srvm <- function(fit) {
  usual <- smc_control()$cess_threshold
  if (fit$control$cess_threshold < usual && fit$control$proposal != "paper") {
    paste0(
      "Raise {.arg cess_threshold} in {.fn smc_control} (by default ", usual,
      "): such rows then enter gradually."
    )
  } else {
    "Raise {.arg particles} in {.fn smc_control}."
  }
}

#' @export
particle_advice.kb_tdsmc <- function(fit) {
  paste(
    "Raise {.arg particles} in {.fn smc_control}, or find moves that come",
    "closer to the target."
  )
}

warn_unmoved <- function(last) {
  kb_warn(c(
    "The particles descend from few, and no moves make them differ.",
    x = "They descend from {round(last$founders, 1)} of
         {round(particles_in(last))}.",
    "*" = "The log evidence is probably too low, by more than its standard
           error.",
    i = "Raise {.arg n_moves} in {.fn smc_control}, by default
         {smc_control()$n_moves}."
  ), "no_moves")
}
