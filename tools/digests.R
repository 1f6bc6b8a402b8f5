# Digests of what the package computes, by which a change of the code that must
# not change results is checked:
#   Rscript tools/digests.R digests.txt [--compare=old.txt] [--filter=regex]
#     [--values=folder]
# Of the copy that library(kernelbayes) finds: R_LIBS=folder names another.
# Small fits, most of them those of tests/testthat/helper-fuzz-cases.R, are made
# and asked for all they know; then come other functions, and bad calls. A line
# of the file is `name<TAB>quantity<TAB>digest`, of exact bits. Printed text,
# what conditions say and pictures have lines of their own, so that other words
# are seen as such. `--compare` prints the lines that differ from an earlier
# file, and fails if there are any. `--filter`: only these names. `--values`
# keeps what was digested, a file per name: all.equal() of two such files says
# where they differ.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(script), "deps.R"))
source(file.path(dirname(script), "arguments.R"))
root <- dirname(dirname(script))
# On a busy computer a second may not be enough for an update.
for (file in c("helper-fuzz.R", "helper-fuzz-cases.R")) {
  code <- readLines(file.path(root, "tests", "testthat", file))
  code <- gsub("time_limit = 1\\b", "time_limit = 60", code)
  eval(parse(text = code), globalenv())
}

# One call --------------------------------------------------------------------

# What equal runs need not share
passing <- c("call", "version", "seal", "srcref", ".Environment")

# A value without times, calls and environments. Vectors and attributes are put
# together anew, because hashes also see how R stores them.
plain <- function(x) {
  if (is.language(x)) {
    return(deparse(if (is.symbol(x)) x else `attributes<-`(x, NULL)))
  }
  if (!is.list(x) && (is.null(x) || !is.atomic(x))) {
    return(if (!is.null(x)) typeof(x))
  }
  kept <- attributes(x)
  kept <- kept[sort(setdiff(names(kept), c("names", passing)))]
  x <- unclass(x)
  if (is.list(x)) {
    left_out <- names(x) %in% passing | grepl("seconds", names(x))
    x <- lapply(if (any(left_out)) x[!left_out] else x, plain)
  } else if (is.double(x)) {
    # Signs of NaN depend on the compiler.
    x[is.nan(x)] <- NaN
  }
  x <- c(x)
  attributes(x) <- c(list(names = names(x)), lapply(kept, plain))
  x
}

# Text without times, temporary folders and addresses
plain_text <- function(text) {
  text <- cli::ansi_strip(enc2utf8(as.character(text)))
  text <- gsub("[^ \"'‘]*Rtmp[^ \"'’]*", "<file>", text)
  text <- gsub("(time: +)[0-9.e-]+ [a-z]+", "\\1<time>", text)
  gsub("0x[0-9a-f]+", "<address>", text)
}

# The pages of an uncompressed PDF file, NULL if there are none
drawn_pages <- function(file) {
  lines <- readLines(file, warn = FALSE)
  any_page <- any(grepl("^<< /Type /Page ", lines, useBytes = TRUE))
  dated <- grepl("^/?(Creation|Mod)Date|^/Producer|^%", lines, useBytes = TRUE)
  if (any_page) lines[!dated]
}

# What a call does, in an empty folder: its value or error, what it printed and
# drew, and its conditions
observe <- function(run) {
  folder <- tempfile("run")
  dir.create(folder)
  old <- setwd(folder)
  on.exit({
    setwd(old)
    unlink(folder, recursive = TRUE)
  })
  conditions <- list()
  note <- function(condition) conditions <<- c(conditions, list(condition))
  grDevices::pdf("pages.pdf", compress = FALSE)
  text <- utils::capture.output(value <- tryCatch(
    withCallingHandlers(run(),
      warning = function(w) {
        note(w)
        tryInvokeRestart("muffleWarning")
      },
      message = function(m) {
        note(m)
        tryInvokeRestart("muffleMessage")
      }
    ),
    error = function(error) {
      note(error)
      error
    }
  ))
  grDevices::graphics.off()
  list(
    value = value, text = text, conditions = conditions,
    picture = drawn_pages("pages.pdf")
  )
}

