# bark(): Bayesian additive regression kernels.

#' Bayesian additive regression kernels
#'
#' `bark(y ~ ., data)` fits a sum of Gaussian kernels to numbers, classes, counts or
#' times. The number of kernels, their centres, coefficients and widths are all
#' unknown (Ouyang, Clyde and Wolpert, 2008):
#' \deqn{f(x) = \sum_{j = 1}^J \beta_j K(x, \chi_j), \qquad
#' K(x, \chi) = \exp\Big(-\sum_l \lambda_l (x_l - \chi_l)^2\Big).}{f(x) = sum_j
#' beta_j K(x, chi_j), K(x, chi) = exp(-sum_l lambda_l (x_l - chi_l)^2).}
#' The response decides on the family. Markov chains run until predictions are
#' precise; `predict(fit, newdata, interval = "credible")` has means and intervals.
#' @section The model:
#' Each predictor has a scale \eqn{\lambda_l}, which may be exactly zero: the
#' predictor is then not in the kernel. Centres are rows of the data or the
#' intercept (K = 1), each equally likely. J is a Poisson variable, and coefficients
#' are heavy-tailed. [bark_prior()] has the priors and their options. With \eqn{f_i =
#' f(x_i)}{f[i] = f(x_i)} the response of row i is, by `family`,
#' * `gaussian()`: \eqn{N(f_i, \sigma^2 / w_i)}{N(f[i], sigma^2 / w[i])} with
#'   `weights` w; by default the noise is Student's t with this scale and unknown
#'   degrees of freedom, so that outliers move f little (`bark_prior(df = )`);
#' * `binomial()`: the second of two classes, or a success, with the probability
#'   \eqn{1 / (1 + e^{-f_i})}{1 / (1 + exp(-f[i]))};
#' * `binomial("probit")`: the same with \eqn{\Phi(f_i)}{Phi(f[i])};
#' * `"ordered"`: at most the k-th class with probability
#'   \eqn{\Phi(c_k - f_i)}{Phi(c_k - f[i])}. The first cut point c is 0; logarithms
#'   of gaps between them are standard normal a priori. Classes without rows are
#'   allowed;
#' * `"multinomial_logit"`: class k with probability proportional to
#'   \eqn{e^{f_k(x_i)}}{exp(f_k(x_i))}; each class has a function (*field*) of its
#'   own. `"multinomial"` is the probit model. Interpret only probabilities and
#'   differences of fields;
#' * `poisson()`: a count with mean \eqn{m = e^{f_i}}{m = exp(f[i])};
#'   `"negbinomial"`: with the variance m + m^2 / size, too, the size unknown;
#'   `Gamma("log")`: a positive number with this mean and the variance m^2 / shape,
#'   the shape unknown;
#' * `"weibull"`: a time T with \eqn{\log T = f_i + \sigma \log E}{log T = f[i] +
#'   sigma log E}, E exponential, as in [survival::survreg()]; `"lognormal"`: with
#'   normal noise instead of log E. Times and, with `gaussian()`, numbers may be
#'   censored: `Surv(pmax(y, limit), y > limit, type = "left")` has limits of
#'   detection.
#'
#' Families other than gaussian, and censored responses, have an intercept beside the
#' kernels (ordered classes only with `weights`, `"multinomial"` and two classes with
#' `binomial("probit")` not). The article `families` has their priors and examples,
#' `bark-more` the sampler.
#' @section Terms beside kernels:
#' A formula may have linear terms, groups and an offset beside kernels:
#' `y ~ kernels(x1, x2) + age + sex + (1 | clinic) + offset(o)` is the model with
#' \deqn{o_i + z_i^T \gamma + b_{g(i)} + f(x_{i1}, x_{i2})}{o[i] + z[i]'gamma +
#' b[g(i)] + f(x1[i], x2[i])}
#' in place of f, for all families (for several unordered classes in each field,
#' without an offset).
#' * `kernels(x1, x2)` has the inputs of kernels. Several `kernels()` are summed:
#'   each kernel has inputs of one of them only, all equally probable, and scales
#'   of its own (not for several unordered classes).
#' * Plain terms are linear if the formula has `kernels()`, or without kernels
#'   (`prior = bark_prior(gamma = 0)`); otherwise they are inputs of kernels. Factors
#'   have contrasts, by `options(contrasts = )` or their own. There is always an
#'   intercept; constant columns are left out, with a message. A dot stands for all
#'   columns that appear nowhere else. Where you expect a trend, `kernels(x) + x`
#'   puts a line beside the kernels, which alone fall back to the mean.
#' * `(1 | g)` has a coefficient for each group of g, `(1 + z | g)` also a slope of
#'   the numeric z, `(1 + z || g)` without a correlation between the two. `(1 | a/b)`
#'   is short for `(1 | a)` and `(1 | a:b)`. A factor may also be a linear term: its
#'   groups then share what the linear term leaves.
#' * `offset(o)` is added as it is, on the scale of f: for counts with exposures
#'   `cases ~ dose + offset(log(years))`.
#'
#' With `x` and `y` give `linear`, `groups` and `offset` instead.
#' [fixef()][fixef.kb_bark], [ranef()][fixef.kb_bark],
#' [VarCorr()][fixef.kb_bark] and `coef()` have the coefficients,
#' `predict(type = "terms")` each component, [exposure_effects()] the summaries of
#' Bayesian kernel machine regression.
#' @section Noise that varies:
#' `bark(y ~ x1 + x2, data, sigma = ~ x1)` models the log variance of the noise, too:
#' \eqn{y_i \sim N(f(x_i), e^{g(x_i)} / w_i)}{y_i ~ N(f(x_i), exp(g(x_i)) / w_i)},
#' where g is an intercept and a sum of kernels of its own. Its inputs are those that
#' `sigma` names, `~ .` all inputs of kernels of f. Intervals are then wide where the
#' noise is large. `predict(type = "sigma")` has its standard deviation, or its scale
#' for Student's noise, which is the default here, too. `sigma()` is the root of the
#' mean of \eqn{e^g}{exp(g)} over the rows.
#' [kb_combinations] lists what does not go with what, such as temperatures with terms
#' beside kernels; the article `methods` has the methods of each family.
#' @section Length:
#' Where `control` leaves it open, as by default, eight chains run on until the Monte
#' Carlo error of predictions and parameters is at most 25% of their posterior
#' standard deviation (see [convergence()]), or to a budget that depends on n and the
#' model. The warmup has 100 iterations (two classes: 50), and the budget is m = 400
#' further ones; beyond n = 2000, for classes beyond n = 300,
#' \eqn{400 (2000/n)^{0.7}}{400 (2000 / n)^0.7} or
#' \eqn{400 (300/n)^{0.7}}{400 (300 / n)^0.7}, at least 100. Every second iteration is
#' kept (two classes: every one). For numeric responses from 5000 rows on, where an
#' iteration has many moves, twelve chains have a warmup of 200 000 / n iterations and
#' keep the next 120 000 / n, at least 14; from 20 000 rows on eight chains have 15
#' and 20.
#'
#' With `progress` a message (`kb_message_budget`) announces the budget;
#' [estimate_cost()] tells how long it takes. `print()` says whether the chains have
#' converged and what may change with the seed. If the error is above 30%, of
#' predictions or of a parameter that `print()` or `summary()` shows, the fit warns
#' with class `kb_warning_convergence`: [`update(fit, until =
#' convergence())`][update.kb_mcmc] continues it. Scales and inclusion mix more
#' slowly; see [diagnostics()].
#' @section Instruction sets:
#' `fit$simd` names the registers that the sampler used. A seed gives the same draws
#' on processors with the same set, with the same build and libraries; with another
#' set they agree in distribution only. `options(kernelbayes.simd = "portable")`, or
#' `"avx2"`, limits the set.
#' @param x A numeric matrix (rows are points), a data frame, a numeric vector
#'   (one column) or, as `formula`, a formula. Factors become indicators, one
#'   column per level.
#' @param y Response, one value per row of `x`: a numeric vector, or classes as
#'   a factor, character or logical vector; an ordered factor has ordered
#'   classes; a matrix of successes and failures; a [survival::Surv()] object.
#' @param formula,data A formula such as `y ~ .`, or with terms beside kernels
#'   (see below), and the data frame it is evaluated in.
#' @param family `gaussian()`, `binomial()` or `binomial("probit")`, or their names
#'   `"gaussian"`, `"logit"` and `"probit"`; `"ordered"`, `"multinomial_logit"` or
#'   `"multinomial"`; `poisson()`, `"poisson"` or `"negbinomial"`; `Gamma("log")`;
#'   `"weibull"` or `"lognormal"`. `NULL`: gaussian for a numeric response (0 and 1
#'   too, with a message), weibull for `Surv()`, ordered for an ordered factor of
#'   three levels or more (with rows or not), otherwise the logit link for classes,
#'   or the probit link if `prior` or `control` ask for what only that has, such as
#'   `bark_prior_paper()` or temperatures. Of two classes the second level of the
#'   factor (`TRUE`, the last string) is the one whose probability is modelled.
#' @param prior Prior, see [bark_prior()].
#' @param control Settings of the sampler, see [mcmc_control()]; its defaults
#'   apply except for `warmup`, `iter` and `thin`.
#' @param weights `NULL`, or positive numbers, one per row; [kb_weights] says what
#'   they mean. Gaussian responses: the variance of row i is \eqn{\sigma^2 /
#'   w_i}{sigma^2 / w_i}. Other families: row i stands for \eqn{w_i}{w[i]} rows
#'   (copies); not defined for two or several unordered classes with a probit link.
#'   In the formula interface they are looked up in `data` first.
#' @param sigma `NULL`: the noise has the same distribution at all rows, up to
#'   `weights`. Or a formula without a response, such as `~ x1 + x2` or `~ .`: the
#'   inputs of kernels that the variance of the noise depends on (a factor by its
#'   name). Gaussian responses only.
#' @param linear,groups,offset With `x` and `y`: `NULL`, or terms beside kernels:
#'   linear predictors (a vector, a matrix or a data frame), groups (a vector, or a
#'   data frame with a column for each factor), and a number per row. A formula has
#'   them itself.
#' @param scale `TRUE`: the predictors and a numeric response are standardised, after
#'   the logarithm of predictors with a long tail is taken (an absolute skewness above
#'   1 and six values or more, if it lowers the skewness): log(1 + d / m), d the
#'   distance from the smallest value (from the largest if the tail is to the left)
#'   and m its median. `print()` names them. `"linear"`: standardised without
#'   logarithms. Results are in the original units, except the scales
#'   \eqn{\lambda_l}, which belong to the predictors that the model sees. `FALSE`
#'   leaves both untouched; the mean of the response should then not be far from 0
#'   (`kb_warning_offset`).
#' @param prior_only Draw from the prior, without the likelihood? The default
#'   noise prior, the scaling and the prior mean of an intercept still come from the
#'   data. `plot()` and `bayesplot::pp_check()` show the draws; where the prior has no
#'   mean, predictions are medians. Methods that score what was learned are errors
#'   (`kb_error_not_defined`). The article `families` has an example.
#' @param na.action `"omit"` leaves rows with missing values out (of weights and
#'   offsets too) and says how many, `"fail"` makes them an error. [stats::na.omit]
#'   and [stats::na.fail] mean the same.
#' @param keep_data `FALSE`: the value, of class `kb_predictor`, has what
#'   [`predict`][predict.kb_bark] on new rows and `print` need only, so that its size
#'   does not grow with the number of rows. A fit that was stopped keeps the data
#'   (`kb_message_data_kept`).
#' @param seed Whole number that determines every draw; `NULL` takes one from R's
#'   generator. The result does not depend on threads or workers.
#' @param progress Show a progress bar? `NULL`: in interactive sessions.
#' @param ... Not used: unknown arguments are errors.
#' @return An object of class `kb_bark`, `kb_mcmc` and `kb_fit`, with, among others,
#'   `settings` (the frozen settings), `runs` (one state per chain, with its draws),
#'   `seed`, `simd` and `status` (`"complete"`, `"interrupted"` or `"time_limit"`),
#'   for [`predict`][predict.kb_bark], [`plot`][plot.kb_bark],
#'   [`summary`][summary.kb_bark], [`update`][update.kb_mcmc],
#'   [`tidy`][tidy.kb_bark], [importance()], [partial_dependence()], the
#'   [accessors][evidence] and other methods.
#' @template formula-terms
#' @template errors-fit
#' @section Further conditions:
#' `kb_error_groups`: groups with one level, or a level per row, or slopes that are not
#' numbers. Levels without rows of several unordered classes are dropped with a warning
#' (`kb_warning_empty_level`). [noise_improper()] warns with `kb_warning_improper`.
#' @references
#' Ouyang, Z., Clyde, M. A. and Wolpert, R. L. (2008). *Bayesian additive
#' regression kernels*. Department of Statistical Science, Duke University.
#' @examples
#' data <- sim_friedman(60, p = 5, seed = 1)
#' # Short chains: a first look.
#' settings <- mcmc_control(chains = 2, warmup = 60, iter = 60)
#' fit <- bark(y ~ ., data, control = settings, seed = 1)
#' fit
#' predict(fit, data[1:3, ], interval = "prediction")
#' importance(fit)
#'
#' circle <- sim_circle(60, seed = 1)
#' classes <- bark(y ~ ., circle, control = settings, seed = 1)
#' predict(classes, circle[1:3, ], type = "prob")
#'
#' # Counts, with exposures
#' cases <- data.frame(dose = runif(60), years = rexp(60))
#' cases$y <- rpois(60, cases$years * exp(2 * sin(6 * cases$dose)))
#' rates <- bark(y ~ dose + offset(log(years)), cases,
#'   family = poisson(), control = settings, seed = 1
#' )
#' predict(rates, data.frame(dose = 0.2, years = 1), interval = "credible")
#'
#' # A linear term and groups beside kernels
#' data$clinic <- rep(letters[1:6], 10)
#' mixed <- bark(y ~ kernels(x1, x2, x3) + x4 + x5 + (1 | clinic), data,
#'   control = settings, seed = 1
#' )
#' mixed
#' head(predict(mixed, type = "terms"))
#' @export
bark <- function(x, ...) UseMethod("bark")

