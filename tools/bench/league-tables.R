# The tables of the league: sourced by league.R. `rows` has one row per method,
# set (`name`) and split (`set`), with its scores.

# ---- comparisons ------------------------------------------------------------

log_ratio <- function(a, b) log(a) - log(b)
difference <- function(a, b) a - b
clipped_difference <- function(a, b) pmin(1, pmax(-1, a - b))

# `compare` applied to a column of each row and that of the row of `other` on
# the same split.
compared <- function(rows, column, other, compare) {
  base <- rows[rows$method == other, ]
  at <- match(paste(rows$name, rows$set), paste(base$name, base$set))
  rows$value <- compare(rows[[column]], base[[column]][at])
  rows[rows$method != other, ]
}

plain <- function(rows, column) {
  rows$value <- rows[[column]]
  rows
}

mean_and_se <- function(v) {
  v <- v[!is.na(v)]
  c(mean = mean(v), se = stats::sd(v) / sqrt(length(v)))
}

as_text <- function(v, digits) {
  if (is.nan(v[["mean"]])) {
    return("")
  }
  number <- function(x) formatC(x, digits = digits, format = "f")
  if (is.na(v[["se"]])) {
    return(number(v[["mean"]]))
  }
  paste0(number(v[["mean"]]), " (", number(v[["se"]]), ")")
}

# A line per set and a column per method, from `rows$value`; then means of the
# sets' means, and the number of sets, which can differ between methods.
print_by_set <- function(title, rows, digits) {
  rows <- rows[!is.na(rows$value), ]
  if (nrow(rows) == 0) {
    return(invisible())
  }
  names <- unique(rows$name)
  lines <- list("all sets" = names)
  if (rows$group[[1]] == "packages" && any(names %in% seen)) {
    lines[["not seen"]] <- setdiff(names, seen)
  }
  columns <- lapply(stats::setNames(nm = unique(rows$method)), function(m) {
    values <- rows[rows$method == m, ]
    sets <- lapply(names, function(n) {
      mean_and_se(values$value[values$name == n])
    })
    means <- stats::setNames(vapply(sets, `[[`, 0, "mean"), names)
    totals <- lapply(lines, function(used) mean_and_se(means[used]))
    c(vapply(c(sets, totals), as_text, "", digits), sum(!is.na(means)))
  })
  cat("\n###", title, "\n\n")
  markdown(data.frame(
    set = c(names, names(lines), "sets"), columns, check.names = FALSE
  ))
}

report_group <- function(group, rows) {
  cat("\n##", group, "\n")
  classes <- group == "classes"
  others <- intersect(if (classes) "dbarts" else c("dbarts", "km"), rows$method)
  for (other in others) {
    compare <- if (classes) difference else log_ratio
    loss <- compared(rows, "loss", other, compare)
    nats <- compared(rows, "log_density", other, clipped_difference)
    title <- if (classes) "Error minus that of" else "Log ratio of RMSE to"
    print_by_set(paste(title, other), loss, 3)
    print_by_set(paste("Log density minus that of", other), nats, 3)
  }
  level <- if (classes) "Error" else "RMSE / standard deviation"
  print_by_set(level, plain(rows, "loss"), 3)
  if (classes) {
    rows$log_loss <- -rows$log_density
    print_by_set("Log loss", plain(rows, "log_loss"), 3)
  }
  print_by_set("Cover of 90% intervals", plain(rows, "cover"), 3)
  print_by_set("CPU seconds", plain(rows, "cpu"), 1)
  rows$warned <- as.numeric(!is.na(rows$warning))
  print_by_set("Share of fits with a warning", plain(rows, "warned"), 2)
}
