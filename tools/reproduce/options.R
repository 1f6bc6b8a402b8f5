# Options of the scripts in this folder, which source this file. `fail` ends the
# script with a message.

# "--a=b" as list(a = "b"), "--quick" as list(quick = "").
parse_options <- function(args, known, flags, fail) {
  name <- sub("^--([^=]*).*", "\\1", args)
  wrong <- !name %in% c(known, flags) | !startsWith(args, "--")
  if (any(wrong)) {
    fail(
      "unknown argument: ", toString(args[wrong]), "; known: ",
      toString(c(paste0("--", flags), paste0("--", known, "="))), "."
    )
  }
  stats::setNames(as.list(sub("^--[^=]*=?", "", args)), name)
}

number_option <- function(options, name, default) {
  if (is.null(options[[name]])) default else as.numeric(options[[name]])
}

# "a,b" as c("a", "b"); all of `known` if not given.
several_option <- function(options, name, known, fail) {
  chosen <- options[[name]]
  if (is.null(chosen)) {
    return(known)
  }
  chosen <- strsplit(chosen, ",")[[1]]
  if (!all(chosen %in% known)) {
    fail("--", name, " knows ", toString(known), ".")
  }
  chosen
}

#' Begin a script of this folder: its options, and the package of this checkout
#'
#' @param known,flags Names of options and flags; `output` and the flag
#'   `installed` (the installed package, not this checkout) are added.
#' @param needs Entry of tools/deps.R with the packages to install, or NULL.
#' @return List of `options`, `root` and `fail`.
start_script <- function(known, flags = character(), needs = NULL) {
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  script <- normalizePath(gsub("~+~", " ", script[[1]], fixed = TRUE))
  root <- dirname(dirname(dirname(script)))
  deps <- new.env()
  sys.source(file.path(root, "tools", "deps.R"), deps)
  options <- parse_options(
    commandArgs(trailingOnly = TRUE), c(known, "output"),
    c(flags, "installed"), deps$fail
  )
  if (!"installed" %in% names(options)) {
    if (!is.null(needs)) deps$install_needs(root, needs)
    .libPaths(c(deps$install_checkout(root), .libPaths()))
  }
  library(kernelbayes)
  list(options = options, root = root, fail = deps$fail)
}

# In vignettes/precomputed, or where --output= says
keep_results <- function(start, name, results) {
  file <- start$options$output
  if (is.null(file)) {
    file <- file.path(
      start$root, "vignettes", "precomputed", paste0(name, ".rds")
    )
  }
  results$about$date <- format(Sys.Date())
  saveRDS(results, file, version = 2, compress = "xz")
}
