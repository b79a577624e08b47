# How much an exposure changes the risk in the population.

population_effect <- function(data, outcome, exposure, prevalence = NULL, from = NULL, to = NULL, by = NULL, at = NULL,
                              prevalence_by = NULL, level = 0.95, ...) {
  if (!is.data.frame(data)) refuse("`data` is a data frame: the rows that were sampled by their label")
  if (!is.null(at) && (is.null(names(at)) || any(names(at) == ""))) refuse("`at` needs names: list(age = 50, sex = \"f\")")
  if (is.list(prevalence) || length(prevalence) > 1) refuse("`prevalence` is a number, or a text such as \"0.005-0.02\"")
  more <- list(...)
  check_effect_options(more)
  options <- option_texts(c(more, list(
    outcome = outcome, exposure = exposure, prevalence = prevalence, from = effect_value(from), to = effect_value(to), by = by,
    at = if (!is.null(at)) paste0("\"", gsub("\"", "\"\"", paste0(names(at), "=", vapply(at, effect_value, ""))), "\"", collapse = ","), interval = level,
    prevalence_by = if (is.data.frame(prevalence_by)) "prevalence_by" else prevalence_by
  )))
  with_session(function(session) {
    table <- effect_table(session, "data", data)
    known <- if (is.data.frame(prevalence_by)) effect_table(session, "prevalence_by", prevalence_by)
    found <- .Call(call_effect, session, table, known, options$names, options$texts)
    structure(c(found$result, list(text = rawToChar(found$text))), class = "prevail_effect")
  })
}

check_effect_options <- function(more) {
  if (length(more) && (is.null(names(more)) || any(names(more) == ""))) refuse("arguments after the first ones need their names")
  known <- c("positive", "weights", "weights_are", "cluster", "strata", "exclude", "features", "categorical", "reference", "missing",
             "collinear", "constant", "terms", "offset", "id", "prevalence_n", "prevalence_odds", "phase_one", "subcohort", "loss",
             "weighting", "errors", "infer", "prior", "intercept_prior", "tolerance", "max_iter", "matched", "model")
  wrong <- setdiff(names(more), known)
  if (length(wrong)) refuse("`", wrong[1], "` is not an argument of population_effect(): give one of ", paste(known, collapse = ", "))
}

effect_value <- function(value) if (is.null(value)) NULL else if (is.numeric(value)) option_text("value", value) else as.character(value)

effect_table <- function(session, name, data) {
  .Call(call_table, session, name, as.double(nrow(data)), NULL, 0L, Map(as_column, as.list(data), names(data)))
}

print.prevail_effect <- function(x, ...) {
  text <- x$text
  Encoding(text) <- "UTF-8"
  cat(text)
  invisible(x)
}

as.data.frame.prevail_effect <- function(x, ...) {
  measures <- c("risk", "risk_from", "risk_to", "difference", "ratio", "odds_ratio", "attributable")
  rows <- lapply(x$effects, function(effect) {
    own <- intersect(measures, names(effect))
    part <- function(what) vapply(effect[own], function(m) as.numeric(m[[what]]), 0)
    data.frame(group = if (is.character(effect$group)) effect$group else NA_character_, from = x$from, to = effect$to, measure = own,
               value = part("value"), lo = part("lo"), hi = part("hi"), row.names = NULL, stringsAsFactors = FALSE)
  })
  do.call(rbind, rows)
}
