# Arguments of the scripts in this folder and in bench, which source this file:
# `--name` is a flag, `--name=value` an option.

args <- commandArgs(trailingOnly = TRUE)

flag <- function(name) paste0("--", name) %in% args

option <- function(name, default = NULL) {
  start <- paste0("--", name, "=")
  hit <- args[startsWith(args, start)]
  if (length(hit) == 0) default else substring(hit[[1]], nchar(start) + 1)
}

# "a,b" as c("a", "b"), each of them known or hidden; all known ones if the
# option is missing.
several <- function(name, known, hidden = character()) {
  value <- option(name)
  if (is.null(value)) {
    return(known)
  }
  chosen <- strsplit(value, ", *")[[1]]
  if (!all(chosen %in% c(known, hidden))) {
    refuse_arguments(
      paste0("--", name, " knows ", toString(known), "; it is ", value, ".")
    )
  }
  chosen
}

refuse_unknown <- function(flags = character(), options = character()) {
  known <- args %in% paste0("--", flags) |
    sub("=.*", "=", args) %in% paste0("--", options, "=")
  if (!all(known)) {
    wanted <- c(
      paste0("--", flags, recycle0 = TRUE),
      paste0("--", options, "=", recycle0 = TRUE)
    )
    refuse_arguments(paste0(
      "unknown argument: ", toString(args[!known]), "; known: ",
      toString(wanted), "."
    ))
  }
}

refuse_arguments <- function(text) {
  message("Error: ", text)
  quit(save = "no", status = 1)
}
