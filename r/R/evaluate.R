# Evaluation of predictions: metrics with intervals, curves, reports.

evaluate <- function(object, ...) UseMethod("evaluate")

curve_kinds <- c("roc", "pr", "im", "calibration", "calibration_smooth", "expected", "net_benefit", "predictive_values")

judge_options <- function(stated_for, labels, positive, level, bootstrap, seed) {
  check_level(level)
  if (!is.null(stated_for) && !(is.character(stated_for) && stated_for %in% c("rows", "population"))) {
    stated_for <- prevalence_text(stated_for, labels, labels[length(labels)], "stated_for")
  }
  option_texts(list(stated_for = stated_for, positive = positive, bootstrap = bootstrap, interval = level, seed = seed))
}

new_evaluation <- function(handle, level, target) {
  said <- .Call(call_judgement, handle)
  what <- .Call(call_metrics)
  metrics <- data.frame(metric = what$metric, value = said$value, lower = said$lo, upper = said$hi, what = what$what,
    row.names = what$metric)
  kept <- new.env(parent = emptyenv())
  kept$judgement <- handle
  made <- structure(class = "prevail_evaluation", list(
    metrics = metrics[!is.nan(metrics$value) | metrics$metric %in% "auc", ], labels = said$labels,
    positive = said$labels[said$positive], rows = said$rows, dropped = said$dropped, observed = named(said$observed, said$labels),
    stated = named(said$stated, said$labels), prevalence = named(said$prevalence, said$labels), misleading = said$misleading,
    replicates = said$replicates, level = level, target = target, handle = kept
  ))
  made$curves <- lapply(stats::setNames(nm = curve_kinds), function(kind) make_curve(made, kind))
  made
}

evaluate.prevail <- function(object, newdata = NULL, population = NULL, stated_for = "population", positive = NULL, level = 0.95,
                             bootstrap = -1, seed = 1, ...) {
  refuse_dots("evaluate", list(...), names(formals()), c(prevalence = "the argument is `population`"))
  if (isTRUE(object$relative)) refuse("a fit to matched sets has odds ratios only, and no risks to evaluate")
  options <- judge_options(stated_for, object$labels, positive, level, bootstrap, seed)
  where <- population_text(object, population)
  rows <- prediction_rows(object, newdata, outcome = TRUE)
  data <- labelled_rows(object, rows)
  handle <- with_session(function(session) {
    table <- training_table(session, data)
    .Call(call_judge_model, session, model_handle(object), table, where, options$names, options$texts)
  }, object$threads)
  if (startsWith(where, "unknown")) warn_if_weak(risk_matrix(object, newdata, where, level)$inferred)
  made <- new_evaluation(handle, level, object$target_column)
  made$training <- is_training(object, rows)
  made
}

# Whether these are the rows of the fit.
is_training <- function(fit, rows) {
  if (identical(rows$source, "data")) return(TRUE)
  if (isTRUE(fit$loaded) || is.null(fit$model) || nrow(rows$frame) != nrow(fit$model)) return(FALSE)
  own <- names(rows$frame)
  identical(lapply(rows$frame, as.vector), lapply(fit$model[own], as.vector))
}

# Rows with outcomes and weights, in the format of training_table.
labelled_rows <- function(fit, rows) {
  if (isTRUE(fit$loaded)) {
    return(list(x = rows$x, columns = rows$columns, outcome = list(column = NULL, counts = NULL), target = "(none)", weights = NULL))
  }
  frame <- rows$frame[rows$keep, , drop = FALSE]
  response <- stats::model.response(rows$frame)
  response <- if (is.matrix(response)) response[rows$keep, , drop = FALSE] else response[rows$keep]
  outcome <- if (is.matrix(response)) counts_outcome(response, fit$target) else {
    list(column = as_labels(response, fit$labels, fit$target), counts = NULL)
  }
  weights <- if (identical(rows$source, "data")) stats::model.weights(rows$frame) else new_weights(fit, rows)
  if (!is.null(weights)) weights <- weights[rows$keep]
  list(x = rows$x, columns = rows$columns, outcome = outcome, target = fit$target, weights = weights)
}

