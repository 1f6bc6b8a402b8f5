# Settings of the samplers, and the priors of variances.

# Sequential Monte Carlo ------------------------------------------------------

#' Settings of the sequential Monte Carlo sampler
#'
#' `srvm(y ~ x, data, control = smc_control(particles = 1000))` runs a sequential
#' sampler with 1000 particles; the other settings seldom need a change. [tdsmc()]
#' takes some of them.
#' @details
#' The default proposal, `"adapted"`, decides for every particle whether the new
#' point becomes a centre, with its posterior probability. With
#' \eqn{\gamma_t(S) = p_t(S) L_t(S)}, the prior of the set S among the rows so
#' far times its marginal likelihood, and S' the particle's set, the weight is
#' \deqn{\frac{\gamma_t(S') + \gamma_t(S' \cup \{t\})}{\gamma_{t-1}(S')}.}{
#'   [gamma_t(S') + gamma_t(S' + t)] / gamma_(t-1)(S').} It is exact because
#' every set has only one possible ancestor.
#'
#' Rows enter gradually: the likelihood of a row is raised to the power w, and the
#' prior odds of its centre are multiplied by w, with w rising from 0 to 1. Every row
#' stops at `powers`, where the particles are moved; a quarter of these moves concern
#' the row's own centre. A row also stops where an increase would take the
#' conditional effective sample size (Zhou, Johansen and Aston, 2016) below
#' `cess_threshold`. A row that would take it below `cess_threshold`\eqn{^3}{^3} is
#' explained by rare particles only; while that is so, each of its increases keeps
#' `cess_threshold`\eqn{^{1/3}}{^(1/3)}. At all stops particles are resampled if
#' necessary. With fixed `powers` alone (`cess_threshold = 0`) the estimate of the
#' evidence is unbiased. Adaptive stops leave it consistent, but too low on average.
#' A probit row at power w is \eqn{\Phi(\sqrt{w} f)}.
#'
#' `"birth_death"` is the proposal of the papers: the set stays as it is, gains any
#' candidate or loses a centre, without regard to the response. Its weights are also
#' exact, but vary much more. `"paper"` is only for reproducing the published results:
#' the same proposal with the weights as printed, which do NOT target the posterior
#' ([srvm()] warns with class `kb_warning_inexact`); by default particles are then
#' resampled at every step, and there are no reversible-jump moves. The article
#' `srvm-steps` has the formulas.
#' @param particles Number of particles N, at least 1; per kernel if [srvm()]
#'   averages over several. `NULL`: 250, or 125 where [srvm()] learns a bandwidth
#'   for each predictor (with a bounded memory while it does). The Monte Carlo
#'   error is proportional to 1 / sqrt(N).
#' @param n_moves Number of jump moves (birth, death or swap) for each particle and
#'   round, at least 0. They keep the particles diverse. Births are tried as long as
#'   they are accepted, then deaths, and so on (Gagnon and Doucet, 2021). A step has
#'   one round, but 20 / t at an early row t, and 4 at each further stop. `NULL`: 10,
#'   but 0 under `"paper"`.
#' @param proposal How the set of centres is extended: `"adapted"`,
#'   `"birth_death"` or `"paper"`, see Details.
#' @param resampling Resampling scheme: `"systematic"`, `"stratified"`, `"residual"`,
#'   `"multinomial"` or `"minimum-entropy"` (Crisan and Lyons, 2002; Bain and Crisan,
#'   2009, section 9.2.1). The first and the last round N w, the expected copies of a
#'   particle of weight w, up or down, which gives the smallest possible variance.
#' @param ess_threshold Particles are resampled when their effective sample
#'   size falls below this fraction of N, between 0 (never) and 1.
#' @param cess_threshold A row stops where the conditional effective sample size
#'   of its weights would fall below this fraction of N, between 0 (never) and
#'   1, see Details. `NULL`: 0.5, but 0 under `"paper"` or where `powers` are
#'   given.
#' @param powers The powers at which every row stops, whatever its weights:
#'   increasing numbers above 0 that end with 1. `NULL`: 0.05 and 1, but only 1
#'   without moves or where `cess_threshold` is 0.
#' @param pilot If [srvm()] averages over several kernels: the fraction of the
#'   particles (but at least 50 particles) with which each is tried before the
#'   remaining ones go to the probable kernels, see [srvm()]. 0: all kernels have
#'   `particles` particles.
#' @param replicates Number of independent runs, at least 1, pooled with
#'   weights proportional to their estimates of the evidence.
#' @param threads Number of threads inside this process, at least 1. Never
#'   more are used, and the result does not depend on it.
#' @template args-run
#' @param resample_every_step `TRUE` to resample at every step, whatever the
#'   effective sample size. `NULL`: `FALSE`, but `TRUE` under `"paper"`.
#' @param move_fraction The constant c of the papers, above 0 and at most 1/2:
#'   a birth and a death are each tried with probability at most c, in the
#'   reversible-jump moves and in the proposals that have them.
#' @param ancestry How much of the particles' history to keep: a `"summary"`
#'   (their number of distinct ancestors), the `"genealogy"` (indices of
#'   ancestors, N integers per step) or the `"full"` states of every step.
#' @param sweep_every Number of rows between Gibbs sweeps of coefficients and
#'   variances, at least 1. On a long stream they hardly change from row to row.
#' @return A list of class `kb_smc_control`.
#' @references
#' Crisan, D. and Lyons, T. (2002). Minimal entropy approximations and optimal
#' algorithms. *Monte Carlo Methods and Applications* 8(4), 343-356.
#'
#' Zhou, Y., Johansen, A. M. and Aston, J. A. D. (2016). Toward automatic model
#' comparison: an adaptive sequential Monte Carlo approach. *Journal of
#' Computational and Graphical Statistics* 25(3), 701-726.
#'
#' Gagnon, P. and Doucet, A. (2021). Nonreversible jump algorithms for Bayesian
#' nested model selection. *Journal of Computational and Graphical Statistics*
#' 30(2), 312-323.
#'
#' Bain, A. and Crisan, D. (2009). *Fundamentals of Stochastic Filtering*.
#' Springer.
#' @seealso [mcmc_control()]
#' @examples
#' smc_control()
#' smc_control(particles = 1000, resampling = "stratified")
#' @export
smc_control <- function(particles = NULL, n_moves = NULL,
                        proposal = c("adapted", "birth_death", "paper"),
                        resampling = c(
                          "systematic", "stratified", "residual",
                          "multinomial", "minimum-entropy"
                        ),
                        ess_threshold = 0.5, replicates = 1, threads = 1,
                        cess_threshold = NULL, powers = NULL, pilot = 0.25,
                        resample_every_step = NULL, move_fraction = 0.25,
                        ancestry = c("summary", "genealogy", "full"),
                        sweep_every = 1, checkpoint = NULL,
                        checkpoint_every = 60, overwrite = FALSE,
                        time_limit = Inf) {
  structure(given_options(smc_options), class = "kb_smc_control")
}

