# Functions shared by the scripts in this folder: finding the checkout,
# installing missing packages, and building and installing this package from a
# clean copy.
#
# Sourced by the other scripts, or run on its own:
#   Rscript tools/deps.R [tests] [neighbours] [quickstart] [readme] [check]
#     [site] [coverage] [league] [bench_...] [reproduce] [reproduce_...]
# (all purposes are the names of `extras` below)
# Uses only base R, because a loaded package cannot be replaced.

# Packages from Suggests (or beyond) that each purpose needs. Without a
# required one the purpose fails; a useful one is skipped with a message.
extras <- list(
  tests = list(
    required = "testthat",
    useful = c(
      "callr", "future", "kernlab", "loo", "MASS", "mirai", "rstantools",
      "withr"
    )
  ),
  quickstart = list(required = c("MASS", "mlbench"), useful = character()),
  readme = list(
    required = c("bayesplot", "ggplot2", "loo", "MASS", "rstantools"),
    useful = character()
  ),
  check = list(
    required = c("testthat", "knitr", "rmarkdown", "MASS"),
    useful = c(
      "callr", "future", "kernlab", "loo", "mirai", "mlbench", "rstantools",
      "withr"
    )
  ),
  # Neighbours whose dependencies take long to compile: their tests are skipped
  # if they are missing.
  neighbours = list(
    required = c(
      "bayesplot", "DALEX", "dials", "dplyr", "ggplot2", "loo", "parsnip",
      "recipes", "rsample", "rstantools", "tune", "workflows", "yardstick"
    ),
    useful = c(
      "bundle", "butcher", "censored", "collapse", "ggfortify", "insight",
      "marginaleffects", "prodlim", "tidybayes"
    )
  ),
  site = list(
    required = c("knitr", "MASS", "pkgdown", "rmarkdown"),
    useful = c(
      "bayesplot", "boot", "ggplot2", "loo", "parsnip", "rstantools"
    )
  ),
  coverage = list(required = c("testthat", "covr"), useful = "withr"),
  # Experiments and benchmarks against other packages.
  league = list(
    required = c(
      "dbarts", "ISLR", "kernlab", "MASS", "mgcv", "mlbench", "modeldata",
      "ranger"
    ),
    useful = c("BART", "DiceKriging", "laGP", "xgboost")
  ),
  bench_bark = list(required = "MASS", useful = c("bark", "dbarts")),
  bench_mixture = list(required = "bkmr", useful = character()),
  bench_counts = list(
    required = c("AER", "ISLR2", "MASS", "mgcv"), useful = "countSTAR"
  ),
  bench_survival = list(required = "survival", useful = "BART"),
  bench_noise = list(required = c("MASS", "mgcv"), useful = "hetGP"),
  bench_groups = list(
    required = c("dbarts", "lme4", "Matrix", "mgcv"), useful = "stan4bart"
  ),
  bench_rows = list(required = c("dbarts", "ggplot2"), useful = character()),
  reproduce = list(
    required = c("kernlab", "mgcv", "MASS"), useful = character()
  ),
  reproduce_srvm = list(
    required = c("dbarts", "kernlab", "mgcv", "MASS"), useful = character()
  ),
  reproduce_srvm_streams = list(
    required = c("future.apply", "kernlab", "mgcv", "MASS"),
    useful = character()
  ),
  reproduce_bark = list(
    required = c("future.apply", "kernlab", "MASS", "mclust", "mfp", "mlbench"),
    useful = c("bark", "dbarts", "ranger")
  ),
  reproduce_bark_classes = list(
    required = c(
      "dbarts", "future.apply", "MASS", "mlbench", "nnet", "ordinal", "ranger"
    ),
    useful = character()
  ),
  reproduce_case_study = list(
    required = "MASS", useful = character()
  ),
  reproduce_kgs = list(
    required = c("future.apply", "kernlab", "MASS", "mlbench"),
    useful = c("dbarts", "ranger")
  ),
  reproduce_kbr = list(
    required = c("abc", "future.apply"), useful = character()
  ),
  reproduce_kbr_hmm = list(required = "future.apply", useful = "KFAS"),
  reproduce_kbr_hmm_sensor = list(
    required = c("KFAS", "dlm", "ranger"), useful = character()
  ),
  reproduce_sbi = list(
    required = c("abc", "ranger", "Rcpp", "RcppEigen"), useful = character()
  )
)

