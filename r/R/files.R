# Model files: those of the command.

save_model <- function(object, file) {
  if (!inherits(object, "prevail")) refuse("`object` is not a fit of prevail()")
  if (!is.character(file) || length(file) != 1 || is.na(file)) refuse("`file` is the path of a file")
  with_session(function(session) .Call(call_model_save, session, model_handle(object), file))
  invisible(object)
}

read_model <- function(file) {
  if (!is.character(file) || length(file) != 1 || is.na(file)) refuse("`file` is the path of a file")
  handle <- with_session(function(session) .Call(call_model_load, session, file))
  fit <- structure(class = "prevail", list(call = NULL, formula = NULL, loaded = TRUE, options = list()))
  facts <- with_session(function(session) .Call(call_model_facts, session, handle))
  fit <- describe(fit, handle, facts$features)
  fit$columns <- facts$columns
  fit$counts <- FALSE
  fit$positive <- if (length(fit$labels) == 2) fit$labels[2] else NULL
  fit
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
