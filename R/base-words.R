# Words that print() and messages share.

shorten <- function(text, most = 62) {
  if (nchar(text) > most) paste0(substr(text, 1, most - 3), "...") else text
}

# As many whole items as fit on one line: a truncated number would be wrong
as_many_as_fit <- function(items, what = "", most = 62) {
  fits <- nchar(what) + cumsum(nchar(items) + 2) - 2 <= most
  shorten(paste0(what, paste(items[fits | !any(fits)], collapse = ", ")), most)
}

percent <- function(v) {
  paste0(vapply(100 * v, format, "", digits = 2), "%")
}

counted <- function(n, what) paste0(n, " ", what, if (n != 1) "s")

# Texts that continue below each other, beside the labels
in_column <- function(lines) {
  paste(
    unlist(lapply(lines, strwrap, width = 64)),
    collapse = "\n                "
  )
}

format_bytes <- function(bytes) {
  if (!is.finite(bytes)) {
    return("any size")
  }
  unit <- c("bytes", "kB", "MB", "GB", "TB", "PB")
  power <- min(max(floor(log(max(bytes, 1), 1000)), 0), length(unit) - 1)
  paste(format(bytes / 1000^power, digits = 2), unit[[power + 1]])
}
