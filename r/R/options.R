# The command's options as R arguments.

# Options of the command that are replaced by the formula and the data, and their R equivalents.
instead <- c(
  outcome = "the left side of the formula", target = "the left side of the formula", features = "the right side of the formula",
  exclude = "the right side of the formula", terms = "the formula: log(x), ns(x, 3), a:b",
  categorical = "factor(x) in the formula", reference = "relevel(x, ref) or contrasts",
  separator = "a data frame", decimal = "a data frame", `no-header` = "a data frame", names = "a data frame", quote = "a data frame", na = "a data frame",
  images = "the command or the Python package, for images", votes = "the command or the Python package",
  `population-sample` = "population_sample"
)

# Options of the command `predict`.
no_unseen <- "levels that the fit has not seen are an error, as in glm; give the row a known level, or leave it out"

#' @noRd
prevail_options <- function() {
  found <- as.data.frame(.Call(call_options), stringsAsFactors = FALSE)
  found <- found[!found$name %in% names(instead), ]
  found$name <- gsub("-", "_", found$name)
  found$help <- in_r(found$help)
  rownames(found) <- NULL
  found
}

number_text <- function(value) {
  if (is.na(value)) refuse("an option is NA")
  if (is.infinite(value)) return(if (value > 0) "inf" else "-inf")
  if (value == round(value) && abs(value) < 1e15) return(format(value, scientific = FALSE, digits = 15))
  short <- sprintf("%.15g", value)
  if (as.numeric(short) == value) short else sprintf("%.17g", value)
}

quoted <- function(text) ifelse(grepl('[,"\n=]', text), paste0('"', gsub('"', '""', text), '"'), text)

# Converts an argument's value to the text of an option.
option_text <- function(name, value) {
  if (is.null(value)) return(NULL)
  if (name == "family") refuse("there is no argument `family`: two labels are fitted by logistic regression")
  if (is.factor(value)) value <- as.character(value)
  if (is.logical(value) && length(value) == 1 && !is.na(value)) return(if (value) "true" else "false")
  if (is.numeric(value) && length(value) == 1) return(number_text(value))
  if (is.character(value) && length(value) == 1 && !is.na(value)) return(value)
  if (is.numeric(value) && length(value) > 1) return(paste(vapply(value, number_text, ""), collapse = ","))
  if (is.character(value) && length(value) > 1) return(paste(quoted(value), collapse = ","))
  refuse("`", name, "`: give a text or a number")
}

# A prevalence in the library's syntax: a number is that of the positive label; a named vector gives it by label.
prevalence_text <- function(prevalence, labels, positive, option = "prevalence") {
  if (is.null(prevalence)) return(NULL)
  if (is.list(prevalence)) prevalence <- unlist(prevalence)
  if (length(prevalence) && anyNA(prevalence)) refuse("`", option, "` is missing: NA")
  if (is.character(prevalence) && length(prevalence) == 1) return(prevalence)
  if (!is.numeric(prevalence)) refuse("`", option, "` is a number, a named vector or a text")
  if (length(prevalence) == 1 && is.null(names(prevalence))) {
    if (length(labels) != 2) {
      refuse("`", option, "` = ", prevalence, " is one number, and there are ", length(labels), " labels (",
        paste(labels, collapse = ", "), "): give one for each, with their names")
    }
    if (!(prevalence > 0 && prevalence < 1)) {
      refuse("`", option, "` = ", prevalence, ": a prevalence is between 0 and 1",
        if (prevalence > 1 && prevalence <= 100) paste0("; is it ", prevalence / 100, ", that is ", prevalence, " %?"))
    }
    return(paste0(quoted(positive), "=", number_text(prevalence)))
  }
  if (is.null(names(prevalence))) {
    if (length(prevalence) != length(labels)) {
      refuse("`", option, "` has ", length(prevalence), " numbers, and there are ", length(labels), " labels: ",
        paste(labels, collapse = ", "))
    }
    refuse("`", option, "`: name its numbers by the labels: ", paste(labels, collapse = ", "))
  }
  unknown <- setdiff(names(prevalence), labels)
  if (length(unknown)) {
    refuse("`", option, "`: there is no label ", unknown[1], "; the labels are ", paste(labels, collapse = ", "))
  }
  paste0(quoted(names(prevalence)), "=", vapply(prevalence, number_text, ""), collapse = ",")
}

# Converts the options of a fit, a named list, to the library's names and texts.
option_texts <- function(given) {
  texts <- Map(option_text, names(given), given)
  texts <- texts[!vapply(texts, is.null, NA)]
  list(names = gsub("_", "-", names(texts)), texts = as.character(unlist(texts, use.names = FALSE)))
}

check_instead <- function(given) {
  if (is.null(names(given)) && length(given)) refuse("arguments after the first must be named")
  if (any(names(given) == "")) refuse("arguments after the first must be named")
  for (name in names(given)) {
    dashed <- gsub("_", "-", name)
    if (name == "unseen") refuse("`unseen` is not an argument here: ", no_unseen)
    if (dashed %in% names(instead)) refuse("`", dashed, "` is not an argument here: use ", instead[[dashed]])
  }
  repeated <- names(given)[duplicated(names(given))]
  if (length(repeated)) refuse("`", repeated[1], "` is given twice")
}
