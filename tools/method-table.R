# Makes the tables of engines and methods, and of the families of bark() and
# methods, which tools/readme.R writes between their markers in the article
# `methods`. Each cell is tried on a small fit. A test compares the article with
# them, and looks for methods that have no row.

columns <- c(
  srvm = "`srvm()`", chains = "`srvm()`, chains", tdsmc = "`tdsmc()`",
  kbr = "`kbr()`", filter = "`kbr_hmm()`, filter", kgs = "`kgs()`",
  bark = "`bark()`", fields = "`bark()`, several classes"
)

# A row is true of a fit if all its calls are defined, false if none is. `fit`,
# `new` (new rows) and `variable` (a predictor) belong to the column, as do the
# functions below if an engine has its own.
rows <- alist(
  "`print()`, `summary()`, `plot()`" = {
    print(fit)
    summary(fit)
    plot(fit)
  },
  "`predict()`: mean or class" = predict(fit, new),
  "`type = \"prob\"`" = predict(fit, new, type = "prob"),
  "`interval = \"credible\"`" = credible(fit, new),
  "`interval = \"prediction\"`" = predict(fit, new, interval = "prediction"),
  "`type = \"quantile\"`" = predict(fit, new, type = "quantile", probs = 0.5),
  "`type = \"draws\"`" = predict(fit, new, type = "draws"),
  "`type = \"log_score\"`" = predict(fit, new, type = "log_score"),
  "`fitted()`, `residuals()`" = {
    fitted(fit)
    residuals(fit)
  },
  "`model.matrix()`" = model.matrix(fit),
  "`simulate()`" = simulate_new(fit, new),
  "`coef()`" = coefficients_of(fit),
  "`sigma()`" = sigma(fit),
  "`as_draws()`" = draws(fit, new),
  "`as.matrix()`, `as.data.frame()`, `confint()`" = {
    as.matrix(fit)
    as.data.frame(fit)
    confint(fit)
  },
  "`family()`" = family(fit),
  "`update()`: more rows or steps" = more_rows(fit, new),
  "`update(iter = )`, `update(until = )`: longer chains" = {
    update(fit, iter = 10)
    update(fit, until = convergence(rhat = 100, ess = 0.1))
  },
  "`update(prior = )`" = update(fit, prior = list(points = c(0.1, 0.2))),
  "`evidence()`" = marginal(fit),
  "`logLik()`" = logLik(fit),
  "`diagnostics()`" = diagnostics(fit),
  "`timings()`" = timings(fit),
  "`ess()`" = ess(fit),
  "`ancestry()`" = ancestry(fit),
  "`prequential()`, `order_spread()`" = {
    prequential(fit)
    order_spread(fit, orders = 2, seed = 1)
  },
  "`cross_validate()`, `loo::kfold()`" = {
    cross_validate(fit, folds = 2, seed = 1)
    loo::kfold(fit, K = 2, seed = 1)
  },
  "`loo::loo()`, `loo::waic()`" = {
    loo::loo(fit)
    loo::waic(fit)
  },
  "`bayesplot::pp_check()`" = bayesplot::pp_check(fit, "error_hist"),
  "`model_size()`, `inclusion()`" = {
    model_size(fit)
    inclusion(fit)
  },
  "`kernel_posterior()`" = kernel_posterior(fit),
  "`importance()`" = importance(fit),
  "`partial_dependence()`" = partial_dependence(fit, variable, n = 2),
  "`calibrate()`, predictive checks" = {
    calibrate(fit, seed = 1)
    prior_predictive_check(fit, new)
    posterior_predictive_check(fit, new, function(x) x + 1, seed = 1)
  },
  "`exposure_effects()`" = exposure_effects(fit, "overall"),
  "`label_noise()`, `reject_curve()`" = {
    label_noise(fit)
    reject_curve(fit, new)
  },
  "`acquire()`, `transduce()`" = {
    acquire(fit, new)
    transduce(fit, new)
  },
  "`bayes_point()`" = bayes_point(fit),
  "`tidy()`, `glance()`" = {
    tidy(fit)
    glance(fit)
  },
  "`augment()`" = augment(fit),
  "`ggplot2::autoplot()`" = drawn(fit, new),
  "`rstantools::posterior_predict()`, `log_lik()`" = {
    rstantools::posterior_predict(fit)
    rstantools::posterior_epred(fit)
    rstantools::posterior_linpred(fit)
    rstantools::prior_summary(fit)
    rstantools::log_lik(fit)
  },
  "`rstantools::predictive_interval()`" = rstantools::predictive_interval(fit),
  "`rstantools::predictive_error()`" = rstantools::predictive_error(fit),
  "`rstantools::bayes_R2()`" = rstantools::bayes_R2(fit),
  "specification for parsnip" = match.fun(paste0(engine, "_spec"))
)

