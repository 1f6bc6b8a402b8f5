# States of particles, in any form chosen by the user, and calls of the user's
# functions with checks of their values.

# Containers ------------------------------------------------------------------

has_rows <- function(states) is.matrix(states) || is.data.frame(states)

particle_count <- function(states) {
  if (has_rows(states)) nrow(states) else length(states)
}

particle_subset <- function(states, i) {
  if (!has_rows(states)) {
    return(states[i])
  }
  out <- states[i, , drop = FALSE]
  # Copies of a row would get unique names, at great cost.
  if (is.data.frame(out)) attr(out, "row.names") <- seq_len(nrow(out))
  out
}

# States of several groups, one after the other
particle_bind <- function(parts) {
  if (length(parts) == 1) {
    return(parts[[1]])
  }
  parts <- unname(parts)
  do.call(if (has_rows(parts[[1]])) rbind else c, parts)
}

# Weighted standard deviations: one per column, or one if states are numbers
particle_scale <- function(states, weights) {
  if (is.data.frame(states)) {
    states <- states[vapply(states, is.numeric, TRUE)]
  }
  x <- if (is.list(states) && !is.data.frame(states)) NULL else
    as.matrix(states)
  if (!is.numeric(x)) {
    return(NULL)
  }
  centred <- sweep(x, 2, colSums(weights * x))
  sqrt(colSums(weights * centred^2))
}

# The properties that states must share to be combined
particle_shape <- function(states) {
  if (is.data.frame(states)) {
    paste("a data frame with columns", paste(names(states), collapse = ", "))
  } else if (is.matrix(states)) {
    paste("a matrix of", ncol(states), "columns")
  } else if (is.list(states)) {
    "a list"
  } else {
    "a vector"
  }
}

# One string per state, equal for equal states, regardless of names and of
# integer or double type
particle_keys <- function(states) {
  if (has_rows(states)) {
    columns <- lapply(seq_len(ncol(states)), function(j) {
      as.character(states[, j])
    })
    if (length(columns) == 0) {
      return(rep("", nrow(states)))
    }
    return(do.call(paste, c(columns, sep = ", ")))
  }
  if (is.list(states)) {
    return(paste0("{", vapply(states, key_of, ""), "}"))
  }
  unname(as.character(states))
}

key_of <- function(state) {
  if (is.list(state)) state <- paste0("{", vapply(state, key_of, ""), "}")
  paste(state, collapse = ", ")
}

# Calls -----------------------------------------------------------------------

# A function with those of `extras` that it has as arguments
with_extras <- function(f, extras) {
  extras <- extras[intersect(names(extras), names(formals(f)))]
  if (length(extras) == 0) {
    return(f)
  }
  function(...) rlang::exec(f, ..., !!!extras)
}

# N log densities: -Inf is allowed, NA and +Inf are not
user_logs <- function(f, what, n, t, ...) {
  check_user_numbers(
    call_user(f, what, t, ...), what, n, t, Inf, "below infinity"
  )
}

# N probabilities, from a function or a number
user_probabilities <- function(p, what, n, t, ...) {
  if (is.numeric(p)) {
    return(rep(as.double(p), n))
  }
  value <- call_user(p, what, t, ...)
  # 1 - a - b may miss 0 by rounding.
  value <- check_user_numbers(value, what, n, t, 1 + 1e-8,
    "between 0 and 1",
    lower = -1e-8
  )
  pmin(pmax(value, 0), 1)
}

check_user_numbers <- function(value, what, n, t, upper, range,
                               lower = -Inf) {
  wanted <- paste0(n, if (n == 1) " number " else " numbers ", range)
  if (!is.numeric(value) || length(value) != n) {
    refuse_value(what, t, wanted, describe(value))
  }
  if (anyNA(value)) {
    refuse_value(what, t, wanted, paste(sum(is.na(value)), "missing values"))
  }
  bad <- value < lower | value > upper | value == Inf
  if (any(bad)) {
    refuse_value(what, t, wanted, describe(value[bad][[1]]))
  }
  as.double(value)
}

# N states
user_states <- function(f, what, n, t, ...) {
  states <- call_user(f, what, t, ...)
  vector <- (is.atomic(states) || is.list(states)) && !is.null(states)
  if (!vector || particle_count(states) != n) {
    refuse_value(what, t, paste(n, "states"), describe(states))
  }
  states
}
