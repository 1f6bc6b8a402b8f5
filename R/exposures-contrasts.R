# Contrasts of f between points in the space of exposures.

# A contrast is a sum of h at points with signs. A list of `points` (matrix, a
# row per point), `sign` and `of` (the line of the table), and `table`.
contrasts_of <- function(points, sign, of, table) {
  list(points = do.call(rbind, points), sign = sign, of = of, table = table)
}

# All exposures at a quantile
quantile_point <- function(x, q) {
  coded <- colnames(x) %in% attr(x, "coded")
  out <- Map(function(j, coded) part_quantiles(x[, j], q, coded),
    seq_along(coded), coded
  )
  stats::setNames(unlist(out), colnames(x))
}

#' Lines with a point and a base each
#' @param points,base Lists of vectors of inputs.
#' @noRd
differences <- function(points, base, table) {
  n <- length(points)
  contrasts_of(
    c(points, base), rep(c(1, -1), each = n), rep(seq_len(n), 2), table
  )
}

curve_values <- function(x, name, n) {
  v <- x[, name]
  if (name %in% attr(x, "coded")) {
    return(part_quantiles(v, seq(0, 1, length.out = n), TRUE))
  }
  seq(min(v), max(v), length.out = n)
}

with_value <- function(point, name, value) {
  point[[name]] <- value
  point
}

curve_contrasts <- function(x, exposures, setting) {
  base <- quantile_point(x, setting$at)
  table <- do.call(rbind, lapply(exposures, function(name) {
    data.frame(
      exposure = name, value = unique(curve_values(x, name, setting$n))
    )
  }))
  points <- Map(function(name, value) with_value(base, name, value),
    table$exposure, table$value
  )
  differences(points, rep(list(base), nrow(table)), table)
}

pair_contrasts <- function(x, exposures, setting) {
  if (length(exposures) < 2) {
    bad_argument(exposures, "exposures", "two names or more")
  }
  base <- quantile_point(x, setting$at)
  table <- expand.grid(
    value = seq_len(setting$n), quantile = setting$fixed, other = exposures,
    exposure = exposures, stringsAsFactors = FALSE, KEEP.OUT.ATTRS = FALSE
  )
  table <- table[table$exposure != table$other, 4:1]
  grids <- lapply(stats::setNames(nm = exposures), curve_values,
    x = x, n = setting$n
  )
  table$value <- unlist(Map(function(name, i) grids[[name]][[i]],
    table$exposure, table$value
  ), use.names = FALSE)
  points <- Map(function(name, other, q, value) {
    fixed <- quantile_point(x, q)[[other]]
    with_value(with_value(base, other, fixed), name, value)
  }, table$exposure, table$other, table$quantile, table$value)
  rownames(table) <- NULL
  differences(points, rep(list(base), nrow(table)), table)
}


overall_contrasts <- function(x, exposures, setting) {
  base <- quantile_point(x, setting$at)
  points <- lapply(setting$quantiles, function(q) {
    base[exposures] <- quantile_point(x, q)[exposures]
    base
  })
  table <- data.frame(
    exposure = exposures_label(x, exposures), quantile = setting$quantiles
  )
  differences(points, rep(list(base), length(points)), table)
}

# The exposure at both quantiles of the contrast, the others at q
single_pair <- function(x, name, q, setting) {
  at <- quantile_point(x, q)
  ends <- contrast_ends(x, name, setting$contrast)
  list(
    low = with_value(at, name, ends[[1]]),
    high = with_value(at, name, ends[[2]])
  )
}

contrast_ends <- function(x, name, contrast) {
  c(quantile_point(x, contrast[[1]])[[name]],
    quantile_point(x, contrast[[2]])[[name]])
}

# Below a limit of detection, for instance
tell_tied_contrasts <- function(x, exposures, contrast) {
  tied <- Filter(function(name) {
    diff(contrast_ends(x, name, contrast)) == 0
  }, exposures)
  if (length(tied) > 0) {
    kb_inform(c(
      "{.val {tied}} {?has/have} the same value at both quantiles of
       {.arg contrast}, {contrast[[1]]} and {contrast[[2]]}.",
      i = "{cli::qty(tied)}{?Its effect is/Their effects are} 0."
    ), "tied", exposures = tied)
  }
}