# The rows of the families of bark(): those above whose cells differ, and others
family_rows <- c(
  alist(
    "`type = \"response\"`" = predict(fit, new, type = "response"),
    "`type = \"link\"`" = predict(fit, new, type = "link"),
    "`type = \"class\"`" = predict(fit, new, type = "class")
  ),
  rows[c(
    "`type = \"prob\"`", "`interval = \"credible\"`",
    "`interval = \"prediction\"`", "`type = \"quantile\"`"
  )],
  alist(
    "`type = \"survival\"`" = predict(fit, new, type = "survival", times = 1),
    "`type = \"sigma\"`" = predict(fit, new, type = "sigma")
  ),
  rows[c("`type = \"draws\"`", "`type = \"log_score\"`")],
  alist(
    "`residuals(type = \"quantile\")`" = residuals(fit, type = "quantile"),
    "groups, `(1 \\| g)`" = refit(response ~ kernels(x) + (1 | g)),
    "`offset()`" = refit(response ~ x + offset(x)),
    "`weights`" = refit(response ~ x, weights = w),
    "`update(iter = )`" = update(fit, iter = 10)
  ),
  rows[c(
    "`simulate()`", "`evidence()`", "`logLik()`",
    "`cross_validate()`, `loo::kfold()`", "`loo::loo()`, `loo::waic()`"
  )],
  alist("`bayesplot::pp_check()`" = bayesplot::pp_check(fit)),
  rows[c(
    "`importance()`", "`partial_dependence()`", "`exposure_effects()`",
    "`augment()`", "`ggplot2::autoplot()`",
    "`rstantools::posterior_predict()`, `log_lik()`",
    "`rstantools::predictive_interval()`", "`rstantools::predictive_error()`",
    "`rstantools::bayes_R2()`"
  )]
)

usual <- list(
  credible = function(fit, new) {
    if (is.data.frame(new) && is.factor(new$y)) {
      predict(fit, new, type = "prob", interval = "credible")
    } else {
      predict(fit, new, interval = "credible")
    }
  },
  simulate_new = function(fit, new) simulate(fit, seed = 1),
  coefficients_of = function(fit) coef(fit),
  draws = function(fit, new) as_draws(fit),
  marginal = function(fit) evidence(fit),
  drawn = function(fit, new) ggplot2::autoplot(fit),
  more_rows = function(fit, new) update(fit, newdata = new)
)

# Generics that every fit has, or every fit to a formula; those that no fit has,
# and say why; generics whose methods
# are for other objects, or for fits with groups; and those of DALEX, insight,
# marginaleffects and tidybayes, which few users have installed.
without_row <- c(
  "fixef", "ranef", "VarCorr",
  "AIC", "BIC", "deviance", "df.residual", "anova", "vcov", "variable.names", "na.action",
  "ndraws", "nchains", "niterations", "nvariables", "variables",
  "posterior_interval",
  "nobs", "formula", "terms", "model.frame", "as_draws_df", "weights", "yhat",
  "model_info", "find_predictors", "get_data", "get_predict", "get_vcov",
  "epred_draws", "linpred_draws"
)

