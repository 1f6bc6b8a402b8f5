# The problem for tdsmc(): a sequence of targets and the moves that extend a
# state of one to a state of the next.

#' A sequence of targets, and moves between them
#'
#' `td_target()` and `td_move()` describe a problem to [tdsmc()] and
#' [check_moves()]: a density for each step, and moves that extend particles. All
#' functions are vectorised over particles. The states of N particles are a list or a
#' vector of length N, or a matrix or data frame with N rows; use a list for states of
#' varying dimension. Their form may change between steps, but not between moves.
#' @section Formula of the weights:
#' Let \eqn{\gamma_t} be the target of step t, a density with respect to some
#' measure that need not be normalised, except for t = 0. At step t a particle
#' S' takes move i with probability \eqn{\alpha_i(S')} (`probability`), goes to
#' \eqn{S \sim q_i(\cdot | S')}{S ~ q_i(. | S')} (`propose`, whose log density
#' is `log_forward`) and has the weight
#' \deqn{W = \frac{\gamma_t(S)}{\gamma_{t-1}(S')}
#'   \frac{\alpha'_i(S) q'_i(S' | S)}{\alpha_i(S') q_i(S | S')}.}{
#'   W = gamma_t(S) alpha'_i(S) q'_i(S' | S) /
#'   [gamma_(t-1)(S') alpha_i(S') q_i(S | S')].}
#' The reverse choice is free, and the weights are exact for any choice, if
#' * \eqn{\sum_i \alpha'_i(S) = 1}{sum_i alpha'_i(S) = 1} for every state S of
#'   step t (`reverse_probability`);
#' * \eqn{q'_i(\cdot | S)}{q'_i(. | S)} (`log_reverse`) is a normalised density
#'   over the states of step t - 1, wherever \eqn{\alpha'_i(S) > 0}{alpha'_i(S) > 0};
#' * the way forward is possible (\eqn{\gamma_{t-1} \alpha_i q_i > 0}{gamma_(t-1)
#'   alpha_i q_i > 0}) wherever the way back is (\eqn{\gamma_t \alpha'_i q'_i >
#'   0}{gamma_t alpha'_i q'_i > 0}).
#'
#' The closer the reverse choice is to the true distribution of ancestors, the
#' less the weights vary. All densities of a step are with respect to the
#' targets' reference measures: a move that maps (S', u) to S deterministically
#' has the log density of u minus the log of the absolute Jacobian determinant
#' as its `log_forward`. [check_moves()] tests all this if states can be listed.
#' @section Powers:
#' If `log_density` has an argument `power`, the datum of step t enters gradually, by
#' targets \eqn{\gamma_{t,w}}{gamma_(t,w)} with w rising to 1: usually the datum's
#' likelihood is raised to the power w. `function(states, t, data, power)` is called
#' with 0 < `power` <= 1, and `power` must not matter at t = 0. Moves extend the
#' particles before the first increase. Between two increases particles are moved by
#' `rejuvenate`, which must then leave \eqn{\gamma_{t,w}}{gamma_(t,w)} invariant: a
#' function needs an argument `power`, a kernel of [td_rejuvenate()] knows it.
#' Without it data enter at once. A static target has `steps = 1`, and a power of the
#' whole likelihood.
#' @section The cloud of particles:
#' If `rejuvenate` has an argument `cloud`, it gets what may set its step sizes, a
#' list: normalised `weights` of the states; `scale`, their weighted standard
#' deviation, one per column, or one if states are numbers (`NULL` for lists);
#' `log_density`, where it is known, `NA` elsewhere; and `power`. A kernel that
#' depends on the cloud makes the estimate of the evidence consistent instead of
#' unbiased.
#' @param log_density `function(states, t, data)`: the logarithm of
#'   \eqn{\gamma_t} at each state, N numbers; `-Inf` where it is 0. At t = 0 it
#'   is the normalised density of the distribution that `initial` draws from. It
#'   may have an argument `power`, see Powers.
#' @param initial `function(n, data)`: n independent draws from
#'   \eqn{\gamma_0}.
#' @param rejuvenate `NULL`; or `function(states, t, data)`: the states after
#'   one step of a Markov chain that leaves \eqn{\gamma_t} invariant, with
#'   optional further arguments `power` and `cloud`; or a kernel made of moves,
#'   from [td_rejuvenate()].
#' @param propose `function(states, t, data)`: a state of step t for each state
#'   of step t - 1.
#' @param log_forward `function(new, old, t, data)`: the log density
#'   \eqn{\log q(new | old)}, for N pairs of states.
#' @param log_reverse `function(old, new, t, data)`: the log density
#'   \eqn{\log q'(old | new)}. May be missing if `log_weight` is given.
#' @param probability `function(states, t, data)`, the probability of the move
#'   at states of step t - 1, or a number. The probabilities of all moves must
#'   sum to 1.
#' @param reverse_probability `function(new, t, data)`, the probability
#'   \eqn{\alpha'} of the reverse choice at states of step t, or a number. May
#'   be `NULL` if `log_weight` is given.
#' @param log_weight `NULL` for the formula above, or
#'   `function(new, old, t, data)`: the log weight itself, if it is cheaper to
#'   compute, or to try out published weights. [check_moves()] then compares it
#'   with the formula.
#' @return Lists of class `kb_td_target` and `kb_td_move`.
#' @references
#' Vermaak, J., Godsill, S. J. and Doucet, A. (2003). Radial basis function
#' regression using trans-dimensional sequential Monte Carlo. IEEE Workshop on
#' Statistical Signal Processing. (The weights printed there are not exact, see
#' the article on `tdsmc()` of the site.)
#'
#' Del Moral, P., Doucet, A. and Jasra, A. (2006). Sequential Monte Carlo
#' samplers. Journal of the Royal Statistical Society B 68, 411-436.
#'
#' Neal, R. M. (2001). Annealed importance sampling. Statistics and Computing
#' 11, 125-139. (Targets at powers.)
#' @seealso [tdsmc()], [td_rejuvenate()], [check_moves()]
#' @examples
#' # A random walk on the line observed with noise: states are paths, one
#' # column per step; the only possible ancestor of a path is the path without
#' # its end.
#' target <- td_target(
#'   log_density = function(states, t, data) {
#'     steps <- states[, 1]^2
#'     for (s in seq_len(t)) {
#'       steps <- steps + (states[, s + 1] - states[, s])^2 +
#'         (data[s] - states[, s + 1])^2
#'     }
#'     -steps / 2 - (2 * t + 1) / 2 * log(2 * pi)
#'   },
#'   initial = function(n, data) matrix(rnorm(n))
#' )
#' go <- td_move(
#'   propose = function(states, t, data) {
#'     cbind(states, rnorm(nrow(states), states[, t], 1))
#'   },
#'   log_forward = function(new, old, t, data) {
#'     dnorm(new[, t + 1], old[, t], 1, log = TRUE)
#'   },
#'   log_reverse = function(old, new, t, data) numeric(nrow(new))
#' )
#' tdsmc(target, list(go = go), data = c(0.3, 1.1, 0.8), seed = 1)
#' @export
td_target <- function(log_density, initial, rejuvenate = NULL) {
  log_density <- check_function(log_density)
  structure(
    list(
      log_density = log_density, initial = check_function(initial),
      rejuvenate = check_rejuvenate_of(rejuvenate, has_power(log_density))
    ),
    class = "kb_td_target"
  )
}

