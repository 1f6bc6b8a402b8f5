# Coefficients of linear terms and of groups in fits of bark().

#' Linear coefficients and groups of a fit
#'
#' `fixef(fit)`, `ranef(fit)` and `VarCorr(fit)` are as for fits of nlme and lme4.
#' @param object,x A fit of [bark()] with terms beside kernels.
#' @param summary `TRUE`: posterior means. `FALSE`: all draws.
#' @param sigma Not used: an argument of the generic.
#' @param ... Not used: unknown arguments are errors.
#' @return
#' * `fixef()`: the coefficients of linear terms, a named vector; with `summary =
#'   FALSE` a matrix with one row per draw. `(Intercept)` is the mean of the
#'   predictor over the rows of the fit where all linear columns are 0, kernels
#'   included, because the data do not tell the constant of kernels from an
#'   intercept; groups count as 0.
#' * `ranef()`: a list with a data frame for each factor of groups, one row per
#'   group and one column per coefficient; with `summary = FALSE` arrays, draws x
#'   groups x coefficients.
#' * `VarCorr()`: an object of class `kb_varcorr`, a list with the posterior mean of
#'   the covariance matrix of each factor, `stddev` and `correlation` as its
#'   attributes, and [`sigma()`][sigma.kb_bark] as the attribute `sc` of the list.
#'   `as.data.frame()` has one line per standard deviation and correlation (`grp`,
#'   `var1`, `var2`, `sdcor`). [`tidy()`][tidy.kb_bark] has intervals.
#'
#' All are in units of the response per unit of the predictor, as it was given;
#' for classes in units of the latent response. For several unordered classes
#' each result is a list with one element per class: coefficients are
#' differences from the mean over classes, which alone the data inform.
#' @examples
#' data <- data.frame(x = runif(60), z = rnorm(60), g = rep(1:6, 10))
#' data$y <- sin(6 * data$x) + data$z + data$g / 3 + rnorm(60, sd = 0.2)
#' fit <- bark(y ~ kernels(x) + z + (1 | g), data,
#'   control = mcmc_control(chains = 2, warmup = 100, iter = 90), seed = 1
#' )
#' fixef(fit)
#' ranef(fit)
#' VarCorr(fit)
#' @name fixef.kb_bark
NULL

# The pool of a fit or, for several classes, a list of the pools of its fields
# relative to their mean
mixed_pools <- function(fit) {
  if (!is_multinomial(fit)) {
    return(list(bark_pool(fit)))
  }
  pools <- field_pools(fit)
  for (name in c("gamma", "effects", "level")) {
    mean <- Reduce(`+`, lapply(pools, `[[`, name)) / length(pools)
    pools <- lapply(pools, function(pool) {
      pool[[name]] <- pool[[name]] - mean
      pool
    })
  }
  pools
}

for_each_field <- function(fit, f) {
  pools <- mixed_pools(fit)
  if (is_multinomial(fit)) lapply(pools, f) else f(pools[[1]])
}

#' @rdname fixef.kb_bark
#' @export
fixef.kb_bark <- function(object, summary = TRUE, ...) {
  object <- checked_fit(object, ...)
  summary <- check_flag(summary)
  refuse_where(object, "fixef", "no_terms")
  for_each_field(object, function(pool) {
    b <- linear_draws(object, pool)
    if (summary) colMeans(b) else b
  })
}

#' @rdname fixef.kb_bark
#' @export
ranef.kb_bark <- function(object, summary = TRUE, ...) {
  object <- checked_fit(object, ...)
  summary <- check_flag(summary)
  refuse_where(object, "ranef", "no_groups")
  for_each_field(object, function(pool) group_tables(object, pool, summary))
}

