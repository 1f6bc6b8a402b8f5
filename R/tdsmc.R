# tdsmc(): trans-dimensional sequential Monte Carlo for targets and moves that
# are R functions.

#' Trans-dimensional sequential Monte Carlo
#'
#' `tdsmc(target, moves, data)` draws from a sequence of distributions on spaces of
#' varying dimension, and estimates their normalising constants: the general form of the
#' sampler in [srvm()], after Vermaak, Godsill and Doucet (2003), for a target and moves
#' that you write as R functions. The weights are computed from your functions;
#' [check_moves()] tests on small problems that they are exact.
#' @section A step:
#' 1. If the effective sample size of the weights of step t - 1 is low,
#'    particles are resampled.
#' 2. Resampled or not, all particles are moved by the target's `rejuvenate`, if
#'    there is one, at step t - 1 (from the second step on).
#' 3. Each particle chooses a move, is extended by it and weighted as described
#'    in [td_target()].
#'
#' If states of all steps are of one kind, it is often best to leave particles
#' as they are from step to step (`moves = NULL`) and to change them in
#' [td_rejuvenate()] only, where a proposal can be rejected: births and deaths
#' that extend particles make the weights vary, because they cannot be.
#'
#' A move is evaluated only for the particles that chose it, `log_density` for all
#' particles, except those whose move has its own `log_weight`.
#'
#' Your functions draw from R's generator, which is seeded at each step by a
#' number that depends only on `seed`, replicate and step. A run that is stopped
#' and continued is identical to an uninterrupted run.
#' @section Data that enter gradually:
#' If `log_density` of the target has an argument `power` and there is a
#' `rejuvenate`, 3. weights particles by a power of the datum, and further increases
#' follow, with 1. and 2. between them at the current power. `powers` and
#' `cess_threshold` of [smc_control()] choose the powers, as in [srvm()]; if every
#' step stops, 2. is left out at the beginning of steps. With fixed powers alone,
#' `smc_control(powers = c(0.1, 0.5, 1))`, the estimate of the evidence is unbiased;
#' adaptive ones leave it consistent. `ess()` then has a column `increases`. Moves
#' should not use the datum in `propose`, which is called before the first, small
#' increase.
#' @section Settings:
#' Of [smc_control()], `particles`, `resampling`, `ess_threshold`,
#' `resample_every_step`, `replicates`, `ancestry`, `checkpoint`,
#' `checkpoint_every` and `time_limit` apply, and `powers` and `cess_threshold`
#' if data enter gradually. Others are refused if they differ from their defaults.
#' Replicates run on [workers][kb_workers], if there are any. The objects of your
#' workspace that your functions need are sent to them, and packages are loaded.
#' @section From C++:
#' The sampler is also a header-only C++17 library, for packages with
#' `LinkingTo: kernelbayes, BH` and for [Rcpp::sourceCpp()]: a model and its moves are
#' structs whose members have the names of the functions of [td_target()] and
#' [td_move()]. `kernelbayes/transdim.hpp`, in
#' `system.file("include", package = "kernelbayes")`, documents them; the article
#' `tdsmc` has an example, in
#' `system.file("examples", "coal-changepoints.cpp", package = "kernelbayes")`.
#' @param target From [td_target()].
#' @param moves A named list of [td_move()], or a single one. `NULL`: particles
#'   stay as they are, which requires targets on one space.
#' @param data The argument `data` of your functions, any object. For
#'   [update.kb_tdsmc()] to make sense, they should use only its first t
#'   elements or rows at step t.
#' @param steps Number of steps; `NULL`: `NROW(data)`.
#' @param control Settings, from [smc_control()].
#' @inheritParams bark
#' @return An object of class `kb_tdsmc` and `kb_fit`: a list with, among
#'   others, `runs` (one state per replicate: `states`, `weights`,
#'   `log_evidence`, `path`), `seed`, `status` and `time` (steps done). It can
#'   be saved with [saveRDS()]; to continue it, the global environment must
#'   again hold the objects that your functions use. Methods: `print`,
#'   `summary`, [`plot`][plot.kb_tdsmc], [`predict`][predict.kb_tdsmc]
#'   (expectations, distributions, states), [`update`][update.kb_tdsmc],
#'   `weights` (of the particles, normalised), [`as_draws`][as_draws.kb_tdsmc]
#'   and of the [accessors][evidence] `evidence`, `ess`, `diagnostics`,
#'   `timings` and `ancestry`. Replicates are pooled with weights proportional
#'   to their estimates of the evidence. `ess()` and `evidence()$path` have a
#'   column `step` instead of `row`; `ancestry()` gives, for
#'   `smc_control(ancestry = "full")`, the `states` of every step (a list) and
#'   their `weights` (a matrix with one row per step).
#' @section Errors:
#' `kb_error_user_function` if one of your functions fails or returns an invalid
#' value: the message names the function, the move and the step, and describes the
#' value. `kb_error_weights` if all particles have weight zero. `kb_warning_low_ess`:
#' the effective sample size was below 5% of the particles at some step of this call,
#' or is below 10% at the last.
#' @references
#' Vermaak, J., Godsill, S. J. and Doucet, A. (2003). Radial basis function
#' regression using trans-dimensional sequential Monte Carlo. IEEE Workshop on
#' Statistical Signal Processing.
#' @seealso [td_target()] for the formula of the weights, [td_rejuvenate()],
#'   [check_moves()]
#' @examples
#' # Counts whose rate may change: a state is the set of rows at which a new
#' # rate begins, each with prior probability 0.2; rates are Gamma(1, 1).
#' log_segment <- function(y) {
#'   lgamma(1 + sum(y)) - (1 + sum(y)) * log(1 + length(y)) -
#'     sum(lfactorial(y))
#' }
#' target <- td_target(
#'   log_density = function(states, t, data) {
#'     vapply(states, function(s) {
#'       segment <- findInterval(seq_len(t), s)
#'       sum(tapply(data[seq_len(t)], segment, log_segment)) +
#'         dbinom(length(s), max(t - 1, 0), 0.2, log = TRUE) -
#'         lchoose(max(t - 1, 0), length(s))
#'     }, 0)
#'   },
#'   initial = function(n, data) rep(list(integer()), n)
#' )
#' # The one possible ancestor of a set is the set without row t.
#' begins <- function(new, t) vapply(new, function(s) t %in% s, TRUE)
#' known <- function(old, new, t, data) numeric(length(new))
#' same <- function(new, old, t, data) numeric(length(new))
#' moves <- list(
#'   stay = td_move(
#'     propose = function(states, t, data) states,
#'     log_forward = same, log_reverse = known,
#'     probability = function(states, t, data) {
#'       rep(if (t == 1) 1 else 0.7, length(states))
#'     },
#'     reverse_probability = function(new, t, data) 1 - begins(new, t)
#'   ),
#'   change = td_move(
#'     propose = function(states, t, data) lapply(states, c, t),
#'     log_forward = same, log_reverse = known,
#'     probability = function(states, t, data) {
#'       rep(if (t == 1) 0 else 0.3, length(states))
#'     },
#'     reverse_probability = function(new, t, data) 0 + begins(new, t)
#'   )
#' )
#' y <- c(1, 0, 2, 1, 0, 6, 4, 7, 5)
#' fit <- tdsmc(target, moves, y, seed = 1)
#' fit
#' predict(fit, lengths, type = "distribution")
#' plot(fit, type = "moves")
#' @export
tdsmc <- function(target, moves = NULL, data = NULL, steps = NULL,
                  control = smc_control(), seed = NULL, progress = NULL,
                  ...) {
  started <- now()
  check_no_dots(...)
  target <- check_td_target(target)
  control <- check_td_control(control, target)
  fit <- new_object(
    list(
      version = fit_version, call = plain_call(match.call()),
      target = target, moves = check_tempered(check_td_moves(moves), target),
      data = data, steps = check_steps(steps, data), control = control,
      seed = draw_seed(seed),
      runs = vector("list", control$replicates), time = 0L,
      status = "started", seconds = 0
    ),
    class = c("kb_tdsmc", "kb_fit")
  )
  run_fit(fit, check_progress(progress), started)
}

