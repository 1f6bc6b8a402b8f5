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
  type <- attr(x, "type")
  if (is.null(type)) {
    kb_abort(c(
      "The table has lost its attributes.",
      i = "Draw the value of {.fn exposure_effects} as it is."
    ), "argument", argument = "x")
  }
  ylab <- paste("change of", attr(x, "outcome"))
  x <- as.data.frame(x)
  switch(type,
    curves = curves_picture(x, ylab), pairs = pairs_picture(x, ylab),
    overall = new_picture(with_zero(effect_panel(
      data.frame(quantile = format(x$quantile), x[bands_of(x)]),
      "quantile", ylab
    ))),
    single = new_picture(with_zero(effect_panel(
      data.frame(
        exposure = x$exposure, "others at" = format(x$fixed), x[bands_of(x)],
        check.names = FALSE
      ), c("exposure", "others at"), ylab
    )), apart = FALSE),
    interactions = new_picture(with_zero(effect_panel(
      x, "exposure", ylab
    ))),
    inclusion = inclusion_picture(x)
  )
}

bands_of <- function(x) c("mean", "lower", "upper")

# A line where nothing changes
with_zero <- function(panel) {
  panel$layers <- c(list(rule_layer(y = 0)), panel$layers)
  panel
}

curves_picture <- function(x, ylab) {
  names <- unique(x$exposure)
  span <- range(x$lower, x$upper)
  panels <- lapply(names, function(name) {
    own <- x[x$exposure == name, ]
    own[[name]] <- own$value
    out <- with_zero(effect_panel(own, name, ylab))
    out$ylim <- span
    out
  })
  new_picture(panels, columns = ceiling(sqrt(length(panels))))
}

# A table of panels: a row per second exposure
pairs_picture <- function(x, ylab) {
  names <- unique(x$exposure)
  span <- range(x$mean)
  panels <- list()
  for (other in names) {
    for (name in setdiff(names, other)) {
      own <- x[x$exposure == name & x$other == other, ]
      label <- paste(other, "at")
      own <- own[order(own$quantile, own$value), ]
      of <- factor(format(own$quantile))
      by <- groups(label, levels(of))
      panel <- panel(name, ylab,
        layer("lines", columns(x = own$value, y = own$mean, group = of),
          lwd = 2, by = by
        ), ylim = span
      )
      panels <- c(panels, list(panel))
    }
  }
  new_picture(panels, columns = length(names) - 1)
}

# Shares of the change of f above probabilities of an effect
inclusion_picture <- function(x) {
  label <- ifelse(x$exposure == "all", x$kernels, x$exposure)
  at <- seq_along(label)
  bars <- function(what, title, ...) {
    panel("", title, layer("bars", columns(x = at, y = x[[what]])), ...,
      ticks = label, ylim = c(0, 1), xlim = c(0.4, length(label) + 0.6)
    )
  }
  new_picture(list(
    bars("share", "share of change"),
    bars("effect", "P(effect)", layer("points",
      columns(x = at, y = x$effect_prior),
      colour = "orange", size = 1, label = "prior"
    ))
  ))
}
