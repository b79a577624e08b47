# Errors and warnings of the library as conditions of R, and the session that every call of it needs.

kinds <- c(
  usage = "prevail_input_error", input = "prevail_input_error", format = "prevail_input_error",
  path = "prevail_file_error", write = "prevail_file_error", numeric = "prevail_numeric_error",
  memory = "prevail_memory_error"
)

# A text of the library with its options as arguments are written here: `prevalence-n` is `prevalence_n`.
in_r <- function(text) {
  at <- gregexpr("`[a-z][a-z0-9-]*`", text)
  regmatches(text, at) <- lapply(regmatches(text, at), function(found) gsub("-", "_", found))
  text <- gsub("leave (it|them) out with `exclude`( [^ :;.,]+)?", "leave \\1 out of the formula", text, ignore.case = TRUE)
  unknown <- startsWith(text, "unknown option")
  text[unknown] <- gsub("-", "_", text[unknown])
  text
}

# Called from C as well. In a table made of a data frame, the first row is line 2.
raise <- function(status, message, file = NA, line = 0, column = 0) {
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
  stop(structure(class = unname(class), list(message = message, call = NULL, status = status, file = file, row = row)))
}

own_tables <- c("data", "newdata", "population_sample")

refuse <- function(...) raise("usage", paste0(...))

# As Ctrl-C does it.
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

# Runs `work` with a session; tells what the library had to say.
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
