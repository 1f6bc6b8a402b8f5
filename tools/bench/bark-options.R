# The response types and kernel options of bark(), compared with plain bark():
# cost and mixing of a sweep, one core:
#
#   Rscript tools/bench/bark-options.R              everything
#   Rscript tools/bench/bark-options.R --quick      shorter runs
#   Rscript tools/bench/bark-options.R --only=a,b   names from the table
#
# Prints markdown: seconds for 1000 sweeps of one chain at temperature 1, and
# their ratio to plain bark() in the same run. For two chains of the default
# length with the default number of temperatures: the smallest bulk effective
# sample size of sigma, J and the log likelihood, the same per second of the
# sampler, and the largest R-hat, which shows whether these mean anything. Data:
# Friedman 1 with 200 rows and 5 predictors; classes are its response cut at
# quantiles.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "arguments.R"))
source(file.path(dirname(script), "report.R"))
source(file.path(dirname(dirname(script)), "reproduce", "bark-methods.R"))

refuse_unknown("quick", "only")
quick <- flag("quick")

data <- sim_friedman(200, 5, 1, seed = 1)
x <- as.matrix(data[paste0("x", 1:5)])

cut_in <- function(classes, ordered = FALSE) {
  inner <- seq_len(classes - 1) / classes
  breaks <- c(-Inf, stats::quantile(data$y, inner), Inf)
  cut(data$y, breaks, paste0("c", seq_len(classes)), ordered_result = ordered)
}

options <- list(
  plain = list(y = data$y),
  "Student, df 4" = list(y = data$y, prior = bark_prior_paper(df = 4)),
  "own scales" = list(y = data$y, prior = bark_prior_paper(own_scales = TRUE)),
  "centres near rows" = list(
    y = data$y, prior = bark_prior_paper(centres = centre_near_rows())
  ),
  "2 directions" = list(
    y = data$y, prior = bark_prior_paper("different", directions = 2)
  ),
  "two classes" = list(y = cut_in(2)),
  "5 ordered classes" = list(y = cut_in(5, TRUE)),
  "3 classes" = list(y = cut_in(3))
)

fit_option <- function(option, ...) {
  without_convergence_warning(do.call(bark, c(
    list(x), option, list(
      control = mcmc_control(...), seed = 1, progress = FALSE
    )
  )))
}

seconds_for_sweeps <- function(option) {
  iter <- if (quick) 300 else 1000
  run <- function(iter) {
    timings(fit_option(option,
      chains = 1, warmup = 300, iter = iter, thin = iter, n_temps = 1
    ))$sampler
  }
  (run(2 * iter) - run(iter)) / iter * 1000
}

mixing_of <- function(option) {
  fit <- fit_option(option, chains = 2, iter = if (quick) 300 else 2000)
  ess <- subset(ess(fit), variable %in% c("sigma", "J", "log_lik"))
  smallest <- min(ess$ess_bulk, na.rm = TRUE)
  data.frame(
    ESS = smallest, "ESS/s" = smallest / timings(fit)$sampler,
    "R-hat" = max(ess$rhat, na.rm = TRUE), check.names = FALSE
  )
}

chosen <- several("only", names(options))

plain <- seconds_for_sweeps(options$plain)
rows <- lapply(chosen, function(name) {
  seconds <- if (name == "plain") plain else seconds_for_sweeps(options[[name]])
  data.frame(
    option = name, "s / 1000 sweeps" = seconds, ratio = seconds / plain,
    mixing_of(options[[name]]),
    check.names = FALSE
  )
})
markdown(do.call(rbind, rows))
