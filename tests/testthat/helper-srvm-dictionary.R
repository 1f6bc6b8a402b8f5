# Dictionaries against the oracles: a candidate is a pair of a row and a kernel;
# the candidates of a row are adjacent. The kernels are written in base R here
# and built by the package in the fits.

pair_kernels <- list(
  kernel_gaussian(0.9), kernel_laplace(0.4), 0.5 * kernel_linear()
)

pair_functions <- list(
  oracle_kernel_gaussian(0.9),
  function(a, b) exp(-abs(outer(drop(a), drop(b), `-`)) / 0.4),
  function(a, b) 0.5 * tcrossprod(as.matrix(a), as.matrix(b))
)

#' The kernel between points and candidates, with points repeated once per
#' kernel
#' @noRd
pair_kern <- function(h) {
  function(a, b) {
    a <- as.matrix(a)
    b <- as.matrix(b)
    own <- (seq_len(nrow(b)) - 1) %% h + 1
    out <- matrix(0, nrow(a), nrow(b))
    for (i in seq_len(h)) {
      out[, own == i] <- pair_functions[[i]](a, b[own == i, , drop = FALSE])
    }
    out
  }
}

pair_dictionary <- function(h) {
  do.call(kernel_dictionary, pair_kernels[seq_len(h)])
}

#' An oracle whose kern() is for pairs
#' @noRd
with_pairs <- function(oracle, h) {
  environment(oracle) <- list2env(
    list(kern = pair_kern(h)), parent = environment(oracle)
  )
  oracle
}

#' oracle_model() for pairs
#' @noRd
pair_model <- function(x, y, h, ...) {
  model <- oracle_model(x, y, kern, ...)
  rows <- rep(oracle_candidates(x)$rows, each = h)
  model$K <- pair_kern(h)(x, as.matrix(x)[rows, , drop = FALSE])
  model$m <- h * model$m
  model$h <- h
  # A new memo: single columns have other sets.
  model$memo <- new.env()
  model
}

pair_config <- function(x, y, model) {
  config <- core_config(x, y, model, smc_control())
  config$kernel <- pair_dictionary(model$h)
  config
}

#' Log p_m(S) of one set of k out of m
#' @noRd
pair_log_prior <- function(k, m, model) {
  oracle_log_prior_set(k, m, model$lambda, model$kmax, model$centres)
}

#' All sets that row t may lead to from S: their probabilities. The row enters
#' with the first choice.
#' @noRd
pair_paths <- function(S, t, model) {
  m <- oracle_m(t - 1, model)
  new <- seq_len(oracle_m(t, model) - m)
  paths <- list(list(set = S, log_prob = 0))
  for (h in new) {
    paths <- unlist(lapply(paths, function(path) {
      before <- if (h == 1) t - 1 else t
      to <- list(path$set, c(path$set, m + h))
      log_a <- vapply(to, function(set) {
        allowed <- length(set) <= model$kmax
        pair_log_prior(length(set), m + h, model) +
          if (allowed) oracle_model_log_ml(set, t, model) else 0
      }, 0) - pair_log_prior(length(path$set), m + h - 1, model) -
        oracle_model_log_ml(path$set, before, model)
      lapply(which(log_a > -Inf), function(i) {
        list(
          set = to[[i]],
          log_prob = path$log_prob + log_a[[i]] - log_sum_exp(log_a)
        )
      })
    }), recursive = FALSE)
  }
  paths
}

#' The largest error of the package's weights of step t from S,
#' W = gamma_t(S') / [gamma_{t-1}(S) q(S' given S)], and the p-value of the
#' counts of S'
#' @noRd
pair_step <- function(config, x, y, S, t, model, repetitions, seed = 1) {
  noise <- if (model$scaled) 7 else model$sigma2
  out <- srvm_extend_cpp(
    config, as.matrix(x), y, t, rev(S), noise, model$tau2,
    c(as.hexmode(seed), "0", "0"), repetitions
  )
  paths <- pair_paths(S, t, model)
  key <- vapply(paths, function(path) set_key(path$set), "")
  log_q <- vapply(paths, `[[`, 0, "log_prob")
  log_w <- vapply(paths, function(path) {
    oracle_log_gamma(path$set, t, model)
  }, 0) - oracle_log_gamma(S, t - 1, model) - log_q
  drawn <- match(vapply(out$set, set_key, ""), key)
  expected <- exp(log_q) * repetitions
  count <- tabulate(drawn, length(key))
  rare <- expected < 5
  if (any(rare)) {
    expected <- c(expected[!rare], max(sum(expected[rare]), 1))
    count <- c(count[!rare], sum(count[rare]))
  }
  chi <- sum((count - expected)^2 / expected)
  c(
    defect = max(abs(out$log_weight - log_w[drawn])), drift = out$drift,
    total = abs(sum(exp(log_q)) - 1),
    p = stats::pchisq(chi, max(length(expected) - 1, 1), lower.tail = FALSE)
  )
}

