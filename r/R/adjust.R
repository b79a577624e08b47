# Another model's probabilities: conversion to another population, and estimation of an unknown prevalence.

# Converts p to the library's format, with the positive of two labels last, and records how to convert results back.
as_probabilities <- function(p, labels = NULL, positive = NULL) {
  if (is.data.frame(p)) p <- as.matrix(p)
  if (!is.numeric(p) || length(p) == 0) refuse("`p` must be probabilities: numbers, one per row or one for each label")
  if (anyNA(p)) refuse("`p` has missing values: the first is in row ", (which(is.na(p))[1] - 1) %% NROW(p) + 1)
  wide <- is.matrix(p) && ncol(p) > 1
  if (is.null(labels)) labels <- if (wide) colnames(p) %or% as.character(seq_len(ncol(p)) - 1) else c("0", "1")
  labels <- vapply(as.list(labels), function(label) option_text("labels", label), "")
  if (anyDuplicated(labels)) refuse("`labels` has ", labels[duplicated(labels)][1], " twice")
  if (wide && ncol(p) != length(labels) || !wide && length(labels) != 2) {
    refuse("`p` has ", NCOL(p), " column(s), and there are ", length(labels), " labels: ", paste(labels, collapse = ", "))
  }
  if (wide && !is.null(colnames(p)) && !identical(colnames(p), labels) && setequal(colnames(p), labels)) {
    refuse("the columns of `p` are ", paste(colnames(p), collapse = ", "), ", and the labels are ", paste(labels, collapse = ", "),
      ": put the columns in this order")
  }
  last <- positive_label(labels, positive)
  order <- if (length(labels) == 2 && last == labels[1]) c(2L, 1L) else seq_along(labels)
  given <- p
  if (!wide) p <- as.vector(p) else if (!identical(order, seq_along(labels))) p <- p[, order, drop = FALSE]
  storage.mode(p) <- "double"
  list(p = p, labels = labels[order], order = order, wide = wide, given = given, positive = last, original = labels)
}

label_codes <- function(y, labels, name = "y") {
  if (is.logical(y) && all(c("0", "1") %in% labels)) y <- as.integer(y)
  y <- as_categories(y, name)
  code <- match(levels(y), labels)[as.integer(y)]
  wrong <- which(is.na(code) & !is.na(y))[1]
  if (!is.na(wrong)) refuse("`", name, "` has the label ", y[wrong], " in row ", wrong, ", which is not one of ", paste(labels, collapse = ", "))
  code - 1L
}

probs_handle <- function(session, given, y = NULL, weights = NULL) {
  n <- NROW(given$p)
  codes <- NULL
  if (!is.null(y)) {
    if (length(y) != n) refuse("`y` has ", length(y), " rows, and `p` has ", n)
    if (anyNA(y)) refuse("`y` is missing in row ", which(is.na(y))[1])
    codes <- label_codes(y, given$labels)
  }
  if (!is.null(weights)) {
    if (length(weights) != n || !is.numeric(weights)) refuse("`weights` has one number for each row")
    weights <- as.double(weights)
  }
  .Call(call_probs, session, given$p, given$labels, codes, weights)
}

shares_of <- function(session, prevalence, given, option) {
  if (is.null(prevalence)) return(NULL)
  text <- prevalence_text(prevalence, given$labels, given$positive, option)
  .Call(call_shares, session, paste0("`", option, "`"), text, given$labels)
}

like_given <- function(values, given) {
  if (!given$wide) {
    made <- given$given
    made[] <- values[, 2]
    return(made)
  }
  made <- values[, order(given$order), drop = FALSE]
  dimnames(made) <- dimnames(given$given)
  made
}

adjust <- function(p, from, to, labels = NULL, positive = NULL, threads = NULL) {
  if (missing(from)) refuse("`from` is missing: the prevalence that the probabilities were made for")
  if (missing(to)) refuse("`to` is missing: the prevalence of the target population, or \"unknown\"")
  given <- as_probabilities(p, labels, positive)
  with_session(function(session) {
    handle <- probs_handle(session, given)
    from <- shares_of(session, from, given, "from")
    if (is.null(from)) refuse("`from` is missing: the prevalence that the probabilities were made for")
    if (!names_population(to)) check_population(to, "to")
    place <- if (names_population(to)) to else shares_of(session, to, given, "to")
    said <- .Call(call_predict_probs, session, handle, from, place, 0.95, character(), character(), NULL, NULL)
    made <- like_given(said$p, given)
    attr(made, "inferred") <- new_inferred(said$inferred, given$labels)
    warn_if_weak(attr(made, "inferred"))
    made
  }, threads)
}

