# check_moves(): the verdict, and its print.

new_check_moves <- function(found, problem, steps) {
  found <- Filter(Negate(is.null), unname(found))
  found <- c(found, never_tried(found))
  # A draw of an impossible state has p-value 0 whatever the number of tests.
  tests <- sum(lengths(lapply(found, `[[`, "p")))
  found <- lapply(found, judge, tests, problem$level)
  table <- do.call(rbind, lapply(found, `[[`, "line"))
  # If the identity holds, the shares of the moves may be chosen freely.
  holds <- table$t[table$check == "identity" & table$ok]
  table$ok <- table$ok | table$check == "weight" & table$t %in% holds
  bad <- table$ok %in% FALSE
  worst <- do.call(rbind, lapply(found[bad], worst_states))
  rownames(worst) <- NULL
  structure(
    list(
      ok = all(table$ok), wrong = unique(table$move[bad]),
      table = table, worst = worst, steps = steps,
      moves = names(problem$moves), listed = problem$listed,
      lost = lost_share(found),
      untested = first_untested(table), n = problem$n
    ),
    class = "kb_check_moves"
  )
}

# What was not tested has `ok = NA`

untested <- function(t, move, check, keys = "") {
  c(finding(move, check, t, NA, NA, keys), untested = TRUE)
}

first_untested <- function(table) {
  t <- table$t[table$check == "particles"]
  if (length(t) > 0) min(t) else NA_integer_
}

# Parts of a kernel that no particle could choose at any step
never_tried <- function(found) {
  found <- Filter(function(f) !is.null(f$tried), found)
  if (length(found) == 0) {
    return(NULL)
  }
  tried <- as.double(unlist(lapply(found, `[[`, "tried")))
  parts <- unlist(lapply(found, function(f) names(f$tried)))
  total <- vapply(split(tried, parts), sum, 0)
  lapply(names(total)[total == 0], function(name) {
    untested(max(vapply(found, `[[`, 1, "t")), "(target)", "rejuvenate", name)
  })
}

# The share of draws that are not states: of all draws or, if that is more, of
# initial()
lost_share <- function(found) {
  draws <- lapply(found, `[[`, "draws")
  start <- vapply(found, `[[`, "", "check") == "initial"
  share <- function(draws) {
    total <- Reduce(`+`, Filter(Negate(is.null), draws))
    if (is.null(total)) 0 else total[["lost"]] / total[["all"]]
  }
  max(share(draws), share(draws[start]))
}

judge <- function(f, tests, level) {
  if (isTRUE(f$untested)) {
    f$line <- data.frame(
      move = f$move, check = f$check, t = f$t, discrepancy = NA_real_,
      p_value = NA_real_, ok = NA, state = f$keys
    )
    return(f)
  }
  simulated <- !is.null(f$p)
  p <- if (simulated) min(1, f$p * tests) else NA_real_
  at <- if (simulated) which.min(f$p) else which.max(f$error)
  if (length(at) == 0) {
    f$line <- data.frame(
      move = f$move, check = f$check, t = f$t, discrepancy = 0, p_value = p,
      ok = TRUE, state = ""
    )
    return(f)
  }
  f$line <- data.frame(
    move = f$move, check = f$check, t = f$t, discrepancy = f$error[[at]],
    p_value = p, ok = if (simulated) p >= level else f$error[[at]] <= 1e-8,
    state = f$keys[[at]]
  )
  f
}

worst_states <- function(f, most = 5) {
  order <- if (is.null(f$p)) order(-f$error) else order(f$p)
  at <- utils::head(order, most)
  at <- at[f$error[at] > 1e-8]
  data.frame(
    move = rep(f$move, length(at)), check = rep(f$check, length(at)),
    t = rep(f$t, length(at)), state = f$keys[at], is = f$is[at],
    should_be = f$should_be[at]
  )
}

