# Plots, in base graphics and for ggplot2.

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
  if ("components" %in% which && !is.null(x$coefficients) && length(x$labels) == 2 && !isTRUE(x$loaded)) plot_components(x, ...)
  invisible(x)
}

# Each term's contribution to the log odds, on a common scale.
plot_components <- function(x, ...) {
  terms <- grep(":", attr(x$terms, "term.labels"), fixed = TRUE, invert = TRUE, value = TRUE)
  errors <- !is.null(x$covariance)
  parts <- stats::predict(x, type = "terms", terms = terms, se.fit = errors)
  limits <- if (errors) range(parts$fit - 2 * parts$se.fit, parts$fit + 2 * parts$se.fit, na.rm = TRUE) else range(parts, na.rm = TRUE)
  frame <- model.frame.prevail(x)
  for (term in terms) {
    rug <- is.numeric(frame[[term]]) && nrow(frame) <= 2000
    own <- utils::modifyList(list(ylim = limits, main = paste("Log odds of", label_of(x), "by", term), ylabs = "Part of the log odds"), list(...))
    do.call(stats::termplot, c(list(x, terms = term, se = errors, rug = rug, ask = FALSE), own))
  }
}

# Lines x, y, label of each kind of curve, the first with its interval, with axis limits that are readable at the stated
# prevalence.
curve_picture <- function(x, kind) {
  data <- curve_data(x, kind)
  label <- paste0(if (is.null(x$target)) "" else paste0(x$target, " = "), x$positive)
  prevalence <- x$stated[[x$positive]]
  of <- function(metric) {
    row <- x$metrics[metric, ]
    paste0(" (", format(row$value, digits = 3), if (is.finite(row$lower)) paste0(", ", format(row$lower, digits = 3), " to ", format(row$upper, digits = 3)), ")")
  }
  switch(kind,
    roc = list(title = "ROC curve", xlab = "False positive rate", ylab = "True positive rate", xlim = 0:1, ylim = 0:1, legend = "bottomright",
      lines = list(curve_line(data, "fpr", "tpr", paste0("AUC", of("auc")), band = TRUE), list(x = 0:1, y = 0:1, label = "Chance"))),
    pr = list(title = "Precision and recall", xlab = "Recall", ylab = "Precision", xlim = 0:1, legend = "topright",
      ylim = c(0, min(1, 1.15 * max(prevalence, data$precision[data$recall >= 0.05 & is.finite(data$precision)]))),
      lines = list(curve_line(data, "recall", "precision", paste0("Average precision", of("average_precision")), band = TRUE),
        list(x = 0:1, y = rep(prevalence, 2), label = paste0("Chance (", format(prevalence, digits = 3), ")")))),
    calibration = ,
    calibration_smooth = calibration_picture(x, label),
    net_benefit = list(title = "Net benefit", xlab = "Threshold", ylab = "Net benefit", log = "x", legend = "topright",
      xlim = range(data$threshold[data$threshold >= prevalence / 10 & data$threshold <= max(3 * prevalence, x$curves$roc$threshold[2])]),
      ylim = c(-0.25, 1.05) * max(prevalence, data$net_benefit),
      lines = list(curve_line(data, "threshold", "net_benefit", "Model", band = TRUE), curve_line(data, "threshold", "treat_all", "Treat all"),
        curve_line(data, "threshold", "treat_none", "Treat none"))),
    predictive_values = list(title = paste("Predictive values at threshold", format(prevalence, digits = 3)), xlab = "Prevalence",
      ylab = "Predictive value", log = "x", xlim = range(data$prevalence), ylim = 0:1, legend = "left",
      lines = list(curve_line(data, "prevalence", "ppv", "Positive", band = TRUE), curve_line(data, "prevalence", "npv", "Negative"),
        list(x = rep(prevalence, 2), y = 0:1, label = paste0("Prevalence (", format(prevalence, digits = 3), ")")))),
    refuse("there is no plot of ", kind, "; curve_data() has its numbers")
  )
}

curve_line <- function(data, x, y, label, band = FALSE) {
  made <- list(x = data[[x]], y = data[[y]], label = label)
  if (band) made[c("lo", "hi")] <- list(data[[paste0(y, "_lo")]], data[[paste0(y, "_hi")]])
  made
}