# What callers can handle of an error
refusal <- function(error) {
  c(list(class = class(error)), unclass(error)[c("argument", "field")])
}

spoken <- function(condition) {
  c(class(condition)[[1]], conditionMessage(condition))
}

# The lines -------------------------------------------------------------------

digests <- character()
values <- list()
recorded <- character()

add <- function(name, quantity, value) {
  key <- paste0(name, "\t", quantity)
  value <- plain(value)
  digests[[key]] <<- rlang::hash(value)
  if (!is.null(option("values"))) values[[name]][[quantity]] <<- value
}

# A call with its own random numbers. `if_defined`: a refusal of what the fit
# does not have is no result.
record <- function(name, quantity, run, if_defined = FALSE) {
  seen <- withr::with_seed(1, observe(run))
  if (if_defined && is_not_defined(seen$value)) {
    return(invisible())
  }
  key <- paste0(name, "\t", quantity)
  recorded <<- c(recorded, key)
  times <- sum(recorded == key)
  if (times > 1) quantity <- paste0(quantity, " (", times, ")")
  failed <- inherits(seen$value, "error")
  add(name, quantity, if (failed) refusal(seen$value) else seen$value)
  parts <- list(
    text = plain_text(seen$text), picture = seen$picture,
    says = plain_text(unlist(lapply(seen$conditions, spoken)))
  )
  for (part in names(parts)[lengths(parts) > 0]) {
    add(name, paste0(quantity, ", ", part), parts[[part]])
  }
}

is_not_defined <- function(value) {
  if (!inherits(value, "error")) {
    return(FALSE)
  }
  inherits(value, c("kb_error_not_defined", "kb_error_unknown_argument")) ||
    any(c("type", "interval") %in% value$argument) ||
    inherits(value, "simpleError") &&
      startsWith(conditionMessage(value), "no applicable method")
}

# Fits ------------------------------------------------------------------------

# Warnings and messages of fits belong to the result; chains are long enough for
# rare moves.
quietly <- identity
tiny_chains <- function(..., warmup = 30, iter = 60) {
  mcmc_control(chains = 2, warmup = warmup, iter = iter, ...)
}

types <- list(
  kb_bark = c(
    "response", "link", "class", "prob", "quantile", "survival", "draws",
    "log_score", "terms", "sigma"
  ),
  kb_srvm = c(
    "response", "link", "class", "prob", "quantile", "draws", "log_score"
  ),
  kb_kgs = c(
    "class", "prob", "true_prob", "vote", "bpm", "link", "draws", "log_score"
  ),
  kb_kbr = c(
    "mean", "map", "sd", "quantile", "weights", "probability", "expectation",
    "draws", "density", "embedding"
  )
)

type_arguments <- list(
  quantile = list(probs = c(0.2, 0.7)), survival = list(times = c(0.5, 2)),
  draws = list(ndraws = 4), density = list(at = c(-0.5, 1)),
  expectation = list(f = function(x) x[, 1]^2)
)

