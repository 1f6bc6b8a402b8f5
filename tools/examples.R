# Run the example of each help page and time it:
#   Rscript tools/examples.R [--filter=regex]
# Fails if a public page has none, one is in \dontrun or fails, or takes more
# than 2 seconds of processor time.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(script), "deps.R"))
root <- dirname(dirname(script))
limit <- 2

# The code of an example; NULL if there is none or part of it does not run.
example_code <- function(page) {
  file <- tempfile(fileext = ".R")
  on.exit(unlink(file))
  tools::Rd2ex(page, file)
  if (!file.exists(file)) {
    return(NULL)
  }
  code <- readLines(file, encoding = "UTF-8")
  if (any(grepl("^## (Not run|No test)", code))) NULL else code
}

# Processor seconds, or the message of an error.
time_example <- function(code) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  tryCatch(
    system.time(suppressWarnings(utils::capture.output(
      source(textConnection(code), new.env(parent = globalenv()), echo = TRUE)
    )))[["user.self"]],
    error = function(error) conditionMessage(error)
  )
}

main <- function() {
  filter <- sub("^--filter=", "", grep("^--filter=", commandArgs(TRUE),
    value = TRUE
  ))
  install_needs(root, "tests")
  library(kernelbayes, lib.loc = c(install_checkout(root), .libPaths()))
  pages <- tools::Rd_db(dir = root)
  internal <- vapply(pages, function(page) {
    grepl("\\keyword{internal}", paste(as.character(page), collapse = ""),
      fixed = TRUE
    )
  }, NA)
  pages <- pages[!internal]
  if (length(filter) == 1) pages <- pages[grepl(filter, names(pages))]
  bad <- 0
  for (name in names(pages)) {
    code <- example_code(pages[[name]])
    result <- if (is.null(code)) "no example that runs" else time_example(code)
    fine <- is.numeric(result) && result <= limit
    bad <- bad + !fine
    cat(sprintf(
      "%-4s %-28s %s\n", if (fine) "ok" else "BAD", sub("[.]Rd$", "", name),
      if (is.numeric(result)) sprintf("%.1f s", result) else result
    ))
  }
  cat(length(pages), "pages,", bad, "bad\n")
  if (bad > 0) quit(save = "no", status = 1)
}

main()
