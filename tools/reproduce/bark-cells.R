# The experiments of tools/reproduce/bark.R as cells, see cells.R: one method on
# one fold of one repeat of one data set, or one fit for the figures.

# `named`: were the methods requested by name? If not, the CRAN package runs
# only its default prior on real data, where each fit takes a minute or more.
cells_for <- function(name, repeats, methods, named = TRUE) {
  if (!named && !is.null(bark_sets[[name]]$read)) {
    methods <- setdiff(methods, c(
      "bark_equal", "bark_different", "bark_select_different"
    ))
  }
  folds <- seq_len(bark_sets[[name]]$folds)
  expand.grid(
    data = name, set = seq_len(repeats), fold = folds, method = methods,
    stringsAsFactors = FALSE
  )
}

cell_settings <- function(cell, control) {
  if (cell$method %in% bark_types) {
    return(list(control, package_versions("kernelbayes")))
  }
  list(package_versions(peer_package(cell$method)))
}

fit_cell <- function(cell, control) {
  seed <- 100 * cell$set + cell$fold
  if (cell$data %in% names(figure_sets)) {
    data <- whole_data(figure_sets[[cell$data]])
    return(lambda_summary(data$x, data$y, cell$method, control, seed))
  }
  split <- split_for(cell$data, cell$set, cell$fold)
  run_method(all_methods(control)[[cell$method]], split, seed)
}
