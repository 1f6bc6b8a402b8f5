# The methods compared on the tasks of Lueckmann et al. (2021). Sourced by
# sbi.R. Each is a function of the job: a list of `task`, `budget`,
# `observation` (its number), `y` (one row), `draws` (how many) and `pairs`,
# which all methods without rounds share. It returns a matrix of draws.

cpu_seconds <- function(expr) {
  started <- proc.time()
  force(expr)
  sum((proc.time() - started)[c("user.self", "sys.self")])
}

# The prior alone: sim_sbi() would simulate observations, too.
prior_of <- function(task) {
  found <- utils::getFromNamespace("sbi_tasks", "kernelbayes")[[task]]
  function(n) {
    x <- found$prior(n)
    colnames(x) <- found$parameters
    x
  }
}

# Work that is shared by the observations of a task: done once in a process, and
# its seconds are counted at each observation.
kept <- new.env()

once <- function(name, job, expr) {
  key <- paste(name, job$task, job$budget)
  if (is.null(kept[[key]])) {
    # Only one task at a time
    rm(list = grep(paste0("^", name, " "), ls(kept), value = TRUE),
      envir = kept
    )
    seconds <- cpu_seconds(value <- expr)
    kept[[key]] <- list(value = value, seconds = seconds)
  }
  kept[[key]]
}

# The pairs of a task: seed 1.
pairs_of <- function(job) {
  once("pairs", job, sim_sbi(job$task, job$budget, seed = 1))
}

# ---- kbr() ------------------------------------------------------------------

# Draws, and the seconds of work that another observation did already
result_of <- function(draws, before = 0, used = NA) {
  list(draws = draws, before = before, used = used)
}

posterior_draws <- function(fit, job) {
  found <- stats::predict(fit, job$y, type = "draws", ndraws = job$draws)
  matrix(found, ncol = ncol(job$reference))
}

# The default call, one fit for all observations
draw_kbr <- function(job) {
  known <- !is.null(kept[[paste("kbr", job$task, job$budget)]])
  fit <- once("kbr", job, kbr(job$pairs, seed = 1))
  result_of(
    posterior_draws(fit$value, job), if (known) fit$seconds else 0, job$budget
  )
}

# Simulations in four rounds for each observation: seed = its number.
draw_kbr_rounds <- function(job) {
  simulate <- function(...) sim_sbi(job$task, ...)
  pairs <- kbr_simulate(
    prior_of(job$task), function(theta) simulate(theta = theta)$y,
    n = job$budget, seed = job$observation, rounds = 4, observation = job$y,
    support = simulate(1, seed = 1)$support
  )
  fit <- kbr(pairs, seed = 1)
  result_of(posterior_draws(fit, job), 0, nrow(pairs$x))
}

# ---- ABC --------------------------------------------------------------------

# Draws of a Gaussian kernel density estimate with one bandwidth for all
# columns, chosen by 20-fold cross-validation of the log likelihood, as in the
# benchmark.
draw_density <- function(points, weights, n) {
  weights <- weights / sum(weights)
  square <- as.matrix(stats::dist(points))^2
  fold <- sample(rep_len(1:20, nrow(points)))
  other <- outer(fold, fold, "!=")
  spread <- sqrt(mean(apply(points, 2, stats::var)))
  widths <- spread * exp(seq(log(0.02), log(1), length.out = 40))
  fit <- vapply(widths, function(h) {
    # The largest term of each sum is taken out: it may be very small.
    log_kernel <- ifelse(other, -square / (2 * h^2), -Inf)
    top <- apply(log_kernel, 1, max)
    density <- drop(exp(log_kernel - top) %*% weights) / drop(other %*% weights)
    sum(weights * (top + log(density))) - ncol(points) * log(h)
  }, 0)
  h <- widths[[which.max(fit)]]
  rows <- sample.int(nrow(points), n, replace = TRUE, prob = weights)
  points[rows, , drop = FALSE] + h * stats::rnorm(n * ncol(points))
}

