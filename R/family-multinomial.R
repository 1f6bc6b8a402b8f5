# bark() with more than two classes: a field (a sum of kernels) for each class;
# the class is that of the largest latent response. Fits have the class
# kb_bark_multinomial before kb_bark; their own methods are in the files
# bark-fields*.

# The families ----------------------------------------------------------------

#' A family of several classes without an order
#'
#' Draws are in the methods of kb_bark_multinomial: its fields are not one f.
#' @param sampler The sampler's name for a field given the others.
#' @param shapes May kernels have shapes of their own?
#' @param classes How probabilities follow from fields, lists of matrices points x
#'   draws: `what` of `bark_values()` they need; `mean` over draws, points x C;
#'   `given` draws, points x draws x C; `log`, of the classes y, points x draws.
#' @param ... Other elements of the row.
#' @noRd
family_of_fields <- function(sampler, shapes, classes, ...) {
  list(
    ...,
    classes = classes,
    outcome = "factor", sampler = sampler,
    numbers = function(y, scaling, offset) as.integer(y),
    types = c("class", "prob", "link", "draws", "log_score"),
    effects = c("response", "link"), truncation = FALSE,
    check = function(mould, prior) {
      check_classes_present(mould$y, mould$outcome_name)
      if (!shapes) refuse_shaped_fields(prior)
    }
  )
}

family_multinomial <- family_of_fields("probit",
  called = c(multinomial = "probit"),
  classes = list(
    what = "moments",
    mean = function(mean, variance) {
      bark_class_probability_cpp(mean, variance, TRUE)
    },
    given = function(f) bark_class_probability_cpp(f, list(), FALSE),
    log = function(mean, variance, y) {
      bark_class_log_probability_cpp(mean, variance, y)
    }
  ), shapes = FALSE, title = ", multinomial probit", rung_power = 4
)

# Coefficients that are in the draws leave no variance.
family_multinomial_logit <- family_of_fields("binomial_logit",
  called = c(multinomial = "logit"),
  classes = list(
    what = "draw",
    mean = function(mean, variance) apply(softmax(mean), c(1, 3), base::mean),
    given = function(f) softmax(f),
    log = function(mean, variance, y) {
      log_p <- softmax(mean, log = TRUE)
      points <- rep(seq_along(y), ncol(log_p))
      draws <- rep(seq_len(ncol(log_p)), each = length(y))
      matrix(log_p[cbind(points, draws, y[points])], length(y))
    }
  ),
  shapes = TRUE, title = ", multinomial logit", parameters = character(),
  own_scales = "pooled", weights = "copies",
  intercept = function(y, offset, weights) 0
)

# The families of `bark()`
check_bark_family <- function(family) {
  check_family(family, setdiff(named_families(), srvm_families))
}

# The family given, or that of the responses; two ordered classes are probit
#' @param latent Do the prior or the control ask for what only samplers with
#'   latent normal responses have?
#' @noRd
bark_family <- function(family, mould, latent = FALSE) {
  if (identical(family, "ordered") && nlevels(mould$y) == 2) {
    return("probit")
  }
  if (mould$outcome == "trials" && family %in% c("probit", "logit")) {
    if (family == "probit") note_single_trials(mould)
    return(paste0("trials_", family))
  }
  if (mould$outcome == "interval" && identical(family, "gaussian")) {
    return("censored")
  }
  if (is.null(family) && mould$outcome == "factor" && is.ordered(mould$y)) {
    family <- "ordered"
  }
  if (identical(family, "ordered") && !is.null(mould$weights) && !latent) {
    family <- "ordered_probit"
  }
  if (!is.null(family)) {
    return(family)
  }
  if (mould$outcome != "factor") {
    return(if (mould$outcome == "interval") "weibull" else "gaussian")
  }
  if (nlevels(mould$y) > 2) {
    return(if (latent) "multinomial" else "multinomial_logit")
  }
  if (latent) "probit" else "logit"
}

# Successes have no latent normal form, two classes have: R/family-classes.R
note_single_trials <- function(mould) {
  if (all(rowSums(mould$y) == 1)) {
    name <- mould$outcome_name
    kb_inform(c(
      "All responses are single trials.",
      i = "{.code factor({name})} is the same model, with a sampler that mixes
           better."
    ), "trials")
  }
}

multinomial_families <- c("multinomial", "multinomial_logit")

is_multinomial <- function(fit) {
  isTRUE(fit$settings$family %in% multinomial_families)
}

