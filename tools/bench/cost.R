# Does estimate_cost() predict time well? Estimated and real seconds of calls:
#
#   Rscript tools/bench/cost.R            with srvm() at 1e4 rows (half an hour)
#   Rscript tools/bench/cost.R --quick    calls of a few seconds
#
# Target: within a factor of 2. Where rows take longer the more there were, the
# estimate is a lower bound: srvm() with moves, all rows in memory, takes several
# times as long from 3000 rows on. Estimates follow from pilots of 2 seconds.
# Machines are shared and noisy.

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "arguments.R"))
source(file.path(dirname(script), "report.R"))
refuse_unknown("quick")

line <- function(n) sim_sinc(n, seed = 1)
friedman <- sim_friedman(150, seed = 1)
gaussian <- kernel_gaussian(0.3)

calls <- list(
  "srvm, 1000 rows" = quote(srvm(y ~ x, line(1000), kernel = gaussian)),
  "srvm, 3000 rows, no moves" = quote(srvm(y ~ x, line(3000),
    kernel = gaussian, control = smc_control(50, n_moves = 0)
  )),
  "srvm, mcmc" = quote(srvm(y ~ x, line(250),
    method = "mcmc", control = mcmc_control(iter = 4000)
  )),
  bark = quote(bark(y ~ ., friedman,
    control = mcmc_control(chains = 2, warmup = 500, iter = 2000)
  )),
  kgs = quote(kgs(y ~ ., sim_circle(250, seed = 1)))
)
if (!flag("quick")) {
  calls <- c(calls, list(
    "srvm, 3000 rows" = quote(srvm(y ~ x, line(3000),
      kernel = gaussian, control = smc_control(50)
    )),
    "srvm, 10000 rows" = quote(srvm(y ~ x, line(1e4),
      kernel = gaussian, control = smc_control(50, n_moves = 2)
    ))
  ))
}

rows <- lapply(names(calls), function(name) {
  call <- calls[[name]]
  call$seed <- 1
  call$progress <- FALSE
  estimated <- suppressWarnings(estimate_cost(call))$seconds
  real <- seconds_of(suppressWarnings(suppressMessages(eval(call))))
  out <- data.frame(
    call = name, estimated = estimated, real = real, ratio = estimated / real
  )
  markdown(out)
  out
})
markdown(do.call(rbind, rows))
