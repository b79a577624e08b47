# prevail(): fits a classifier.

# Arguments after `...` need their full names: `match` is an option and not an abbreviation of `matched`.
prevail <- function(formula, data, prevalence = NULL, weights, subset, na.action, offset, contrasts = NULL, ...,
                    strata, matched, cluster, group, id, prevalence_by = NULL, phase_one = NULL,
                    population_sample = NULL, positive = NULL, threads = NULL, verbose = FALSE, keep_frame = TRUE) {
  call <- match.call()
  given <- list(...)
  check_instead(given)
  made <- make_frame(call, parent.frame(), given[["missing"]])
  frame <- made$frame
  terms <- attr(frame, "terms")
  if (is.null(positive) && length(prevalence) == 1) positive <- names(prevalence)
  outcome <- make_outcome(stats::model.response(frame), column_name(made$formula[[2]]), positive)
  check_positive(prevalence, outcome, positive)
  x <- feature_matrix(terms, frame, contrasts)
  aliased <- aliased_columns(x, given)
  weights <- check_weights(stats::model.weights(frame), rownames(frame))
  offset <- frame_offset(frame)
  target <- target_name(made$formula, c(colnames(x), names(made$columns)))
  clash <- intersect(colnames(outcome$counts), c(colnames(x), names(made$columns)))
  if (length(clash)) refuse(clash[1], " is on both sides of the formula")
  columns <- design_columns(made, colnames(x))
  tables <- list(prevalence_by = prevalence_by, phase_one = people_counted(phase_one))
  options <- fit_options(given, prevalence, outcome, made, columns, tables, target, weights,
    offset, label_order(given, stats::model.response(frame), outcome))
  data <- list(x = but(x, aliased), outcome = outcome, weights = weights, offset = offset, columns = columns, target = target)
  sample <- population_rows(population_sample, terms, frame, contrasts, columns, call)

  fit <- structure(class = "prevail", list(
    call = call, formula = made$formula, terms = terms, xlevels = stats::.getXlevels(terms, frame),
    contrasts = attr(x, "contrasts"), assign = stats::setNames(attr(x, "assign"), colnames(x)), na.action = attr(frame, "na.action"),
    target = target, design_terms = design_expressions(call, made, columns), options = options, tables = tables, threads = threads,
    aliased = aliased
  ))
  handle <- learn(fit, data, sample, verbose)
  fit <- describe(fit, handle, colnames(x))
  fit$counts <- !is.null(outcome$counts)
  fit$sampled <- !is.null(sample)
  fit$positive <- if (length(fit$labels) == 2) fit$labels[2] else NULL
  fit$weights <- weights
  fit$n <- nrow(x)
  if (keep_frame) fit$model <- frame
  warn_of(fit)
  warn_of_strata(fit, data)
  fit
}

# The design's columns as factors, under names that no feature has.
design_columns <- function(made, taken) {
  columns <- Map(as_categories, made$columns, names(made$columns))
  for (i in seq_along(columns)) {
    while (names(columns)[i] %in% taken) names(columns)[i] <- paste0(made$roles[i], "(", names(columns)[i], ")")
  }
  columns
}

design_expressions <- function(call, made, columns) {
  list(roles = made$roles, names = names(made$columns), columns = names(columns), call = as.list(call)[intersect(names(call), design_arguments)])
}

# Values of all options except tables, with the argument names.
fit_options <- function(given, prevalence, outcome, made, columns, tables, target, weights, offset, order) {
  given[["prevalence"]] <- prevalence_text(prevalence, outcome$labels, outcome$positive)
  for (name in names(tables)) given[[name]] <- if (is.data.frame(tables[[name]])) name else tables[[name]]
  own <- list(outcome = target)
  if (!is.null(outcome$counts)) own$outcome <- paste(colnames(outcome$counts), collapse = "/")
  if (length(outcome$labels) == 2 && is.null(outcome$counts)) own$positive <- outcome$positive
  if (!is.null(weights)) own$weights <- "(weights)"
  if (!is.null(offset)) own$offset <- offset_column
  if (!is.null(order) && is.null(given[["order"]])) {
    own$order <- paste(quoted(order), collapse = ",")
    own$positive <- NULL
  }
  for (role in unique(made$roles)) {
    named <- names(columns)[made$roles == role]
    own[[role]] <- if (role == "strata") paste(quoted(named), collapse = ",") else paste(named, collapse = ",")  # the others are one column
  }
  if ("strata" %in% made$roles) own$exclude <- own$strata
  c(own, given)
}

