#' @section Errors:
#' `kb_error_outcome` for a response of the wrong type, or of a single class. A factor
#' with more than 50 levels and more than half as many levels as rows may identify the
#' rows: it gives a warning (`kb_warning_levels`). Columns that are constant in fitting
#' are told, then and where they vary in new rows, which count as having the same value
#' (`kb_message_constant`). After an interrupt or a time limit `update()` continues the
#' fit. [kernelbayes-package] lists the classes of conditions that all functions share.