# Coefficients of each factor; a factor may have several groupings
group_tables <- function(fit, pool, summary) {
  groups <- fit$mould$mixed$groups
  labels <- vapply(groups, `[[`, "", "label")
  out <- lapply(unique(labels), function(label) {
    parts <- lapply(which(labels == label), function(k) {
      b <- aperm(group_effects(fit, pool, k) * group_units(fit, k), c(3, 2, 1))
      dimnames(b) <- list(NULL, groups[[k]]$levels, groups[[k]]$coefficients)
      if (!summary) {
        return(b)
      }
      mean <- matrix(colMeans(b), dim(b)[[2]], dimnames = dimnames(b)[2:3])
      as.data.frame(mean, optional = TRUE)
    })
    if (summary) do.call(cbind, parts) else bind_slices(parts)
  })
  stats::setNames(out, unique(labels))
}

# Arrays side by side along their last dimension
bind_slices <- function(parts) {
  names <- unlist(lapply(parts, function(v) dimnames(v)[[3]]))
  size <- dim(parts[[1]])
  array(unlist(parts), c(size[1:2], length(names)),
    c(dimnames(parts[[1]])[1:2], list(names))
  )
}

#' @rdname fixef.kb_bark
#' @export
VarCorr.kb_bark <- function(x, sigma = 1, ...) { # nolint: object_name_linter.
  x <- checked_fit(x, ...)
  refuse_where(x, "VarCorr", "no_groups")
  for_each_field(x, function(pool) {
    groups <- x$mould$mixed$groups
    out <- lapply(seq_along(groups), function(k) mean_covariance(x, k, pool))
    structure(
      stats::setNames(out, vapply(groups, `[[`, "", "label")),
      sc = stats::sigma(x), class = "kb_varcorr"
    )
  })
}

mean_covariance <- function(fit, k, pool) {
  v <- covariance_draws(fit, k, pool)
  names <- fit$mould$mixed$groups[[k]]$coefficients
  q <- length(names)
  sd <- sqrt(matrix(apply(v, 3, diag), q))
  cor <- v / array(apply(sd, 2, function(s) outer(s, s)), dim(v))
  square <- function(m) matrix(m, q, q, dimnames = list(names, names))
  structure(square(rowMeans(v, dims = 2)),
    stddev = stats::setNames(rowMeans(sd), names),
    correlation = square(rowMeans(cor, dims = 2))
  )
}

#' @export
as.data.frame.kb_varcorr <- function(x, row.names = NULL, # nolint
                                     optional = FALSE, ...) {
  each <- Map(function(v, name) {
    sd <- attr(v, "stddev")
    cor <- attr(v, "correlation")
    pairs <- which(lower.tri(cor), arr.ind = TRUE)
    data.frame(
      grp = name, var1 = c(names(sd), names(sd)[pairs[, 2]]),
      var2 = c(rep(NA_character_, length(sd)), names(sd)[pairs[, 1]]),
      sdcor = c(unname(sd), cor[pairs])
    )
  }, unclass(x), names(x))
  out <- do.call(rbind, unname(each))
  if (is.na(attr(x, "sc"))) {
    return(out)
  }
  rbind(out, data.frame(
    grp = "Residual", var1 = NA_character_, var2 = NA_character_,
    sdcor = attr(x, "sc")
  ))
}

#' @export
print.kb_varcorr <- function(x, digits = 3, ...) {
  table <- as.data.frame(x)
  table$sdcor <- format(table$sdcor, digits = digits)
  table[is.na(table)] <- ""
  print(table, row.names = FALSE)
  invisible(x)
}

#' Coefficients of groups as lme4 has them: linear ones plus those of the group
#' @return A list of data frames, or the linear coefficients without groups.
#' @noRd
coefficient_tables <- function(fit, pool) {
  fixed <- colMeans(linear_draws(fit, pool))
  if (length(fit$mould$mixed$groups) == 0) {
    return(fixed)
  }
  lapply(group_tables(fit, pool, TRUE), function(table) {
    names <- union(names(fixed), names(table))
    columns <- lapply(stats::setNames(nm = names), function(name) {
      own <- if (name %in% names(table)) table[[name]] else 0
      rep_len(own + (if (name %in% names(fixed)) fixed[[name]] else 0),
        nrow(table)
      )
    })
    structure(columns,
      class = "data.frame", row.names = rownames(table)
    )
  })
}