as_labels <- function(response, labels, name) {
  as_factor(label_codes(response, labels, name) + 1L, labels)
}

# Weights of other rows: the fit's weights expression evaluated there, else 1.
new_weights <- function(fit, rows) {
  if (is.null(fit$weights)) return(NULL)
  found <- tryCatch(eval(fit$call$weights, rows$newdata, environment(fit$formula)), error = function(e) NULL)
  if (is.numeric(found) && length(found) == length(rows$keep)) as.double(found) else rep(1, length(rows$keep))
}

evaluate.default <- function(object, p, prevalence = NULL, stated_for = NULL, weights = NULL, cluster = NULL, labels = NULL,
                             positive = NULL, level = 0.95, bootstrap = -1, seed = 1, target = NULL, threads = NULL, ...) {
  refuse_dots("evaluate", list(...), names(formals()), c(population = "the argument is `prevalence`, that of the probabilities"))
  y <- object
  if (missing(p)) refuse("`p` is missing: evaluate(y, p), labels and probabilities; or evaluate(fit, newdata)")
  if (is.null(labels) && NCOL(p) == 1) labels <- outcome_labels(y, positive)
  given <- as_probabilities(p, labels, positive)
  if (is.null(stated_for)) stated_for <- if (is.null(prevalence)) "rows" else "population"
  options <- judge_options(stated_for, given$labels, NULL, level, bootstrap, seed)
  if (is.logical(y)) y <- if (all(c("FALSE", "TRUE") %in% given$labels)) as.character(y) else y
  together <- cluster_codes(cluster, NROW(given$p))
  handle <- with_session(function(session) {
    probs <- probs_handle(session, given, y, weights)
    from <- shares_of(session, prevalence, given, "prevalence")
    .Call(call_judge_probs, session, probs, from, options$names, options$texts, given$labels, together)
  }, threads)
  new_evaluation(handle, level, target)
}

cluster_codes <- function(cluster, n) {
  if (is.null(cluster)) return(NULL)
  if (length(cluster) != n) refuse("`cluster` has ", length(cluster), " rows, and `p` has ", n)
  if (anyNA(cluster)) refuse("`cluster` is missing in row ", which(is.na(cluster))[1], ": every row needs one")
  match(cluster, unique(cluster)) - 1L
}

outcome_labels <- function(y, positive) {
  found <- make_outcome(y, "y", positive)
  if (is.numeric(y) && is.null(positive) && length(found$labels) == 2 && .Call(call_positive, found$labels) == 0) {
    refuse("`y` is ", found$labels[1], " and ", found$labels[2], ": name the label that `p` is of, `positive = ", found$labels[2], "`")
  }
  if (length(found$labels) != 2) refuse("`p` has one column, and `y` has ", length(found$labels), " labels")
  found$labels
}

print.prevail_evaluation <- function(x, digits = 4, ...) {
  cat(lead(x), "\n\n", sep = "")
  shown <- x$metrics[!is.nan(x$metrics$value), ]
  bounds <- ifelse(is.nan(shown$lower), "", paste(each(shown$lower, digits), "to", each(shown$upper, digits)))
  table <- cbind(value = each(shown$value, digits), interval = bounds)
  colnames(table)[2] <- paste0(format(100 * x$level), " % interval")
  rownames(table) <- shown$metric
  print(table, quote = FALSE, right = TRUE)
  if (isTRUE(x$training)) cat("\nThe model was fitted to these rows, so that performance is optimistic: cv(fit) evaluates held-out rows.\n")
  if (x$misleading) {
    cat("\nThe rows' label proportions are far from the population's: stated_for = \"population\" weights them.\n")
  }
  invisible(x)
}

lead <- function(x) {
  paste0(format(x$rows, big.mark = ","), if (isTRUE(x$training)) " training rows" else " rows", ", reported for a prevalence of ", format(x$stated[[x$positive]], digits = 4), " of ",
    if (is.null(x$target)) "" else paste0(x$target, " = "), x$positive)
}

as.data.frame.prevail_evaluation <- function(x, ...) {
  made <- x$metrics
  rownames(made) <- NULL
  made
}