check_rejuvenate_of <- function(x, powers) {
  if (is.null(x)) {
    return(NULL)
  }
  if (inherits(x, "kb_td_rejuvenate")) {
    return(check_value(x, "made by `td_rejuvenate()`", "rejuvenate"))
  }
  if (!is.function(x)) {
    bad_argument(
      x, "rejuvenate", "NULL, a function or made by `td_rejuvenate()`"
    )
  }
  if (powers && !has_power(x)) {
    kb_abort(c(
      "{.arg rejuvenate} must have an argument {.arg power}, as
       {.arg log_density} has.",
      x = "Its arguments are {.arg {names(formals(x))}}.",
      i = "It is called while a datum enters, and must leave the target at that
           power invariant."
    ), "argument", argument = "rejuvenate")
  }
  x
}

has_power <- function(f) takes(f, "power")

# Do data enter gradually?
is_tempered <- function(target) {
  has_power(target$log_density) && !is.null(target$rejuvenate)
}

#' @rdname td_target
#' @export
td_move <- function(propose, log_forward, log_reverse = NULL, probability = 1,
                    reverse_probability = 1, log_weight = NULL) {
  log_weight <- check_function(log_weight, optional = TRUE)
  given <- !is.null(log_weight)
  structure(
    list(
      propose = check_function(propose),
      log_forward = check_function(log_forward),
      log_reverse = check_function(log_reverse, optional = given),
      probability = check_probability(probability),
      reverse_probability = check_probability(reverse_probability, given),
      log_weight = log_weight
    ),
    class = "kb_td_move"
  )
}

