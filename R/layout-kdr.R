# Layout of results of kdr(): see fit-layout.R.

kdr_layout <- layout(
  directions = numeric_matrix(), .d = nrow(directions),
  .k = ncol(directions),
  .names = rule(
    is.character(rownames(directions)), "with a name for each row"
  ),
  values = numbers(d, 0), columns = numbers(d, 0),
  steps = such_that(is_kdr_steps, "a data frame of steps"),
  choice = maybe(such_that(is_kdr_choice, "a data frame of errors")),
  summaries = numeric_matrix(NULL, k), named = flags(),
  scaling = holds(kdr_scaling_layout)
)

kdr_scaling_layout <- layout(
  scale = strings(1, c("normal", "median", "sd", "none")),
  knots = where(scale == "normal", each(holds(layout(
    at = numbers(NULL), score = numbers(length(at))
  )), d)),
  center = where(scale != "normal", numbers(d)),
  unit = where(scale != "normal", positive(d))
)

is_kdr_steps <- function(x) has_numbers(x, c("dimension", "eps", "error"))

is_kdr_choice <- function(x) has_numbers(x, c("k", "error", "se"))

has_numbers <- function(x, names) {
  is.data.frame(x) && nrow(x) > 0 && all(names %in% names(x)) &&
    all(vapply(x[names], function(v) is.numeric(v) && all(is.finite(v)), NA))
}

#' @export
object_layout.kb_kdr <- function(object) list(layout = kdr_layout)
