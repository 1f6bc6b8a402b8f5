# The picture in README.md of labels that kgs() marks as wrong, and its
# sentence, from the stored result of tools/reproduce/kgs_labels.R. Sourced by
# tools/readme.R, by that script, and by a test that compares the sentence.

# For each number of flips, over the draws: the share of flipped labels that are
# marked (recall) and of marked labels that were flipped (precision), both with
# standard errors, and the mean number that is marked
label_rates <- function(runs) {
  each <- split(runs, runs$flips)
  out <- lapply(each, function(r) {
    data.frame(
      flips = r$flips[[1]], draws = nrow(r), marked = mean(r$marked),
      recall = share_with_error(r$found, r$flips),
      precision = share_with_error(r$found, r$marked)
    )
  })
  out <- do.call(rbind, out)
  rownames(out) <- NULL
  out
}

# sum(part) / sum(whole), and its standard error over draws
share_with_error <- function(part, whole) {
  share <- sum(part) / sum(whole)
  rest <- part - share * whole
  data.frame(
    share = share, se = stats::sd(rest) / sqrt(length(rest)) / mean(whole)
  )
}

labels_sentence <- function(runs) {
  rates <- label_rates(runs)
  per_cent <- function(name, flips, text = "") {
    at <- rates$flips == flips
    sprintf("%.0f%% (%s%.1f)",
      100 * rates[[paste0(name, ".share")]][at], text,
      100 * rates[[paste0(name, ".se")]][at]
    )
  }
  again <- function(flips) {
    paste0(
      "; of ", flips, ", ", per_cent("recall", flips), " and ",
      per_cent("precision", flips)
    )
  }
  strwrap(paste0(
    "Left: labels of two species of `iris` were swapped at random before ",
    "`kgs(nugget = 0)` saw them, ", rates$draws[[1]], " times for each ",
    "number. Of 4 swapped labels among 100 it marks ", per_cent("recall", 4, "standard error "),
    " as more likely wrong than right, and ", per_cent("precision", 4),
    " of those that it marks were swapped", again(10), again(20), ". ",
    unswapped(rates$marked[rates$flips == 0]),
    " (`tools/reproduce/kgs_labels.R`). Right: ozone in New York by wind and ",
    "temperature, from `bark()`."
  ), 80)
}

unswapped <- function(marked) {
  if (marked < 0.05) {
    return("Without swaps it marks none")
  }
  if (abs(marked - 1) < 0.05) {
    return("Without swaps it marks one, which lies among the other species")
  }
  sprintf(
    "Without swaps it marks %.1f, which lie among the other species", marked
  )
}

# ---- README.md ---------------------------------------------------------------

label_markers <- c("<!-- labels: start -->", "<!-- labels: end -->")

stored_label_runs <- function(root) {
  readRDS(file.path(root, "vignettes", "precomputed", "kgs_labels.rds"))$runs
}

read_labels_sentence <- function(file) {
  text <- readLines(file, encoding = "UTF-8")
  at <- match(label_markers, text)
  text[seq_len(diff(at) - 1) + at[[1]]]
}

write_labels_sentence <- function(file, runs) {
  text <- readLines(file, encoding = "UTF-8")
  at <- match(label_markers, text)
  writeLines(c(
    text[seq_len(at[[1]])], labels_sentence(runs), text[at[[2]]:length(text)]
  ), file, useBytes = TRUE)
}

# ---- the picture -------------------------------------------------------------

# Recall and precision by the number of flips, with two standard errors
draw_label_rates <- function(runs) {
  rates <- label_rates(runs)
  rates <- rates[rates$flips > 0, ]
  colours <- c(recall = "#0072B2", precision = "#D55E00")
  marks <- c(recall = 19, precision = 17)
  types <- c(recall = "solid", precision = "42")
  graphics::plot(range(rates$flips), 0:1,
    type = "n", las = 1, bty = "l", xaxs = "i", yaxs = "i",
    xlim = c(0, max(rates$flips) + 1), ylim = c(0, 1.02),
    xlab = "swapped labels of 100", ylab = "share", mgp = c(2.3, 0.6, 0)
  )
  graphics::grid(nx = NA, ny = NULL, lty = 1, col = "grey92")
  for (name in names(colours)) {
    share <- rates[[paste0(name, ".share")]]
    reach <- 2 * rates[[paste0(name, ".se")]]
    graphics::segments(rates$flips, share - reach, y1 = share + reach,
      col = colours[[name]], lwd = 2
    )
    graphics::lines(rates$flips, share,
      type = "o", pch = marks[[name]], cex = 0.9, lwd = 2,
      lty = types[[name]], col = colours[[name]]
    )
  }
  graphics::legend("bottomright",
    c("of swapped labels, marked", "of marked labels, swapped"),
    col = colours, pch = marks, lwd = 2, lty = types, seg.len = 3, bty = "n"
  )
}