# The 100 pairs whose observations are nearest; columns are divided by their
# standard deviations.
draw_rejection <- function(job) {
  y <- job$pairs$y
  spread <- apply(y, 2, stats::sd)
  spread[spread == 0] <- 1
  distance <- colSums(((t(y) - drop(job$y)) / spread)^2)
  near <- order(distance)[1:100]
  result_of(
    draw_density(job$pairs$x[near, , drop = FALSE], rep(1, 100), job$draws), 0,
    100
  )
}

# States on a line without bounds, and back
to_line <- function(x, support) {
  if (all(is.finite(support))) {
    low <- rep(support["lower", ], each = nrow(x))
    high <- rep(support["upper", ], each = nrow(x))
    return(stats::qlogis((x - low) / (high - low)))
  }
  if (all(support["lower", ] == 0)) log(x) else x
}

from_line <- function(x, support) {
  if (all(is.finite(support))) {
    low <- rep(support["lower", ], each = nrow(x))
    high <- rep(support["upper", ], each = nrow(x))
    return(low + (high - low) * stats::plogis(x))
  }
  if (all(support["lower", ] == 0)) exp(x) else x
}

# Package abc with the tolerance 0.1 of its examples: adjusted states are
# smoothed like those of rejection, on the line, where they were adjusted.
draw_abc <- function(method) {
  force(method)
  function(job) {
    support <- job$pairs$support
    transform <- if (all(is.finite(support))) {
      "logit"
    } else if (all(support["lower", ] == 0)) {
      "log"
    } else {
      "none"
    }
    columns <- varying_columns(job, 0.1)
    arguments <- list(
      target = job$y[, columns], param = job$pairs$x,
      sumstat = job$pairs$y[, columns], tol = 0.1, method = method,
      transf = rep(transform, ncol(job$pairs$x)), logit.bounds = t(support)
    )
    if (method == "neuralnet") arguments$trace <- FALSE
    utils::capture.output(found <- do.call(abc::abc, arguments))
    line <- to_line(found$adj.values, support)
    fine <- rowSums(!is.finite(line)) == 0
    draws <- draw_density(
      line[fine, , drop = FALSE], found$weights[fine], job$draws
    )
    result_of(from_line(draws, support), 0, sum(fine))
  }
}

# abc() stops where accepted observations have constant or collinear columns:
# these are left out.
varying_columns <- function(job, tolerance) {
  near <- abc::abc(job$y, job$pairs$x, job$pairs$y,
    tol = tolerance, method = "rejection"
  )
  some <- job$pairs$y[near$region, , drop = FALSE]
  basis <- qr(scale(some, scale = FALSE))
  sort(basis$pivot[seq_len(basis$rank)])
}

# ---- random forests ---------------------------------------------------------

# A regression forest per parameter. The weight of a pair is its share of the
# leaves that the observation falls into; parameters are drawn independently.
draw_rf <- function(job) {
  known <- !is.null(kept[[paste("rf", job$task, job$budget)]])
  forests <- once("rf", job, lapply(seq_len(ncol(job$pairs$x)), function(j) {
    forest <- ranger::ranger(
      x = as.data.frame(job$pairs$y), y = job$pairs$x[, j], num.trees = 500,
      min.node.size = 5, keep.inbag = TRUE, num.threads = 1, seed = j
    )
    list(
      forest = forest, inbag = do.call(cbind, forest$inbag.counts),
      leaves = leaves_of(forest, job$pairs$y)
    )
  }))
  draws <- vapply(seq_along(forests$value), function(j) {
    part <- forests$value[[j]]
    here <- leaves_of(part$forest, job$y)
    inside <- part$inbag * (part$leaves == rep(here, each = nrow(part$leaves)))
    weights <- rowMeans(inside / rep(colSums(inside), each = nrow(inside)))
    sample(job$pairs$x[, j], job$draws, replace = TRUE, prob = weights)
  }, numeric(job$draws))
  result_of(draws, if (known) forests$seconds else 0, job$budget)
}

leaves_of <- function(forest, y) {
  stats::predict(forest, as.data.frame(y),
    type = "terminalNodes", num.threads = 1
  )$predictions
}

sbi_methods <- list(
  kbr = draw_kbr, kbr_rounds = draw_kbr_rounds, rejection = draw_rejection,
  loclinear = draw_abc("loclinear"), neuralnet = draw_abc("neuralnet"),
  rf = draw_rf
)
