# Effects in the population.

counts <- data.frame(y = c(1, 1, 0, 0), e = c(1, 0, 1, 0), n = c(60, 40, 30, 70))

test_that("a table of four cells gives Bayes' rule", {
  found <- population_effect(counts, "y", "e", prevalence = 0.05, weights = "n", infer = "ml", errors = "hc0")
  with <- 0.05 * 0.6 / (0.05 * 0.6 + 0.95 * 0.3)
  without <- 0.05 * 0.4 / (0.05 * 0.4 + 0.95 * 0.7)
  effect <- found$effects[[1]]
  expect_equal(effect$risk_to$value, with, tolerance = 1e-6)
  expect_equal(effect$ratio$value, with / without, tolerance = 1e-6)
  expect_equal(effect$attributable$value, 1 - without / 0.05, tolerance = 1e-6)
  expect_equal(1 / effect$number_needed$value, with - without, tolerance = 1e-6)
  expect_output(print(found), "risk difference")
  expect_equal(nrow(as.data.frame(found)), 7)
})

test_that("a case-control sample of a cohort agrees with the cohort", {
  skip_if_not_installed("survival")
  cohort <- get(utils::data("nwtco", package = "survival", envir = environment()))
  cohort <- data.frame(rel = cohort$rel, histol = factor(cohort$histol), stage = factor(cohort$stage), age = cohort$age / 12)
  full <- stats::glm(rel ~ histol + stage + age, stats::binomial, cohort)
  at <- function(level) mean(stats::predict(full, transform(cohort, histol = factor(level, levels(cohort$histol))), "response"))
  set.seed(1)
  kept <- c(which(cohort$rel == 1), sample(which(cohort$rel == 0), 1000))
  found <- population_effect(cohort[kept, ], "rel", "histol", prevalence = mean(cohort$rel), by = "stage")
  difference <- found$effects[[1]]$difference
  expect_equal(difference$value, at("2") - at("1"), tolerance = 0.06)
  expect_true(difference$lo < at("2") - at("1") && difference$hi > at("2") - at("1"))
  expect_length(found$effects, 5)
  expect_equal(sum(vapply(found$effects[-1], function(e) e$share, 0)), 1)
})

test_that("strata have a data frame of prevalences", {
  set.seed(2)
  rows <- data.frame(y = rep(0:1, each = 200), s = rep(c("a", "b"), 200), e = stats::rbinom(400, 1, rep(c(0.3, 0.5), each = 200)))
  known <- data.frame(s = c("a", "b"), prevalence = c(0.01, 0.03), share = c(0.7, 0.3))
  found <- population_effect(rows, "y", "e", strata = "s", prevalence_by = known, by = "s")
  expect_equal(found$prevalence, 0.016)
  expect_equal(found$effects[[2]]$share, 0.7)
})

test_that("what cannot be estimated is refused", {
  expect_error(population_effect(counts, "y", "f", prevalence = 0.05, weights = "n"), "f", class = "prevail_input_error")
  expect_error(population_effect(counts, "y", "e", weights = "n"), "prevalence", class = "prevail_input_error")
  expect_error(population_effect(counts, "y", "e", prevalence = 0.05, weights = "n", to = "7"), "7|values", class = "prevail_input_error")
  expect_error(population_effect(counts, "y", "e", prevalence = 0.05, weight = "n"), "weight", class = "prevail_input_error")
  expect_error(population_effect(counts, "y", "e", prevalence = 0.05, at = 5), "names", class = "prevail_input_error")
  expect_error(population_effect(1:3, "y", "e"), "data frame", class = "prevail_input_error")
})
