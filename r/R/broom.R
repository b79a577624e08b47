# Methods for generics of other packages: tidy, glance and augment from generics (re-exported by broom), and emmeans.

tidy.prevail <- function(x, conf.int = FALSE, conf.level = 0.95, exponentiate = FALSE, ...) {
  rows <- summary_rows(x, conf.level)
  made <- data.frame(term = rows$term, estimate = rows$estimate, std.error = na(rows$sd), statistic = na(rows$z), p.value = na(rows$p_value))
  if (length(x$labels) > 2 && !isTRUE(x$terms_of$equations == 1)) made <- cbind(y.level = rows$label, made)
  if (conf.int) {
    made$conf.low <- rows$lo
    made$conf.high <- rows$hi
  }
  if (exponentiate) {
    change <- intersect(c("estimate", "conf.low", "conf.high"), names(made))
    made[change] <- lapply(made[change], exp)
  }
  as_tibble(made)
}

glance.prevail <- function(x, ...) {
  prevalence <- if (length(x$labels) == 2 && !is.null(x$prevalence)) x$prevalence[[2]] else NA_real_
  design <- if (length(x$labels) == 2) x$design[[2]] else NA_real_
  likelihood <- tryCatch(logLik(x), prevail_error = function(e) NULL)
  made <- data.frame(
    nobs = x$rows, prevalence = prevalence, design = design, loss = x$loss, infer = fit_option(x, "infer"), stop = x$stop,
    logLik = if (is.null(likelihood)) NA_real_ else as.numeric(likelihood),
    AIC = if (is.null(likelihood)) NA_real_ else stats::AIC(likelihood),
    BIC = if (is.null(likelihood)) NA_real_ else stats::BIC(likelihood)
  )
  as_tibble(made)
}

augment.prevail <- function(x, data = NULL, newdata = NULL, interval = NULL, ...) {
  frame <- newdata %or% data %or% model.frame.prevail(x)
  rows <- if (is.null(newdata) && is.null(data)) NULL else frame
  said <- predict.prevail(x, rows, interval = interval, ...)
  made <- as.data.frame(frame)
  if (is.null(rows)) said <- if (is.matrix(said)) said[rownames(frame), , drop = FALSE] else said[rownames(frame)]
  if (is.matrix(said) && identical(colnames(said), c("fit", "lwr", "upr"))) {
    made$.fitted <- unname(said[, "fit"])
    made$.lower <- unname(said[, "lwr"])
    made$.upper <- unname(said[, "upr"])
  } else if (is.matrix(said)) {
    for (label in colnames(said)) made[[paste0(".fitted_", label)]] <- unname(said[, label])
  } else {
    made$.fitted <- unname(as.vector(said))
  }
  as_tibble(made)
}

as_tibble <- function(data) if (requireNamespace("tibble", quietly = TRUE)) tibble::as_tibble(data) else data

# emmeans: marginal means on the scale of the linear predictor; type = "response" gives risks in the population.
recover_data.prevail <- function(object, ...) {
  if (isTRUE(object$loaded)) refuse("a model that was read from a file has no data")
  emmeans::recover_data(object$call, stats::delete.response(object$terms), object$na.action, frame = object$model, ...)
}

emm_basis.prevail <- function(object, trms, xlev, grid, ...) {
  need_coefficients(object)
  if (length(object$labels) != 2) refuse("emmeans is for two labels here")
  frame <- stats::model.frame(trms, grid, na.action = stats::na.pass, xlev = xlev)
  x <- stats::model.matrix(trms, frame, contrasts.arg = object$contrasts)
  beta <- coef(object)
  x <- x[, names(beta), drop = FALSE] # matched sets have no intercept
  covariance <- vcov(object)
  covariance[is.na(covariance)] <- 0
  keep <- !is.na(beta)
  misc <- list(tran = "logit", inv.lbl = "risk", estName = "emmean", infMethod = "asymp")
  list(X = x[, keep, drop = FALSE], bhat = unname(beta[keep]), nbasis = matrix(NA), V = covariance[keep, keep, drop = FALSE],
    dffun = function(k, dfargs) Inf, dfargs = list(), misc = misc)
}
