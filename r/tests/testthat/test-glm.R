# Conventions of glm(), and its results.

fine <- function(...) eval.parent(substitute(prevail(..., infer = "ml", tolerance = 1e-13)))

# glm's covariance is that of the step before the last, one step further from the maximum.
exact <- function(...) {
  fit <- eval.parent(substitute(glm(..., family = binomial)))
  fit$call$start <- coef(fit)
  fit$call$epsilon <- 1e-14
  eval.parent(fit$call)
}

test_that("the table of a summary is glm's", {
  d <- study()
  ours <- fine(case ~ age + dose + smoker, d)
  theirs <- exact(case ~ age + dose + smoker, data = d)
  expect_equal(coef(summary(ours)), coef(summary(theirs)), tolerance = 1e-8)
  expect_equal(vcov(ours), vcov(theirs), tolerance = 1e-8)
  for (infer in c("map", "robust", "laplace")) {
    table <- coef(summary(prevail(case ~ age, d, prevalence = 0.02, infer = infer)))
    of <- if (infer == "robust") "t" else "z" # Student's t, as of glm's quasi families
    expect_identical(colnames(table), c("Estimate", "Std. Error", paste(of, "value"), paste0("Pr(>|", of, "|)")))
    expect_identical(anyNA(table), infer != "robust")
  }
})

test_that("standard errors of predictions are glm's, and agree with the intervals", {
  d <- study()
  ours <- fine(case ~ age + dose + smoker, d)
  theirs <- exact(case ~ age + dose + smoker, data = d)
  for (type in c("link", "response")) {
    expect_equal(predict(ours, d, type = type, se.fit = TRUE), predict(theirs, d, type = type, se.fit = TRUE), tolerance = 1e-8)
  }
  for (infer in c("map", "ml", "robust", "laplace", "hmc")) {
    fit <- suppressWarnings(prevail(case ~ age + dose, d, prevalence = 0.05, infer = infer))
    said <- predict(fit, d[1:9, ], type = "link", se.fit = TRUE, interval = "confidence")
    x <- model.matrix(fit)[1:9, ]
    expect_equal(unname(said$se.fit), unname(sqrt(diag(x %*% vcov(fit) %*% t(x)))), tolerance = 1e-8)
    expect_equal(said$fit, predict(fit, d[1:9, ], type = "link", interval = 0.95))
    expect_equal(predict(fit, d[1:9, ], interval = TRUE, level = 0.8), predict(fit, d[1:9, ], interval = 0.8))
    if (!is.na(fit$risk_df)) expect_equal((said$fit[, "upr"] - said$fit[, "lwr"]) / (2 * said$se.fit), rep(qt(0.975, fit$risk_df), 9), tolerance = 1e-8, ignore_attr = TRUE)
  }
  labels <- prevail(Species ~ Sepal.Width, iris, infer = "ml")
  expect_identical(dim(predict(labels, iris, se.fit = TRUE)$se.fit), c(150L, 3L))
  expect_input_error(predict(fit, d, population = "unknown", se.fit = TRUE), "`interval`")
  expect_input_error(predict(fit, d, interval = "prediction"), "confidence")
})

test_that("types of predictions have the names that others give them", {
  d <- study()
  fit <- prevail(case ~ age + dose, d, prevalence = 0.3)
  expect_identical(predict(fit, d, type = "lp"), predict(fit, d, type = "link"))
  both <- predict(fit, d, type = "prob")
  expect_identical(both[, "1"], predict(fit, d))
  expect_identical(colnames(both), c("0", "1"))
  expect_identical(predict(fit, d, type = "class") == "1", unname(predict(fit, d) > 0.5))
})

test_that("an intercept alone", {
  d <- study()
  ours <- fine(dose > 1 ~ 1, d)
  expect_equal(coef(summary(ours)), coef(summary(exact(dose > 1 ~ 1, data = d))), tolerance = 1e-8)
  timed <- fine(dose > 1 ~ offset(age / 40), d)
  theirs <- exact(dose > 1 ~ offset(age / 40), data = d)
  expect_equal(coef(timed), coef(theirs), tolerance = 1e-8)
  path <- tempfile()
  save_model(timed, path)
  expect_equal(unname(predict(read_model(path), data.frame(`(offset)` = d$age / 40, check.names = FALSE))), unname(fitted(theirs)), tolerance = 1e-8)
  for (infer in c("map", "ml", "robust", "laplace")) {
    fit <- prevail(case ~ 1, d, prevalence = 0.02, infer = infer)
    expect_equal(unname(predict(fit, d[1:2, ], interval = 0.95)), matrix(0.02, 2, 3), tolerance = 1e-7)
  }
  expect_identical(coef(prevail(case ~ one, transform(d, one = 1), prevalence = 0.02))[["one"]], NA_real_)
  expect_s3_class(cv(fit, folds = 2), "prevail_cv")
})

