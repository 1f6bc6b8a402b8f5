# Methods of srvm fits, apart from predict() and plot().

#' @export
print.kb_srvm <- function(x, digits = 3, ...) {
  x <- checked_fit(x, ...)
  if (x$time == 0) {
    cat(
      "Sequential relevance vector machine\n  INCOMPLETE:   0 of ",
      n_given(x), " rows; update() continues\n",
      sep = ""
    )
    return(invisible(x))
  }
  z <- evidence(x)
  show <- function(v) format(v, digits = digits)
  cat(
    "Sequential relevance vector machine", family_of(x)$title, "\n",
    describe_model(x), number_line(x, show),
    bandwidths_line(x, show),
    srvm_noise_line(x, show), tied_line(x, show),
    "  log evidence: ", evidence_line(z, digits), "\n",
    "  particles:    ", particle_line(x), "\n",
    time_line(x),
    sep = ""
  )
  if (x$status != "complete") {
    cat(
      "  INCOMPLETE:   ", x$time, " of ", n_given(x), " rows",
      if (x$time == n_given(x)) ", with few particles",
      "; update() continues\n",
      sep = ""
    )
  }
  invisible(x)
}

number_line <- function(x, show) {
  k <- model_size(x)
  paste0(
    "  centres:      ", show(sum(k$k * k$probability)), " on average (",
    min(k$k), " to ", max(k$k), ")\n", relevant_line(x, show)
  )
}

# The rows that matter most as centres, with what f loses without them
relevant_line <- function(x, show) {
  top <- relevant_centres(x, 3)
  if (nrow(top) > 0) {
    rows <- paste0(top$row, " (", vapply(top$change, show, ""), ")")
    paste0("  relevant:     rows ", paste(rows, collapse = ", "), "\n")
  }
}

# Where a fifth of the responses or more are one number, of which the noise may become
# too small for the others
tied_line <- function(x, show, least = 0.2) {
  y <- if (!is_probit(x)) x$data$y[training_rows(x)]
  values <- unique(y)
  if (length(y) < 20 || length(values) < 3) {
    return(NULL)
  }
  copies <- tabulate(match(y, values))
  share <- max(copies) / length(y)
  if (share >= least) {
    paste0(
      "  responses:    ", round(100 * share), "% are ",
      show(values[[which.max(copies)]]), ": intervals of the others may be short\n"
    )
  }
}

# NULL for classes
srvm_noise_line <- function(x, show) {
  if (!is_probit(x)) {
    paste0(
      noise_label(x), show(stats::sigma(x)), student_words(x, show), "\n"
    )
  }
}

evidence_line <- function(z, digits) {
  if (is_no_evidence(z)) {
    return(paste0("none", sub("no evidence", "", z$note)))
  }
  paste0(
    format(z$log_evidence, digits = digits + 3), " (se ",
    format(z$mc_se, digits = 2), ")"
  )
}

# The lines of print() on formula, kernel and data
describe_model <- function(x) {
  memory <- x$settings$memory
  distinct <- n_candidates(fit_runs(x)[[1]])
  if (!is_bounded(memory)) distinct <- distinct / kernels_a_row(x$settings)
  paste0(
    formula_line(x),
    describe_kernels(x),
    "  rows:         ", x$time, if (!is.null(x$data$weights)) " weighted",
    " (", distinct,
    if (is_bounded(memory)) " candidates), " else " distinct), ",
    ncol(x$data$x), if (ncol(x$data$x) == 1) " predictor" else " predictors",
    if (!isFALSE(x$settings$scale)) ", standardised", omitted_part(x), "\n",
    logs_line(x),
    if (is_bounded(memory)) paste0("  memory:       ", format(memory), "\n")
  )
}

particle_line <- function(x) {
  paste0(
    particle_words(x), ", ", ess_words(x), ", ",
    counted(x$control$n_moves, "move"),
    if (x$control$proposal != "adapted") paste0(", ", x$control$proposal)
  )
}