# Further questions to fits that predict for new rows
intervals <- alist(
  credible = predict(fit, new, interval = "credible"),
  credible_prob = predict(fit, new, type = "prob", interval = "credible"),
  prediction = predict(fit, new, interval = "prediction", level = 0.5)
)
asked_of <- list(
  kb_fit = alist(
    draws_df = posterior::as_draws_df(fit), matrix = as.matrix(fit),
    confint = confint(fit), formula = formula(fit), design = model.matrix(fit),
    simulated = simulate(fit, nsim = 2, seed = 1),
    log_lik = rstantools::log_lik(fit), family = family(fit),
    responses = rstantools::posterior_predict(fit), loo = loo::loo(fit),
    prior_summary = rstantools::prior_summary(fit),
    folds = cross_validate(fit, folds = 2, seed = 1),
    partial = partial_dependence(fit, colnames(new)[[1]], n = 2)
  ),
  kb_bark = c(intervals, alist(
    fixed = list(fixef(fit), ranef(fit), VarCorr(fit)),
    quantile_residuals = residuals(fit, type = "quantile"),
    exposures = exposure_effects(fit, "overall", quantiles = c(0.3, 0.7)),
    permuted = importance(fit, method = "permutation", permutations = 2)
  )),
  kb_srvm = c(intervals, alist(
    kernels = kernel_posterior(fit), prequential = prequential(fit),
    orders = order_spread(fit, orders = 2, seed = 1),
    permuted = importance(fit, permutations = 2)
  )),
  kb_kgs = alist(
    reject = reject_curve(fit, new), acquire = acquire(fit, new, n = 2),
    transduce = transduce(fit, new),
    permuted = importance(fit, permutations = 2)
  ),
  kb_kbr = alist(
    draws_at = posterior::as_draws(fit, newdata = new),
    simulated_at = simulate(fit, newdata = new, seed = 1),
    prior_check = prior_predictive_check(fit, new[1, , drop = FALSE])
  )
)

# These calls are refused by every fit; of these they are recorded.
refused_by <- c(
  "srvm", "srvm_probit", "srvm_mcmc", "kbr", "kbr_rule", "kbr_chunked", "bark",
  "bark_slopes", "bark_times", "bark_classes", "kgs", "kgs_noisy"
)
refused <- alist(
  no_type = predict(fit, new, type = "none"),
  no_argument = predict(fit, new, nothing = 1),
  no_column = predict(fit, data.frame(none = 1)),
  no_rows = predict(fit, new[0, , drop = FALSE]),
  no_number = predict(fit, "text"), no_update = update(fit, nothing = 1),
  no_iter = update(fit, iter = -1), no_seed = simulate(fit, seed = "a"),
  no_level = generics::tidy(fit, conf.level = 2)
)

# Enough where only the prior, the kernel or the control differ
brief <- c(
  "predict", "interval", "print", "summary", "as_draws", "tidy", "glance",
  "diagnostics", "update", "again", "rejuvenate", "coef", "evidence", "class"
)

of_class <- function(fit, table) {
  unlist(unname(table[intersect(class(fit), names(table))]), recursive = FALSE)
}

ask <- function(name, calls, values, if_defined = FALSE) {
  for (quantity in names(calls)) {
    record(name, quantity, if_defined = if_defined, run = function() {
      eval(calls[[quantity]], values, globalenv())
    })
  }
}

digest_fit <- function(name, case, in_full) {
  fit <- case$fit
  state <- plain(unclass(fit))
  for (field in names(state)) add(name, paste0("fit$", field), state[[field]])
  told <- setdiff(names(case$questions), "timings")
  if (!in_full) told <- intersect(told, brief)
  for (quantity in told) {
    record(name, quantity, function() case$questions[[quantity]](fit))
  }
  new <- environment(case$questions$predict)$newdata
  if (is.null(new)) {
    return(invisible())
  }
  for (type in of_class(fit, types)) {
    record(name, paste("predict", type), if_defined = TRUE, run = function() {
      do.call(predict, c(list(fit, new, type = type), type_arguments[[type]]))
    })
  }
  values <- list(fit = fit, new = new)
  if (in_full) {
    ask(name, of_class(fit, asked_of), values, if_defined = TRUE)
  }
  if (name %in% refused_by) ask(name, refused, values)
}

# Cases that differ in one argument: its values by name, as calls
each_case <- function(values, fit, questions) {
  data <- parent.frame()
  lapply(values, function(value) {
    fit_case(function() fit(eval(value, data)), questions)
  })
}

