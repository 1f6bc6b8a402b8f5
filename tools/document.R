# Write RcppExports, NAMESPACE and man/ from the comments, and STANDARDS.md
# from their tags:
#   Rscript tools/document.R [--installed]
# --installed: read the package from the library, not from the source, so that R
# need not compile it. If package srr is installed (from
# https://github.com/ropensci-review-tools/srr), prints its report, too.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
root <- dirname(dirname(script))
source(file.path(dirname(script), "standards.R"))

# Without srr, roxygen2 does not know its tags.
know_tags <- function() {
  for (tag in paste0("roxy_tag_", c("srrstats", "srrstatsNA"))) {
    registerS3method("roxy_tag_parse", tag, roxygen2::tag_markdown,
      envir = asNamespace("roxygen2")
    )
    registerS3method("roxy_tag_rd", tag, function(x, base_path, env) NULL,
      envir = asNamespace("roxygen2")
    )
  }
}

document <- function(installed) {
  Rcpp::compileAttributes(root)
  roclets <- c("namespace", "rd")
  if (requireNamespace("srr", quietly = TRUE)) {
    roclets <- c(roclets, "srr::srr_stats_roclet")
  } else {
    know_tags()
  }
  load <- if (installed) roxygen2::load_installed else roxygen2::load_source
  roxygen2::roxygenise(root, roclets = roclets, load_code = load)
}

args <- commandArgs(trailingOnly = TRUE)
unknown <- setdiff(args, "--installed")
if (length(unknown) > 0) stop("unknown argument: ", toString(unknown))
document("--installed" %in% args)
tags <- read_tags(root)
problems <- tag_problems(tags)
if (length(problems) > 0) stop(paste(problems, collapse = "\n"))
writeLines(standards_page(tags), file.path(root, "STANDARDS.md"))
