# Predictions in a population.

# Whether a text is one of the library's population keywords; otherwise it is a prevalence.
names_population <- function(text) {
  is.character(text) && length(text) == 1 && sub(":.*", "", text) %in% .Call(call_population_kinds)
}

# Converts a population to the library's syntax.
population_text <- function(fit, population) {
  if (is.null(population)) return(if (is.null(fit$prevalence)) "design" else "true")
  if (names_population(population)) return(population)
  check_population(population, "population")
  paste0("known:", prevalence_text(population, fit$labels, fit$labels[length(fit$labels)], "population"))
}

# Error for a text that is neither a prevalence nor one for each label, in the user's words.
check_population <- function(text, option) {
  if (!is.character(text) || length(text) != 1 || is.na(text) || grepl("[=,]", text)) return(invisible())
  number <- suppressWarnings(as.numeric(sub("%$", "", text)))
  if (grepl("%$", text) && !is.na(number)) refuse("`", option, "` ", text, ": write it as a number, ", number / 100)
  if (grepl("^ *[.0-9]+ *- *[.0-9]+ *$", text)) refuse("`", option, "` ", text, " is an interval: give one prevalence")
  if (!is.na(number)) return(invisible())
  kinds <- setdiff(.Call(call_population_kinds), "known")
  refuse("`", option, "` \"", text, "\" is not a population: give a prevalence, or one of ", paste(kinds, collapse = ", "),
    did_you_mean(sub(":.*", "", text), kinds))
}

# The model frame of other rows, including missing cells.
new_frame <- function(fit, newdata) {
  terms <- stats::delete.response(fit$terms)
  frame <- stats::model.frame(terms, newdata, na.action = stats::na.pass, xlev = fit$xlevels)
  classes <- attr(terms, "dataClasses")
  if (!is.null(classes)) stats::.checkMFClasses(classes, frame)
  frame
}

# A table of newdata, or of the rows of the fit: its pointers, and which rows it contains.
prediction_rows <- function(fit, newdata, outcome = FALSE) {
  if (isTRUE(fit$loaded)) return(loaded_rows(fit, newdata, outcome))
  if (is.null(newdata)) {
    frame <- model.frame.prevail(fit)
    source <- "data"
  } else {
    newdata <- as.data.frame(newdata)
    frame <- tryCatch(if (outcome) new_outcome_frame(fit, newdata) else new_frame(fit, newdata), error = function(e) {
      if (inherits(e, "prevail_error")) stop(e)
      refuse("newdata: ", conditionMessage(e))
    })
    source <- "newdata"
  }
  filled <- fit_option(fit, "missing") %in% c("impute", "indicator")
  x <- stats::model.matrix(stats::delete.response(fit$terms), frame, contrasts.arg = fit$contrasts, xlev = fit$xlevels)
  if (!is.double(x)) storage.mode(x) <- "double"
  columns <- design_of(fit, frame, newdata, nrow(x), outcome)
  keep <- rep(TRUE, nrow(x))
  if (!is.null(fit$options[["offset"]])) {
    offset <- if (is.null(newdata)) frame_offset(frame) else new_offset(fit$call, frame, newdata, environment(fit$formula))
    columns[[offset_column]] <- offset
    keep <- keep & !is.na(offset)
  }
  if (!filled) keep <- keep & !is.na(rowSums(x))
  if (outcome) keep <- keep & !outcome_missing(frame)
  part <- if (all(keep)) list(x = x, columns = columns) else {
    list(x = x[keep, , drop = FALSE], columns = lapply(columns, function(column) column[keep]))
  }
  names <- if (is.null(newdata)) rownames(frame) else rownames(newdata)
  list(x = part$x, columns = part$columns, keep = keep, frame = frame, source = source, names = names, newdata = newdata)
}

new_outcome_frame <- function(fit, newdata) {
  stats::model.frame(fit$terms, newdata, na.action = stats::na.pass, xlev = fit$xlevels)
}

outcome_missing <- function(frame) {
  response <- stats::model.response(frame)
  if (is.matrix(response)) rowSums(is.na(response)) > 0 else is.na(response)
}