one_line <- function(formula) {
  text <- paste(trimws(deparse(formula, width.cutoff = 500L)), collapse = " ")
  shorten(text)
}

# What ranks centres: a change of f, or for bark() a probability
centre_weight <- function(used) {
  if (is.null(used$change)) used$probability else used$change
}

# The centres without which f changes most, of bark() those that are most frequent
relevant_centres <- function(fit, most = 5) {
  used <- inclusion(fit)
  used <- used[order(-centre_weight(used)), ]
  utils::head(used[used$probability > 0, ], most)
}

#' Summary, coefficients, noise and log likelihood of an srvm fit
#'
#' `summary(fit)` has the parameters; coefficients are averaged over sets, so that a
#' row that is rarely a centre has a small one.
#' @param object A fit of [srvm()].
#' @param level Probability of the intervals.
#' @param ... Not used: unknown arguments are errors.
#' @return
#' * `summary()`: a list of class `summary.kb_srvm`: `fit`, `parameters` (data frame
#'   of posterior mean, sd and interval of `sigma`, `tau` and `k`), `kernels` (where
#'   several are averaged or in a dictionary, their [posterior][kernel_posterior]),
#'   `centres` (the rows without which f changes most, see [inclusion()]), `diagnostics`.
#' * `coef()`: posterior means, a named vector in units of the response:
#'   `(Intercept)`, the slopes of a linear part by predictor, and, for each training
#'   row that is a centre of some particle, its number. The posterior mean of f is
#'   the intercept, plus the slopes times the predictors as the kernel sees them
#'   minus their means at the first call, plus the sum of coefficients times kernel.
#'   With several kernels each has its own, with names such as `"2:14"`: kernel 2 at
#'   row 14. Not defined with a bandwidth for each predictor (`"ard"`).
#' * `sigma()`: posterior mean of the noise standard deviation (for Student-t noise its
#'   scale) in units of the response; for two classes 1.
#' * `logLik()`: the log likelihood given the posterior means of f and of `sigma`
#'   (learned degrees of freedom enter by the mean of their inverse); `df` is the
#'   posterior mean number of coefficients plus the two variances, and 1 where
#'   degrees of freedom are learned. To compare models use [evidence()].
#' @examples
#' data <- sim_sinc(40, seed = 1)
#' fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.3), seed = 1)
#' summary(fit)
#' sigma(fit) # the data have 0.1
#' # The three rows with the largest coefficients
#' b <- coef(fit)[-1]
#' b[order(-abs(b))[1:3]]
#' @export
summary.kb_srvm <- function(object, level = 0.9, ...) {
  object <- checked_fit(object, ...)
  level <- check_number(level, 0, 1, open = TRUE)
  structure(
    list(
      fit = object, level = level,
      parameters = generics::tidy(object, conf.level = level),
      kernels = if (names_kernels(object)) kernel_posterior(object),
      centres = relevant_centres(object),
      diagnostics = diagnostics(object)
    ),
    class = "summary.kb_srvm"
  )
}

#' @export
print.summary.kb_srvm <- function(x, digits = 3, ...) {
  check_no_dots(...)
  print_posterior(x, digits)
  if (!is.null(x$kernels)) {
    cat("\nKernels\n")
    print_kernels(x$fit, digits)
  }
  cat("\nMost relevant centres\n")
  print(x$centres, digits = digits, row.names = FALSE)
  cat("\n")
  print(x$diagnostics)
  invisible(x)
}

# Updating -------------------------------------------------------------------

