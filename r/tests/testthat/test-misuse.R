test_that("mistakes are told with their remedy", {
  d <- study(100)
  expect_input_error(prevail(case ~ age, d, prevalence = 5), "is it 0.05")
  expect_input_error(prevail(case ~ age, d, prevalence = 0), "between 0 and 1")
  expect_input_error(prevail(case ~ age, d, prevalence = c(0.1, 0.9)), "labels")
  expect_input_error(prevail(case ~ age, d, prevalence = c(ill = 0.1)), "no label ill")
  expect_input_error(prevail(case ~ age, d, prevalence = 0.1, prevalnce_n = 3), "prevalence_n")
  expect_input_error(prevail(case ~ age, d, prevalence = 0.1, loss = "igg"), "ig")
  expect_input_error(prevail(case ~ age, d, prevalence = 0.1, target = "case"), "left side")
  expect_input_error(prevail(case ~ age, d, prevalence = 0.1, terms = "log(age)"), "formula")
  expect_input_error(prevail(~age, d, prevalence = 0.1), "left side")
  expect_input_error(prevail(case ~ age - 1, d, prevalence = 0.1), "intercept")
  expect_input_error(prevail(case ~ age + strata(smoker), d, prevalence = 0.1), "matched")
  expect_input_error(prevail(I(case + 1 > 0) ~ age, d, prevalence = 0.1), "")
  expect_input_error(prevail(I(case + 1) ~ age, d, prevalence = 0.1), "which label has it, 1 or 2")
  expect_equal(coef(prevail(I(case + 1) ~ age, d, prevalence = 0.1, positive = 2)), coef(prevail(case ~ age, d, prevalence = 0.1)))
  expect_input_error(evaluate(d$case + 1, rep(c(0.2, 0.3), 50)), "positive = 2")
  expect_input_error(prevail(age ~ dose, d, prevalence = 0.1), "values")
  expect_input_error(prevail(case ~ age, d, prevalence = 0.1, loss = "ig", positive = "ill"), "no label")
  expect_input_error(prevail(case ~ age, d, prevalence = 0.1, model = "convnet"), "")
  expect_input_error(prevail(case ~ age, d, loss = "ig"), "prevalence")
  expect_error(prevail(case ~ nothing, d, prevalence = 0.1), "nothing")
  expect_error(prevail(case ~ age, d, prevalence = 0.1, threads = -1), class = "prevail_error")
})

test_that("predictions refuse what they cannot do", {
  d <- study(100)
  fit <- prevail(case ~ age + smoker, d, prevalence = 0.1)
  p <- predict(fit, d, interval = 0.9)
  expect_true(all(p[, "lwr"] < p[, "fit"] & p[, "fit"] < p[, "upr"]))
  expect_input_error(predict(fit, d, population = "counts:50,50", interval = 0.9), "posterior")
  network <- prevail(case ~ age + smoker, d, prevalence = 0.1, model = "mlp:2", prior = "normal:1")
  expect_input_error(predict(network, d, interval = 0.9), "posterior")
  expect_input_error(predict(fit, d, interval = 90), "between 0 and 1")
  expect_input_error(predict(fit, d, population = 3), "between 0 and 1")
  expect_input_error(predict(fit, d, levels = 0.9), "levels")
  expect_input_error(predict(fit, d["age"]), "smoker")
  expect_input_error(predict(fit, data.frame(age = 60, smoker = "never")), "never")
  expect_input_error(evaluate(fit, transform(d, case = 2)), "not one of 0, 1")
  expect_input_error(evaluate(c(0, 1, 1), c(0.1, 0.2)), "rows")
})

test_that("a condition knows its kind", {
  d <- study(100)
  found <- tryCatch(prevail(case ~ age, d, prevalence = 5), prevail_error = identity)
  expect_s3_class(found, "prevail_input_error")
  expect_identical(found$status, "usage")
  d$age[7] <- Inf
  found <- tryCatch(prevail(case ~ age, d, prevalence = 0.1), prevail_error = identity)
  expect_s3_class(found, "prevail_input_error")
  expect_identical(found$row, 7L)
  separated <- data.frame(y = rep(0:1, each = 20), x = c(1:20, 31:50))
  expect_warning(prevail(y ~ x, separated, prevalence = 0.1), class = "prevail_warning")
})

test_that("every option of the library's is an argument, or has something in its place", {
  table <- .Call(prevail:::call_options)$name
  known <- prevail_options()$name
  expect_true(all(c("loss", "infer", "prior", "prevalence_n", "weights_are", "seed") %in% known))
  expect_setequal(c(gsub("_", "-", known), setdiff(names(prevail:::instead), c("population-sample", "target"))), table)
  d <- study(100)
  for (name in names(prevail:::instead)) {
    given <- stats::setNames(list("x"), gsub("-", "_", name))
    if (name %in% c("population-sample", "na")) next # an argument; R takes it for the beginning of na.action
    expect_input_error(do.call(prevail, c(list(case ~ age, d, prevalence = 0.1), given)), "not an argument here")
  }
})
