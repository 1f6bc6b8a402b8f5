# Settings of kbr_hmm() by filtering stretches of the training series with
# models of the others.

#' Choose the settings of a state-space model
#'
#' `tune_kbr_hmm(states, observations)` filters stretches of the training series with
#' models learned from the others, for each of a list of settings, and learns a model
#' of all with the best. [kbr_hmm()] itself chooses among few settings of its default
#' method; here are more, other methods and your own.
#' @param states,observations,group,times,inputs,space,scale The training
#'   period, as in [kbr_hmm()]; no states may be known in other ways.
#' @param settings `NULL`, or a list of lists of arguments of [kbr_hmm()], such
#'   as `list(list(), list(method = "kbr", eps = 1e-4))`. `NULL`: for
#'   `"adjusted"` summaries or not, the last move or not and inflations from 1
#'   to 1000; for `"kbr"` and `"iw"` three bandwidths of states, as many of
#'   observations and three regularisations, with a rank of at most 100.
#' @param folds Number of stretches, at least 2.
#' @param steps How many steps of each are filtered, at least 10: those in its
#'   middle.
#' @inheritParams bark
#' @details The score is the energy score of the states (Gneiting and Raftery, 2007,
#' see [cross_validate()]), which rewards distributions that are narrow and right;
#' columns of vectors are in standard deviations. All settings are tried on two
#' stretches; the better third of them goes on to the others.
#' @return List of class `kb_hmm_tuning`: `fit` ([kbr_hmm()] of all rows with
#'   the best setting), `table` (data frame with one line per setting: `setting`,
#'   `score`, `se` of its mean over stretches, `error`, the mean squared
#'   distance of means, and `stretches`, how many were filtered), `best` (number
#'   of the line) and `settings`.
#' @section Errors: As in [kbr_hmm()]. Settings with which no model can be learned
#'   have an infinite score; if that is so for all, there is an error of class
#'   `kb_error_settings`. After an interrupt the choice is among the settings with
#'   most of the stretches.
#' @examples
#' seen <- sim_linear_hmm(120, seed = 1)
#' tuned <- tune_kbr_hmm(seen$states, seen$observations,
#'   settings = list(
#'     list(method = "kbr"), list(method = "iw"),
#'     list(summaries = FALSE, lag = 0, inflate = 1)
#'   ),
#'   folds = 3, steps = 20, seed = 1
#' )
#' tuned
#' @export
tune_kbr_hmm <- function(states, observations, group = NULL, times = NULL,
                         inputs = NULL,
                         space = c("euclidean", "circle", "rotation"),
                         settings = NULL, folds = 5, steps = 100, scale = FALSE,
                         seed = NULL, progress = NULL, ...) {
  check_no_dots(...)
  progress <- check_progress(progress)
  seed <- draw_seed(seed)
  space <- check_choice(space, c("euclidean", "circle", "rotation"))
  mould <- mould_hmm(states, observations, NULL)
  n <- nrow(mould$y)
  folds <- check_count(folds, 2, n %/% 10)
  shared <- list(
    states = mould$y,
    # Without names new observations need none.
    observations = if (mould$positional) unname(mould$x) else mould$x,
    group = group, times = times, inputs = inputs, space = space,
    scale = scale, seed = seed,
    steps = check_count(steps, 10),
    fold = ceiling(seq_len(n) / n * folds),
    settings = if (is.null(settings)) {
      hmm_settings(mould$x, is.null(times) && is.null(inputs))
    } else {
      check_hmm_settings(settings)
    }
  )
  # What is wrong with the data is wrong for all settings.
  check_space(space, mould$y, "states")
  successive_rows(n, group)
  keep_run({
    scores <- tune_stages(shared, folds, progress)
    tried <- which(rowSums(!is.na(scores[, , 1, drop = FALSE])) > 0)
    shared$settings <- shared$settings[tried]
    table <- hmm_tuning_table(shared$settings, scores[tried, , , drop = FALSE])
    best <- best_setting(table)
    fit <- tuned_hmm(shared, best)
  })
  structure(list(
    fit = fit, table = table, best = best, settings = shared$settings
  ), class = "kb_hmm_tuning")
}

