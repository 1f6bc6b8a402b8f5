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
  level <- attr(x, "level")
  x <- as.data.frame(x)
  switch(type,
    curves = curves_picture(x, ylab, level), pairs = pairs_picture(x, ylab),
    overall = new_picture(with_zero(effect_panel(
      data.frame(quantile = format(x$quantile), x[bands_of(x)]),
      "quantile", ylab, level
    ))),
    single = new_picture(with_zero(effect_panel(
      data.frame(
        exposure = x$exposure, "others at" = format(x$fixed), x[bands_of(x)],
        check.names = FALSE
      ), c("exposure", "others at"), ylab, level
    )), apart = FALSE),
    interactions = new_picture(with_zero(effect_panel(
      x, "exposure", ylab, level
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

curves_picture <- function(x, ylab, level) {
  names <- unique(x$exposure)
  span <- range(x$lower, x$upper)
  panels <- lapply(names, function(name) {
    own <- x[x$exposure == name, ]
    own[[name]] <- own$value
    out <- with_zero(effect_panel(own, name, ylab, level))
    out$ylim <- span
    out
  })
  new_picture(panels, columns = ceiling(sqrt(length(panels))))
}

# A table of panels: a row per second exposure. Labels are different, since
# panels of ggplot2 are told apart by them.
pairs_picture <- function(x, ylab) {
  names <- unique(x$exposure)
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
