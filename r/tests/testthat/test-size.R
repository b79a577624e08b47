# Sample sizes.

test_that("the criteria of Riley et al. are reproduced", {
  expect_warning(found <- sample_size(0.174, r2 = 0.288, parameters = 24, ratio = "population"), "calibration slope")
  expect_equal(as.data.frame(found)$rows, c(623, 662, 221))
  expect_equal(found$design$rows, 662)
  expect_equal(found$design$binding, "optimism")
  expect_output(print(found), "Riley")
})

test_that("a given design says what it will tell", {
  found <- sample_size(c(0.01, 0.03), auc = 0.8, parameters = 12, threshold = 0.1, cases = 150, ratio = 3)
  expect_equal(c(found$design$cases, found$design$controls), c(150, 450))
  expect_equal(found$prevalence$lo, 0.01, tolerance = 1e-4)
  expect_null(found$curve)
})

test_that("the power is that of the two by two table", {
  found <- sample_size(0.001, odds_ratio = 2, exposure = 0.3, cases = 150, ratio = 2)
  exposed <- 0.3 * 2 / (0.7 + 0.3 * 2)
  expect_equal(found$figures$odds_ratio$error, sqrt(1 / (150 * exposed * (1 - exposed)) + 1 / (300 * 0.3 * 0.7)))
})

test_that("a pilot is assumed as it is", {
  pilot <- data.frame(x = c(qnorm(ppoints(200)), qnorm(ppoints(200), 1.19)), y = factor(rep(c("well", "ill"), each = 200)))
  found <- sample_size(0.05, pilot = pilot, score = "x", outcome = "y", positive = "ill", parameters = 10)
  expect_equal(found$model$auc, 0.8, tolerance = 0.01)
})

test_that("what cannot be used is refused", {
  expect_error(sample_size(0.02, auc = 0.8, parameters = 12, ppv_width = 0.1), "has no effect", class = "prevail_input_error")
  expect_error(sample_size(0.02, pilot = 1:3, score = "x"), "data frame", class = "prevail_input_error")
  expect_error(sample_size(0.02, auc = 0.8), "nothing is wanted", class = "prevail_input_error")
  expect_error(sample_size(0.02, pilot = data.frame(x = 1:3), score = "x", parameters = 3), "`outcome` is missing", class = "prevail_input_error")
  pilot <- data.frame(x = c(1, NA), y = 0:1)
  expect_error(sample_size(0.02, pilot = pilot, score = "x", outcome = "y", parameters = 3), "row 2", class = "prevail_input_error")
})
