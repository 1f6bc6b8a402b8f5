# Build the tarball with its vignettes and check it as CRAN does:
#   Rscript tools/check.R [--no-manual] [--remote] [--no-suggests]
#     [--keep=folder]
# Fails on an ERROR, a WARNING, or a NOTE that is not accepted below. The PDF
# manual is built if LaTeX is installed, unless --no-manual is given.
# --remote also asks CRAN (new submission, URLs) and the clock server.
# --no-suggests runs examples, tests and vignettes with only the imported
# packages (and testthat and knitr, which run them).

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(script), "deps.R"))
source(file.path(dirname(script), "arguments.R"))
root <- dirname(dirname(script))

# Megabytes at most. The aims are 5, 6.5 and 5.2.
most <- c(tarball = 5, installed = 7.7, "installed without vignettes" = 6.6)

# Accepted NOTEs: the check, the lines allowed in it, and what else they must
# say. CONTRIBUTING.md says why.
accepted <- list(
  list(
    check = "CRAN incoming feasibility",
    lines = c(
      "^Maintainer: ", "^New submission", "^Possibly misspelled words",
      "^ +(Doucet|Godsill|Vermaak) "
    )
  ),
  list(
    check = "package dependencies",
    lines = c(
      "^Packages? suggested but not available for checking:",
      "^ +[^[:alnum:][:space:]][[:alnum:].]+[^[:alnum:]]"
    )
  ),
  # High elapsed time on a busy machine, but not processor time.
  list(
    check = "examples",
    lines = c(
      "^Examples with CPU", "^ +user +system +elapsed",
      "^[[:alnum:]_.]+ +[01][.][0-9]+ +0[.][0-9]+ +[0-9.]+$"
    )
  ),
  list(
    check = "for future file timestamps",
    lines = "unable to verify current time"
  ),
  list(
    check = "installed package size",
    lines = c(
      "^ +installed size is +[0-9.]+Mb", "^ +sub-directories of 1Mb or more:",
      "^ +[[:alpha:]]+ +[0-9.]+Mb"
    ),
    also = function(lines) {
      size <- sub(".* is +([0-9.]+)Mb", "\\1", grep(" is ", lines, value = TRUE))
      isTRUE(as.numeric(size) <= most[["installed"]])
    }
  ),
  list(
    check = "compilation flags used",
    lines = c(
      "^Compilation used the following non-portable flag",
      "^( +.(-Wdate-time|-Werror=format-security|-Wformat).)+$"
    )
  )
)

is_accepted <- function(check, output) {
  lines <- strsplit(output, "\n")[[1]]
  lines <- lines[grepl("[^[:space:]]", lines)]
  any(vapply(accepted, function(rule) {
    grepl(rule$check, check, fixed = TRUE) &&
      all(grepl(paste(rule$lines, collapse = "|"), lines)) &&
      (is.null(rule$also) || rule$also(lines))
  }, NA))
}

check_environment <- function() {
  Sys.setenv(
    "_R_CHECK_FORCE_SUGGESTS_" = "false", "_R_CHECK_TESTS_NLINES_" = "0",
    R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)
  )
  if (!nzchar(Sys.getenv("MAKEFLAGS"))) {
    Sys.setenv(MAKEFLAGS = "-j2")
  }
  # Debian's flags ask for debugging information.
  Sys.setenv(R_MAKEVARS_USER = without_symbols(tempdir()))
  # The installed size is measured without local symbols; global symbols are kept
  # for the check of compiled code.
  if (Sys.info()[["sysname"]] == "Linux") {
    Sys.setenv(
      "_R_SHLIB_STRIP_" = "true",
      R_STRIP_SHARED_LIB = "strip --strip-debug --discard-all"
    )
  }
  if (flag("no-suggests")) {
    Sys.setenv("_R_CHECK_DEPENDS_ONLY_" = "true")
  }
  if (!flag("remote")) {
    Sys.setenv(
      "_R_CHECK_CRAN_INCOMING_REMOTE_" = "false",
      "_R_CHECK_SYSTEM_CLOCK_" = "false", R_CRAN_WEB = empty_cran()
    )
  }
}

