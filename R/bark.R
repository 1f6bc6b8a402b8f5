# bark(): Bayesian additive regression kernels.

#' Bayesian additive regression kernels
#'
#' `bark()` fits the regression and classification models of Ouyang, Clyde and
#' Wolpert (2008): the function is a sum of Gaussian kernels whose number,
#' centres, coefficients and widths are all unknown,
#' \deqn{f(x) = \sum_{j = 1}^J \beta_j K(x, \chi_j), \qquad
#' K(x, \chi) = \exp\Big(-\sum_l \lambda_l (x_l - \chi_l)^2\Big),}{f(x) = sum_j
#' beta_j K(x, chi_j), K(x, chi) = exp(-sum_l lambda_l (x_l - chi_l)^2),}
#' by reversible-jump Markov chains in which the coefficients are integrated out
#' (but see `approximation` in [bark_prior()]). Each predictor has its own scale
#' \eqn{\lambda_l}, which measures how much it matters and may be exactly zero;
#' kernels share their scales or, by default for numeric responses, have their
#' own.
#'
#' @section The model:
#' `family = gaussian()`: \eqn{y_i \sim N(f(x_i), \sigma^2 / w_i)}{y_i ~
#' N(f(x_i), sigma^2 / w_i)} with `weights` w; with `bark_prior(df = )` the
#' noise is Student's t with that many degrees of freedom and the scale
#' \eqn{\sigma / \sqrt{w_i}}{sigma / sqrt(w_i)}, and outliers move f little.
#' `family = binomial()`, the default for two classes: the response is the second
#' of them with the probability \eqn{1 / (1 + e^{-f(x_i)})}{1 / (1 + exp(-f(x_i)))},
#' or a number of successes, each with this probability. See *Successes and two
#' classes*.
#' `family = binomial("probit")`: the same with the probability
#' \eqn{\Phi(f(x_i))}{Phi(f(x_i))}.
#' `family = "ordered"`, the default for an ordered factor: the response is at most
#' the k-th of C classes with probability
#' \eqn{\Phi(c_k - f(x_i))}{Phi(c_k - f(x_i))}; of the cut points
#' \eqn{c_1 < \ldots < c_{C - 1}}{c_1 < ... < c_(C - 1)} the first is 0, and the
#' logarithms of the gaps between them have independent standard normal priors.
#' Classes without rows are allowed; only the prior informs them. With `weights`
#' coefficients of kernels are part of the state, f has an intercept whose prior mean
#' fits the share of the first class, and kernels have scales of their own.
#' `family = "multinomial_logit"`, the default for classes without an order, and
#' `"multinomial"`: see *Several classes*.
#' `family = poisson()`: counts with the mean \eqn{e^{f(x_i)}}{exp(f(x_i))}.
#' `family = "negbinomial"`: counts with this mean m and the variance m + m^2 /
#' size, the size unknown. See *Counts*.
#' `family = Gamma("log")`: positive numbers with this mean m and the variance m^2 /
#' shape, the logarithm of the unknown shape N(0, 4).
#' `family = "weibull"` and `"lognormal"`: times, which may be censored. See
#' *Censored responses*.
#'
#' The centres \eqn{\chi_j} are rows of the data or the intercept (K = 1), each
#' equally likely; a row may be chosen several times. J is a Poisson variable,
#' and coefficients are heavy-tailed. [bark_prior()] has options for unequal
#' probabilities of locations, for centres that are not rows
#' ([centre_near_rows()]), for scales that kernels share or not (`own_scales`)
#' and for kernels that depend on the predictors through a few `directions`. The
#' scales have one of four priors:
#' * `"select_different"` (the default): an unknown subset of the predictors is
#'   in the kernel, each with its own scale;
#' * `"select_equal"`: an unknown subset with one common scale;
#' * `"different"`: all predictors, each with its own scale;
#' * `"equal"`: all predictors with one common scale.
#'
#' @section Terms beside kernels:
#' A formula may have, beside kernels, linear terms, groups and an offset:
#' `y ~ kernels(x1, x2) + age + sex + (1 | clinic) + offset(o)` is the model with
#' \deqn{o_i + z_i^T \gamma + b_{g(i)} + f(x_{i1}, x_{i2})}{o[i] + z[i]'gamma +
#' b[g(i)] + f(x1[i], x2[i])}
#' in place of f, for all families (for several unordered classes in each field,
#' without an offset).
#' * `kernels(x1, x2)` has the inputs of kernels. Several `kernels()` are summed:
#'   each kernel has inputs of one of them only, all equally probable, and scales
#'   of its own (not for several unordered classes).
#' * Plain terms are linear if the formula has `kernels()`, factors by contrasts,
#'   by `options(contrasts = )` or their own; there is always an intercept, and
#'   constant columns are left out, with a message. Without `kernels()` they are inputs
#'   of kernels; with `prior = bark_prior(gamma = 0)` there are no kernels, and
#'   plain terms are linear. A dot stands for all columns that appear nowhere
#'   else. Where you expect a trend, `kernels(x) + x` puts a line beside kernels,
#'   which alone fall back to the mean where rows are few.
#' * `(1 | g)` has a coefficient for each group of g, `(1 + z | g)` also a slope,
#'   `(1 + z || g)` without a correlation between the two. Slopes belong to numeric
#'   predictors. `(1 | a/b)` is short for `(1 | a)` and `(1 | a:b)`. A factor may
#'   also be a linear term: its groups then share what the linear term leaves.
#' * `offset(o)` is added as it is; on the latent scale for classes.
#'
#' With `x` and `y` give `linear`, `groups` and `offset` instead.
#' [fixef()][fixef.kb_bark], [ranef()][fixef.kb_bark],
#' [VarCorr()][fixef.kb_bark] and `coef()` have the coefficients;
#' `predict(type = "terms")` each component; [exposure_effects()] the summaries of
#' Bayesian kernel machine regression. [bark_prior()] describes the priors. All
#' coefficients of linear terms and of groups are integrated out while kernels move, of
#' several factors those of one and of the factors that it is nested in, in turns.
#' [evidence()][evidence.kb_bark], temperatures and the truncation approximation are
#' not defined with such terms.
#'
#' @section Counts:
#' f is the log of the mean and has an intercept beside the kernels. Its prior is
#' normal around the log of the mean response (of the rate, with an offset), with
#' `linear_sd` of [bark_prior()], 2.5 unless set, as its standard deviation; that of
#' `log(size)` is normal with mean 0 and standard deviation 2. The scales of kernels
#' vary around common ones (`own_scales = "pooled"` of [bark_prior()]). The log of an
#' exposure is an offset: `cases ~ age + dose + offset(log(years))`, or
#' `offset = log(years)` with `x` and `y`.
#' Linear terms and groups are as above, with coefficients that are part of the state;
#' [evidence()][evidence.kb_bark] and temperatures are not defined.
#'
#' @section Successes and two classes:
#' The response is `cbind(successes, failures)`, or zeros and ones, or two classes
#' (then predictions are classes and their probabilities). f has an intercept
#' beside the kernels, whose prior is normal around the link of the share of
#' successes, with `linear_sd` of [bark_prior()], 2.5 unless set, as its standard
#' deviation. Otherwise these fits are as those of counts. Two classes with
#' `binomial("probit")` have latent responses and common scales, with temperatures and
#' [evidence()][evidence.kb_bark]; see *The sampler*.
#'
#' @section Censored responses:
#' The response is a [survival::Surv()] object of type `"right"`, `"left"`,
#' `"interval"` or `"interval2"`, or numbers. With f and noise \eqn{\sigma
#' \epsilon}{sigma epsilon}
#' * `family = "weibull"` (the default for `Surv()`): accelerated failure times,
#'   \eqn{\log T = f(x) + \sigma \log E}{log T = f(x) + sigma log E} with E
#'   exponential: T has Weibull's distribution with shape \eqn{1/\sigma}{1/sigma}
#'   and scale \eqn{e^{f(x)}}{exp(f(x))}, as in [survival::survreg()].
#' * `family = "lognormal"`: \eqn{\log T = f(x) + \sigma \epsilon}{log T = f(x) +
#'   sigma epsilon} with normal \eqn{\epsilon}{epsilon}.
#' * `family = gaussian()`: the response itself is f(x) plus normal noise. Limits of
#'   detection are `Surv(pmax(y, limit), y > limit, type = "left")`.
#'
#' The logarithms, or the numbers, are standardised as those of other numeric
#' responses, a censored one by its limit; f has an intercept, and the noise has
#' the prior `noise` of [bark_prior()], on the precision
#' \eqn{1/\sigma^2}{1/sigma^2}. Scales of kernels vary around common ones
#' (`own_scales = "pooled"`). An offset is added to f. `predict(type = "survival",
#' times = )` gives probabilities of later times.
#' [evidence()][evidence.kb_bark], temperatures and Student's noise are not defined.
#'
#' @section Noise that varies:
#' `bark(y ~ x1 + x2, data, sigma = ~ x1)` models the variance of the noise too,
#' \deqn{y_i \sim N(f(x_i), e^{g(x_i)} / w_i), \qquad g(x) = \gamma_0 +
#' \sum_{j = 1}^{J_g} \beta_j K_j(x),}{y_i ~ N(f(x_i), exp(g(x_i)) / w_i), g(x) =
#' gamma_0 + sum_j beta_j K_j(x),}
#' f as above and g, the log variance, an intercept and a sum of kernels of its own,
#' whose inputs are those that `sigma` names: `~ .` is all inputs of kernels of f.
#' Intervals are then wide where the noise is large, and f follows the responses
#' where it is small; `predict(type = "sigma")` has the standard deviation of new
#' responses, or its scale for Student's noise. The prior of g: J_g is a Poisson
#' variable with mean 5, coefficients
#' have a t distribution with 5 degrees of freedom and scale 0.5, each kernel has its
#' own scales with the default prior
#' of numeric responses, and the intercept is normal with standard deviation 2
#' around the log of the variance of the response (of its product with the
#' weights) minus 1. Coefficients of f are integrated out given g, and those of g
#' are part of the state; linear terms, groups, offsets and `weights` are as above.
#'
#' As without `sigma`, the noise is Student's t with unknown degrees of freedom unless
#' `df` of [bark_prior()] says otherwise (`Inf`: normal), and \eqn{e^{g / 2}}{exp(g /
#' 2)} is its scale: outliers at random places raise the degrees of freedom less
#' than they would raise the variance around them. Where the noise is constant the
#' model loses little. `sigma()` is the root of the mean of \eqn{e^g}{exp(g)} over
#' the rows. [evidence()][evidence.kb_bark], temperatures and `bark_prior(noise = ,
#' approximation = "truncation")` are not defined.
#'
#' @section Several classes:
#' Each of C classes has a function \eqn{f_k}{f_k} of its own, a *field*: a sum of
#' kernels as above with its own number, centres, coefficients and scales, all
#' fields independent under the same prior. With `family = "multinomial_logit"`,
#' the default,
#' \deqn{P(y = k | x) = e^{f_k(x)} / \sum_j e^{f_j(x)},}{P(y = k | x) =
#' exp(f_k(x)) / sum_j exp(f_j(x)),}
#' fields have intercepts, normal around 0 with standard deviation `linear_sd` of
#' [bark_prior()], and each field is sampled as a model of two classes with the
#' logit link, given the others. With `family = "multinomial"` the class is that of
#' the largest \eqn{z_{ik} = f_k(x_i) + N(0, 1)}{z_ik = f_k(x_i) + N(0, 1)}
#' (multinomial probit; Albert and Chib, 1993), so that
#' \deqn{P(y = k | x) = \int \phi(u) \prod_{j \ne k} \Phi(u + f_k(x) -
#' f_j(x)) du;}{P(y = k | x) = integral of phi(u) prod_{j != k} Phi(u + f_k(x) -
#' f_j(x)) du;}
#' kernels share their scales, and there are temperatures and
#' [evidence()][evidence.kb_bark].
#'
#' Adding the same function to all fields changes no probability: the data
#' inform only differences of fields, and the prior, which is proper, identifies
#' each field. Interpret only probabilities and differences of fields. C - 1
#' fields against a base class would not have this freedom, but the results
#' would depend on the choice of the base class; with C fields the prior treats
#' all classes alike. With two classes the multinomial probit model is a probit
#' model whose f, the difference of two fields over \eqn{\sqrt 2}{sqrt(2)}, has two
#' sets of scales.
#'
#' By default each kernel of a numeric response has its own scales, a linear part is
#' beside the kernels (`linear` in [bark_prior()]), and the noise is Student's t with
#' unknown degrees of freedom. `prior = bark_prior_paper()` with `scale = "linear"` is
#' the model of the paper throughout: common scales, kernels only, and normal noise.
#'
#' @section The sampler:
#' Each iteration is a sweep of all moves: births and deaths of kernels, new
#' places and multiplicities, precisions of the coefficients, scales of all
#' predictors together, one by one and in pairs, predictors into and out of the
#' kernel, and the noise. Student-t noise is normal given a weight for each row,
#' which is also drawn. Ordered classes, and others with a probit link, have latent
#' responses, drawn with the coefficients integrated out, and cut points, moved
#' without them. With `alpha = 1` each sweep also drops the latent responses and
#' moves kernels and scales with their coefficients: one by one, all of them by
#' Hamiltonian dynamics and elliptical slices, and scales with coefficients that
#' follow. So chains mix where classes are well separated. Kernels that
#' are born or relocated get a coefficient from a data-informed proposal; where
#' kernels share their scales, most locations are chosen among 200 candidates by
#' how much the kernel would contribute there. Step sizes adapt during the warmup
#' only.
#' Chains start at draws from the prior with small scales. With
#' `mcmc_control(n_temps = )` above 1 each chain is coupled with others at higher
#' temperatures.
#'
#' Classes with the logit link, counts, successes and censored responses have no
#' latent ones: coefficients are part of the state. A move of one kernel draws its
#' coefficient from nearly its distribution given all else, and is accepted or
#' rejected with the likelihood itself; all coefficients then move together on
#' ellipses around their mode, and with pooled scales what kernels have in common.
#'
#' From 5000 rows on kernels of numeric responses with their own scales move
#' given the coefficients of the others, which are then drawn together: the time
#' of a move no longer grows with the number of kernels. Most proposals are
#' rejected after a look at 2500 rows; those that pass are judged by all rows, so
#' that the posterior is exact (Christen and Fox, 2005). The number of moves per
#' iteration is set in the warmup, by the number of kernels. Chains start where
#' short ones with 2000 of the rows end, then 8000, and so on.
#'
#' Two chains run at a time in threads, or more on [workers][kb_workers].
#'
#' [diagnostics()] has R-hat and effective sample sizes of sigma, J, the log
#' likelihood, f (for several classes their probabilities) at 20 training rows,
#' and the scales and inclusion of all predictors. `print()` has the Monte Carlo
#' error of predictions. If it is above 30% of their posterior standard deviation,
#' or that of a parameter that `print()` or `summary()` shows is, the fit warns with
#' class `kb_warning_convergence`.
#' [`update(iter = )`][update.kb_mcmc] continues a fit; the result is the same
#' as from one run of that total length.
#'
#' @section Length:
#' Where `control` leaves it open, as by default, eight chains have a warmup of 100
#' iterations (two classes: 50) and run on until the Monte Carlo error of predictions
#' and parameters is at most 25% of their posterior standard deviation (see
#' [convergence()]). They are judged after as many iterations as the warmup has, after
#' twice as many and so on, at most m = 400; beyond n = 2000, for classes beyond
#' n = 300, \eqn{400 (2000/n)^{0.7}}{400 (2000 / n)^0.7} or
#' \eqn{400 (300/n)^{0.7}}{400 (300 / n)^0.7}, at least 100. Every second iteration is
#' kept (two classes: every one). Many short chains, because what one gets wrong is in
#' which kernels it has settled, and longer chains do not change that. From 5000 rows
#' on, where kernels of numeric responses move given the others and an iteration has
#' many moves, twelve chains have a warmup of 200 000 / n iterations and keep the next
#' 120 000 / n, at least 14; from 20 000 rows on eight chains have 15 and 20.
#'
#' With `progress` a message (`kb_message_budget`) announces the budget, and
#' `print()` says whether the chains have converged; those of another length, if
#' there are two or more with 100 draws each, if errors are at most 30%.
#' The numbers depend on n and the model, not on the speed of the machine;
#' [estimate_cost()] tells how long they take.
#'
#' An effective draw of scales and inclusion may cost hundreds of iterations: for
#' these, `update(fit, until = convergence())` continues the chains. A length in
#' [mcmc_control()] is used as it is.
#'
#' @section The prior on the scale of the response:
#' Fit with `prior_only = TRUE` before you look at the data: draws are then from the
#' prior. `plot()` shows bands and some draws of the expected response (of f, for
#' gaussian responses), `bayesplot::pp_check()` drawn responses beside the observed
#' ones. Coefficients of kernels have heavy tails, by default those of a Cauchy
#' distribution: both pictures end near the data, and say how much is beyond. Where
#' the prior has no mean, as f has none, `predict()`, `fitted()` and
#' [partial_dependence()] return medians. If the draws are too far from what is
#' plausible, a smaller `eps` of [bark_prior()] makes coefficients smaller, a smaller
#' `gamma` kernels fewer, and an `alpha` above 1 the tails lighter.
#' `logLik()`, [evidence()][evidence.kb_bark], [cross_validate()], `loo::loo()` and
#' `loo::waic()` are errors (`kb_error_not_defined`): they score what the model has
#' learned from the responses.
#'
#' @section Instruction sets:
#' The sampler uses the widest registers of the processor: `fit$simd` is
#' `"avx512"`, `"avx2"` or `"portable"` (any processor, and Windows). With the
#' same build of the package and the same libraries, a seed gives the same draws
#' on processors with the same set; with another set sums are rounded in another
#' way, and draws agree in distribution only. `options(kernelbayes.simd =
#' "portable")`, or `"avx2"`, limits the set, so that different x86-64 processors
#' give the same draws. `update()` and workers use the set of the fit if their
#' processor has it, otherwise the widest that it has.
#'
#' @section Defaults:
#' `alpha = 1`, `gamma = 10` and `eps = 0.5`, those of the paper's experiments:
#' 20 kernels are expected. They are in units of the response that the model
#' sees, and suit a standardised response (`scale = TRUE`).
#'
#' @param x A numeric matrix (rows are points), a data frame, a numeric vector
#'   (one column) or, as `formula`, a formula. Factors become indicators, one
#'   column per level.
#' @param y Response, one value per row of `x`: a numeric vector, or classes as
#'   a factor, character or logical vector; an ordered factor has ordered
#'   classes; a matrix of successes and failures; a [survival::Surv()] object.
#' @param formula,data A formula such as `y ~ .`, or with terms beside kernels
#'   (see below), and the data frame it is evaluated in.
#' @param family `gaussian()`, `binomial()` or `binomial("probit")`, or their names
#'   `"gaussian"`, `"logit"` and `"probit"`; `"ordered"` for a factor whose levels
#'   are in order; `"multinomial_logit"` and `"multinomial"` (probit) for several
#'   without an order; for counts `poisson()`, or `"poisson"`, and
#'   `"negbinomial"`; for positive numbers `Gamma("log")`; for times `"weibull"` and `"lognormal"`. `NULL`: gaussian for
#'   a numeric response (0 and 1 too, with a message), weibull for `Surv()`,
#'   ordered for an ordered factor of three levels or more
#'   (all its levels, whether or not they have rows), otherwise the logit link for
#'   classes. If `prior` or `control` ask for what only the probit link has, such as
#'   `bark_prior_paper()` or temperatures, it is probit. Of two classes the
#'   second level of the factor (`TRUE`, the last string) is the one whose
#'   probability is modelled.
#' @param prior Prior, see [bark_prior()].
#' @param control Settings of the sampler, see [mcmc_control()]; its defaults
#'   apply except for `warmup`, `iter` and `thin`.
#' @param weights `NULL`, or positive numbers, one per row; [kb_weights] says what
#'   they mean. Gaussian responses: the variance of the response of row i is
#'   \eqn{\sigma^2 / w_i}{sigma^2 / w_i}. Counts, successes, classes with the logit
#'   link, ordered classes and censored responses: row i stands for \eqn{w_i}{w[i]}
#'   rows (copies). Not defined for two or several classes with a probit link. In the
#'   formula interface they are looked up in `data` first.
#' @param sigma `NULL`: the noise has the same distribution at all rows, up to
#'   `weights`. Or a formula without a response, such as `~ x1 + x2` or `~ .`: the
#'   inputs of kernels that the variance of the noise depends on (a factor by its
#'   name), see *Noise that varies*. Gaussian responses only.
#' @param linear,groups,offset With `x` and `y`: `NULL`, or terms beside kernels,
#'   see the section below: linear predictors (a vector, a matrix or a data frame),
#'   groups (a vector, or a data frame with a column for each factor), and a
#'   number per row. A formula has them itself.
#' @param scale `TRUE`: the predictors and a numeric response are standardised,
#'   predictors with a long tail (an absolute skewness above 1, and six values or
#'   more) after their logarithm is taken, if it is less skewed: with d the
#'   distance from the smallest value (from the largest if the tail is to the
#'   left) and m its median, log(1 + d / m). `print()` names them. `"linear"`:
#'   standardised without logarithms. Results are reported in the original units, except
#'   the scales \eqn{\lambda_l}, which belong to the predictors that the model sees.
#'   `FALSE` leaves both untouched; the mean of the response should then not be
#'   far from 0 (`kb_warning_offset`).
#' @param prior_only Draw from the prior, without the likelihood? The default
#'   noise prior, the scaling and the prior mean of an intercept still come from the
#'   data. See *The prior on the scale of the response*.
#' @param na.action `"omit"` leaves rows with missing values or weights out and
#'   says how many, `"fail"` makes them an error. [stats::na.omit] and
#'   [stats::na.fail] mean the same.
#' @param keep_data `FALSE`: the value has what predictions need: of the data the
#'   rows that are centres of kernels only, and no states of the chains, so that its
#'   size does not grow with the number of rows. It has class `kb_predictor`, with
#'   [`predict`][predict.kb_bark] on new rows and `print`; all else needs the fit. A fit
#'   that was stopped keeps them (`kb_message_data_kept`).
#' @param seed Whole number that determines every draw; `NULL` takes one from
#'   R's generator. The result does not depend on the workers that run the
#'   chains.
#' @param progress Show a progress bar? `NULL`: in interactive sessions.
#' @param ... Not used: unknown arguments are errors.
#'
#' @return An object of class `kb_bark`, `kb_mcmc` and `kb_fit`: a list of plain
#'   R data with, among others, `settings` (the frozen settings), `runs` (one
#'   state per chain, with its draws), `seed`, `simd` and `status`
#'   (`"complete"`, `"interrupted"` or `"time_limit"`). It can be saved with [saveRDS()]
#'   and used in another session, after `library(kernelbayes)`. Methods: `print`,
#'   [`summary`][summary.kb_bark], [`plot`][plot.kb_bark], [`predict`][predict.kb_bark],
#'   [`update`][update.kb_mcmc], `fitted`, `residuals`, [`coef`][coef.kb_bark],
#'   `sigma`, `nobs`, `formula`, [`terms`][terms.kb_fit] and the model frame,
#'   `logLik`, `simulate`, [`as_draws`][as_draws.kb_bark],
#'   [`tidy`][tidy.kb_bark], `glance`, `augment`, [importance()],
#'   [partial_dependence()], [evidence()][evidence.kb_bark] and the other
#'   [accessors][evidence].
#'
#' @template formula-terms
#' @section Errors:
#' Invalid input is an error of class `kb_error` and a more specific class, e.g.
#' `kb_error_argument` (also for other families), `kb_error_missing`,
#' `kb_error_infinite`, `kb_error_outcome` (a response of the wrong type, or of
#' a single class), and for terms beside kernels `kb_error_groups` (groups with
#' one level, or a level per row; slopes that are not numbers). For several unordered
#' classes, levels without rows are dropped with a warning (`kb_warning_empty_level`). A
#' factor with more than 50 levels and more than half as many levels as rows may
#' identify the rows: it gives a warning, too (`kb_warning_levels`). Columns that are
#' constant in fitting are told, then and where they vary in new rows, which count as
#' having the same value (`kb_message_constant`). An interrupt or a time limit gives a
#' warning (`kb_warning_interrupted`, `kb_warning_time_limit`) and a fit with the draws
#' so far, which `update()` continues. [noise_improper()] warns with
#' `kb_warning_improper`.
#'
#' @references
#' Ouyang, Z., Clyde, M. A. and Wolpert, R. L. (2008). *Bayesian additive
#' regression kernels*. Department of Statistical Science, Duke University.
#'
#' Albert, J. H. and Chib, S. (1993). Bayesian analysis of binary and
#' polychotomous response data. *Journal of the American Statistical
#' Association* 88, 669-679. \doi{10.1080/01621459.1993.10476321}
#'
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
#' flowers <- iris[seq(1, 150, 3), ]
#' species <- bark(Species ~ ., flowers,
#'   control = mcmc_control(chains = 1, warmup = 50, iter = 50), seed = 1
#' )
#' predict(species, iris[c(2, 72, 135), ], type = "prob")
#'
#' # Noise that grows with x
#' data$w <- data$y + 3 * data$x1 * rnorm(60)
#' varying <- bark(w ~ x1 + x2 + x3, data, sigma = ~x1, control = settings,
#'   seed = 1
#' )
#' predict(varying, data[1:3, ], type = "sigma", interval = "credible")
#'
#' # Counts, with exposures
#' cases <- data.frame(dose = runif(60), years = rexp(60))
#' cases$y <- rpois(60, cases$years * exp(2 * sin(6 * cases$dose)))
#' rates <- bark(y ~ dose + offset(log(years)), cases,
#'   family = poisson(), control = settings, seed = 1
#' )
#' predict(rates, data.frame(dose = 0.2, years = 1), interval = "credible")
#'
#' # Times, some of them censored
#' if (requireNamespace("survival", quietly = TRUE)) {
#'   lung <- na.omit(survival::lung[1:80, c("time", "status", "age", "ph.ecog")])
#'   times <- bark(survival::Surv(time, status == 2) ~ ., lung,
#'     control = settings, seed = 1
#'   )
#'   predict(times, lung[1:2, ], type = "survival", times = c(180, 365))
#' }
#'
#' # What does the prior expect of the counts?
#' prior <- bark(y ~ dose + offset(log(years)), cases,
#'   family = poisson(), prior = bark_prior(eps = 0.1, gamma = 1), prior_only = TRUE,
#'   control = settings, seed = 1
#' )
#' plot(prior)
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
