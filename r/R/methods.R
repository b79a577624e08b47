# Methods of standard generics for fits.

label_of <- function(fit) {
  name <- column_name(fit$formula[[2]])
  if (length(fit$labels) > 2) return(name)
  if (fit$counts) return(fit$labels[2])
  paste0(name, " = ", fit$labels[2])
}

share_text <- function(shares) {
  if (is.null(shares)) return("not stated")
  if (length(shares) == 2) return(format(shares[[2]], digits = 4))
  paste0(names(shares), " ", format(shares, digits = 3), collapse = ", ")
}

# Summary of how the model was fitted, in a few lines.
headline <- function(fit) {
  how <- c(fit$architecture, paste("loss", fit$loss), paste("infer", fit_option(fit, "infer")))
  stated <- if (is.null(fit$prevalence)) {
    if (isTRUE(fit$relative)) "odds ratios of matched sets" else paste0("no prevalence stated; in the rows ", share_text(fit$design))
  } else {
    paste0("prevalence ", share_text(fit$prevalence), interval_text(fit$options[["prevalence"]]), ", in the rows ", share_text(fit$design))
  }
  of <- if (isTRUE(fit$loaded)) fit$target_column else label_of(fit)
  c(paste0(of, ": ", stated), paste0(paste(how, collapse = ", "), "; ", format(fit$rows, big.mark = ","), " rows",
    if (fit$dropped > 0) paste0(", ", fit$dropped, " dropped"), "; ", fit$stop), estimate_text(fit),
    strata_text(fit), if (length(fit$na.action)) paste0("(", stats::naprint(fit$na.action), ")"),
    if (length(fit$aliased)) paste0("(", length(fit$aliased), " not defined because of singularities)"))
}

# Whether the strata used in sampling are features of the model.
strata_text <- function(fit) {
  of <- fit$design_terms
  names <- of$names[of$roles == "strata"]
  if (!length(names)) return(NULL)
  inside <- strata_in_model(fit, names)
  paste0("strata ", paste0(names, ifelse(inside, " (a feature)", " (not a feature)"), collapse = ", "))
}

strata_in_model <- function(fit, names) {
  inside <- unlist(lapply(attr(fit$terms, "term.labels"), function(label) all.vars(str2lang(label))))
  vapply(names, function(name) all(all.vars(str2lang(name)) %in% inside), NA)
}

# For a prevalence that was stated as an interval.
interval_text <- function(stated) if (length(stated) && grepl("[0-9] *- *[.0-9]", stated)) paste0(" (stated: ", stated, ")")

# Which estimate a linear model with a stated prevalence uses, and Hausman's test of the two.
estimate_text <- function(fit) {
  if (is.null(fit$estimate) || is.na(fit$hausman)) return(NULL)
  paste0("estimate: ", switch(fit$estimate, efficient = "efficient, which assumes that the linear model is right",
    weighted = "weighted, as with loss iw; intervals do not assume that the linear model is right",
    combined = paste0("combined: ", weighting_text(fit), "; intervals do not assume that the linear model is right")), "; Hausman's test p = ", format(fit$hausman, digits = 2))
}

# Range of the weighted estimate's share over the slopes.
weighting_text <- function(fit) {
  found <- summary_rows(fit, 0.95)
  shares <- range(found$weighting[!found$term %in% threshold_terms(fit)], na.rm = TRUE)
  if (shares[2] < 0.005) return("the efficient estimate in every slope")
  if (shares[1] > 0.995) return("the weighted estimate (loss iw) in every slope")
  paste("the weighted estimate (loss iw) contributes", paste(unique(trimws(format(shares, digits = 2))), collapse = " to "),
    "of the slopes")
}

# For models with an equation for each label but the first.
reference_text <- function(fit) {
  if (!isTRUE(fit$terms_of$equations > 1)) return(NULL)
  paste0(if (isTRUE(fit$loaded)) fit$target_column else column_name(fit$formula[[2]]), " = ", fit$labels[1])
}