single_contrasts <- function(x, exposures, setting) {
  table <- expand.grid(
    fixed = setting$fixed, exposure = exposures, stringsAsFactors = FALSE,
    KEEP.OUT.ATTRS = FALSE
  )[2:1]
  tell_tied_contrasts(x, exposures, setting$contrast)
  pairs <- Map(function(name, q) single_pair(x, name, q, setting),
    table$exposure, table$fixed
  )
  differences(
    lapply(pairs, `[[`, "high"), lapply(pairs, `[[`, "low"), table
  )
}

interaction_contrasts <- function(x, exposures, setting) {
  tell_tied_contrasts(x, exposures, setting$contrast)
  ends <- range(setting$fixed)
  points <- lapply(exposures, function(name) {
    more <- single_pair(x, name, ends[[2]], setting)
    less <- single_pair(x, name, ends[[1]], setting)
    list(more$high, more$low, less$high, less$low)
  })
  contrasts_of(
    unlist(points, recursive = FALSE),
    rep(c(1, -1, -1, 1), length(exposures)),
    rep(seq_along(exposures), each = 4), data.frame(exposure = exposures)
  )
}

contrast_bands <- function(fit, frame, contrasts, setting, ndraws) {
  pool <- bark_pool(fit)
  chosen <- equal_weight_draws(fit, pool, ndraws)
  exposures <- unique(contrasts$table$exposure)
  keep_run({
    out <- map_tasks(as.list(exposures), "exposure_bands_of", list(
      fit = fit, contrasts = contrasts, frame = frame, setting = setting,
      pool = pool, chosen = chosen
    ), backend = NULL)
    report_tasks(
      sum(out$done), length(exposures), "exposure",
      "Their effects are returned."
    )
  })
  do.call(rbind, out$values[out$done])
}

# The lines of one exposure
exposure_bands_of <- function(name, shared) {
  fit <- shared$fit
  setting <- shared$setting
  lines <- which(shared$contrasts$table$exposure == name)
  used <- shared$contrasts$of %in% lines
  points <- shared$contrasts$points[used, , drop = FALSE]
  # A point is used by many lines.
  distinct <- unique(points)
  place <- match(row_keys(points), row_keys(distinct))
  rows <- exposure_rows(fit, shared$frame, distinct)
  f <- bark_values(fit, rows, shared$pool, "draw", shared$chosen)$mean
  draws <- rowsum(
    shared$contrasts$sign[used] * f[place, , drop = FALSE],
    shared$contrasts$of[used]
  )
  draws <- unscale_sd(fit$settings$scaling, draws)
  probs <- c(interval_ends(setting$level), 0.5)
  q <- apply(draws, 1, stats::quantile, probs, names = FALSE)
  cbind(shared$contrasts$table[lines, , drop = FALSE],
    mean = if (setting$median) q[3, ] else rowMeans(draws),
    sd = if (setting$median) NA_real_ else apply(draws, 1, stats::sd),
    lower = q[1, ], upper = q[2, ]
  )
}

row_keys <- function(x) apply(format(x, digits = 17), 1, paste, collapse = " ")

# Pictures of effects of exposures.

#' @rdname exposure_effects
#' @export
plot.kb_exposures <- function(x, ...) {
  draw_picture(exposures_picture(x), x, ...)
}

#' @rdname autoplot.kb_srvm
#' @exportS3Method ggplot2::autoplot
autoplot.kb_exposures <- autoplot_of(plot.kb_exposures)

exposures_picture <- function(x) {
  setting <- attr(x, "setting")
  if (is.null(setting)) {
    kb_abort(c(
      "The table has lost its attributes.",
      i = "Draw the value of {.fn exposure_effects} as it is."
    ), "argument", argument = "x")
  }
  outcome <- attr(x, "outcome")
  x <- as.data.frame(x)
  ylab <- paste(
    if (setting$type == "interactions") "change of effects on" else "change of",
    outcome
  )
  if (setting$type %in% c("curves", "pairs")) {
    ylab <- paste(ylab, reference_words(setting))
  }
  switch(setting$type,
    curves = curves_picture(x, ylab, setting),
    pairs = pairs_picture(x, ylab), overall = overall_picture(x, ylab, setting),
    single = single_picture(x, ylab, setting),
    interactions = interactions_picture(x, ylab, setting),
    inclusion = inclusion_picture(x)
  )
}

