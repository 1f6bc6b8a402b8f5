# Classes with terms beside the kernels of bark(), and kernels with groups of
# inputs: one-step invariance of moves and sweeps from independent draws of all
# parameters and data, chains against quadrature. The model is in
# derivations/bark.md, 5.1, 6.5 and 4.3.
#
# Seen to fail, one mutant at a time:
# - offset and fixed terms left out: of latent responses' intervals, class
#   probabilities (all of them, or the cut points' only), the intervals of open
#   states, the fields' responses or their means as they are drawn, the
#   intervals of a field (both ends), comparisons given the noise of a class,
#   responses after these; of the recorded likelihood (of fields, too), or
#   twice there; the offset alone, everywhere; a response set without it;
# - T: not 1 while terms are fixed, still 1 afterwards, terms never released;
# - scales of responses: with an offset or fixed terms, also of fields (one of
#   its moves only: misplaced responses);
# - terms not drawn before latent responses; residuals that contain f as groups
#   are scaled; covariances never drawn (quadrature only);
# - the intervals of all fields from before the first of them moves;
# - prior only: cut points or terms of fields not drawn;
# - groups of inputs: another group after a change of scales, inclusion with p
#   for the size of the group, one group more probable (the comparison with R
#   only), inputs numbered within their group, inputs of all groups at birth,
#   all inputs at the start of a chain, the group not stored, shapes of scales
#   with p for the number of included ones.
# Not seen, because the law stays the same: flips of one input only.

n_rows <- 10
class_x <- matrix(c(
  -0.9, 0.2, 1.6, -1.1, -0.1, 0.1, 0.7, -0.2, 2, -0.4, 0.4, 1, -0.4, -1,
  1.8, -2.3, 0.9, 0, 1, 0.4
), n_rows)
class_offset <- rep(c(-1.5, 1, 0.3, -0.4, 2), 2)

# Problems ---------------------------------------------------------------------

grouping <- function(group, q = 1) {
  list(
    group = as.integer(group), count = max(group),
    z = cbind(1, class_x[, 2], deparse.level = 0)[, seq_len(q), drop = FALSE],
    scale = c(0.7, 1.4)[seq_len(q)]
  )
}

terms_list <- function(..., slope = TRUE, offset = NULL) {
  linear <- cbind(
    rep(1, n_rows), if (slope) class_x[, 1],
    deparse.level = 0
  )
  c(
    list(
      linear = linear, linear_sd = c(1.5, 0.8)[seq_len(ncol(linear))],
      groupings = list(...)
    ),
    if (!is.null(offset)) list(offset = offset)
  )
}

fine <- rep(1:5, 2)
crossed <- rep(1:3, c(4, 2, 4))

# `turns`: sets of factors that are active one after another.
problems <- list(
  probit = list(
    family = "probit", classes = 2, turns = 1,
    terms = terms_list(grouping(fine), offset = class_offset)
  ),
  slopes = list(
    family = "probit", classes = 2, turns = 1,
    terms = terms_list(grouping(crossed, 2), slope = FALSE)
  ),
  ordered = list(
    family = "ordered", classes = 4, turns = 2,
    terms = terms_list(grouping(fine), grouping(crossed, 2))
  ),
  shifted = list(
    family = "ordered", classes = 4, turns = 1,
    terms = terms_list(grouping(fine), offset = class_offset)
  )
)

# Laws -------------------------------------------------------------------------

class_scores <- function(name, move, pairs, redraw = FALSE, repeats = 2) {
  problem <- problems[[name]]
  stopifnot(repeats %% problem$turns == 0)
  out <- bark_terms_classes_cpp(
    probit_setting("select_different", 1, 1.5), class_x, problem$terms,
    problem$family, problem$classes, move, repeats, redraw,
    pairs * (1 + 9 * extended()), 4
  )
  expect_identical(out$wrong, 0L, label = paste("misplaced", name, move))
  expect_gt(mean(out$before != out$after), 0.05)
  paired_scores(out)
}

test_that("sweeps of classes leave the joint law of all invariant", {
  # Null: nearly standard normal scores, at most 434 per call, 12 calls: |z| > 6
  # somewhere has a probability of 1e-5.
  for (name in names(problems)) {
    for (redraw in c(FALSE, TRUE)) {
      z <- class_scores(name, "full", 3000, redraw)
      expect_lt(max(abs(z)), 6, label = paste("score", name, redraw))
    }
    z <- class_scores(name, "single", 2000, TRUE, 6)
    expect_lt(max(abs(z)), 6, label = paste("score of single moves", name))
  }
})

