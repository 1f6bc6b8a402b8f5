# The posterior of the states along the observations: partial dependence of
# kernel Bayes' rule.

#' Partial dependence of the states on the observations
#'
#' `partial_dependence(fit, "a")` is the posterior mean of the states as a function
#' of one or two columns of the observations. Its uncertainty is not known: the
#' intervals are those of the *state* given the observation, and do not shrink to
#' zero with more pairs.
#' @param object A fit of [kbr()].
#' @param variable One or two names of variables of the observations, see
#'   [partial_dependence()].
#' @param grid,n,level As in [partial_dependence()].
#' @param columns Which columns of the states: names or numbers; `NULL`: all
#'   for one variable.
#' @param others The other variables of the observations: `"median"` sets them to
#'   their medians in the fit (factors to their most frequent level);
#'   `"average"` uses the values of every row, as for other engines. The mean is
#'   then the mean over rows, and the interval that of the mixture of the rows'
#'   posteriors, which is wider because the other columns vary.
#' @param ... Not used: unknown arguments are errors.
#' @return As [partial_dependence()]: one column per variable, `mean`, `lower`
#'   and `upper`, in units of the states; for several states one line per point
#'   and `state`. `NA` where weights cancel.
#' @section Errors: `kb_error_not_defined` if the kernel of the observations is a
#'   matrix, for fits of [kbr_chunks()] and for [kbr_hmm()]. Points far from all
#'   observations give a warning (`kb_warning_far`): if columns are dependent, there
#'   may be no observations near the medians of the others.
#' @examples
#' x <- rnorm(300)
#' fit <- kbr(x, cbind(a = x, b = -x) + 0.5 * rnorm(600))
#' slope <- partial_dependence(fit, "a", n = 10)
#' slope
#' plot(slope)
#' @export
partial_dependence.kb_kbr <- function(object, variable, grid = NULL, n = NULL,
                                      level = 0.9, columns = NULL,
                                      others = c("median", "average"), ...) {
  object <- checked_fit(object, ...)
  level <- check_number(level, 0, 1, open = TRUE)
  others <- check_choice(others, c("median", "average"))
  if (is.null(object$features$observations$kernel)) refuse_gram_effects()
  frame <- variable_frame(object)
  variable <- check_partial_variables(object, variable, frame)
  columns <- state_columns(
    object, columns, ncol(object$data$states), exactly = FALSE
  )
  if (length(variable) == 2 && length(columns) > 1) {
    bad_argument(columns, "columns", "one of them with two variables")
  }
  points <- partial_points(object, variable, grid, n, frame)
  posterior <- kbr_effects(object, points, others)
  bands <- lapply(columns, function(column) {
    state_table(posterior, column, level)
  })
  single <- length(columns) == 1
  partial_table(
    points, bands, "state", columns, if (single) columns, level,
    paste("mean", if (single) columns else "state")
  )
}

#' @export
partial_dependence.kb_kbr_chunked <- function(object, ...) {
  chunked_has_no("partial_dependence")
}

#' @export
partial_dependence.kb_kbr_hmm <- function(object, ...) {
  kb_abort(c(
    "{.fn partial_dependence} is not defined for models of {.fn kbr_hmm}.",
    x = "Their states depend on all observations so far, not on one.",
    i = "{.code kbr(states, observations)} has a function of one observation.
         Or compare {.fn kbr_filter} of the original and a changed series."
  ), "not_defined")
}

refuse_gram_effects <- function() {
  kb_abort(c(
    "{.fn partial_dependence} needs the columns of the observations.",
    x = "{.arg kernel_y} is a matrix."
  ), "not_defined")
}

#' Posterior at each point of the grid
#' @return List of `mean` (points x d) and `atoms`: for each point a list of
#'   states `x` (rows x d) and their probabilities `p`.
#' @noRd
kbr_effects <- function(fit, points, others) UseMethod("kbr_effects")

#' @export
kbr_effects.kb_kbr <- function(fit, points, others) {
  seen <- observe_effects(fit, points, others)
  over_rows <- function(f) {
    do.call(rbind, lapply(seen, function(one) colMeans(f(fit, one))))
  }
  p <- nearest_probabilities(fit, over_rows(weight_shares))$weights
  list(
    mean = over_rows(state_means),
    atoms = lapply(seq_len(nrow(p)), function(i) {
      list(x = fit$data$states, p = p[i, ])
    })
  )
}

# Draws of each row's posterior, if it is averaged over rows
effect_draws_per_row <- 100

#' @export
kbr_effects.kb_kbr_adjusted <- function(fit, points, others) {
  seen <- observe_effects(fit, points, others)
  atoms <- lapply(seen, function(one) {
    each <- over_observations(fit, one, function(at) {
      p <- as.vector(at$weights)
      if (length(one$near) == 1) {
        return(list(x = at$data$states, p = p))
      }
      rows <- systematic_rows(p, effect_draws_per_row)
      list(
        x = at$data$states[rows, , drop = FALSE],
        p = rep(1 / effect_draws_per_row / length(one$near), length(rows))
      )
    })
    list(
      x = do.call(rbind, lapply(each, `[[`, "x")),
      p = unlist(lapply(each, `[[`, "p"))
    )
  })
  list(
    mean = do.call(rbind, lapply(atoms, function(a) colSums(a$p * a$x))),
    atoms = atoms
  )
}

# What is observed at each point of the grid, in one row or one per row of the
# fit
observe_effects <- function(fit, points, others) {
  frame <- variable_frame(fit)
  if (others == "median") frame <- typical_row(fit$mould, frame)
  at <- partial_rows(fit, points, frame)
  seen <- lapply(at, function(y) {
    observe_complete(fit, moulded_rows(fit, y))
  })
  warn_far(list(
    near = unlist(lapply(seen, `[[`, "near")),
    far = unlist(lapply(seen, `[[`, "far"))
  ))
  seen
}

