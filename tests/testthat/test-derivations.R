# Checks the numbers of equations that comments cite, (B14) and so on, against
# derivations/. Needs the source tree: an installed package has neither.

root <- normalizePath(file.path("..", ".."))
folder <- file.path(root, "derivations")
skip_if_not(dir.exists(folder), "no source tree")

# The file of each letter.
files <- c(
  B = "bark.md", S = "srvm.md", T = "srvm.md", G = "kgs.md", K = "kbr.md"
)

all_matches <- function(pattern, text) {
  unlist(regmatches(text, gregexpr(pattern, text, perl = TRUE)))
}

# The equation numbers defined in a file of derivations/, in order.
tags_of <- function(text) {
  sub(".*[{](.*)[}]", "\\1", all_matches("\\\\tag[{][^}]*[}]", text))
}

# The equation numbers cited in a text.
cited_in <- function(text) {
  gsub("[()]", "", all_matches("\\([BSTGK][0-9]+\\)", text))
}

read_text <- function(file) readLines(file, encoding = "UTF-8", warn = FALSE)

derivations <- function() {
  found <- list.files(folder, "[.]md$")
  stats::setNames(lapply(file.path(folder, found), read_text), found)
}

# Sources that may cite, with paths from the root.
sources <- function() {
  below <- c("src/core", "src/glue", "inst/include", "R", "tests")
  glue <- list.files(file.path(root, "src"), "^glue.*[.][ch]pp$")
  here <- list.files(
    file.path(root, below), "[.](R|cpp|hpp)$",
    recursive = TRUE, full.names = TRUE
  )
  # The numbers in this file need not exist.
  here <- here[basename(here) != "test-derivations.R"]
  c(here, file.path(root, "src", glue))
}

# "number in file" for each citation without an equation.
lost_citations <- function(texts, tags) {
  lost <- lapply(names(texts), function(name) {
    off <- setdiff(cited_in(texts[[name]]), tags)
    if (length(off) > 0) paste0("(", off, ") in ", name)
  })
  as.character(unlist(lost))
}

all_tags <- function(texts = derivations()) {
  unlist(lapply(texts, tags_of), use.names = FALSE)
}

test_that("equations have numbers of their file, each used once", {
  texts <- derivations()
  expect_setequal(names(texts), files)
  for (name in names(texts)) {
    tags <- tags_of(texts[[name]])
    expect_gt(length(tags), 0)
    expect_match(tags, "^[BSTGK][0-9]+$")
    expect_identical(
      unique(unname(files[substr(tags, 1, 1)])), name, info = name
    )
  }
  tags <- all_tags(texts)
  expect_identical(tags[duplicated(tags)], character())
})

test_that("every number cited in sources and derivations is an equation", {
  at <- sources()
  texts <- lapply(at, read_text)
  names(texts) <- sub(paste0(root, "/"), "", at, fixed = TRUE)
  texts <- c(texts, derivations())
  expect_gt(length(unlist(lapply(texts, cited_in))), 200)
  expect_identical(lost_citations(texts, all_tags()), character())
})

test_that("wrong numbers and duplicate numbers are noticed", {
  text <- "// Acceptance: (B1), and (K9999) but not f(x1) or (B)."
  expect_identical(
    lost_citations(list(a.cpp = text), all_tags()), "(K9999) in a.cpp"
  )
  expect_identical(
    tags_of(c("a \\tag{B1}", "\\tag{B2} and \\tag{B1}")), c("B1", "B2", "B1")
  )
})

test_that("files named in derivations exist", {
  engine <- sub("[.]md$", "", list.files(folder, "[.]md$"))
  for (name in engine) {
    text <- paste(derivations()[[paste0(name, ".md")]], collapse = "\n")
    named <- unique(all_matches("(?<=`)[-*_/A-Za-z0-9]+[.][hc]?(pp|R)(?=`)",
      text
    ))
    expect_gt(length(named), 0)
    there <- vapply(named, function(file) {
      places <- file.path(root, c(
        "", file.path("src", "core", name), file.path("src", "core", name, "*"),
        "inst/include/kernelbayes"
      ), file)
      length(Sys.glob(places)) > 0
    }, NA)
    expect_identical(named[!there], character(), info = name)
  }
})

test_that("derivations are not in the tarball", {
  ignored <- readLines(file.path(root, ".Rbuildignore"))
  hits <- function(path) {
    any(vapply(ignored, grepl, NA, x = path, perl = TRUE, ignore.case = TRUE))
  }
  paths <- file.path("derivations", list.files(folder))
  expect_true(hits("derivations") || all(vapply(paths, hits, NA)))
})