# Fits the data with the options in `fit`. sample: rows of the population.
learn <- function(fit, data, sample = NULL, verbose = FALSE) {
  with_session(function(session) {
    duckdb <- duckdb_library()
    if (nzchar(duckdb) && any(vapply(fit$tables, is.character, NA))) .Call(call_session_duckdb, session, duckdb)
    rows <- training_table(session, data)
    sample <- if (!is.null(sample)) new_table(session, "population_sample", sample$x, sample$columns)
    texts <- option_texts(fit$options)
    .Call(call_learn, session, rows, sample, stated_table(session, fit), texts$names, texts$texts)
  }, fit$threads, verbose)
}

# Path of DuckDB's library in the package duckdb, which is not loaded; it reads Parquet files and queries. "": not
# installed.
duckdb_library <- function() system.file("libs", paste0("duckdb", .Platform$dynlib.ext), package = "duckdb")

# The data frame given as prevalence_by or phase_one as a library table with the library's column names; NULL if neither
# is a data frame.
stated_table <- function(session, fit) {
  theirs <- c(fit$design_terms$names, column_name(fit$formula[[2]]))
  ours <- c(fit$design_terms$columns, fit$target)
  for (name in names(fit$tables)) {
    data <- fit$tables[[name]]
    if (is.data.frame(data)) {
      at <- match(names(data), theirs)
      names(data)[!is.na(at)] <- ours[at[!is.na(at)]]
      return(.Call(call_table, session, name, as.double(nrow(data)), NULL, 0L, Map(as_column, as.list(data), names(data))))
    }
  }
  NULL
}

# The cohort's counts, also in the form of table() or xtabs(), or as.data.frame() of these.
people_counted <- function(phase_one) {
  if (is.table(phase_one)) phase_one <- as.data.frame(phase_one)
  if (is.data.frame(phase_one) && !"count" %in% names(phase_one)) names(phase_one)[names(phase_one) == "Freq"] <- "count"
  phase_one
}

but <- function(x, columns) if (length(columns)) x[, !colnames(x) %in% columns, drop = FALSE] else x

# Columns that are linear combinations of earlier ones, which glm drops. If the columns are independent in some rows,
# they are in all. With more columns than rows, or with the option `collinear`, the library decides.
aliased_columns <- function(x, given) {
  linear <- is.null(given[["model"]]) || grepl("^(additive|auto|linear|ordinal)", as.character(given[["model"]])[1])
  if (!linear || !is.null(given[["collinear"]])) return(character())
  if (anyNA(x)) x <- x[stats::complete.cases(x), , drop = FALSE]
  n <- nrow(x)
  if (n <= ncol(x)) return(character())
  some <- 4 * ncol(x) + 200
  repeat {
    part <- if (some < n) x[unique(round(seq(1, n, length.out = some))), , drop = FALSE] else x
    if (!all(is.finite(part))) return(character()) # the library has a message
    found <- qr(part, tol = 1e-11)
    if (found$rank == ncol(x)) return(character())
    if (some >= n) return(colnames(x)[found$pivot[seq(found$rank + 1, ncol(x))]])
    some <- 16 * some
  }
}

# Factor levels are the labels in their order; with three or more the first is the reference. The order is passed to the
# library if it would sort them differently.
label_order <- function(given, response, outcome) {
  ordinal <- is.character(given[["model"]]) && grepl("ordinal", given[["model"]][1])
  if (!(ordinal || length(outcome$labels) > 2) || !is.factor(response) || identical(sort_labels(outcome$labels), outcome$labels)) return(NULL)
  outcome$labels
}

sort_labels <- function(labels) {
  numbers <- suppressWarnings(as.numeric(labels))
  if (!anyNA(numbers)) labels[order(numbers)] else sort(labels, method = "radix")
}

training_table <- function(session, data) {
  columns <- data$columns
  if (is.null(data$outcome$counts)) {
    columns[[data$target]] <- data$outcome$column
  } else {
    for (name in colnames(data$outcome$counts)) columns[[name]] <- as.double(data$outcome$counts[, name])
  }
  if (!is.null(data$weights)) columns[["(weights)"]] <- as.double(data$weights)
  if (!is.null(data$offset)) columns[[offset_column]] <- data$offset
  new_table(session, "data", data$x, columns)
}