test_that("moves given the terms do so, one by one", {
  # Null: at most 434 scores per call, 10 calls: |z| > 6 somewhere has a
  # probability of 9e-6.
  moves <- c("fixed_latent", "fixed_magnitude", "fixed_cuts", "fixed_nothing")
  for (name in c("probit", "shifted")) {
    for (move in setdiff(moves, if (name == "probit") "fixed_cuts")) {
      z <- class_scores(name, move, 5000)
      expect_lt(max(abs(z)), 6, label = paste("score", name, move))
    }
  }
  for (name in c("slopes", "ordered")) {
    z <- class_scores(name, "fixed_nothing", 5000, repeats = 6)
    expect_lt(max(abs(z)), 6, label = paste("score", name))
  }
  # Only without an offset: the terms are integrated out.
  expect_lt(max(abs(class_scores("slopes", "latent_scale", 5000))), 6)
})

field_terms <- terms_list(
  grouping(crossed), grouping(fine), slope = FALSE, offset = class_offset
)

test_that("moves and sweeps of fields with terms do so, too", {
  # Null: at most 2144 nearly standard normal scores per call, 7 calls: |z| > 6
  # somewhere has a probability of 3e-5. The offset is the same for all fields.
  # With terms, responses are not scaled.
  cases <- list(
    list("full", repeats = 2, redraw = FALSE, pairs = 2500),
    list("full", repeats = 2, redraw = TRUE, pairs = 2000),
    list("single", repeats = 4, redraw = TRUE, pairs = 1500),
    list("latent", repeats = 2, redraw = FALSE, pairs = 1500),
    list("latent_shift", repeats = 2, redraw = FALSE, pairs = 1500),
    list("latent_scale", repeats = 2, redraw = FALSE, pairs = 1500),
    list("magnitude", repeats = 2, redraw = FALSE, pairs = 1500)
  )
  for (case in cases) {
    out <- bark_terms_fields_cpp(
      probit_setting("different", 1, 1.5), class_x, field_terms, 3, case[[1]],
      case$repeats, case$redraw, case$pairs * (1 + 9 * extended()), 4
    )
    label <- toString(case)
    expect_identical(out$wrong, 0L, label = paste("misplaced", label))
    expect_lt(max(abs(paired_scores(out))), 6, label = paste("score", label))
  }
})

# Chains -----------------------------------------------------------------------

class_engine <- function(problem, prior, y, ..., x = class_x) {
  if (problem$family == "multinomial") {
    engine <- structure(
      list(
        config = utils::modifyList(list(
          prior = prior, seed = 1, prior_only = FALSE,
          family = "probit", fields = problem$classes, warmup = 20,
          iter = 40, thin = 1, n_temps = 1, sweep = "full"
        ), list(...)),
        x = x, y = as.integer(y), weights = rep(1, length(y))
      ),
      class = c("kb_engine_bark", "kb_engine_chain", "kb_engine")
    )
  } else {
    engine <- response_engine(
      problem$family, x, y, prior, ..., classes = problem$classes
    )
  }
  engine$config$terms <- problem$terms
  engine
}

fields_problem <- list(
  family = "multinomial", classes = 3, terms = field_terms
)

#' An intercept and intercepts of groups, without kernels: the posterior by sums
#' over a grid of (log gap, gamma, log sd), b integrated out
exact_intercepts <- function(terms, y, classes) {
  gap <- if (classes == 3) seq(-3.5, 3.5, length.out = 21) else 0
  gamma <- terms$linear_sd * seq(-4.5, 4.5, length.out = 41)
  log_sd <- seq(-6, 4, length.out = 40)
  u <- seq(-5, 5, 0.25)
  grid <- expand.grid(gap = gap, gamma = gamma, log_sd = log_sd)
  group <- terms$groupings[[1]]
  scaled <- exp(grid$log_sd) / group$scale
  log_p <- stats::dnorm(grid$gap, log = TRUE) * (classes == 3) +
    stats::dnorm(grid$gamma, 0, terms$linear_sd, log = TRUE) +
    stats::dt(scaled, 3, log = TRUE) + grid$log_sd
  offset <- if (is.null(terms$offset)) 0 * y else terms$offset
  upper <- switch(classes - 1,
    list(0, Inf), list(0, exp(grid$gap), Inf)
  )
  lower <- c(-Inf, upper)
  first <- 0
  for (g in seq_len(group$count)) {
    of_group <- numeric(nrow(grid))
    b_of_group <- of_group
    for (at in u) {
      p <- stats::dnorm(at)
      for (i in which(group$group == g)) {
        mean <- grid$gamma + exp(grid$log_sd) * at + offset[[i]]
        p <- p * (stats::pnorm(upper[[y[[i]]]] - mean) -
          stats::pnorm(lower[[y[[i]]]] - mean))
      }
      of_group <- of_group + p
      b_of_group <- b_of_group + p * squashed(exp(grid$log_sd) * at)
    }
    if (g == 1) first <- b_of_group / pmax(of_group, 1e-300)
    log_p <- log_p + log(of_group)
  }
  p <- exp(log_p - max(log_p))
  p <- p / sum(p)
  c(
    gamma = sum(p * grid$gamma), gamma_spread = sum(p * squashed(grid$gamma^2)),
    sd = sum(p * squashed(exp(grid$log_sd))),
    small = sum(p * (exp(grid$log_sd) < 0.5)), b = sum(p * first),
    gap = sum(p * grid$gap)
  )
}