# The stratum columns, which predictions may need; those absent from newdata are missing.
design_of <- function(fit, frame, newdata, rows, outcome = FALSE) {
  of <- fit$design_terms
  clusters <- if (outcome) of$columns[of$roles == "cluster"]
  wanted <- c(fit$strata_columns, clusters)
  own <- grep("^\\(design[0-9]+\\)$", names(frame), value = TRUE)
  made <- list()
  for (name in wanted) {
    i <- match(name, of$columns)
    column <- if (is.null(newdata)) frame[[paste0("(design", i, ")")]] else {
      tryCatch(eval(str2lang(of$names[i]), newdata, environment(fit$formula)), error = function(e) NULL)
    }
    if (is.null(column) || length(column) != rows) {
      if (name %in% clusters) next
      column <- rep(NA_character_, rows)
    }
    made[[name]] <- as_categories(column, name)
  }
  made
}

# For a model read from a file: columns of newdata with its names.
loaded_rows <- function(fit, newdata, outcome) {
  if (is.null(newdata)) refuse("a model that was read from a file has no data; give `newdata`")
  newdata <- as.data.frame(newdata)
  counts <- grepl("/", fit$target_column, fixed = TRUE)
  target <- if (outcome) strsplit(fit$target_column, "/", fixed = TRUE)[[1]]
  categories <- c(names(fit$columns)[fit$columns == "text"], fit$strata_columns, if (!counts) target)
  wanted <- unique(c(names(fit$columns), fit$strata_columns, target))
  if (outcome && nzchar(fit$column_of_weights)) wanted <- union(wanted, fit$column_of_weights)
  lost <- setdiff(wanted, c(names(newdata), fit$strata_columns))
  if (length(lost)) refuse("newdata has no column ", lost[1])
  wanted <- intersect(wanted, names(newdata))
  keep <- rep(TRUE, nrow(newdata))
  if (outcome) keep <- !is.na(newdata[[target[1]]])
  columns <- lapply(stats::setNames(nm = wanted), function(name) {
    column <- newdata[[name]][keep]
    if (name %in% categories) as_categories(column, name) else as_column(column, name)
  })
  empty <- matrix(0, sum(keep), 1, dimnames = list(NULL, "(Intercept)"))
  list(x = empty, columns = columns, keep = keep, frame = newdata, source = "newdata", names = rownames(newdata))
}

# Probabilities of every label and their intervals, with NA in rows that have missing cells.
risk_matrix <- function(fit, newdata, population, level = 0, unknown = list()) {
  if (isTRUE(fit$relative)) {
    refuse("a fit to matched sets has odds ratios only: absolute risks need `prevalence` and `population_sample` as well, and type = \"link\" gives linear predictors")
  }
  if (isTRUE(fit$images)) refuse("a model of images: predict with the command, or in Python")
  where <- population_text(fit, population)
  rows <- prediction_rows(fit, newdata)
  options <- option_texts(unknown)
  if (!any(rows$keep)) return(no_risks(fit, rows, level))
  said <- with_session(function(session) {
    table <- new_table(session, rows$source, rows$x, rows$columns)
    .Call(call_predict, session, model_handle(fit), table, where, level, options$names, options$texts)
  }, fit$threads)
  spread <- function(values) {
    if (is.null(values)) return(NULL)
    if (all(rows$keep) && nrow(values) == length(rows$keep) && identical(said$row, seq_along(rows$keep))) {
      dimnames(values) <- list(rows$names, fit$labels)
      return(values)
    }
    made <- matrix(NA_real_, length(rows$keep), ncol(values), dimnames = list(rows$names, fit$labels))
    made[which(rows$keep)[said$row], ] <- values
    made
  }
  list(p = spread(said$p), log_p = spread(said$log_p), lo = spread(said$lo), hi = spread(said$hi),
    inferred = new_inferred(said$inferred, fit$labels), prevalence = named(said$prevalence, fit$labels))
}

# For data without any complete row.
no_risks <- function(fit, rows, level) {
  none <- matrix(NA_real_, length(rows$keep), length(fit$labels), dimnames = list(rows$names, fit$labels))
  list(p = none, log_p = none, lo = if (level > 0) none, hi = if (level > 0) none, inferred = NULL, prevalence = NULL)
}

prediction_types <- c("risk", "response", "probs", "link", "lp", "decision", "class", "terms")

