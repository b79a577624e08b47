# How common labels are, by an imperfect classifier, test or judge.

rate <- function(sample, gold = NULL, verdict = NULL, outcome = NULL, gold_by = NULL, score = NULL, cuts = NULL, compare = NULL,
                 positive = NULL, sensitivity = NULL, specificity = NULL, weights = NULL, weights_are = NULL, strata = NULL,
                 cluster = NULL, interval = 0.95, width = NULL, seed = 1) {
  if (!is.data.frame(sample)) refuse("`sample` is a data frame: a row for each case, with its verdict")
  if (!is.null(gold) && !is.data.frame(gold)) refuse("`gold` is a data frame of gold rows, or NULL where the sample has them")
  if (is.numeric(sensitivity) && length(sensitivity) == 2) sensitivity <- paste(sensitivity, collapse = "/")
  if (is.numeric(specificity) && length(specificity) == 2) specificity <- paste(specificity, collapse = "/")
  if (is.logical(positive)) positive <- as.character(positive)
  options <- option_texts(list(
    verdict = verdict, outcome = outcome, gold_by = gold_by, score = score, cuts = cuts, compare = compare, positive = positive,
    sensitivity = sensitivity, specificity = specificity, weights = weights, weights_are = weights_are, strata = strata,
    cluster = cluster, interval = interval, width = width, seed = seed
  ))
  named <- c(verdict, score, compare, outcome, weights, strata, cluster)
  with_session(function(session) {
    tables <- Map(function(name, data) rate_table(session, name, data, named), c("sample", "gold"), list(sample, gold))
    found <- .Call(call_rate, session, tables$sample, tables$gold, options$names, options$texts)
    result <- found$result
    own <- result$rate[[result$positive]]
    structure(c(own, result, list(text = rawToChar(found$text))), class = "prevail_rate")
  })
}

# The columns that are named, as a table of the library; the others may be of any kind.
rate_table <- function(session, name, data, named) {
  if (is.null(data)) return(NULL)
  columns <- as.list(data)[intersect(names(data), named)]
  .Call(call_table, session, name, as.double(nrow(data)), NULL, 0L, Map(as_column, columns, names(columns)))
}

print.prevail_rate <- function(x, ...) {
  text <- x$text
  Encoding(text) <- "UTF-8"
  cat(text)
  invisible(x)
}

as.data.frame.prevail_rate <- function(x, ...) {
  data.frame(label = names(x$rate), value = vapply(x$rate, function(r) r$value, 0), lo = vapply(x$rate, function(r) r$lo, 0),
             hi = vapply(x$rate, function(r) r$hi, 0), row.names = NULL, stringsAsFactors = FALSE)
}