debian_library <- "/usr/lib/R/site-library"

# ---- small helpers ---------------------------------------------------------

say <- function(...) message(paste0(...))

# Called before a script ends with a failure; a script may replace it.
at_failure <- function() NULL

fail <- function(...) {
  say("Error: ", ...)
  at_failure()
  quit(save = "no", status = 1)
}

script_path <- function() {
  file <- grep("^--file=", commandArgs(), value = TRUE)
  if (length(file) == 0) {
    fail("run this script with Rscript.")
  }
  # Rscript writes a space in the path as ~+~.
  path <- gsub("~+~", " ", sub("^--file=", "", file[[1]]), fixed = TRUE)
  normalizePath(path, winslash = "/")
}

r_binary <- function(name = "R") {
  program <- if (.Platform$OS.type == "windows") paste0(name, ".exe") else name
  file.path(R.home("bin"), program)
}

is_root <- function() identical(Sys.info()[["effective_user"]], "root")

has_apt <- function() is_root() && all(nzchar(Sys.which(c("apt-get", "dpkg"))))

# Run a program with its output in a log file; returns the exit status.
run_logged <- function(program, args, log, dir = getwd()) {
  old <- setwd(dir)
  on.exit(setwd(old))
  suppressWarnings(
    system2(program, shQuote(args), stdout = log, stderr = log)
  )
}

show_log <- function(log, lines = 60) {
  if (file.exists(log)) {
    message(paste(utils::tail(readLines(log, warn = FALSE), lines),
      collapse = "\n"
    ))
  }
}

# ---- requirements and installed packages -----------------------------------

# "a, b (>= 1.2)" as c(a = "0", b = "1.2")
parse_needs <- function(text) {
  text <- text[!is.na(text)]
  parts <- trimws(unlist(strsplit(paste(text, collapse = ","), ",")))
  parts <- parts[nzchar(parts)]
  names <- trimws(sub("\\(.*", "", parts))
  versions <- ifelse(grepl(">", parts, fixed = TRUE),
    gsub("[^0-9.-]", "", sub(".*\\(", "", parts)), "0"
  )
  add_needs(character(), stats::setNames(versions, names))
}

newer <- function(a, b) utils::compareVersion(a, b) > 0

# Merge two sets of needs, keeping the higher version of each package.
add_needs <- function(needs, more) {
  for (name in setdiff(names(more), "R")) {
    if (is.na(needs[name]) || newer(more[[name]], needs[[name]])) {
      needs[name] <- more[[name]]
    }
  }
  needs
}

base_packages <- c(
  "base", "compiler", "datasets", "graphics", "grDevices", "grid", "methods",
  "parallel", "splines", "stats", "stats4", "tcltk", "tools", "utils"
)

# A library of this project's own, before the user's: what a script installs
# there changes nothing for other packages. It stays for the next run.
use_own_library <- function(name) {
  about <- R.version
  lib <- file.path(
    tools::R_user_dir(name, "data"), "library",
    paste0(about$platform, "-", about$major, ".", sub("[.].*", "", about$minor))
  )
  if (!dir.create(lib, showWarnings = FALSE, recursive = TRUE) &&
    file.access(lib, 2) != 0) {
    fail("the folder ", lib, " cannot be written to. Set R_USER_DATA_DIR.")
  }
  .libPaths(c(lib, .libPaths()))
  .libPaths()[[1]]
}

# The copy that R would load (the first on the library path), or NULL.
installed <- function(name) {
  for (lib in .libPaths()) {
    meta <- file.path(lib, name, "Meta", "package.rds")
    if (file.exists(meta)) {
      about <- tryCatch(readRDS(meta)$DESCRIPTION, error = function(e) NULL)
      if (is.null(about)) {
        return(NULL)
      }
      return(list(
        lib = lib, version = about[["Version"]],
        needs = parse_needs(about[names(about) %in% c("Depends", "Imports")])
      ))
    }
  }
  NULL
}

satisfied <- function(name, version) {
  name %in% base_packages || {
    copy <- installed(name)
    !is.null(copy) && !newer(version, copy$version)
  }
}

