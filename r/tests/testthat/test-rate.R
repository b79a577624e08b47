# Rates by imperfect verdicts.

sample <- data.frame(judge = rep(c("right", "wrong"), c(730, 270)), stringsAsFactors = TRUE)
gold <- data.frame(judge = rep(c("right", "wrong", "right", "wrong"), c(80, 20, 10, 90)), truth = rep(c("right", "wrong"), each = 100))

test_that("gold rows by label give Rogan and Gladen's estimate", {
  found <- rate(sample, gold, verdict = "judge", outcome = "truth", gold_by = "label", positive = "wrong", width = 0.1)
  expect_equal(found$value, 0.1, tolerance = 1e-6)
  expect_true(found$lo < 0.1 && found$hi > 0.1)
  expect_equal(found$sensitivity$value, 0.9)
  expect_named(found$width$more, c("right", "wrong"))
  expect_output(print(found), "gold rows drawn by label")
  expect_equal(as.data.frame(found)$value, c(0.9, 0.1), tolerance = 1e-6)
  expect_equal(rate(sample, verdict = "judge", positive = "wrong", sensitivity = c(90, 100), specificity = 0.8)$value, 0.1, tolerance = 1e-5)
})

test_that("gold rows by verdict may be rows of the sample", {
  rows <- data.frame(v = rep(c(0, 0, 0, 1), 250), y = NA_real_)
  rows$y[1:200] <- rows$v[1:200]
  rows$y[1] <- 1
  found <- rate(rows, verdict = "v", outcome = "y", gold_by = "verdict")
  expect_equal(found$value, 0.75 / 150 + 0.25)
})

test_that("what cannot be used is refused", {
  expect_error(rate(sample, gold, verdict = "judge", outcome = "truth"), "depends on how the gold rows were drawn", class = "prevail_input_error")
  expect_error(rate(1:3, verdict = "judge"), "data frame", class = "prevail_input_error")
  expect_error(rate(sample, gold, verdict = "jude", outcome = "truth", gold_by = "label"), "jude", class = "prevail_input_error")
  sample$judge[5] <- NA
  expect_error(rate(sample, gold, verdict = "judge", outcome = "truth", gold_by = "label"), "row 5", class = "prevail_input_error")
})

test_that("verdicts that tell nothing give [0, 1] and a warning", {
  gold$judge <- rep(c("right", "wrong"), 100)
  sample <- data.frame(judge = rep(c("right", "wrong"), 500))
  expect_warning(found <- rate(sample, gold, verdict = "judge", outcome = "truth", gold_by = "label"), "carry no information")
  expect_equal(c(found$lo, found$hi), c(0, 1))
})
