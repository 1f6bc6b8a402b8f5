# The standards of rOpenSci's statistical software review (general, Bayesian,
# regression). standards.csv says how each is met and in which file, or why it is
# not applicable; STANDARDS.md is made from it.

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

#' The rows: data frame of `standard`, `met`, `text` and `file`, "" where no single
#' file meets a standard
read_standards <- function(root) {
  rows <- utils::read.csv(file.path(root, "tools", "standards.csv"),
    encoding = "UTF-8", na.strings = character(), colClasses = "character"
  )
  rows$met <- rows$met == "yes"
  rows
}

#' Problems with the rows: strings, none if all is well
standard_problems <- function(rows, known = unlist(standards, use.names = FALSE)) {
  say <- function(what, which) {
    if (length(which) > 0) paste0(what, ": ", toString(which))
  }
  c(
    say("no row", setdiff(known, rows$standard)),
    say("two rows", unique(rows$standard[duplicated(rows$standard)])),
    say("no such standard", setdiff(rows$standard, known))
  )
}

#' The lines of STANDARDS.md
standards_page <- function(all) {
  section <- function(name) {
    rows <- all[match(standards[[name]], all$standard), ]
    c(
      paste("##", name), "", "| Standard | State | How, or why not | File |",
      "|---|---|---|---|",
      sprintf(
        "| %s | %s | %s | %s |", rows$standard,
        ifelse(rows$met, "met", "not applicable"), rows$text,
        ifelse(nzchar(rows$file), sprintf("`%s`", rows$file), "")
      ), ""
    )
  }
  lines <- c(
    "# Standards for statistical software", "",
    "The standards of rOpenSci's",
    "[Statistical Software Peer Review](https://stats-devguide.ropensci.org),",
    "general (G), Bayesian (BS) and regression (RE), one by one: how each is",
    "met, or why it is not applicable. `tools/document.R` makes this page from",
    "`tools/standards.csv`.", "",
    unlist(lapply(names(standards), section))
  )
  lines[-length(lines)]
}