# Needs that are unmet, including those of installed packages.
unmet <- function(needs) {
  seen <- character()
  bad <- character()
  queue <- needs
  while (length(queue) > 0) {
    name <- names(queue)[[1]]
    version <- queue[[1]]
    queue <- queue[-1]
    if (name %in% base_packages ||
      (name %in% names(seen) && !newer(version, seen[[name]]))) {
      next
    }
    first_time <- !name %in% names(seen)
    seen[name] <- version
    copy <- installed(name)
    if (is.null(copy) || newer(version, copy$version)) {
      bad[name] <- version
    } else if (first_time) {
      queue <- c(queue, copy$needs[setdiff(names(copy$needs), "R")])
    }
  }
  bad
}

# ---- packages from Debian --------------------------------------------------

deb_name <- function(names) paste0("r-cran-", tolower(names))

use_apt <- function() {
  has_apt() && debian_library %in% normalizePath(.libPaths()) &&
    normalizePath(R.home()) == "/usr/lib/R"
}

apt_state <- new.env()

apt_get <- function(args) {
  apt_state$log <- tempfile("apt")
  run_logged("env", c(
    "DEBIAN_FRONTEND=noninteractive", "apt-get",
    "-o", "DPkg::Lock::Timeout=300", "-y", args
  ), apt_state$log)
}

# Refresh the package lists once, if there are none or they are a week old.
apt_refresh <- function(force = FALSE) {
  lists <- Sys.glob("/var/lib/apt/lists/*Packages*")
  age <- difftime(Sys.time(), file.mtime("/var/lib/apt/lists"), units = "days")
  if (isTRUE(apt_state$fresh) ||
    (length(lists) > 0 && age < 7 && !force)) {
    return(invisible())
  }
  apt_state$fresh <- TRUE
  say("Refreshing the list of Debian packages ...")
  if (apt_get("update") != 0) {
    say("The list of Debian packages could not be refreshed.")
  }
}

# Upstream version of each candidate: no epoch, no Debian revision or suffix.
apt_versions <- function(names) {
  apt_refresh()
  out <- suppressWarnings(system2("env",
    c("LC_ALL=C", "apt-cache", "policy", deb_name(names)),
    stdout = TRUE, stderr = FALSE
  ))
  package <- sub(":$", "", grep("^[a-z0-9].*:$", out, value = TRUE))
  version <- sub("^ *Candidate: *", "", grep("^ *Candidate:", out,
    value = TRUE
  ))
  version <- sub("^[0-9]+:", "", version)
  version <- sub("-[^-]*$", "", version)
  version <- sub("[+~].*", "", version)
  version[!grepl("^[0-9]+([.-][0-9]+)+$", version)] <- NA
  version[match(deb_name(names), package)]
}

# An older copy in a library before Debian's would hide the new one.
hidden_from_apt <- function(name) {
  libs <- normalizePath(.libPaths())
  ahead <- libs[seq_len(match(debian_library, libs) - 1)]
  any(file.exists(file.path(ahead, name, "DESCRIPTION")))
}

apt_can <- function(needs) {
  if (length(needs) == 0 || !use_apt()) {
    return(rep(FALSE, length(needs)))
  }
  versions <- apt_versions(names(needs))
  !is.na(versions) & !vapply(names(needs), hidden_from_apt, NA) &
    !mapply(
      function(need, has) !is.na(has) && newer(need, has), needs, versions
    )
}

apt_install <- function(debs) {
  args <- c("install", "-qq", "--no-install-recommends", "--no-remove", debs)
  status <- apt_get(args)
  if (status != 0 && !isTRUE(apt_state$fresh)) {
    apt_refresh(force = TRUE)
    status <- apt_get(args)
  }
  status == 0
}

# ---- packages from CRAN ----------------------------------------------------

cran_repos <- function() {
  repos <- getOption("repos")
  repos[repos == "@CRAN@"] <- "https://cloud.r-project.org"
  if (length(repos) == 0) c(CRAN = "https://cloud.r-project.org") else repos
}

cran_state <- new.env()

cran_database <- function() {
  if (is.null(cran_state$db)) {
    cran_state$db <- tryCatch(
      suppressWarnings(utils::available.packages(repos = cran_repos())),
      error = function(e) matrix(character(), 0, 0)
    )
    if (nrow(cran_state$db) == 0) {
      say(
        "No package index could be read from ",
        paste(cran_repos(), collapse = ", "), "."
      )
    }
  }
  cran_state$db
}

