# Experiments as cells: one method on one fold of one repeat of one data set.
# Each cell is saved when it is done, so that a stopped run can continue, and a
# further method or repeat costs only itself. Sourced by bark.R, kgs.R,
# kbr.R and scripts of tools/bench, which provide
#
#   fit_cell(cell, control)        one or more rows, as a data frame
#   cell_settings(cell, control)   what a saved result depends on besides the
#                                  code: delete the folder when the code changes
#
# `cell` is a data frame of one row with `data`, `set`, `fold` and `method`.
# `plan` has `control`, `cache` (a folder) and `cached` (finished cells only?).

# ---- saved results ----------------------------------------------------------

cell_file <- function(cell, cache) {
  file.path(cache, paste0(
    paste(cell$data, cell$set, cell$fold, cell$method, sep = "-"), ".rds"
  ))
}

saved_cell <- function(cell, control, cache) {
  file <- cell_file(cell, cache)
  if (!file.exists(file)) {
    return(NULL)
  }
  saved <- tryCatch(readRDS(file), error = function(e) NULL)
  if (identical(saved$settings, cell_settings(cell, control))) saved$result
}

# A half-written file is never read.
save_cell <- function(result, cell, control, cache) {
  file <- cell_file(cell, cache)
  draft <- tempfile("draft", cache)
  saveRDS(
    list(settings = cell_settings(cell, control), result = result), draft
  )
  file.rename(draft, file)
}

finished_cells <- function(cells, plan) {
  done <- vapply(seq_len(nrow(cells)), function(i) {
    !is.null(saved_cell(cells[i, ], plan$control, plan$cache))
  }, NA)
  cells[done, ]
}

# ---- one --------------------------------------------------------------------

# The result as a data frame with the columns of `cell`, or the message of the
# error as a string. Failures are not saved.
run_cell <- function(cell, control, cache) {
  result <- saved_cell(cell, control, cache)
  if (is.null(result)) {
    result <- tryCatch(fit_cell(cell, control), error = conditionMessage)
    if (is.character(result)) {
      return(sprintf(
        "%s, repeat %d, fold %d, %s: %s", cell$data, cell$set, cell$fold,
        cell$method, result
      ))
    }
    save_cell(result, cell, control, cache)
  }
  cbind(cell, result, row.names = NULL)
}

# ---- many -------------------------------------------------------------------

# All cells in this process, one after the other; with `cached` those that are
# finished. Those that fail are left out, with a message. The folder `cache` is
# made if need be.
run_cells_here <- function(cells, cache, control = list(), cached = FALSE) {
  dir.create(cache, showWarnings = FALSE, recursive = TRUE)
  if (cached) {
    cells <- finished_cells(cells, list(control = control, cache = cache))
  }
  rows <- lapply(seq_len(nrow(cells)), function(i) {
    row <- run_cell(cells[i, ], control, cache)
    if (is.character(row)) {
      message(row)
      return(NULL)
    }
    row
  })
  rows <- do.call(rbind, rows)
  if (is.null(rows)) stop("No fit was finished.", call. = FALSE)
  rows
}

#' All cells, their table, printed and kept, for scripts that source options.R and
#' tables.R
#' @param start Of start_script(), with the options `cache` and `cached`.
#' @param by,measures As in mean_table().
tabulate_cells <- function(start, name, cells, by, measures, control = list()) {
  cache <- start$options$cache
  runs <- run_cells_here(
    cells, if (is.null(cache)) tempfile(name) else cache, control,
    "cached" %in% names(start$options)
  )
  table <- mean_table(runs, by, measures)
  print(table, digits = 3, row.names = FALSE)
  keep_results(start, name, list(table = table))
}

# A worker process has to source the scripts first.
run_cell_there <- function(cell, control, cache, scripts) {
  if (!exists("run_cell", globalenv())) {
    library(kernelbayes)
    for (script in scripts) sys.source(script, globalenv())
  }
  get("run_cell", globalenv())(cell, control, cache)
}

# All cells, in the processes of the current plan; handed out one at a time,
# since their times differ greatly. Cells set their own seeds: future's seeds
# would change the kind of generator.
run_cells <- function(cells, plan, scripts) {
  started <- Sys.time()
  if (plan$cached) {
    cells <- finished_cells(cells, plan)
    if (nrow(cells) == 0) {
      return(NULL)
    }
  }
  results <- future.apply::future_lapply(
    split(cells, seq_len(nrow(cells))), run_cell_there,
    control = plan$control, cache = plan$cache, scripts = scripts,
    future.globals = FALSE, future.packages = "kernelbayes",
    future.seed = NULL, future.chunk.size = 1
  )
  failed <- vapply(results, is.character, NA)
  message(
    "  ", cells$data[[1]], ": ", length(results), " cells, ",
    format(round(Sys.time() - started, 1)),
    if (any(failed)) paste0("; ", sum(failed), " failed:")
  )
  for (problem in results[failed]) message("    ", problem)
  do.call(rbind, unname(results[!failed]))
}
