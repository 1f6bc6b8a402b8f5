# Small fits of every engine with queries, and valid calls: see helper-fuzz.R.

tiny_chains <- function(...) {
  mcmc_control(chains = 2, warmup = 6, iter = 12, ...)
}

three_classes <- function() {
  out <- iris[c(1:8, 51:58, 101:108), c(1, 3, 5)]
  names(out) <- c("x1", "x2", "y")
  out
}

two_columns <- function(n = 24) {
  out <- sim_circle(n, seed = 1)
  names(out) <- c("x1", "x2", "y")
  out
}

pairs_of <- function(n = 25) {
  set.seed(1)
  x <- rnorm(n)
  data.frame(x = x, y = x + rnorm(n, sd = 0.3))
}

dependence_of <- function(fit, newdata) {
  partial_dependence(fit, colnames(newdata)[[1]], n = 3)
}

#' The queries for every fit
common_questions <- function(newdata) {
  list(
    predict = function(fit) predict(fit, newdata),
    fitted = function(fit) fitted(fit), print = function(fit) print(fit),
    summary = function(fit) print(summary(fit)), plot = function(fit) plot(fit),
    as_draws = function(fit) posterior::as_draws(fit),
    residuals = function(fit) residuals(fit), nobs = function(fit) nobs(fit),
    tidy = function(fit) generics::tidy(fit),
    glance = function(fit) generics::glance(fit),
    timings = function(fit) timings(fit),
    diagnostics = function(fit) print(diagnostics(fit)),
    augment = function(fit) generics::augment(fit, newdata = newdata),
    logLik = function(fit) logLik(fit), simulate = function(fit) simulate(fit),
    draws = function(fit) predict(fit, newdata, type = "draws"),
    frame = function(fit) model.frame(fit),
    stored = function(fit) {
      file <- tempfile()
      on.exit(unlink(file))
      saveRDS(fit, file)
      print(read_checkpoint(file))
    }
  )
}

chain_questions <- function(newdata) {
  c(common_questions(newdata), list(
    update = function(fit) {
      update(fit, iter = 5, time_limit = 1, progress = FALSE)
    },
    again = function(fit) {
      update(fit, iter = 12, time_limit = 1, progress = FALSE)
    },
    prob = function(fit) predict(fit, newdata, type = "prob")
  ))
}

bark_questions <- function(newdata) {
  c(chain_questions(newdata), list(
    importance = function(fit) importance(fit),
    inclusion = function(fit) inclusion(fit),
    model_size = function(fit) model_size(fit),
    coef = function(fit) coef(fit, draw = 1),
    interval = function(fit) {
      predict(fit, newdata, interval = "credible")
    },
    partial = function(fit) dependence_of(fit, newdata),
    evidence = function(fit) {
      evidence(fit, n_temps = 2, warmup = 2, iter = 4, chains = 1, seed = 1)
    }
  ))
}

srvm_questions <- function(newdata) {
  c(common_questions(newdata), list(
    update = function(fit) {
      update(fit, newdata = newdata, time_limit = 1, progress = FALSE)
    },
    rejuvenate = function(fit) {
      update(fit, n_moves = 2, particles = 15, time_limit = 1)
    },
    evidence = function(fit) evidence(fit), ess = function(fit) ess(fit),
    model_size = function(fit) model_size(fit), coef = function(fit) coef(fit),
    inclusion = function(fit) inclusion(fit),
    ancestry = function(fit) ancestry(fit), sigma = function(fit) sigma(fit),
    interval = function(fit) predict(fit, newdata, interval = "prediction"),
    log_score = function(fit) predict(fit, newdata, type = "log_score")
  ))
}

kgs_questions <- function(newdata) {
  c(chain_questions(newdata), list(
    bayes_point = function(fit) predict(bayes_point(fit), newdata),
    rows = function(fit) {
      update(fit, newdata = newdata, iter = 5, time_limit = 1)
    },
    link = function(fit) predict(fit, newdata, type = "link"),
    noise = function(fit) label_noise(fit),
    true = function(fit) predict(fit, newdata, type = "true_prob"),
    evidence = function(fit) {
      evidence(fit, n_temps = 3, warmup = 2, iter = 5, chains = 1, seed = 1)
    }
  ))
}

# Their evidence has no ladder
noisy_questions <- list(bridge = function(fit) evidence(fit, seed = 1))