fit_option <- function(fit, name) {
  value <- fit$options[[name]]
  if (!is.null(value)) return(as.character(value)[1])
  found <- regmatches(fit$record, regexec(paste0('"', gsub("_", "-", name), '": *\\{[^}]*"value": *"?([^",}]*)'), fit$record))[[1]]
  if (length(found) > 1) return(found[2])
  table <- prevail_options()
  table$default[match(name, table$name)]
}

print.prevail <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  if (!is.null(x$call)) cat("Call:  ", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  cat(headline(x), sep = "\n")
  if (!is.null(x$coefficients)) {
    cat("\nCoefficients:\n")
    print(format(x$coefficients, digits = digits), print.gap = 2L, quote = FALSE)
  }
  invisible(x)
}

coef.prevail <- function(object, complete = TRUE, ...) {
  need_coefficients(object)
  value <- object$coefficients
  if (complete) value else value[!is.na(value)]
}

vcov.prevail <- function(object, complete = TRUE, ...) {
  need_coefficients(object)
  if (is.null(object$covariance)) refuse(object$no_covariance)
  if (complete) return(object$covariance)
  keep <- !is.na(object$coefficients)
  object$covariance[keep, keep, drop = FALSE]
}

# The library's summary, in the order of the coefficients.
summary_rows <- function(fit, level) {
  need_coefficients(fit)
  check_level(level)
  said <- with_session(function(session) .Call(call_model_summary, session, model_handle(fit), level))
  rows <- as.data.frame(said[c("label", "term", "estimate", "sd", "lo", "hi", "odds_ratio", "odds_ratio_lo", "odds_ratio_hi", "z", "p_value",
    "df", "weighting", "linear", "linear_lo", "linear_hi")],
    stringsAsFactors = FALSE)
  of <- fit$terms_of
  at <- as.vector(outer(of$place, (seq_len(of$equations) - 1L) * length(of$terms), `+`))
  made <- rows[rep(NA_integer_, length(fit$coefficients)), ]
  made[at, ] <- rows
  made$term <- names(fit$coefficients)
  rownames(made) <- names(fit$coefficients)
  attr(made, "has_errors") <- said$has_errors
  attr(made, "has_tests") <- said$has_tests
  made
}

check_level <- function(level, name = "level") {
  if (!is.numeric(level) || length(level) != 1 || is.na(level) || level <= 0 || level >= 1) {
    refuse("`", name, "` must be between 0 and 1, such as 0.95")
  }
}

percents <- function(level) paste(format(100 * c((1 - level) / 2, 1 - (1 - level) / 2), trim = TRUE, digits = 3), "%")

confint.prevail <- function(object, parm, level = 0.95, type = c("wald", "profile"), ...) {
  type <- choose_one(type, c("wald", "profile"), "type")
  refuse_dots("confint", list(...), names(formals()))
  need_coefficients(object)
  terms <- names(object$coefficients)
  if (missing(parm)) parm <- terms
  if (is.character(parm)) {
    lost <- setdiff(parm, terms)
    if (length(lost)) refuse("`parm`: there is no coefficient ", lost[1], "; there are ", paste(terms, collapse = ", "))
  } else if (is.numeric(parm) && any(abs(parm) > length(terms))) {
    refuse("`parm`: there are ", length(terms), " coefficients")
  }
  parm <- stats::setNames(nm = terms)[parm]
  rows <- summary_rows(object, level)[parm, ]
  made <- if (type == "wald") cbind(rows$lo, rows$hi) else profile_intervals(object, rows, level)
  dimnames(made) <- list(rows$term, percents(level))
  made
}

