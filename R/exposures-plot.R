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