predict.prevail <- function(object, newdata = NULL, type = c("risk", "response", "probs", "link", "lp", "decision", "class", "terms"),
                            population = NULL, interval = NULL, level = 0.95, costs = NULL, se.fit = FALSE, terms = NULL,
                            method = NULL, dirichlet = NULL, seed = NULL, ...) {
  type <- choose_one(type, prediction_types, "type")
  type <- switch(type, response = "risk", lp = "link", type)
  refuse_dots("predict", list(...), names(formals()), c(prevalence = "the prevalence to predict for is `population`",
    unseen = no_unseen))
  if (type == "terms") return(term_parts(object, newdata, se.fit, terms))
  if (is.null(interval) && !missing(level)) refuse("`level` is the level of intervals: give `interval` = ", level)
  interval <- interval_level(interval, level)
  if (!is.null(costs) && type != "decision") refuse("`costs` are for type = \"decision\"")
  if ((se.fit || !is.null(interval)) && type %in% c("decision", "class", "probs")) {
    refuse("type = \"", type, "\" has no interval; leave out `", if (se.fit) "se.fit" else "interval", "`")
  }
  if (isTRUE(object$relative) && type == "link") {
    if (!is.null(population) || !is.null(interval)) refuse("matched sets: `population` and `interval` have no effect with type = \"link\"")
    return(linear_predictor(object, newdata, se.fit))
  }
  said <- risk_matrix(object, newdata, population, interval %or% 0, list(method = method, dirichlet = dirichlet, seed = seed))
  warn_if_weak(said$inferred)
  fill <- function(value) if (is.null(newdata)) stats::napredict(object$na.action, value) else value
  if (type %in% c("decision", "class")) return(decide(said$p, costs))
  if (type == "probs") return(fill(said$p))
  two <- length(object$labels) == 2
  change <- if (type == "link") function(p) stats::qlogis(p) else identity
  estimate <- if (type == "link") said$log_p else said$p
  if (two) {
    estimate <- if (type == "link") estimate[, 2] - estimate[, 1] else estimate[, 2]
    names(estimate) <- rownames(said$p) # which one row alone has lost
  }
  made <- if (is.null(interval)) fill(estimate) else if (two) {
    bounds <- cbind(fit = estimate, lwr = change(said$lo[, 2]), upr = change(said$hi[, 2]))
    rownames(bounds) <- rownames(said$p)
    fill(bounds)
  } else {
    if (type == "link") refuse("intervals of logarithms are for two labels")
    list(fit = fill(estimate), lwr = fill(said$lo), upr = fill(said$hi))
  }
  if (!is.null(said$inferred)) attr(made, "inferred") <- said$inferred
  if (!se.fit) return(made)
  if (type == "link" && !two) refuse("standard errors of logarithms are for two labels")
  errors <- logit_errors(object, newdata, population)
  errors <- if (type == "risk") said$p * (1 - said$p) * errors else errors
  list(fit = made, se.fit = fill(if (two) errors[, 2] else errors), residual.scale = 1)
}

# `interval` is a level, or requests an interval: TRUE, or "confidence" as in lm.
interval_level <- function(interval, level) {
  check_level(level)
  if (is.null(interval) || identical(interval, FALSE) || identical(interval, "none")) return(NULL)
  if (isTRUE(interval) || identical(interval, "confidence")) return(level)
  if (identical(interval, "prediction")) refuse("`interval` is for the risk: \"confidence\", or a level; a label to come has none")
  check_level(interval, "interval")
  interval
}

# Standard errors of the log odds of each label: half the width of the library's interval divided by the normal
# quantile. For draws of a linear model they come from the covariance of the draws; for other models, from the quantiles
# that are one standard deviation from the mean in a normal distribution.
logit_errors <- function(object, newdata, population) {
  if (substr(population_text(object, population), 1, 6) %in% c("unknow", "counts")) {
    refuse("`se.fit` is for a known population: `interval` has the uncertainty here")
  }
  if (is.na(object$risk_df) && length(object$labels) == 2 && !is.null(object$covariance) && !isTRUE(object$loaded)) {
    used <- !is.na(object$coefficients)
    x <- model.matrix.prevail(object, newdata)[, used, drop = FALSE]
    errors <- sqrt(rowSums((x %*% object$covariance[used, used]) * x))
    return(cbind(errors, errors, deparse.level = 0))
  }
  level <- if (is.na(object$risk_df)) stats::pnorm(1) - stats::pnorm(-1) else 0.999
  said <- risk_matrix(object, newdata, population, level)
  quantile <- if (is.na(object$risk_df)) 1 else stats::qt(0.5 + level / 2, object$risk_df)
  rest <- function(p, other) if (ncol(p) == 2) other[, 2:1] else 1 - p
  (log(said$hi / rest(said$hi, said$lo)) - log(said$lo / rest(said$lo, said$hi))) / (2 * quantile)
}

`%or%` <- function(a, b) if (is.null(a)) b else a

