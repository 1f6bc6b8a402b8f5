# Build the site of help pages, vignettes and derivations, without the network:
#   Rscript tools/site.R [--to=folder] [--quick]
# The site goes to `docs`, which is not committed, unless another folder is
# given. --quick leaves out the vignettes and the output of examples.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(script), "deps.R"))
source(file.path(dirname(script), "arguments.R"))
root <- dirname(dirname(script))

# Turns links of README.md to files of the checkout into pages of the site.
site_links <- function(html) {
  html <- gsub(
    'href="vignettes/([^"]*)[.]Rmd"', 'href="articles/\\1.html"', html
  )
  html <- gsub('href="NEWS[.]html"', 'href="news/index.html"', html)
  # The site has pages for the package only, not for notes on tests.
  gsub('<a href="tests/README[.]html">([^<]*)</a>', "\\1", html)
}

# Local links of a page to files that do not exist.
lost_links <- function(page) {
  html <- paste(readLines(page, warn = FALSE), collapse = "\n")
  links <- regmatches(html, gregexpr('(href|src)="[^"#]+', html))[[1]]
  links <- unique(sub('^[^"]*"', "", links))
  links <- grep("^([a-z]+:|//)", links, value = TRUE, invert = TRUE)
  links[!file.exists(file.path(dirname(page), sub("[?].*", "", links)))]
}

# Adds derivations/*.md to the articles: pkgdown only knows vignettes.
render_derivations <- function(pkg, root, to) {
  dir.create(file.path(to, "articles"), showWarnings = FALSE)
  files <- list.files(
    file.path(root, "derivations"), "[.]md$", full.names = TRUE
  )
  for (file in files) {
    out <- tempfile(fileext = ".html")
    rmarkdown::pandoc_convert(
      normalizePath(file), "html", "markdown", out,
      options = c("--mathjax", "--shift-heading-level-by=1")
    )
    html <- readLines(out, encoding = "UTF-8", warn = FALSE)
    # The page template already shows the title.
    html <- sub(
      "(?s)<h2[^>]*>.*?</h2>", "", paste(html, collapse = "\n"), perl = TRUE
    )
    title <- sub("^# ", "", readLines(file, n = 1, encoding = "UTF-8"))
    name <- paste0("derivations-", sub("[.]md$", ".html", basename(file)))
    pkgdown::render_page(
      pkg, "title-body", list(pagetitle = title, body = html),
      file.path("articles", name)
    )
  }
}

install_needs(root, "site")
lib <- install_checkout(root)
.libPaths(c(lib, .libPaths()))

to <- option("to", file.path(root, "docs"))
dir.create(to, showWarnings = FALSE, recursive = TRUE)
to <- normalizePath(to)
quick <- flag("quick")
# Otherwise pkgdown asks CRAN about the package and its dependencies.
options(pkgdown.internet = FALSE)
pkg <- pkgdown::as_pkgdown(root, list(destination = to))
pkgdown::init_site(pkg)
# Those of README.md, which links to them where they are in the checkout
dir.create(file.path(to, "tools"), showWarnings = FALSE)
file.copy(file.path(root, "tools", "figures"), file.path(to, "tools"),
  recursive = TRUE
)
pkgdown::build_home(pkg, preview = FALSE)
pkgdown::build_reference(pkg,
  lazy = FALSE, examples = !quick, devel = FALSE, preview = FALSE
)
if (!quick) pkgdown::build_articles(pkg, lazy = FALSE, preview = FALSE)
render_derivations(pkg, root, to)
pkgdown::build_news(pkg, preview = FALSE)

home <- file.path(to, "index.html")
writeLines(site_links(readLines(home, warn = FALSE)), home)

pages <- list.files(to, "[.]html$", recursive = TRUE, full.names = TRUE)
lost <- lapply(pages, lost_links)
for (i in which(lengths(lost) > 0 & !quick)) {
  say("Lost links in ", pages[[i]], ": ", toString(lost[[i]]))
}
say("Site: ", home)
