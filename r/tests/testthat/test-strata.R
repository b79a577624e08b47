# Strata that rows were sampled in: columns of the model, unless the formula leaves them out.

cohort <- function() {
  made <- survival::nwtco
  made$stage <- factor(made$stage)
  made
}
sampled <- function(all) {
  set.seed(2)
  all[all$rel == 1 | stats::runif(nrow(all)) < 0.15, ]
}

test_that("a stratum is a column of the model", {
  skip_if_not_installed("survival")
  all <- cohort()
  d <- sampled(all)
  counts <- table(instit = all$instit, rel = all$rel)
  fit <- prevail(rel ~ histol + stage, d, strata = instit, phase_one = counts)
  named <- prevail(rel ~ histol + stage + factor(instit), d, strata = instit, phase_one = counts)
  expect_identical(coef(fit), coef(named))
  expect_equal(formula(fit), formula(named), ignore_attr = TRUE)
  expect_output(print(fit), "strata: instit (in the model)", fixed = TRUE)
  for (without in list(prevail(rel ~ histol + stage - instit, d, strata = instit, phase_one = counts), update(fit, . ~ . - factor(instit)))) {
    expect_named(coef(without), c("(Intercept)", "histol", "stage2", "stage3", "stage4"))
    expect_output(print(without), "strata: instit (not in the model)", fixed = TRUE)
    expect_length(coef(update(without, . ~ . - stage)), 2)
  }
  expect_named(coef(update(fit, . ~ . - stage)), c("(Intercept)", "histol", "factor(instit)2"))
  every <- prevail(rel ~ ., d[c("rel", "histol", "instit")], strata = instit, phase_one = counts)
  expect_named(coef(every), c("(Intercept)", "histol", "instit"))
})

test_that("drop1 takes a stratum out", {
  skip_if_not_installed("survival")
  all <- cohort()
  d <- sampled(all)
  fit <- prevail(rel ~ histol, d, strata = instit, phase_one = table(instit = all$instit, rel = all$rel), infer = "ml")
  expect_identical(rownames(drop1(fit)), c("<none>", "histol", "factor(instit)"))
  expect_identical(drop1(fit)$Df, c(NA, 1, 1))
})

test_that("counts are a table, or a data frame of one, and messages name the argument", {
  skip_if_not_installed("survival")
  all <- cohort()
  d <- sampled(all)
  fit_with <- function(counts) prevail(rel ~ histol, d, strata = instit, phase_one = counts)
  counts <- table(instit = all$instit, rel = all$rel)
  fit <- fit_with(counts)
  expect_identical(coef(fit_with(as.data.frame(counts))), coef(fit))
  expect_identical(coef(fit_with(stats::xtabs(~ instit + rel, all))), coef(fit))
  expect_identical(fit_with(all[c("instit", "rel")])$bytes, fit$bytes)
  wrong <- as.data.frame(counts)
  wrong$Freq[3] <- -1
  expect_input_error(fit_with(wrong), "^phase_one, row 3: ")
  expect_input_error(fit_with(table(all$instit, all$rel)), "^phase_one: has no column 'instit'")
  by <- data.frame(instit = 1:2, prevalence = c(0.1, 0.2), share = c(0.8, 0.1))
  expect_input_error(prevail(rel ~ histol, d, strata = instit, prevalence_by = by), "^prevalence_by: the shares add up to 0.9")
  expect_no_match(fit$record, tempdir(), fixed = TRUE)
  expect_s3_class(cv(fit, folds = 2), "prevail_cv")
})