# The number of particles if none is given. Particles with bandwidths of their own
# have more to move, and their moves do more.
usual_particles <- function(control, own_bandwidths = FALSE) {
  if (is.null(control$particles)) {
    control$particles <- if (own_bandwidths) 125L else 250L
  }
  control
}

check_powers <- function(powers, arg) {
  rising <- is.numeric(powers) && length(powers) > 0 && !anyNA(powers) &&
    all(diff(c(0, powers)) > 0) && powers[[length(powers)]] == 1
  if (!rising) {
    bad_argument(powers, arg, "rising numbers above 0, the last of them 1")
  }
  as.double(powers)
}

check_seconds <- function(x, arg = rlang::caller_arg(x)) {
  positive <- is.numeric(x) && length(x) == 1 && !is.na(x) && x > 0
  if (!positive) {
    bad_argument(x, arg, "a number of seconds above 0, or Inf")
  }
  as.double(x)
}

of_run <- list(
  checkpoint = option(check_by(check_file), "checkpoint", function(file, all) {
    if (!is.null(file)) paste0(file, ", every ", format(all$checkpoint_every), " s")
  }),
  checkpoint_every = option(check_by(check_seconds)),
  overwrite = option(check_by(check_flag)),
  time_limit = option(check_by(check_seconds), "time limit", function(seconds, all) {
    if (is.finite(seconds)) paste(format(seconds), "s")
  })
)

# The papers resample at every step and have no other moves.
is_paper <- function(all) all$proposal == "paper"

