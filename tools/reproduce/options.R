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