test_that("an intercept and groups have their exact posterior", {
  # No kernels. Null: scores of means over 20 000 draws of a chain, 6 of each of
  # 3 chains, nearly standard normal; |z| > 6. The error of the grid is far
  # smaller.
  rows <- list(
    list(family = "probit", classes = 2, offset = NULL),
    list(family = "probit", classes = 2, offset = class_offset),
    list(family = "ordered", classes = 3, offset = class_offset)
  )
  number <- c(2, 2, 1, 2, 1, 2, 2, 1, 2, 2)
  for (case in rows) {
    y <- if (case$classes == 3) number + rep(c(0, 1, 0, 0, 1), 2) else number
    case$terms <- terms_list(
      grouping(crossed), slope = FALSE, offset = case$offset
    )
    exact <- exact_intercepts(case$terms, y, case$classes)
    run <- run_to_end(class_engine(
      case, probit_setting(nu = 0), if (case$classes == 2) 2 * y - 3 else y,
      warmup = 200, iter = 20000
    ))$draws
    sd <- sqrt(run$covariances)
    gap <- if (case$classes == 3) log(matrix(run$cuts, 2)[2, ]) else 0 * sd
    z <- c(
      mean_score(run$gamma, exact[["gamma"]]),
      mean_score(squashed(run$gamma^2), exact[["gamma_spread"]]),
      mean_score(squashed(sd), exact[["sd"]]),
      mean_score(sd < 0.5, exact[["small"]]),
      mean_score(squashed(matrix(run$effects, 3)[1, ]), exact[["b"]]),
      mean_score(gap, exact[["gap"]])
    )
    expect_lt(max(abs(z)), 6, label = paste("score", case$family))
  }
})

#' log P(class i is the largest of f_ij + N(0, 1)), one row of f per class
log_largest <- function(f, class) {
  u <- seq(-9, 9, 0.125)
  p <- stats::dnorm(u)
  for (j in seq_along(f)[-class]) p <- p * stats::pnorm(u + f[class] - f[j])
  log(0.125 * sum(p))
}

#' The terms with the offset, rows x draws
drawn_terms <- function(terms, draws) {
  count <- length(draws$m)
  out <- terms$linear %*% matrix(draws$gamma, ncol = count) + terms$offset
  effects <- matrix(draws$effects, ncol = count)
  for (g in terms$groupings) {
    of_group <- effects[seq_len(g$count), , drop = FALSE]
    effects <- effects[-seq_len(g$count), , drop = FALSE]
    out <- out + g$z[, 1] * of_group[g$group, ]
  }
  out
}

#' Recorded likelihoods next to those of the recorded coefficients
expect_likelihoods <- function(engine) {
  draws <- run_to_end(engine)$draws
  terms <- engine$config$terms
  mean_of <- function(draws) {
    f <- bark_values_cpp(
      draws, engine$x, engine$x, "draw", seq_along(draws$m)
    )$mean
    expect_equal(draws$level, colMeans(f), tolerance = 1e-10)
    f + drawn_terms(terms, draws)
  }
  exact <- if (!is.null(engine$config$fields)) {
    means <- lapply(draws$fields, mean_of)
    vapply(seq_along(draws$log_likelihood), function(s) {
      sum(vapply(seq_along(engine$y), function(i) {
        log_largest(vapply(means, `[`, 0, i, s), engine$y[[i]])
      }, 0))
    }, 0)
  } else {
    mean <- mean_of(draws)
    level <- if (engine$config$classes == 2) (engine$y + 3) / 2 else engine$y
    inner <- if (engine$config$classes == 2) 0 * draws$m else draws$cuts
    cuts <- rbind(-Inf, matrix(inner, engine$config$classes - 1), Inf)
    colSums(log(
      stats::pnorm(cuts[level + 1, ] - mean) -
        stats::pnorm(cuts[level, ] - mean)
    ))
  }
  # Without the tails, where these probabilities have no digits.
  kept <- exact > -25
  expect_gt(sum(kept), 1)
  expect_equal(draws$log_likelihood[kept], exact[kept], tolerance = 1e-7)
}

