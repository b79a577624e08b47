# Methods for suggested packages: insight, marginaleffects, and a parsnip engine.

# ---- insight --------------------------------------------------------------------------------------------------------

get_statistic.prevail <- function(x, ...) {
  rows <- summary_rows(x, 0.95)
  structure(data.frame(Parameter = rows$term, Statistic = na(rows$z)), statistic = "z")
}

get_df.prevail <- function(x, type = "residual", ...) {
  switch(type, model = sum(!is.na(coef(x))), residual = df.residual(x), Inf)
}

get_loglikelihood.prevail <- function(x, ...) logLik(x)

get_predicted.prevail <- function(x, data = NULL, predict = "expectation", ci = NULL, ...) {
  type <- if (identical(predict, "link")) "link" else "response"
  made <- predict.prevail(x, data, type = type, se.fit = TRUE, interval = ci, ...)
  fit <- if (is.null(ci)) made$fit else made$fit[, "fit"]
  bounds <- data.frame(Row = seq_along(fit), SE = unname(made$se.fit))
  if (!is.null(ci)) bounds <- cbind(bounds, CI_low = unname(made$fit[, "lwr"]), CI_high = unname(made$fit[, "upr"]))
  structure(unname(fit), class = c("get_predicted", "numeric"), ci = ci, ci_data = bounds, data = data %or% model.frame.prevail(x),
    predict = predict)
}

# ---- marginaleffects: predictions at other coefficients ----------------------------------------------------------------

get_coef.prevail <- function(model, ...) coef(model, complete = FALSE)

set_coef.prevail <- function(model, coefs, ...) {
  need_coefficients(model)
  model$set_from <- model$set_from %or% model$coefficients
  model$coefficients[names(coefs)] <- coefs
  model
}

get_vcov.prevail <- function(model, vcov = NULL, ...) {
  if (is.matrix(vcov)) return(vcov)
  if (!is.null(vcov) && !is.logical(vcov)) refuse("`vcov` is TRUE or a matrix: that of the fit is chosen by `infer` and `errors` of prevail()")
  stats::vcov(model, complete = FALSE)
}

get_predict.prevail <- function(model, newdata, type = "response", ...) {
  type <- choose_one(type, c("response", "link", "probs"), "type")
  rowid <- newdata[["rowid"]] %or% seq_len(nrow(newdata))
  p <- moved_predictions(model, newdata, type, ...)
  if (!is.matrix(p)) return(data.frame(rowid = rowid, estimate = unname(p)))
  data.frame(rowid = rep(rowid, ncol(p)), group = factor(rep(colnames(p), each = nrow(p)), colnames(p)), estimate = as.vector(p))
}

# Predictions with log odds shifted by the change of the coefficients.
moved_predictions <- function(model, newdata, type, ...) {
  by <- if (is.null(model$set_from)) 0 else model$coefficients - model$set_from
  by[is.na(by)] <- 0
  if (all(by == 0)) return(predict.prevail(model, newdata, type = type, ...))
  if (fit_option(model, "model") == "ordinal") refuse("predictions at other coefficients are for linear models")
  x <- model.matrix.prevail(model, newdata)
  if (length(model$labels) == 2) x <- x[, names(by), drop = FALSE]
  shift <- x %*% matrix(by, ncol(x))
  if (length(model$labels) == 2) {
    link <- predict.prevail(model, newdata, type = "link", ...) + drop(shift)
    p <- stats::plogis(link)
    return(switch(type, link = link, response = p, cbind(1 - p, p, deparse.level = 0)))
  }
  if (type == "link") refuse("type = \"link\" is for two labels")
  p <- predict.prevail(model, newdata, type = "probs", ...) * exp(cbind(0, shift))
  p / rowSums(p)
}

# ---- parsnip: logistic_reg() and multinom_reg() with set_engine("prevail", prevalence = 0.01) ---------------------------------

register_engine <- function(parsnip) {
  for (model in c("logistic_reg", "multinom_reg")) {
    parsnip$set_model_engine(model, "classification", "prevail")
    parsnip$set_dependency(model, "prevail", "prevail")
    parsnip$set_fit(model = model, eng = "prevail", mode = "classification", value = list(
      interface = "formula", protect = c("formula", "data", "weights"), func = c(pkg = "prevail", fun = "prevail"), defaults = list()
    ))
    parsnip$set_encoding(model = model, eng = "prevail", mode = "classification", options = list(
      predictor_indicators = "traditional", compute_intercept = TRUE, remove_intercept = TRUE, allow_sparse_x = FALSE
    ))
    prediction <- function(kind, post, ...) {
      parsnip$set_pred(model = model, eng = "prevail", mode = "classification", type = kind, value = list(
        pre = NULL, post = post, func = c(fun = "predict"), args = list(object = quote(object$fit), newdata = quote(new_data), ...)
      ))
    }
    prediction("class", function(x, object) as.character(x), type = "class")
    prediction("prob", function(x, object) as_tibble(as.data.frame(x[, object$lvl, drop = FALSE])), type = "probs")
    prediction("raw", NULL, type = "response")
    if (model == "logistic_reg") {
      prediction("conf_int", engine_intervals, interval = quote(object$spec$method$pred$conf_int$extras$level))
    }
  }
}

# Bounds for both labels; the fit's positive label is the second column of the matrix.
engine_intervals <- function(x, object) {
  positive <- object$fit$positive
  made <- list()
  for (label in object$lvl) {
    bounds <- if (label == positive) x[, c("lwr", "upr"), drop = FALSE] else 1 - x[, c("upr", "lwr"), drop = FALSE]
    made[[paste0(".pred_lower_", label)]] <- unname(bounds[, 1])
    made[[paste0(".pred_upper_", label)]] <- unname(bounds[, 2])
  }
  as_tibble(as.data.frame(made, check.names = FALSE))
}

when_loaded <- function(package, work) {
  if (isNamespaceLoaded(package)) work()
  setHook(packageEvent(package, "onLoad"), function(...) work())
}

.onLoad <- function(libname, pkgname) {
  when_loaded("parsnip", function() {
    parsnip <- asNamespace("parsnip")
    if (!"prevail" %in% parsnip$show_engines("logistic_reg")$engine) register_engine(parsnip)
  })
  when_loaded("marginaleffects", function() {
    options(marginaleffects_model_classes = union(getOption("marginaleffects_model_classes"), "prevail"))
  })
}
