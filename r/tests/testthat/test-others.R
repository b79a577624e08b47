# Suggested packages. R CMD check hides them; tests/r/run.sh runs this file again with them.

test_that("prior correction is relogit's", {
  skip_if_not_installed("Zelig")
  d <- study(400)
  theirs <- suppressWarnings(suppressMessages(
    Zelig::zelig(case ~ age + dose, data = d, model = "relogit", tau = 0.01, bias.correct = FALSE, case.control = "prior", cite = FALSE)
  ))
  ours <- prevail(case ~ age + dose, d, prevalence = 0.01, infer = "ml", match = "none")
  expect_equal(unname(coef(ours)), unname(theirs$get_coef()[[1]]), tolerance = 1e-6)
})

test_that("curves are pictures of ggplot2", {
  skip_if_not_installed("ggplot2")
  ev <- evaluate(prevail(case ~ age + smoker, study(200), prevalence = 0.05))
  for (kind in c("roc", "calibration", "net_benefit")) expect_s3_class(ggplot2::autoplot(ev, kind), "ggplot")
})

test_that("marginal means are the risks of their rows", {
  skip_if_not_installed("emmeans")
  d <- study(200)
  fit <- prevail(case ~ age + smoker, d, prevalence = 0.05, infer = "ml") # emmeans has the risks at the coefficients; with few rows predict() averages
  means <- as.data.frame(emmeans::emmeans(fit, "smoker", type = "response"))
  grid <- data.frame(age = mean(d$age), smoker = levels(d$smoker))
  expect_equal(means$risk, unname(predict(fit, grid)), tolerance = 1e-6)
})

test_that("marginal means are those of glm, with offsets too", {
  skip_if_not_installed("emmeans")
  d <- study(300)
  d$time <- 5 + d$dose
  for (formula in list(case ~ age * smoker, case ~ age + smoker + offset(log(time)))) {
    ours <- prevail(formula, d, loss = "plain", infer = "ml")
    theirs <- glm(formula, binomial, d, epsilon = 1e-14)
    columns <- c("emmean", "SE", "asymp.LCL", "asymp.UCL")
    for (of in c("smoker", "age")) {
      at <- list(age = c(50, 70))
      expect_equal(as.data.frame(emmeans::emmeans(ours, of, at = at))[columns], as.data.frame(emmeans::emmeans(theirs, of, at = at))[columns],
        tolerance = 1e-5, ignore_attr = TRUE)
    }
    pairs <- function(fit) as.data.frame(graphics::pairs(emmeans::emmeans(fit, "smoker")))[c("estimate", "SE", "p.value")]
    expect_equal(pairs(ours), pairs(theirs), tolerance = 1e-4, ignore_attr = TRUE)
  }
})

test_that("contrasts of matched sets are clogit's", {
  skip_if_not_installed("emmeans")
  suppressPackageStartupMessages(library("survival", character.only = TRUE))
  rows <- transform(infert, spontaneous = factor(spontaneous))
  ours <- prevail(case ~ spontaneous + induced, rows, matched = stratum, infer = "ml")
  theirs <- clogit(case ~ spontaneous + induced + strata(stratum), rows)
  pairs <- as.data.frame(graphics::pairs(emmeans::emmeans(ours, "spontaneous")))
  expect_equal(pairs$estimate, unname(c(-coef(theirs)[1:2], coef(theirs)[1] - coef(theirs)[2])), tolerance = 1e-5)
})

test_that("broom's tables have rows for coefficients and rows", {
  skip_if_not_installed("broom")
  fit <- prevail(case ~ age + smoker, study(200), prevalence = 0.05)
  expect_equal(broom::tidy(fit)$estimate, unname(coef(fit)))
  expect_equal(nrow(broom::glance(fit)), 1)
  expect_equal(nrow(broom::augment(fit)), 200)
})

test_that("sandwich has for a fit what it has for glm", {
  skip_if_not_installed("sandwich")
  d <- study(300)
  d$town <- rep(1:60, 5)
  d$twice <- 2 * d$age
  ours <- prevail(case ~ age + twice + dose, d, infer = "ml", tolerance = 1e-13)
  theirs <- glm(case ~ age + dose, binomial, d)
  theirs <- update(theirs, start = coef(theirs), epsilon = 1e-14)
  expect_equal(sandwich::estfun(ours), sandwich::estfun(theirs), tolerance = 1e-8)
  expect_equal(sandwich::bread(ours), sandwich::bread(theirs), tolerance = 1e-8)
  for (type in c("HC0", "HC2", "HC3")) expect_equal(sandwich::vcovHC(ours, type = type), sandwich::vcovHC(theirs, type = type), tolerance = 1e-8)
  expect_equal(sandwich::vcovCL(ours, cluster = ~town), sandwich::vcovCL(theirs, cluster = ~town), tolerance = 1e-8)
  expect_input_error(sandwich::sandwich(prevail(case ~ age, d, prevalence = 0.02)), "already a sandwich")
})

test_that("insight finds what it finds in glm", {
  skip_if_not_installed("insight")
  d <- study(300)
  ours <- prevail(case ~ age * smoker, d, infer = "ml", tolerance = 1e-13)
  theirs <- glm(case ~ age * smoker, binomial, d, epsilon = 1e-14)
  for (of in c("find_formula", "find_predictors", "find_response", "find_parameters", "get_parameters", "get_varcov", "get_data", "n_obs",
    "get_statistic", "get_loglikelihood", "get_residuals", "link_function")) {
    fun <- getExportedValue("insight", of)
    expect_equal(fun(ours), fun(theirs), tolerance = 1e-6, ignore_attr = TRUE)
  }
  expect_true(insight::model_info(ours)$is_logit)
  said <- insight::get_predicted(ours, data = d[1:5, ], ci = 0.9)
  expect_equal(as.numeric(said), unname(predict(theirs, d[1:5, ], type = "response")), tolerance = 1e-6)
  expect_equal(attr(said, "ci_data")$CI_low, unname(predict(ours, d[1:5, ], interval = 0.9)[, "lwr"]))
})