odds_ratios <- function(object, level = 0.95) {
  if (!inherits(object, "prevail")) refuse("`object` is not a fit of prevail()")
  rows <- summary_rows(object, level)
  rows <- rows[!rows$term %in% threshold_terms(object), ]
  made <- data.frame(term = rows$term, odds_ratio = rows$odds_ratio, lower = rows$odds_ratio_lo, upper = rows$odds_ratio_hi,
    row.names = NULL)
  if (isTRUE(object$terms_of$equations > 1)) made <- cbind(made["term"], reference = object$labels[1], made[-1])
  made
}

threshold_terms <- function(fit) {
  of <- fit$terms_of
  if (of$equations == 1) of$heads else paste0(fit$labels[-1], ":", rep(of$heads, each = of$equations))
}

summary.prevail <- function(object, level = 0.95, ...) {
  refuse_dots("summary", list(...), names(formals()))
  made <- list(call = object$call, headline = headline(object), level = level, stop = object$stop, prevalence = object$prevalence,
    design = object$design, rows = object$rows, checks = diagnose(object), reference = reference_text(object))
  if (!is.null(object$coefficients)) {
    rows <- summary_rows(object, level)
    statistic <- if (any(is.finite(rows$df) & is.finite(rows$z))) "t" else "z"
    made$coefficients <- cbind(rows$estimate, rows$sd, na(rows$z), na(rows$p_value))
    colnames(made$coefficients) <- c("Estimate", "Std. Error", paste(statistic, "value"), paste0("Pr(>|", statistic, "|)"))
    made$odds_ratios <- cbind(rows$odds_ratio, rows$odds_ratio_lo, rows$odds_ratio_hi)
    dimnames(made$odds_ratios) <- list(rows$term, c("Odds ratio", percents(level)))
    made$units <- ifelse(is.na(rows$odds_ratio), 1, odds_unit(rows$estimate, rows$lo, rows$hi))
    made$odds_shown <- made$odds_ratios
    made$odds_shown[] <- ifelse(is.na(made$odds_ratios), NA, exp(made$units * cbind(rows$estimate, rows$lo, rows$hi)))
    rownames(made$coefficients) <- rows$term
    made$aliased <- stats::setNames(is.na(rows$estimate), rows$term)
    if (all(is.na(rows$sd))) made$no_errors <- object$no_covariance
  }
  structure(made, class = "summary.prevail")
}

print.summary.prevail <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  if (!is.null(x$call)) cat("Call:\n", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  cat(x$headline, sep = "\n")
  if (!is.null(x$coefficients)) {
    cat("\nCoefficients, and odds ratios with ", format(100 * x$level), " % intervals",
      if (!is.null(x$reference)) paste0(", against ", x$reference), ":\n", sep = "")
    shown <- cbind(x$coefficients[, 1:2, drop = FALSE], x$odds_shown, x$coefficients[, 3:4, drop = FALSE])
    p <- p_text(shown[, 7])
    shown[] <- each(shown, digits)
    shown[, 7] <- p
    if (all(p == "")) shown <- shown[, 1:5, drop = FALSE]
    if (any(x$units != 1)) {
      shown <- cbind(shown[, 1:5, drop = FALSE], units = ifelse(x$units == 1, "", format(x$units, scientific = TRUE)),
        shown[, -(1:5), drop = FALSE])
    }
    print(shown, quote = FALSE, right = TRUE)
    if (all(p == "")) cat("(tests are for fits without a prior: infer = \"ml\" or \"robust\")\n")
    if (!is.null(x$no_errors)) cat("(no standard errors: ", x$no_errors, ")\n", sep = "")
  }
  failed <- x$checks[!x$checks$ok, ]
  if (nrow(failed)) {
    cat("\nTo be looked at:\n")
    cat(paste0("- ", failed$text, ifelse(nzchar(failed$remedy), paste0(" ", failed$remedy), "")), sep = "\n")
  }
  invisible(x)
}