# Rows of the population, without outcomes.
population_rows <- function(sample, terms, frame, contrasts, columns, call) {
  if (is.null(sample)) return(NULL)
  has_offset <- !is.null(stats::model.offset(frame))
  terms <- stats::delete.response(terms)
  frame <- stats::model.frame(terms, as.data.frame(sample), xlev = stats::.getXlevels(terms, frame), na.action = stats::na.omit)
  own <- intersect(names(columns), names(sample))
  columns <- stats::setNames(lapply(own, function(name) {
    column <- sample[[name]]
    gone <- attr(frame, "na.action")
    as_categories(if (is.null(gone)) column else column[-gone], name)
  }), own)
  gone <- attr(frame, "na.action")
  if (has_offset) columns[[offset_column]] <- new_offset(call, frame, if (is.null(gone)) sample else sample[-gone, ], environment(terms))
  columns[["(weights)"]] <- sample_weights(call[["weights"]], if (is.null(gone)) sample else sample[-gone, ], environment(terms))
  list(x = feature_matrix(terms, frame, contrasts), columns = columns)
}

# The fit's weights evaluated in a population sample that has their variables; NULL: each row counts as one.
sample_weights <- function(expression, sample, env) {
  variables <- all.vars(expression)
  if (!length(variables) || !all(variables %in% names(sample))) return(NULL)
  weights <- as.double(check_weights(eval(expression, sample, env), rownames(sample)))
  if (anyNA(weights)) refuse("population_sample: `weights` is missing in row ", rownames(sample)[which(is.na(weights))[1]])
  weights
}

# The library's description of a fitted model; x: names of the matrix's columns.
describe <- function(fit, handle, x) {
  said <- with_session(function(session) {
    facts <- .Call(call_model_facts, session, handle)
    bytes <- .Call(call_model_bytes, session, handle)
    covariance <- tryCatch(.Call(call_model_covariance, session, handle), prevail_error = function(e) conditionMessage(e))
    list(facts = facts, bytes = bytes, covariance = covariance)
  })
  facts <- said$facts
  fit$labels <- facts$labels
  fit$prevalence <- if (!facts$relative) named(facts$shares, facts$labels)
  fit$design <- named(facts$rows_shares, facts$labels)
  fit$estimate <- facts$estimate
  fit$hausman <- facts$hausman
  if (!is.null(facts$candidates)) {
    fit$candidates <- as.data.frame(facts$candidates)
    names(fit$candidates) <- c("weight", "gain", "se")
  }
  fit$features <- facts$features
  same <- c("risk_df", "loss", "stop", "iterations", "rows", "dropped", "seed", "loss_value", "relative", "images")
  fit[same] <- facts[same]
  fit$observations <- facts$prevalence_n # `$` matches beginnings of names: this must not be read as the prevalence
  fit$architecture <- facts$model
  fit$posterior <- if (is.na(facts$posterior)) NULL else facts$posterior
  fit$strata_columns <- facts$strata
  fit$target_column <- facts$outcome
  fit$column_of_weights <- facts$weights # `$` matches beginnings of names: this must not be read as the weights
  fit$record <- facts$record
  fit$handle <- new.env(parent = emptyenv())
  fit$handle$model <- handle
  fit$bytes <- said$bytes
  coefficient_parts(fit, facts, said$covariance, x)
}

named <- function(values, names) if (is.null(values)) NULL else stats::setNames(values, names)

# Coefficients named by the columns of the matrix, NA for dropped columns, as in glm.
coefficient_parts <- function(fit, facts, covariance, x) {
  if (is.null(facts$coefficients)) return(fit)
  if (!is.null(fit$posterior)) { # as in the summary: the mean of the draws
    facts$coefficients <- with_session(function(session) .Call(call_model_summary, session, fit$handle$model, 0.95)$estimate)
  }
  features <- facts$features
  if (facts$thresholds) {
    labels <- facts$labels
    heads <- paste0(labels[-length(labels)], "|", labels[-1])
    equations <- 1L
  } else {
    heads <- if (!facts$relative) "(Intercept)"
    equations <- length(facts$labels) - 1L
  }
  if (facts$relative) { # matched sets have no intercept
    facts$coefficients <- utils::tail(facts$coefficients, length(features))
    if (is.matrix(covariance)) covariance <- covariance[-1, -1, drop = FALSE]
  }
  terms <- c(heads, setdiff(union(x, features), c("(Intercept)", heads))) # an additive model has curves as well
  place <- match(c(heads, features), terms)
  names <- if (equations == 1) terms else paste0(rep(facts$labels[-1], each = length(terms)), ":", terms)
  at <- as.vector(outer(place, (seq_len(equations) - 1L) * length(terms), `+`))
  values <- rep(NA_real_, length(names))
  values[at] <- facts$coefficients
  values[is.nan(values)] <- NA_real_
  fit$coefficients <- stats::setNames(values, names)
  if (is.matrix(covariance)) {
    fit$covariance <- matrix(NA_real_, length(names), length(names), dimnames = list(names, names))
    covariance[is.nan(covariance)] <- NA_real_
    fit$covariance[at, at] <- covariance
  } else {
    fit$no_covariance <- covariance
  }
  fit$terms_of <- list(heads = heads, terms = terms, equations = equations, place = place)
  fit
}