check_steps <- function(steps, data, lower = 1) {
  if (is.null(steps)) {
    if (NROW(data) < lower) {
      bad_argument(NULL, "steps", paste(
        "given where", if (lower == 1) "`data` is empty" else
          "`data` has fewer rows than steps were done"
      ))
    }
    steps <- NROW(data)
  }
  check_size(steps, lower, each = 10, arg = "steps")
}

# Settings that would be ignored are refused
check_td_control <- function(control, target) {
  control <- check_class(control, "kb_smc_control", "`smc_control()`")
  default <- smc_control()
  idle <- c(
    "proposal", "n_moves", "move_fraction", "threads", "sweep_every",
    if (!is_tempered(target) && stops_data(control)) {
      c("powers", "cess_threshold")
    }
  )
  changed <- idle[!mapply(identical, control[idle], default[idle])]
  if (length(changed) > 0) {
    kb_abort(c(
      "{.arg control} has settings that do not apply to {.fn tdsmc}:
       {.arg {changed}}.",
      i = "Define moves in {.arg moves} and in {.arg rejuvenate} of the target;
           R functions run in one thread.",
      if (any(c("powers", "cess_threshold") %in% changed)) {
        c(i = "Data enter gradually if {.arg log_density} of the target has an
               argument {.arg power}, and there is a {.arg rejuvenate}.")
      }
    ), "argument", argument = "control")
  }
  usual_particles(control)
}

stops_data <- function(control) {
  length(control$powers) > 1 || control$cess_threshold > 0
}

# A weight given as a formula belongs to the whole datum
check_tempered <- function(moves, target) {
  weighed <- !vapply(lapply(moves, `[[`, "log_weight"), is.null, TRUE)
  if (is_tempered(target) && any(weighed)) {
    kb_abort(c(
      "{.arg log_weight} of the move {.val {names(moves)[weighed]}} cannot be
       used where data enter gradually.",
      i = "Without it the general formula gives the weight at any power."
    ), "argument", argument = "moves")
  }
  moves
}

# Methods that run_fit() needs
# ---------------------------------------------------

#' @export
finish_fit.kb_tdsmc <- finish_steps

#' @export
is_complete.kb_tdsmc <- function(fit) {
  all(run_times(fit) == fit$steps)
}

#' @export
fit_runs.kb_tdsmc <- function(fit) {
  runs <- Filter(function(run) state_time(run) == fit$time, fit$runs)
  if (fit$time == 0) {
    kb_abort(c(
      "The fit was stopped before its first step, so it has no particles yet.",
      i = "{.code update(fit)} continues it."
    ), "not_defined")
  }
  runs
}

#' @export
particle_weights.kb_tdsmc <- function(fit, runs) {
  weights <- unlist(Map(
    function(run, share) share * run$weights, runs, td_shares(runs)
  ))
  weights / sum(weights)
}

# Runs of N particles count N times: (T11)
run_log_size <- function(runs) log(lengths(lapply(runs, `[[`, "weights")))

td_shares <- function(runs) evidence_share(runs, run_log_size(runs))

#' @export
warn_status.kb_tdsmc <- function(fit) {
  if (fit$status == "complete") {
    return(invisible())
  }
  where <- paste("step", fit$time, "of", fit$steps)
  if (fit$time == fit$steps) {
    done <- sum(run_times(fit) == fit$steps)
    where <- paste(done, "of", length(fit$runs), "replicates")
  }
  kb_warn(c(
    "Stopped before all steps were done: {stop_words[[fit$status]]}.",
    x = "It was after {where}.",
    i = "You can use the fit of those steps; {.code update(fit)} continues it."
  ), fit$status)
}

#' Continue to later steps, or with more particles
#'
#' Further steps: the result is identical to one run with as many steps, if your
#' functions do not use later data at earlier steps.
#'
#' More particles: an independent run of the same steps is added, and pooled
#' with those there. A run of N particles that estimates the evidence by
#' \eqn{\widehat Z} counts with weight \eqn{N \widehat Z}{N Zhat}, so that the
#' pooled estimate of the evidence, the mean of the runs' estimates weighted by
#' N, remains unbiased. Particles that are added to runs whose effective sample
#' size collapsed help less than a larger run from the start.
#' @param object A fit of [tdsmc()].
#' @param steps Total number of steps, at least those already done; `NULL`:
#'   `NROW(data)` if `data` is given, otherwise as before.
#' @param data All data, both old and new; `NULL`: as before.
#' @param particles Total number of particles, more than there are: a run with
#'   the difference is added. `NULL`: as before.
#' @param replicates Total number of runs: runs with as many particles as the
#'   first are added. The result is identical to a fit with as many replicates
#'   from the start. `NULL`: as before.
#' @inheritParams update.kb_kgs
#' @return A fit. Without other arguments an interrupted fit is run to its
#'   end and a complete fit is returned unchanged.
#' @examples
#' target <- td_target(
#'   log_density = function(states, t, data) {
#'     y <- data[seq_len(t)]
#'     dnorm(states, log = TRUE) +
#'       vapply(states, function(x) sum(dnorm(y, x, log = TRUE)), 0)
#'   },
#'   initial = function(n, data) rnorm(n)
#' )
#' y <- c(1.2, 0.7, 0.9)
#' fit <- tdsmc(target, data = y[1:2], seed = 1)
#' both <- update(fit, data = y)
#' all <- tdsmc(target, data = y, seed = 1)
#' identical(weights(both), weights(all))
#' more <- update(all, particles = 1000)
#' evidence(more)
#' @export
update.kb_tdsmc <- function(object, steps = NULL, data = NULL,
                            particles = NULL, replicates = NULL,
                            time_limit = NULL, progress = NULL, ...) {
  started <- now()
  object <- checked_fit(object, ...)
  if (!is.null(time_limit)) time_limit <- check_seconds(time_limit)
  progress <- check_progress(progress)
  lower <- max(object$time, 1)
  if (!is.null(data)) {
    object$data <- data
    object$steps <- check_steps(steps, data, lower)
  } else if (!is.null(steps)) {
    object$steps <- check_count(steps, lower)
  }
  if (!is.null(replicates)) object <- add_replicates(object, replicates)
  if (!is.null(particles)) object <- add_particles(object, particles)
  if (is_complete(object)) {
    return(sealed(object))
  }
  run_fit(object, progress, started, time_limit)
}

# Runs with these numbers of particles, from their first step
add_runs <- function(fit, sizes) {
  if (length(sizes) == 0) {
    return(fit)
  }
  all <- c(run_sizes(fit), as.integer(sizes))
  fit$control$replicates <- length(all)
  fit$sizes <- if (any(all != fit$control$particles)) all
  fit$runs <- c(fit$runs, vector("list", length(sizes)))
  fit$status <- "started"
  fit
}

add_replicates <- function(fit, replicates) {
  replicates <- check_count(replicates, fit$control$replicates)
  add_runs(fit, rep(fit$control$particles, replicates - length(fit$runs)))
}

add_particles <- function(fit, particles) {
  now <- sum(run_sizes(fit))
  particles <- check_count(particles, now)
  add_runs(fit, if (particles > now) particles - now)
}
