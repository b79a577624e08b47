# Converts a formula and a data frame to a library table: numbers from model.matrix() under the names of glm's
# coefficients, the outcome, and the design columns.

design_arguments <- c("strata", "matched", "cluster", "group", "id")

# Interprets a design argument: a variable of the data, an expression, a name as text, or a one-sided formula with
# several variables. Returns a list of expressions named by the columns they become.
design_terms <- function(name, expression, data, env) {
  if (is.null(expression)) return(NULL)
  value <- if (is.character(expression)) expression else tryCatch(eval(expression, data, env), error = function(e) NULL)
  if (inherits(value, "formula")) {
    names <- all.vars(value)
  } else if (is.character(value) && (is.character(expression) || length(value) < NROW(data))) {
    check_columns(name, value, data)
    names <- value
  } else {
    return(stats::setNames(list(expression), column_name(expression)))
  }
  stats::setNames(lapply(names, as.name), names)
}

check_columns <- function(name, columns, data) {
  lost <- setdiff(columns, names(data))
  if (length(lost)) refuse("`", name, "`: there is no column ", lost[1], " in the data", did_you_mean(lost[1], names(data)))
}

# Weights and offsets are variables; only design arguments may be names as text.
check_variables <- function(call, data) {
  for (name in c("weights", "offset")) {
    text <- call[[name]]
    if (!is.character(text)) next
    check_columns(name, text, data)
    refuse("`", name, "` must be a variable, not a text: ", name, " = ", text[1])
  }
}

column_name <- function(expression) paste(deparse(expression, width.cutoff = 500L), collapse = " ")

# The model frame of a call of prevail(), with the design's columns added. missing: value of the option, or an
# expression if the call uses a variable of that name.
make_frame <- function(call, env, missing = NULL) {
  formula <- eval(call[["formula"]], env)
  if (missing_formula(formula)) refuse("`formula` is missing: outcome ~ columns")
  data <- if (is.null(call[["data"]])) NULL else eval(call[["data"]], env)
  if (is.character(data)) refuse("`data` must be a data frame, not the name of a file: read it with read.csv()")
  if (!is.null(data) && !is.data.frame(data)) data <- as.data.frame(data)
  formula <- stats::as.formula(formula)
  if (length(formula) < 3) refuse("`formula` has no left side: outcome ~ columns")
  specials <- attr(stats::terms(formula, specials = "strata", data = data), "specials")$strata
  if (length(specials)) {
    refuse("strata() in the formula: name matched sets by `matched` and strata that rows were sampled by with `strata`")
  }
  at <- if (is.null(environment(formula))) env else environment(formula)
  designs <- lapply(stats::setNames(nm = design_arguments), function(name) design_terms(name, call[[name]], data, at))
  designs <- designs[!vapply(designs, is.null, NA)]
  formula <- without_designs(formula, designs, call[["weights"]], data)
  check_variables(call, data)
  keep <- match(c("subset", "weights", "offset"), names(call), 0L)
  # Replaces values by names, so that an error of model.frame() does not print the data.
  frame_call <- as.call(c(list(quote(stats::model.frame), formula = quote(formula), data = quote(data)), as.list(call[keep])))
  frame_call[["drop.unused.levels"]] <- TRUE
  if (!is.null(call[["na.action"]])) {
    frame_call[["na.action"]] <- eval(call[["na.action"]], env)
  } else if (isTRUE(as.character(missing) %in% c("impute", "indicator"))) {
    frame_call[["na.action"]] <- quote(stats::na.pass)
  } else if (identical(getOption("na.action"), "na.omit")) {
    frame_call[["na.action"]] <- omit_missing
  }
  extra <- unlist(unname(designs), recursive = FALSE)
  for (i in seq_along(extra)) frame_call[[paste0("design", i)]] <- extra[[i]]
  environment(formula) <- at
  frame <- tryCatch(eval(frame_call), error = function(e) refuse_frame(e, data))
  columns <- lapply(seq_along(extra), function(i) frame[[paste0("(design", i, ")")]])
  roles <- rep(names(designs), lengths(designs))
  list(frame = frame, columns = stats::setNames(columns, names(extra)), roles = roles, formula = formula)
}