make_curve <- function(x, kind, points = 500, bins = 10, level = x$level, threshold = x$stated[[x$positive]], prevalences = NULL) {
  check_level(level)
  if (!is.null(prevalences)) prevalences <- as.double(prevalences)
  options <- as.double(c(points, bins, level, threshold))
  made <- with_session(function(session) .Call(call_curve, session, x$handle$judgement, kind, options, prevalences))
  as.data.frame(made)
}

curve_data <- function(x, kind = "roc", ...) {
  if (!inherits(x, "prevail_evaluation")) x <- evaluate(x)
  if (!is.character(kind) || length(kind) != 1 || !kind %in% curve_kinds) {
    refuse("there is no curve ", kind, "; choose one of ", paste(curve_kinds, collapse = ", "))
  }
  if (!length(list(...))) return(x$curves[[kind]])
  for (name in names(list(...))) {
    only <- c(bins = "calibration", threshold = "predictive_values", prevalences = "im")[name]
    if (!is.na(only) && only != kind) refuse("`", name, "` is for the curve ", only, ", and this one is ", kind)
  }
  if (!.Call(call_model_alive, x$handle$judgement)) {
    refuse("a saved evaluation has only the curves that were computed; evaluate again for others")
  }
  make_curve(x, kind, ...)
}

net_benefit <- function(object, ..., thresholds = NULL) {
  x <- if (inherits(object, "prevail_evaluation")) {
    refuse_dots("net_benefit", list(...), names(formals()))
    object
  } else {
    evaluate(object, ...)
  }
  if (is.null(thresholds)) return(curve_data(x, "net_benefit"))
  net_benefit_at(x, thresholds)
}

# Net benefit is computed from rates, which change only at the thresholds given by the rows.
net_benefit_at <- function(x, thresholds) {
  if (!is.numeric(thresholds) || anyNA(thresholds) || any(thresholds <= 0 | thresholds >= 1)) {
    refuse("`thresholds` must be numbers between 0 and 1")
  }
  if (!.Call(call_model_alive, x$handle$judgement)) {
    refuse("a saved evaluation has only the thresholds that were computed; evaluate again for others")
  }
  curve <- make_curve(x, "roc", points = 0)
  curve <- curve[order(curve$threshold), ]
  # Rows with p >= t are called positive. The tolerance is needed because the curve's thresholds are exp(log p).
  place <- findInterval(thresholds * (1 - 1e-13), curve$threshold, left.open = TRUE) + 1
  share <- x$stated[[x$positive]]
  odds <- thresholds / (1 - thresholds)
  data.frame(threshold = thresholds, net_benefit = share * c(curve$tpr, 0)[place] - (1 - share) * c(curve$fpr, 0)[place] * odds,
    treat_all = share - (1 - share) * odds, treat_none = 0)
}

# ---- report --------------------------------------------------------------------------------------------------------

report <- function(object, ...) UseMethod("report")

report.prevail_evaluation <- function(object, file = NULL, title = NULL, figures = NULL, view = interactive(), ...) {
  refuse_dots("report", list(...), names(formals()))
  if (!.Call(call_model_alive, object$handle$judgement)) refuse("a saved evaluation cannot make a page; evaluate again")
  page <- if (is.null(file)) tempfile("prevail-", fileext = ".html") else path.expand(file)
  if (!is.null(figures)) figures <- path.expand(figures)
  with_session(function(session) {
    .Call(call_report, session, object$handle$judgement, object$target, object$level, page, figures,
      title %or% "How good are these probabilities?", paste0(lead(object), ". prevail ", utils::packageVersion("prevail")))
  })
  if (view) getOption("viewer", utils::browseURL)(page)
  invisible(page)
}

report.prevail <- function(object, file = NULL, newdata = NULL, title = NULL, figures = NULL, view = interactive(), ...) {
  report(evaluate(object, newdata, ...), file, title = title, figures = figures, view = view)
}

report.default <- function(object, file = NULL, p, title = NULL, figures = NULL, view = interactive(), ...) {
  report(evaluate(object, p, ...), file, title = title, figures = figures, view = view)
}