some_classes <- rep(c(1, 3, 2, 1, 2), 2)

test_that("draws of classes have the likelihood and the level that they say", {
  two <- ifelse(some_classes > 1, 1, -1)
  crossed_terms <- terms_list(
    grouping(crossed), grouping(fine), offset = class_offset
  )
  prior <- probit_setting(nu = 3)
  for (prior_only in c(FALSE, TRUE)) {
    expect_likelihoods(class_engine(
      list(family = "probit", classes = 2, terms = crossed_terms), prior, two,
      iter = 25, prior_only = prior_only
    ))
    expect_likelihoods(class_engine(
      list(family = "ordered", classes = 3, terms = crossed_terms), prior,
      some_classes, iter = 25, prior_only = prior_only
    ))
    expect_likelihoods(class_engine(
      fields_problem, prior, some_classes, iter = 10, prior_only = prior_only
    ))
  }
})

test_that("chains of the prior only have the prior of terms and cuts", {
  # Half-t standard deviations. Null: 4000 independent draws, at most 16 nearly
  # standard normal scores per chain; |z| > 6.
  check_terms <- function(draws, terms) {
    sd <- sqrt(matrix(draws$covariances, length(terms$groupings)))
    for (k in seq_along(terms$groupings)) {
      u <- 2 * stats::pt(sd[k, ] / terms$groupings[[k]]$scale, 3) - 1
      expect_lt(max(abs(uniform_scores(u))), 6)
    }
    gamma <- matrix(draws$gamma, length(terms$linear_sd)) / terms$linear_sd
    q <- nrow(gamma)
    expect_lt(max(abs(normal_scores(gamma, numeric(q), diag(q)))), 6)
    sizes <- vapply(terms$groupings, `[[`, 1L, "count")
    b <- matrix(draws$effects, sum(sizes))[cumsum(sizes), , drop = FALSE] / sd
    q <- nrow(b)
    expect_lt(max(abs(normal_scores(b, numeric(q), diag(q)))), 6)
  }
  prior <- probit_setting(nu = 1)
  draws <- run_to_end(class_engine(
    problems$shifted, prior, rep(1, n_rows), warmup = 1, iter = 4000,
    prior_only = TRUE
  ))$draws
  check_terms(draws, problems$shifted$terms)
  cuts <- matrix(draws$cuts, 3)
  gaps <- log(rbind(cuts[2, ], cuts[3, ] - cuts[2, ]))
  expect_lt(max(abs(normal_scores(gaps, c(0, 0), diag(2)))), 6)
  draws <- run_to_end(class_engine(
    fields_problem, prior, some_classes, warmup = 1, iter = 4000,
    prior_only = TRUE
  ))$draws
  for (field in draws$fields) check_terms(field, field_terms)
})

test_that("a run of classes in parts has the bits of one run", {
  prior <- probit_setting("select_different")
  for (sweep in c("full", "single")) {
    for (problem in c(problems[c("probit", "ordered")], list(fields_problem))) {
      y <- if (problem$classes == 2) class_offset / abs(class_offset) else {
        some_classes
      }
      engine <- class_engine(
        problem, prior, y, warmup = 7, iter = 9, sweep = sweep
      )
      expect_identical(run_parts(engine, c(3, 6, 7)), run_to_end(engine))
    }
  }
})

# Groups of inputs -------------------------------------------------------------

group_x <- matrix(c(
  0.2, -1.1, 0.6, 1.5, -0.5, 0, -2.1, 0.9, 1.3, 0.1, -0.8, 0.4, -0.2, 1,
  -1.4, 0.7, 0.5, -0.6, 2, 0.3, -0.9, -0.1, 1.1, -1.7, 0.8, 1.9, -0.3, -1.2,
  0.4, 0, -0.7, 1.2
), 8)