# How many units of its column an odds ratio is shown for: 1, or a power of ten if one unit is tiny or huge.
odds_unit <- function(estimate, lo, hi) {
  bounded <- is.finite(lo) & is.finite(hi)
  size <- ifelse(bounded, pmax(abs(lo), abs(hi)), abs(estimate))
  spread <- ifelse(bounded, (hi - lo) / 4, 0)
  usual <- !is.finite(size) | size == 0 | (size >= 5e-4 & pmax(abs(estimate), spread) <= 50)
  ifelse(usual, 1, 10^-round(log10(ifelse(usual, 1, size))))
}

na <- function(values) ifelse(is.nan(values), NA_real_, values)

# Formats each number with this many significant digits; NA becomes "".
each <- function(values, digits) {
  vapply(as.vector(values), function(value) if (is.na(value)) "" else format(signif(value, digits), digits = digits), "")
}

p_text <- function(p) ifelse(is.na(p), "", format.pval(p, digits = 2, eps = 1e-16))

diagnose <- function(object) {
  if (!inherits(object, "prevail")) refuse("`object` is not a fit of prevail()")
  found <- model_checks(object)
  data.frame(check = found$check, ok = found$ok, value = found$value, text = in_r(found$text), remedy = in_r(found$remedy))
}

nobs.prevail <- function(object, ...) object$rows
formula.prevail <- function(x, ...) x$formula
family.prevail <- function(object, ...) {
  if (length(object$labels) != 2) refuse("two labels have a family, and there are ", length(object$labels))
  stats::binomial()
}
weights.prevail <- function(object, ...) object$weights
df.residual.prevail <- function(object, ...) object$rows - sum(!is.na(coef(object)))

model.frame.prevail <- function(formula, ...) {
  if (!is.null(formula$model)) return(formula$model)
  if (isTRUE(formula$loaded)) refuse("a model that was read from a file has no data; give `newdata`")
  call <- formula$call
  call$formula <- formula$formula
  make_frame(call, environment(formula$formula), formula$options[["missing"]])$frame
}

model.matrix.prevail <- function(object, data = NULL, ...) {
  if (isTRUE(object$loaded)) refuse("a model that was read from a file has no formula, and so no model matrix")
  frame <- if (is.null(data)) model.frame.prevail(object) else new_frame(object, data)
  stats::model.matrix(stats::delete.response(object$terms), frame, contrasts.arg = object$contrasts, xlev = object$xlevels)
}

# Outcomes, their number, and risks: by default those of the design, from which the rows were sampled.
observed_rows <- function(object, population) {
  if (length(object$labels) != 2) refuse("residuals are for two labels, and there are ", length(object$labels))
  if (isTRUE(object$relative)) refuse("a fit to matched sets has no risks, and so no residuals")
  frame <- model.frame.prevail(object)
  response <- stats::model.response(frame)
  if (is.matrix(response)) {
    n <- rowSums(response)
    y <- ifelse(n > 0, response[, 1] / n, 0)
  } else {
    outcome <- make_outcome(response, "outcome", object$positive)
    y <- as.numeric(as.character(outcome$column) == object$positive)
    n <- rep(1, length(y))
  }
  weight <- stats::model.weights(frame)
  if (!is.null(weight)) n <- n * weight
  list(y = y, n = n, p = risk_matrix(object, NULL, population)$p[, 2], names = rownames(frame))
}

residuals.prevail <- function(object, type = c("deviance", "pearson", "response"), population = "design", ...) {
  type <- choose_one(type, c("deviance", "pearson", "response"), "type")
  refuse_dots("residuals", list(...), names(formals()))
  rows <- observed_rows(object, population)
  y <- rows$y
  p <- as.vector(rows$p)
  value <- switch(type,
    response = y - p,
    pearson = (y - p) * sqrt(rows$n) / sqrt(p * (1 - p)),
    deviance = {
      part <- function(a, b) ifelse(a > 0, a * log(a / b), 0)
      sign(y - p) * sqrt(pmax(0, 2 * rows$n * (part(y, p) + part(1 - y, 1 - p))))
    }
  )
  stats::naresid(object$na.action, stats::setNames(value, rows$names))
}