#' @export
bark.default <- function(x, ...) refuse_data(x, missing(x))

#' @rdname bark
#' @export
bark.formula <- function(formula, data, family = NULL, prior = bark_prior(),
                         control = mcmc_control(
                           chains = NULL, warmup = NULL, iter = NULL, thin = NULL
                         ), weights = NULL, sigma = NULL,
                         linear = NULL, groups = NULL, offset = NULL,
                         scale = TRUE, prior_only = FALSE,
                         na.action = c("omit", "fail"), keep_data = TRUE,
                         seed = NULL, progress = NULL, ...) {
  started <- now()
  check_no_dots(...)
  family <- check_bark_family(family)
  refuse_parts_twice(c(
    linear = !missing(linear), groups = !missing(groups),
    offset = !missing(offset)
  ), "y ~ kernels(x1, x2) + x3 + (1 | g) + offset(o)")
  mould <- mould_formula(formula, data, na.action, bark_outcome(family),
    weights = rlang::enquo(weights), plain = plain_terms(prior)
  )
  note_numbers(family, mould)
  warn_empty_levels(given_outcome(data, mould), mould)
  bark_fit(mould, given_arguments(), match.call(), started)
}

#' @rdname bark
#' @export
bark.matrix <- function(x, y) {
  started <- now()
  check_no_dots(...)
  family <- check_bark_family(family)
  refuse_x_without_kernels(prior)
  mould <- mould_xy(x, y, na.action, bark_outcome(family),
    weights = weights,
    mixed = list(linear = linear, groups = groups, offset = offset)
  )
  note_numbers(family, mould)
  warn_empty_levels(y, mould)
  bark_fit(mould, given_arguments(), match.call(), started)
}
formals(bark.matrix) <- c(alist(x = , y = ), formals(bark.formula)[-(1:2)])

