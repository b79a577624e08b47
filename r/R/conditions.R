# Errors and warnings of the library as R conditions, and the session needed by every call of the library.

kinds <- c(
  usage = "prevail_input_error", input = "prevail_input_error", format = "prevail_input_error",
  path = "prevail_file_error", write = "prevail_file_error", numeric = "prevail_numeric_error",
  memory = "prevail_memory_error"
)

# Library options with a different form in R: the value becomes part of the formula, or is a data frame.
otherwise <- list(
  exclude = function(value) {
    if (is.null(value)) return("the right side of the formula")
    paste0("`", paste0("- ", value, collapse = " "), "` in the formula")
  },
  features = function(value) "the right side of the formula",
  terms = function(value) "the formula",
  outcome = function(value) "the left side of the formula",
  categorical = function(value) if (is.null(value)) "factor()" else paste0("`factor(", value, ")`"),
  `prevalence-by` = function(value) "`prevalence_by`",
  `phase-one` = function(value) "`phase_one`",
  `population-sample` = function(value) "`population_sample`"
)

option_pattern <- "`([a-z][a-z0-9-]*)(?:=((?:[^`]|``)*))?`"

# Translates an option, `name` or `name=value` in a library message, to R's syntax: `name = "value"`.
argument_text <- function(reference) {
  name <- sub(option_pattern, "\\1", reference, perl = TRUE)
  value <- if (grepl("=", reference, fixed = TRUE)) gsub("``", "`", sub(option_pattern, "\\2", reference, perl = TRUE), fixed = TRUE)
  if (name %in% names(otherwise) && !own_argument(name)) return(otherwise[[name]](value))
  name <- gsub("-", "_", name)
  if (is.null(value)) return(paste0("`", name, "`"))
  bare <- grepl("^([-+]?[0-9.]+(e[-+]?[0-9]+)?|[A-Z]+)$", value)
  paste0("`", name, " = ", if (bare) value else encodeString(value, quote = '"'), "`")
}

# Whether the function that was called has an argument of that name itself: those that have no formula.
own_argument <- function(name) {
  for (called in lapply(seq_len(sys.nframe()), sys.function)) {
    if (identical(called, rate) || identical(called, sample_size)) return(name %in% names(formals(called)))
  }
  FALSE
}

# Translates all options in a library message to R's syntax.
in_r <- function(text) {
  at <- gregexpr(option_pattern, text, perl = TRUE)
  regmatches(text, at) <- lapply(regmatches(text, at), function(found) vapply(found, argument_text, ""))
  text
}

# Also called from C. In a table made from a data frame, line 2 is the first row.
raise <- function(status, message, file = NA, line = 0, column = 0, option = NA, value = NA, problem = message, remedy = NA) {
  if (status == "interrupted") interrupt()
  row <- NA_integer_
  message <- in_r(message)
  if (!is.na(file) && file %in% own_tables) {
    if (line >= 2) row <- as.integer(line - 1)
    message <- paste0(file, if (!is.na(row)) paste0(", row ", row), ": ", message)
    file <- NA_character_
  } else if (!is.na(file)) {
    message <- paste0(file, if (line > 0) paste0(":", line), ": ", message)
  }
  class <- c(kinds[status][!is.na(kinds[status])], "prevail_error", "error", "condition")
  stop(structure(class = unname(class), list(
    message = message, call = NULL, status = status, file = file, row = row, option = gsub("-", "_", option), value = value,
    problem = in_r(problem), remedy = in_r(remedy)
  )))
}

own_tables <- c("data", "newdata", "population_sample", "prevalence_by", "phase_one", "sample", "gold", "pilot")

refuse <- function(...) raise("usage", paste0(...))

# "; did you mean lwt?" if one of the names is similar; else an empty text.
did_you_mean <- function(name, names) {
  names <- unique(names[nzchar(names)])
  if (!length(names)) return("")
  far <- utils::adist(name, names, ignore.case = TRUE)
  if (min(far) > max(1 + (nchar(name) > 3), nchar(name) %/% 3)) return("")
  paste0("; did you mean ", names[which.min(far)], "?")
}

# Refuses unused arguments in `...`. hints: messages for certain names.
refuse_dots <- function(where, given, names, hints = character()) {
  if (!length(given)) return(invisible())
  name <- names(given)[1]
  if (is.null(name) || !nzchar(name)) refuse(where, ": arguments after the first must be named")
  if (name %in% names(hints)) refuse(where, ": there is no argument ", name, ": ", hints[[name]])
  refuse(where, ": there is no argument ", name, did_you_mean(name, setdiff(names, "...")))
}

# Like match.arg(), with partial matching, but raises our own error.
choose_one <- function(value, choices, name) {
  if (identical(value, choices)) return(choices[1])
  at <- if (is.character(value) && length(value) == 1) pmatch(value, choices) else NA
  if (is.na(at)) refuse("`", name, "` is one of ", paste0('"', choices, '"', collapse = ", "))
  choices[at]
}

# Simulates Ctrl-C.
interrupt <- function() {
  signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
  invokeRestart("abort")
}

warn <- function(text, call = NULL) {
  warning(structure(class = c("prevail_warning", "warning", "condition"), list(message = in_r(text), call = call)))
}

default_threads <- function(threads) {
  if (is.null(threads)) threads <- getOption("prevail.threads", 0L)
  threads <- suppressWarnings(as.integer(threads))
  if (length(threads) != 1 || is.na(threads) || threads < 0) refuse("`threads` is a number of threads, or 0 for all")
  threads
}

# Runs `work` in a session and then emits the library's messages.
with_session <- function(work, threads = NULL, verbose = FALSE) {
  session <- .Call(call_session, default_threads(threads), verbose)
  on.exit(.Call(call_session_end, session))
  value <- work(session)
  said <- .Call(call_session_said, session)
  if (said$interrupted) interrupt()
  for (text in unique(said$text[said$warning])) warn(text)
  if (verbose) for (text in unique(said$text[!said$warning])) message(in_r(text))
  value
}
