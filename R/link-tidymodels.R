# parsnip: model specifications, registered when it is loaded.

#' Models for parsnip
#'
#' `parsnip::fit(srvm_spec("regression"), y ~ ., data)` fits [srvm()], and likewise
#' the specifications of [bark()] and [kgs()]. They can be put into a workflow with a
#' recipe, resampled and tuned, over the ranges of [tuning_parameters].
#' @param mode `"regression"`, `"quantile regression"` or `"classification"`, for
#'   `bark_spec()` also `"censored regression"`; `kgs_spec()` is for
#'   classification only.
#' @param engine `"kernelbayes"`, the only one.
#' @param type,alpha,eps,gamma See [bark_prior()].
#' @param bandwidth Bandwidth of a Gaussian kernel, in units of the scaled
#'   predictors. `NULL`: the default kernel of the function, see [srvm()] and
#'   [kgs()].
#' @param lambda Expected number of kernels, see [srvm_prior()].
#' @param bias,nugget See [kgs()].
#' @param particles Number of particles, see [smc_control()].
#' @param iter Number of iterations of each chain after the warmup, see
#'   [mcmc_control()].
#' @details Everything else goes to `parsnip::set_engine()`: `kernel`, `prior`
#' and `control` (in place of the corresponding main arguments), and the
#' other arguments of the fit function, such as `family` of counts or `seed`. Without a
#' seed one is drawn from R's generator.
#'
#' Formulas are those of the fit functions; functions in them must be those of
#' packages. In a workflow give a formula with `kernels()`, groups or an offset to
#' `workflows::add_model(formula = )`, beside `workflows::add_variables()` or a
#' recipe for the columns. `parsnip::fit_xy()` and workflows without this formula fit
#' to `x` and `y`.
#'
#' Predictions are of the types `"numeric"`, `"class"`, `"prob"`, `"conf_int"`
#' (credible intervals of f or of the probabilities), `"pred_int"`, `"quantile"` (of
#' new responses) and `"raw"`; with censored responses `"time"` (the median),
#' `"survival"` (with `eval_time`, and `interval = "confidence"` for credible
#' intervals) and `"linear_pred"`. For `kgs_spec()` `"prob"` is for the label as
#' recorded, and `"class"` the most probable true class, see [predict.kb_kgs()].
#' Factors become indicators, one column per level; predictors are standardised by
#' the fit function.
#'
#' `bark_spec()` and `kgs_spec()` pass importance and frequency weights on as
#' `weights`: for [bark()] in classification only with the logit link, for [kgs()] only
#' with a nugget, the defaults. Of counts, classes and times they count rows. Of other
#' numbers frequency weights repeat rows, and importance weights divide the variance of
#' the noise, which is that of a row of weight 1.
#'
#' Without `iter` chains have the length that `bark()` and `kgs()` choose; with it
#' the warmup is a third of it. Where a warning says `update(fit, ...)`, `fit` is
#' `parsnip::extract_fit_engine()` of a fitted specification or workflow; to fit
#' again, use `control = mcmc_control(until = convergence(error = 0.1))` in
#' `parsnip::set_engine()`. Fits are plain data, which `saveRDS()` and
#' `bundle::bundle()` keep; for [bark()] `keep_data = FALSE` in
#' `parsnip::set_engine()` leaves out the data.
#' @return A model specification of class `model_spec`. Use
#'   `parsnip::extract_fit_engine()` to get the fit of this package from a
#'   fitted specification.
#' @examplesIf requireNamespace("parsnip", quietly = TRUE)
#' spec <- srvm_spec("regression", bandwidth = 0.3)
#' spec <- parsnip::set_engine(spec, "kernelbayes", seed = 1)
#' data <- sim_sinc(50, seed = 1)
#' fit <- parsnip::fit(spec, y ~ x, data)
#' predict(fit, data[1:3, ])
#' predict(fit, data[1:3, ], type = "pred_int", level = 0.9)
#'
#' # Groups
#' data$g <- rep(letters[1:5], 10)
#' mixed <- parsnip::set_engine(bark_spec("regression"), "kernelbayes",
#'   control = mcmc_control(chains = 2, warmup = 50, iter = 50), seed = 1
#' )
#' fit <- parsnip::fit(mixed, y ~ kernels(x) + (1 | g), data)
#' predict(fit, data[1:3, ], type = "conf_int")
#' @name parsnip_specs
NULL