# What helper-fuzz-cases.R lacks
more_fits <- function() {
  sinc <- sim_sinc(20, seed = 1)
  new <- sim_sinc(3, seed = 2)
  circle <- two_columns()
  few <- circle[1:3, ]
  three <- three_classes()
  pairs <- pairs_of()
  wide <- data.frame(
    y = sin(circle$x1) + circle$x2^2 + rep(c(-0.2, 0.1, 0.1), 8), circle[1:2],
    x3 = rep(1:3, 8), g = rep(letters[1:4], 6), s = rep(0:3, 6)
  )
  wide$time <- structure(cbind(exp(wide$y), rep(c(1, 1, 0), 8)),
    dimnames = list(NULL, c("time", "status")), type = "right", class = "Surv"
  )
  some <- wide[1:3, ]
  line <- function(...) tiny_srvm(y ~ x, sinc, ...)
  plane <- function(...) tiny_fit(bark, y ~ x1 + x2 + x3, wide, ...)
  label <- function(...) tiny_fit(kgs, y ~ ., circle, ...)
  smc <- function(...) smc_control(12, n_moves = 2, ...)
  angles <- cumsum(rep(c(0.4, -0.1, 0.3), 8))
  c(
    each_case(alist(
      srvm_laplace = kernel_laplace(),
      srvm_matern1 = kernel_matern(nu = 0.5),
      srvm_matern3 = kernel_matern(0.4, nu = 1.5),
      srvm_linear = kernel_linear(),
      srvm_quadratic = kernel_rational_quadratic(0.5, 2),
      srvm_polynomial = kernel_polynomial(3),
      srvm_learn = kernel_gaussian("learn"),
      srvm_product = kernel_gaussian(1) * kernel_periodic(2) + kernel_linear(),
      srvm_custom = kernel_custom(function(x, y) 1 + x %*% t(y) / 9)
    ), function(kernel) line(kernel = kernel), srvm_questions(new)),
    each_case(alist(
      srvm_stratified = smc(resampling = "stratified", threads = 2),
      srvm_residual = smc(resampling = "residual", ancestry = "genealogy"),
      srvm_random = smc(resampling = "multinomial", resample_every_step = TRUE),
      srvm_entropy = smc(resampling = "minimum-entropy", ess_threshold = 0.9),
      srvm_birth = smc(proposal = "birth_death", move_fraction = 0.5),
      srvm_plain = smc_control(12, proposal = "paper"),
      srvm_powers = smc(powers = c(0.2, 1), sweep_every = 2),
      srvm_cess = smc(cess_threshold = 0.8)
    ), function(control) line(control = control), srvm_questions(new)),
    each_case(alist(
      srvm_lambda = srvm_prior(lambda = lambda_gamma(2, 0.1), kmax = 6),
      srvm_scaled = srvm_prior(scaled = TRUE, centres = "iid"),
      srvm_fixed = srvm_prior(noise = fixed_variance(0.1), coef = ig(3, 2)),
      srvm_straight = srvm_prior(linear = 0.5, df = "learn")
    ), function(prior) line(prior = prior), srvm_questions(new)),
    cases_of(srvm_questions(new),
      srvm_default = srvm(y ~ x, sinc, control = smc(), seed = 1),
      srvm_unscaled = line(scale = FALSE, intercept = FALSE),
      srvm_reference = srvm(y ~ x, sinc[5:20, ],
        reference = line(), control = smc(), seed = 2
      )
    ),
    each_case(alist(
      bark_equal = bark_prior("equal", own_scales = FALSE, gamma = 5),
      bark_select_equal = bark_prior("select_equal",
        own_scales = FALSE, selection = c(1, 3)
      ),
      bark_different = bark_prior("different",
        n_kernels = 4, discrepancy = 0.2, alpha = 1.5
      ),
      bark_signals = bark_prior(n_signals = 1, own_scales = TRUE),
      bark_clustered = bark_prior(own_scales = "clustered", df = 5),
      bark_near = bark_prior(centres = centre_near_rows(0.3), linear = 0.5),
      bark_rows = bark_prior(centres = centre_rows(rep(1:2, 12), 0.2)),
      bark_noise = bark_prior(noise = noise_gamma(2, 0.1), alpha = 0.5),
      bark_improper = bark_prior(noise = noise_improper()),
      bark_scales = bark_prior(own_scales = FALSE, scales = c(2, 1)),
      bark_short = bark_prior("different",
        approximation = "truncation", own_scales = FALSE, eps = 0.3,
        df = Inf, linear = 0
      )
    ), function(prior) plane(prior = prior), bark_questions(some)),
    cases_of(bark_questions(some),
      bark_default = plane(), bark_unfit = plane(prior_only = TRUE),
      bark_single = plane(control = tiny_chains(sweep = "single")),
      bark_threads = plane(control = tiny_chains(threads = 2, n_temps = 3)),
      bark_unscaled = plane(scale = FALSE),
      bark_censored = tiny_fit(bark, time ~ x1 + x2, wide, family = gaussian()),
      bark_gamma = tiny_fit(bark, y ~ x1, transform(wide, y = exp(y)),
        family = Gamma("log")
      ),
      bark_weibull = tiny_fit(bark, time ~ x1, wide, family = "weibull"),
      bark_trials_probit = tiny_fit(bark, cbind(s, 3 - s) ~ x1 + x2, wide,
        family = binomial("probit")
      ),
      bark_terms = tiny_fit(bark,
        y ~ kernels(x1) + kernels(x2, x3) + x3 + (1 + x1 | g), wide,
        prior = bark_prior(group_sd = 0.5)
      )
    ),
    each_case(alist(
      kgs_few_hmc = "hmc", kgs_few_circle = "circle",
      kgs_few_coordinate = "coordinate"
    ), function(method) {
      label(method = method, noise = noise_beta(1, 5), rank = 10)
    }, kgs_questions(few)),
    cases_of(kgs_questions(few),
      kgs_default = label(), kgs_rate = label(noise = 0.1, nugget = 0),
      kgs_class_weights = label(class_weights = c("0" = 2, "1" = 1)),
      kgs_evidence = label(kernel = kernel_gaussian("evidence"), bias = 0),
      kgs_learn = label(kernel = kernel_laplace("learn"), nugget = 0.1)
    ),
    cases_of(kgs_questions(three[1:3, ]),
      kgs_three = tiny_fit(kgs, y ~ ., three),
      kgs_three_hmc = tiny_fit(kgs, y ~ ., three, method = "hmc")
    ),
    cases_of(kbr_questions(data.frame(y = c(-1, 0, 1))),
      kbr_iw = kbr(x ~ y, pairs, method = "iw", seed = 1),
      kbr_raw = kbr(x ~ y, pairs,
        method = "kbr", normalize = FALSE, eps = 0.05, delta = 0.1, seed = 1
      ),
      kbr_prior = kbr(x ~ y, pairs,
        prior = list(points = c(-1, 0, 1), weights = 1:3), seed = 1
      ),
      kbr_kernels = kbr(x ~ y, pairs,
        kernel_x = kernel_laplace(), kernel_y = kernel_matern(), scale = TRUE,
        method = "kbr", eps = kbr_schedule(), tol = 1e-3, rank = 8, seed = 1
      )
    ),
    list(
      hmm_iw = fit_case(
        function() kbr_filter(a_hmm(method = "iw"), c(0.2, NA, 1)),
        path_questions()
      ),
      hmm_circle = fit_case(function() {
        kbr_filter(kbr_hmm(angles, cbind(cos(angles), sin(angles)),
          space = "circle", particles = 15, seed = 1
        ), cbind(1, c(0, 0.1, NA)))
      }, path_questions())
    )
  )
}

