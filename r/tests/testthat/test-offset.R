# Cases were observed for longer, so the log odds include log(time) with coefficient 1.
timed <- function(n = 500) {
  d <- study(n, seed = 4)
  d$time <- exp(stats::rnorm(n, 3 + 0.5 * d$case, sqrt(0.5)))
  d
}

test_that("offsets are glm's, in the formula and as an argument", {
  d <- timed()
  theirs <- glm(case ~ age + smoker + offset(log(time)), binomial, d, epsilon = 1e-14)
  for (ours in list(
    prevail(case ~ age + smoker + offset(log(time)), d, loss = "plain", infer = "ml"),
    prevail(case ~ age + smoker, d, offset = log(time), loss = "plain", infer = "ml"),
    prevail(case ~ age + smoker + offset(log(time) / 4), d, offset = 0.75 * log(time), loss = "plain", infer = "ml")
  )) {
    expect_equal(coef(ours), coef(theirs), tolerance = 1e-6)
    expect_equal(vcov(ours), vcov(theirs), tolerance = 1e-6)
    expect_equal(as.numeric(logLik(ours)), as.numeric(logLik(theirs)), tolerance = 1e-9)
    expect_equal(residuals(ours), residuals(theirs), tolerance = 1e-6)
    expect_equal(predict(ours, type = "link"), predict(theirs), tolerance = 1e-6)
    expect_equal(predict(ours, d[7:20, ]), predict(theirs, d[7:20, ], type = "response"), tolerance = 1e-6)
  }
})

test_that("a stated prevalence moves the intercept alone", {
  d <- timed()
  ours <- prevail(case ~ age + dose + offset(log(time)), d, prevalence = 0.01, infer = "ml", match = "none")
  theirs <- glm(case ~ age + dose + offset(log(time)), binomial, d)
  expect_equal(coef(ours), coef(theirs) + c(qlogis(0.01) - qlogis(mean(d$case)), 0, 0), tolerance = 1e-6)
  moved <- plogis(predict(theirs) + qlogis(0.2) - qlogis(mean(d$case)))
  expect_equal(predict(ours, d, population = 0.2), moved, tolerance = 1e-6)
})

test_that("sampling weights with an offset are svyglm's", {
  skip_if_not_installed("survey")
  d <- timed(300)
  d$w <- 0.5 + d$dose
  design <- survey::svydesign(~1, weights = ~w, data = d)
  theirs <- survey::svyglm(case ~ age + offset(log(time)), design, family = stats::quasibinomial(), epsilon = 1e-14)
  ours <- suppressWarnings(prevail(case ~ age + offset(log(time)), d, weights = w, weights_are = "sampling", loss = "plain", infer = "ml", errors = "hc0"))
  expect_equal(coef(ours), coef(theirs), tolerance = 1e-6)
  expect_equal(unname(sqrt(diag(vcov(ours)))), unname(survey::SE(theirs)), tolerance = 1e-5)
})

test_that("every way to use a fit has the offset", {
  d <- timed()
  fit <- prevail(case ~ age + dose, d, offset = log(time), prevalence = 0.02, infer = "laplace", draws = 200)
  p <- predict(fit, d, interval = 0.9)
  expect_equal(p[, "fit"], predict(fit))
  later <- transform(d, time = 10 * time)
  expect_true(all(predict(fit, later) > predict(fit, d)))
  d$time[3] <- NA
  expect_true(is.na(predict(fit, d)[[3]]))
  expect_input_error(predict(fit, d[c("age", "dose")]), "time")
  expect_input_error(predict(prevail(case ~ age, d, offset = rep(1, 500), prevalence = 0.1), d[1:3, ]), "500 values for 3 rows")
  expect_s3_class(cv(fit), "prevail_evaluation")
  expect_gt(evaluate(fit, timed())$metrics["auc", "value"], 0.5)
  file <- tempfile(fileext = ".model")
  save_model(fit, file)
  expect_true("(offset)" %in% names(read_model(file)$columns))
  expect_length(simulate(fit, 2, seed = 1), 2)
  sampled <- suppressWarnings(prevail(case ~ age + dose + offset(log(time)), timed(), population_sample = timed(300)))
  expect_false(anyNA(predict(sampled)))
})

test_that("what offsets cannot be is refused", {
  d <- timed()
  expect_input_error(prevail(smoker ~ age + offset(log(time)), d), "3 labels have 2")
  expect_input_error(prevail(case ~ age + offset(log(time)), d, model = "mlp:3", prevalence = 0.1), "additive and ordinal")
  small <- prevail(case ~ age, d, loss = "plain", infer = "ml")
  large <- prevail(case ~ age + dose + offset(log(time)), d, loss = "plain", infer = "ml")
  expect_input_error(anova(small, large), "different offsets")
})
