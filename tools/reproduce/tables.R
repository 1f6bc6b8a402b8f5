# Tables shared by the scripts of this folder, which source this file.

standard_error <- function(x) stats::sd(x) / sqrt(length(x))

# Means and standard errors of `measures` over the rows of each group that have
# them; groups are in order of first appearance.
mean_table <- function(runs, by, measures) {
  key <- do.call(paste, c(unname(runs[by]), sep = "\r"))
  groups <- split(runs[measures], factor(key, unique(key)))
  out <- runs[!duplicated(key), by, drop = FALSE]
  out$sets <- vapply(groups, nrow, 0L)
  for (measure in measures) {
    values <- lapply(groups, function(g) g[[measure]][!is.na(g[[measure]])])
    out[[measure]] <- vapply(values, mean, 0)
    out[[paste0(measure, "_se")]] <- vapply(values, standard_error, 0)
  }
  rownames(out) <- NULL
  out
}

show_table <- function(title, table) {
  cat("\n", title, "\n", sep = "")
  wide <- options(width = 200)
  on.exit(options(wide))
  print(format(table, digits = 3), row.names = FALSE)
}

# NA for packages that are not installed.
package_versions <- function(packages) {
  vapply(packages, function(name) {
    if (nzchar(system.file(package = name))) {
      format(utils::packageVersion(name))
    } else {
      NA_character_
    }
  }, "")
}
