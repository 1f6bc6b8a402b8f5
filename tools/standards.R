# The standards of rOpenSci's statistical software review (general, Bayesian,
# regression) and the tags in R/ and tests/testthat/ that say where each is met,
# or why it is not applicable. STANDARDS.md lists the tags.

# https://stats-devguide.ropensci.org, March 2026.
standards <- list(
  General = c(
    paste0("G1.", c(0:4, "4a", 5, 6)),
    paste0("G2.", c(
      0, "0a", 1, "1a", 2, 3, "3a", "3b", 4, "4a", "4b", "4c", "4d", "4e",
      5:14, "14a", "14b", "14c", 15, 16
    )),
    paste0("G3.", c(0, 1, "1a")), "G4.0",
    paste0("G5.", c(
      0:2, "2a", "2b", 3, 4, "4a", "4b", "4c", 5, 6, "6a", "6b", 7, 8, "8a",
      "8b", "8c", "8d", 9, "9a", "9b", 10, 11, "11a", 12
    ))
  ),
  Bayesian = c(
    paste0("BS1.", c(0:2, "2a", "2b", "2c", 3, "3a", "3b", 4, 5)),
    paste0("BS2.", c(1, "1a", 2:15)), paste0("BS3.", 0:2), paste0("BS4.", 0:7),
    paste0("BS5.", 0:5), paste0("BS6.", 0:5), paste0("BS7.", c(0:4, "4a"))
  ),
  Regression = c(
    paste0("RE1.", c(0:3, "3a", 4)), paste0("RE2.", c(0:4, "4a", "4b")),
    paste0("RE3.", 0:3), paste0("RE4.", 0:18), "RE5.0", paste0("RE6.", 0:3),
    paste0("RE7.", c(0, "0a", 1, "1a", 2:4))
  )
)

#' The tags: data frame of `standard`, `met`, `text` and `file`
read_tags <- function(root) {
  files <- c(
    list.files(file.path(root, "R"), "[.]R$"),
    list.files(file.path(root, "tests", "testthat"), "[.]R$")
  )
  folders <- ifelse(grepl("^(test|helper)-", files), "tests/testthat", "R")
  do.call(rbind, Map(
    tags_in, file.path(root, folders, files), file.path(folders, files)
  ))
}

#' A tag continues in the indented lines below it
tags_in <- function(path, file) {
  lines <- readLines(path, encoding = "UTF-8")
  start <- grep("^#' @srrstats", lines)
  texts <- vapply(start, function(i) {
    rest <- lines[-seq_len(i)]
    more <- cumsum(!grepl("^#'   ", rest)) == 0
    paste(c(lines[[i]], sub("^#'   ", "", rest[more])), collapse = " ")
  }, "")
  form <- "^#' @srrstats(NA)? [{]([A-Z]+[0-9]+[.][0-9]+[a-z]?)[}] (.+)$"
  odd <- texts[!grepl(form, texts)]
  if (length(odd) > 0) stop("no tag of a standard: ", odd[[1]])
  data.frame(
    standard = sub(form, "\\2", texts), met = sub(form, "\\1", texts) == "",
    text = sub(form, "\\3", texts), file = rep(file, length(texts))
  )
}

#' Problems with the tags: strings, none if all is well
tag_problems <- function(tags, known = unlist(standards, use.names = FALSE)) {
  say <- function(what, which) {
    if (length(which) > 0) paste0(what, ": ", toString(which))
  }
  c(
    say("no tag", setdiff(known, tags$standard)),
    say("two tags", unique(tags$standard[duplicated(tags$standard)])),
    say("no such standard", setdiff(tags$standard, known))
  )
}

#' The lines of STANDARDS.md
standards_page <- function(tags) {
  section <- function(name) {
    rows <- tags[match(standards[[name]], tags$standard), ]
    c(
      paste("##", name), "", "| Standard | State | How, or why not | Tag |",
      "|---|---|---|---|",
      sprintf(
        "| %s | %s | %s | `%s` |", rows$standard,
        ifelse(rows$met, "met", "not applicable"), rows$text, rows$file
      ), ""
    )
  }
  lines <- c(
    "# Standards for statistical software", "",
    "The standards of rOpenSci's",
    "[Statistical Software Peer Review](https://stats-devguide.ropensci.org),",
    "general (G), Bayesian (BS) and regression (RE), one by one: how each is",
    "met, or why it is not applicable. The sentences are tags (`@srrstats`,",
    "`@srrstatsNA`) in the files named last; `tools/document.R` collects them",
    "here. Test files are those of `tests/testthat`.", "",
    unlist(lapply(names(standards), section))
  )
  lines[-length(lines)]
}
