# Row names: from the data to results.

#' @srrstats {RE1.3} Names of rows, columns and levels go from the data to
#'   results.
#' @noRd
NULL

# The row names of the data, or NULL
#
# Numbers do not count as names: they come from the order of a table ("5.1" from
# a repeated row). Names of a vector do not count either, since it may be one
# row.
given_row_names <- function(x) {
  names <- if (is.data.frame(x)) {
    attr(x, "row.names")
  } else if (is.matrix(x)) {
    rownames(x)
  }
  if (!is.character(names) || all(grepl("^[0-9.]+$", names))) {
    return(NULL)
  }
  ifelse(is.na(names), "", names)
}

# Names of the training rows processed so far, or NULL
training_names <- function(fit) fit$mould$row_names[training_rows(fit)]

#' The mould with the names of further rows, as in `rbind()`: rows without a
#' name get their number
#' @param numbers,more Numbers of the existing and of the further rows.
#' @param new Names of the further rows, or NULL.
#' @noRd
append_row_names <- function(mould, numbers, new, more) {
  old <- mould$row_names
  if (!is.null(old) || !is.null(new)) {
    if (is.null(old)) old <- as.character(numbers)
    if (is.null(new)) new <- as.character(more)
    mould$row_names <- c(old, new)
  }
  mould
}

#' Name the rows of a result
#' @param out A vector, a matrix, or an array whose first dimension is the rows.
#' @param names NULL, or a name for each row.
#' @noRd
name_rows <- function(out, names) {
  if (is.null(names)) {
    return(out)
  }
  rank <- length(dim(out))
  if (rank == 0) {
    names(out) <- names
    return(out)
  }
  if (is.null(dimnames(out))) dimnames(out) <- vector("list", rank)
  dimnames(out)[[1]] <- names
  out
}

# Name the rows of a value of `predict()`; in draws, rows are draws
name_predictions <- function(out, type, names) {
  if (type == "draws") out else name_rows(out, names)
}

# A data frame of the training predictors
training_frame <- function(fit) {
  out <- as.data.frame(training_x(fit))
  names <- training_names(fit)
  if (!is.null(names)) rownames(out) <- make.unique(names)
  out
}
