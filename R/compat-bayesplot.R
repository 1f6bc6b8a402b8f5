# bayesplot: posterior predictive checks, registered when it is loaded.

#' Posterior predictive checks
#'
#' Compares the training responses with draws of new responses for the same rows
#' (`rstantools::posterior_predict()`) in a plot from bayesplot.
#'
#' Of a fit of [bark()] with `prior_only = TRUE` draws are from the prior, and
#' the plot shows what the model expects before it has seen data. Because
#' coefficients of kernels have heavy tails, the axis has the data and the
#' central 80% of the drawn responses, at most two ranges of the data beyond the
#' data; the subtitle says which shares of the drawn responses lie beyond.
#'
#' @param object A fit of [srvm()], [bark()] or [kgs()].
#' @param type The name of a plot of [bayesplot](https://mc-stan.org/bayesplot/)
#'   without the prefix `ppc_`, such as `"dens_overlay"`, `"ecdf_overlay"`,
#'   `"stat"`, `"intervals"`, `"bars"`, `"loo_pit_qq"` (not every plot suits
#'   every response). `NULL`: `"dens_overlay"` for numbers (`"ecdf_overlay"` if
#'   draws are from the prior), `"km_overlay"` where they are censored, `"bars"`
#'   for classes. Draws from the prior: `"dens"`, `"dens_overlay"`,
#'   `"ecdf_overlay"`, `"km_overlay"`, `"hist"`, `"freqpoly"`, `"bars"`,
#'   `"rootogram"`, `"intervals"`, `"ribbon"`, `"boxplot"`, or those of them,
#'   and `"violin"`, that have `"_grouped"` at the end.
#' @param ndraws Number of draws. `NULL`: 8 for plots with a panel or a box per
#'   draw, 50 for those with a line per draw, otherwise 200.
#' @param seed For the new responses, see [simulate()][simulate.kb_fit].
#' @param ... Passed on to the plot, such as `stat`, `group` or `x`.
#' @return A ggplot object. Classes are numbered from 1, in the order of their
#'   levels.
#' @section Errors: `kb_error_package` without bayesplot and rstantools,
#'   `kb_error_argument` for a type that bayesplot does not have,
#'   `kb_error_not_defined` for fits without a likelihood, and for types that do
#'   not suit draws from the prior.
#' @examplesIf rlang::is_installed(c("bayesplot", "dplyr (>= 1.1.0)"))
#' if (requireNamespace("rstantools", quietly = TRUE)) {
#'   data <- sim_sinc(50, seed = 1)
#'   fit <- srvm(y ~ x, data, kernel = kernel_gaussian(0.3), seed = 1)
#'   print(bayesplot::pp_check(fit, seed = 1))
#'   print(bayesplot::pp_check(fit, "intervals", x = data$x, seed = 1))
#'
#'   # What does the prior expect?
#'   prior <- bark(y ~ x, data, prior_only = TRUE, seed = 1,
#'     control = mcmc_control(chains = 2, warmup = 100, iter = 200)
#'   )
#'   bayesplot::pp_check(prior, seed = 1)
#' }
#' @exportS3Method bayesplot::pp_check
pp_check.kb_fit <- function(object, type = NULL, ndraws = NULL, seed = NULL,
                            ...) {
  object <- checked_fit(object)
  need_likelihood(object, "pp_check")
  need_package("bayesplot", "`pp_check()`")
  need_package("rstantools", "`pp_check()`")
  y <- training_response(object)
  if (is.null(type)) type <- default_ppc(object, y)
  ppc <- find_ppc(type)
  if (is.null(ndraws)) ndraws <- default_ndraws(type)
  available <- length(equal_weight_draws(object, posterior_pool(object)))
  new <- rstantools::posterior_predict(object,
    ndraws = min(check_ndraws(ndraws), available), seed = seed
  )
  if (is.factor(y)) {
    # Two classes are 0 and 1.
    if (nlevels(y) == 2 && !is_ordered(object)) new <- new + 1L
    y <- as.integer(y)
  }
  if (is_prior_only(object) && startsWith(type, "ecdf")) ppc <- in_steps(ppc)
  draw <- function(new) {
    switch(object$mould$outcome,
      trials = ppc(y[, 1], new, ...),
      interval = ppc_censored(ppc, y, type, new, ...), ppc(y, new, ...)
    )
  }
  if (is_prior_only(object)) {
    return(prior_check(draw, object, y, new, type))
  }
  draw(new)
}

