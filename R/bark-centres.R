# Locations of the kernels of bark(), a part of bark_prior().

#' Locations of kernels
#'
#' The prior of the locations of kernels, for the argument `centres` of
#' [bark_prior()]. Each kernel is the intercept (K = 1) with probability
#' `intercept`; otherwise a row of the data is chosen. With `centre_rows()` the
#' row is the centre; with `centre_near_rows()` the centre is normal around the
#' row, so that centres have the density
#' \deqn{p(\chi) = \sum_i \pi_i N(\chi; x_i, s^2 I).}{p(chi) = sum_i pi_i
#' N(chi; x_i, s^2 I).}
#' The number of copies at location i is Poisson with mean nu \eqn{\pi_i}{pi_i}.
#'
#' @param weights `NULL` for equally likely rows, or numbers of at least 0, one
#'   per row of the data (without rows with missing values), proportional to the
#'   probabilities. Rows of weight 0 have no kernels.
#' @param intercept Probability that a kernel is the intercept, a number between
#'   0 and 1; `NULL` is 1 / (n + 1), as for a row when all are equally likely
#'   (copies of rows count, see [kb_weights]).
#'   With nu expected kernels the intercept is in the model with prior
#'   probability 1 - exp(-nu `intercept`).
#' @param sd Standard deviation s, one positive number for all predictors, in
#'   units of the predictors that the model sees (standardised if
#'   `scale = TRUE`).
#' @return An object of class `kb_centres`, a list.
#' @section Errors: Arguments outside their range are errors of class
#'   `kb_error_argument`; so are, in the fit, `weights` that are not one per
#'   row.
#' @details Centres that are not rows help if the data are sparse or few
#' predictors matter; with many predictors they gain little. No two kernels then
#' share a centre.
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
      sd = if (!is.null(sd)) check_number(sd, 0, open = TRUE)
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

#' Arguments for the sampler, only if they differ from the default
#' @return List of none or some of `centre_weights` (of the intercept and the n
#'   rows) and `centre_sd`.
#' @noRd
centres_resolve <- function(centres, n) {
  rows <- centres$weights
  if (!is.null(rows) && length(rows) != n) {
    kb_abort(c(
      "{.arg weights} of {.arg centres} must be one per row of the data.",
      x = "There are {length(rows)} weights and {n} rows.",
      i = "Rows dropped for missing values do not count."
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

# Each copy of a row is a location
centres_of_copies <- function(centres, copies) {
  if (is.null(copies)) {
    return(centres)
  }
  if (is.null(centres)) centres <- centre_rows()
  if (is.null(centres$intercept)) centres$intercept <- 1 / (sum(copies) + 1)
  rows <- centres$weights
  if (is.null(rows)) rows <- rep(1, length(copies))
  # Another number of them is an error.
  if (length(rows) == length(copies)) centres$weights <- rows * copies
  centres
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