test_that("columns that others determine have the coefficient NA", {
  d <- study()
  d$both <- 2 * d$age - d$dose
  ours <- fine(case ~ age + dose + both + smoker, d)
  theirs <- glm(case ~ age + dose + both + smoker, binomial, d)
  expect_equal(coef(ours), coef(theirs), tolerance = 1e-6)
  expect_equal(vcov(ours), vcov(theirs), tolerance = 1e-4)
  expect_equal(vcov(ours, complete = FALSE), vcov(exact(case ~ age + dose + smoker, data = d)), tolerance = 1e-8)
  expect_output(print(ours), "1 not defined because of singularities", fixed = TRUE)
  fit <- prevail(case ~ age + dose + both, d, prevalence = 0.02)
  expect_true(is.na(coef(fit)[["both"]]))
  expect_equal(predict(fit, d), predict(prevail(case ~ age + dose, d, prevalence = 0.02), d))
  expect_s3_class(cv(fit, folds = 2), "prevail_cv")
  expect_false(anyNA(predict(update(fit, infer = "laplace"), d, interval = 0.9)))
  d$rare <- as.numeric(seq_len(nrow(d)) == 577) # which few rows do not show
  expect_identical(prevail:::aliased_columns(model.matrix(~ age + rare + I(age - rare), d), list()), "I(age - rare)")
})

test_that("one fit has an analysis of deviance", {
  d <- study()
  ours <- fine(case ~ age * smoker + dose, d)
  theirs <- exact(case ~ age * smoker + dose, data = d)
  expect_equal(as.matrix(as.data.frame(anova(ours))), as.matrix(as.data.frame(anova(theirs, test = "Chisq"))), tolerance = 1e-8)
  expect_output(print(anova(ours)), "added sequentially")
  stated <- anova(prevail(case ~ age * smoker + dose, d, prevalence = 0.02, infer = "ml"))
  expect_equal(stated$Deviance, anova(theirs)$Deviance, tolerance = 1e-6)
  expect_input_error(anova(prevail(case ~ age, d, prevalence = 0.02)), "infer = \"ml\"")
  skip_if_not_installed("survival")
  suppressPackageStartupMessages(library("survival", character.only = TRUE))
  sets <- anova(fine(case ~ spontaneous + induced, infert, matched = stratum))
  one <- clogit(case ~ spontaneous + strata(stratum), infert)
  both <- clogit(case ~ spontaneous + induced + strata(stratum), infert)
  expect_equal(sets$Deviance[-1], 2 * diff(c(one$loglik, both$loglik[2])), tolerance = 1e-8)
})

test_that("intervals by the profile of the likelihood", {
  d <- study(300)
  ours <- fine(case ~ age + dose, d, weights = rep(1:2, 150))
  theirs <- exact(case ~ age + dose, data = d, weights = rep(1:2, 150))
  x <- model.matrix(theirs)
  deviance_at <- function(j, at) glm.fit(x[, -j], d$case, rep(1:2, 150), offset = at * x[, j], family = binomial(),
    control = list(epsilon = 1e-15, maxit = 100), intercept = FALSE)$deviance
  found <- confint(ours, type = "profile")
  for (j in 1:3) for (side in 1:2) expect_equal(deviance_at(j, found[j, side]) - deviance(theirs), qchisq(0.95, 1), tolerance = 1e-8)
  expect_identical(dimnames(found), dimnames(suppressMessages(confint(theirs))))
  stated <- update(ours, prevalence = 0.02)
  expect_equal(confint(stated, "dose", type = "profile"), found["dose", , drop = FALSE], tolerance = 1e-6)
  expect_true(all(is.na(confint(stated, 1, type = "profile")))) # the prevalence holds it
  expect_input_error(confint(update(stated, infer = "map"), type = "profile"), "infer = \"ml\"")
})

test_that("fitted values and residuals are of one population", {
  d <- study()
  rownames(d) <- paste0("p", seq_len(nrow(d)))
  fit <- prevail(case ~ age + dose, d, prevalence = 0.02)
  for (where in list("design", "true", 0.1)) {
    sum <- fitted(fit, population = where) + residuals(fit, "response", population = where)
    expect_equal(sum, stats::setNames(d$case, rownames(d)))
  }
  expect_equal(mean(fitted(fit)), 0.5, tolerance = 0.05)
  expect_identical(fitted(fit, population = "true"), predict(fit))
  plain <- fine(case ~ age + dose, d)
  expect_equal(fitted(plain), fitted(exact(case ~ age + dose, data = d)), tolerance = 1e-8)
})

test_that("leverages and distances are glm's", {
  d <- study()
  d$age[5] <- NA
  ours <- fine(case ~ age + dose, d, na.action = na.exclude, weights = rep(1:2, 300))
  theirs <- exact(case ~ age + dose, data = d, na.action = na.exclude, weights = rep(1:2, 300))
  expect_equal(hatvalues(ours), hatvalues(theirs), tolerance = 1e-8)
  expect_equal(cooks.distance(ours), cooks.distance(theirs), tolerance = 1e-8)
  expect_input_error(hatvalues(prevail(case ~ age, d, prevalence = 0.02)), "maximum likelihood")
})

test_that("sampling weights have no likelihood", {
  d <- study()
  fit <- prevail(case ~ age, d, weights = dose, infer = "ml")
  expect_input_error(logLik(fit), "sampling weights")
  expect_s3_class(logLik(update(fit, weights = rep(1:2, 300))), "logLik")
})