check_hmm_settings <- function(settings) {
  known <- setdiff(names(formals(kbr_hmm)), c(
    "states", "observations", "transitions", "log_likelihood", "group", "times",
    "inputs", "space", "scale", "seed", "progress", "..."
  ))
  fine <- is.list(settings) && length(settings) > 0 &&
    all(vapply(settings, function(s) {
      is.list(s) && (length(s) == 0 || all(names(s) %in% known)) &&
        length(names(s)) == length(s)
    }, NA))
  if (!fine) {
    bad_argument(settings, "settings", paste(
      "NULL or a list of lists of arguments of kbr_hmm():", toString(known)
    ))
  }
  settings
}

# The settings that are tried
hmm_settings <- function(observations, rules) {
  adjusted <- expand.grid(
    inflate = c(1, 3, 10, 30, 100, 1000), lag = 0:1,
    summaries = c(FALSE, TRUE)
  )
  out <- lapply(seq_len(nrow(adjusted)), function(i) as.list(adjusted[i, ]))
  if (!rules) {
    return(out)
  }
  widths <- c(0.3, 0.6, 1.2)
  rule <- expand.grid(
    c0 = c(0.01, 0.1, 1), width_y = widths, width_x = widths,
    method = c("kbr", "iw"), stringsAsFactors = FALSE
  )
  c(out, lapply(seq_len(nrow(rule)), function(i) {
    c(as.list(rule[i, ]), list(rank = 100))
  }))
}

# Scores of settings x stretches: two stretches, then the others of the better
# third
tune_stages <- function(shared, folds, progress) {
  count <- length(shared$settings)
  scores <- array(NA_real_, c(count, folds, 2))
  run <- function(settings, stretches, label) {
    tasks <- split(
      expand.grid(fold = stretches, setting = settings),
      seq_len(length(settings) * length(stretches))
    )
    out <- map_tasks(tasks, "hmm_tune_cell", shared, progress, label)
    for (i in which(out$done)) {
      at <- tasks[[i]]
      scores[at$setting, at$fold, ] <<- out$values[[i]]
    }
    done <- sum(!is.na(scores[, , 1]))
    report_tasks(done, done + sum(!out$done), "stretch",
      "The choice is among the settings with most of them.", "stretches"
    )
    all(out$done)
  }
  first <- unique(c(1 + folds %/% 4, folds - folds %/% 4))
  whole <- run(seq_len(count), first, "Tuning, first stretches")
  left <- setdiff(seq_len(folds), first)
  if (whole && length(left) > 0) {
    means <- rowMeans(scores[, first, 1, drop = FALSE])
    better <- utils::head(order(means), max(ceiling(count / 3), 2))
    run(better, left, "Tuning, other stretches")
  }
  scores
}

# Energy score and error of one stretch
hmm_tune_cell <- function(task, shared) {
  held <- shared$fold == task$fold
  found <- tryCatch(
    suppressWarnings(hmm_stretch_scores(shared, task$setting, held)),
    kb_error = function(error) c(Inf, Inf)
  )
  unname(found)
}

hmm_stretch_scores <- function(shared, setting, held) {
  hmm <- setting_hmm(shared, setting, !held)
  rows <- middle_rows(one_sequence(shared, which(held)), shared$steps)
  path <- kbr_filter(hmm, shared$observations[rows, , drop = FALSE],
    times = shared$times[rows], inputs = shared$inputs[rows, , drop = FALSE],
    progress = FALSE
  )
  draws <- stats::predict(path, type = "draws", ndraws = 100)
  model <- list(
    space = hmm$space, unit = column_moments(shared$states)
  )
  clouds <- lapply(seq_along(rows), function(t) {
    list(states = matrix(draws[, , t], dim(draws)[[1]]))
  })
  later <- if (length(rows) > 10) -seq_len(5) else TRUE
  score_clouds(
    model, clouds[later], unname(shared$states[rows[later], , drop = FALSE])
  )
}

