# The methods of the league: sourced by league.R.
#
# Each is a function of the training rows `x` (a data frame), the response `y`
# (numbers, or a factor of two levels), the test rows `new`, their responses
# `y_new` and a seed. For numbers it returns a list: `mean`, of the test rows;
# `log_density`, of their responses, and `cover`, the share of them inside the
# 90% prediction interval; NULL if the method has no such distribution. For
# classes: `prob`, a matrix with one column per level.
#
# Calls are the packages' defaults, one thread. What has no default, or not a
# sensible one:
#   km       estimates a nugget: its default interpolates
#   laGP     standardised predictors, separate widths
#   gam      smooths of numeric predictors, 10 functions each (mgcv's default),
#            or fewer, so that there are two rows per function; terms with fewer
#            than 3 are linear
#   xgboost  100 rounds

tails <- c(0.05, 0.95)

# ---- answers ----------------------------------------------------------------

inside <- function(y, lwr, upr) mean(y >= lwr & y <= upr)

# A normal distribution per test row; t if `df` is given.
normal_answer <- function(mean, sd, y, df = Inf) {
  z <- (y - mean) / sd
  list(
    mean = mean, log_density = stats::dt(z, df, log = TRUE) - log(sd),
    cover = inside(stats::pt(z, df), tails[[1]], tails[[2]])
  )
}

# The mixture over draws: `f`, draws x rows, and `sigma`, one per draw. A
# response is in the interval between two quantiles if its distribution function
# is between their probabilities.
mixture_answer <- function(f, sigma, y) {
  y_of <- matrix(y, nrow(f), length(y), byrow = TRUE)
  log_density <- stats::dnorm(y_of, f, sigma, log = TRUE)
  highest <- apply(log_density, 2, max)
  ratio <- exp(sweep(log_density, 2, highest))
  below <- colMeans(stats::pnorm(y_of, f, sigma))
  list(
    mean = colMeans(f), log_density = highest + log(colMeans(ratio)),
    cover = inside(below, tails[[1]], tails[[2]])
  )
}

# `p`: probabilities of the second level.
two_classes <- function(p) list(prob = cbind(1 - as.vector(p), as.vector(p)))

as_indicator <- function(y) as.numeric(y) - 1

# Indicators for levels of factors, the first level of each left out.
as_columns <- function(x, new) {
  both <- stats::model.matrix(~., rbind(x, new))[, -1, drop = FALSE]
  colnames(both) <- paste0("v", seq_len(ncol(both)))
  fit <- seq_len(nrow(x))
  list(x = both[fit, , drop = FALSE], new = both[-fit, , drop = FALSE])
}

# ---- this package -----------------------------------------------------------

# From a fit: variants of bark() use it too.
engine_answer <- function(fit, new, y_new) {
  if (is.factor(y_new)) {
    return(list(prob = stats::predict(fit, new, type = "prob")))
  }
  limits <- stats::predict(fit, new, interval = "prediction", level = 0.9)
  list(
    mean = limits[, "fit"],
    log_density = stats::predict(fit, new, type = "log_score", newy = y_new),
    cover = inside(y_new, limits[, "lwr"], limits[, "upr"])
  )
}

by_bark <- function(x, y, new, y_new, seed) {
  engine_answer(bark(x, y, seed = seed, progress = FALSE), new, y_new)
}

by_srvm <- function(x, y, new, y_new, seed) {
  engine_answer(srvm(x, y, seed = seed, progress = FALSE), new, y_new)
}

# ---- trees ------------------------------------------------------------------

by_dbarts <- function(x, y, new, y_new, seed) {
  if (is.factor(y)) {
    fit <- dbarts::bart(x, as_indicator(y), new, verbose = FALSE, seed = seed)
    return(two_classes(colMeans(stats::pnorm(fit$yhat.test))))
  }
  fit <- dbarts::bart(x, y, new, verbose = FALSE, seed = seed)
  mixture_answer(fit$yhat.test, fit$sigma, y_new)
}

# sigma has the draws of the warmup too.
by_bart <- function(x, y, new, y_new, seed) {
  columns <- as_columns(x, new)
  set.seed(seed)
  if (is.factor(y)) {
    fit <- BART::pbart(columns$x, as_indicator(y), columns$new)
    return(two_classes(fit$prob.test.mean))
  }
  fit <- BART::wbart(columns$x, y, columns$new)
  sigma <- utils::tail(as.vector(fit$sigma), nrow(fit$yhat.test))
  mixture_answer(fit$yhat.test, sigma, y_new)
}

by_ranger <- function(x, y, new, y_new, seed) {
  fit <- ranger::ranger(
    x = x, y = y, probability = is.factor(y), num.threads = 1, seed = seed
  )
  guess <- stats::predict(fit, new, num.threads = 1)$predictions
  if (is.factor(y)) list(prob = guess[, levels(y)]) else list(mean = guess)
}