# For matched sets: log odds ratios against a row of zeros and reference levels.
linear_predictor <- function(object, newdata, se.fit) {
  x <- if (is.null(newdata)) model.matrix.prevail(object) else model.matrix.prevail(object, newdata)
  beta <- coef(object)
  beta[is.na(beta)] <- 0
  x <- x[, names(beta), drop = FALSE]
  fill <- function(value) if (is.null(newdata)) stats::napredict(object$na.action, value) else value
  made <- fill(drop(x %*% beta))
  if (!se.fit) return(made)
  covariance <- vcov(object)
  covariance[is.na(covariance)] <- 0
  list(fit = made, se.fit = fill(sqrt(rowSums((x %*% covariance) * x))), residual.scale = 1)
}

# Each term's contribution to the linear predictor, centred as in predict.lm().
term_parts <- function(object, newdata, se.fit, terms) {
  need_coefficients(object)
  if (length(object$labels) != 2) refuse("type = \"terms\" is for two labels")
  x0 <- model.matrix.prevail(object)
  x <- if (is.null(newdata)) x0 else model.matrix.prevail(object, newdata)
  beta <- coef(object)
  covariance <- if (se.fit) vcov(object)
  if (isTRUE(object$relative)) { # by the matrix's columns, which have an intercept
    beta <- c(0, beta)
    if (se.fit) covariance <- rbind(0, cbind(0, covariance))
  }
  beta[is.na(beta)] <- 0
  labels <- attr(object$terms, "term.labels")
  if (!is.null(terms)) {
    lost <- if (is.character(terms)) setdiff(terms, labels) else setdiff(terms, seq_along(labels))
    if (length(lost)) refuse("`terms`: there is no term ", lost[1], "; there are ", paste(labels, collapse = ", "))
    labels <- labels[if (is.character(terms)) match(terms, labels) else terms]
  }
  x <- sweep_means(x, colMeans(x0))
  made <- errors <- matrix(0, nrow(x), length(labels), dimnames = list(rownames(x), labels))
  for (label in labels) {
    at <- which(object$assign == match(label, attr(object$terms, "term.labels")))
    made[, label] <- x[, at, drop = FALSE] %*% beta[at]
    if (se.fit) {
      part <- covariance[at, at, drop = FALSE]
      part[is.na(part)] <- 0
      errors[, label] <- sqrt(pmax(0, rowSums((x[, at, drop = FALSE] %*% part) * x[, at, drop = FALSE])))
    }
  }
  fill <- function(value) if (is.null(newdata)) stats::napredict(object$na.action, value) else value
  made <- fill(made)
  attr(made, "constant") <- beta[[1]] + sum(colMeans(x0)[-1] * beta[-1])
  if (se.fit) list(fit = made, se.fit = fill(errors), residual.scale = 1) else made
}

sweep_means <- function(x, means) x - rep(means, each = nrow(x))

# ---- estimated prevalences -------------------------------------------------------------------------------------------

new_inferred <- function(found, labels) {
  if (is.null(found)) return(NULL)
  for (name in c("value", "lo", "hi", "sd")) found[[name]] <- named(found[[name]], labels)
  structure(found, class = "prevail_inferred")
}

warn_if_weak <- function(inferred) {
  if (is.null(inferred) || !inferred$weak) return(invisible())
  last <- length(inferred$value)
  found <- if (last == 2) {
    paste0(" (", format(inferred$value[[2]], digits = 2), ", ", format(100 * inferred$level), " % interval ",
      format(inferred$lo[[2]], digits = 2), " to ", format(inferred$hi[[2]], digits = 2), ")")
  }
  warn(paste0("the rows hardly determine their prevalence", found, ": they carry less information than ten labelled rows; state it if it is known"))
}

print.prevail_inferred <- function(x, digits = 4, ...) {
  table <- data.frame(prevalence = x$value, lower = x$lo, upper = x$hi)
  if (nrow(table) == 2) table <- table[2, ]
  cat("Prevalence inferred from the rows (", x$method, "), with a ", format(100 * x$level), " % interval:\n", sep = "")
  print(table, digits = digits)
  if (x$weak) cat("The rows hardly determine it: they carry less information than ten labelled rows.\n")
  if (x$swayed) cat("It depends noticeably on the prior.\n")
  invisible(x)
}

as.data.frame.prevail_inferred <- function(x, ...) {
  data.frame(label = names(x$value), prevalence = unname(x$value), lower = unname(x$lo), upper = unname(x$hi), sd = unname(x$sd))
}
