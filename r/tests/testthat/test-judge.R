test_that("probabilities move by the odds of the prevalence", {
  p <- c(0.2, 0.5, 0.9)
  expect_equal(adjust(p, 0.5, 0.01), plogis(qlogis(p) + qlogis(0.01)))
  expect_equal(adjust(adjust(p, 0.5, 0.01), 0.01, 0.5), p)
  wide <- cbind(a = c(0.2, 0.5), b = c(0.3, 0.4), c = c(0.5, 0.1))
  from <- c(a = 1, b = 1, c = 1) / 3
  to <- c(a = 0.7, b = 0.2, c = 0.1)
  expected <- wide * rep(to / from, each = 2)
  expect_equal(adjust(wide, from, to), expected / rowSums(expected))
  expect_input_error(adjust(c(0.2, NA), 0.5, 0.1), "row 2")
  expect_input_error(adjust(c(0.2, 1.2), 0.5, 0.1), "")
  expect_input_error(adjust(p, 0.5), "`to`")
  expect_equal(adjust(p, 0.5, "known:0.01"), adjust(p, 0.5, 0.01))
  expect_equal(sum(adjust(p, 0.5, "counts:2,1")), 1)
  expect_input_error(adjust(p, 0.5, "counts:2"), "one whole number")
})

test_that("a prevalence is inferred", {
  set.seed(1)
  ill <- runif(4000) < 0.1
  p <- plogis(2 * rnorm(4000, 2 * ill) - 2)
  found <- infer_prevalence(p, from = 0.5, level = 0.99)
  expect_true(found$lo[["1"]] < 0.1 && 0.1 < found$hi[["1"]])
  expect_output(print(found), "99 % interval")
  held <- infer_prevalence(p[1:2000], from = 0.5, level = 0.99, reference = list(ill[2001:4000] + 0, p[2001:4000]))
  expect_true(held$hi[["1"]] - held$lo[["1"]] > found$hi[["1"]] - found$lo[["1"]])
  known <- infer_prevalence(p, from = 0.5, known = ifelse(seq_along(ill) <= 1000, ill + 0, NA))
  expect_lt(known$sd[["1"]], found$sd[["1"]])
})

test_that("decisions have the least cost", {
  costs <- rbind(wait = c(`0` = 0, `1` = 20), examine = c(1, 1))
  made <- decide(c(0.01, 0.2), costs)
  expect_identical(as.character(made$action), c("wait", "examine"))
  expect_equal(made$cost, c(0.2, 1))
  expect_identical(as.character(decide(c(0.01, 0.7))), c("0", "1"))
  expect_input_error(decide(0.1, rbind(wait = c(a = 0, b = 1))), "costs")
})

test_that("an evaluation is weighted to the population", {
  d <- study()
  fit <- prevail(case ~ age + dose, d, prevalence = 0.01)
  ev <- evaluate(fit)
  same <- evaluate(d$case, predict(fit), prevalence = 0.01)
  expect_equal(ev$metrics[c("auc", "nell", "brier"), "value"], same$metrics[c("auc", "nell", "brier"), "value"])
  p <- predict(fit)
  weight <- ifelse(d$case == 1, 0.01, 0.99) / 0.5
  nell <- -weighted.mean(log(ifelse(d$case == 1, p, 1 - p)), weight)
  expect_equal(ev$metrics["nell", "value"], nell, tolerance = 1e-9)
  expect_equal(ev$metrics["auc", "value"], mean(outer(p[d$case == 1], p[d$case == 0], ">")), tolerance = 1e-9)
  expect_true(ev$metrics["auc", "lower"] < ev$metrics["auc", "value"])
  expect_output(print(ev), "reported for a prevalence of 0.01")
  curve <- net_benefit(ev)
  i <- which.min(abs(curve$threshold - 0.01))
  t <- curve$threshold[i]
  own <- sum(weight * (d$case == 1) * (p >= t)) / nrow(d) - sum(weight * (d$case == 0) * (p >= t)) / nrow(d) * t / (1 - t)
  expect_equal(curve$net_benefit[i], own, tolerance = 1e-9)
  expect_input_error(curve_data(ev, "rock"), "roc")
  expect_gt(nrow(curve_data(ev, "calibration", bins = 4)), 1)
  path <- tempfile()
  saveRDS(ev, path)
  expect_identical(curve_data(readRDS(path), "roc"), curve_data(ev, "roc"))
})

test_that("a page is written", {
  d <- study(200)
  page <- report(prevail(case ~ age, d, prevalence = 0.05), view = FALSE)
  expect_match(paste(readLines(page, warn = FALSE), collapse = "\n"), "Population explorer")
  shown <- NULL
  withr_viewer <- options(viewer = function(page) shown <<- page)
  on.exit(options(withr_viewer))
  report(d$case, p = plogis(d$dose - 1), view = TRUE)
  expect_true(file.exists(shown))
})

test_that("net benefit at given thresholds", {
  y <- c(0, 0, 1, 0, 1, 1)
  p <- c(0.1, 0.2, 0.3, 0.6, 0.7, 0.9)
  curve <- net_benefit(y, p, thresholds = c(0.25, 0.5, 0.6, 0.95))
  own <- vapply(curve$threshold, function(t) mean(y == 1 & p >= t) - mean(y == 0 & p >= t) * t / (1 - t), 0)
  expect_equal(curve$net_benefit, own, tolerance = 1e-12)
  expect_equal(curve$threshold, c(0.25, 0.5, 0.6, 0.95))
  ev <- evaluate(y, p, bootstrap = 0)
  expect_equal(net_benefit(ev, thresholds = 0.5)$net_benefit, own[2], tolerance = 1e-12)
  expect_input_error(net_benefit(ev, thresholds = 50), "between 0 and 1")
  expect_input_error(net_benefit(ev, threshold_s = 0.5), "threshold_s")
})

test_that("cv is ours for our fits, whichever package comes last", {
  skip_if_not_installed("survey")
  fit <- prevail(case ~ age + parity, infert, prevalence = 0.1, threads = 1)
  expect_s3_class(survey::cv(fit, folds = 2), "prevail_cv")
  design <- survey::svydesign(~1, weights = ~w, data = data.frame(x = 1:9, w = 2))
  expect_equal(as.numeric(cv(survey::svymean(~x, design))), as.numeric(survey::cv(survey::svymean(~x, design))))
})

test_that("cross-validation and sweeps", {
  d <- study(300)
  fit <- prevail(case ~ age + dose, d, prevalence = 0.05)
  found <- cv(fit, folds = 3)
  expect_lt(found$metrics["auc", "value"], evaluate(fit)$metrics["auc", "value"] + 0.02)
  expect_setequal(found$fold, 1:3)
  expect_equal(dim(found$predicted), c(300L, 2L))
  one <- d[found$fold != 1, ]
  refit <- prevail(case ~ age + dose, one, prevalence = 0.05)
  expect_equal(unname(predict(refit, d[found$fold == 1, ])), unname(found$predicted[found$fold == 1, "1"]), tolerance = 1e-6)
  narrow <- cv(fit, folds = 3, level = 0.5)
  width <- function(found) found$metrics["auc", "upper"] - found$metrics["auc", "lower"]
  expect_lt(width(narrow), 0.6 * width(found))
  expect_output(print(narrow), "50 % interval")
  table <- sweep_prevalence(fit, prevalence = c(0.1, 0.01), losses = c("ig", "plain"))
  expect_equal(nrow(table), 4)
  expect_false("sweep" %in% getNamespaceExports("prevail"))
})