by_xgboost <- function(x, y, new, y_new, seed) {
  columns <- as_columns(x, new)
  classes <- is.factor(y)
  aim <- if (classes) "binary:logistic" else "reg:squarederror"
  label <- if (classes) as_indicator(y) else y
  set.seed(seed)
  fit <- xgboost::xgb.train(
    list(objective = aim, nthread = 1),
    xgboost::xgb.DMatrix(columns$x, label = label),
    nrounds = 100
  )
  guess <- stats::predict(fit, columns$new)
  if (classes) two_classes(guess) else list(mean = guess)
}

# ---- Gaussian processes -----------------------------------------------------

# The default width is drawn from the data at random.
by_gausspr <- function(x, y, new, y_new, seed) {
  columns <- as_columns(x, new)
  set.seed(seed)
  fit <- kernlab::gausspr(columns$x, y)
  if (is.factor(y)) {
    p <- kernlab::predict(fit, columns$new, type = "probabilities")
    return(list(prob = p[, levels(y)]))
  }
  list(mean = as.vector(kernlab::predict(fit, columns$new)))
}

# predict() takes a test row that equals a training row for the same
# observation, without noise. So the nugget, which is the noise, is switched off
# there and added to the variance.
by_km <- function(x, y, new, y_new, seed) {
  columns <- as_columns(x, new)
  set.seed(seed)
  fit <- DiceKriging::km(
    design = as.data.frame(columns$x), response = y, nugget.estim = TRUE,
    control = list(trace = FALSE)
  )
  noise <- fit@covariance@nugget
  fit@covariance@nugget.flag <- FALSE
  out <- DiceKriging::predict(fit, as.data.frame(columns$new), type = "UK")
  normal_answer(out$mean, sqrt(out$sd^2 + noise), y_new)
}

by_lagp <- function(x, y, new, y_new, seed) {
  columns <- as_columns(x, new)
  x <- scale(columns$x)
  new <- scale(columns$new, attr(x, "scaled:center"), attr(x, "scaled:scale"))
  set.seed(seed)
  width <- laGP::darg(NULL, x)
  nugget <- laGP::garg(list(mle = TRUE), y)
  gp <- laGP::newGPsep(x, y - mean(y), rep(width$start, ncol(x)), nugget$start,
    dK = TRUE
  )
  on.exit(laGP::deleteGPsep(gp))
  laGP::jmleGPsep(gp, c(width$min, width$max), c(nugget$min, nugget$max),
    dab = width$ab, gab = nugget$ab
  )
  out <- laGP::predGPsep(gp, new, lite = TRUE)
  normal_answer(mean(y) + out$mean, sqrt(out$s2), y_new, out$df)
}

# ---- smooths ----------------------------------------------------------------

gam_terms <- function(x) {
  numeric <- vapply(x, is.numeric, NA)
  most <- min(10, nrow(x) %/% (2 * ncol(x)))
  vapply(names(x), function(name) {
    k <- min(most, length(unique(x[[name]])))
    if (!numeric[[name]] || k < 3) name else sprintf("s(%s, k = %d)", name, k)
  }, "")
}

by_gam <- function(x, y, new, y_new, seed) {
  names(x) <- names(new) <- paste0("v", seq_along(x))
  formula <- stats::reformulate(gam_terms(x), "y")
  if (is.factor(y)) {
    fit <- mgcv::gam(formula, stats::binomial(), cbind(x, y = as_indicator(y)))
    return(two_classes(stats::predict(fit, new, type = "response")))
  }
  fit <- mgcv::gam(formula, data = cbind(x, y = y))
  out <- stats::predict(fit, new, se.fit = TRUE)
  sd <- sqrt(as.vector(out$se.fit)^2 + fit$sig2)
  normal_answer(as.vector(out$fit), sd, y_new)
}

# ---- all --------------------------------------------------------------------

method <- function(package, run, classes = TRUE) {
  list(package = package, run = run, classes = classes)
}

league_methods <- list(
  bark = method("kernelbayes", by_bark),
  srvm = method("kernelbayes", by_srvm),
  dbarts = method("dbarts", by_dbarts),
  BART = method("BART", by_bart),
  ranger = method("ranger", by_ranger),
  gausspr = method("kernlab", by_gausspr),
  km = method("DiceKriging", by_km, classes = FALSE),
  laGP = method("laGP", by_lagp, classes = FALSE),
  gam = method("mgcv", by_gam),
  xgboost = method("xgboost", by_xgboost)
)

# Further methods from a file that defines `variants`, a list of functions.
with_variants <- function(methods, file) {
  if (is.null(file)) {
    return(methods)
  }
  sys.source(file, space <- new.env(parent = globalenv()))
  taken <- intersect(names(space$variants), names(methods))
  if (length(space$variants) == 0 || length(taken) > 0) {
    refuse_arguments(paste0(
      file, " must define `variants`, with names that are not taken",
      if (length(taken) > 0) paste0(": ", toString(taken)), "."
    ))
  }
  c(methods, lapply(space$variants, method, package = "kernelbayes"))
}

installed_methods <- function(methods) {
  packages <- vapply(methods, `[[`, "", "package")
  there <- vapply(packages, requireNamespace, NA, quietly = TRUE)
  for (name in names(methods)[!there]) {
    message("Skipped: ", name, " (", packages[[name]], " is not installed).")
  }
  methods[there]
}