# The average prediction and its standard error by the delta method, as in marginaleffects, with numerical derivatives.
averaged <- function(fit, data, ...) {
  beta <- prevail:::get_coef.prevail(fit)
  mean_at <- function(beta) mean(prevail:::get_predict.prevail(prevail:::set_coef.prevail(fit, beta), data, ...)$estimate)
  slope <- vapply(seq_along(beta), function(j) {
    h <- 1e-5 * max(1, abs(beta[[j]]))
    (mean_at(replace(beta, j, beta[[j]] + h)) - mean_at(replace(beta, j, beta[[j]] - h))) / (2 * h)
  }, 0)
  c(mean_at(beta), sqrt(drop(slope %*% prevail:::get_vcov.prevail(fit) %*% slope)))
}

test_that("predictions at other coefficients are glm's", {
  d <- study(300)
  d$twice <- 2 * d$age
  fit <- prevail(case ~ age + twice + smoker, d, infer = "ml", tolerance = 1e-13)
  theirs <- glm(case ~ age + smoker, binomial, d, epsilon = 1e-14)
  p <- fitted(theirs)
  slope <- colMeans(p * (1 - p) * model.matrix(theirs))
  expect_equal(averaged(fit, d), c(mean(p), sqrt(drop(slope %*% vcov(fit, complete = FALSE) %*% slope))), tolerance = 1e-6)
  moved <- prevail:::set_coef.prevail(prevail(case ~ age, d, prevalence = 0.02), c(age = 0.1))
  expect_equal(coef(moved)[["age"]], 0.1)
  expect_equal(prevail:::get_predict.prevail(moved, d)$estimate, unname(plogis(drop(model.matrix(moved) %*% coef(moved)))), tolerance = 1e-8)
  labels <- prevail(Species ~ Sepal.Width, iris, infer = "ml")
  expect_equal(prevail:::get_predict.prevail(labels, iris)$estimate, as.vector(predict(labels, iris)))
  by <- prevail:::set_coef.prevail(labels, coef(labels) + 0.1)
  eta <- model.matrix(labels) %*% matrix(coef(by), 2)
  expect_equal(prevail:::get_predict.prevail(by, iris)$estimate, as.vector(exp(cbind(0, eta)) / (1 + rowSums(exp(eta)))), tolerance = 1e-6)
  skip_if_not_installed("marginaleffects")
  found <- marginaleffects::avg_predictions(fit)
  expect_equal(c(found$estimate, found$std.error), averaged(fit, d), tolerance = 1e-4)
})

# What parsnip does with an engine: stores the specification and builds the calls of fit and predict.
told <- function() {
  kept <- list()
  keep <- function(what) function(...) kept[[what]] <<- c(kept[[what]], list(list(...)))
  prevail:::register_engine(lapply(stats::setNames(nm = c("set_model_engine", "set_dependency", "set_fit", "set_encoding", "set_pred")), keep))
  kept
}

test_that("the engine fits and predicts as parsnip calls it", {
  kept <- told()
  expect_identical(vapply(kept$set_fit, `[[`, "", "model"), c("logistic_reg", "multinom_reg"))
  d <- study(300)
  d$level <- factor(ifelse(d$case == 1, "case", "control")) # parsnip's event is the first level
  value <- kept$set_fit[[1]]$value
  call <- as.call(c(list(call("::", as.name(value$func[["pkg"]]), as.name(value$func[["fun"]]))), list(formula = level ~ age + dose, data = quote(d)),
    value$defaults, list(prevalence = 0.02)))
  object <- list(fit = eval(call), lvl = levels(d$level), spec = list(method = list(pred = list(conf_int = list(extras = list(level = 0.9))))))
  new_data <- d[1:7, ]
  said <- list()
  for (one in kept$set_pred[vapply(kept$set_pred, `[[`, "", "model") == "logistic_reg"]) {
    made <- eval(as.call(c(list(as.name(one$value$func[["fun"]])), one$value$args)))
    said[[one$type]] <- if (is.null(one$value$post)) made else one$value$post(made, object)
  }
  p <- predict(object$fit, new_data)
  expect_identical(names(said$prob), levels(d$level))
  expect_identical(said$prob$case, unname(p))
  expect_identical(said$class, unname(ifelse(p > 0.5, "case", "control")))
  expect_identical(said$raw, p)
  bounds <- predict(object$fit, new_data, interval = 0.9)
  expect_identical(said$conf_int[[".pred_lower_case"]], unname(bounds[, "lwr"]))
  expect_equal(said$conf_int[[".pred_upper_control"]], unname(1 - bounds[, "lwr"]))
  expect_named(said$conf_int, c(".pred_lower_case", ".pred_upper_case", ".pred_lower_control", ".pred_upper_control"))
  skip_if_not_installed("parsnip")
  fit <- parsnip::fit(parsnip::set_engine(parsnip::logistic_reg(), "prevail", prevalence = 0.02), level ~ age + dose, d)
  expect_equal(predict(fit, new_data, type = "prob")$.pred_case, unname(p))
  expect_equal(predict(fit, new_data, type = "conf_int", level = 0.9)$.pred_lower_case, unname(bounds[, "lwr"]))
})