#' Add rows, or change the sampler's settings
#'
#' The rows are processed one at a time, at the same cost as in the first call. With
#' settings frozen by the first call and `order = "given"`, the result is identical to
#' one call with all rows. First, the sums that the particles share are rebuilt from the
#' rows so far, unless an earlier `update()` in the same session left them in memory (up
#' to 200 MB; `options(kernelbayes.held_memory = )` sets the number of bytes).
#' @section Changed settings:
#' With `n_moves` or `particles` the particles of every run are rejuvenated first:
#' resampled to `particles` (if their weights differ or their number changes) and
#' then moved once, by a Gibbs sweep of coefficients and variances and `n_moves`
#' reversible-jump moves each. These leave the posterior of the rows so far
#' invariant. Copies of a particle are identical until they have moved, so a run that
#' changes from few to many particles also needs moves. The log evidence so far is
#' kept; its standard error is computed from the new particles (see [evidence()]).
#' The new settings apply to all later rows and are stored in `control`. Not for
#' `proposal = "paper"` or an improper prior.
#' @param object A fit of [srvm()].
#' @param newdata For formula fits: a data frame with predictors and response,
#'   or a [connection][base::connections] that gives them as lines of
#'   comma-separated values.
#' @param rows,header For connections: how many rows to read and process at a time;
#'   whether the first line has the names of the columns (`FALSE`: they are the
#'   variables of the formula, in its order), or these names. After an interrupt an
#'   open connection is at the first row that is not in the fit.
#' @param newx,newy For x/y fits: predictors and response.
#' @inheritParams update.kb_kgs
#' @param weights,offset Of the new rows, as in [srvm()]: needed if the fit has
#'   them. For formula fits `weights` are looked up in `newdata` first, and
#'   offsets are in `newdata`. A fit without weights has weights of 1.
#' @param n_moves,particles New settings of the sampler, as in [smc_control()];
#'   `NULL` keeps those of the fit. If one is given, the particles are
#'   rejuvenated, see below.
#' @return A fit of all rows. Without new rows, an interrupted fit is run to its
#'   end and a complete fit is returned unchanged, or rejuvenated.
#' @section Errors:
#' As in [srvm()]; `kb_error_argument` also for a change of `particles` if the fit
#' keeps its `ancestry`, whose matrices have a column for each particle.
#' @examples
#' data <- sim_sinc(50, seed = 1)
#' settings <- smc_control(particles = 100)
#' all <- srvm(y ~ x, data, control = settings, seed = 1)
#' part <- srvm(y ~ x, data[1:30, ],
#'   control = settings, seed = 1, reference = all
#' )
#' both <- update(part, newdata = data[31:50, ])
#' identical(evidence(both)$log_evidence, evidence(all)$log_evidence)
#'
#' # More particles and moves from here on:
#' more <- update(both, particles = 400, n_moves = 20)
#' tail(ess(more), 1)
#' @export
update.kb_srvm <- function(object, newdata = NULL, newx = NULL, newy = NULL,
                           na.action = c("omit", "fail"), time_limit = NULL,
                           progress = NULL, n_moves = NULL, particles = NULL,
                           rows = 1000, header = TRUE, weights = NULL,
                           offset = NULL, ...) {
  started <- now()
  weights <- rlang::enquo(weights)
  refuse_new_formula(newdata)
  object <- checked_fit(object, ...)
  mixed <- check_new_mixed(object, NULL, NULL, offset)
  if (!is.null(time_limit)) time_limit <- check_seconds(time_limit)
  na.action <- check_na_action(na.action)
  progress <- check_progress(progress)
  if (inherits(newdata, "connection")) {
    if (!is.null(n_moves) || !is.null(particles)) {
      object <- stats::update(object, n_moves = n_moves, particles = particles)
    }
    return(update_from_connection(
      object, newdata, rows, header, na.action, time_limit, progress, weights
    ))
  }
  refuse_without_connection(c(
    rows = !missing(rows), header = !missing(header)
  ))
  rows <- update_rows(object, newdata, newx, newy, mixed)
  refuse_rowless(rows, c(
    weights = !rlang::quo_is_null(weights), offset = !is.null(mixed)
  ))
  if (!is.null(rows)) {
    rows <- weigh_rows(object, rows, weights, newdata, newx)
    mould <- count_rows(object$mould, rows$complete)
    rows <- complete_rows(rows, na.action)
    object$mould <- mould
  }
  changed <- !is.null(n_moves) || !is.null(particles)
  file <- object$control$checkpoint
  if (changed) {
    if (!is.null(file)) check_checkpoint(object)
    object <- srvm_rejuvenate(object, n_moves, particles)
  }
  if (!is.null(rows)) object <- append_rows(object, rows)
  if (!is_complete(object)) {
    return(run_fit(object, progress, started, time_limit))
  }
  if (changed) object$seconds <- object$seconds + now() - started
  object <- sealed(object)
  if (changed && !is.null(file)) save_or_warn(write_checkpoint)(object, file)
  object
}