overall_picture <- function(x, ylab, setting) {
  panel <- exposure_panel(
    data.frame(quantile = format(x$quantile), x[bands_of(x)]), "quantile", ylab,
    setting
  )
  moved <- x$exposure[[1]]
  panel$xlab <- paste0(
    "quantile of ", if (moved == "all") "all exposures" else moved, ", ",
    reference_words(setting)
  )
  new_picture(panel)
}

single_picture <- function(x, ylab, setting) {
  panel <- exposure_panel(data.frame(
    exposure = x$exposure, "others at quantile" = format(x$fixed),
    x[bands_of(x)], check.names = FALSE
  ), c("exposure", "others at quantile"), ylab, setting)
  panel$xlab <- paste("exposure,", contrast_words(setting))
  new_picture(panel)
}

interactions_picture <- function(x, ylab, setting) {
  panel <- exposure_panel(x, "exposure", ylab, setting)
  panel$xlab <- paste0(
    "exposure, ", contrast_words(setting), "; ", others_words(setting)
  )
  new_picture(panel)
}

contrast_words <- function(setting) {
  paste("from quantile", paste(setting$contrast, collapse = " to "))
}

# Bands, and a line where nothing changes
exposure_panel <- function(x, variables, ylab, setting) {
  panel <- effect_panel(x, variables, ylab, setting$level,
    if (setting$median) "prior median" else "posterior mean"
  )
  panel$layers <- c(list(rule_layer(y = 0)), panel$layers)
  panel
}

bands_of <- function(x) c("mean", "lower", "upper")

curves_picture <- function(x, ylab, setting) {
  names <- unique(x$exposure)
  span <- range(x$lower, x$upper)
  panels <- lapply(names, function(name) {
    own <- x[x$exposure == name, ]
    own[[name]] <- own$value
    out <- exposure_panel(own, name, ylab, setting)
    out$ylim <- span
    out
  })
  new_picture(panels, columns = ceiling(sqrt(length(panels))))
}

# A table of panels: a row per second exposure. Labels are different, since
# panels of ggplot2 are told apart by them.
pairs_picture <- function(x, ylab) {
  names <- shown_exposures(x)
  span <- range(x$mean)
  panels <- list()
  for (other in names) {
    for (name in setdiff(names, other)) {
      own <- x[x$exposure == name & x$other == other, ]
      own <- own[order(own$quantile, own$value), ]
      of <- factor(format(own$quantile))
      by <- groups("other exposure at its quantile", levels(of))
      panel <- panel(paste0(name, ", by ", other), ylab,
        layer("lines", columns(x = own$value, y = own$mean, group = of),
          lwd = 2, by = by
        ), ylim = span
      )
      panels <- c(panels, list(panel))
    }
  }
  new_picture(panels, columns = length(names) - 1)
}

# A page has room for the pairs of a few: those along which f changes most
shown_exposures <- function(x, most = 5) {
  names <- unique(x$exposure)
  if (length(names) <= most) {
    return(names)
  }
  span <- vapply(names, function(name) {
    diff(range(x$mean[x$exposure == name]))
  }, 0)
  shown <- names[sort(utils::head(order(-span), most))]
  kb_inform(c(
    "Pairs of {most} of {length(names)} exposures are drawn, those with the
     largest changes: {.val {shown}}.",
    i = "For others give {.arg exposures} to {.fn exposure_effects}."
  ), "panels", exposures = shown)
  shown
}

# Shares of the change of f above probabilities of an effect
inclusion_picture <- function(x) {
  label <- ifelse(x$exposure == "all", x$kernels, x$exposure)
  at <- seq_along(label)
  bars <- function(what, title, ...) {
    panel("", title,
      layer("bars", columns(x = at, y = x[[what]]), label = "posterior"), ...,
      ticks = label, ylim = c(0, 1), xlim = c(0.4, length(label) + 0.6)
    )
  }
  new_picture(list(
    bars("share", "share of the change"),
    bars("effect", "P(effect)", points_layer(at, x$effect_prior,
      shape = 23, size = 1, colour = "grey", fill = "white", label = "prior"
    ))
  ))
}