# The first of the rows that are of one sequence
one_sequence <- function(shared, rows) {
  if (is.null(shared$group)) rows else {
    rows[shared$group[rows] == shared$group[[rows[[1]]]]]
  }
}

# The model of some rows with a setting
#
# Rows on both sides of a stretch are sequences of their own.
setting_hmm <- function(shared, setting, rows) {
  part <- cumsum(c(TRUE, diff(rows) == -1))[rows]
  group <- paste(part, if (!is.null(shared$group)) shared$group[rows])
  given <- list(
    shared$states[rows, , drop = FALSE],
    shared$observations[rows, , drop = FALSE],
    group = group, space = shared$space, scale = shared$scale,
    seed = shared$seed, progress = FALSE
  )
  given$times <- shared$times[rows]
  if (!is.null(shared$inputs)) {
    given$inputs <- as.matrix(shared$inputs)[rows, , drop = FALSE]
  }
  do.call(kbr_hmm, c(
    given, setting_arguments(shared, shared$settings[[setting]], rows)
  ))
}

# Widths and c0 as kernels and regularisation
setting_arguments <- function(shared, setting, rows) {
  if (is.null(setting$c0)) {
    return(setting)
  }
  space <- state_space(shared$space, colnames(shared$states))
  code <- space_encode(space, shared$states[rows, , drop = FALSE])
  y <- observed_rows(shared$observations[rows, , drop = FALSE])
  learn <- function(x) scaling_x(scaling_learn(x, factor(), shared$scale), x)
  out <- setting[c("method", "rank")]
  out$eps <- setting$c0 / sum(rows)
  out$kernel_y <- kernel_gaussian(setting$width_y * bandwidth_median(learn(y)))
  if (shared$space == "euclidean") code <- learn(code)
  if (shared$space != "rotation" || setting$width_x != 0.6) {
    out$kernel_x <- kernel_gaussian(setting$width_x * bandwidth_median(code))
  }
  out
}

tuned_hmm <- function(shared, best) {
  setting_hmm(shared, best, rep(TRUE, nrow(shared$states)))
}

hmm_tuning_table <- function(settings, scores) {
  value <- matrix(scores[, , 1], length(settings))
  data.frame(
    setting = vapply(settings, setting_label, ""),
    score = rowMeans(value, na.rm = TRUE),
    se = apply(value, 1, stats::sd, na.rm = TRUE) /
      sqrt(rowSums(!is.na(value))),
    error = rowMeans(matrix(scores[, , 2], length(settings)), na.rm = TRUE),
    stretches = rowSums(!is.na(value))
  )
}

setting_label <- function(setting) {
  if (length(setting) == 0) {
    return("defaults")
  }
  value <- vapply(setting, function(v) {
    if (inherits(v, "kb_kernel")) shorten(format(v)) else format(v)
  }, "")
  paste(names(setting), value, sep = " = ", collapse = ", ")
}

# The least score of those with all stretches
best_setting <- function(table) {
  whole <- table$stretches == max(table$stretches)
  if (!any(is.finite(table$score[whole]))) {
    kb_abort(c(
      "No setting could be used.",
      i = "{.fn kbr_hmm} with the first of them says why."
    ), "settings")
  }
  which(whole)[[which.min(table$score[whole])]]
}

#' @export
print.kb_hmm_tuning <- function(x, digits = 3, ...) {
  check_no_dots(...)
  table <- x$table[order(-x$table$stretches, x$table$score), ]
  cat(
    "State-space models with ", counted(nrow(table), "setting"),
    ", by energy score of left-out stretches\n",
    sep = ""
  )
  print(utils::head(table, 5), digits = digits, row.names = FALSE)
  invisible(x)
}