kbr_questions <- function(newdata) {
  types <- c(
    "mean", "map", "sd", "quantile", "weights", "draws", "embedding"
  )
  asked <- lapply(types, function(type) {
    force(type)
    function(fit) predict(fit, newdata, type = type)
  })
  common <- common_questions(newdata)
  common$plot <- function(fit) plot(fit, newdata[1, , drop = FALSE])
  c(common, stats::setNames(asked, types), list(
    update = function(fit) update(fit, eps = 0.1),
    prior = function(fit) {
      update(fit, prior = list(points = matrix(0:1 / 2, 2)))
    },
    density = function(fit) {
      predict(fit, newdata, type = "density", at = c(0, 1))
    },
    calibrate = function(fit) calibrate(fit, folds = 3),
    partial = function(fit) dependence_of(fit, newdata),
    check = function(fit) {
      print(posterior_predictive_check(fit, newdata[1, , drop = FALSE],
        simulator = function(x) newdata[rep(1, NROW(x)), , drop = FALSE],
        ndraws = 20, seed = 1
      ))
    }
  ))
}

path_questions <- function() {
  list(
    mean = function(path) predict(path), print = function(path) print(path),
    map = function(path) predict(path, type = "map"),
    sd = function(path) predict(path, type = "sd"),
    quantile = function(path) predict(path, type = "quantile"),
    weights = function(path) predict(path, type = "weights"),
    draws = function(path) predict(path, type = "draws", ndraws = 3),
    summary = function(path) print(summary(path)),
    plot = function(path) plot(path), nobs = function(path) nobs(path),
    augment = function(path) generics::augment(path)
  )
}

particle_questions <- function(update, forecast = NULL) {
  if (is.null(forecast)) forecast <- function(path) kbr_forecast(path, 2)
  c(path_questions(), list(
    radius = function(path) predict(path, type = "radius"),
    update = update, smooth = function(path) kbr_smooth(path),
    forecast = forecast
  ))
}

hmm_pairs <- function() {
  set.seed(2)
  states <- matrix(cumsum(rnorm(25)), dimnames = list(NULL, "s"))
  list(states = states, observations = states + rnorm(25, sd = 0.5))
}

a_hmm <- function(...) do.call(kbr_hmm, c(hmm_pairs(), list(seed = 1, ...)))

a_rule_hmm <- function() a_hmm(method = "kbr")

# Of the default method, with few particles
an_adjusted_hmm <- function() a_hmm(particles = 20, summaries = FALSE)

# Turns about an axis, at irregular times, with inputs and summaries
a_turning_hmm <- function() {
  a <- hmm_pairs()$states[, 1] / 4
  kbr_hmm(
    cbind(cos(a), sin(a), 0, -sin(a), cos(a), 0, 0, 0, 1),
    cbind(cos(a), sin(a)) + hmm_pairs()$observations[, 1] / 8,
    times = cumsum(rep(1:2, 13)[-1]), inputs = cbind(u = sin(1:25)),
    space = "rotation", summaries = TRUE, lag = 1, particles = 20, seed = 1
  )
}

a_turning_filter <- function() {
  y <- rbind(c(1, 0), NA, c(0.9, 0.2))
  kbr_filter(a_turning_hmm(), y, times = 1:3 + 0, inputs = matrix(0, 3, 1))
}

quietly <- function(expr) suppressWarnings(suppressMessages(expr))

fit_case <- function(fit, questions) {
  force(questions)
  function() list(fit = quietly(fit()), questions = questions)
}

#' Cases of the same queries: calls by name, evaluated when a case is made
cases_of <- function(questions, ...) {
  calls <- eval(substitute(alist(...)))
  data <- parent.frame()
  lapply(calls, function(call) {
    fit_case(function() eval(call, data), questions)
  })
}

tiny_fit <- function(f, ..., control = tiny_chains()) {
  f(..., control = control, seed = 1)
}

tiny_srvm <- function(..., control = smc_control(12, n_moves = 2),
                          kernel = kernel_gaussian(0.3)) {
  srvm(..., kernel = kernel, control = control, seed = 1)
}