#' @rdname check_moves
#' @export
print.kb_check_moves <- function(x, ...) {
  check_no_dots(...)
  cat(
    "<check_moves> ", length(x$moves),
    if (length(x$moves) == 1) " move" else " moves", ", ",
    if (length(x$steps) == 1) "step " else "steps ",
    paste(unique(range(x$steps)), collapse = " to "), ": ",
    verdict_words(x), "\n",
    sep = ""
  )
  if (!x$listed) {
    cat("  states not listed: by simulation of", format(x$n), "particles\n")
  }
  if (x$lost > 0.5) tell_unlisted(x)
  tell_untested(x)
  bad <- x$table[x$table$ok %in% FALSE, ]
  # One line for each move and check: the step where it is worst.
  bad <- bad[order(-bad$discrepancy), ]
  bad <- bad[!duplicated(bad[c("move", "check")]), ]
  bad <- bad[order(match(bad$move, c("(target)", x$moves, "(all moves)"))), ]
  for (i in seq_len(nrow(bad))) {
    cat(strwrap(fault_in_words(bad[i, ], x), 78, exdent = 4, prefix = "",
      initial = "  "), sep = "\n")
  }
  invisible(x)
}

initial_in_words <- function(line, at, x, found) {
  if (is.na(line$p_value)) {
    return(found("gamma_0 sums to"))
  }
  if (x$listed) {
    return(found("initial() draws with frequency"))
  }
  region_in_words(at, "initial()", "gamma_0")
}

propose_in_words <- function(at, x, found) {
  if (x$listed) {
    return(found("propose() draws with frequency"))
  }
  region_in_words(at, "propose()", "exp(log_forward)")
}

region_in_words <- function(at, draws, density) {
  paste0(
    format(at$is, digits = 3), " of the draws of ", draws, " are in a region ",
    "over which ", density, " integrates to ", format(at$should_be, digits = 3)
  )
}

# "rejuvenate", or "rejuvenate at 0.5" while a datum enters
rejuvenate_in_words <- function(check, at, x, found) {
  call <- paste0("rejuvenate()", if (check != "rejuvenate") {
    sub(".* at", " at the power", check)
  })
  if (x$listed) {
    return(found(paste("after", call, "a state has frequency")))
  }
  paste(
    call, "takes a weight of", format(at$is, digits = 3), "from a part of the",
    "states and brings", format(at$should_be, digits = 3)
  )
}

verdict_words <- function(x) {
  if (is.na(x$ok)) {
    return("no fault found in what was tested")
  }
  if (!x$ok) {
    return("NOT exact")
  }
  if (x$listed) "exact" else "no fault found"
}

tell_untested <- function(x) {
  if (!is.na(x$untested)) {
    cat("  not tested from step ", x$untested,
      " on: too few particles carry the weight\n",
      sep = ""
    )
  }
  rest <- x$table[is.na(x$table$ok) & x$table$check == "rejuvenate", ]
  if (nrow(rest) == 0) {
    return(invisible())
  }
  parts <- toString(Filter(nzchar, unique(rest$state)))
  cat("  rejuvenate() not tested: ",
    if (x$n == 0) "there were no draws" else
      paste(parts, "could not be chosen by any particle"), "\n",
    sep = ""
  )
}

tell_unlisted <- function(x) {
  cat(strwrap(paste0(
    percent(x$lost), " of the draws are not among the listed states. If ",
    "states cannot be listed, because they vary continuously, leave out ",
    "`states`: simulations then test what they can."
  ), 78, exdent = 4, prefix = "", initial = "  "), sep = "\n")
}

fault_in_words <- function(line, x) {
  at <- x$worst[x$worst$move == line$move & x$worst$check == line$check &
    x$worst$t == line$t & x$worst$state == line$state, ]
  number <- function(v) format(v, digits = 3)
  found <- function(what) {
    paste0(what, " ", number(at$is), ", not ", number(at$should_be))
  }
  text <- switch(sub(" at .*", "", line$check),
    probability = found("the probabilities of the moves sum to"),
    reverse_probability = found("the reverse probabilities sum to"),
    log_forward = found("the forward density sums to"),
    log_reverse = found("the reverse density sums to"),
    support = paste(
      number(at$is), "of the reverse density is on states from which the move",
      "does not lead back"
    ),
    weight = found("its weights give the state a share of"),
    identity = found("the weights of all moves sum to"),
    propose = propose_in_words(at, x, found),
    initial = initial_in_words(line, at, x, found),
    rejuvenate = rejuvenate_in_words(line$check, at, x, found),
    balance = paste(
      "the first brings", number(at$is), "and the second", number(at$should_be),
      "of what both can bring"
    )
  )
  state <- if (nzchar(line$state)) paste0(", at ", line$state) else ""
  paste0(line$move, ": ", text, " (step ", line$t, state, ")")
}
