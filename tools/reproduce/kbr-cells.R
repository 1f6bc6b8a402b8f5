# The experiments of tools/reproduce/kbr.R as cells, see cells.R: all results of
# one method on one repeat of a model, one row per size and setting.

rate_dimensions <- c(1, 2, 6, 10)
rank_dimensions <- c(2, 6)
kbr_experiments <- c(
  models, paste0("rate_", rate_dimensions), paste0("rank_", rank_dimensions)
)

kbr_cells_for <- function(data, repeats) {
  expand.grid(
    data = data, set = seq_len(repeats), fold = 1L,
    method = if (data %in% models) c("kbr", "abc") else "kbr",
    stringsAsFactors = FALSE
  )
}

# Numbers of pairs or, for abc(), of simulations.
kbr_sizes <- function(data, method, quick) {
  if (data %in% models && method == "abc") {
    if (quick) {
      return(c(1e3, 1e4))
    }
    return(c(1e3, 1e4, 1e5, if (data == "gauss_6") 1e6 else 3e5))
  }
  if (quick) {
    return(c(200, 1000))
  }
  if (data %in% models) {
    return(c(200, 500, 1000, 3000, 1e4, 3e4))
  }
  c(200, 500, 1000, 2000, 5000, 1e4)
}

cell_settings <- function(cell, control) {
  peer <- if (cell$method == "abc") "abc" else "kernelbayes"
  list(control, package_versions(peer))
}

fit_cell <- function(cell, control) {
  name <- cell$data
  sizes <- kbr_sizes(name, cell$method, isTRUE(control$quick))
  if (name %in% models) {
    scores <- list(kbr = kbr_scores, abc = abc_scores)[[cell$method]]
    return(scores(name, cell$set, sizes))
  }
  d <- model_size(name)
  if (startsWith(name, "rate")) {
    return(rate_scores(d, cell$set, sizes))
  }
  rank_scores(d, cell$set, 1000, list(25, 50, 100, 200, 400, "full"))
}