smc_options <- c(list(
  particles = option(
    check_by(check_count, 1, null = left_open), "particles", function(particles, all) {
      if (is.null(particles)) "250 (125 while bandwidths are learned)" else particles
    }
  ),
  proposal = option(choice_of(smc_control), "proposal"),
  n_moves = option(
    check_by(check_count, 0, null = function(all) if (is_paper(all)) 0L else 10L), "moves"
  ),
  cess_threshold = option(check_by(check_number, 0, 1, null = function(all) {
    if (is_paper(all) || !is.null(all$powers)) 0 else 0.5
  })),
  powers = option(check_by(check_powers, null = function(all) {
    if (all$cess_threshold > 0 && all$n_moves > 0) c(0.05, 1) else numeric()
  })),
  resample_every_step = option(check_by(check_flag, null = is_paper)),
  ess_threshold = option(check_by(check_number, 0, 1)),
  resampling = option(
    choice_of(smc_control), "resampling", function(resampling, all) {
      when <- paste("when ESS <", format(all$ess_threshold), "N")
      paste0(resampling, ", ", if (all$resample_every_step) "at every step" else when)
    }
  ),
  pilot = option(check_by(check_number, 0, 1)),
  replicates = option(check_by(check_size, 1, each = 50), "replicates"),
  threads = option(check_by(check_count, 1), "threads"),
  move_fraction = option(check_by(check_share, 0.5)),
  ancestry = option(choice_of(smc_control), "ancestry"),
  sweep_every = option(check_by(check_count, 1))
), of_run)

#' @export
print.kb_smc_control <- function(x, ...) print_options(x, smc_options)

# Markov chain Monte Carlo ----------------------------------------------------

#' Settings of the Markov chain Monte Carlo samplers
#'
#' `bark(y ~ x, data, control = mcmc_control(iter = 1000))` sets the length of chains.
#' @param chains Number of independent chains, at least 1.
#' @param warmup Iterations per chain that adapt the sampler and are dropped,
#'   at least 0.
#' @param iter Iterations per chain after the warmup, at least 1.
#' @param thin Every `thin`-th iteration after the warmup is kept, so that a
#'   chain gives `floor(iter / thin)` draws; at most `iter`. `NULL` for any of
#'   these four leaves it to the fit function, which then judges by what you read how
#'   long chains run, see *Length* in [bark()] and `control` in [srvm()] and [kgs()].
#' @param until `NULL`, or [convergence()]: chains that have not converged after
#'   `iter` iterations are continued, to twice their length and so on, until
#'   they have, or until `max_iter` iterations. The draws are those of one run
#'   of that length.
#' @param n_moves For [srvm()]: number of reversible-jump moves (birth, death or
#'   swap) in each iteration, at least 0.
#' @param move_fraction For [srvm()]: the constant c of the papers, above 0 and
#'   at most 1/2: a birth and a death are each tried with probability at most c,
#'   otherwise a swap.
#' @param n_temps For [bark()]: number of temperatures of parallel tempering,
#'   at least 1; 1 means no tempering.
#' @param sweep For [bark()]: the moves of one iteration. `"full"`: every move, cheap
#'   ones several times. `"single"`: one birth, death or change of a kernel's
#'   precision, the noise, and with probability 0.2 one scale, for comparisons with
#'   other implementations.
#' @param threads Number of chains that run at the same time in threads of this
#'   process, at least 1; the draws do not depend on it. `NULL`: two, or
#'   `getOption("mc.cores")` if it is set; one on a worker (see
#'   [kb_workers]). Threads beyond one per chain speed up each chain of [srvm()]
#'   and, from about 16000 rows on, of [bark()] with a numeric response.
#' @template args-run
#' @return A list of class `kb_mcmc_control`.
#' @seealso [smc_control()]
#' @examples
#' mcmc_control()
#' mcmc_control(chains = 2, iter = 5000, thin = 5)
#' @export
mcmc_control <- function(chains = 4, warmup = 1000, iter = 1000, thin = 1,
                         n_moves = 50, move_fraction = 0.25, n_temps = 1,
                         sweep = c("full", "single"), threads = NULL,
                         checkpoint = NULL, checkpoint_every = 60,
                         overwrite = FALSE, time_limit = Inf, until = NULL) {
  structure(given_options(mcmc_options), class = "kb_mcmc_control")
}

as_needed <- function(length, all) if (is.null(length)) "as needed" else length