# Change the sampler's settings and move the particles of every run
srvm_rejuvenate <- function(object, n_moves, particles) {
  refuse_while_sharing(object)
  control <- object$control
  if (!is.null(n_moves)) control$n_moves <- check_count(n_moves, 0)
  if (!is.null(particles)) {
    control$particles <- check_count(particles, 1)
  }
  if (control$particles != object$control$particles &&
    control$ancestry != "summary") {
    kb_abort(c(
      "{.arg particles} must stay at {object$control$particles}.",
      x = "It is {describe(particles)}.",
      i = "The fit keeps its ancestry ({.val {control$ancestry}}), with a column
           for each particle."
    ), "argument", argument = "particles")
  }
  object$control <- control
  check_run_memory(object)
  engine <- fit_engine(object)
  states <- lapply(seq_along(object$runs), function(index) {
    state <- object$runs[[index]]
    if (state_time(state) == 0L) {
      return(NULL)
    }
    config <- run_config(engine$config, index)
    tryCatch(
      srvm_rejuvenate_cpp(config, engine$x, engine$y, state),
      "C++Error" = function(error) refuse_sampler(error)
    )
  })
  object$runs <- keep_past(states, object$runs)
  object
}

#' @param mixed Of x/y fits: NULL, or their offset.
#' @noRd
update_rows <- function(object, newdata, newx, newy, mixed = NULL) {
  if (!is.null(newdata)) {
    if (!is.null(newx) || !is.null(newy)) {
      kb_abort("Give {.arg newdata}, or {.arg newx} and {.arg newy}.",
        "argument", argument = "newdata"
      )
    }
    return(mould_forge(object$mould, newdata, outcome = TRUE))
  }
  if (is.null(newx) && is.null(newy)) {
    return(NULL)
  }
  mould_forge_xy(object$mould, newx, newy, mixed)
}

# Rows with their weights, a quosure
weigh_rows <- function(object, rows, weights, newdata, newx) {
  if (!rlang::quo_is_null(weights)) {
    rows$weights <- evaluate_weights(weights, as.data.frame(
      if (is.null(newdata)) newx else newdata
    ), if (is.null(newdata)) "newx" else "newdata")
  }
  if (has_classes(object)) refuse_class_weights(rows$weights)
  if (is.null(rows$weights) && !is.null(object$data$weights)) {
    kb_abort(c(
      "{.arg weights} of the new rows must be given.",
      i = "The model was fitted with {.arg weights}."
    ), "argument", argument = "weights")
  }
  if (!is.null(rows$weights)) {
    rows$complete <- rows$complete & !is.na(rows$weights)
  }
  rows
}

#' @param given Named flags: arguments that belong to new rows.
#' @noRd
refuse_rowless <- function(rows, given) {
  given <- names(which(given))
  if (is.null(rows) && length(given) > 0) {
    kb_abort(
      "{.arg {given}} must be given with new rows: {.arg newdata}, or
       {.arg newx} and {.arg newy}.",
      "argument", argument = given[[1]]
    )
  }
}

complete_rows <- function(rows, na.action) {
  if (na.action == "fail" && !all(rows$complete)) {
    kb_abort(c(
      "The new rows must be complete.",
      x = "{sum(!rows$complete)} of {length(rows$complete)} have missing
           values.",
      i = "{.code na.action = \"omit\"} drops them."
    ), "missing")
  }
  inform_omitted(which(!rows$complete), length(rows$complete))
  list(
    x = rows$x[rows$complete, , drop = FALSE], y = rows$y[rows$complete],
    names = rows$names[rows$complete], weights = rows$weights[rows$complete],
    variables = pick_rows(rows$variables, which(rows$complete))
  )
}

