# Where the kernels of bark() are, a part of bark_prior().

#' Where kernels are
#'
#' For the argument `centres` of [bark_prior()]: the prior of the places of
#' kernels. Each kernel is the intercept (K = 1) with probability `intercept`,
#' else a row of the data is chosen. `centre_rows()` puts the kernel there,
#' `centre_near_rows()` somewhere near: its centre is normal around the row,
#' so that centres have the density
#' \deqn{p(\chi) = \sum_i \pi_i N(\chi; x_i, s^2 I).}{p(chi) = sum_i pi_i
#' N(chi; x_i, s^2 I).}
#' Rows count one after the other: location i holds a Poisson number of copies
#' of mean nu \eqn{\pi_i}{pi_i}.
#'
#' @param weights `NULL` for rows that are equally likely, or numbers of at
#'   least 0, one per row of the data (those with missing values left out):
#'   probabilities but for a factor. With weights of 0 for all but some rows
#'   there are kernels at those only.
#' @param intercept Probability that a kernel is the intercept, a number between
#'   0 and 1; `NULL` is 1 / (n + 1), that of a row where all are alike. With nu
#'   kernels expected the intercept is in the model with prior probability 1 -
#'   exp(-nu `intercept`).
#' @param sd Standard deviation s, one positive number for all predictors, in
#'   units of those that the model sees (standardised if `scale = TRUE`).
#' @return An object of class `kb_centres`, a list.
#' @section Errors: Arguments outside their range are errors of class
#'   `kb_error_argument`; so are, in the fit, `weights` that are not one per
#'   row.
#' @details
#' Centres that are no rows help where the data are sparse or few predictors
#' matter; with many predictors a centre has little to gain by being no row.
#' Every kernel is then one of its own: no two have the same centre.
#' @examples
#' centre_rows(intercept = 0.1)
#' bark_prior("equal", centres = centre_near_rows(sd = 0.3))
#' @export
centre_rows <- function(weights = NULL, intercept = NULL) {
  new_centres(weights, intercept)
}

#' @rdname centre_rows
#' @export
centre_near_rows <- function(sd = 0.5, weights = NULL, intercept = NULL) {
  sd <- check_number(sd, 0, open = TRUE)
  new_centres(weights, intercept, sd)
}

new_centres <- function(weights, intercept, sd = NULL) {
  structure(
    list(
      weights = if (!is.null(weights)) check_centre_weights(weights),
      intercept = if (!is.null(intercept)) {
        check_number(intercept, 0, 1, arg = "intercept")
      },
      sd = sd
    ),
    class = "kb_centres"
  )
}

check_centre_weights <- function(weights) {
  fine <- is.numeric(weights) && is.null(dim(weights)) &&
    length(weights) > 0 && all(is.finite(weights)) && all(weights >= 0) &&
    sum(weights) > 0 && is.finite(sum(weights))
  if (!fine) {
    bad_argument(weights, "weights", paste(
      "numbers of at least 0, one per row, and not all of them 0"
    ))
  }
  as.double(weights)
}

#' What the sampler is told: only where it is not the default
#' @return List of none or some of `centre_weights` (of the intercept and the n
#'   rows) and `centre_sd`.
#' @noRd
centres_resolve <- function(centres, n) {
  rows <- centres$weights
  if (!is.null(rows) && length(rows) != n) {
    kb_abort(c(
      "{.arg weights} of {.arg centres} must be one per row of the data.",
      x = "There are {length(rows)} of them and {n} rows.",
      i = "Rows with missing values that are left out do not count."
    ), "argument", argument = "centres")
  }
  out <- list()
  if (!is.null(rows) || !is.null(centres$intercept)) {
    if (is.null(rows)) rows <- rep(1, n)
    first <- centres$intercept
    if (is.null(first)) first <- 1 / (n + 1)
    out$centre_weights <- c(first, (1 - first) * rows / sum(rows))
  }
  out$centre_sd <- centres$sd
  out
}

# Prior probability that there is an intercept
intercept_expected <- function(prior, n) {
  weights <- prior$centre_weights
  first <- if (is.null(weights)) 1 / (n + 1) else weights[[1]]
  -expm1(-prior$nu * first)
}

#' @export
format.kb_centres <- function(x, ...) {
  paste0(
    if (is.null(x$sd)) "rows" else paste0("near rows, sd ", format(x$sd)),
    if (!is.null(x$weights)) ", weighted",
    if (!is.null(x$intercept)) {
      paste0(", the intercept with probability ", format(x$intercept))
    }
  )
}

#' @export
print.kb_centres <- function(x, ...) {
  cat("<centres> ", format(x), "\n", sep = "")
  invisible(x)
}