# Posterior means from weights that sum to one
state_means <- function(fit, seen) {
  fit$settings$normalize <- TRUE
  kbr_mean(fit, seen)
}

state_table <- function(posterior, column, level) {
  ends <- vapply(posterior$atoms, function(atoms) {
    x <- atoms$x[, column]
    order <- order(x)
    signed_quantiles(x[order], atoms$p[order], interval_ends(level))
  }, c(0, 0))
  data.frame(
    mean = unname(posterior$mean[, column]), lower = ends[1, ],
    upper = ends[2, ]
  )
}

# print() and plot() of partial dependence.

#' @rdname partial_dependence
#' @export
print.kb_partial_dependence <- function(x, digits = 3, ...) {
  check_no_dots(...)
  plain <- as.data.frame(unclass(x), optional = TRUE)
  numbers <- c("mean", "lower", "upper")
  if (!all(numbers %in% names(x))) {
    # Columns were taken out of it.
    return(invisible(print(plain, digits = digits)))
  }
  cat(
    "Partial dependence", if (!is.null(attr(x, "outcome"))) {
      paste0(" of ", attr(x, "outcome"))
    }, intervals_words(x), "\n",
    sep = ""
  )
  plain[numbers] <- format_alike(plain[numbers], digits)
  print(plain, digits = digits, row.names = FALSE)
  invisible(x)
}

#' @rdname partial_dependence
#' @export
plot.kb_partial_dependence <- function(x, ...) {
  draw_picture(dependence_picture(x), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_partial_dependence <- autoplot_of(plot.kb_partial_dependence)

# A curve, or ranges of levels; a curve per level of a second variable; a
# surface over two numbers
dependence_picture <- function(x) {
  variables <- dependence_variables(x)
  outcome <- attr(x, "outcome")
  if (is.null(outcome)) outcome <- "mean"
  level <- attr(x, "level")
  x <- as.data.frame(unclass(x), optional = TRUE)
  numeric <- vapply(x[variables], is_measured, NA)
  # Along a numeric variable, if there is one.
  variables <- variables[order(!numeric)]
  if (length(variables) == 2 && all(numeric)) {
    return(surface_picture(x, variables, outcome))
  }
  x <- x[order(x[[variables[[1]]]]), ]
  if (!identical(variables[2], "state")) {
    return(new_picture(effect_panel(x, variables, outcome, level),
      apart = length(variables) == 2
    ))
  }
  # Each state has its own units.
  states <- split(x, x$state, drop = TRUE)
  new_picture(lapply(names(states), function(state) {
    effect_panel(states[[state]], variables[[1]], paste("mean", state), level)
  }))
}

dependence_variables <- function(x) {
  setdiff(names(x), c("mean", "lower", "upper"))
}

# The mean and its limits along a variable, in the colour of the level of a
# second one
effect_panel <- function(x, variables, ylab, level = NULL,
                         centre = "posterior mean") {
  at <- x[[variables[[1]]]]
  # Times are numbers on an axis.
  if (is_time(at)) at <- as.double(at)
  ticks <- if (!is.numeric(at)) shown_levels(unique(at))
  if (!is.null(ticks)) at <- match(at, unique(at))
  of <- if (length(variables) == 2) factor(x[[variables[[2]]]])
  if (!is.null(of)) levels(of) <- shown_levels(levels(of))
  by <- if (!is.null(of)) groups(variables[[2]], levels(of))
  # Levels beside each other.
  if (!is.null(ticks) && !is.null(of)) {
    at <- at + 0.5 * (as.integer(of) / (nlevels(of) + 1) - 0.5)
  }
  ends <- columns(x = at, ymin = x$lower, ymax = x$upper, group = of)
  panel(
    variables[[1]], ylab,
    layer(if (is.null(ticks)) "ribbon" else "ranges", ends,
      colour = "sky", alpha = if (is.null(by)) 0.6 else 0.25, lwd = 5, by = by,
      label = if (!is.null(level)) percent_label(level, "credible interval")
    ),
    layer(if (is.null(ticks)) "lines" else "points",
      columns(x = at, y = x$mean, group = of),
      lwd = if (is.null(ticks)) 2 else 1, size = 1, by = by,
      label = if (is.null(by)) centre
    ),
    ticks = ticks, xlim = if (!is.null(ticks)) c(0.4, length(ticks) + 0.6)
  )
}

# The mean in colours, with contours
surface_picture <- function(x, variables, outcome) {
  cells <- data.frame(
    x = as.double(x[[variables[[1]]]]), y = as.double(x[[variables[[2]]]]),
    z = x$mean
  )
  flat <- length(unique(cells$x)) == 1 || length(unique(cells$y)) == 1
  new_picture(panel(
    variables[[1]], variables[[2]],
    if (!flat) {
      surface_layer(cells, outcome, range(cells$z, na.rm = TRUE),
        c("white", kb_colour("sky"), kb_colour("blue"))
      )
    },
    if (!flat) {
      contour_layer(cells, colour = "#303030", labels = TRUE, on_tiles = TRUE)
    },
    xlim = range(cells$x), ylim = range(cells$y), tight = TRUE
  ))
}

#' Numbers over a grid in colours
#' @param ends Colours of the limits, and of the middle.
#' @noRd
surface_layer <- function(cells, label, limits, ends) {
  layer("tiles", cells,
    palette = grDevices::colorRampPalette(ends)(63), limits = limits,
    label = label
  )
}