writable_library <- function() {
  for (lib in .libPaths()) {
    if (file.access(lib, 2) == 0) {
      return(lib)
    }
  }
  user <- strsplit(Sys.getenv("R_LIBS_USER"), .Platform$path.sep)[[1]]
  user <- path.expand(user[!user %in% c("", "NULL")])
  if (length(user) == 0 ||
    !dir.create(user[[1]], recursive = TRUE, showWarnings = FALSE)) {
    fail(
      "no package library can be written to (", toString(.libPaths()),
      "). Set R_LIBS_USER to a folder of yours."
    )
  }
  .libPaths(c(user[[1]], .libPaths()))
  .libPaths()[[1]]
}

cran_install <- function(names) {
  lib <- writable_library()
  # The package fs builds its own copy of libuv if told to.
  if (!nzchar(Sys.getenv("USE_BUNDLED_LIBUV"))) {
    Sys.setenv(USE_BUNDLED_LIBUV = "1")
  }
  say(
    "Installing from CRAN into ", lib, " (this can take minutes): ",
    toString(names)
  )
  old <- options(timeout = max(600, getOption("timeout")))
  on.exit(options(old))
  # R shows the output of failures itself, except when it installs only one.
  logs <- tempfile("logs")
  dir.create(logs)
  alone <- length(names) == 1
  tryCatch(
    withCallingHandlers(
      utils::install.packages(names,
        lib = lib, repos = cran_repos(), Ncpus = 2, quiet = TRUE,
        keep_outputs = if (alone) logs else FALSE
      ),
      warning = function(w) {
        say(conditionMessage(w))
        invokeRestart("muffleWarning")
      }
    ),
    error = function(e) say(conditionMessage(e))
  )
  if (alone && is.null(installed(names))) {
    show_log(file.path(logs, paste0(names, ".out")))
  }
}

# ---- the installer ---------------------------------------------------------

# The source of each unmet need: "apt", "cran" or "none". A package from CRAN
# may need newer versions of installed packages, so needs are added until all
# are consistent.
make_plan <- function(needs) {
  repeat {
    wanted <- unmet(needs)
    source <- stats::setNames(
      ifelse(apt_can(wanted), "apt", "cran"), names(wanted)
    )
    grown <- needs
    for (name in names(source)[source == "cran"]) {
      db <- cran_database()
      if (name %in% rownames(db) &&
        !newer(wanted[[name]], db[name, "Version"])) {
        grown <- add_needs(grown, parse_needs(
          db[name, c("Depends", "Imports", "LinkingTo")]
        ))
      } else {
        source[name] <- "none"
      }
    }
    if (identical(grown, needs)) {
      return(source)
    }
    needs <- grown
  }
}

