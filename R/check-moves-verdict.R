# check_moves(): the verdict, and its print.

new_check_moves <- function(found, problem, steps) {
  found <- Filter(Negate(is.null), unname(found))
  few <- vapply(found, `[[`, "", "check") == "particles"
  untested <- if (any(few)) found[few][[1]]$t else NA_integer_
  found <- found[!few]
  # A draw of an impossible state has p-value 0 whatever the number of tests.
  tests <- sum(lengths(lapply(found, `[[`, "p")))
  found <- lapply(found, judge, tests, problem$level)
  table <- do.call(rbind, lapply(found, `[[`, "line"))
  # If the identity holds, the shares of the moves may be chosen freely.
  holds <- table$t[table$check == "identity" & table$ok]
  table$ok <- table$ok | table$check == "weight" & table$t %in% holds
  worst <- do.call(rbind, lapply(found[!table$ok], worst_states))
  rownames(worst) <- NULL
  structure(
    list(
      ok = all(table$ok), wrong = unique(table$move[!table$ok]),
      table = table, worst = worst, steps = steps,
      moves = names(problem$moves), listed = problem$listed,
      lost = lost_share(found),
      untested = untested, n = problem$n
    ),
    class = "kb_check_moves"
  )
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
  if (!is.na(x$untested)) {
    cat("  not tested from step ", x$untested,
      " on: too few particles carry the weight\n",
      sep = ""
    )
  }
  if (x$ok) {
    return(invisible(x))
  }
  bad <- x$table[!x$table$ok, ]
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
  paste0(
    format(at$is, digits = 3), " of the draws of initial() are in a region ",
    "over which gamma_0 integrates to ", format(at$should_be, digits = 3)
  )
}

# "rejuvenate", or "rejuvenate at 0.5" while a datum enters
rejuvenate_in_words <- function(check, listed) {
  paste0(
    "after rejuvenate() ",
    if (check != "rejuvenate") sub(".* at", "at the power", check),
    if (check != "rejuvenate") " ",
    if (listed) "a state has frequency" else
      "a part of the states has a weight of"
  )
}

verdict_words <- function(x) {
  if (!x$ok) {
    return("NOT exact")
  }
  if (x$listed) "exact" else "no fault found"
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
    propose = found("propose() draws with frequency"),
    initial = initial_in_words(line, at, x, found),
    rejuvenate = found(rejuvenate_in_words(line$check, x$listed)),
    balance = paste(
      "the first brings", number(at$is), "and the second", number(at$should_be),
      "of what both can bring"
    )
  )
  state <- if (nzchar(line$state)) paste0(", at ", line$state) else ""
  paste0(line$move, ": ", text, " (step ", line$t, state, ")")
}
