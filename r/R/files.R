# Model files, in the format of the command.

save_model <- function(object, file) {
  if (!inherits(object, "prevail")) refuse("`object` is not a fit of prevail()")
  if (!is.character(file) || length(file) != 1 || is.na(file)) refuse("`file` must be the path of a file")
  with_session(function(session) .Call(call_model_save, session, model_handle(object), file))
  invisible(object)
}

read_model <- function(file) {
  if (!is.character(file) || length(file) != 1 || is.na(file)) refuse("`file` must be the path of a file")
  handle <- with_session(function(session) .Call(call_model_load, session, file))
  fit <- structure(class = "prevail", list(call = NULL, formula = NULL, loaded = TRUE, options = list()))
  facts <- with_session(function(session) .Call(call_model_facts, session, handle))
  fit <- describe(fit, handle, facts$features)
  fit$columns <- facts$columns
  fit$counts <- FALSE
  fit$positive <- if (length(fit$labels) == 2) fit$labels[2] else NULL
  fit
}

export <- function(object, file, population = NULL, missing = c("model", "refuse", "impute"),
                   unseen = c("refuse", "other", "missing", "reference"), table = NULL) {
  if (!inherits(object, "prevail")) refuse("`object` is not a fit of prevail()")
  if (!is.character(file) || length(file) != 1 || is.na(file)) refuse("`file` must be the path of a file")
  options <- list(population = if (!is.null(population)) population_text(object, population), missing = match.arg(missing),
                  unseen = match.arg(unseen), table = table)
  options <- options[!vapply(options, is.null, logical(1))]
  texts <- as.character(unlist(options))
  said <- with_session(function(session) .Call(call_model_export, session, model_handle(object), file, names(options), texts))
  invisible(said)
}

prevail_about <- function() {
  found <- .Call(call_about)
  structure(found, class = "prevail_about")
}

print.prevail_about <- function(x, ...) {
  cat("libprevail ", x$version, ", kernels ", x$kernels, "\n", sep = "")
  cat("networks of images: ", if (x$convolutions == "none") "none: they need the system's libprevail, built with oneDNN" else x$convolutions, "\n", sep = "")
  cat(paste(x$libraries, collapse = "; "), "\n", sep = "")
  invisible(x)
}

methods_text <- function(object) {
  if (!inherits(object, "prevail")) refuse("`object` is not a fit of prevail()")
  found <- with_session(function(session) .Call(call_model_methods, session, model_handle(object)))
  items <- data.frame(item = found$item, topic = found$topic, text = found$text, authors = found$authors)
  structure(list(text = found$paragraph, citation = found$citation, tripod = items), class = "prevail_methods")
}

print.prevail_methods <- function(x, ...) {
  cat(strwrap(x$text), "", "References", strwrap(x$citation, indent = 2, exdent = 2), sep = "\n")
  open <- is.na(x$tripod$text)
  cat("\nTRIPOD+AI: `tripod` has ", nrow(x$tripod), " items; ", sum(!open), " are answered by the fit, ", sum(open),
    " are left to the authors.\n", sep = "")
  invisible(x)
}
