# Sets of labels and refer regions.

rows <- function(seed, n, m) {
  set.seed(seed)
  y <- rep(0:1, c(n, m))
  data.frame(y = y, p = plogis(rnorm(n + m, 4 * y - 2, 1.5)))
}

test_that("sets cover each label", {
  known <- rows(1, 2000, 800)
  other <- rows(2, 10000, 10000)
  found <- sets(known$p, known$y, coverage = c("0" = 0.8, "1" = 0.95), prevalence = "0.01-0.05")
  inside <- predict(found, other$p)
  expect_equal(colnames(inside), c("0", "1"))
  expect_equal(mean(inside[other$y == 0, "0"]), 0.8, tolerance = 0.04)
  expect_equal(mean(inside[other$y == 1, "1"]), 0.95, tolerance = 0.04)
  expect_identical(inside[, "1"], other$p >= found$labels[["1"]]$threshold)
  expect_output(print(found), "Expected in the population \\(1-5 % 1\\)")
})

test_that("the order of the labels does not matter", {
  known <- rows(3, 500, 300)
  named <- ifelse(known$y == 1, "ill", "well")
  a <- sets(cbind(ill = known$p, well = 1 - known$p), named, positive = "ill", refer = c(ill = 0.3, well = 0.05), prevalence = 0.3)
  b <- sets(known$p, known$y, refer = c("1" = 0.3, "0" = 0.05), prevalence = 0.3)
  expect_equal(unname(predict(a, cbind(ill = known$p, well = 1 - known$p))[, "ill"]), unname(predict(b, known$p)[, "1"]))
  called <- predict(b, known$p, type = "call")
  expect_equal(as.character(predict(a, cbind(ill = known$p, well = 1 - known$p), type = "call")), c("well", "ill")[as.integer(called)])
  expect_true(anyNA(called))
})

test_that("counts and groups are taken for what they are", {
  known <- rows(5, 100, 100)
  count <- seq_len(200) %% 3 + 1
  twice <- known[rep(seq_len(200), count), ]
  expect_equal(sets(known$p, known$y, weights = count)$labels, sets(twice$p, twice$y)$labels)
  expect_equal(sets(twice$p, twice$y, group = rep(seq_len(200), count))$labels, sets(known$p, known$y)$labels)
})

test_that("what cannot be used is refused", {
  few <- rows(6, 30, 8)
  expect_error(sets(few$p, few$y), "label '1' has 8 calibration rows, and a coverage of 0.9 takes at least 9", class = "prevail_input_error")
  expect_error(sets(few$p, few$y, coverage = 0.8, refer = 0.1), "needs `prevalence`", class = "prevail_input_error")
  expect_error(sets(few$p, few$y, coverage = c("2" = 0.8)), "no label 2", class = "prevail_input_error")
  expect_error(sets(few$p), "`y` is missing", class = "prevail_input_error")
  expect_error(predict(sets(few$p, few$y, coverage = 0.8), few$p, type = "call"), "needs `refer`", class = "prevail_input_error")
  expect_error(predict(sets(few$p, few$y, coverage = 0.8), c(0.1, NA)), "missing values", class = "prevail_input_error")
})