#' Each makes a fit with queries, or a function with valid arguments
fuzz_cases <- function() {
  sinc <- sim_sinc(20, seed = 1)
  new <- sim_sinc(3, seed = 2)
  circle <- two_columns()
  few <- circle[1:3, ]
  three <- three_classes()
  counted <- data.frame(
    x = sinc$x, z = (1:20) / 20, g = rep(letters[1:4], 5), k = rep(0:4, 4),
    w = rep(1:2, 10)
  )
  counted$times <- structure(cbind(counted$k + 1, rep(c(1, 0), 10)),
    dimnames = list(NULL, c("time", "status")), type = "right", class = "Surv"
  )
  some <- counted[1:3, ]
  small <- smc_control(particles = 12, n_moves = 2)
  k <- kernel_gaussian(0.3)
  laplace <- kernel_laplace(0.5)
  bounded <- srvm_memory(window = 12, candidates = 8, keep_rows = 14)
  moves <- tiny_chains(n_moves = 3)
  call_case <- function(f, ...) {
    arguments <- list(...)
    function() list(f = f, arguments = arguments)
  }
  chain_sums <- function(newdata, sums) {
    c(chain_questions(newdata), srvm_questions(newdata)[sums])
  }
  c(
    cases_of(srvm_questions(new),
      srvm = tiny_srvm(y ~ x, sinc),
      srvm_bounded = tiny_srvm(y ~ x, sinc,
        prior = srvm_prior(linear = 1), memory = bounded
      ),
      srvm_stream = update(
        tiny_srvm(y ~ x, sinc, memory = bounded), sim_sinc(9, seed = 3)
      ),
      srvm_average = tiny_srvm(y ~ x, sinc,
        kernel = list(k, laplace),
        control = smc_control(12, n_moves = 2, ancestry = "full")
      ),
      srvm_sharing = shared_particles(list(k, laplace)),
      srvm_student = tiny_srvm(y ~ x, sinc,
        kernel = kernel_dictionary(k, kernel_linear()),
        prior = srvm_prior(df = 4)
      ),
      srvm_orders = tiny_srvm(y ~ x, sinc,
        prior = srvm_prior_paper(), order = "random",
        control = smc_control(12, n_moves = 2, replicates = 2)
      ),
      srvm_forgetting = tiny_srvm(y ~ x, sinc,
        kernel = kernel_periodic(2, 1) + kernel_constant(), intercept = FALSE,
        memory = srvm_memory(forgetting = 0.9)
      )
    ),
    cases_of(c(srvm_questions(new), list(
      more = function(fit) {
        update(fit, new, weights = 1:3, time_limit = 1, progress = FALSE)
      },
      partial = function(fit) dependence_of(fit, new),
      effects = function(fit) exposure_effects(fit, "overall", quantiles = 0.8)
    )),
      srvm_offset = tiny_srvm(y ~ x + offset(x / 4), sinc,
        weights = x^2 + 1, memory = bounded
      )
    ),
    cases_of(srvm_questions(few),
      srvm_probit = tiny_srvm(y ~ ., circle)
    ),
    cases_of(srvm_questions(some),
      srvm_ard = tiny_srvm(k ~ x + z, counted,
        kernel = kernel_matern("ard"), prior = srvm_prior(coef_df = 3)
      ),
      srvm_factors = tiny_srvm(k ~ x * z + g, counted)
    ),
    cases_of(chain_sums(new, c("model_size", "coef", "interval", "sigma")),
      srvm_mcmc = tiny_srvm(y ~ x, sinc, method = "mcmc", control = moves)
    ),
    cases_of(chain_sums(few, "model_size"),
      srvm_probit_mcmc = tiny_srvm(y ~ ., circle,
        kernel = kernel_matern("ard"), method = "mcmc",
        prior = srvm_prior(coef_df = 3), control = moves
      )
    ),
    cases_of(chain_sums(new, c("model_size", "interval", "sigma")),
      srvm_student_mcmc = tiny_srvm(y ~ x, sinc,
        method = "mcmc", prior = srvm_prior(df = "learn"), control = moves
      )
    ),
    cases_of(chain_sums(some, c("model_size", "interval", "sigma")),
      srvm_ard_mcmc = tiny_srvm(k ~ x + z, counted,
        kernel = kernel_matern("ard"), method = "mcmc", control = moves
      )
    ),
    cases_of(kbr_questions(data.frame(y = c(-1, 0, 1))),
      kbr = kbr(x ~ y, pairs_of(), seed = 1),
      kbr_two = kbr(cbind(x, x^2) ~ y, pairs_of(), seed = 1),
      kbr_bounds = kbr(cbind(a = pnorm(x), b = x^2) ~ y, pairs_of(),
        support = rbind(0, c(1, Inf)), seed = 1
      ),
      kbr_rounds = kbr(
        kbr_simulate(stats::rnorm, function(x) {
          cbind(y = x + stats::rnorm(length(x)))
        }, n = 40, rounds = 2, observation = 0.5, seed = 1),
        seed = 1
      ),
      kbr_chunked = kbr(
        kbr_chunks(function(i) as.list(pairs_of()), 2), rank = 6, seed = 1
      ),
      kbr_rule = kbr(x ~ y, pairs_of(), method = "kbr", rank = 6, seed = 1)
    ),
    cases_of(kbr_questions(cbind(y = c(-1, 0, 1), square = c(1, 0, 1))),
      kbr_summaries = kbr(
        pairs_of()["x"], with(pairs_of(), cbind(y, square = y^2)),
        summaries = "learn", seed = 1
      )
    ),
    cases_of(bark_questions(new),
      bark = tiny_fit(bark, y ~ x, sinc, control = tiny_chains(n_temps = 2)),
      bark_paper = tiny_fit(bark, y ~ x, sinc,
        prior = bark_prior_paper(), control = tiny_chains(n_temps = 2)
      ),
      bark_student = tiny_fit(bark, y ~ x, sinc,
        prior = bark_prior_paper(df = 4, own_scales = TRUE)
      ),
      bark_truncated = tiny_fit(bark, y ~ x, sinc,
        prior = bark_prior_paper(approximation = "truncation")
      ),
      bark_df = tiny_fit(bark, y ~ x, sinc,
        prior = bark_prior_paper(df = "learned"),
        control = tiny_chains(thin = 2)
      )
    ),
    cases_of(c(bark_questions(new), list(
      sigma = function(fit) predict(fit, new, type = "sigma")
    )), bark_varying = tiny_fit(bark, y ~ x, sinc, sigma = ~x)),
    cases_of(bark_questions(some),
      bark_slopes = tiny_fit(bark, k ~ x + (1 + z | g) + (1 | w), counted),
      bark_lines = tiny_fit(bark, k ~ kernels(x, z) + x + g, counted,
        sigma = ~z, weights = w
      ),
      bark_directions = tiny_fit(bark, k ~ x * z + g + offset(w), counted,
        prior = bark_prior(directions = 2)
      ),
      bark_counts = tiny_fit(bark,
        k ~ kernels(x) + z + (1 | g) + offset(z), counted,
        family = "negbinomial"
      ),
      bark_poisson = tiny_fit(bark, k ~ x + (z | g), counted,
        family = "poisson", weights = w
      ),
      bark_trials = tiny_fit(bark, cbind(k, 9 - k) ~ x, counted,
        family = binomial(), weights = w
      )
    ),
    cases_of(c(bark_questions(some), list(
      survival = function(fit) {
        predict(fit, some, type = "survival", times = 1:2)
      }
    )),
      bark_times = tiny_fit(bark, times ~ x, counted),
      bark_lognormal = tiny_fit(bark, times ~ x + (1 | g), counted,
        family = "lognormal"
      )
    ),
    cases_of(bark_questions(few),
      bark_logit = tiny_fit(bark, y ~ ., circle, family = binomial()),
      bark_probit = tiny_fit(bark, y ~ ., circle,
        family = binomial("probit")
      )
    ),
    cases_of(bark_questions(three[1:3, ]),
      bark_ordered = tiny_fit(bark, ordered(y) ~ ., three),
      bark_ordered_weights = tiny_fit(bark, ordered(y) ~ ., three,
        weights = rep(1:2, 12)
      ),
      bark_classes = tiny_fit(bark, y ~ ., three),
      bark_multinomial = tiny_fit(bark, y ~ ., three, family = "multinomial")
    ),
    cases_of(kgs_questions(few),
      kgs = tiny_fit(kgs, y ~ ., circle, nugget = 0),
      kgs_block = tiny_fit(kgs, y ~ ., circle,
        nugget = 0.2, method = "block"
      ),
      kgs_ard = tiny_fit(kgs, y ~ ., circle,
        kernel = kernel_gaussian("ard"), nugget = "learn",
        prior = kgs_prior(ard_sd = 2)
      ),
      kgs_weights = tiny_fit(kgs, y ~ ., circle,
        weights = rep(1:2, 12), bias = 2
      )
    ),
    cases_of(c(kgs_questions(few), noisy_questions),
      kgs_noisy = tiny_fit(kgs, y ~ ., circle, noise = noise_class(1, 9))
    ),
    cases_of(kgs_questions(three[1:3, ]),
      kgs_classes = tiny_fit(kgs, y ~ ., three,
        method = "coordinate", rank = 8
      )
    ),
    cases_of(c(kgs_questions(three[1:3, ]), noisy_questions),
      kgs_noisy_classes = tiny_fit(kgs, y ~ ., three,
        kernel = kernel_gaussian("median"), rank = 8
      )
    ),
    list(
      bad_calls = function() {
        list(fits = quietly(list(
          tiny_srvm(y ~ x, sinc), tiny_fit(bark, y ~ x, sinc),
          tiny_fit(kgs, y ~ ., circle, nugget = 0),
          kbr(x ~ y, pairs_of(), seed = 1)
        )))
      },
      bayes_point = fit_case(function() {
        bayes_point(kgs(y ~ ., circle,
          nugget = 0, control = tiny_chains(), seed = 1
        ))
      }, list(
        class = function(point) predict(point, few),
        link = function(point) predict(point, few, type = "link"),
        coef = function(point) coef(point), print = function(point) print(point)
      )),
      kbr_hmm = fit_case(a_rule_hmm, list(
        filter = function(hmm) kbr_filter(hmm, hmm_pairs()$observations[1:3]),
        print = function(hmm) print(hmm)
      )),
      kbr_filter = fit_case(
        function() kbr_filter(a_rule_hmm(), hmm_pairs()$observations[1:4]),
        c(path_questions(), list(
          update = function(path) update(path, 0.3),
          smooth = function(path) kbr_smooth(path),
          forecast = function(path) kbr_forecast(path, 2)
        ))
      ),
      kbr_smooth = fit_case(function() {
        kbr_smooth(kbr_filter(a_rule_hmm(), hmm_pairs()$observations[1:4]))
      }, path_questions()),
      hmm_adjusted = fit_case(an_adjusted_hmm, list(
        filter = function(hmm) kbr_filter(hmm, hmm_pairs()$observations[1:3]),
        print = function(hmm) print(hmm)
      )),
      hmm_particles = fit_case(
        function() kbr_filter(an_adjusted_hmm(), hmm_pairs()$observations[1:4]),
        particle_questions(update = function(path) update(path, 0.3))
      ),
      hmm_turning = fit_case(a_turning_filter, particle_questions(
        update = function(path) {
          update(path, cbind(1, 0), times = 5, inputs = 0.5)
        },
        forecast = function(path) kbr_forecast(path, 2, inputs = 0.5)
      )),
      hmm_smoothed = fit_case(
        function() kbr_smooth(a_turning_filter()), path_questions()
      ),
      hmm_forecast = fit_case(function() {
        kbr_forecast(a_turning_filter(), 2, inputs = 0.5)
      }, path_questions()),
      cond_embedding = fit_case(function() {
        pairs <- pairs_of()
        cond_embedding(as.matrix(pairs["x"]), as.matrix(pairs["y"]))
      }, list(
        mean = function(e) predict(e, matrix(0.5)),
        weights = function(e) predict(e, matrix(0.5), type = "weights"),
        embedding = function(e) predict(e, matrix(0.5), type = "embedding"),
        print = function(e) print(e), rule = function(e) {
          kernel_sum_rule(e, kernel_mean(matrix(c(0, 1)), e$kernel_x))
        }
      )),
      kdr = fit_case(function() {
        pairs <- pairs_of()
        kdr(as.matrix(pairs["x"]), as.matrix(pairs["y"]), 1)
      }, list(
        predict = function(found) predict(found, matrix(0.5)),
        print = function(found) print(found),
        plot = function(found) plot(found),
        columns = function(found) plot(found, "columns")
      )),
      tdsmc = fit_case(a_tdsmc, list(
        predict = function(fit) predict(fit, f = lengths),
        states = function(fit) predict(fit, type = "states"),
        update = function(fit) update(fit, steps = 5, time_limit = 1),
        evidence = function(fit) evidence(fit), ess = function(fit) ess(fit),
        print = function(fit) print(fit), glance = function(fit) glance(fit),
        summary = function(fit) print(summary(fit)),
        plot = function(fit) plot(fit), weights = function(fit) weights(fit),
        diagnostics = function(fit) print(diagnostics(fit)),
        timings = function(fit) timings(fit),
        as_draws = function(fit) posterior::as_draws(fit, lengths)
      )),
      tdsmc_jumps = fit_case(a_jumping_tdsmc, list(
        predict = function(fit) predict(fit, f = identity),
        update = function(fit) update(fit, steps = 3, time_limit = 1),
        more = function(fit) update(fit, particles = 40, time_limit = 1),
        evidence = function(fit) evidence(fit), ess = function(fit) ess(fit),
        print = function(fit) print(fit), glance = function(fit) glance(fit),
        summary = function(fit) print(summary(fit)),
        weights = function(fit) weights(fit),
        diagnostics = function(fit) print(diagnostics(fit))
      ))
    ),
    cases_of(list(
      kbr = function(pairs) kbr(pairs, seed = 1),
      kdr = function(pairs) kdr(pairs, 1)
    ), simulated = kbr_simulate(stats::rnorm, identity, n = 20, seed = 1)),
    cases_of(list(
      print = function(m) print(m), plot = function(m) plot(m),
      predict = function(m) predict(m, matrix(0.5)),
      norm = function(m) inner_product(m, m)
    ), mean_element = kernel_mean(as.matrix(sinc["x"]), k)),
    list(
      srvm_call = call_case(srvm, y ~ x,
        data = sinc, kernel = k, prior = srvm_prior(), control = small,
        order = "given", scale = TRUE, intercept = TRUE, family = NULL,
        memory = srvm_memory(), reference = NULL, na.action = "fail",
        seed = 1, progress = FALSE, method = "smc"
      ),
      srvm_xy_call = call_case(srvm, as.matrix(sinc["x"]),
        y = sinc$y, weights = rep(1:2, 10), offset = sinc$x / 4, kernel = k,
        control = small, seed = 1
      ),
      bark_call = call_case(bark, y ~ x,
        data = sinc, family = NULL, prior = bark_prior_paper(),
        control = tiny_chains(), weights = NULL, scale = TRUE,
        prior_only = FALSE, na.action = "fail", seed = 1, progress = FALSE
      ),
      bark_xy_call = call_case(bark, as.matrix(three[1:2]),
        y = three$y, family = NULL, prior = bark_prior_paper(),
        control = tiny_chains(), scale = TRUE, seed = 1
      ),
      kgs_call = call_case(kgs, y ~ .,
        data = circle, kernel = k, noise = noise_beta(), bias = 1, nugget = 0,
        method = "hmc", rank = NULL, control = tiny_chains(), scale = TRUE,
        na.action = "fail", seed = 1, progress = FALSE
      ),
      kbr_call = call_case(kbr, x ~ y,
        data = pairs_of(), kernel_x = k, kernel_y = kernel_gaussian(),
        prior = NULL, eps = 0.01, delta = 0.02, rank = "auto", tol = NULL,
        method = "kbr", normalize = TRUE, scale = FALSE, na.action = "fail",
        seed = 1, progress = FALSE
      ),
      kbr_hmm_call = call_case(kbr_hmm, hmm_pairs()$states,
        observations = hmm_pairs()$observations, transitions = NULL,
        group = NULL, space = "euclidean", kernel_x = k, kernel_y = k,
        eps = 0.01, delta = 0.02, delta_smooth = 0.1, rank = "auto",
        tol = NULL, method = "kbr", scale = FALSE, seed = 1, times = NULL,
        inputs = NULL, summaries = NULL, lag = NULL, inflate = NULL,
        particles = NULL
      ),
      hmm_adjusted_call = call_case(kbr_hmm, hmm_pairs()$states,
        observations = hmm_pairs()$observations, transitions = NULL,
        group = NULL, times = 1:25 + 0, inputs = matrix(1:25 %% 3, 25),
        space = "euclidean", method = "adjusted", summaries = FALSE, lag = 0,
        inflate = 1, particles = 20, kernel_x = NULL, kernel_y = NULL,
        rank = "auto", scale = FALSE, seed = 1, eps = NULL, delta = NULL,
        delta_smooth = NULL, tol = NULL, log_likelihood = NULL
      ),
      hmm_particles_call = filter_case(an_adjusted_hmm(),
        observations = hmm_pairs()$observations[1:4],
        start = list(points = c(0, 1), weights = c(1, 3)), times = NULL,
        inputs = NULL, progress = FALSE
      ),
      srvm_predict = predict_case(
        srvm(y ~ x, sinc, kernel = k, control = small, seed = 1), new,
        type = "response", interval = "credible", level = 0.9
      ),
      srvm_update = update_case(
        srvm(y ~ x, sinc, kernel = k, control = small, seed = 1),
        newdata = new, na.action = "fail", time_limit = 1, n_moves = NULL,
        particles = NULL
      ),
      srvm_xy_update = update_case(
        srvm(as.matrix(sinc["x"]), sinc$y,
          offset = sinc$x / 4, kernel = k, control = small, seed = 1
        ),
        newx = as.matrix(new["x"]), newy = new$y, weights = 1:3, offset = 3:1
      ),
      bark_predict = predict_case(
        bark(y ~ x, sinc, control = tiny_chains(), seed = 1), new,
        type = "response", interval = "credible", level = 0.9
      ),
      bark_update = update_case(
        bark(y ~ x, sinc, control = tiny_chains(), seed = 1),
        iter = 3, time_limit = 1, progress = FALSE
      ),
      kgs_predict = predict_case(
        kgs(y ~ ., circle, control = tiny_chains(), seed = 1), few,
        type = "class", complement = TRUE, reject = 0.5
      ),
      kgs_update = update_case(
        kgs(y ~ ., circle, control = tiny_chains(), seed = 1),
        newdata = few, iter = 3, warmup = 2, time_limit = 1
      ),
      kbr_predict = predict_case(
        kbr(x ~ y, pairs_of(), seed = 1), data.frame(y = c(-1, 1)),
        type = "quantile", probs = c(0.2, 0.8)
      ),
      kbr_update = update_case(
        kbr(x ~ y, pairs_of(), seed = 1),
        prior = list(points = matrix(0), weights = 1), eps = 0.1, delta = 0.1,
        normalize = TRUE
      )
    )
  )
}