# A single number is the prevalence of the positive label, which must be unambiguous from the labels.
check_positive <- function(prevalence, outcome, positive) {
  if (length(prevalence) != 1 || grepl("=", prevalence, fixed = TRUE) || !is.null(names(prevalence)) || !is.null(positive)) return(invisible())
  labels <- outcome$labels
  if (length(labels) != 2 || !is.null(outcome$counts) || .Call(call_positive, labels) > 0) return(invisible())
  refuse("`prevalence` = ", prevalence, ": which label has it, ", labels[1], " or ", labels[2], "? Name it with `positive = \"", labels[2],
    "\"`, say")
}

warn_of <- function(fit) {
  checks <- model_checks(fit)
  for (text in unique(checks$warning[nzchar(checks$warning)])) warn(text)
}

# Like the library's, without advice on terms of columns that come from a factor or a term, which it sees as numbers.
model_checks <- function(fit) {
  made <- with_session(function(session) .Call(call_model_checks, session, model_handle(fit)))
  measured <- names(which(attr(fit$terms, "dataClasses") == "numeric"))
  fitting <- function(text) {
    name <- sub("^.*coefficient of '(.*)' \\(.*$", "\\1", text)
    ifelse(name %in% measured, text, sub(": the column has a long tail. For a .*$", ". More rows, or fewer terms, may help.", text))
  }
  made[c("text", "warning")] <- lapply(made[c("text", "warning")], fitting)
  made
}

# The formula lists the features, like `--features`. Strata outside the formula may matter, since the likelihood assumes
# that the model is correct within each. To test this, the model is fitted again with an intercept per stratum.
warn_of_strata <- function(fit, data) {
  of <- fit$design_terms
  silent <- of$roles == "strata" & !vapply(of$names, function(name) any(all.vars(str2lang(name)) %in% all.vars(fit$terms)), NA)
  stated <- any(lengths(fit$tables) > 0) || !is.null(fit$options[["subcohort"]])
  if (!any(silent) || !stated || length(fit$labels) != 2 || is.null(fit$coefficients)) return(invisible())
  if (fit_option(fit, "infer") %in% c("laplace", "vi", "hmc")) fit$options$infer <- NULL
  levels <- stats::model.matrix(~., as.data.frame(data$columns[silent]))[, -1, drop = FALSE]
  colnames(levels) <- paste0("(stratum)", seq_len(ncol(levels)))
  data$x <- cbind(data$x, levels)
  data$x <- but(data$x, aliased_columns(data$x, list()))
  found <- tryCatch(suppressWarnings(with_session(function(session) {
    model <- learn(fit, data)
    list(beta = .Call(call_model_facts, session, model), covariance = .Call(call_model_covariance, session, model))
  })), prevail_error = function(e) NULL)
  at <- 1 + grep("^\\(stratum\\)", found$beta$features)
  if (!length(at)) return(invisible())
  beta <- found$beta$coefficients[at]
  p <- stats::pchisq(sum(beta * solve(found$covariance[at, at], beta)), length(at), lower.tail = FALSE)
  if (p < 0.01) {
    warn(paste0("the strata ", paste(of$names[silent], collapse = ", "), " are not in the model, and the risk differs between them by more than ",
      "its columns (p = ", format.pval(p, digits = 2, eps = 1e-16), "): its coefficients may be wrong; add ",
      paste0("factor(", of$names[silent], ")", collapse = " + "), " to the formula, or leave them out on purpose with ",
      paste0("- ", of$names[silent], collapse = " ")))
  }
}

# The model in the library's memory; recreated from its bytes after readRDS() and similar.
model_handle <- function(fit) {
  if (!.Call(call_model_alive, fit$handle$model)) {
    fit$handle$model <- with_session(function(session) .Call(call_model_from_bytes, session, "the model", fit$bytes))
  }
  fit$handle$model
}

need_coefficients <- function(fit) {
  if (is.null(fit$coefficients)) refuse("a model ", fit$architecture, " has no coefficients; linear and ordinal ones have")
}
