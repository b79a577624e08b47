# Cross-validation, and sensitivity to the assumed prevalence.

# The training rows of a fit, as used in it.
training_data <- function(fit) {
  if (isTRUE(fit$loaded)) refuse("a model that was read from a file has no data")
  if (isTRUE(fit$sampled)) refuse("cross-validation with `population_sample` is not available here; use the command")
  frame <- model.frame.prevail(fit)
  outcome <- make_outcome(stats::model.response(frame), fit$target, fit$positive)
  of <- fit$design_terms
  columns <- lapply(seq_along(of$names), function(i) as_categories(frame[[paste0("(design", i, ")")]], of$names[i]))
  columns <- design_columns(list(columns = stats::setNames(columns, of$names), roles = of$roles), fit$terms_of$terms)
  x <- but(stats::model.matrix(fit$terms, frame, contrasts.arg = fit$contrasts), fit$aliased)
  if (!is.double(x)) storage.mode(x) <- "double"
  list(x = x, outcome = outcome, weights = stats::model.weights(frame), offset = frame_offset(frame), columns = columns,
    target = fit$target)
}

cross_validate <- function(fit, data, options, how, lenient = FALSE) {
  how <- option_texts(how)
  texts <- option_texts(options)
  with_session(function(session) {
    table <- training_table(session, data)
    known <- stated_table(session, fit)
    .Call(call_cross_validate, session, table, known, texts$names, texts$texts, how$names, how$texts, lenient)
  }, fit$threads)
}

cv <- function(object, ...) UseMethod("cv")

# survey has a generic of the same name for coefficients of variation. Each package's generic finds the other's methods;
# this function must not be called cv.default, since survey's generic would then find it.
cv_of_others <- function(object, ...) {
  if ("survey" %in% loadedNamespaces()) return(getExportedValue("survey", "cv")(object, ...))
  refuse("`object` is not a fit of prevail(): cv(prevail(y ~ x, data, ...))")
}

cv.prevail <- function(object, folds = 3, repeats = 1, population = NULL, stated_for = NULL, level = 0.95, ...) {
  refuse_dots("cv", list(...), names(formals()), c(prevalence = "the argument is `population`"))
  check_level(level)
  where <- population_text(object, population)
  if (!is.null(stated_for) && !(is.character(stated_for) && stated_for %in% c("rows", "population"))) {
    stated_for <- prevalence_text(stated_for, object$labels, object$labels[length(object$labels)], "stated_for")
  }
  data <- training_data(object)
  found <- cross_validate(object, data, object$options, list(folds = folds, repeats = repeats, population = where,
    stated_for = stated_for, interval = level, bootstrap = -1))
  made <- new_evaluation(found$judgement, level, object$target_column)
  names <- .Call(call_metrics)$metric
  made$folds <- data.frame(metric = names, mean = found$mean, sd = found$sd, pooled = found$pooled, lower = found$lo,
    upper = found$hi)[!is.nan(found$pooled), ]
  made$fold <- found$fold
  made$predicted <- exp(found$log_p)
  colnames(made$predicted) <- object$labels
  made$n_folds <- found$folds
  made$n_repeats <- found$repeats
  class(made) <- c("prevail_cv", class(made))
  made
}

print.prevail_cv <- function(x, ...) {
  cat(x$n_folds, "-fold cross-validation", if (x$n_repeats > 1) paste0(", ", x$n_repeats, " times"), ": ", sep = "")
  NextMethod()
}

sweep_prevalence <- function(x, prevalence, losses = c("ig", "iw", "plain"), folds = 3, repeats = 1, population = NULL,
                             stated_for = "population", ...) {
  if (!inherits(x, "prevail")) refuse("`x` is not a fit of prevail()")
  refuse_dots("sweep_prevalence", list(...), names(formals()))
  if (missing(prevalence)) refuse("`prevalence` is missing: the prevalences to assume, c(0.1, 0.01, 0.001)")
  if (length(x$labels) != 2) refuse("a sweep is for two labels here; use the command for more")
  data <- training_data(x)
  metrics <- .Call(call_metrics)$metric
  where <- if (is.null(population)) "true" else population_text(x, population)
  how <- list(folds = folds, repeats = repeats, population = where, stated_for = stated_for, bootstrap = 0)
  rows <- list()
  for (loss in losses) {
    for (share in prevalence) {
      options <- x$options
      options$loss <- loss
      options$prevalence <- prevalence_text(share, x$labels, x$labels[2])
      found <- cross_validate(x, data, options, how, lenient = TRUE)
      values <- stats::setNames(as.list(found$pooled), metrics)
      rows[[length(rows) + 1]] <- data.frame(loss = loss, prevalence = share, values[!vapply(values, is.nan, NA)])
    }
  }
  names <- Reduce(union, lapply(rows, names))
  do.call(rbind, lapply(rows, function(row) {
    row[setdiff(names, names(row))] <- NA_real_
    row[names]
  }))
}