predict_case <- function(fit, newdata, ...) {
  arguments <- list(newdata = newdata, ...)
  function() {
    fit <- suppressWarnings(force(fit))
    list(
      f = function(...) stats::predict(fit, ...), arguments = arguments
    )
  }
}

update_case <- function(fit, ...) {
  arguments <- list(...)
  function() {
    fit <- suppressWarnings(force(fit))
    list(f = function(...) stats::update(fit, ...), arguments = arguments)
  }
}

filter_case <- function(hmm, ...) {
  arguments <- list(...)
  function() {
    force(hmm)
    list(f = function(...) kbr_filter(hmm, ...), arguments = arguments)
  }
}

#' Numbers that walk while data enter by powers, in runs of two sizes
a_jumping_tdsmc <- function() {
  flat <- function(new, old, t, data) numeric(length(new))
  walk <- td_move(function(states, t, data) {
    states + stats::runif(length(states), -1, 1)
  }, flat, flat)
  target <- td_target(
    function(states, t, data, power) {
      -states^2 / 2 - max(t - 1 + power, 0) * (states - 1)^2
    },
    function(n, data) stats::rnorm(n), td_rejuvenate(list(walk = walk))
  )
  fit <- tdsmc(target, steps = 2, control = smc_control(10), seed = 1)
  update(fit, particles = 25)
}

#' Stopped when the pilot has ended
shared_particles <- function(kernels) {
  fit <- tiny_srvm(y ~ x, sim_sinc(50, seed = 1),
    kernel = kernels,
    control = smc_control(100, n_moves = 1, time_limit = 1e-6)
  )
  while (is.null(fit$sharing$shares)) {
    fit <- update(fit, time_limit = 1e-6)
  }
  fit$control$time_limit <- Inf
  fit
}

#' Sums of a growing number of normals, one more per step
a_tdsmc <- function() {
  add <- td_move(
    propose = function(states, t, data) {
      lapply(states, function(s) c(s, stats::rnorm(1)))
    },
    log_forward = function(new, old, t, data) rep(0, length(new)),
    log_weight = function(new, old, t, data) rep(0, length(new))
  )
  tdsmc(
    td_target(
      log_density = function(states, t, data) {
        vapply(states, function(s) sum(stats::dnorm(s, log = TRUE)), 0)
      },
      initial = function(n, data) rep(list(numeric()), n)
    ), list(add = add),
    steps = 3, control = smc_control(particles = 10), seed = 1
  )
}
