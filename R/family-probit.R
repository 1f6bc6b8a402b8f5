# Two classes; that of a row is the second with probability Phi(f).

family_probit <- list(
  outcome = "factor", object = c(binomial = "probit"), title = ", probit",
  numbers = function(y, scaling, offset) class_signs(y),
  types = c("class", "prob", "response", "link", "draws", "log_score"),
  effects = c("response", "link"),
  expected = function(fit, f, pool, chosen) stats::pnorm(f),
  respond = function(fit, f, rows, pool, chosen) {
    matrix(as.integer(f + stats::rnorm(length(f)) > 0), nrow(f))
  },
  log_lik = function(fit, f, rows, pool, chosen) {
    signs <- class_signs(rep(rows$y, each = nrow(f)))
    stats::pnorm(signs * f, log.p = TRUE)
  },
  truncation = TRUE, rung_power = 4,
  check = function(mould, prior) {
    check_two_classes(mould$y, mould$outcome_name)
  }
)