#' drop_defect() for pairs: the pair of row r and kernel h has the number r + (h
#' - 1) n
#' @noRd
pair_drop_defect <- function(x, y, t, model, memory, n_moves, seed = 1) {
  config <- stream_config(x, y, model, memory, n_moves, seed = seed)
  config$kernel <- pair_dictionary(model$h)
  n <- length(y)
  noise <- if (model$scaled) 7 else model$sigma2
  drop_row <- function(S) {
    srvm_drop_cpp(config, as.matrix(x), y, t, S, noise, model$tau2, numeric())
  }
  row <- function(S) (S - 1) %% n + 1
  kernel <- function(S) (S - 1) %/% n + 1
  key_of <- function(S) paste(sort(paste(x[row(S)], kernel(S))), collapse = "-")
  log_gamma <- function(S, w, candidates) {
    columns <- lapply(S, function(code) {
      pair_functions[[kernel(code)]](x, x[row(code)])
    })
    phi <- do.call(cbind, c(list(rep(1, n)), columns))
    pair_log_prior(length(S), length(candidates), model) +
      weighted_log_ml(y, phi, w, model$sigma2, model$tau2, model$scaled)
  }
  frame <- drop_row(integer())
  age <- t - 1 - seq_len(n)
  weight <- function(more) {
    memory$forgetting^(age + more) * (age >= 0 & age + more < memory$window)
  }
  targets <- row_subsets(frame$after, model$kmax)
  gamma <- exp(vapply(targets, log_gamma, 0, weight(1), frame$after))
  key <- vapply(targets, key_of, "")
  flow <- 0 * gamma
  drift <- 0
  for (S in row_subsets(frame$before, model$kmax)) {
    out <- drop_row(rev(S))
    to <- match(key_of(out$set), key)
    flow[[to]] <- flow[[to]] +
      exp(out$log_weight + log_gamma(S, weight(0), frame$before))
    drift <- max(drift, out$drift)
  }
  c(defect = max(abs(flow / gamma - 1)), drift = drift)
}

# Whole runs -------------------------------------------------------------------

#' Inclusion probabilities of pairs, in the order of the oracle's candidates
#' @noRd
pair_inclusion <- function(fit, rows) {
  table <- inclusion(fit)
  as.vector(t(as.matrix(table[rows, startsWith(names(table), "kernel")])))
}

#' Probability that each row is a centre with some kernel
#' @noRd
pair_any <- function(sets, p_set, n_rows, h) {
  vapply(seq_len(n_rows), function(r) {
    sum(p_set[vapply(sets, function(S) any((S - 1) %/% h + 1 == r), NA)])
  }, 0)
}

pair_fit <- function(x, y, h, prior, control, ..., scale = FALSE, seed = 1) {
  few_particles(srvm(as.matrix(x), y,
    kernel = pair_dictionary(h), prior = prior, control = control,
    scale = scale, seed = seed, ...
  ))
}

#' z-scores of unbiased estimates against `truth`
#' @noRd
pair_scores <- function(fits, log_evidence, truth, answers) {
  off <- vapply(fits, function(fit) {
    ratio <- exp(evidence(fit)$log_evidence - log_evidence)
    c(ratio, ratio * (answers(fit) - truth))
  }, numeric(1 + length(truth)))
  se <- pmax(apply(off, 1, stats::sd) / sqrt(ncol(off)), 1e-13)
  mc_z(rowMeans(off), se, c(1, rep(0, length(truth))))
}

#' z-scores of srvm's answers with a dictionary of h kernels, from independent
#' runs, against quadrature over psi and all sets of pairs
#' @noRd
pairs_against_oracle <- function(x, y, h, control, kmax = 3,
                                 centres = "subset", noise = ig(3, 0.3),
                                 coef = ig(3, 2), scaled = FALSE, lambda = 1.3,
                                 memory = srvm_memory(), runs = 40, ...) {
  t <- length(y)
  weight <- memory$forgetting^(t - seq_len(t)) *
    (seq_len(t) %in% last_rows(t, memory$window))
  at <- as.matrix(c(-1, 0.5))
  value <- mean(y) + c(-0.3, 0.1)
  prior <- srvm_prior(
    for_package(lambda), kmax, centres, noise, coef, scaled
  )
  fits <- lapply(seq_len(runs), function(r) {
    pair_fit(x, y, h, prior, control, memory = memory, seed = 1000 + r, ...)
  })
  # The fits say which rows are candidates.
  rows <- lapply(fits, function(fit) unique(candidates_of_fit(fit)))
  kind <- vapply(rows, paste, "", collapse = " ")
  z <- lapply(unique(kind), function(one) {
    own <- rows[[match(one, kind)]]
    exact <- oracle_posterior(
      x, y, pair_kern(h), lambda, kmax, centres, for_oracle(noise),
      for_oracle(coef),
      scaled = scaled, centre_rows = rep(own, each = h), row_weights = weight
    )
    pairs <- exact$inclusion
    any <- pair_any(exact$sets, exact$p_set, length(own), h)
    exact$inclusion <- NULL
    pair_scores(
      fits[kind == one], exact$log_evidence,
      c(answers_of_oracle(exact, at, value), pairs, any),
      function(fit) {
        c(
          answers_of_fit(fit, at, value, integer()), pair_inclusion(fit, own),
          inclusion(fit)$probability[own]
        )
      }
    )
  })
  unlist(z)
}
