# A fit of bark() without its data: what predictions need.

# `keep_data = FALSE`; a fit that was stopped keeps the data, to be continued
without_data <- function(fit) {
  if (fit$status != "complete") {
    kb_inform(c(
      "The fit keeps its data, because it was stopped.",
      i = "{.fn update} continues it."
    ), "data_kept")
    return(fit)
  }
  structure(
    list(fit = with_centres_only(fit), n = nrow(fit$data$x)),
    class = "kb_predictor"
  )
}

# Only the rows that are centres of kernels, and no states of the chains. Nothing
# that needs all rows may be given this fit.
with_centres_only <- function(fit) {
  locations <- unlist(lapply(fit$runs, function(run) {
    lapply(kernel_draws(run), `[[`, "location")
  }))
  # At least one, because nothing else expects a fit without rows.
  rows <- sort(unique(c(1L, locations[locations > 0])))
  fit$runs <- lapply(fit$runs, renumber_centres, rows)
  fit$data <- lapply(fit$data, function(part) {
    if (is.null(part)) NULL else pick_rows(part, rows)
  })
  fit$mould[c("row_names", "variables", "omitted")] <- list(
    NULL, NULL, integer()
  )
  fit$settings$prior$centre_weights <- NULL
  fit$request[c("linear", "groups")] <- list(NULL)
  fit$request$prior["centres"] <- list(NULL)
  fit$sequence <- seq_along(rows)
  fit$time <- length(rows)
  fit
}

# The draws of the kernels, and of those of the log variance, or of each class
kernel_draws <- function(run) {
  draws <- run$draws
  if (!is.null(draws$fields)) {
    return(draws$fields)
  }
  c(list(draws), if (!is.null(draws$varying)) list(draws$varying))
}

renumber_centres <- function(run, rows) {
  moved <- lapply(kernel_draws(run), function(draws) {
    at_row <- draws$location > 0
    draws$location[at_row] <- match(draws$location[at_row], rows)
    draws
  })
  if (is.null(run$draws$fields)) {
    run$draws <- moved[[1]]
    if (length(moved) > 1) run$draws$varying <- moved[[2]]
  } else {
    run$draws$fields <- moved
  }
  run[setdiff(names(run), c("levels", "rng"))]
}

#' @export
print.kb_predictor <- function(x, ...) {
  n <- length(posterior_pool(x$fit)$weights)
  cat(
    "<kb_predictor> of a fit of bark()\n",
    "  rows of the fit: ", format(x$n, big.mark = ","), ", not kept\n",
    "  draws:           ", n, " of ", length(x$fit$runs), " chains\n",
    "  predict(object, newdata) has the predictions.\n",
    sep = ""
  )
  invisible(x)
}

#' @rdname predict.kb_bark
#' @export
predict.kb_predictor <- function(object, newdata, type = NULL, ...) {
  if (missing(newdata)) {
    refuse_without_data("predict() without newdata", "argument", "newdata")
  }
  if (identical(type, "terms")) refuse_without_data("type = \"terms\"")
  stats::predict(object$fit, newdata, type = type, ...)
}

refuse_without_data <- function(what, class = "not_defined", argument = NULL) {
  kb_abort(c(
    "{.code {what}} needs the data, which the fit has not kept.",
    i = "{.code keep_data = TRUE} of {.fn bark} keeps them."
  ), class, argument = argument)
}

#' @export
coef.kb_predictor <- function(object, ...) refuse_without_data("coef()")
#' @export
fitted.kb_predictor <- function(object, ...) refuse_without_data("fitted()")
#' @export
residuals.kb_predictor <- function(object, ...) {
  refuse_without_data("residuals()")
}
#' @export
update.kb_predictor <- function(object, ...) refuse_without_data("update()")