# ---- the fits ----------------------------------------------------------------

# Numbers and classes, if an engine takes both: their cells may differ.
small_fits <- function() {
  sinc <- sim_sinc(24, seed = 1)
  moons <- sim_moons(40, flips = 0.1, seed = 1)
  flowers <- stats::setNames(
    iris[c(1:8, 51:58, 101:108), 3:5], c("x1", "x2", "y")
  )
  particles <- smc_control(particles = 30, ancestry = "genealogy")
  chains <- mcmc_control(chains = 2, warmup = 50, iter = 50)
  gaussian <- kernel_gaussian(0.5)
  both <- function(fit, engine, functions = list()) {
    list(
      numbers = fit_case(
        fit(y ~ x, sinc[1:20, ]), sinc[21:24, ], engine, "x", functions
      ),
      classes = fit_case(
        fit(y ~ ., moons[1:30, ]), moons[31:40, ], engine, "x1", functions
      )
    )
  }
  list(
    srvm = both(function(formula, data) {
      srvm(formula, data, gaussian, control = particles, seed = 1)
    }, "srvm"),
    chains = list(fit_case(
      srvm(y ~ x, sinc[1:20, ], gaussian,
        method = "mcmc", control = chains, seed = 1
      ),
      sinc[21:24, ], "srvm", "x"
    )),
    tdsmc = list(tdsmc_case()),
    kbr = list(kbr_case()),
    filter = list(filter_case()),
    kgs = list(fit_case(
      kgs(y ~ ., moons[1:30, ], gaussian, control = chains, seed = 1),
      moons[31:40, ], "kgs", functions = list(
        marginal = function(fit) evidence(fit, seed = 1)
      )
    )),
    bark = both(function(formula, data) {
      bark(formula, data, control = chains, seed = 1)
    }, "bark", bark_functions),
    fields = list(fit_case(
      bark(y ~ ., flowers[-1, ], control = chains, seed = 1), flowers[1, ],
      "bark",
      functions = bark_functions
    ))
  )
}

# With a few rungs the evidence is wrong, but defined.
bark_functions <- list(
  coefficients_of = function(fit) coef(fit, draw = 1),
  marginal = function(fit) {
    evidence(fit, n_temps = 2, warmup = 5, iter = 40, chains = 1, seed = 1)
  }
)

fit_case <- function(fit, new, engine, variable = "x1", functions = list()) {
  list2env(
    c(
      list(fit = fit, new = new, engine = engine, variable = variable),
      utils::modifyList(usual, functions)
    ),
    parent = globalenv()
  )
}

tdsmc_case <- function() {
  target <- td_target(
    log_density = function(states, t, data) {
      y <- data[seq_len(t)]
      dnorm(states, log = TRUE) +
        vapply(states, function(x) sum(dnorm(y, x, log = TRUE)), 0)
    },
    initial = function(n, data) rnorm(n)
  )
  none <- function(new, old, t, data) numeric(length(new))
  stay <- td_move(function(states, t, data) states, none, none)
  fit <- tdsmc(target, list(stay = stay), c(1.2, 0.7),
    control = smc_control(particles = 20, ancestry = "genealogy"), seed = 1
  )
  # It predicts functions of the state.
  fit_case(fit, identity, "tdsmc", functions = list(
    draws = function(fit, new) as_draws(fit, f = new),
    more_rows = function(fit, new) update(fit, data = c(1.2, 0.7, 0.9))
  ))
}

kbr_case <- function() {
  pairs <- kbr_simulate(
    function(n) rnorm(n), function(x) x + 0.7 * rnorm(length(x)),
    n = 60, seed = 1
  )
  fit_case(kbr(pairs), 1, "kbr", "y", functions = list(
    plot = function(fit) plot(fit, 1),
    drawn = function(fit, new) ggplot2::autoplot(fit, newdata = new),
    simulate_new = function(fit, new) simulate(fit, newdata = new, seed = 1),
    draws = function(fit, new) as_draws(fit, newdata = new)
  ))
}