# Load every package in a fresh process; returns the messages of failures.
load_failures <- function(names) {
  out <- tempfile(fileext = ".rds")
  code <- tempfile(fileext = ".R")
  writeLines(c(
    sprintf("packages <- %s", paste(deparse(names), collapse = "")),
    "bad <- character()",
    "for (p in packages) tryCatch(loadNamespace(p),",
    "  error = function(e) bad[[p]] <<- conditionMessage(e))",
    sprintf("saveRDS(bad, %s)", deparse(out))
  ), code)
  log <- tempfile()
  Sys.setenv(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
  status <- run_logged(r_binary("Rscript"), c("--vanilla", code), log)
  if (status != 0 || !file.exists(out)) {
    show_log(log)
    fail("R ended with status ", status, " while loading ", toString(names))
  }
  unlist(readRDS(out))
}

# Debian's binaries may not fit newer packages from CRAN: replace those that
# the failing packages use and for which CRAN has a newer version.
replace_old <- function(names) {
  queue <- names
  all <- character()
  while (length(queue) > 0) {
    all <- c(all, queue)
    deps <- unlist(lapply(queue, function(n) names(installed(n)$needs)))
    queue <- setdiff(deps, c(all, base_packages, "R"))
  }
  db <- cran_database()
  old <- Filter(function(name) {
    copy <- installed(name)
    name %in% rownames(db) && !identical(copy$lib, .Library) &&
      (is.null(copy) || newer(db[name, "Version"], copy$version))
  }, all)
  if (length(old) > 0) {
    cran_install(old)
  }
}

check_r_version <- function(depends) {
  wanted <- regmatches(
    depends, regexpr("R *\\([^0-9]*[0-9.-]+", depends)
  )
  wanted <- sub("^[^0-9]*", "", wanted)
  if (length(wanted) == 1 && getRversion() < wanted) {
    fail("R ", wanted, " or newer is needed; this is R ", getRversion(), ".")
  }
}

install_by_plan <- function(needs, optional) {
  plan <- make_plan(c(needs, optional[setdiff(names(optional), names(needs))]))
  apt <- names(plan)[plan == "apt"]
  if (length(apt) > 0) {
    say("Installing from Debian: ", toString(apt))
    if (!apt_install(deb_name(apt))) {
      show_log(apt_state$log, 10)
      say("apt-get failed; trying CRAN instead.")
      plan[apt] <- "cran"
    }
  }
  cran <- names(plan)[plan == "cran"]
  if (length(cran) > 0) {
    cran_install(cran)
  }
  plan
}

describe_unmet <- function(needs) {
  paste(vapply(names(needs), function(name) {
    copy <- installed(name)
    paste0(
      name, " (wanted: ", if (needs[[name]] == "0") "any" else
        paste(">=", needs[[name]]),
      "; found: ", if (is.null(copy)) "none" else
        paste(copy$version, "in", copy$lib), ")"
    )
  }, ""), collapse = ", ")
}

# Install the packages needed by the package and the named purposes. Ends R with
# a message and a non-zero status if that is impossible.
install_needs <- function(root, purposes = character()) {
  about <- read.dcf(file.path(root, "DESCRIPTION"))[1, ]
  check_r_version(about[["Depends"]])
  fields <- c("Depends", "Imports", "LinkingTo")
  needs <- parse_needs(about[intersect(fields, names(about))])
  suggests <- parse_needs(about["Suggests"])
  with_versions <- function(names) {
    versions <- suggests[names]
    stats::setNames(ifelse(is.na(versions), "0", versions), names)
  }
  pick <- function(part) {
    unique(as.character(unlist(lapply(extras[purposes], `[[`, part))))
  }
  needs <- add_needs(needs, with_versions(pick("required")))
  useful <- setdiff(pick("useful"), names(needs))
  optional <- with_versions(useful)

  if (length(unmet(c(needs, optional))) == 0) {
    return(invisible())
  }
  install_by_plan(needs, optional)
  still <- unmet(needs)
  if (length(still) > 0) {
    fail(
      "these packages could not be installed: ", describe_unmet(still),
      ".\nCheck the network and the repository (", toString(cran_repos()),
      "), or install them by hand."
    )
  }
  lost <- Filter(function(n) length(unmet(optional[n])) > 0, names(optional))
  if (length(lost) > 0) {
    say("Continuing without the optional packages: ", toString(lost))
  }
  check_loads(names(needs), setdiff(names(optional), lost))
}

check_loads <- function(needs, optional) {
  all <- setdiff(c(needs, optional), base_packages)
  bad <- load_failures(all)
  if (length(bad) > 0) {
    say("These packages do not fit together yet: ", toString(names(bad)))
    replace_old(names(bad))
    bad <- load_failures(all)
  }
  for (name in setdiff(names(bad), needs)) {
    say("The optional package ", name, " does not load: ", bad[[name]])
  }
  bad <- bad[names(bad) %in% needs]
  if (length(bad) > 0) {
    fail(
      "these installed packages do not load:\n",
      paste0("  ", names(bad), ": ", bad, collapse = "\n"),
      "\nReinstall them and what they depend on with install.packages()."
    )
  }
}

# Programs other than R packages, by the name of their Debian package. Returns
# the names of those that are missing and could not be installed.
install_programs <- function(programs) {
  missing <- programs[!nzchar(Sys.which(names(programs)))]
  if (length(missing) > 0 && has_apt()) {
    apt_refresh()
    say("Installing from Debian: ", toString(missing))
    if (!apt_install(unname(missing))) {
      show_log(apt_state$log, 10)
    }
  }
  names(programs)[!nzchar(Sys.which(names(programs)))]
}

# ---- this package ----------------------------------------------------------

package_name <- function(root) {
  read.dcf(file.path(root, "DESCRIPTION"), "Package")[[1]]
}

# A source tarball, built from a copy: nothing is written to the checkout.
build_tarball <- function(root, dir, vignettes = FALSE) {
  log <- file.path(dir, "build.log")
  Sys.setenv(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
  args <- c("CMD", "build", if (!vignettes) "--no-build-vignettes", root)
  status <- run_logged(r_binary(), args, log, dir)
  tarball <- Sys.glob(file.path(dir, paste0(package_name(root), "_*.tar.gz")))
  if (status != 0 || length(tarball) != 1) {
    show_log(log)
    fail("R CMD build failed.")
  }
  tarball
}

# The user's settings for make, without the debugging information that R's
# flags may ask for: it takes a quarter of the time of the compiler.
without_symbols <- function(dir) {
  own <- unlist(lapply(tools::makevars_user(), readLines, warn = FALSE))
  file <- file.path(dir, "Makevars")
  writeLines(c(own, "CXXFLAGS += -g0", "CXX17FLAGS += -g0"), file)
  file
}

# Install a tarball or a folder of sources into `lib`; two compiler jobs unless
# MAKEFLAGS is set. Debugging information is 100 MB: it is kept only if
# `symbols` is true.
install_sources <- function(sources, lib, flags = character(),
                            symbols = FALSE) {
  log <- paste0(sources, ".log")
  if (!nzchar(Sys.getenv("MAKEFLAGS"))) {
    Sys.setenv(MAKEFLAGS = "-j2")
    on.exit(Sys.unsetenv("MAKEFLAGS"))
  }
  if (!symbols) {
    old <- Sys.getenv("R_MAKEVARS_USER", NA)
    Sys.setenv(R_MAKEVARS_USER = without_symbols(dirname(log)))
    on.exit(
      if (is.na(old)) {
        Sys.unsetenv("R_MAKEVARS_USER")
      } else {
        Sys.setenv(R_MAKEVARS_USER = old)
      },
      add = TRUE
    )
  }
  Sys.setenv(R_LIBS = paste(unique(c(lib, .libPaths())),
    collapse = .Platform$path.sep
  ))
  args <- c(
    "CMD", "INSTALL", "--no-multiarch", if (!symbols) "--strip", flags,
    "-l", lib, sources
  )
  if (run_logged(r_binary(), args, log) != 0) {
    show_log(log)
    fail("R CMD INSTALL failed; its last lines are above.")
  }
}

# A digest of the files that make the installed package.
source_digest <- function(root) {
  old <- setwd(root)
  on.exit(setwd(old))
  files <- list.files(c("R", "src", "inst", "man"), recursive = TRUE,
    full.names = TRUE
  )
  files <- files[!grepl("[.](o|so|dll|gcda|gcno)$", files)]
  files <- sort(c("DESCRIPTION", "NAMESPACE", files), method = "radix")
  sums <- tools::md5sum(files[file.exists(files)])
  all <- tempfile()
  writeLines(paste(names(sums), sums), all)
  unname(tools::md5sum(all))
}

# Install the checkout into the user's library, unless it is there already.
install_checkout <- function(root) {
  name <- package_name(root)
  lib <- writable_library()
  stamp <- file.path(lib, name, "source-digest")
  digest <- source_digest(root)
  if (file.exists(stamp) && identical(readLines(stamp), digest) &&
    identical(installed(name)$lib, lib)) {
    return(invisible(lib))
  }
  say("Installing ", name, " into ", lib, " (compiling takes two minutes) ...")
  dir <- tempfile("build")
  dir.create(dir)
  on.exit(unlink(dir, recursive = TRUE))
  install_sources(build_tarball(root, dir), lib)
  writeLines(digest, stamp)
  invisible(lib)
}

if (sys.nframe() == 0) {
  purposes <- commandArgs(trailingOnly = TRUE)
  unknown <- setdiff(purposes, names(extras))
  if (length(unknown) > 0) {
    fail(
      "unknown purpose: ", toString(unknown), "; known: ",
      toString(names(extras)), "."
    )
  }
  install_needs(dirname(dirname(script_path())), purposes)
}