# Other functions -------------------------------------------------------------

# Evaluated with the values of `small_data()`
functions <- alist(
  mmd = mmd(kernel_mean(pairs["x"], k), kernel_mean(pairs["y"], k)),
  median = bandwidth_median(circle[1:2]),
  kdr = kdr(pairs["x"], circle[rep(1:12, 3)[1:25], 1:2]),
  tune_kbr = tune_kbr(x ~ y, pairs, bandwidths = 1:2, folds = 3, seed = 1),
  tune_kbr_iw = tune_kbr(x ~ y, pairs,
    c0 = c(0.1, 1), folds = 3, method = "iw", loss = "kernel", seed = 1
  ),
  tune_kbr_hmm = tune_kbr_hmm(hmm$states, hmm$observations,
    settings = list(list(method = "kbr"), list(method = "iw")), folds = 2,
    steps = 10, seed = 1
  ),
  kbr_simulate = kbr_simulate(stats::rnorm, function(x) x^2,
    n = 12, batches = 3, support = rbind(-9, 9), seed = 1
  ),
  cross_validate = cross_validate(list(labels, labels), folds = 2, seed = 1),
  select_kernel = select_kernel(y ~ ., circle,
    bandwidths = 1:2, control = tiny_chains(), warmup = 20, iter = 100,
    chains = 2, seed = 1
  ),
  check_moves = check_moves(walk$target, walk$moves,
    steps = 1:2, n = 200, seed = 1
  ),
  predictor = predict(bark_train(y ~ x, sinc, seed = 1), sinc),
  camera = lapply(camera_data(), summary)
)

