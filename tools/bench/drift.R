# A stream that drifts: srvm() with a window beside Gaussian processes and smooths
# that are fitted to a window anew.
#
#   Rscript tools/bench/drift.R --rows=100000
#   --rows=100000     of the stream
#   --seed=2          of the stream; windows and intervals were chosen with seed 1
#   --methods=srvm,laGP,additive,bam
#   --window=300,500      for the others: rows of a fit
#   --every=200,500             and rows until the next one
#   --turn=20000      rows in which the function returns to where it was
#
# Five predictors, uniform on (0, 1), normal noise of standard deviation 1, and the
# function of Friedman (1991) with a phase, a place and a slope that turn:
#   10 sin(pi x1 x2 + a / 2) + 20 (x3 - .5 - .3 sin a)^2 + 10 cos(a) x4 + 5 x5.
#
# Each row is forecast before it is seen. Score: the mean log density of the
# forecasts after row 1000; the noise alone has -1.419. CPU: seconds of the
# processor for all rows, first ones included.
#   srvm      default kernel, the last 500 rows, up to 100 candidates, no moves
#   laGP      separable Gaussian process on standardised predictors, fitted by
#             maximum likelihood, as in the league
#   additive  mgcv::bam, a smooth of each predictor
#   bam       the same, told that x1 interacts with x2 alone

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(dirname(script)), "arguments.R"))
source(file.path(dirname(script), "report.R"))
refuse_unknown(options = c("rows", "seed", "methods", "window", "every", "turn"))

numbers_of <- function(name, default) {
  as.integer(strsplit(option(name, default), ",")[[1]])
}

first <- 1000

# ---- the stream -------------------------------------------------------------

drifting <- function(n, seed, turn) {
  set.seed(seed)
  x <- matrix(stats::runif(5 * n), n, dimnames = list(NULL, paste0("x", 1:5)))
  a <- 2 * pi * seq_len(n) / turn
  f <- 10 * sin(pi * x[, 1] * x[, 2] + a / 2) +
    20 * (x[, 3] - 0.5 - 0.3 * sin(a))^2 + 10 * cos(a) * x[, 4] + 5 * x[, 5]
  data.frame(x, f = f, y = f + stats::rnorm(n))
}

# ---- forecasts --------------------------------------------------------------

# The mean log density of the rows after the first ones, which come in batches.
by_srvm <- function(data, window, every) {
  rows <- function(which) data[which, setdiff(names(data), "f")]
  memory <- srvm_memory(window = 500, candidates = 100)
  fit <- srvm(y ~ ., rows(seq_len(first)),
    memory = memory, control = smc_control(n_moves = 0, sweep_every = 20),
    seed = 1, progress = FALSE
  )
  forecasts(data, memory$keep_rows, function(from, to) {
    fit <<- update(fit, newdata = rows(from:to), progress = FALSE)
    utils::tail(prequential(fit)$log_predictive, to - from + 1)
  })
}

by_lagp <- function(data, window, every) {
  x <- scale(as.matrix(data[paste0("x", 1:5)]))
  width <- nugget <- NULL
  forecasts(data, every, function(from, to) {
    last <- seq(from - window, from - 1)
    y <- data$y[last]
    if (is.null(width)) {
      width <<- laGP::darg(NULL, x[last, ])
      nugget <<- laGP::garg(list(mle = TRUE), y)
    }
    gp <- laGP::newGPsep(x[last, ], y - mean(y),
      rep(width$start, 5), nugget$start, dK = TRUE
    )
    on.exit(laGP::deleteGPsep(gp))
    laGP::jmleGPsep(gp, c(width$min, width$max), c(nugget$min, nugget$max),
      dab = width$ab, gab = nugget$ab
    )
    out <- laGP::predGPsep(gp, x[from:to, , drop = FALSE], lite = TRUE)
    t_density(data$y[from:to], mean(y) + out$mean, sqrt(out$s2), out$df)
  })
}

by_bam <- function(formula) function(data, window, every) {
  forecasts(data, every, function(from, to) {
    fit <- mgcv::bam(formula,
      data = data[seq(from - window, from - 1), ], discrete = TRUE
    )
    out <- stats::predict(fit, data[from:to, ], se.fit = TRUE)
    sd <- sqrt(as.vector(out$se.fit)^2 + fit$sig2)
    t_density(data$y[from:to], as.vector(out$fit), sd, Inf)
  })
}

t_density <- function(y, mean, sd, df) {
  stats::dt((y - mean) / sd, df, log = TRUE) - log(sd)
}

forecasts <- function(data, every, forecast) {
  starts <- seq(first + 1, nrow(data), by = every)
  ends <- pmin(starts + every - 1, nrow(data))
  mean(unlist(Map(forecast, starts, ends)))
}

# ---- all --------------------------------------------------------------------

methods <- list(
  srvm = by_srvm, laGP = by_lagp,
  additive = by_bam(y ~ s(x1) + s(x2) + s(x3) + s(x4) + s(x5)),
  bam = by_bam(y ~ te(x1, x2) + s(x3) + s(x4) + s(x5))
)
data <- drifting(
  numbers_of("rows", "100000"), numbers_of("seed", "2"),
  numbers_of("turn", "20000")
)

plan <- do.call(rbind, lapply(several("methods", names(methods)), function(name) {
  peer <- name != "srvm"
  expand.grid(
    method = name, window = if (peer) numbers_of("window", "300,500") else 500,
    every = if (peer) numbers_of("every", "200,500") else 1
  )
}))

rows <- lapply(seq_len(nrow(plan)), function(i) {
  set.seed(1)
  one <- plan[i, ]
  before <- cpu_seconds()
  score <- suppressWarnings(
    methods[[as.character(one$method)]](data, one$window, one$every)
  )
  row <- cbind(one, score = score, CPU = cpu_seconds() - before)
  message(paste(format(row), collapse = " "))
  row
})
markdown(do.call(rbind, rows))