#' @rdname parsnip_specs
#' @export
bark_spec <- function(mode = "unknown", engine = "kernelbayes", type = NULL,
                      alpha = NULL, eps = NULL, gamma = NULL, iter = NULL) {
  new_spec("bark_spec", mode, engine, rlang::enquos(
    type = type, alpha = alpha, eps = eps, gamma = gamma, iter = iter
  ), missing(mode), missing(engine))
}

#' @rdname parsnip_specs
#' @export
srvm_spec <- function(mode = "unknown", engine = "kernelbayes",
                      bandwidth = NULL, lambda = NULL, particles = NULL) {
  new_spec("srvm_spec", mode, engine, rlang::enquos(
    bandwidth = bandwidth, lambda = lambda, particles = particles
  ), missing(mode), missing(engine))
}

#' @rdname parsnip_specs
#' @export
kgs_spec <- function(mode = "classification", engine = "kernelbayes",
                     bandwidth = NULL, bias = NULL, nugget = NULL,
                     iter = NULL) {
  new_spec("kgs_spec", mode, engine, rlang::enquos(
    bandwidth = bandwidth, bias = bias, nugget = nugget, iter = iter
  ), missing(mode), missing(engine))
}

new_spec <- function(class, mode, engine, args, mode_missing, engine_missing) {
  need_package("parsnip", paste0("`", class, "()`"))
  for (arg in c("mode", "engine")) {
    if (!rlang::is_string(get(arg))) bad_argument(get(arg), arg, "a string")
  }
  tryCatch(
    parsnip::new_model_spec(class,
      args = unclass(args), eng_args = NULL, mode = mode,
      user_specified_mode = !mode_missing, method = NULL, engine = engine,
      user_specified_engine = !engine_missing
    ),
    error = function(error) {
      kb_abort("{conditionMessage(error)}", "argument", parent = NULL)
    }
  )
}

# Methods of specifications ---------------------------------------------------

update_of_spec <- function(class) {
  function(object, parameters = NULL, ..., fresh = FALSE) {
    given <- rlang::enquos(...)
    main <- intersect(names(given), names(object$args))
    args <- lapply(object$args, function(old) rlang::quo(NULL))
    args[main] <- given[main]
    engine <- lapply(given[setdiff(names(given), main)], rlang::eval_tidy)
    do.call(parsnip::update_spec, c(
      list(
        object = object, parameters = parameters, args_enquo_list = args,
        fresh = fresh, cls = class
      ), engine
    ))
  }
}

#' @export
update.bark_spec <- update_of_spec("bark_spec")

#' @export
update.srvm_spec <- update_of_spec("srvm_spec")

#' @export
update.kgs_spec <- update_of_spec("kgs_spec")

# Functions that parsnip calls ------------------------------------------------

#' Fit functions for parsnip
#'
#' The fit functions with the arguments of [parsnip_specs]; not for direct use.
#' @param formula,data,weights As in the fit functions. `..y ~ .` is parsnip's
#'   for what `parsnip::fit_xy()` was given.
#' @param type,alpha,eps,gamma,bandwidth,lambda,particles,bias,nugget,iter See
#'   [parsnip_specs].
#' @param ... To [bark()], [srvm()] or [kgs()]. `prior`, `kernel` and `control`
#'   are in place of the arguments above.
#' @return A fit.
#' @keywords internal
#' @export
bark_train <- function(formula, data, weights = NULL, type = NULL, alpha = NULL,
                       eps = NULL, gamma = NULL, iter = NULL, ...) {
  train("bark", formula, data, weights,
    given_only(type, alpha, eps, gamma, iter), list(...),
    list(prior = bark_prior, control = function(iter) {
      mcmc_control(
        warmup = max(iter %/% 3, 1), iter = iter, thin = max(1, iter %/% 1000)
      )
    })
  )
}