# The mould after further rows, of which some are left out
count_rows <- function(mould, complete) {
  mould$omitted <- c(mould$omitted, mould$n_rows + which(!complete))
  mould$n_rows <- mould$n_rows + length(complete)
  mould
}

append_rows <- function(object, rows) {
  refuse_unmapped(object$settings, kernel_part(object, rows$x))
  n <- nrow(object$data$x)
  numbers <- row_numbers(object)
  given <- n_given(object)
  new <- seq_len(nrow(rows$x))
  if (!is.null(object[["past"]])) {
    object$past$numbers <- c(numbers, given + new)
  }
  if (object$order == "random") {
    new <- shuffle(length(new), object$seed)
  }
  if (!is.null(rows$weights)) {
    object$data$weights <- c(row_weights(object), rows$weights)
  }
  if (!is.null(object$data$mixed)) {
    object$data$mixed <- rbind(object$data$mixed, mixed_part(object, rows$x))
  }
  object$data$x <- rbind(object$data$x, kernel_part(object, rows$x))
  object$data$y <- c(object$data$y, rows$y)
  object$sequence <- c(object$sequence, n + new)
  object$mould <- append_to_mould(
    object$mould, numbers, rows, given + seq_along(new)
  )
  object
}

# Methods of stats -------------------------------------------------------------

#' @rdname summary.kb_srvm
#' @export
sigma.kb_srvm <- function(object, ...) {
  object <- checked_fit(object, ...)
  if (is_probit(object)) {
    return(1)
  }
  pool <- srvm_pool(object)
  # The refreshed draws, as in tidy(), as_draws() and summary().
  noise <- pool$draws$noise
  unscale_sd(object$settings$scaling, sum(pool$weights * sqrt(noise)))
}

#' @rdname summary.kb_srvm
#' @export
coef.kb_srvm <- function(object, ...) {
  object <- checked_fit(object, ...)
  refuse_where(object, "coef", "learned_bandwidths")
  pool <- srvm_pool(object)
  beta <- srvm_mean_coefficients(object, pool)
  scaling <- object$settings$scaling
  centre <- row_numbers(object)[pool$rows[beta$candidates]]
  if (names_kernels(object)) {
    kernel <- candidate_kernels(object, beta$candidates, pool)
    centre <- paste0(kernel, ":", centre, recycle0 = TRUE)
  }
  linear <- object$settings$linear
  fixed <- beta$fixed[fixed_numbers(object$settings) < 0]
  c(
    "(Intercept)" = unscale_mean(
      scaling, if (object$settings$intercept) beta$fixed[[1]] else 0
    ),
    stats::setNames(
      unscale_sd(scaling, linear$scale * fixed),
      if (length(fixed) > 0) colnames(object$data$x)
    ),
    stats::setNames(unscale_sd(scaling, beta$values), centre)
  )
}

#' @rdname summary.kb_srvm
#' @export
logLik.kb_srvm <- function(object, ...) {
  object <- checked_fit(object, ...)
  k <- model_size(object)
  pool <- srvm_pool(object)
  df <- noise_df(object, pool)
  density <- if (is_probit(object)) {
    stats::predict(object, type = "log_score")
  } else {
    log_noise_density(
      stats::residuals(object),
      stats::sigma(object) / sqrt(row_weights(object)[training_rows(object)]),
      # At means, of 1 / df too.
      if (learns_df(object)) 1 / sum(pool$weights / df) else df
    )
  }
  structure(sum(density),
    df = sum(k$k * k$probability) + n_fixed(object$settings) +
      2 - is_probit(object) + learns_df(object),
    nobs = length(density), class = "logLik"
  )
}

