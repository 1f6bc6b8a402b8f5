#' @section Terms of formulas:
#' A term must not depend on other rows, as `x - mean(x)`, `rank(x)` and
#' `cut(x, 3)` do: for new rows it would be another one. It is an error
#' (`kb_error_formula`), on both sides and in all parts of a formula; so are random
#' numbers. Compute such a column before the call. `poly()`, `scale()`,
#' `splines::ns()`, `splines::bs()` and others with a method of
#' [stats::makepredictcall()] are terms of their own, whose numbers the fit keeps.