filter_case <- function() {
  seen <- sim_linear_hmm(60, seed = 1)
  filtered <- kbr_filter(
    kbr_hmm(seen$states, seen$observations, seed = 1), c(0.3, 0.9)
  )
  fit_case(filtered, 0.5, "kbr_hmm", functions = list(
    # It predicts for the observations it was given.
    predict = function(fit, new, ...) predict(fit, ...),
    more_rows = function(fit, new) update(fit, new)
  ))
}

# ---- the families of bark() --------------------------------------------------

# The response of each, and its arguments.
family_columns <- list(
  "gaussian" = list(quote(y)), "gaussian, `sigma = ~ x`" = list(
    quote(y), sigma = ~x
  ),
  "two classes, logit" = list(quote(class)),
  "two classes, probit" = list(quote(class), family = binomial("probit")),
  "ordered" = list(quote(grade)), "several classes, logit" = list(quote(kind)),
  "several classes, probit" = list(quote(kind), family = "multinomial"),
  "successes" = list(quote(cbind(s, f)), family = binomial()),
  "poisson" = list(quote(k), family = poisson()),
  "negbinomial" = list(quote(k), family = "negbinomial"),
  "gamma" = list(quote(time), family = Gamma("log")),
  "weibull" = list(quote(survival::Surv(time, event)), family = "weibull"),
  "lognormal" = list(quote(survival::Surv(time, event)), family = "lognormal"),
  "gaussian, censored" = list(
    quote(survival::Surv(time, event)), family = gaussian()
  )
)

family_data <- function(n = 24) {
  x <- seq(0, 1, length.out = n)
  data.frame(
    x = x, y = sin(6 * x) + rep(c(-0.2, 0.1, 0.1), n / 3),
    class = factor(rep(c("a", "b", "b", "a"), n / 4)),
    grade = factor(rep(c("low", "mid", "top"), n / 3), ordered = TRUE),
    kind = factor(rep(c("p", "q", "r"), n / 3)),
    s = rep(0:3, n / 4), f = rep(3:0, n / 4), k = rep(0:5, n / 6),
    time = 1 + x, event = TRUE, g = rep(c("u", "v"), each = n / 2),
    w = rep(1:2, n / 2)
  )
}

family_fits <- function() {
  data <- family_data()
  lapply(family_columns, function(column) {
    of <- function(formula, ...) {
      formula[[2]] <- column[[1]]
      environment(formula) <- globalenv()
      do.call(bark, c(list(formula, data), column[-1], list(
        control = mcmc_control(chains = 2, warmup = 20, iter = 50), seed = 1, ...
      )))
    }
    functions <- c(bark_functions, list(
      credible = function(fit, new) {
        type <- if (is.factor(fit$data$y)) "prob" else "response"
        predict(fit, new, type = type, interval = "credible")
      },
      refit = function(formula, weights = NULL) {
        weights <- eval(substitute(weights), data)
        if (is.null(weights)) of(formula) else of(formula, weights = weights)
      }
    ))
    list(fit_case(of(response ~ x), data[1:2, ], "bark", "x", functions))
  })
}

# ---- the cells ---------------------------------------------------------------

# TRUE or FALSE; any error other than "not defined" is an error of this script.
is_defined <- function(call, case, label) {
  if (!has_method(call, case$fit)) {
    return(FALSE)
  }
  tryCatch(
    {
      utils::capture.output(suppressMessages(suppressWarnings(
        invisible(eval(call, case))
      )))
      TRUE
    },
    error = function(error) {
      if (!says_not_defined(error)) {
        stop(label, " of ", class(case$fit)[[1]], ": ", conditionMessage(error))
      }
      FALSE
    }
  )
}

# A default method of another package may return NULL, or look like ours.
has_method <- function(call, fit) {
  generic <- utils::tail(as.character(call[[1]]), 1)
  registered <- getNamespaceInfo("kernelbayes", "S3methods")
  classes <- registered[registered[, 1] == generic, 2]
  length(classes) == 0 || any(classes %in% c(class(fit), "default"))
}