#' @rdname bark_train
#' @export
srvm_train <- function(formula, data, bandwidth = NULL, lambda = NULL,
                       particles = NULL, ...) {
  train("srvm", formula, data, NULL,
    given_only(bandwidth, lambda, particles), list(...),
    list(
      kernel = function(bandwidth) kernel_gaussian(bandwidth),
      prior = function(lambda) srvm_prior(lambda = lambda),
      control = function(particles) smc_control(particles = particles)
    )
  )
}

#' @rdname bark_train
#' @export
kgs_train <- function(formula, data, weights = NULL, bandwidth = NULL,
                      bias = NULL, nugget = NULL, iter = NULL, ...) {
  train("kgs", formula, data, weights,
    given_only(bandwidth, bias, nugget, iter), list(...),
    list(
      kernel = function(bandwidth) kernel_gaussian(bandwidth),
      control = function(iter) mcmc_control(warmup = NULL, iter = iter)
    )
  )
}

#' @rdname bark_train
#' @param object A fit of [bark()].
#' @param newdata,times,level See [predict.kb_bark()].
#' @param interval `"none"`, or anything else for credible intervals.
#' @return `bark_survival()`: a tibble with the column `.pred`, a table for each
#'   row.
#' @export
bark_survival <- function(object, newdata, times, interval = "none",
                          level = 0.9) {
  check_class(object, "kb_bark", "a fit of `bark()`")
  none <- identical(interval, "none")
  p <- if (none) {
    stats::predict(object, newdata, type = "survival", times = times)
  } else {
    stats::predict(object, newdata,
      type = "survival", times = times, interval = "credible", level = level
    )
  }
  curves <- lapply(seq_len(nrow(p)), function(i) {
    curve <- if (none) list(.pred_survival = p[i, ]) else {
      list(
        .pred_survival = p[i, , "fit"], .pred_lower = p[i, , "lwr"],
        .pred_upper = p[i, , "upr"]
      )
    }
    tibble::as_tibble(c(list(.eval_time = times), lapply(curve, unname)))
  })
  tibble::tibble(.pred = curves)
}

#' Call a fit function
#' @param main Main arguments that are given.
#' @param given Arguments of `set_engine()`.
#' @param makers For settings of the engine the functions that make them of main
#'   arguments.
#' @noRd
train <- function(engine, formula, data, weights, main, given, makers) {
  if (missing(formula) || !rlang::is_formula(formula, lhs = TRUE)) {
    bad_argument(formula, "formula", "a formula with a response")
  }
  if (missing(data) || !is.data.frame(data)) {
    bad_argument(data, "data", "a data frame")
  }
  for (setting in names(makers)) {
    inside <- intersect(names(formals(makers[[setting]])), names(main))
    if (is.null(given[[setting]])) {
      given[[setting]] <- if (length(inside) > 0) {
        do.call(makers[[setting]], main[inside], quote = TRUE)
      }
    } else if (length(inside) > 0) {
      refuse_hidden(inside, setting)
    }
    main[inside] <- NULL
  }
  y <- rlang::eval_tidy(rlang::f_lhs(formula), data, rlang::f_env(formula))
  numbers <- is.numeric(y) && is.null(dim(y))
  # The mode says that numbers are meant as numbers.
  if (numbers && !any(c("family", "reference") %in% names(given))) {
    given$family <- "gaussian"
  }
  # parsnip turns frequency weights into integers. Rows of numbers are repeated:
  # `weights` would divide their variance.
  if (is.integer(weights) && numbers &&
    identical(check_bark_family(given$family), "gaussian")) {
    rows <- rep(seq_along(y), weights)
    data <- data[rows, , drop = FALSE]
    y <- y[rows]
    weights <- NULL
  }
  if (!is.null(weights)) weights <- as.double(weights)
  rows <- list(formula, quote(data))
  if (identical(rlang::f_lhs(formula), quote(..y))) {
    x <- data[setdiff(names(data), "..y")]
    rows <- list(quote(x), quote(y))
  }
  # By names, so that the call in the fit is short.
  do.call(engine, c(rows, given_only(weights), main, given))
}

# Main arguments have no effect beside the engine's setting that contains them
refuse_hidden <- function(hidden, setting) {
  kb_abort(c(
    "{.arg {hidden}} would have no effect beside {.arg {setting}}.",
    x = "{.arg {setting}} is given in {.fn parsnip::set_engine}.",
    i = "Give one of them."
  ), "argument", argument = hidden)
}

