# How large is the package? Lines of R/, src/ and inst/include, and those that are
# code: neither blank, nor comments or help. Generated files count.
#
#   Rscript tools/lines.R
#
# Prints markdown.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(script), "arguments.R"))
refuse_unknown()
root <- dirname(dirname(script))

# The comment mark of a file: R's, or C++'s (block comments are not used).
lines_of <- function(file) {
  lines <- trimws(readLines(file, warn = FALSE))
  mark <- if (grepl("[.]R$", file)) "#" else "//"
  c(
    files = 1, lines = length(lines),
    code = sum(nzchar(lines) & !startsWith(lines, mark))
  )
}

count <- function(folder) {
  files <- list.files(file.path(root, folder), "[.](R|cpp|hpp|h|inc)$",
    recursive = TRUE, full.names = TRUE
  )
  rowSums(vapply(files, lines_of, c(files = 0, lines = 0, code = 0)))
}

folders <- c("R", "src", "inst/include")
table <- vapply(folders, count, c(files = 0, lines = 0, code = 0))
table <- cbind(table, all = rowSums(table))
cat("| folder | files | lines | code |\n|:--|--:|--:|--:|\n")
for (name in colnames(table)) {
  cat("|", paste(c(name, table[, name]), collapse = " | "), "|\n")
}