says_not_defined <- function(error) {
  if (inherits(error, "kb_error")) {
    inherits(error, c("kb_error_not_defined", "kb_error_unknown_argument")) ||
      (inherits(error, "kb_error_argument") && isTRUE(
        error$argument %in% c("type", "interval", "object", "offset", "weights")
      ))
  } else {
    grepl(
      paste0(
        "no applicable method|not supported by autoplot|",
        "object '.*_spec' of mode 'function' was not found"
      ),
      conditionMessage(error)
    )
  }
}

is_row_true <- function(label, case, rows) {
  call <- rows[[label]]
  parts <- if (identical(call[[1]], quote(`{`))) as.list(call)[-1] else call
  parts <- if (is.call(parts)) list(parts) else parts
  defined <- vapply(parts, is_defined, NA, case, label)
  if (length(unique(defined)) > 1) {
    stop(label, " is true of ", class(case$fit)[[1]], " in part: split it.")
  }
  defined[[1]]
}

cell <- function(label, cases, rows) {
  true <- vapply(cases, function(case) is_row_true(label, case, rows), NA)
  if (all(true)) "yes" else if (any(true)) names(cases)[true] else ""
}

method_table <- function() made_table(small_fits(), columns, rows)

family_table <- function() {
  made_table(family_fits(), names(family_columns), family_rows)
}

#' @param fits Cases of each column, made when they are looked at.
#' @noRd
made_table <- function(fits, columns, rows) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  fits <- suppressMessages(suppressWarnings(fits, classes = "kb_warning"))
  cells <- vapply(seq_along(columns), function(column) {
    vapply(names(rows), cell, "", fits[[column]], rows)
  }, character(length(rows)))
  line <- function(cells) paste0("| ", paste(cells, collapse = " | "), " |")
  c(
    line(c("", columns)),
    paste0("|---|", strrep(":---:|", length(columns))),
    vapply(seq_along(rows), function(i) {
      line(c(names(rows)[[i]], cells[i, ]))
    }, "")
  )
}

# Public generics that have a method for fits but no row.
generics_without_row <- function() {
  registered <- getNamespaceInfo("kernelbayes", "S3methods")
  classes <- c(
    "kb_fit", "kb_mcmc", "kb_srvm", "kb_srvm_mcmc", "kb_tdsmc", "kb_kbr",
    "kb_kbr_path", "kb_kbr_filter", "kb_kgs", "kb_bark", "kb_bark_multinomial"
  )
  generics <- unique(unlist(registered[registered[, 2] %in% classes, 1]))
  internal <- setdiff(
    ls(asNamespace("kernelbayes")), getNamespaceExports("kernelbayes")
  )
  spoken <- unlist(c(lapply(rows, all.names), lapply(usual, function(f) {
    all.names(body(f))
  })))
  setdiff(generics, c(internal, spoken, without_row))
}

# ---- the article ------------------------------------------------------------

tables <- list(methods = method_table, families = family_table)

table_markers <- function(name) {
  paste0("<!-- ", name, ": ", c("start", "end"), " -->")
}

# The numbers of the lines between the markers.
table_lines <- function(text, name) {
  at <- match(table_markers(name), text)
  if (anyNA(at) || diff(at) < 1) {
    stop("No markers for the table of ", name, ".")
  }
  seq_len(diff(at) - 1) + at[[1]]
}

read_table <- function(file, name) {
  text <- readLines(file, encoding = "UTF-8")
  text[table_lines(text, name)]
}

write_tables <- function(file) {
  for (name in names(tables)) {
    text <- readLines(file, encoding = "UTF-8")
    table_lines(text, name)
    at <- match(table_markers(name), text)
    text <- c(
      text[seq_len(at[[1]])], tables[[name]](), text[at[[2]]:length(text)]
    )
    writeLines(text, file, useBytes = TRUE)
  }
}
