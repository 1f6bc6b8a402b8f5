# Births and deaths as proposals of tdsmc(), beside particles that stay and jump
# in rejuvenation: sinusoids of unknown number and frequencies, against
# quadrature.
#
#   Rscript tools/reproduce/tdsmc.R            20 seeds, 6 minutes
#   Rscript tools/reproduce/tdsmc.R --quick    2 seeds, written nowhere
#
# Writes vignettes/articles/sinusoids.rds for the article on tdsmc(). Needs the
# installed package.

library(kernelbayes)
quick <- "--quick" %in% commandArgs(TRUE)
seeds <- if (quick) 1:2 else 1:20
file <- grep("^--file=", commandArgs(FALSE), value = TRUE)
here <- normalizePath(dirname(sub("^--file=", "", file)))
source(file.path(here, "tdsmc-model.R"))

# Quadrature -----------------------------------------------------------------

log_sum <- function(v) max(v) + log(sum(exp(v - max(v))))

# The factor of the likelihood that one pair of amplitudes brings, given the
# elements of its precision without the prior, and of its linear term
pair_factor <- function(m11, m12, m22, b1, b2) {
  det <- (m11 + 1) * (m22 + 1) - m12^2
  square <- (m22 + 1) * b1^2 - 2 * m12 * b1 * b2 + (m11 + 1) * b2^2
  square / det / 2 - log(det) / 2
}

# log p(y | k) for k = 0..3 by the midpoint rule in all frequencies. Pairs of
# amplitudes are eliminated one after the other.
log_evidence_by_number <- function(y, nodes = 200) {
  w <- (seq_len(nodes) - 0.5) / nodes / 2
  angle <- outer(seq_along(y), 2 * pi * w)
  x <- cbind(cos(angle), sin(angle))
  m <- crossprod(x)
  b <- drop(crossprod(x, y))
  pair <- function(j) c(j, nodes + j)
  eliminate <- function(m, b, j) {
    p <- pair(j)
    u <- m[, p] %*% solve(m[p, p] + diag(2))
    list(m = m - u %*% m[p, ], b = b - drop(u %*% b[p]))
  }
  factors <- function(m, b, k = seq_len(nodes)) {
    pair_factor(
      m[cbind(k, k)], m[cbind(k, nodes + k)], m[cbind(nodes + k, nodes + k)],
      b[k], b[nodes + k]
    )
  }
  # The same for k given that j is eliminated as well, without the whole matrix
  third <- function(m, b, j, k) {
    p <- pair(j)
    u <- m[, p] %*% solve(m[p, p] + diag(2))
    left <- function(r, s) {
      m[cbind(r, s)] - rowSums(u[r, , drop = FALSE] * m[s, p, drop = FALSE])
    }
    b <- b - drop(u %*% b[p])
    pair_factor(left(k, k), left(k, nodes + k), left(nodes + k, nodes + k),
      b[k], b[nodes + k]
    )
  }
  one <- factors(m, b)
  two <- three <- NULL
  for (i in seq_len(nodes)) {
    rest <- eliminate(m, b, i)
    second <- one[[i]] + factors(rest$m, rest$b)
    two <- c(two, second[i:nodes] + log(ifelse(i:nodes == i, 1, 2)))
    for (j in i:nodes) {
      k <- j:nodes
      # In how many orders the three nodes occur
      orders <- ifelse(k == j, if (j == i) 1 else 3, if (j == i) 3 else 6)
      three <- c(three, log_sum(
        second[[j]] + third(rest$m, rest$b, j, k) + log(orders)
      ))
    }
  }
  sum(dnorm(y, log = TRUE)) + c(
    0, log_sum(one) - log(nodes), log_sum(two) - 2 * log(nodes),
    log_sum(three) - 3 * log(nodes)
  )
}

by_number <- log(prior) + log_evidence_by_number(y)
exact <- list(
  log_evidence = log_sum(by_number),
  probability = exp(by_number - log_sum(by_number))
)

# Runs -----------------------------------------------------------------------

walks <- td_rejuvenate(walk, rounds = 5)
extended <- function(rejuvenate) td_target(log_density, initial, rejuvenate)
static <- td_target(
  function(states, t, data, power) {
    start <- log_density(states, 0, data)
    if (t == 0) return(start)
    ifelse(start == -Inf, -Inf,
      start + power * (log_density(states, 30, data) - start)
    )
  }, initial, jumps
)
methods <- list(
  list("births and deaths extend, walks rejuvenate", extended(walks), extend,
    250
  ),
  list("births and deaths extend, jumps rejuvenate", target, extend, 250),
  list("births and deaths extend, jumps rejuvenate", target, extend, 1000),
  list("particles stay, jumps rejuvenate", target, NULL, 250),
  list("particles stay, data in powers", gradual, NULL, 250),
  list("all data at once, in powers", static, NULL, 250)
)

run <- function(method, seed) {
  steps <- if (identical(method[[2]], static)) 1 else 30
  started <- proc.time()[["user.self"]]
  fit <- suppressWarnings(tdsmc(method[[2]], method[[3]], y,
    steps = steps, control = smc_control(method[[4]]), seed = seed
  ))
  number <- predict(fit, lengths, type = "distribution")
  p <- number$probability[match(0:3, number$value)]
  data.frame(
    method = method[[1]], particles = method[[4]], seed = seed,
    seconds = proc.time()[["user.self"]] - started,
    log_evidence = evidence(fit)$log_evidence, mc_se = evidence(fit)$mc_se,
    lowest = min(ess(fit)$lowest), k = t(ifelse(is.na(p), 0, p))
  )
}

runs <- do.call(rbind, lapply(methods, function(method) {
  do.call(rbind, lapply(seeds, run, method = method))
}))
paths <- lapply(methods[c(2, 4)], function(method) {
  fit <- suppressWarnings(tdsmc(method[[2]], method[[3]], y,
    control = smc_control(250), seed = 1
  ))
  ess(fit)$fraction
})

groups <- split(runs, factor(paste(runs$method, runs$particles),
  unique(paste(runs$method, runs$particles))
))
table <- do.call(rbind, lapply(groups, function(r) {
  error <- r$log_evidence - exact$log_evidence
  data.frame(
    method = r$method[[1]], particles = r$particles[[1]],
    seconds = mean(r$seconds), bias = mean(error), sd = sd(error),
    mc_se = mean(r$mc_se, na.rm = TRUE), lowest = mean(r$lowest),
    p1_rmse = sqrt(mean((r$k.2 - exact$probability[[2]])^2))
  )
}))
rownames(table) <- NULL
print(exact)
print(table, digits = 3)
if (!quick) {
  saveRDS(list(exact = exact, runs = runs, table = table, ess = paths),
    file.path(here, "..", "..", "vignettes", "articles", "sinusoids.rds"),
    compress = "xz"
  )
}
