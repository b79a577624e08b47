# How many cases and controls a study needs.

sample_size <- function(prevalence, prevalence_n = NULL, margin = NULL, ratio = NULL, cost_case = NULL, cost_control = NULL, cases = NULL,
                        auc = NULL, r2 = NULL, parameters = NULL, pilot = NULL, score = NULL, outcome = NULL, positive = NULL,
                        shrinkage = NULL, optimism = NULL, slope = NULL, auc_width = NULL, threshold = NULL, risk_width = NULL,
                        ppv_width = NULL, benefit_width = NULL, odds_ratio = NULL, exposure = NULL, power = NULL, interval = NULL) {
  if (!is.null(pilot) && !is.data.frame(pilot)) refuse("`pilot` is a data frame of scores and outcomes, or NULL")
  if (is.numeric(prevalence) && length(prevalence) == 2) prevalence <- paste(prevalence, collapse = "-")
  if (is.logical(positive)) positive <- as.character(positive)
  options <- option_texts(list(
    prevalence = prevalence, prevalence_n = prevalence_n, margin = margin, ratio = ratio, cost_case = cost_case,
    cost_control = cost_control, cases = cases, auc = auc, r2 = r2, parameters = parameters, score = score, outcome = outcome,
    positive = positive, shrinkage = shrinkage, optimism = optimism, slope = slope, auc_width = auc_width, threshold = threshold,
    risk_width = risk_width, ppv_width = ppv_width, benefit_width = benefit_width, odds_ratio = odds_ratio, exposure = exposure,
    power = power, interval = interval
  ))
  with_session(function(session) {
    found <- .Call(call_size, session, rate_table(session, "pilot", pilot, c(score, outcome)), options$names, options$texts)
    structure(c(found$result, list(text = rawToChar(found$text))), class = "prevail_size")
  })
}

print.prevail_size <- function(x, ...) {
  text <- x$text
  Encoding(text) <- "UTF-8"
  cat(text)
  invisible(x)
}

# What each criterion needs.
as.data.frame.prevail_size <- function(x, ...) {
  part <- function(name) vapply(x$criteria, function(own) own[[name]], 0, USE.NAMES = FALSE)
  data.frame(criterion = names(x$criteria), wanted = part("wanted"), rows = part("rows"), cases = part("cases"),
             controls = part("controls"), reached = part("reached"), stringsAsFactors = FALSE)
}
