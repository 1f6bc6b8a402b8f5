# Rows with chosen values of the exposures: kernels, and what changes beside
# them.

#' The exposures: numbers, and scores of ordered factors, that kernels see
#' @return Matrix, a row per row of the fit. Its attribute `coded` has those of
#'   which only values that occur count.
#' @noRd
exposure_matrix <- function(fit, frame) {
  parts <- variable_parts(frame)
  owners <- vapply(names(parts), part_owner, "", frame = frame)
  seen <- owners %in% names(variable_columns(fit$mould, beside = FALSE))
  parts <- parts[seen & vapply(parts, function(v) {
    is_measured(v) || is.ordered(v)
  }, NA)]
  coded <- vapply(names(parts), function(name) {
    is.ordered(parts[[name]]) || is_coded(fit$mould, owners[[name]])
  }, NA)
  x <- matrix(as.double(unlist(lapply(parts, as.double))), nrow(frame),
    dimnames = list(NULL, names(parts))
  )
  structure(x, coded = names(parts)[coded])
}

#' Rows as predictions take them, without groups
#' @param points Exposures, a row per point. Other variables are at their median
#'   or most frequent level.
#' @noRd
exposure_rows <- function(fit, frame, points) {
  mould <- fit$mould
  if (!is.null(mould$mixed)) mould$mixed$off <- TRUE
  at <- typical_row(mould, frame)[rep(1L, nrow(points)), , drop = FALSE]
  levels <- lapply(variable_parts(frame), levels)
  values <- lapply(stats::setNames(nm = colnames(points)), function(name) {
    v <- points[, name]
    if (is.null(levels[[name]])) v else levels[[name]][v]
  })
  rows_of_variables(mould, set_parts(at, values))
}

# What print() says ------------------------------------------------------------

effect_notes <- function(fit, frame, x, exposures) {
  mould <- fit$mould
  typical <- variable_parts(typical_row(mould, frame))
  still <- typical[setdiff(names(typical), colnames(x))]
  inputs <- names(variable_columns(mould, beside = FALSE))
  owners <- vapply(exposures, part_owner, "", frame = frame)
  with <- Filter(function(from) any(owners %in% from), column_sources(mould))
  factors <- intersect(names(still), inputs)
  reference <- intersect(names(still), setdiff(unlist(with), inputs))
  slopes <- unlist(lapply(mould$mixed$groups, function(g) all.vars(g$terms)))
  c(
    if (length(factors) > 0) {
      paste0("Factors stay at ", values_words(still[factors]), ".")
    },
    if (length(reference) > 0) {
      paste0(
        "Interacting variables are at ", values_words(still[reference]), "."
      )
    },
    if (any(owners %in% slopes)) {
      "Effects are those in a group whose coefficients are 0."
    }
  )
}

inclusion_notes <- function(fit, exposures) {
  linear <- as.list(attr(fit$mould$mixed$linear$terms, "variables"))[-1]
  beside <- Filter(function(e) any(all.vars(e) %in% exposures), linear)
  if (length(beside) > 0) {
    paste0(
      "Of kernels only, without linear terms: ",
      toString(vapply(beside, deparse1, "")), "."
    )
  }
}

values_words <- function(values) {
  words <- vapply(values, function(v) format(v, digits = 3), "")
  toString(paste(names(values), "=", words))
}