# The arguments that are not NULL, by their names
given_only <- function(...) {
  values <- list(...)
  names(values) <- as.character(substitute(list(...)))[-1]
  values[!vapply(values, is.null, NA)]
}

# Registration ----------------------------------------------------------------

spec_modes <- list(
  bark_spec = c(
    "regression", "quantile regression", "classification", "censored regression"
  ),
  srvm_spec = c("regression", "quantile regression", "classification"),
  kgs_spec = "classification"
)

register_specs <- function() {
  for (spec in names(spec_modes)) {
    # The package was loaded a second time in this session.
    if (spec %in% parsnip::get_from_env("models")) next
    parsnip::set_new_model(spec)
    # Older versions of parsnip do not know all of them.
    for (mode in intersect(spec_modes[[spec]], parsnip::get_from_env("modes"))) {
      register_mode(spec, mode)
    }
    for (arg in names(formals(get(spec)))[-(1:2)]) {
      parsnip::set_model_arg(spec, "kernelbayes", arg, arg,
        list(pkg = "kernelbayes", fun = paste0("param_", arg)),
        has_submodel = FALSE
      )
    }
  }
}

register_mode <- function(spec, mode) {
  parsnip::set_model_mode(spec, mode)
  parsnip::set_model_engine(spec, mode, "kernelbayes")
  parsnip::set_dependency(spec, "kernelbayes", "kernelbayes", mode)
  parsnip::set_fit(spec, mode, "kernelbayes", list(
    # Groups and kernels() are for the fit functions to read.
    interface = "formula",
    protect = c("formula", "data", if (spec != "srvm_spec") "weights"),
    func = c(pkg = "kernelbayes", fun = sub("spec", "train", spec)),
    defaults = list()
  ))
  parsnip::set_encoding(spec, mode, "kernelbayes", list(
    predictor_indicators = "none", compute_intercept = FALSE,
    remove_intercept = TRUE, allow_sparse_x = FALSE
  ))
  types <- spec_predictions(spec, mode)
  for (type in names(types)) {
    parsnip::set_pred(spec, mode, "kernelbayes", type, types[[type]])
  }
}

spec_predictions <- function(spec, mode) {
  asks <- function(..., post = NULL) {
    list(
      pre = NULL, post = post, func = c(fun = "predict"),
      args = c(
        list(object = quote(object$fit), newdata = quote(new_data)), list(...)
      )
    )
  }
  band <- function(interval) {
    asks(
      type = "response", interval = interval, level = quote(level),
      post = function(x, object) {
        data.frame(.pred_lower = x[, "lwr"], .pred_upper = x[, "upr"])
      }
    )
  }
  numbers <- list(
    conf_int = band("credible"), pred_int = band("prediction"),
    # Of new responses, for the levels of the specification
    quantile = asks(
      type = "quantile", interval = "prediction",
      probs = quote(object$spec$quantile_levels),
      post = function(x, object) parsnip::matrix_to_quantile_pred(x, object)
    ),
    raw = asks()
  )
  if (mode == "quantile regression") {
    return(numbers[c("quantile", "raw")])
  }
  if (mode == "regression") {
    return(c(list(numeric = asks(type = "response")), numbers))
  }
  if (mode == "censored regression") {
    return(c(numbers, list(
      time = asks(type = "response"), linear_pred = asks(type = "link"),
      survival = list(
        pre = NULL, post = NULL,
        func = c(pkg = "kernelbayes", fun = "bark_survival"),
        args = list(
          object = quote(object$fit), newdata = quote(new_data),
          times = quote(eval_time), interval = quote(interval),
          level = quote(level)
        )
      )
    )))
  }
  frame <- function(x, object) as.data.frame(x)
  out <- list(
    class = asks(type = "class"), prob = asks(type = "prob", post = frame),
    raw = asks()
  )
  if (spec == "kgs_spec") {
    return(out)
  }
  c(out, list(conf_int = asks(
    type = "prob", interval = "credible", level = quote(level),
    post = function(x, object) {
      ends <- c(lower = "lwr", upper = "upr")
      levels <- dimnames(x)[[2]]
      columns <- lapply(ends, function(end) x[, , end])
      names <- outer(names(ends), levels, paste, sep = "_")
      bound <- as.data.frame(do.call(cbind, columns))
      # Level by level, the lower limit first.
      order <- order(rep(seq_along(levels), 2))
      stats::setNames(bound[order], paste0(".pred_", names))
    }
  )))
}

