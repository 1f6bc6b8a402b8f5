# Update what README.md shows of the package itself:
#   Rscript tools/readme.R
# the output of its first example, its pictures in man/figures, the sentence on
# wrong labels (tools/readme-labels.R), and the tables of methods
# (tools/method-table.R).

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(script), "deps.R"))
source(file.path(dirname(script), "method-table.R"))
source(file.path(dirname(script), "readme-labels.R"))
root <- dirname(dirname(script))

# ---- the first example -------------------------------------------------------

example_markers <- c("<!-- example: start -->", "<!-- example: end -->")

# The code, and after each expression its printed output. Plots and times are
# not shown: times differ from run to run.
run_example <- function(code) {
  expressions <- parse(text = code, keep.source = TRUE)
  last <- vapply(attr(expressions, "srcref"), `[[`, 0L, 3L)
  first <- c(1L, utils::head(last, -1) + 1L)
  globals <- new.env(parent = globalenv())
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  unlist(lapply(seq_along(expressions), function(i) {
    shown <- utils::capture.output({
      result <- withVisible(eval(expressions[[i]], globals))
      if (result$visible) print(result$value)
    })
    shown <- grep("^ *time: ", shown, value = TRUE, invert = TRUE)
    shown <- paste("#>", shown[shown != ""], recycle0 = TRUE)
    c(code[first[[i]]:last[[i]]], sub(" +$", "", shown))
  }))
}

write_example <- function(file) {
  text <- readLines(file, encoding = "UTF-8")
  at <- match(example_markers, text)
  lines <- seq_len(diff(at) - 1) + at[[1]]
  code <- without_prefix(text[lines], c("```", "#>"))
  text <- c(
    text[seq_len(at[[1]])], "```r", run_example(code), "```",
    text[at[[2]]:length(text)]
  )
  writeLines(text, file, useBytes = TRUE)
}

without_prefix <- function(lines, prefixes) {
  for (prefix in prefixes) lines <- lines[!startsWith(lines, prefix)]
  lines
}

# ---- the pictures ------------------------------------------------------------

# Small, at the size shown in README.md, since they are installed too.
picture <- function(name, draw, width = 480, height = 400) {
  folder <- file.path(root, "man", "figures")
  dir.create(folder, showWarnings = FALSE)
  file <- file.path(folder, paste0("README-", name, ".png"))
  type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
  grDevices::png(file, width = width, height = height, res = 90, type = type)
  on.exit({
    grDevices::dev.off()
    use_palette(file)
  })
  graphics::par(mar = c(4, 4, 1.5, 1))
  draw()
}

# A third of the size
use_palette <- function(file) {
  if (Sys.which("pngquant") == "") {
    message("Install pngquant: without it the pictures are three times as large.")
    return(invisible())
  }
  system2("pngquant", c(
    "--force", "--speed=1", "--strip", "--ext=.png", "64", shQuote(file)
  ))
}

draw_curve <- function() {
  fit <- srvm(medv ~ lstat, data = MASS::Boston, order = "random", seed = 1)
  picture("curve", function() plot(fit), width = 640)
}

draw_surface <- function() {
  fit <- bark(Ozone ~ Solar.R + Wind + Temp,
    data = na.omit(airquality),
    control = mcmc_control(warmup = 500, iter = 2000, thin = 2), seed = 1
  )
  surface <- partial_dependence(fit, c("Wind", "Temp"), n = 25)
  picture("surface", function() plot(surface))
}

install_needs(root, "readme")
library(kernelbayes, lib.loc = c(install_checkout(root), .libPaths()))
file <- file.path(root, "README.md")
write_example(file)
runs <- stored_label_runs(root)
write_labels_sentence(file, runs)
write_tables(file)
draw_curve()
picture("labels", function() draw_label_rates(runs))
draw_surface()