# In `y ~ .` the dot excludes the id, set, cluster and weight columns, as in the command. Strata are included.
without_designs <- function(formula, designs, weights, data) {
  if (is.null(data) || !"." %in% all.vars(formula)) return(formula)
  roles <- unlist(lapply(c(designs[setdiff(names(designs), "strata")], list(list(weights))), function(terms) lapply(terms, all.vars)))
  stats::formula(stats::terms(formula, data = data[setdiff(names(data), roles)]))
}

# Raises our own error for R's errors about a formula; for an unknown variable it suggests a similar name.
refuse_frame <- function(e, data) {
  if (inherits(e, "prevail_error")) stop(e)
  text <- conditionMessage(e)
  name <- regmatches(text, regexec("^object '(.*)' not found$", text))[[1]]
  if (length(name) != 2) refuse(text)
  refuse(text, ": it is not a column of the data", did_you_mean(name[2], names(data)))
}

check_weights <- function(weights, rows) {
  if (is.null(weights)) return(NULL)
  if (!is.numeric(weights)) refuse("`weights` must be numbers")
  low <- which(weights < 0)[1]
  if (!is.na(low)) refuse("`weights` must not be negative: row ", rows[low], " has ", format(weights[low]))
  weights
}

# na.omit(), but only if something is missing, since it checks every cell and copies all rows.
omit_missing <- function(frame) if (anyNA(frame, recursive = TRUE)) stats::na.omit(frame) else frame

missing_formula <- function(formula) !inherits(formula, "formula") && !is.character(formula)

# A faster factor(): factor() converts numbers to text, which takes longer than the fit of a large table.
as_factor <- function(codes, levels) structure(codes, levels = levels, class = "factor")

# Converts a column to the library's types: factor or double.
as_column <- function(column, name) {
  if (is.factor(column)) return(as_factor(as.integer(column), levels(column)))
  if (is.character(column) || is.logical(column)) return(factor(column))
  if (inherits(column, c("Date", "POSIXct"))) return(factor(format(column)))
  if (is.numeric(column)) return(as.double(column))
  refuse("column ", name, " is neither numeric nor text")
}

# Converts a column to a factor; numbers are written like integers if they are whole.
as_categories <- function(column, name) {
  if (is.numeric(column) && !is.factor(column)) return(numbers_as_categories(column))
  as_column(column, name)
}

numbers_as_categories <- function(column) {
  values <- sort(unique(column))
  as_factor(match(column, values), vapply(values, number_text, ""))
}

# The outcome: ordered labels, codes, and the positive label.
make_outcome <- function(response, name, positive) {
  if (is.null(response)) refuse("`formula` has no outcome on its left side")
  if (NROW(response) == 0) refuse("no row is left: each lacks the outcome or a column, or is outside `subset`")
  if (inherits(response, "Surv")) refuse("the outcome ", name, " is a survival time, and labels are needed, such as ill or not by a given time")
  if (is.matrix(response)) return(counts_outcome(response, name))
  if (is.factor(response)) {
    column <- as_factor(as.integer(response), levels(response))
    used <- tabulate(column, nlevels(column)) > 0
    labels <- levels(column)[used]
    if (!all(used)) column <- as_factor(cumsum(used)[as.integer(column)], labels)
  } else if (is.logical(response)) {
    labels <- c("FALSE", "TRUE")
    column <- as_factor(as.integer(response) + 1L, labels)
  } else if (is.numeric(response)) {
    values <- sort(unique(response))
    if (length(values) > 50) refuse("the outcome ", name, " has ", length(values), " values: is it a category?")
    labels <- vapply(values, number_text, "")
    codes <- if (length(values) == 2 && !anyNA(response)) 1L + (response == values[2]) else match(response, values)
    column <- as_factor(as.integer(codes), labels) # as.integer: without the names of rows
  } else if (is.character(response)) {
    column <- factor(response)
    labels <- levels(column)
  } else {
    refuse("the outcome ", name, " is neither categorical nor numeric")
  }
  if (length(labels) < 2) refuse("the outcome ", name, " is ", labels, " in every row: two labels are needed")
  if (length(labels) > 50) refuse("the outcome ", name, " has ", length(labels), " values: is it a category?")
  list(column = column, labels = labels, positive = positive_label(labels, positive), counts = NULL)
}