fitted.prevail <- function(object, population = "design", ...) {
  refuse_dots("fitted", list(...), names(formals()))
  predict.prevail(object, population = population)
}

deviance.prevail <- function(object, ...) sum(residuals.prevail(object, "deviance")^2, na.rm = TRUE)

logLik.prevail <- function(object, ...) {
  need_coefficients(object)
  if (fit_option(object, "infer") != "ml") {
    refuse("only a fit without a prior has a likelihood: use `infer=ml`")
  }
  if (object$loss == "iw") refuse("`loss=iw` has no likelihood; ig and plain have one")
  how <- fit_option(object, "weights_are")
  if (how == "sampling" || how == "auto" && !is.null(object$weights) && any(object$weights != round(object$weights))) {
    refuse("sampling weights have no likelihood; whole numbers, or `weights_are = \"counts\"`, are how often a row counts")
  }
  df <- sum(!is.na(object$coefficients))
  structure(-object$loss_value, df = df, nobs = object$rows, class = "logLik")
}

# Where the profile likelihood of a coefficient is a given amount below its maximum. The coefficient becomes an offset
# and the others are fitted again. rows: row indices in the summary.
profile_intervals <- function(object, rows, level) {
  top <- as.numeric(logLik(object))
  if (length(object$labels) != 2) refuse("type = \"profile\" is for two labels")
  data <- training_data(object)
  drop <- stats::qchisq(level, 1)
  one <- function(i) {
    name <- rows$term[i]
    if (is.na(rows$estimate[i]) || name == "(Intercept)" && object$loss != "plain") return(c(NA_real_, NA_real_))
    log_likelihood <- if (name == "(Intercept)") profile_of_intercept(data) else function(at) {
      part <- data
      part$x <- but(data$x, name)
      part$offset <- at * data$x[, name] + (data$offset %or% 0)
      -refit_loss(object, part)
    }
    below <- function(at) 2 * (top - log_likelihood(at)) - drop
    vapply(c(-1, 1), function(side) {
      step <- side * rows$sd[i] * sqrt(drop)
      far <- rows$estimate[i] + step
      for (k in 1:20) {
        if (below(far) > 0) break
        step <- 1.5 * step
        far <- far + step
        if (k == 20) return(side * Inf)
      }
      stats::uniroot(below, sort(c(rows$estimate[i], far)), tol = 1e-10 * (1 + abs(far)), maxiter = 200)$root
    }, 0)
  }
  t(vapply(seq_len(nrow(rows)), one, c(0, 0)))
}

# The library's models always have an intercept.
profile_of_intercept <- function(data) {
  counts <- data$outcome$counts
  n <- if (is.null(counts)) rep(1, nrow(data$x)) else rowSums(counts)
  y <- if (is.null(counts)) as.numeric(as.integer(data$outcome$column) == match(data$outcome$positive, data$outcome$labels)) else
    ifelse(n > 0, counts[, 1] / n, 0)
  if (!is.null(data$weights)) n <- n * data$weights
  x <- data$x[, -1, drop = FALSE]
  function(at) {
    offset <- at + (data$offset %or% 0)
    eta <- if (ncol(x) == 0) rep_len(offset, length(y)) else suppressWarnings(stats::glm.fit(x, y, n, offset = rep_len(offset, length(y)),
      family = stats::binomial(), control = list(epsilon = 1e-14, maxit = 100), intercept = FALSE))$linear.predictors
    sum(n * (y * stats::plogis(eta, log.p = TRUE) + (1 - y) * stats::plogis(-eta, log.p = TRUE)))
  }
}

