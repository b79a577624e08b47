# Methods used by sandwich estimators and regression diagnostics. They are defined for maximum likelihood without a
# prevalence, for which results agree with glm. For other fits, use vcov(), which is valid whatever the shape of the
# risk.

# Columns with coefficients, and each row's weight in the information matrix.
likelihood_parts <- function(fit, what) {
  if (fit_option(fit, "infer") != "ml" || fit$loss != "plain" || length(fit$labels) != 2 || is.null(fit$coefficients)) {
    refuse("`", what, "` is for maximum likelihood of two labels: loss = \"plain\", infer = \"ml\"; vcov() of this fit is ",
      "already a sandwich where a prevalence is stated, and `errors = \"hc0\"` or `cluster` choose which")
  }
  rows <- observed_rows(fit, "design")
  x <- model.matrix.prevail(fit)[, !is.na(fit$coefficients), drop = FALSE]
  list(x = x, rows = rows, information = rows$n * rows$p * (1 - rows$p))
}

estfun.prevail <- function(x, ...) {
  of <- likelihood_parts(x, "estfun")
  made <- of$x * (of$rows$n * (of$rows$y - of$rows$p))
  attributes(made)[c("assign", "contrasts")] <- NULL
  stats::naresid(x$na.action, made)
}

bread.prevail <- function(x, ...) {
  of <- likelihood_parts(x, "bread")
  root <- chol(crossprod(of$x * sqrt(of$information)))
  made <- chol2inv(root) * sum(of$rows$n > 0)
  dimnames(made) <- list(colnames(of$x), colnames(of$x))
  made
}

hatvalues.prevail <- function(model, ...) {
  of <- likelihood_parts(model, "hatvalues")
  made <- rowSums(qr.Q(qr(of$x * sqrt(of$information)))^2)
  made <- stats::naresid(model$na.action, stats::setNames(made, of$rows$names))
  replace(made, is.na(made), 0)
}

cooks.distance.prevail <- function(model, ...) {
  hat <- hatvalues.prevail(model)
  (residuals.prevail(model, "pearson") / (1 - hat))^2 * hat / sum(!is.na(model$coefficients))
}