# dials: ranges of the arguments of model specifications, for tuning.

#' Ranges of tuning parameters
#'
#' The ranges that `tune::tune_grid()` and other functions of tidymodels use for
#' arguments of [parsnip_specs] marked by `tune::tune()`. To change one,
#' `update()` the set of parameters with another `range`.
#' @param range Two numbers: the lowest and the highest value; on a logarithmic
#'   scale their logarithms to base 10.
#' @param values The types, see [bark_prior()].
#' @details `param_bandwidth()` (in units of the scaled predictors),
#' `param_lambda()`, `param_gamma()`, `param_bias()` and `param_nugget()` are on a
#' logarithmic scale, `param_alpha()` and `param_eps()` on their own scale;
#' `param_particles()` and `param_iter()` are whole numbers, which cost time but do
#' not change the model. Within the ranges of `alpha`, `eps` and `gamma` the expected
#' number of kernels of [bark()] is between .5 and 190.
#' @return An object of class `param` of the package dials.
#' @examplesIf requireNamespace("dials", quietly = TRUE)
#' dials::grid_regular(param_bandwidth(), levels = 3)
#' dials::grid_regular(param_bandwidth(c(-0.5, 0.5)), levels = 3)
#' @name tuning_parameters
NULL

quant_param <- function(name, label, range, type = "double", log = FALSE) {
  need_package("dials", paste0("`param_", name, "()`"))
  # A list if an end is `dials::unknown()`
  known <- Filter(Negate(is.call), as.list(range))
  numbers <- all(vapply(known, is.numeric, NA)) && !anyNA(known)
  if (!is.vector(range) || length(range) != 2 || !numbers) {
    bad_argument(range, "range", "two numbers")
  }
  # The logarithm as dials itself has it.
  trans <- if (log) dials::penalty()$trans
  dials::new_quant_param(
    type = type, range = range, inclusive = c(TRUE, TRUE), trans = trans,
    label = stats::setNames(label, name)
  )
}

#' @rdname tuning_parameters
#' @export
param_type <- function(values = c(
                         "equal", "different", "select_equal",
                         "select_different"
                       )) {
  need_package("dials", "`param_type()`")
  if (!is.character(values)) bad_argument(values, "values", "strings")
  dials::new_qual_param("character",
    values = values, label = c(type = "Type of the scales")
  )
}

#' @rdname tuning_parameters
#' @export
param_alpha <- function(range = c(0.5, 1.5)) {
  quant_param("alpha", "Index of the stable process", range)
}

#' @rdname tuning_parameters
#' @export
param_eps <- function(range = c(0.2, 1)) {
  quant_param("eps", "Scale of the coefficients", range)
}

#' @rdname tuning_parameters
#' @export
param_gamma <- function(range = c(0, 1.5)) {
  quant_param("gamma", "Intensity of the stable process", range, log = TRUE)
}

#' @rdname tuning_parameters
#' @export
param_bandwidth <- function(range = c(-1, 1)) {
  quant_param("bandwidth", "Bandwidth of the kernel", range, log = TRUE)
}

#' @rdname tuning_parameters
#' @export
param_lambda <- function(range = c(0, 2)) {
  quant_param("lambda", "Expected number of kernels", range, log = TRUE)
}

#' @rdname tuning_parameters
#' @export
param_bias <- function(range = c(-1, 1)) {
  quant_param("bias", "Bias", range, log = TRUE)
}

#' @rdname tuning_parameters
#' @export
param_nugget <- function(range = c(-3, 0)) {
  quant_param("nugget", "Nugget", range, log = TRUE)
}

#' @rdname tuning_parameters
#' @export
param_particles <- function(range = c(100L, 2000L)) {
  quant_param("particles", "Number of particles", range, "integer")
}

#' @rdname tuning_parameters
#' @export
param_iter <- function(range = c(500L, 5000L)) {
  quant_param("iter", "Number of iterations", range, "integer")
}