# R CMD check --as-cran asks CRAN who maintains suggested packages that are not
# installed, and stops without an answer: an empty list is an answer.
empty_cran <- function() {
  dir <- tempfile("cran")
  packages <- file.path(dir, "web", "packages")
  dir.create(packages, recursive = TRUE)
  columns <- c("Package", "Maintainer")
  saveRDS(
    matrix(character(), 0, 2, dimnames = list(NULL, columns)),
    file.path(packages, "packages.rds")
  )
  paste0("file://", normalizePath(dir, winslash = "/"))
}

# The findings of a check log, and the number that are not accepted.
judge <- function(log) {
  if (!any(grepl("^Status: ", readLines(log, warn = FALSE)))) {
    fail("the check did not finish; see ", log)
  }
  found <- tools::check_packages_in_dir_details(logs = log)
  found <- found[found$Status %in% c("NOTE", "WARNING", "ERROR", "FAILURE"), ]
  fine <- found$Status == "NOTE" &
    as.logical(mapply(is_accepted, found$Check, found$Output))
  for (i in seq_len(nrow(found))) {
    cat(
      if (fine[[i]]) "accepted" else "NOT ACCEPTED", " ", found$Status[[i]],
      " (", found$Check[[i]], ")\n", found$Output[[i]], "\n",
      sep = ""
    )
  }
  sum(!fine)
}

megabytes <- function(path) {
  files <- if (dir.exists(path)) {
    list.files(path, recursive = TRUE, all.files = TRUE, full.names = TRUE)
  } else {
    path
  }
  sum(file.size(files), na.rm = TRUE) / 1024^2
}

# The sizes in `most`, of the tarball and of what the check installed.
say_sizes <- function(tarball, dir) {
  name <- package_name(root)
  installed <- file.path(dir, paste0(name, ".Rcheck"), name)
  size <- c(megabytes(tarball), megabytes(installed))
  size <- c(size, size[[2]] - megabytes(file.path(installed, "doc")))
  say("Megabytes: ", paste0(
    names(most), " ", round(size, 2), ", at most ", most, collapse = "; "
  ))
  sum(size > most)
}

main <- function() {
  refuse_unknown(c("no-manual", "remote", "no-suggests"), "keep")
  missing <- install_programs(c(pandoc = "pandoc", qpdf = "qpdf"))
  if (length(missing) > 0) {
    fail("the vignettes need these programs: ", toString(missing))
  }
  install_needs(root, "check")
  check_environment()
  dir <- option("keep", tempfile("check"))
  dir.create(dir, recursive = TRUE, showWarnings = FALSE)
  dir <- normalizePath(dir)

  say("Building the tarball with its vignettes ...")
  tarball <- build_tarball(root, dir, vignettes = TRUE)
  manual <- nzchar(Sys.which("pdflatex")) && !flag("no-manual")
  say("Checking ", basename(tarball), if (!manual) " without the PDF manual")
  setwd(dir)
  status <- system2(r_binary(), c(
    "CMD", "check", "--as-cran", if (!manual) "--no-manual",
    # The build has just run them, from the same sources.
    "--no-vignettes", shQuote(tarball)
  ))
  log <- Sys.glob(file.path(dir, "*.Rcheck", "00check.log"))
  if (length(log) != 1) {
    fail("R CMD check left no log (status ", status, ").")
  }
  bad <- judge(log) + say_sizes(tarball, dir)
  if (bad > 0 || status != 0) {
    fail(bad, " finding(s) of the check are not accepted; see ", dirname(log))
  }
  cat("The check is clean.\n")
  if (is.null(option("keep"))) {
    setwd(tempdir())
    unlink(dir, recursive = TRUE)
  }
}

main()