# Logarithmic if risks span several orders of magnitude.
calibration_picture <- function(x, label) {
  bins <- x$curves$calibration
  smooth <- x$curves$calibration_smooth
  made <- list(title = "Calibration", xlab = paste("Predicted risk of", label), ylab = "Observed proportion", legend = "topleft")
  if (!nrow(bins)) return(made)
  wide <- min(bins$mean_p) > 0 && max(bins$mean_p) > 30 * min(bins$mean_p)
  made$log <- if (wide) "xy" else ""
  shown <- c(bins$mean_p, bins$observed, bins$observed_lo, bins$observed_hi)
  made$xlim <- range(bins$mean_p)
  made$ylim <- range(shown[is.finite(shown) & (shown > 0 | !wide)])
  made$points <- list(x = bins$mean_p, y = bins$observed, lo = if (wide) pmax(bins$observed_lo, made$ylim[1]) else bins$observed_lo,
    hi = bins$observed_hi, label = paste0("Bins, ", format(100 * x$level), " % intervals"))
  grid <- sort(unique(c(made$xlim, smooth[[1]])))
  grid <- grid[grid >= made$xlim[1] & grid <= made$xlim[2]]
  inside <- smooth[[1]] >= made$xlim[1] & smooth[[1]] <= made$xlim[2]
  made$lines <- list(list(x = smooth[[1]][inside], y = smooth[[2]][inside], label = "Smooth"), list(x = grid, y = grid, label = "Ideal"))
  made
}

plot.prevail_evaluation <- function(x, kind = "calibration", ...) {
  picture <- curve_picture(x, kind)
  if (!length(picture$lines) || !length(picture$lines[[1]]$x)) refuse("there is nothing to draw: the rows have one label only")
  defaults <- list(x = picture$xlim, y = picture$ylim, type = "n", main = picture$title, sub = lead(x), cex.sub = 0.8,
    xlab = picture$xlab, ylab = picture$ylab, xlim = picture$xlim, ylim = picture$ylim, log = picture$log %or% "")
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  for (i in rev(seq_along(picture$lines))) {
    line <- picture$lines[[i]]
    ok <- is.finite(line$lo) & is.finite(line$hi)
    if (length(ok) && any(ok)) {
      graphics::polygon(c(line$x[ok], rev(line$x[ok])), c(line$lo[ok], rev(line$hi[ok])), col = grDevices::adjustcolor("grey50", 0.25), border = NA)
    }
    graphics::lines(line$x, line$y, lty = i)
  }
  points <- picture$points
  if (!is.null(points)) {
    graphics::segments(points$x, points$lo, points$x, points$hi)
    graphics::points(points$x, points$y, pch = 16)
  }
  labels <- c(points$label, vapply(picture$lines, `[[`, "", "label"))
  marks <- c(if (!is.null(points)) 16, rep(NA, length(picture$lines)))
  graphics::legend(picture$legend, labels, lty = c(if (!is.null(points)) 1, seq_along(picture$lines)), pch = marks, bg = grDevices::adjustcolor("white", 0.8),
    box.col = NA, cex = 0.85)
  invisible(curve_data(x, kind))
}

autoplot.prevail_evaluation <- function(object, kind = "calibration", ...) {
  picture <- curve_picture(object, kind)
  every <- function(parts) do.call(rbind, lapply(parts, function(part) data.frame(x = part$x, y = part$y, label = part$label)))
  lines <- every(picture$lines)
  lines$label <- factor(lines$label, unique(lines$label))
  made <- ggplot2::ggplot(lines, ggplot2::aes(x = .data[["x"]], y = .data[["y"]])) +
    ggplot2::labs(x = picture$xlab, y = picture$ylab, title = picture$title, caption = lead(object), linetype = NULL) +
    ggplot2::coord_cartesian(xlim = picture$xlim, ylim = picture$ylim)
  if (grepl("x", picture$log %or% "")) made <- made + ggplot2::scale_x_log10()
  if (grepl("y", picture$log %or% "")) made <- made + ggplot2::scale_y_log10()
  for (line in picture$lines) {
    if (is.null(line$lo)) next
    band <- data.frame(line[c("x", "y", "lo", "hi")])
    band <- band[is.finite(band$lo) & is.finite(band$hi), ]
    made <- made + ggplot2::geom_ribbon(data = band, ggplot2::aes(ymin = .data[["lo"]], ymax = .data[["hi"]]), alpha = 0.2)
  }
  made <- made + ggplot2::geom_line(ggplot2::aes(linetype = .data[["label"]]))
  if (!is.null(picture$points)) {
    points <- data.frame(picture$points[c("x", "y", "lo", "hi")])
    made <- made + ggplot2::geom_point(data = points) +
      ggplot2::geom_linerange(data = points, ggplot2::aes(ymin = .data[["lo"]], ymax = .data[["hi"]]))
  }
  made
}

utils::globalVariables(".data")
