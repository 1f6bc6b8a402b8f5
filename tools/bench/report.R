# Measuring and printing for the benchmarks: sourced by scripts of this folder.

seconds_of <- function(expr) {
  started <- Sys.time() # finer than system.time()
  force(expr)
  as.numeric(Sys.time() - started, units = "secs")
}

# So far, children included.
cpu_seconds <- function() sum(proc.time()[c(1, 2, 4, 5)])

# A value and the first warning: methods warn a lot, and are not stopped by it.
with_first_warning <- function(expr) {
  first <- NA_character_
  value <- withCallingHandlers(expr, warning = function(w) {
    if (is.na(first)) first <<- conditionMessage(w)
    invokeRestart("muffleWarning")
  })
  list(value = value, warning = first)
}

# A mean, with its standard error in parentheses if there are several values.
with_error <- function(v, digits) {
  error <- if (length(v) > 1) {
    sprintf(" (%.*f)", digits, sd(v) / sqrt(length(v)))
  }
  paste0(sprintf("%.*f", digits, mean(v)), error)
}

# A row per data set and method: means of `scores`, columns of `rows` by their
# headings, each with the difference of the method `beside` to it over the
# repeats that both have, and seconds of the processor.
table_beside <- function(rows, beside, scores, digits = 3) {
  kinds <- unique(rows[c("data", "method")])
  lines <- lapply(seq_len(nrow(kinds)), function(i) {
    here <- merge(rows, kinds[i, ])
    ours <- rows[rows$data == kinds$data[[i]] & rows$method == beside, ]
    both <- match(here$set, ours$set)
    columns <- lapply(scores, function(score) {
      gap <- (ours[[score]][both] - here[[score]])[!is.na(both)]
      c(
        with_error(here[[score]], digits),
        if (length(gap) > 0) with_error(gap, digits) else ""
      )
    })
    data.frame(kinds[i, ], t(unlist(columns)),
      CPU = mean(here$cpu), splits = nrow(here)
    )
  })
  headings <- rbind(names(scores), paste(beside, "minus it"))
  stats::setNames(do.call(rbind, lines), c(
    "data", "method", headings, "CPU", "splits"
  ))
}

# A data frame as a table.
markdown <- function(table) {
  cells <- vapply(table, function(v) {
    if (!is.numeric(v)) {
      return(as.character(v))
    }
    ifelse(is.na(v), "", formatC(v, digits = 3, format = "fg"))
  }, character(nrow(table)))
  cells <- matrix(cells, nrow(table))
  right <- vapply(table, is.numeric, NA)
  lines <- rbind(names(table), ifelse(right, "---:", "---"), cells)
  cat(paste0("| ", apply(lines, 1, paste, collapse = " | "), " |"), sep = "\n")
  cat("\n")
}

# Peak memory of this process; NA if the system does not report it.
peak_megabytes <- function() {
  status <- "/proc/self/status"
  if (!file.exists(status)) {
    return(NA)
  }
  line <- grep("^VmHWM", readLines(status), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}