kernels <- alist(
  gaussian = kernel_gaussian(), laplace = kernel_laplace(2),
  matern1 = kernel_matern(1, 0.5), matern3 = kernel_matern(1, 1.5),
  matern5 = kernel_matern(c(1, 2)), quadratic = kernel_rational_quadratic(1, 3),
  periodic = kernel_periodic(1, 2), polynomial = kernel_polynomial(3, 0.5),
  linear = kernel_linear(), constant = kernel_constant(2),
  sum = kernel_gaussian(1) + 2 * kernel_linear() * kernel_laplace(1)
)

hushed <- function(expr) suppressWarnings(suppressMessages(expr))

small_data <- function() {
  circle <- two_columns()
  list(
    pairs = pairs_of(), circle = circle, sinc = sim_sinc(20, seed = 1),
    k = kernel_gaussian(0.7), hmm = hmm_pairs(),
    labels = hushed(tiny_fit(kgs, y ~ ., circle, nugget = 0)),
    walk = a_tdsmc()[c("target", "moves")]
  )
}

digest_functions <- function() {
  ask("functions", lapply(functions, function(call) {
    bquote(print(.(call)))
  }), small_data())
}

digest_kernels <- function() {
  x <- as.matrix(two_columns()[1:5, 1:2])
  ask("kernels", lapply(kernels, function(kernel) {
    bquote(kernel_matrix(print(.(kernel)), x))
  }), list(x = x))
}

digest_simulators <- function() {
  names <- grep("^sim_", getNamespaceExports("kernelbayes"), value = TRUE)
  for (name in sort(setdiff(names, "sim_sbi"))) {
    record("simulators", name, function() match.fun(name)(8, seed = 1))
  }
  for (task in names(utils::getFromNamespace("sbi_tasks", "kernelbayes"))) {
    record("simulators", paste0("sim_", task), function() {
      sim_sbi(task, 8, seed = 1)
    })
  }
}

# Bad calls -------------------------------------------------------------------

# Those of the fuzz tests; here their outcomes are recorded, not judged.
bad <- c(name = "", call = "")

outcome_of <- function(f) {
  record(bad[["name"]], bad[["call"]], f)
  ""
}

note_bad <- function(what) {
  what <- gsub("[[:space:]]+", " ", plain_text(trimws(what)))
  bad[["call"]] <<- substr(what, 1, 120)
}

# Today's date differs between days.
hostile <- lapply(hostile, function(value) {
  if (inherits(value, "Date")) as.Date("2000-01-01") else value
})

# These answer with times.
timed <- c("estimate_cost", "timings")

# Each function alone, so that calls do not change when there is another one
digest_bad_calls <- function() {
  fits <- hushed(fuzz_cases()$bad_calls()$fits)
  exports <- sort(getNamespaceExports("kernelbayes"))
  on.exit(rm("getNamespaceExports", envir = globalenv()))
  bad[["name"]] <<- "bad_calls"
  for (name in setdiff(exports, timed)) {
    assign("getNamespaceExports", function(ns) name, globalenv())
    fuzz_bad_calls(fits, 2, 1, note_bad)
  }
}