input_groups <- list(
  apart = list(1:2, 3:4), overlapping = list(1:2, 2:4),
  one = list(2L, c(1L, 4L))
)

group_moves <- c(
  "birth_death", "relocate", "local", "scale_all", "scale_any",
  "scale_refresh", "scale_pair", "flip", "swap", "full", "open_birth_death",
  "open_flips"
)

group_prior <- function(groups, type, family, ...) {
  setting <- if (family == "probit") probit_setting else bark_setting
  setting(type, 1, 4, own_scales = TRUE, groups = groups, ...)
}

group_scores <- function(groups, type, move, pairs, repeats = 6, power = 1) {
  family <- if (startsWith(move, "open")) "probit" else "gaussian"
  out <- bark_groups_law_cpp(
    group_prior(groups, type, family), group_x, family, move,
    if (move == "full") 1 else repeats, pairs * (1 + 9 * extended()), power, 4
  )
  expect_identical(out$wrong, 0L, label = paste("inputs outside", move))
  rows <- seq_len(nrow(out$before))
  c(paired_scores(out, if (power == 0) rows[-(5:7)] else rows), 0)
}

test_that("moves of kernels with groups of inputs leave the law invariant", {
  # Null: at most 294 nearly standard normal scores per call, 62 calls: |z| >
  # 6.2 somewhere has a probability of 1e-5.
  for (name in names(input_groups)) {
    for (type in c("select_different", "select_equal", "different")) {
      selection <- c("flip", "swap", "open_flips")
      skipped <- c(
        if (type == "different") selection,
        if (type == "select_equal") group_moves[5:7]
      )
      for (move in setdiff(group_moves, skipped)) {
        pairs <- if (move %in% c(selection, "full")) 2500 else 1000
        z <- group_scores(input_groups[[name]], type, move, pairs)
        expect_lt(max(abs(z)), 6.2, label = paste(name, type, move))
      }
    }
  }
})

test_that("flips with groups leave the prior invariant in long runs", {
  # Null: as above, 4 calls. Without the data, errors are most visible.
  for (type in c("select_different", "select_equal")) {
    for (name in c("overlapping", "one")) {
      z <- group_scores(input_groups[[name]], type, "flip", 4000, 40, 0)
      expect_lt(max(abs(z)), 6.2, label = paste(name, type))
    }
  }
})

test_that("R and the sampler draw the same scales of kernels with groups", {
  # Null: two samples of independent draws, 65 nearly standard normal scores per
  # setting: |z| > 6 somewhere has a probability of 1e-6.
  size <- 20000 * (1 + 9 * extended())
  numbers <- function(draws) {
    included <- matrix(draws$included, 4)
    lambda <- included * exp(matrix(draws$log_lambda, 4))
    logs <- included * squashed(log(pmax(lambda, 1e-300)))
    one <- rbind(included, squashed(lambda), logs)
    at <- upper.tri(diag(nrow(one)), TRUE)
    rows <- rbind(row(at)[at], col(at)[at])
    rbind(one[rows[1, ], ] * one[rows[2, ], ], one)
  }
  for (type in bark_types) {
    for (groups in input_groups[1:2]) {
      prior <- group_prior(groups, type, "gaussian")
      a <- numbers(bark_prior_shapes_cpp(prior, group_x, size, 3))
      b <- numbers(withr::with_seed(3, draw_group_scales(prior, 4, size)))
      v <- (apply(a, 1, stats::var) + apply(b, 1, stats::var)) / size
      d <- rowMeans(a) - rowMeans(b)
      expect_true(all(d[v == 0] == 0))
      expect_lt(max(abs(d / sqrt(v))[v > 0]), 6)
    }
  }
})

test_that("kernels of chains have inputs of one group, also when resumed", {
  for (family in c("gaussian", "probit", "student")) {
    for (type in c("select_different", "equal")) {
      prior <- group_prior(input_groups$overlapping, type, family, df = 4)
      y <- if (family == "probit") rep(c(1, -1), 4) else group_x[, 1]^2
      for (warmup in c(0, 7)) {
        engine <- response_engine(
          family, group_x, y, prior, warmup = warmup, iter = 10
        )
        whole <- run_to_end(engine)
        expect_identical(run_parts(engine, c(3, 5, warmup + 2)), whole)
        included <- matrix(whole$draws$own_included, 4) > 0
        inside <- apply(included, 2, function(d) {
          any(vapply(input_groups$overlapping, function(group) {
            all(which(d) %in% group)
          }, NA))
        })
        expect_true(all(inside))
      }
    }
  }
})