check_td_moves <- function(moves) {
  if (is.null(moves)) moves <- list(stay = td_stay())
  if (inherits(moves, "kb_td_move")) moves <- list(move = moves)
  fine <- is.list(moves) && length(moves) > 0 && rlang::is_named(moves) &&
    !anyDuplicated(names(moves)) &&
    all(vapply(moves, inherits, TRUE, "kb_td_move"))
  if (!fine) {
    bad_argument(
      moves, "moves", "a list of `td_move()` with distinct names"
    )
  }
  lapply(moves, check_value, "a list of `td_move()`", "moves")
}

# The move of states that stay as they are
td_stay <- function() {
  same <- function(a, b, t, data) {
    if (identical(a, b)) {
      return(numeric(particle_count(a)))
    }
    ifelse(particle_keys(a) == particle_keys(b), 0, -Inf)
  }
  td_move(function(states, t, data) states, same, same)
}

check_td_target <- function(target) {
  check_class(target, "kb_td_target", "made by `td_target()`", arg = "target")
}

#' @export
print.kb_td_target <- function(x, ...) {
  cat("<td_target> ", paste(names(Filter(Negate(is.null), x)),
    collapse = ", "
  ), "\n", sep = "")
  invisible(x)
}

#' @export
print.kb_td_move <- function(x, ...) {
  cat("<td_move> weights ",
    if (is.null(x$log_weight)) "by the general formula" else "by `log_weight`",
    "\n",
    sep = ""
  )
  invisible(x)
}

# States of particles, in any form chosen by the user, and calls of the user's
# functions with checks of their values.

# Containers ------------------------------------------------------------------

has_rows <- function(states) is.matrix(states) || is.data.frame(states)

particle_count <- function(states) {
  if (has_rows(states)) nrow(states) else length(states)
}

particle_subset <- function(states, i) {
  if (!has_rows(states)) {
    return(states[i])
  }
  out <- states[i, , drop = FALSE]
  # Copies of a row would get unique names, at great cost.
  if (is.data.frame(out)) attr(out, "row.names") <- seq_len(nrow(out))
  out
}

# States of several groups, one after the other
particle_bind <- function(parts) {
  if (length(parts) == 1) {
    return(parts[[1]])
  }
  parts <- unname(parts)
  do.call(if (has_rows(parts[[1]])) rbind else c, parts)
}

# Weighted standard deviations: one per column, or one if states are numbers
particle_scale <- function(states, weights) {
  if (is.data.frame(states)) {
    states <- states[vapply(states, is.numeric, TRUE)]
  }
  x <- if (is.list(states) && !is.data.frame(states)) NULL else
    as.matrix(states)
  if (!is.numeric(x)) {
    return(NULL)
  }
  centred <- sweep(x, 2, colSums(weights * x))
  sqrt(colSums(weights * centred^2))
}

# The properties that states must share to be combined
particle_shape <- function(states) {
  if (is.data.frame(states)) {
    paste("a data frame with columns", paste(names(states), collapse = ", "))
  } else if (is.matrix(states)) {
    paste("a matrix of", ncol(states), "columns")
  } else if (is.list(states)) {
    "a list"
  } else {
    "a vector"
  }
}

# One string per state, equal for equal states, regardless of names and of
# integer or double type
particle_keys <- function(states) {
  if (has_rows(states)) {
    columns <- lapply(seq_len(ncol(states)), function(j) {
      as.character(states[, j])
    })
    if (length(columns) == 0) {
      return(rep("", nrow(states)))
    }
    return(do.call(paste, c(columns, sep = ", ")))
  }
  if (is.list(states)) {
    return(paste0("{", vapply(states, key_of, ""), "}"))
  }
  unname(as.character(states))
}

key_of <- function(state) {
  if (is.list(state)) state <- paste0("{", vapply(state, key_of, ""), "}")
  paste(state, collapse = ", ")
}

# Calls -----------------------------------------------------------------------