infer_prevalence <- function(object, ...) UseMethod("infer_prevalence")

infer_prevalence.default <- function(object, from, known = NULL, reference = NULL, weights = NULL, level = 0.95,
                                     method = c("bins", "exact", "vb", "em", "bbse"), dirichlet = NULL, seed = NULL, labels = NULL,
                                     positive = NULL, threads = NULL, ...) {
  if (missing(from)) refuse("`from` is missing: the prevalence that the probabilities were made for")
  method <- choose_one(method, c("bins", "exact", "vb", "em", "bbse"), "method")
  refuse_dots("infer_prevalence", list(...), names(formals()))
  check_level(level)
  given <- as_probabilities(object, labels, positive)
  if (!is.null(known) && length(known) != NROW(given$p)) refuse("`known` has ", length(known), " rows, and the probabilities have ", NROW(given$p))
  options <- option_texts(list(method = method, dirichlet = dirichlet, seed = seed))
  with_session(function(session) {
    handle <- probs_handle(session, given, weights = weights)
    from <- shares_of(session, from, given, "from")
    codes <- NULL
    if (!is.null(known)) {
      codes <- label_codes(known, given$labels, "known")
      codes[is.na(codes)] <- -1L
    }
    held <- NULL
    if (!is.null(reference)) {
      if (!is.list(reference) || length(reference) != 2) refuse("`reference` is list(y, p): labelled rows that the model has not seen")
      other <- as_probabilities(reference[[2]], given$original, given$positive)
      held <- probs_handle(session, other, reference[[1]])
    }
    said <- .Call(call_predict_probs, session, handle, from, "unknown", level, options$names, options$texts, codes, held)
    found <- new_inferred(said$inferred, given$labels)
    warn_if_weak(found)
    found
  }, threads)
}

infer_prevalence.prevail <- function(object, newdata, level = 0.95, ...) {
  if (missing(newdata)) refuse("`newdata` is missing: the rows whose prevalence is to be inferred")
  check_level(level)
  risk_matrix(object, newdata, "unknown", level, list(...))$inferred
}

# The action of least expected cost for each row; without costs the most probable label.
decide <- function(p, costs = NULL, labels = NULL, positive = NULL) {
  given <- as_decidable(p, labels, positive)
  gone <- rowSums(is.na(given$p)) > 0
  actions <- given$labels
  matrix <- NULL
  if (!is.null(costs)) {
    matrix <- as_costs(costs, given$labels)
    actions <- rownames(matrix)
  }
  said <- with_session(function(session) .Call(call_decide, session, given$p[!gone, , drop = FALSE], matrix, actions))
  code <- rep(NA_integer_, nrow(given$p))
  code[!gone] <- said$action
  made <- factor(actions[code], levels = actions)
  if (is.null(costs)) return(made)
  cost <- rep(NA_real_, nrow(given$p))
  cost[!gone] <- said$cost
  data.frame(action = made, cost = cost)
}

as_decidable <- function(p, labels, positive) {
  if (is.matrix(p) && ncol(p) > 1 && anyNA(p)) {
    labels <- labels %or% colnames(p) %or% as.character(seq_len(ncol(p)) - 1)
    return(list(p = p, labels = labels))
  }
  given <- as_probabilities(p, labels, positive)
  if (given$wide) return(list(p = given$p, labels = given$labels))
  list(p = cbind(1 - given$p, given$p), labels = given$labels)
}

# Costs as a matrix or data frame of actions by labels, a list of named vectors, or for two labels the costs of the two
# errors.
as_costs <- function(costs, labels) {
  if (is.numeric(costs) && length(labels) == 2 && setequal(names(costs), c("fp", "fn"))) {
    costs <- matrix(c(0, costs[["fp"]], costs[["fn"]], 0), 2, dimnames = list(labels, labels))
  }
  if (is.list(costs) && !is.data.frame(costs)) costs <- do.call(rbind, lapply(costs, function(row) row[labels]))
  if (is.data.frame(costs) && !is.numeric(costs[[1]])) costs <- data.frame(costs[-1], row.names = as.character(costs[[1]]), check.names = FALSE)
  costs <- as.matrix(costs)
  lost <- setdiff(labels, colnames(costs))
  if (length(lost) || is.null(rownames(costs)) || !is.numeric(costs) || anyNA(costs)) {
    refuse("`costs` must be a numeric matrix with an action in each row and a column for each of the labels ", paste(labels, collapse = ", "),
      if (length(labels) == 2) ", or c(fp = X, fn = Y)")
  }
  costs <- costs[, labels, drop = FALSE]
  storage.mode(costs) <- "double"
  costs
}
