# Means, standard deviations and expectations under a posterior of kbr(): (K7).

# First and second moments about the centre of the states: rows x d each
kbr_moments <- function(fit, seen, normalize = fit$settings$normalize) {
  raw <- raw_moments(fit, seen)
  d <- ncol(fit$data$states)
  divisor <- weight_divisor(fit, seen, raw[1, ], normalize)
  moments <- sweep(raw, 2, divisor, "/")
  list(
    sum = moments[1, ], first = t(moments[1 + seq_len(d), , drop = FALSE]),
    second = t(moments[1 + d + seq_len(d), , drop = FALSE])
  )
}

kbr_mean <- function(fit, seen) UseMethod("kbr_mean")

#' @export
kbr_mean.kb_kbr <- function(fit, seen) {
  moments <- kbr_moments(fit, seen)
  mean <- moments$first + outer(moments$sum, fit$posterior$center)
  # Signed weights can have a mean outside.
  if (fit$settings$normalize) mean <- within_support(fit, mean)
  if (has_rotations(fit)) {
    known <- which(!is.na(moments$sum))
    mean[known, ] <- t(vapply(known, function(i) {
      nearest_rotation(mean[i, ])$x
    }, numeric(9)))
  }
  state_names(mean, fit)
}

has_rotations <- function(fit) {
  kernel <- fit$features$states$kernel
  !is.null(kernel) && is_rotation_kernel(kernel)
}

state_names <- function(values, fit) {
  dimnames(values) <- list(NULL, colnames(fit$data$states))
  values
}

# Of the posterior as a probability; rows x d
kbr_sd <- function(fit, seen) UseMethod("kbr_sd")

#' @export
kbr_sd.kb_kbr <- function(fit, seen) {
  probability_sd(fit, probability_weights(fit, seen))
}

# The weights of all states were not kept: moments are those of signed ones.
#' @export
kbr_sd.kb_kbr_chunked <- function(fit, seen) {
  variance <- kbr_variance(fit, seen)
  lost <- sum(variance < 0, na.rm = TRUE)
  if (lost > 0) {
    kb_warn(c(
      "Posterior variances that are negative are NA.",
      x = "{lost} of {length(variance)} {?is/are}.",
      i = "Negative weights dominate there. A larger {.arg delta} reduces them;
           so does {.code method = \"iw\"}."
    ), "weights")
  }
  variance[variance < 0] <- NA
  state_names(sqrt(variance), fit)
}

# Variances under signed weights, rows x d; zero if only rounding error
kbr_variance <- function(fit, seen) {
  moments <- kbr_moments(fit, seen, normalize = TRUE)
  variance <- moments$second - moments$first^2
  variance[which(abs(variance) <= 1e-12 * abs(moments$second))] <- 0
  variance
}

kbr_weights <- function(fit, seen, normalize = fit$settings$normalize) {
  UseMethod("kbr_weights")
}

#' @export
kbr_weights.kb_kbr <- function(fit, seen,
                               normalize = fit$settings$normalize) {
  w <- raw_weights(fit, seen)
  w / weight_divisor(fit, seen, raw_moments(fit, seen)[1, ], normalize)
}

# Weights that sum to one, regardless of `normalize`
weight_shares <- function(fit, seen) kbr_weights(fit, seen, normalize = TRUE)

# Functions of the states, weighted by mu, times features of observations
function_moments <- function(fit, f) UseMethod("function_moments")

#' @export
function_moments.kb_kbr <- function(fit, f) {
  values <- check_function_values(f, fit$data$states)
  crossprod(values * kbr_mu(fit), fit$features$observations$factor)
}

kbr_expectation <- function(fit, seen, f) UseMethod("kbr_expectation")

#' @export
kbr_expectation.kb_kbr <- function(fit, seen, f) {
  moments <- function_moments(fit, f)
  out <- t(moments %*% seen$coef) /
    weight_divisor(fit, seen, raw_moments(fit, seen)[1, ])
  dimnames(out) <- list(NULL, rownames(moments))
  out
}
