# Pictures, in base graphics and for ggplot2.

plot.prevail <- function(x, which = c("calibration", "components"), newdata = NULL, ask = NULL, ...) {
  which <- match.arg(which, several.ok = TRUE)
  if (isTRUE(x$loaded) && is.null(newdata)) refuse("a model that was read from a file has no data; give `newdata`")
  if (isTRUE(x$relative)) which <- setdiff(which, "calibration")
  if (is.null(ask)) ask <- length(which) > 1 && grDevices::dev.interactive()
  if (ask) {
    old <- grDevices::devAskNewPage(TRUE)
    on.exit(grDevices::devAskNewPage(old))
  }
  if ("calibration" %in% which) plot(evaluate(x, newdata), "calibration", ...)
  if ("components" %in% which && !is.null(x$coefficients) && length(x$labels) == 2 && !isTRUE(x$loaded)) {
    stats::termplot(x, se = !is.null(x$covariance), rug = TRUE, ask = FALSE, ...)
  }
  invisible(x)
}

# How a kind of curve is drawn: columns, axes, the line of reference.
curve_picture <- function(x, kind) {
  data <- curve_data(x, kind)
  label <- paste0(if (is.null(x$target)) "" else paste0(x$target, " = "), x$positive)
  switch(kind,
    roc = list(data = data, x = "fpr", y = "tpr", xlab = "False positive rate", ylab = "True positive rate", diagonal = TRUE),
    pr = list(data = data, x = "recall", y = "precision", xlab = "Recall", ylab = "Precision"),
    calibration = ,
    calibration_smooth = list(data = x$curves$calibration, smooth = x$curves$calibration_smooth, x = "mean_p", y = "observed",
      xlab = paste("Predicted risk of", label), ylab = "Observed share", diagonal = TRUE),
    net_benefit = list(data = data, x = "threshold", y = "net_benefit", xlab = "Threshold", ylab = "Net benefit", all = "treat_all"),
    predictive_values = list(data = data, x = "prevalence", y = "ppv", also = "npv", xlab = "Prevalence", ylab = "Predictive value"),
    refuse("there is no picture of ", kind, "; curve_data() has its numbers")
  )
}

plot.prevail_evaluation <- function(x, kind = "calibration", ...) {
  picture <- curve_picture(x, kind)
  data <- picture$data
  if (!nrow(data)) refuse("there is nothing to draw: the rows have one label only")
  a <- data[[picture$x]]
  b <- data[[picture$y]]
  defaults <- list(x = a, y = b, type = if (is.null(picture$smooth)) "l" else "p", pch = 16, xlab = picture$xlab, ylab = picture$ylab)
  lower <- if (!is.null(picture$smooth)) data[[paste0(picture$y, "_lo")]]
  upper <- if (!is.null(picture$smooth)) data[[paste0(picture$y, "_hi")]]
  shown <- c(b, lower, upper)
  limits <- if (any(is.finite(shown))) range(shown[is.finite(shown)]) else c(0, 1)
  if (kind == "net_benefit") limits <- c(min(0, max(-0.05, limits[1])), limits[2])
  if (kind %in% c("roc", "pr", "predictive_values")) limits <- c(0, 1)
  own <- list(...)
  defaults$ylim <- limits
  do.call(graphics::plot, utils::modifyList(defaults, own))
  if (isTRUE(picture$diagonal)) graphics::abline(0, 1, lty = 3)
  if (!is.null(picture$smooth) && nrow(picture$smooth)) {
    graphics::lines(picture$smooth[[1]], picture$smooth[[2]])
    graphics::segments(a, lower, a, upper)
  }
  if (!is.null(picture$all) && picture$all %in% names(data)) {
    graphics::lines(a, data[[picture$all]], lty = 2)
    graphics::abline(h = 0, lty = 3)
  }
  if (!is.null(picture$also)) graphics::lines(a, data[[picture$also]], lty = 2)
  invisible(data)
}

autoplot.prevail_evaluation <- function(object, kind = "calibration", ...) {
  picture <- curve_picture(object, kind)
  data <- data.frame(x = picture$data[[picture$x]], y = picture$data[[picture$y]])
  made <- ggplot2::ggplot(data, ggplot2::aes(x = .data[["x"]], y = .data[["y"]])) +
    ggplot2::labs(x = picture$xlab, y = picture$ylab, caption = lead(object))
  if (isTRUE(picture$diagonal)) made <- made + ggplot2::geom_abline(linetype = 3)
  if (is.null(picture$smooth)) {
    made <- made + ggplot2::geom_line()
  } else {
    made <- made + ggplot2::geom_point()
    if (nrow(picture$smooth)) {
      smooth <- data.frame(x = picture$smooth[[1]], y = picture$smooth[[2]])
      made <- made + ggplot2::geom_line(data = smooth)
    }
    bounds <- data.frame(x = data$x, y = data$y, lo = picture$data[[paste0(picture$y, "_lo")]], hi = picture$data[[paste0(picture$y, "_hi")]])
    made <- made + ggplot2::geom_linerange(data = bounds, ggplot2::aes(ymin = .data[["lo"]], ymax = .data[["hi"]]))
  }
  for (other in c(picture$also, picture$all)) {
    if (!other %in% names(picture$data)) next
    made <- made + ggplot2::geom_line(data = data.frame(x = data$x, y = picture$data[[other]]), linetype = 2)
  }
  made
}

utils::globalVariables(".data")