mcmc_options <- c(list(
  chains = option(check_by(check_size, 1, each = 50, null = left_open), "chains", as_needed),
  warmup = option(check_by(check_count, 0, null = left_open), "warmup", as_needed),
  iter = option(check_by(check_count, 1, null = left_open), "iter", as_needed),
  thin = option(function(thin, all, name) {
    most <- if (is.null(all$iter)) Inf else all$iter
    if (!is.null(thin)) check_count(thin, 1, most, name)
  }, "thin", function(thin, all) {
    known <- all(lengths(all[c("chains", "iter", "thin")]) > 0)
    draws <- if (known) paste0(" (", all$chains * (all$iter %/% thin), " draws)")
    paste0(as_needed(thin), draws)
  }),
  until = option(function(until, all, name) check_until(until), "until",
    function(until, all) {
      if (!is.null(until)) {
        most <- format(until$max_iter, big.mark = ",")
        paste0(goal_words(until), ",\n    or ", most, " iterations")
      }
    }
  ),
  n_moves = option(check_by(check_count, 0), "moves"),
  move_fraction = option(check_by(check_share, 0.5)),
  n_temps = option(check_by(check_count, 1), "temperatures"),
  sweep = option(choice_of(mcmc_control)),
  threads = option(
    check_by(check_count, 1, null = left_open), "threads", function(threads, all) {
      if (is.null(threads)) "default" else threads
    }
  )
), of_run)

# The length of chains of srvm() and kgs() that is left open; see bark_length()
open_length <- function() {
  list(warmup = 250L, iter = 250L, until = trusted_until(2000L))
}

# The control of a fit: lengths that the user left open are filled in
settled_control <- function(control, length = open_length()) {
  control <- check_class(control, "kb_mcmc_control", "`mcmc_control()`")
  length <- utils::modifyList(list(chains = 4L, thin = 1L), length)
  # A goal belongs to an open length.
  if (!is.null(control$iter)) length$until <- NULL
  open <- names(length)[lengths(control[names(length)]) == 0]
  control[open] <- length[open]
  check_count(control$iter, 1, .Machine$integer.max - control$warmup, "iter")
  control$thin <- min(control$thin, control$iter)
  control
}

#' @export
print.kb_mcmc_control <- function(x, ...) print_options(x, mcmc_options)

# Priors of variances ---------------------------------------------------------

#' Priors of a variance
#'
#' `ig()` is the inverse gamma distribution, `fixed_variance()` a known
#' variance.
#'
#' The density of `ig(shape, scale)` at the variance v is proportional to
#' \eqn{v^{-shape - 1} \exp(-scale / v)}{v^(-shape - 1) exp(-scale / v)}; its
#' mean is `scale / (shape - 1)` for `shape` above 1 and its mode
#' `scale / (shape + 1)`. Both numbers must be positive: the limit
#' `ig(0, 0)` makes the posterior of kernel regression improper.
#'
#' The variances are in squared units of the response that the model sees: with
#' `scale = TRUE` in units of the variance of the response.
#' @param shape,scale Positive numbers.
#' @param variance The known variance, a positive number.
#' @return An object of classes `kb_ig` or `kb_fixed`, and
#'   `kb_variance_prior`.
#' @examples
#' ig(1, 0.01)
#' fixed_variance(0.1^2)
#' @name variance_prior
NULL

#' @rdname variance_prior
#' @export
ig <- function(shape, scale) {
  structure(
    list(
      shape = check_number(shape, 0, open = TRUE),
      scale = check_number(scale, 0, open = TRUE)
    ),
    class = c("kb_ig", "kb_variance_prior")
  )
}

#' @rdname variance_prior
#' @export
fixed_variance <- function(variance) {
  structure(
    list(variance = check_number(variance, 0, open = TRUE)),
    class = c("kb_fixed", "kb_variance_prior")
  )
}

check_variance_prior <- function(x, arg = rlang::caller_arg(x)) {
  # Improper ones come from srvm_prior_paper() alone.
  check_class(x, "kb_variance_prior",
    "`ig(shape, scale)` or `fixed_variance(variance)`", arg
  )
}

#' @export
format.kb_ig <- function(x, digits = 4, ...) {
  paste0(
    "ig(shape = ", format(x$shape, digits = digits),
    ", scale = ", format(x$scale, digits = digits), ")"
  )
}

#' @export
format.kb_ig_improper <- function(x, digits = 4, ...) {
  start <- if (is.null(x$start)) {
    paste(if (x$multiple != 1) x$multiple, "var(y)")
  } else {
    format(x$start, digits = digits)
  }
  paste("improper ig(0, 0), start", trimws(start))
}

#' @export
format.kb_fixed <- function(x, digits = 4, ...) {
  paste0("fixed_variance(", format(x$variance, digits = digits), ")")
}

#' @export
print.kb_variance_prior <- function(x, ...) {
  cat(format(x, ...), "\n", sep = "")
  invisible(x)
}
