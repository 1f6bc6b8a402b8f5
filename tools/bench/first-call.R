# What byte code saves a user's first calls: processor seconds of a fresh
# session that attaches the package and calls srvm() or bark() twice, from a
# copy installed with byte code and one without, in pairs.
#
#   Rscript tools/bench/first-call.R [--pairs=5]
#
# Target: the first call with byte code costs no more than without.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "deps.R"))
source(file.path(dirname(dirname(script)), "arguments.R"))
source(file.path(dirname(script), "report.R"))
refuse_unknown(options = "pairs")
root <- dirname(dirname(dirname(script)))

# The compiled code of the first installation serves the second.
install_both <- function() {
  dir <- tempfile("build")
  dir.create(dir)
  utils::untar(build_tarball(root, dir), exdir = dir)
  flags <- c(yes = "--byte-compile", no = "--no-byte-compile")
  vapply(flags, function(flag) {
    lib <- tempfile("library")
    dir.create(lib)
    log <- tempfile("log")
    status <- run_logged(r_binary(), c(
      "CMD", "INSTALL", "--no-docs", flag, paste0("--library=", lib),
      file.path(dir, package_name(root))
    ), log)
    if (status != 0) {
      show_log(log)
      fail("the package does not install.")
    }
    lib
  }, "")
}

calls <- c(
  bark = "bark(mpg ~ ., mtcars, seed = 1)",
  srvm = "srvm(mpg ~ wt, mtcars, seed = 1)"
)

# Seconds of attaching, of the first call and of the second.
fresh_session <- function(lib, call) {
  code <- paste0(
    "t <- function() sum(proc.time()[1:2]); a <- t(); ",
    "suppressPackageStartupMessages(library(kernelbayes)); b <- t(); ",
    "f <- function() invisible(suppressWarnings(suppressMessages(", call,
    "))); f(); c <- t(); f(); d <- t(); cat(diff(c(a, b, c, d)))"
  )
  libs <- paste(c(lib, .libPaths()), collapse = .Platform$path.sep)
  out <- system2(r_binary("Rscript"), c("-e", shQuote(code)),
    stdout = TRUE, env = paste0("R_LIBS=", libs)
  )
  scan(text = utils::tail(out, 1), quiet = TRUE)
}

libraries <- install_both()
pairs <- as.integer(option("pairs", "5"))
for (name in names(calls)) {
  seconds <- lapply(libraries, function(lib) {
    replicate(pairs, fresh_session(lib, calls[[name]]))
  })
  table <- data.frame(
    step = c("library()", paste(c("first", "second"), paste0(name, "()"))),
    yes = rowMeans(seconds$yes), no = rowMeans(seconds$no),
    ratio = rowMeans(seconds$yes / seconds$no)
  )
  names(table)[2:3] <- c("with byte code", "without")
  markdown(table)
}
for (name in names(libraries)) {
  files <- list.files(libraries[[name]], recursive = TRUE, full.names = TRUE)
  r <- files[grepl("/R/[^/]*$", files)]
  cat("byte code ", name, ": ", round(sum(file.size(r)) / 2^20, 2),
    " MB of R\n", sep = ""
  )
}
