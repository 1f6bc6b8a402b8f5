# Update what README.md shows of the package itself:
#   Rscript tools/readme.R
# the output of its first example and its coverage, its pictures in tools/figures,
# the sentence on wrong labels (tools/readme-labels.R); and the tables of methods
# in the article `methods` (tools/method-table.R).

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

# ---- its coverage ------------------------------------------------------------

coverage_markers <- c("<!-- coverage: start -->", "<!-- coverage: end -->")

first_fit <- function(...) {
  bark(medv ~ lstat, data = MASS::Boston, ..., seed = 1)
}

# Percent of held-out responses in 90% intervals, by quarters of lstat
held_out_coverage <- function(fit) {
  rows <- cross_validate(fit, folds = 5, seed = 1)
  lstat <- MASS::Boston$lstat[rows$row]
  quarter <- cut(lstat, stats::quantile(lstat), include.lowest = TRUE)
  inside <- rows$pit > 0.05 & rows$pit < 0.95
  round(100 * as.vector(tapply(inside, quarter, mean)))
}

write_coverage <- function(file, fit) {
  words <- function(percent) {
    paste0(toString(percent[1:3]), " and ", percent[[4]], "%")
  }
  sentence <- strwrap(paste0(
    "In five folds, 90% prediction intervals hold ",
    words(held_out_coverage(fit)), " of the held-out prices in the four ",
    "quarters of `lstat`; with constant noise, ",
    words(held_out_coverage(first_fit())), "."
  ), 80)
  text <- readLines(file, encoding = "UTF-8")
  at <- match(coverage_markers, text)
  writeLines(c(
    text[seq_len(at[[1]])], sentence, text[at[[2]]:length(text)]
  ), file, useBytes = TRUE)
}

# ---- the pictures ------------------------------------------------------------

picture <- function(name, draw, width = 4.6, height = 3.8) {
  file <- file.path(root, "tools", "figures", paste0(name, ".png"))
  type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
  grDevices::png(file, width, height, "in", res = 150, type = type)
  on.exit({
    grDevices::dev.off()
    use_palette(file)
  })
  graphics::par(mar = c(3.6, 3.6, 1.5, 0.5))
  draw()
}

# A third of the size
use_palette <- function(file) {
  if (Sys.which("pngquant") == "") {
    message("Install pngquant: without it the pictures are three times as large.")
    return(invisible())
  }
  system2("pngquant", c(
    "--force", "--speed=1", "--strip", "--ext=.png", "32", shQuote(file)
  ))
}

draw_curve <- function(fit) {
  picture("curve",
    function() {
      plot(fit,
        xlab = "lstat: poorer residents, percent",
        ylab = "medv: price, 1000 dollars"
      )
    },
    width = 6.6
  )
}

draw_surface <- function() {
  fit <- bark(Ozone ~ Solar.R + Wind + Temp,
    data = na.omit(airquality),
    control = mcmc_control(warmup = 500, iter = 2000, thin = 2), seed = 1
  )
  surface <- partial_dependence(fit, c("Wind", "Temp"), n = 25)
  picture("surface", function() {
    plot(surface,
      xlab = "wind, miles per hour", ylab = "temperature, Fahrenheit"
    )
  })
}

install_needs(root, "readme")
library(kernelbayes, lib.loc = c(install_checkout(root), .libPaths()))
file <- file.path(root, "README.md")
write_example(file)
fit <- first_fit(sigma = ~lstat)
write_coverage(file, fit)
runs <- stored_label_runs(root)
write_labels_sentence(file, runs)
write_tables(file.path(root, "vignettes", "articles", "methods.Rmd"))
draw_curve(fit)
picture("labels", function() draw_label_rates(runs))
draw_surface()
