# Numbers of successes, and two classes, with a logit link; successes with a
# probit link, too. Two classes with a probit link have a latent normal form:
# R/family-probit.R.

#' A family of successes, or of two classes
#' @param link The name of the link, and the end of the sampler's name.
#' @param inverse From f to the probability; with `log.p` to its logarithm.
#' @param counted The responses as a list of `y`, successes, and `trials`.
#' @param ... Other elements of the row.
#' @noRd
family_of_trials <- function(link, inverse, counted, ...) {
  list(
    ...,
    link_label = if (link == "logit") "log odds of" else "probit of",
    sampler = paste0("binomial_", link), parameters = character(),
    own_scales = "pooled", weights = "copies",
    numbers = function(y, scaling, offset) counted(y),
    effects = c("response", "link"),
    expected = function(fit, f, pool, chosen) inverse(f),
    respond = function(fit, f, rows, pool, chosen) {
      none <- is.na(f)
      trials <- rep(counted(rows$y)$trials, each = nrow(f))
      # Of two classes; new rows come without labels.
      if (is.null(rows$y)) trials <- 1
      p <- as.vector(inverse(replace(f, none, 0)))
      out <- stats::rbinom(length(f), ifelse(none, 1, trials), p)
      replace(matrix(out, nrow(f)), none, NA)
    },
    # Logarithms of both probabilities: 1 - p would lose digits.
    log_lik = function(fit, f, rows, pool, chosen) {
      of <- lapply(counted(rows$y), rep, each = nrow(f))
      yes <- inverse(f, log.p = TRUE)
      no <- inverse(-f, log.p = TRUE)
      failures <- of$trials - of$y
      out <- lchoose(of$trials, of$y) + ifelse(of$y > 0, of$y * yes, 0) +
        ifelse(failures > 0, failures * no, 0)
      matrix(out, nrow(f))
    },
    cdf = function(fit, f, rows, pool, chosen, y) {
      trials <- rep(counted(rows$y)$trials, each = nrow(f))
      y <- rep(y, each = nrow(f))
      matrix(stats::pbinom(y, trials, as.vector(inverse(f))), nrow(f))
    },
    quantile = function(fit, f, rows, pool, chosen, p) {
      trials <- rep(counted(rows$y)$trials, each = nrow(f))
      matrix(stats::qbinom(p, trials, as.vector(inverse(f))), nrow(f))
    },
    ends = function(y) {
      s <- counted(y)$y
      cbind(s - 1, s)
    },
    # Of a single trial
    variance = function(fit, f, pool, chosen) {
      p <- inverse(f)
      p * (1 - p)
    },
    shown = function(y) {
      of <- counted(y)
      of$y / of$trials
    },
    intercept = function(y, offset, weights) {
      of <- counted(y)
      p <- (sum(weights * of$y) + 0.5) / (sum(weights * of$trials) + 1)
      inverse_of(link)(p) - sum(weights * offset) / sum(weights)
    },
    truncation = FALSE
  )
}

inverse_of <- function(link) stats::make.link(link)$linkfun

class_counts <- function(y) {
  list(y = as.integer(y) - 1, trials = rep(1, length(y)))
}

trial_counts <- function(y) list(y = unname(y[, 1]), trials = rowSums(y))

family_logit <- family_of_trials("logit", stats::plogis, class_counts,
  outcome = "factor", object = c(binomial = "logit"), title = ", logit",
  types = c("class", "prob", "response", "link", "draws", "log_score"),
  warmup = 50L, check = function(mould, prior) {
    check_two_classes(mould$y, mould$outcome_name)
  }
)

trial_types <- c("response", "link", "draws", "log_score")

family_trials_logit <- family_of_trials("logit", stats::plogis, trial_counts,
  outcome = "trials", derived = "logit", title = ", binomial, logit",
  types = trial_types
)

family_trials_probit <- family_of_trials("probit", stats::pnorm, trial_counts,
  outcome = "trials", derived = "probit", title = ", binomial, probit",
  types = trial_types
)