digest_arguments <- function(name, case) {
  record(name, "valid", function() do.call(case$f, case$arguments))
  bad[["name"]] <<- name
  fuzz_call(case$f, case$arguments, 12, 13, note_bad)
}

# Of these fits, fields are spoilt one by one.
spoilt <- c(
  "srvm_offset", "srvm_mcmc", "srvm_stream", "bark", "bark_slopes", "kgs",
  "kgs_noisy", "kbr", "hmm_particles", "tdsmc"
)

digest_spoilt <- function(name, fit) {
  for (field in names(fit)) {
    record(name, paste("spoilt", field), function() {
      predict(put_leaf(fit, list(field), damages$number))
    })
  }
}

# The script ------------------------------------------------------------------

digest_case <- function(name, make, in_full) {
  case <- NULL
  record(name, "made", function() {
    case <<- make()
    NULL
  })
  if (is.null(case)) {
    message("No case ", name, ": its error has a digest.")
  } else if (is.null(case$questions)) {
    digest_arguments(name, case)
  } else {
    digest_fit(name, case, in_full)
    if (name %in% spoilt) digest_spoilt(name, case$fit)
  }
}

# By name, functions that add the lines of that name
tasks <- function() {
  of <- function(cases, in_full) {
    task <- function(name) {
      function() digest_case(name, cases[[name]], in_full)
    }
    sapply(names(cases), task, simplify = FALSE)
  }
  cases <- fuzz_cases()
  c(
    of(cases[names(cases) != "bad_calls"], TRUE), of(more_fits(), FALSE),
    list(
      functions = digest_functions, kernels = digest_kernels,
      simulators = digest_simulators, bad_calls = digest_bad_calls
    )
  )
}

# All texts in one language, width and order
set_surroundings <- function() {
  Sys.setenv(LANGUAGE = "en")
  Sys.setlocale("LC_COLLATE", "C")
  options(
    width = 80, cli.width = 80, cli.unicode = FALSE, cli.num_colors = 1,
    kernelbayes.long_run = Inf, digits = 7, scipen = 0
  )
}

keep_values <- function(name, folder) {
  dir.create(folder, showWarnings = FALSE)
  saveRDS(values[[name]], file.path(folder, paste0(name, ".rds")))
  values <<- list()
}

read_digests <- function(file) {
  lines <- readLines(file, encoding = "UTF-8")
  stats::setNames(sub(".*\t", "", lines), sub("\t[^\t]*$", "", lines))
}

# The lines that differ
differences <- function(new, old) {
  both <- intersect(names(new), names(old))
  line <- function(word, keys) sprintf("%s\t%s", rep(word, length(keys)), keys)
  c(
    line("gone", setdiff(names(old), names(new))),
    line("added", setdiff(names(new), names(old))),
    line("changed", both[new[both] != old[both]])
  )
}

compare <- function(old) {
  old <- old[grepl(option("filter", "."), sub("\t.*", "", names(old)))]
  found <- differences(digests, old)
  writeLines(found)
  cat(length(found), "of", length(old), "lines differ\n")
  if (length(found) > 0) quit(save = "no", status = 1)
}

main <- function() {
  file <- args[!startsWith(args, "--")]
  args <<- args[startsWith(args, "--")]
  refuse_unknown(options = c("compare", "filter", "values"))
  if (length(file) != 1) refuse_arguments("name one file for the digests.")
  old <- if (!is.null(option("compare"))) read_digests(option("compare"))
  install_needs(root, "tests")
  suppressPackageStartupMessages(library(kernelbayes))
  # Its methods keep rows of times together.
  loadNamespace("survival")
  set_surroundings()
  chosen <- tasks()
  chosen <- chosen[grepl(option("filter", "."), names(chosen))]
  for (name in names(chosen)) {
    chosen[[name]]()
    if (!is.null(option("values"))) keep_values(name, option("values"))
  }
  writeLines(paste0(names(digests), "\t", digests), file, useBytes = TRUE)
  cat(length(digests), "digests of", length(chosen), "cases\n")
  if (!is.null(old)) compare(old)
}

main()
