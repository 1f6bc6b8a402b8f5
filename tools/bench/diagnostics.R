# What do diagnostics of bark() show for data on which its chains stick?
#
#   Rscript tools/bench/diagnostics.R            the runs below, a minute or two
#   Rscript tools/bench/diagnostics.R --quick    a quarter of the sweeps
#
# Prints markdown. Needs the installed package, MASS and mlbench. For each set:
# the largest R-hat and the least effective sample size (of bulk and tails) of
# sigma, J and the log likelihood, of f at 20 rows, of the log scales and of
# inclusion, and whether the fit warned about f and about scales. The sets show
# whether diagnostics find chains that look mixed in the parameters but not in f
# or the scales. Target: every set warns about f and about scales.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "arguments.R"))
source(file.path(dirname(script), "report.R"))

refuse_unknown("quick")
quick <- flag("quick")

sonar <- function() {
  data <- new.env()
  utils::data("Sonar", package = "mlbench", envir = data)
  data$Sonar
}

# Formula, data, chains and sweeps; the warmup is as long as the sweeps.
sets <- list(
  Boston = list(medv ~ ., MASS::Boston, 6, 240),
  "Sonar, probit" = list(Class ~ ., sonar(), 8, 300),
  "iris, setosa" = list(
    setosa ~ ., transform(iris, setosa = factor(Species == "setosa"),
      Species = NULL
    ), 4, 600
  ),
  "circle, p = 2" = list(y ~ ., sim_circle(100, p = 2, seed = 1), 4, 600),
  "Friedman 1, p = 10" = list(
    y ~ ., sim_friedman(200, p = 10, seed = 1),
    4, 600
  )
)

kinds <- function(variable) {
  ifelse(grepl("^(f|p)\\[", variable), "f",
    ifelse(grepl("^log_lambda", variable), "scales",
      ifelse(grepl("^delta", variable), "inclusion", "parameters")
    )
  )
}

bench_set <- function(name) {
  set <- sets[[name]]
  sweeps <- if (quick) max(set[[4]] %/% 4, 100) else set[[4]]
  warned <- character()
  seconds <- seconds_of(fit <- withCallingHandlers(
    bark(set[[1]], set[[2]],
      control = mcmc_control(set[[3]], sweeps, sweeps), seed = 1
    ),
    kb_warning_convergence = function(w) {
      warned <<- w$variables
      invokeRestart("muffleWarning")
    }
  ))
  table <- ess(fit)
  kind <- kinds(table$variable)
  cell <- function(of) {
    own <- table[kind == of & !is.na(table$rhat), ]
    if (nrow(own) == 0) {
      return("constant")
    }
    sprintf(
      "%.2f, %.0f", max(own$rhat),
      min(own$ess_bulk, own$ess_tail, na.rm = TRUE)
    )
  }
  shown <- system.time(utils::capture.output(print(fit)))[["elapsed"]]
  data.frame(
    set = name, "chains x sweeps" = paste(set[[3]], "x", sweeps),
    "sigma, J, log lik" = cell("parameters"), f = cell("f"),
    scales = cell("scales"), inclusion = cell("inclusion"),
    "warned of" = toString(intersect(c("f", "scales"), kinds(warned))),
    "fit, s" = round(seconds, 1), "print, s" = round(shown, 2),
    check.names = FALSE
  )
}

cat("Largest R-hat, least effective sample size:\n\n")
markdown(do.call(rbind, lapply(names(sets), bench_set)))