positive_label <- function(labels, positive = NULL) {
  if (length(labels) != 2) {
    if (!is.null(positive)) refuse("`positive` is for two labels, and there are ", length(labels), "; leave it out")
    return(labels[length(labels)])
  }
  if (!is.null(positive)) {
    positive <- option_text("positive", positive)
    if (!positive %in% labels) refuse("`positive`: there is no label ", positive, "; the labels are ", paste(labels, collapse = ", "))
    return(positive)
  }
  guess <- .Call(call_positive, labels)
  labels[if (guess > 0) guess else 2L]
}

# cbind(cases, controls): one row per count.
counts_outcome <- function(response, name) {
  if (ncol(response) != 2 || !is.numeric(response)) {
    refuse("the outcome ", name, " is a matrix: only cbind(cases, controls), counts of both, is supported")
  }
  if (anyNA(response) || any(response < 0)) refuse("the outcome ", name, " has counts that are missing or negative")
  names <- colnames(response) %or% c("cases", "controls")
  if (any(grepl("[/,\"=]", names) | !nzchar(names)) || names[1] == names[2]) names <- c("cases", "controls")
  colnames(response) <- names
  list(column = NULL, labels = rev(names), positive = names[1], counts = response)
}

# Name of the target column: the outcome's, unless the library would interpret it.
target_name <- function(formula, taken) {
  name <- column_name(formula[[2]])
  if (grepl("[/,\"=]", name) || name %in% taken || startsWith(name, "cbind(")) name <- "outcome"
  while (name %in% taken) name <- paste0(name, "_")
  name
}

# The matrix of features, including the intercept, since removing it would copy the matrix.
feature_matrix <- function(terms, frame, contrasts, xlev = NULL) {
  if (attr(terms, "intercept") == 0) {
    refuse("the formula has no intercept, which carries the prevalence: leave out `- 1` and `+ 0`")
  }
  x <- tryCatch(stats::model.matrix(terms, frame, contrasts.arg = contrasts, xlev = xlev), error = function(e) refuse_frame(e, frame))
  if (!is.double(x)) storage.mode(x) <- "double"
  x
}

# The offset column: the sum of the formula's offset() and the argument.
offset_column <- "(offset)"

frame_offset <- function(frame) {
  offset <- stats::model.offset(frame)
  if (is.null(offset)) return(NULL)
  if (NCOL(offset) > 1) refuse("`offset` has ", NCOL(offset), " columns: it is one number for each row")
  as.double(offset)
}

# The same for other rows, whose frame contains only the formula's offset.
new_offset <- function(call, frame, data, env) {
  own <- call[["offset"]]
  if (is.null(own)) return(frame_offset(frame))
  value <- tryCatch(eval(own, data, env), error = function(e) {
    refuse("`offset` ", column_name(own), " cannot be computed for these rows: ", conditionMessage(e))
  })
  if (length(value) != nrow(frame)) {
    refuse("`offset` ", column_name(own), " has ", length(value), " values for ", nrow(frame),
      " rows: name a variable of the data, or write offset() in the formula")
  }
  as.double(value) + (frame_offset(frame) %or% 0)
}

# Makes a table from the matrix of features and named columns.
new_table <- function(session, source, x, columns) {
  columns <- Map(function(column, name) if (is.factor(column)) column else as.double(column), columns, names(columns))
  .Call(call_table, session, source, as.double(nrow(x)), x, 1L, columns)
}
