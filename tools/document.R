# Write RcppExports, NAMESPACE and man/ from the comments, and STANDARDS.md from
# standards.csv:
#   Rscript tools/document.R [--installed]
# --installed: read the package from the library, not from the source, so that R
# need not compile it.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
root <- dirname(dirname(script))
source(file.path(dirname(script), "standards.R"))

document <- function(installed) {
  Rcpp::compileAttributes(root)
  load <- if (installed) roxygen2::load_installed else roxygen2::load_source
  roxygen2::roxygenise(root, roclets = c("namespace", "rd"), load_code = load)
}

args <- commandArgs(trailingOnly = TRUE)
unknown <- setdiff(args, "--installed")
if (length(unknown) > 0) stop("unknown argument: ", toString(unknown))
document("--installed" %in% args)
rows <- read_standards(root)
problems <- standard_problems(rows)
if (length(problems) > 0) stop(paste(problems, collapse = "\n"))
writeLines(standards_page(rows), file.path(root, "STANDARDS.md"))
