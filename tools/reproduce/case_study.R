# The fits that the case study compares with its main one: other priors, other
# models, and the data without one patient:
#
#   Rscript tools/reproduce/case_study.R            about 4 minutes
#   Rscript tools/reproduce/case_study.R --quick    a short trial run
#   --installed       the installed package instead of this checkout
#   --output=file     instead of vignettes/precomputed/case_study.rds
#
# Prints the tables and writes the file from which
# vignettes/case-study.Rmd is built; the vignette has the same data, model and
# prior.
#
# Protocol: MASS::epil, 59 patients in 4 periods. `effects`: per analysis the
# ratio of rates, progabide over placebo, its median and 90% interval, the
# probabilities that the drug prevents any seizures and at least a tenth of
# them, and the worst R-hat and effective sample sizes. `scores`: each
# model is fitted 5 times without a fifth of the patients and scores the counts
# of these patients (predict(type = "log_score"), one score per count, the
# patient's intercept integrated out); `total` is the sum of the
# scores, `difference` that to the first model with its standard error over
# patients.

patients <- function() {
  transform(MASS::epil,
    log_base = log(base / 4), period = factor(period), subject = factor(subject)
  )
}

main_formula <- y ~ kernels(log_base, age) + log_base + trt + period +
  (1 | subject)

main_prior <- function(...) {
  arguments <- list(eps = 0.1, gamma = 1, linear_sd = 1, group_sd = 0.5)
  do.call(bark_prior, utils::modifyList(arguments, list(...)))
}

# Each: what differs from the main analysis
analyses <- function(data) list(
  "main analysis" = list(),
  "default priors" = list(prior = bark_prior()),
  "kernels ten times larger" = list(prior = main_prior(eps = 1, gamma = 10)),
  "kernels ten times smaller" =
    list(prior = main_prior(eps = 0.01, gamma = 0.1)),
  "coefficients of any size" = list(prior = main_prior(linear_sd = 10)),
  "patients differ by any amount" = list(prior = main_prior(group_sd = 5)),
  "Poisson instead of negative binomial" = list(family = "poisson"),
  "a line only, no kernels" = list(
    formula = y ~ log_base + age + trt + period + (1 | subject),
    prior = main_prior(eps = NULL, gamma = 0)
  ),
  "kernels only, no line" = list(
    formula = y ~ kernels(log_base, age) + trt + period + (1 | subject)
  ),
  "without the patient with the highest baseline" = list(
    data = droplevels(data[data$base < max(data$base), ])
  )
)

models <- function() list(
  "line and kernels" = list(),
  "kernels only" = list(
    formula = y ~ kernels(log_base, age) + trt + period + (1 | subject)
  ),
  "line only" = list(
    formula = y ~ log_base + age + trt + period + (1 | subject),
    prior = main_prior(eps = NULL, gamma = 0)
  ),
  "drug effect may depend on baseline and age" = list(
    formula = y ~ kernels(log_base, age, trt) + log_base + trt + period +
      (1 | subject)
  ),
  "no drug" = list(
    formula = y ~ kernels(log_base, age) + log_base + period + (1 | subject)
  ),
  "line and kernels, Poisson" = list(family = "poisson")
)

refit <- function(change, data, control) {
  arguments <- list(
    formula = main_formula, data = data, family = "negbinomial",
    prior = main_prior(), control = control, seed = 1
  )
  arguments[names(change)] <- change
  do.call(bark, arguments)
}

describe_effect <- function(fit) {
  b <- as.numeric(nlme::fixef(fit, summary = FALSE)[, "trtprogabide"])
  ratio <- stats::quantile(exp(b), c(0.5, 0.05, 0.95), names = FALSE)
  mixing <- diagnostics(fit)$convergence
  data.frame(
    ratio = ratio[[1]], lower = ratio[[2]], upper = ratio[[3]],
    any = mean(exp(b) < 1), tenth = mean(exp(b) < 0.9),
    rhat = max(mixing$rhat, na.rm = TRUE),
    ess = min(mixing$ess_bulk, na.rm = TRUE),
    ess_drug = mixing$ess_bulk[mixing$variable == "b[trtprogabide]"]
  )
}

run_effects <- function(data, control) {
  changes <- analyses(data)
  out <- lapply(names(changes), function(name) {
    line <- describe_effect(refit(changes[[name]], data, control))
    message("  ", name)
    cbind(analysis = name, line)
  })
  do.call(rbind, out)
}

# One score per count, those of patients that the fit has not seen
run_scores <- function(data, control, folds = 5) {
  set.seed(1)
  fold <- sample(rep_len(seq_len(folds), nlevels(data$subject)))
  fold <- fold[as.integer(data$subject)]
  changes <- models()
  scores <- lapply(changes, function(change) {
    score <- numeric(nrow(data))
    for (k in seq_len(folds)) {
      out <- fold == k
      fit <- refit(change, droplevels(data[!out, ]), control)
      score[out] <- suppressMessages(
        predict(fit, data[out, ], type = "log_score")
      )
    }
    score
  })
  lines <- lapply(names(changes), function(name) {
    apart <- tapply(scores[[name]] - scores[[1]], data$subject, sum)
    data.frame(
      model = name, total = sum(scores[[name]]), difference = sum(apart),
      se = stats::sd(apart) * sqrt(length(apart))
    )
  })
  do.call(rbind, lines)
}

main <- function() {
  start <- start_script(character(), "quick", "reproduce_case_study")
  quick <- "quick" %in% names(start$options)
  control <- if (quick) {
    mcmc_control(chains = 2, warmup = 200, iter = 200)
  } else {
    mcmc_control(
      warmup = 500, iter = 2000, thin = 2, until = convergence(1.05, 100)
    )
  }
  data <- patients()
  results <- list(
    about = list(
      quick = quick, R = R.version.string,
      versions = package_versions(c("kernelbayes", "MASS", "posterior"))
    ),
    effects = run_effects(data, control)
  )
  show_table("effects", results$effects)
  results$scores <- run_scores(data, control)
  show_table("scores", results$scores)
  keep_results(start, "case_study", results)
}

folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(),
  value = TRUE
)[1]))
for (part in c("options.R", "tables.R")) source(file.path(folder, part))
if (sys.nframe() == 0) main()