# A function with those of `extras` that it has as arguments
with_extras <- function(f, extras) {
  extras <- extras[intersect(names(extras), names(formals(f)))]
  if (length(extras) == 0) {
    return(f)
  }
  function(...) rlang::exec(f, ..., !!!extras)
}

# N log densities: -Inf is allowed, NA and +Inf are not
user_logs <- function(f, what, n, t, ...) {
  check_user_numbers(
    call_user(f, what, t, ...), what, n, t, Inf, "below infinity"
  )
}

# N probabilities, from a function or a number
user_probabilities <- function(p, what, n, t, ...) {
  if (is.numeric(p)) {
    return(rep(as.double(p), n))
  }
  value <- call_user(p, what, t, ...)
  # 1 - a - b may miss 0 by rounding.
  value <- check_user_numbers(value, what, n, t, 1 + 1e-8,
    "between 0 and 1",
    lower = -1e-8
  )
  pmin(pmax(value, 0), 1)
}

check_user_numbers <- function(value, what, n, t, upper, range,
                               lower = -Inf) {
  wanted <- paste0(n, if (n == 1) " number " else " numbers ", range)
  if (!is.numeric(value) || length(value) != n) {
    refuse_value(what, t, wanted, describe(value))
  }
  if (anyNA(value)) {
    refuse_value(what, t, wanted, paste(sum(is.na(value)), "missing values"))
  }
  bad <- value < lower | value > upper | value == Inf
  if (any(bad)) {
    refuse_value(what, t, wanted, describe(value[bad][[1]]))
  }
  as.double(value)
}

# N states
user_states <- function(f, what, n, t, ...) {
  states <- call_user(f, what, t, ...)
  vector <- (is.atomic(states) || is.list(states)) && !is.null(states)
  if (!vector || particle_count(states) != n) {
    refuse_value(what, t, paste(n, "states"), describe(states))
  }
  states
}

# Genealogy of the particles, for the standard error of the evidence: as class
# Genealogy of the C++ core (inst/include/kernelbayes/genealogy.hpp), for a
# constant number of particles.

new_genealogy <- function(n) {
  list(
    founders = seq_len(n), families = seq_len(n), # one generation after another
    correction = n / (n - 1), resamplings = 0L, closed = 0
  )
}

#' Families are founded anew once the youngest generation of them has lost half;
#' the oldest of four is closed (Olsson and Douc, 2019, on fixed lags): (T8)
#' @param weights Normalised, before resampling.
#' @param multinomial Was that the scheme?
#' @noRd
genealogy_resample <- function(g, ancestors, weights, multinomial) {
  n <- length(weights)
  g$founders <- g$founders[ancestors]
  g$resamplings <- g$resamplings + 1L
  youngest <- length(g$correction)
  due <- length(unique(generation(g, youngest, n))) < 0.5 * n
  if (due && youngest > 3) g <- close_oldest(g, weights)
  g$families <- as.vector(matrix(g$families, n)[ancestors, ])
  chance <- if (multinomial) n / (n - 1) else pair_factor(ancestors, weights)
  g$correction <- g$correction * chance
  if (due) {
    g$families <- c(g$families, seq_len(n))
    g$correction <- c(g$correction, n / (n - 1))
  }
  g
}

generation <- function(g, which, n) g$families[(which - 1) * n + seq_len(n)]

# The factor by which chance, rather than weights, reduced pairs of particles
# from different families: (T7)
pair_factor <- function(ancestors, weights) {
  n <- length(weights)
  chance <- sum((tabulate(ancestors, n) - n * weights)^2)
  pairs <- n^2 * (1 - sum(weights^2))
  if (chance < pairs / 2) 1 / (1 - chance / pairs) else n / (n - 1)
}

close_oldest <- function(g, weights) {
  g$closed <- g$closed + generation_variance(g, 1, weights) -
    generation_variance(g, 2, weights)
  g$families <- g$families[-seq_along(weights)]
  g$correction <- g$correction[-1]
  g
}

# Relative variance of the evidence's estimate (Lee and Whiteley, 2018): (T8)
genealogy_variance <- function(g, weights) {
  if (length(weights) < 2) {
    return(NA_real_)
  }
  g$closed + generation_variance(g, 1, weights)
}

# (T6)
generation_variance <- function(g, which, weights) {
  families <- generation(g, which, length(weights))
  1 - g$correction[[which]] * (1 - sum(rowsum(weights, families)^2))
}