# For step() and drop1(); only for fits without a prior.
extractAIC.prevail <- function(fit, scale = 0, k = 2, ...) {
  likelihood <- logLik(fit)
  c(attr(likelihood, "df"), -2 * as.numeric(likelihood) + k * attr(likelihood, "df"))
}

# Options that change the meaning of the likelihood, besides the formula.
likelihood_options <- c("marginal", "match", "weighting", "prevalence_n", "weights_are", "missing", "strata", "matched", "cluster",
  "subcohort", "prevalence_odds", "label_error")

# Differences between two fits that make their likelihoods incomparable; NULL: none.
other_likelihood <- function(a, b) {
  if (!identical(a$labels, b$labels)) return("outcomes")
  stated <- function(fit) if (!is.null(fit$options[["prevalence"]])) fit$prevalence
  if (!isTRUE(all.equal(stated(a), stated(b)))) {
    return(paste0("stated prevalences (", share_text(stated(a)), " and ", share_text(stated(b)), ")"))
  }
  for (name in likelihood_options) {
    values <- c(fit_option(a, name), fit_option(b, name))
    if (!identical(values[1], values[2])) return(paste0("values of `", name, "` (", paste(values, collapse = " and "), ")"))
  }
  if (!identical(a$tables, b$tables) || !identical(a$sampled, b$sampled)) return("statements about the population")
  other_data(model.frame.prevail(a), model.frame.prevail(b))
}

# The same for their training rows, which must be equal.
other_data <- function(a, b) {
  if (!identical(attr(a, "row.names"), attr(b, "row.names"))) return("rows")
  if (!identical(stats::model.response(a), stats::model.response(b))) return("outcomes")
  if (!identical(frame_offset(a), frame_offset(b))) return("offsets")
  extra <- function(frame) setdiff(grep("^\\(", names(frame), value = TRUE), offset_column) # weights and designs
  lost <- c(setdiff(extra(a), extra(b)), setdiff(extra(b), extra(a)))
  if (length(lost)) return(if ("(weights)" %in% lost) "weights" else "designs")
  for (name in intersect(names(a), names(b))) {
    if (!identical(a[[name]], b[[name]])) return(paste0("data: ", name, " is not the same in both"))
  }
  NULL
}

# Adds terms one by one, as for glm; for matched sets -2 log L is used instead of the deviance.
sequential_anova <- function(fit) {
  top <- logLik(fit)
  data <- training_data(fit)
  assign <- fit$assign[colnames(data$x)]
  labels <- attr(fit$terms, "term.labels")
  parts <- seq(0, length(labels))
  loss <- vapply(parts, function(last) {
    part <- data
    part$x <- data$x[, assign <= last, drop = FALSE]
    if (ncol(part$x) == ncol(data$x)) fit$loss_value else if (last == 0 && isTRUE(fit$relative)) loss_of_sets(fit, data) else
      refit_loss(fit, part)
  }, 0)
  used <- vapply(parts, function(last) sum(assign <= last), 0) * max(1, length(fit$labels) - 1)
  base <- if (isTRUE(fit$relative) || length(fit$labels) != 2) 2 * fit$loss_value else deviance(fit)
  rest <- base + 2 * (loss - fit$loss_value)
  step <- c(NA, diff(used))
  change <- c(NA, -diff(rest))
  made <- data.frame(Df = step, Deviance = change, `Resid. Df` = fit$rows - used, `Resid. Dev` = rest,
    `Pr(>Chi)` = ifelse(step > 0, stats::pchisq(change, step, lower.tail = FALSE), NA), check.names = FALSE, row.names = c("NULL", labels))
  structure(made, class = c("anova", "data.frame"), heading = paste0("Analysis of Deviance Table\n\nModel: ", fit$architecture,
    ", loss ", fit$loss, "\n\nResponse: ", column_name(fit$formula[[2]]), "\n\nTerms added sequentially (first to last)\n\n"))
}

