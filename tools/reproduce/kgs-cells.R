# The experiments of tools/reproduce/kgs.R as cells, see cells.R: one method on
# one split of a real data set, or on one replicate of a simulated experiment.

kgs_experiments <- c(
  "figure3", "figure4", names(learned_flips), names(kgs_sets)
)

# Methods of an experiment; on real data only the requested ones.
methods_of <- function(data, methods) {
  if (data == "figure3") {
    return(paste0("q_", figure3_rates))
  }
  if (data == "figure4") {
    return(c("bpm", "svm"))
  }
  if (data %in% names(learned_flips)) {
    return(learned_methods)
  }
  methods
}

kgs_cells_for <- function(data, repeats, methods) {
  expand.grid(
    data = data, set = seq_len(repeats), fold = 1L,
    method = methods_of(data, methods), stringsAsFactors = FALSE
  )
}

cell_settings <- function(cell, control) {
  if (cell$method %in% names(kgs_peers)) {
    return(list(package_versions(peer_package_kgs(cell$method))))
  }
  list(control, package_versions("kernelbayes"))
}

fit_cell <- function(cell, control) {
  seed <- cell$set
  quick <- isTRUE(control$quick)
  control$quick <- NULL
  rate <- function() as.numeric(sub("q_", "", cell$method))
  if (cell$data == "figure3") {
    return(figure3_scores(figure3_data(seed), rate(), seed))
  }
  if (cell$data == "figure4") {
    return(figure4_scores(cell$method, seed, quick))
  }
  if (cell$data %in% names(learned_flips)) {
    return(learned_scores(cell$data, cell$method, seed, quick))
  }
  split <- noisy_split(cell$data, cell$set)
  ladder <- if (quick) list(chains = 2, warmup = 50, iter = 100) else list()
  score_method(kgs_all_methods(control, ladder)[[cell$method]], split, seed)
}
