# Sets of labels with guaranteed coverage, and calls with a refer region.

sets <- function(p, y, coverage = 0.9, prevalence = NULL, refer = NULL, confidence = 0.95, weights = NULL, group = NULL, labels = NULL,
                 positive = NULL, seed = 1) {
  if (missing(y)) refuse("`y` is missing: the labels of the rows of `p`")
  if (is.null(labels) && NCOL(p) == 1) labels <- outcome_labels(y, positive)
  given <- as_probabilities(p, labels, positive)
  if (is.logical(y)) y <- if (all(c("FALSE", "TRUE") %in% given$labels)) as.character(y) else y
  options <- option_texts(list(
    coverage = by_label_text(coverage, given$labels, "coverage"), refer = by_label_text(refer, given$labels, "refer"),
    prevalence = prevalence_text(prevalence, given$labels, given$positive), confidence = confidence, seed = seed
  ))
  unit <- NULL
  if (!is.null(group)) {
    if (length(group) != NROW(given$p)) refuse("`group` has ", length(group), " rows, and `p` has ", NROW(given$p))
    unit <- as.integer(factor(group)) - 1L
    unit[is.na(unit)] <- -1L
  }
  made <- with_session(function(session) {
    .Call(call_sets_calibrate, session, probs_handle(session, given, y, weights), unit, options$names, options$texts)
  })
  kept <- list(rule = made$rule, given = list(labels = given$original, positive = given$positive))
  structure(c(made$result, kept, list(text = rawToChar(made$text))), class = "prevail_sets")
}

# A number for all labels, or a named vector by label.
by_label_text <- function(value, labels, option) {
  if (is.null(value) || is.null(names(value))) return(if (is.null(value)) NULL else option_text(option, value))
  unknown <- setdiff(names(value), labels)
  if (length(unknown)) refuse("`", option, "`: there is no label ", unknown[1], "; the labels are ", paste(labels, collapse = ", "))
  paste0(names(value), "=", vapply(value, number_text, ""), collapse = ",")
}

predict.prevail_sets <- function(object, p, type = c("set", "call"), ...) {
  refuse_dots("predict", list(...), names(formals()))
  type <- choose_one(type, c("set", "call"), "type")
  given <- as_probabilities(p, object$given$labels, object$given$positive)
  wide <- if (given$wide) given$p else cbind(1 - given$p, given$p)
  if (type == "call" && !is.list(object$refer)) refuse("`type` = \"call\" needs `refer` in sets()")
  found <- with_session(function(session) .Call(call_sets_apply, session, object$rule, wide, type == "call"))
  if (type == "call") return(factor(given$labels[found], levels = given$original))
  colnames(found) <- given$labels
  found[, order(given$order), drop = FALSE]
}

print.prevail_sets <- function(x, ...) {
  text <- x$text
  Encoding(text) <- "UTF-8"
  cat(text)
  invisible(x)
}