# Matched sets of identical rows, any of which could be the cases.
loss_of_sets <- function(fit, data) {
  if (!is.null(data$offset) || !is.null(data$weights)) return(NA_real_)
  set <- data$columns[[match("matched", fit$design_terms$roles)]]
  cases <- tapply(as.integer(data$outcome$column) - 1, set, sum)
  sum(lchoose(tabulate(set, nlevels(set)), cases))
}

# The loss of the same fit with other columns or offsets.
refit_loss <- function(fit, data) {
  if (!is.null(data$offset)) fit$options$offset <- offset_column
  with_session(function(session) .Call(call_model_facts, session, learn(fit, data))$loss_value)
}

anova.prevail <- function(object, ..., test = "Chisq") {
  fits <- c(list(object), list(...))
  if (length(fits) < 2) return(sequential_anova(object))
  if (!all(vapply(fits, inherits, NA, "prevail"))) refuse("all must be fits of prevail()")
  rows <- vapply(fits, function(fit) fit$rows, 0)
  losses <- vapply(fits, function(fit) fit$loss, "")
  if (length(unique(rows)) > 1) refuse("the fits are not of the same rows: ", paste(rows, collapse = ", "))
  if (length(unique(losses)) > 1) refuse("the fits are not of the same loss: ", paste(losses, collapse = ", "))
  likelihoods <- lapply(fits, logLik)
  for (fit in fits[-1]) {
    differ <- other_likelihood(object, fit)
    if (!is.null(differ)) refuse("likelihoods can be compared only if only the columns differ, but these fits have different ", differ)
  }
  order <- order(vapply(likelihoods, attr, 0, "df"))
  likelihoods <- likelihoods[order]
  df <- vapply(likelihoods, attr, 0, "df")
  value <- vapply(likelihoods, as.numeric, 0)
  step <- c(NA, diff(df))
  chisq <- c(NA, 2 * diff(value))
  made <- data.frame(`#Df` = df, LogLik = value, Df = step, Chisq = chisq,
    `Pr(>Chisq)` = stats::pchisq(chisq, step, lower.tail = FALSE), check.names = FALSE)
  forms <- vapply(fits[order], function(fit) paste(deparse(fit$formula), collapse = " "), "")
  structure(made, heading = c("Likelihood ratio test\n", paste0("Model ", seq_along(forms), ": ", forms, collapse = "\n")),
    class = c("anova", "data.frame"))
}

simulate.prevail <- function(object, nsim = 1, seed = NULL, ...) {
  if (!is.null(seed)) set.seed(seed)
  if (!exists(".Random.seed", envir = globalenv())) stats::runif(1)
  state <- get(".Random.seed", envir = globalenv())
  if (isTRUE(object$relative)) refuse("a fit to matched sets has no risks to simulate from")
  frame <- model.frame.prevail(object)
  p <- risk_matrix(object, NULL, "design")$p
  response <- stats::model.response(frame)
  one <- function(i) {
    if (is.matrix(response)) {
      n <- rowSums(response)
      cases <- stats::rbinom(nrow(p), n, p[, 2])
      return(cbind(cases, n - cases))
    }
    u <- stats::runif(nrow(p))
    label <- object$labels[1L + rowSums(u > t(apply(p, 1, cumsum))[, -ncol(p), drop = FALSE])]
    as_response(label, response)
  }
  made <- stats::setNames(lapply(seq_len(nsim), one), paste0("sim_", seq_len(nsim)))
  made <- if (is.matrix(response)) structure(made, class = "data.frame", row.names = seq_len(nrow(p))) else as.data.frame(made)
  rownames(made) <- rownames(frame)
  structure(made, seed = state)
}

# Labels converted to the type of the outcome.
as_response <- function(label, like) {
  if (is.factor(like)) return(factor(label, levels = levels(like), ordered = is.ordered(like)))
  if (is.logical(like)) return(label == "TRUE")
  if (is.numeric(like)) return(as.numeric(label))
  label
}
