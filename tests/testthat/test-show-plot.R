# Shared parts of the plots of all engines.

test_that("a legend is no wider than its panel, and whole if there is room", {
  entries <- list(
    prior = list(pch = 15), posterior = list(lwd = 2),
    "mean and interval" = list(lwd = 5)
  )
  # Right ends of the entries divided by that of the panel, for some panels and
  # lines of the margin above them.
  ends <- function(panels, above = 4.1) {
    grDevices::pdf(NULL, width = 6, height = 4)
    on.exit(grDevices::dev.off())
    graphics::par(mfrow = c(1, panels), mar = c(5.1, 4.1, above, 2.1))
    graphics::plot(1:2)
    seen <- list()
    trace <- function(entry, at, cex, up, ...) {
      width <- key_entry(entry, at, cex, up, ...)
      seen[[length(seen) + 1]] <<- c(end = at + width, up = up, cex = cex)
      width
    }
    environment(key_above) <- list2env(
      list(key_entry = trace), parent = asNamespace("kernelbayes")
    )
    key_above(entries)
    out <- do.call(rbind, seen)
    out[, "end"] <- out[, "end"] / graphics::grconvertX(1, "nfc", "npc")
    out
  }
  one_line <- ends(1)
  expect_equal(unique(one_line[, "cex"]), 0.85)
  expect_equal(unique(one_line[, "up"]), 1)
  expect_lte(max(one_line[, "end"]), 1)
  # In a narrow panel in several lines, the last just above the panel.
  lines <- ends(2)
  expect_equal(unique(lines[, "cex"]), 0.85)
  expect_lte(max(lines[, "end"]), 1)
  expect_false(is.unsorted(-lines[, "up"]))
  expect_gt(lines[[1, "up"]], 1)
  expect_equal(lines[[3, "up"]], 1)
  # Smaller where there is one line only.
  small <- ends(2, above = 1.5)
  expect_lt(max(small[, "cex"]), 0.85)
  expect_equal(unique(small[, "up"]), 1)
  expect_lte(max(small[, "end"]), 1)
})

test_that("panels of a page share their legend, titles and labels", {
  shared <- function(xlab, key = "mean") {
    panel(xlab, "y", lines_layer(1:2, 1:2, label = key))
  }
  same <- list(shared("x"), shared("x"))
  expect_identical(page_labels(same, list()), list(xlab = "x", ylab = "y"))
  expect_identical(page_labels(same, list(xlab = "own"))$xlab, "own")
  expect_named(page_labels(list(shared("x"), shared("z")), list()), "ylab")
  expect_named(page_key(same), "mean")
  expect_null(page_key(list(shared("x"), shared("x", "median"))))
  expect_null(page_key(list(panel("x", "y", lines_layer(1:2, 1:2)))))
  # The second panel shares the first one's.
  quiet <- shared("x", "other")
  quiet$key <- FALSE
  expect_named(page_key(list(shared("x"), quiet)), "mean")
})

test_that("on a dark page dark colours are light, and white is the page's", {
  on_page <- function(colour, page) {
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    graphics::par(bg = page)
    ink(colour)
  }
  colours <- c("black", "grey", "blue", "orange", "green", "sky")
  expect_identical(on_page(colours, "white"), paint(colours))
  expect_identical(on_page("blue", "transparent"), paint("blue"))
  dark <- on_page(colours, "grey10")
  expect_true(all(lightness(dark) > 55))
  expect_identical(anyDuplicated(dark), 0L)
  page <- grDevices::adjustcolor("grey10")
  expect_identical(on_page("white", "grey10"), page)
})

test_that("series in blocks keep their mean and range", {
  values <- cbind(c(1, 3, 5, 7, 9), 5:1)
  blocks <- series_blocks(1:5, values, most = 3)
  expect_identical(attr(blocks, "size"), 2)
  expect_equal(blocks$x, rep(c(1.5, 3.5, 5), 2))
  expect_equal(blocks$y, c(2, 6, 9, 4.5, 2.5, 1))
  expect_equal(blocks$ymin, c(1, 5, 9, 4, 2, 1))
  expect_equal(blocks$ymax, c(3, 7, 9, 5, 3, 1))
  expect_equal(blocks$group, rep(1:2, each = 3))
})

test_that("lines of groups differ by their type, too", {
  by <- groups("class", c("a", "b"))
  one <- lines_layer(1:2, 1:2, group = c("a", "b"), by = by)
  types <- vapply(split_groups(one), function(part) part$look$lty, "")
  expect_identical(types, c("solid", "42"))
  dashed <- lines_layer(1:2, 1:2, group = c("a", "b"), by = by, lty = 2)
  expect_equal(split_groups(dashed)[[2]]$look$lty, 2)
})
