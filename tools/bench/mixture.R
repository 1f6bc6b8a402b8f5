# Mixtures of exposures: bark() beside bkmr::kmbayes() with variable selection.
#
#   Rscript tools/bench/mixture.R           five data sets of each kind
#   --kinds=plain,clinics
#   --rows=100,250,500
#   --methods=bark,bkmr
#   --repeats=5         the first ones of 20; --tuning: sets that choices may be
#                       made on, other seeds
#   --results=mixture   folder for finished fits, so that a stopped run can
#                       continue. Delete the files of a method when its code
#                       changes
#   --write=FILE        also writes the table for the article "mixtures"
#
# Data: "plain" is bkmr::SimData() (4 exposures of which 2 have an effect, one
# confounder that depends on an exposure); "clinics" has two further linear
# predictors and random intercepts of 50 clinics. Prints markdown. RMSE: of the
# posterior mean of h at the rows, h centred; cover: share of rows whose 95% band
# holds h; ESS: effective draws of h, the least of 20 rows fixed by the seed; CPU:
# seconds of the processor for the call and 400 draws of h after it; CPU to 400:
# seconds for 400 effective ones, burn-in included; ranks: do the two true
# exposures have the largest shares (inclusion probabilities)? Numbers in
# parentheses are standard errors over data sets. kmbayes() has its defaults apart
# from iterations and variable selection; h is drawn by SamplePred().

library(kernelbayes)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
tools <- dirname(dirname(normalizePath(gsub("~+~", " ", script, fixed = TRUE))))
source(file.path(tools, "bench", "cells.R"))

refuse_unknown(
  "tuning", c("kinds", "rows", "methods", "repeats", "results", "write")
)

# ---- data -------------------------------------------------------------------

mixture <- function(kind, n, seed) {
  set.seed(seed)
  sim <- bkmr::SimData(n = n, M = 4, sigsq.true = 0.5, beta.true = 2)
  z <- sim$Z
  colnames(z) <- paste0("z", 1:4)
  out <- list(
    z = z, x = sim$X, y = drop(sim$y), h = drop(sim$h), clinic = NULL
  )
  if (kind == "clinics") {
    out$x <- cbind(sim$X, rnorm(n), rbinom(n, 1, 0.4))
    out$clinic <- sample(50, n, TRUE)
    out$y <- out$h + drop(out$x %*% c(2, 0.5, -1)) + rnorm(50)[out$clinic] +
      rnorm(n, sd = sqrt(0.5))
  }
  colnames(out$x) <- paste0("x", seq_len(ncol(out$x)))
  out$h <- out$h - mean(out$h)
  out$watched <- sort(sample(n, 20))
  out
}

# ---- methods ----------------------------------------------------------------

# Each returns draws of centred h, all chains one after the other, the number of
# chains, and a number for each exposure that is larger the more it matters.
methods <- list(
  bark = function(data, seed, n) {
    table <- data.frame(y = data$y, data$z, data$x)
    terms <- paste(c("kernels(z1, z2, z3, z4)", colnames(data$x)),
      collapse = " + "
    )
    if (!is.null(data$clinic)) {
      table$clinic <- data$clinic
      terms <- paste(terms, "+ (1 | clinic)")
    }
    fit <- bark(as.formula(paste("y ~", terms)), table, seed = seed)
    list(fit = fit, chains = length(fit$runs))
  },
  bkmr = function(data, seed, n) {
    set.seed(seed)
    iterations <- if (n <= 100) 4000 else if (n <= 250) 2000 else 800
    utils::capture.output(fit <- bkmr::kmbayes(data$y, data$z, data$x,
      iter = iterations, varsel = TRUE, id = data$clinic, verbose = FALSE
    ))
    kept <- round(seq(iterations / 2 + 1, iterations, length.out = 400))
    h <- bkmr::SamplePred(fit,
      Znew = data$z, Xnew = 0 * data$x, sel = kept
    )
    list(fit = fit, chains = 1, h = h)
  }
)

draws_of <- list(
  bark = function(made) {
    x <- kernelbayes:::wide_x(made$fit)
    t(kernelbayes:::component_draws(made$fit, x)$kernels)
  },
  bkmr = function(made) made$h - rowMeans(made$h)
)

weights_of <- list(
  bark = function(fit) {
    table <- exposure_effects(fit, "inclusion")
    table$share
  },
  bkmr = function(fit) bkmr::ExtractPIPs(fit)$PIP
)

# ---- one fit ----------------------------------------------------------------

# cell$set numbers the data sets, cell$fold the rows.
fit_cell <- function(cell, control) {
  n <- cell$fold
  data <- mixture(cell$data, n, 1000 * cell$set + n)
  started <- cpu_seconds()
  made <- suppressWarnings(suppressMessages(
    methods[[cell$method]](data, cell$set, n)
  ))
  draws <- draws_of[[cell$method]](made)
  cpu <- cpu_seconds() - started
  limits <- apply(draws, 2, quantile, c(0.025, 0.975))
  ess <- min(apply(draws[, data$watched], 2, function(v) {
    posterior::ess_bulk(matrix(v, ncol = made$chains))
  }))
  weights <- weights_of[[cell$method]](made$fit)
  data.frame(
    rmse = sqrt(mean((colMeans(draws) - data$h)^2)),
    cover = mean(data$h >= limits[1, ] & data$h <= limits[2, ]),
    ess = ess, cpu = cpu, cpu_400 = 400 * cpu / ess,
    ranks = min(weights[1:2]) >= max(weights[3:4])
  )
}

# ---- all of them ------------------------------------------------------------

table_of <- function(rows) {
  kinds <- unique(rows[c("data", "fold", "method")])
  cells <- lapply(seq_len(nrow(kinds)), function(i) {
    here <- merge(rows, kinds[i, ])
    data.frame(
      data = kinds$data[[i]], rows = kinds$fold[[i]],
      method = kinds$method[[i]], RMSE = with_error(here$rmse, 3),
      cover = with_error(here$cover, 3), ESS = mean(here$ess),
      CPU = mean(here$cpu), "CPU to 400" = mean(here$cpu_400),
      ranks = mean(here$ranks), sets = nrow(here), check.names = FALSE
    )
  })
  do.call(rbind, cells)
}

first <- if (flag("tuning")) 100 else 0
repeats <- as.integer(option("repeats", 5))
cells <- expand.grid(
  method = several("methods", names(methods)), set = first + seq_len(repeats),
  fold = as.integer(several("rows", c("100", "250", "500"))),
  data = several("kinds", c("plain", "clinics")), stringsAsFactors = FALSE
)
rows <- run_cells_here(cells, option("results", "mixture"))
table <- table_of(rows)
markdown(table)
if (!is.null(option("write"))) {
  saveRDS(list(
    table = table[order(table$data != "plain", table$rows), ],
    versions = c(
      kernelbayes = as.character(packageVersion("kernelbayes")),
      bkmr = as.character(packageVersion("bkmr")), R = R.version.string
    ), date = Sys.Date()
  ), option("write"))
}