#' @rdname bark
#' @export
bark.data.frame <- bark.matrix

#' @rdname bark
#' @export
bark.numeric <- bark.matrix

#' @rdname bark
#' @export
bark.logical <- bark.matrix

#' From a mould to a fit
#' @param given Arguments as in `bark()`.
#' @noRd
bark_fit <- function(mould, given, called, started) {
  given$prior <- check_class(given$prior, "kb_bark_prior", "`bark_prior()`",
    "prior"
  )
  given$control <- check_class(given$control, "kb_mcmc_control",
    "`mcmc_control()`", "control"
  )
  family <- bark_family(given$family, mould, needs_latent(given))
  mould <- with_intercept(mould, family)
  given$prior <- glm_prior(given$prior, family, mould)
  refuse_clashes("bark", list(
    given = given, family = family, row = response_families[[family]],
    prior = given$prior, control = given$control, mould = mould
  ))
  keep_data <- check_flag(given$keep_data, arg = "keep_data")
  settings <- call_with(
    bark_settings, replace(given, "family", family), mould = mould
  )
  control <- settled_control(given$control, bark_length(
    nrow(mould$x), family,
    given$control$sweep == "full" && moves_alone(settings, nrow(mould$x)),
    settings$prior_only
  ))
  progress <- check_progress(given$progress)
  if (progress) announce_budget(control)
  seed <- draw_seed(given$seed)
  fit <- new_object(
    list(
      version = fit_version, call = plain_call(called),
      mould = mould_empty(mould),
      settings = settings,
      request = fit_request(with_sigma_of_columns(given, settings, mould)),
      control = control,
      data = fit_data(mould),
      sequence = seq_len(nrow(mould$x)), seed = seed, simd = choose_simd(),
      runs = vector("list", control$chains), time = 0L, status = "started",
      seconds = 0
    ),
    class = c("kb_bark", "kb_mcmc", "kb_fit")
  )
  if (is_multinomial(fit)) class(fit) <- c("kb_bark_multinomial", class(fit))
  fit <- run_fit(fit, progress, started)
  if (keep_data) fit else without_data(fit)
}
