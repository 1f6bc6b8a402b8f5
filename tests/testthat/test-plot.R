# Shared parts of the plots of all engines.

test_that("a legend is no wider than its panel, and whole if there is room", {
  entries <- list(
    prior = list(pch = 15), posterior = list(lwd = 2),
    "mean and interval" = list(lwd = 5)
  )
  # Right ends of the entries divided by that of the panel, for some panels.
  ends <- function(panels) {
    grDevices::pdf(NULL, width = 6, height = 4)
    on.exit(grDevices::dev.off())
    graphics::par(mfrow = c(1, panels))
    graphics::plot(1:2)
    seen <- list()
    trace <- function(entry, at, cex, ...) {
      width <- key_entry(entry, at, cex, ...)
      seen[[length(seen) + 1]] <<- c(at = at, width = width, cex = cex)
      width
    }
    environment(key_above) <- list2env(
      list(key_entry = trace), parent = asNamespace("kernelbayes")
    )
    key_above(entries)
    last <- utils::tail(seen, 1)[[1]]
    room <- graphics::grconvertX(1, "nfc", "npc")
    c(end = sum(last[c("at", "width")]) / room, last["cex"])
  }
  expect_equal(ends(1)[["cex"]], 0.8)
  narrow <- ends(2)
  expect_lt(narrow[["cex"]], 0.8)
  expect_lte(narrow[["end"]], 1.05)
})