# Not with lines to responses far outside the axis
in_steps <- function(ppc) {
  force(ppc)
  function(..., discrete = TRUE) ppc(..., discrete = discrete)
}

# Where the plots that show draws as they are have the response
prior_check_axes <- c(
  dens = "x", dens_overlay = "x", ecdf_overlay = "x", km_overlay = "x",
  hist = "x", freqpoly = "x", bars = "x", rootogram = "x", intervals = "y",
  ribbon = "y", boxplot = "y", violin = "y"
)

#' The plot of draws from the prior, with an axis that shows the data
#' @param draw The plot of draws, a function.
#' @noRd
prior_check <- function(draw, fit, y, new, type) {
  kind <- sub("(_overlay)?_grouped$", "\\1", type)
  if (!kind %in% names(prior_check_axes)) {
    kb_abort(c(
      "{.arg type} must be one of {.or {.val {names(prior_check_axes)}}} where
       {.arg prior_only} is {.code TRUE}, or the same with {.val _grouped}.",
      x = "It is {.val {type}}."
    ), c("not_defined", "argument"), argument = "type")
  }
  title <- ggplot2::ggtitle("Prior predictive draws")
  if (has_classes(fit)) {
    return(draw(new) + title)
  }
  # The mean of a count may be too large for a number.
  new[is.na(new)] <- Inf
  shown <- axis_numbers(fit, y)
  limits <- prior_limits(shown, new)
  whole <- all(shown == round(shown)) && all(new == round(new))
  if (whole) limits <- c(floor(limits[[1]]), ceiling(limits[[2]]))
  # Half a bar.
  room <- if (kind %in% c("bars", "rootogram")) 0.6 else 0
  window <- stats::setNames(
    list(limits + c(-1, 1) * room), paste0(prior_check_axes[[kind]], "lim")
  )
  note <- beyond_words(new, limits)
  if (!is.null(note)) note <- paste("Drawn responses", note)
  if (startsWith(kind, "dens")) {
    # Draws of equal responses have the highest.
    window$ylim <- c(0, 4 * max(stats::density(shown)$y))
    note <- paste(c(note, "Higher densities are cut off"), collapse = "\n")
  }
  # Some plots have a system of coordinates, which this one replaces.
  suppressMessages(draw(pull_in(new, limits)) + title +
    ggplot2::labs(subtitle = note) +
    do.call(ggplot2::coord_cartesian, window))
}

# Numbers that are censored need Kaplan and Meier's curve
ppc_censored <- function(ppc, y, type, new, ...) {
  known <- y[, 1] == y[, 2]
  if (all(known)) {
    return(ppc(y[, 1], new, ...))
  }
  if (!startsWith(type, "km_overlay") || any(!known & is.finite(y[, 2]))) {
    kb_abort(c(
      "{.fn pp_check} of censored responses is defined for
       {.code type = \"km_overlay\"} and numbers censored on the right.",
      x = "{.arg type} is {.val {type}}, and {sum(!known)} responses are
           censored."
    ), "not_defined")
  }
  ppc(y[, 1], new, status_y = as.numeric(known), ...)
}

# Some plots have a panel per draw
default_ndraws <- function(type) {
  if (type %in% c("hist", "dens", "freqpoly", "boxplot")) {
    return(8)
  }
  if (grepl("overlay", type)) 50 else 200
}

default_ppc <- function(fit, y) {
  if (is.factor(y)) {
    return("bars")
  }
  censored <- identical(fit$mould$outcome, "interval") &&
    any(y[, 1] != y[, 2])
  if (censored) {
    return("km_overlay")
  }
  # Densities of draws far apart have different heights.
  if (is_prior_only(fit)) "ecdf_overlay" else "dens_overlay"
}

find_ppc <- function(type) {
  known <- sub("^ppc_", "", grep(
    "^ppc_(?!.*_data$)", getNamespaceExports("bayesplot"),
    perl = TRUE, value = TRUE
  ))
  type <- check_choice(type, sort(known))
  utils::getFromNamespace(paste0("ppc_", type), "bayesplot")
}
