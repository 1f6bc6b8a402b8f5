# Fits of bark() whose kernels use a few directions of the predictors.

has_directions <- function(fit) !is.null(fit$settings$prior$directions)

# The number of inputs that have a scale: predictors, or directions
n_inputs <- function(fit) {
  if (has_directions(fit)) {
    return(fit$settings$prior$directions)
  }
  ncol(fit$data$x)
}

# The directions of each draw, predictors x directions x draws
bark_directions <- function(fit, pool = bark_pool(fit)) {
  array(pool$directions, c(ncol(fit$data$x), n_inputs(fit), length(pool$m)))
}

# The same as columns of draws, under their names
direction_columns <- function(fit, pool) {
  u <- bark_directions(fit, pool)
  size <- dim(u)
  out <- t(matrix(u, prod(size[1:2])))
  colnames(out) <- paste0(
    "directions[", rep(seq_len(size[[1]]), size[[2]]), ",",
    rep(seq_len(size[[2]]), each = size[[1]]), "]"
  )
  out
}

# The part of each predictor in the exponent of the kernel: one row per draw,
# sum_l lambda_l u_il^2 / sum_l lambda_l; 0 where no direction is in the kernel
predictor_shares <- function(fit, pool) {
  u <- bark_directions(fit, pool)
  scales <- bark_scales(fit, pool)
  along <- vapply(seq_len(nrow(scales)), function(i) {
    drop(matrix(u[, , i]^2, dim(u)[[1]]) %*% scales[i, ])
  }, numeric(dim(u)[[1]]))
  along <- t(matrix(along, dim(u)[[1]]))
  total <- rowSums(along)
  along / ifelse(total > 0, total, 1)
}

directions_line <- function(x) {
  if (has_directions(x)) {
    paste0(
      "  directions:   ", n_inputs(x), " of ",
      counted(ncol(x$data$x), "predictor"), "\n"
    )
  }
}

# Checks -----------------------------------------------------------------------

#' @param centres,own_scales Of the prior: kernel-specific shapes are defined in
#'   terms of the predictors.
#' @noRd
check_directions <- function(directions, centres, own_scales) {
  if (is.null(directions)) {
    return(NULL)
  }
  directions <- check_count(directions, 1, arg = "directions")
  near <- inherits(centres, "kb_centres") && !is.null(centres$sd)
  with <- c(
    "own_scales"[!is.null(own_scales) && !isFALSE(own_scales)], "centres = centre_near_rows()"[near]
  )
  if (length(with) > 0) {
    kb_abort(c(
      "{.arg directions} must be left out with {.code {with[[1]]}}.",
      i = "Kernel-specific centres and scales are in terms of the predictors."
    ), c("not_defined", "argument"), argument = "directions")
  }
  directions
}

#' @param p The number of predictors.
#' @noRd
directions_resolve <- function(d, p) {
  if (d > p) {
    kb_abort(c(
      "{.arg directions} of {.arg prior} must be at most the number of
       predictors, {p}.",
      x = "It is {d}."
    ), "argument", argument = "directions")
  }
  list(directions = d)
}