# Fields have centres at rows, and scales of the predictors common to all
# kernels
refuse_shaped_fields <- function(prior) {
  if (!inherits(prior, "kb_bark_prior")) {
    return(invisible())
  }
  used <- options_where(prior, "shapes", TRUE)
  if (length(used) > 0) {
    kb_abort(c(
      "{.arg {used}} of {.fn bark_prior} must be left out for
       {.code family = \"multinomial\"}.",
      i = "Its kernels are at rows, all equally likely, and share one scale per
           predictor. {.code family = \"multinomial_logit\"} has such kernels."
    ), c("not_defined", "argument"), argument = used[[1]])
  }
}

# The response as it was given, where it is a column
given_outcome <- function(data, mould) {
  name <- mould$outcome_name
  if (is.data.frame(data) && name %in% names(data)) data[[name]]
}

# Classes without a row are dropped with a warning
warn_empty_levels <- function(given, mould) {
  if (is.data.frame(given) && ncol(given) == 1) given <- given[[1]]
  empty <- if (is.factor(given)) setdiff(levels(given), mould$levels)
  if (length(empty) == 0 || length(mould$levels) < 3) {
    return(invisible())
  }
  kb_warn(c(
    "No row has the {cli::qty(empty)}class{?es} {.val {empty}}.",
    i = "{cli::qty(empty)}{?It is/They are} left out of the model and have no
         probability."
  ), "empty_level", levels = empty)
}

# The sampler -----------------------------------------------------------------

#' @export
fit_engine.kb_bark_multinomial <- function(fit) {
  engine <- NextMethod()
  engine$config$fields <- length(fit$mould$levels)
  # Its chains take a thread each.
  engine$config$threads <- NULL
  engine
}

# Draws -----------------------------------------------------------------------

#' @export
draws_in.kb_bark_multinomial <- function(fit) {
  vapply(fit$runs, function(run) length(run$draws$log_likelihood), 0L)
}

# The draws of all chains, one after the other: for each class those of its
# field, in the form of `bark_pool()`
field_pools <- function(fit) {
  runs <- lapply(fit_runs(fit), function(run) run$draws$fields)
  pools <- lapply(seq_along(fit$mould$levels), function(k) {
    fields <- lapply(runs, `[[`, k)
    names <- names(fields[[1]])
    stats::setNames(lapply(names, function(name) {
      unlist(lapply(fields, `[[`, name), use.names = FALSE)
    }), names)
  })
  stats::setNames(pools, fit$mould$levels)
}

#' @export
posterior_pool.kb_bark_multinomial <- function(fit) {
  fields <- field_pools(fit)
  n <- length(fields[[1]]$m)
  list(fields = fields, weights = rep(1 / n, n))
}

# The number of kernels in each draw of a field
field_copies <- function(pool) {
  n <- length(pool$m)
  as.double(tapply(
    c(pool$copies, integer(n)), c(rep(seq_len(n), pool$m), seq_len(n)), sum
  ))
}

#' @export
chain_matrices.kb_bark_multinomial <- function(fit) {
  chains <- length(fit_runs(fit))
  column <- function(v) matrix(v, ncol = chains)
  each <- lapply(field_pools(fit), function(pool) column(field_copies(pool)))
  names(each) <- paste0("J[", names(each), "]")
  log_lik <- lapply(fit_runs(fit), function(run) run$draws$log_likelihood)
  c(
    list(J = Reduce(`+`, each)), each, list(log_lik = column(unlist(log_lik))),
    if (has_mixed(fit)) mixed_field_chains(fit, chains)
  )
}

# The locations that hold a kernel of any field in each draw, in the form that
# `bark_location_probability()` needs
fields_locations <- function(fields) {
  n <- length(fields[[1]]$m)
  used <- do.call(rbind, lapply(fields, function(pool) {
    cbind(rep(seq_len(n), pool$m), pool$location)
  }))
  used <- used[!duplicated(used), , drop = FALSE]
  list(m = integer(n), location = used[, 2])
}

# Methods of bark fits of several classes.

# The lines of print() on the posterior of the fields
describe_fields <- function(x, show) {
  if (!has_kernels(x)) {
    return(classes_line(x))
  }
  means <- vapply(field_pools(x), function(pool) mean(field_copies(pool)), 0)
  paste0(classes_line(x), "  kernels:      ", shorten(paste0(
    names(means), " ", vapply(means, show, ""),
    collapse = ", "
  )), " on average\n")
}

#' @rdname summary.kb_bark
#' @export
coef.kb_bark_multinomial <- function(object, draw, ...) {
  object <- checked_fit(object, ...)
  if (missing(draw)) {
    if (!has_mixed(object)) refuse_mean_coefficients()
    return(for_each_field(object, function(pool) {
      coefficient_tables(object, pool)
    }))
  }
  fields <- field_pools(object)
  draw <- check_count(draw, 1, length(fields[[1]]$m))
  lapply(fields, function(pool) draw_coefficients(object, pool, draw))
}

#' @export
logLik.kb_bark_multinomial <- function(object, ...) {
  object <- checked_fit(object, ...)
  refuse_where(object, "logLik", "prior_only")
  df <- vapply(field_pools(object), function(pool) {
    mean(pool$m) + mean(bark_n_scales(object, pool)) + mixed_df(object)
  }, 0)
  structure(sum_copies(object, stats::predict(object, type = "log_score")),
    df = sum(df), nobs = stats::nobs(object), class = "logLik"
  )
}

# Accessors --------------------------------------------------------------------

#' @param class For scales with several classes: the name of a class, whose
#'   field is used; `NULL`: the largest scale of each predictor over the fields,
#'   and whether it is in any of them.
#' @rdname importance
#' @export
importance.kb_bark_multinomial <- function(object, level = 0.9,
                                           method = c(
                                             "inclusion", "permutation"
                                           ), ndraws = NULL,
                                           by = c("variable", "column"),
                                           class = NULL, ...) {
  by <- check_choice(by, c("variable", "column"))
  method <- check_choice(method, c("inclusion", "permutation"))
  if (method == "permutation") {
    if (!is.null(class)) {
      bad_argument(class, "class", "NULL with permutations")
    }
    return(bark_permutation(object, level, ndraws, by, ...))
  }
  object <- checked_fit(object, ...)
  level <- check_number(level, 0, 1, open = TRUE)
  ndraws <- check_effect_draws(ndraws)
  fields <- field_pools(object)
  if (!is.null(class)) {
    class <- match(check_choice(class, names(fields)), names(fields))
  }
  effects <- effect_table(
    object, unname(fields), class, ndraws, permuted_inputs(object, by)
  )
  parts <- scales_by(object, fields_scales(object, fields, class), by)
  scale_table(object, parts, level, effects)
}

# As `input_scales()`, the largest over fields
fields_scales <- function(fit, fields, class = NULL) {
  if (!is.null(class)) fields <- fields[class]
  each <- lapply(fields, function(pool) input_scales(fit, pool))
  list(
    scales = Reduce(pmax, lapply(each, `[[`, "scales")),
    included = Reduce(pmax, lapply(each, `[[`, "included"))
  )
}

leading_of_fields <- function(fit) {
  fields <- field_pools(fit)
  leading_inputs(fit, unname(fields), fields_scales(fit, fields)$scales)
}

# Methods for other packages
# -------------------------------------------------------------------

#' @rdname as_draws.kb_srvm
#' @export
as_draws.kb_bark_multinomial <- function(x, ...) {
  x <- checked_fit(x, ...)
  chains <- chain_matrices(x)
  fields <- field_pools(x)
  columns <- function(what, of) {
    do.call(cbind, Map(function(pool, class) {
      v <- of(pool)
      colnames(v) <- paste0(what, "[", class, ",", seq_len(ncol(v)), "]")
      v
    }, unname(fields), names(fields)))
  }
  scales <- if (has_kernels(x)) {
    columns("lambda", function(pool) bark_scales(x, pool))
  }
  if (bark_selects(x$settings$prior$type)) {
    scales <- cbind(scales, columns("delta", function(pool) {
      bark_included(x, pool)
    }))
  }
  draws <- data.frame(
    sigma = 1, lapply(chains, as.vector), check.names = FALSE
  )
  if (!is.null(scales)) draws <- cbind(draws, scales)
  draws$.chain <- as.vector(col(chains$J))
  draws$.iteration <- as.vector(row(chains$J))
  posterior::as_draws_df(draws)
}

#' @rdname as_draws.kb_srvm
#' @export
as_draws_df.kb_bark_multinomial <- as_draws.kb_bark_multinomial

#' @rdname tidy.kb_srvm
#' @export
tidy.kb_bark_multinomial <- function(x, conf.int = TRUE, conf.level = 0.9,
                                     ...) {
  x <- checked_fit(x, ...)
  chains <- chain_matrices(x)
  draws <- lapply(chains[names(chains) != "log_lik"], as.vector)
  if (bark_selects(x$settings$prior$type)) {
    d <- lapply(field_pools(x), function(pool) bark_n_included(x, pool))
    draws[paste0("d[", names(d), "]")] <- d
  }
  tidy_draws(draws, conf.int, conf.level)
}

#' @rdname tidy.kb_srvm
#' @export
augment.kb_bark_multinomial <- function(x, data = NULL, newdata = NULL, ...) {
  augment_classes(checked_fit(x), data, newdata, ...)
}

#' @export
expected_draws.kb_bark_multinomial <- function(fit, rows, pool, chosen) {
  p <- fields_class_draws(fit, rows, pool, chosen)
  second_or_all(p, fit$mould$levels)
}

#' @export
response_draws.kb_bark_multinomial <- function(fit, rows, pool, chosen) {
  label_draws(fields_class_draws(fit, rows, pool, chosen))
}

#' @export
response_log_lik.kb_bark_multinomial <- function(fit, rows, pool, chosen) {
  x <- rows$x[rows$complete, , drop = FALSE]
  f <- fields_values(fit, x, pool, "draw", chosen)$mean
  y <- as.integer(rows$y[rows$complete])
  t(spread_rows(family_of(fit)$classes$log(f, list(), y), rows$complete))
}
