# What users of glm() try first.

births <- function() {
  made <- MASS::birthwt
  made$race <- factor(made$race, labels = c("white", "black", "other"))
  made$ptd <- made$ptl > 0
  made
}

test_that("type = \"terms\" of other rows is glm's", {
  skip_if_not_installed("MASS")
  d <- births()
  form <- low ~ splines::ns(age, 3) + lwt + race * smoke + ptd
  ours <- prevail(form, d, infer = "ml")
  theirs <- glm(form, binomial, d, control = list(epsilon = 1e-14)) # whose errors are of the step before the last
  rows <- d[c(3, 50, 150), c("age", "lwt", "race", "smoke", "ptd")]
  rows$lwt[2] <- NA
  for (new in list(d, rows, rows[1, ])) {
    expect_equal(predict(ours, new, type = "terms"), predict(theirs, new, type = "terms"), tolerance = 1e-5)
    errors <- predict(theirs, new, type = "terms", se.fit = TRUE)
    expect_equal(predict(ours, new, type = "terms", se.fit = TRUE), errors, tolerance = 1e-5)
  }
  expect_equal(predict(ours, type = "terms", se.fit = TRUE), predict(theirs, type = "terms", se.fit = TRUE), tolerance = 1e-5)
  expect_equal(predict(ours, rows, type = "terms", terms = "lwt"), predict(theirs, rows, type = "terms", terms = "lwt"), tolerance = 1e-5)
  expect_input_error(predict(ours, rows, type = "terms", terms = "lwtt"), "there are .*lwt")
  expect_equal(model.matrix(ours, rows[-2, ]), model.matrix(delete.response(terms(theirs)), rows[-2, ], xlev = theirs$xlevels),
    ignore_attr = TRUE)
})

test_that("arguments that there are not are refused, with those that are meant", {
  d <- study(100)
  fit <- prevail(case ~ age + smoker, d, prevalence = 0.1)
  expect_input_error(evaluate(fit, prevalence = 0.3), "the argument is `population`")
  expect_input_error(evaluate(fit, banana = 3), "no argument banana$")
  expect_input_error(evaluate(d$case, p = predict(fit), population = 0.3), "`prevalence`")
  expect_input_error(cv(fit, prevalence = 0.3), "`population`")
  expect_input_error(sweep_prevalence(fit, prevalence = 0.1, fold = 3, banana = 2), "banana")
  expect_input_error(summary(fit, levle = 0.9), "did you mean level")
  expect_input_error(confint(fit, levle = 0.9), "did you mean level")
  expect_input_error(residuals(fit, tpye = "pearson"), "did you mean type")
  expect_input_error(infer_prevalence(predict(fit), 0.1, mehtod = "em"), "did you mean method")
  expect_input_error(report(evaluate(fit), banana = 3), "banana")
  expect_input_error(predict(fit, d, prevalence = 0.2), "`population`")
  expect_input_error(predict(fit, d, level = 0.2), "`interval`")
  expect_input_error(predict(fit, d, unseen = "rare"), "has not seen")
  expect_input_error(predict(fit, d, type = "class", se.fit = TRUE), "leave out `se.fit`")
  expect_input_error(predict(fit, d, type = "odds"), "\"response\"")
  expect_identical(predict(fit, d, type = "response"), predict(fit, d))
  expect_input_error(residuals(fit, "working"), "\"pearson\"")
  expect_input_error(confint(fit, "agee"), "no coefficient agee; there are .Intercept., age")
  expect_input_error(confint(fit, 9), "4 coefficients")
  expect_identical(confint(fit, "age"), confint(fit)["age", , drop = FALSE])
})

test_that("rows that were left out are told of", {
  d <- study(100)
  d$age[3:9] <- NA
  fit <- prevail(case ~ age, d, prevalence = 0.1)
  expect_output(print(fit), "(7 observations deleted due to missingness)", fixed = TRUE)
  expect_output(print(summary(fit)), "(7 observations deleted due to missingness)", fixed = TRUE)
  expect_false(any(grepl("deleted", capture.output(print(prevail(case ~ dose, d, prevalence = 0.1))))))
})

test_that("rows that hardly tell their prevalence are warned of", {
  d <- study(100)
  fit <- prevail(case ~ age, d, prevalence = 0.1)
  expect_warning(predict(fit, d[1:4, ], population = "unknown"), "hardly determine", class = "prevail_warning")
  expect_warning(predict(fit, d[1:4, ], population = "unknown", type = "decision"), "hardly determine", class = "prevail_warning")
  expect_warning(evaluate(fit, d[1:4, ], population = "unknown"), "hardly determine", class = "prevail_warning")
  expect_warning(adjust(c(0.4, 0.5), 0.5, "unknown"), "hardly determine", class = "prevail_warning")
})

test_that("the estimate in use and Hausman's test are printed", {
  set.seed(1)
  d <- data.frame(x = rnorm(4000))
  d$y <- as.integer(runif(4000) < plogis(-4 + 0.5 * exp(d$x)))
  d <- d[d$y == 1 | runif(4000) < 0.3, ]
  fit_with <- function(...) suppressWarnings(prevail(y ~ x, d, prevalence = 0.05, ...), "prevail_warning")
  fit <- fit_with()
  expect_output(print(fit), "combined: the weighted estimate \\(loss iw\\) contributes 0.98 of the slopes; intervals do not .* Hausman's test p = ")
  expect_output(print(summary(fit_with(weighting = "0"))), "estimate: efficient")
  expect_output(print(fit_with(infer = "robust")), "estimate: weighted")
  expect_no_match(capture.output(print(prevail(y ~ x, d, infer = "ml"))), "Hausman")
})

test_that("levels of a factor are labels in their order", {
  d <- study(300)
  set.seed(2)
  d$grade <- factor(sample(c("none", "mild", "bad"), 300, TRUE), levels = c("none", "mild", "bad"))
  fit <- prevail(grade ~ age + dose, d, infer = "ml")
  expect_identical(fit$labels, levels(d$grade))
  expect_identical(colnames(predict(fit, d[1:3, ])), levels(d$grade))
  expect_named(coef(fit), paste0(rep(c("mild:", "bad:"), each = 3), c("(Intercept)", "age", "dose")))
  expect_identical(unique(odds_ratios(fit)$reference), "none")
  expect_output(print(summary(fit)), "against grade = none")
  mild <- update(fit, data = transform(d, grade = relevel(grade, "mild")))
  expect_equal(coef(mild)[["bad:age"]], coef(fit)[["bad:age"]] - coef(fit)[["mild:age"]], tolerance = 1e-5)
  expect_identical(dim(cv(fit)$predicted), c(300L, 3L))
  x <- model.matrix(fit) # a multinomial maximum: what was seen and what is expected have the same sums
  expect_equal(crossprod(x, predict(fit)), crossprod(x, model.matrix(~ 0 + d$grade)), tolerance = 1e-4, ignore_attr = TRUE)
})

test_that("messages speak of what was written", {
  skip_if_not_installed("MASS")
  d <- births()
  expect_warning(prevail(low ~ age + I(2 * age), d, prevalence = 0.07, collinear = "warn"), "leave it out with `- I\\(2 \\* age\\)` in the formula$")
  expect_warning(prevail(low ~ age + I(ifelse(ptd, 2, 0)) + ptd, d, prevalence = 0.07, collinear = "warn"), "leave it out with `- .*` in the formula$")
  expect_identical(prevail:::in_r("leave it out with `exclude=a'b`, or"), "leave it out with `- a'b` in the formula, or")
  expect_identical(prevail:::in_r("`prevalence-n=0`, `prior=a``b` or `batch=N`"), '`prevalence_n = 0`, `prior = "a`b"` or `batch = N`')
  expect_identical(prevail:::in_r("`prevalence-by=FILE` and `terms`"), "`prevalence_by` and the formula")
  found <- tryCatch(prevail(low ~ age, d, prevalence = 0.07, infer = "hmc", batch = 16), prevail_error = identity)
  expect_identical(found[c("option", "value")], list(option = "infer", value = "hmc"))
  expect_match(found$problem, '`infer = "hmc"` takes all rows at once', fixed = TRUE)
  expect_identical(found$remedy, "leave `batch` out")
  fit <- prevail(low ~ age + lwt, d, prevalence = 0.07)
  expect_input_error(predict(fit, d, population = "unkown"), "did you mean unknown")
  for (text in c("0.1-0.2", "20%", "unkown")) {
    said <- tryCatch(predict(fit, d, population = text), prevail_error = conditionMessage)
    expect_match(said, text, fixed = TRUE)
    expect_no_match(said, "known:", fixed = TRUE)
  }
  expect_input_error(adjust(0.2, 0.5, "unkown"), "`to` .*did you mean unknown")
  expect_input_error(prevail(low ~ age, d, prevalence = 0.07, strata = "rac"), "no column rac in the data; did you mean race")
  expect_input_error(prevail(low ~ age, d, prevalence = 0.07, weights = "w"), "no column w")
  expect_input_error(prevail(low ~ age, d, prevalence = 0.07, weights = "age"), "weights = age")
  expect_input_error(prevail(low ~ age, d, prevalence = 0.07, weights = race), "numbers")
  expect_input_error(prevail(low ~ age, d, prevalence = 0.07, weights = -age), "must not be negative: row 85")
  expect_input_error(prevail(low ~ age + lwtt, d, prevalence = 0.07), "did you mean lwt")
  expect_input_error(prevail(low ~ race, d, prevalence = 0.07, subset = race == "white"), "2 or more levels")
  expect_input_error(prevail(low ~ age, d, prevalence = 0.07, unseen = "rare"), "has not seen")
  expect_input_error(prevail(not_there ~ nor_this, prevalence = 0.07), "not_there.*data$")
  expect_input_error(prevail(low ~ age, d, prevalence = NA), "is missing")
  said <- tryCatch(prevail(low ~ age, d, prevalence = 0.1, strata = race), prevail_error = conditionMessage)
  expect_match(said, "`prevalence_by`")
  expect_no_match(said, "FILE")
  expect_identical(prevail:::number_text(0.1), "0.1")
  expect_identical(as.numeric(prevail:::number_text(0.1 + 0.2)), 0.1 + 0.2)
  expect_output(print(summary(prevail(low ~ age, d, prevalence = "0.05-0.1"))), "(stated: 0.05-0.1)", fixed = TRUE)
})

test_that("a prevalence is of a label that is known", {
  skip_if_not_installed("MASS")
  d <- births()
  d$weight <- ifelse(d$low == 1, "light", "normal")
  expect_input_error(prevail(weight ~ age, d, prevalence = 0.07), "which label has it, light or normal")
  expect_input_error(prevail(weight ~ age, d, prevalence = "0.05-0.1"), "which label has it, light or normal")
  expect_identical(prevail(weight ~ age, d, prevalence = "light=0.07")$prevalence[["light"]], 0.07)
  expect_identical(prevail(weight ~ age, d, prevalence = 0.07, positive = "light")$positive, "light")
  expect_equal(coef(prevail(weight ~ age, d, prevalence = c(light = 0.07, normal = 0.93))),
    coef(prevail(weight ~ age, d, prevalence = 0.93, positive = "normal")))
  expect_identical(prevail(weight ~ age, d, prevalence = c(light = 0.07))$positive, "light")
  expect_no_warning(prevail(low ~ age, d, prevalence = 0.07))
  # The controls are the old people, so that few of them dominate the weighted estimate, which gives a warning.
  older <- subset(d, low == 1 | age > 27)
  expect_warning(prevail(factor(low) ~ age, older, prevalence = 0.07), "Few rows determine", class = "prevail_warning")
  expect_input_error(prevail(survival::Surv(age, low) ~ lwt, d), "is a survival time")
})

test_that("advice names terms of numbers alone", {
  d <- study(300)
  d$mark <- factor(ifelse(d$case == 1 & seq_len(300) %% 3 > 0 | seq_len(300) %in% c(1, 3, 5), "yes", "no")) # three controls have it
  expect_warning(prevail(case ~ mark + dose, d, prevalence = 0.02), "coefficient of 'markyes'.*too short. More rows with its rarer value may help.$")
  d$mark <- exp(3 * sin(seq_len(300)^2)) * (d$mark == "yes") # a measurement with a long tail
  expect_warning(prevail(case ~ mark + dose, d, prevalence = 0.02), "the term log\\(mark\\)")
})

test_that("a dot leaves out what is no feature", {
  d <- infert[c("case", "spontaneous", "induced", "stratum")]
  fit <- prevail(case ~ ., d, matched = stratum, infer = "ml")
  expect_identical(coef(fit), coef(prevail(case ~ spontaneous + induced, d, matched = stratum, infer = "ml")))
  d$person <- seq_len(nrow(d))
  d$w <- rep(1:2, length.out = nrow(d))
  expect_named(coef(prevail(case ~ . - stratum, d, prevalence = 0.05, id = person, weights = w)), c("(Intercept)", "spontaneous", "induced"))
  expect_named(coef(prevail(case ~ . - stratum, d, prevalence = 0.05, cluster = "person")), c("(Intercept)", "spontaneous", "induced", "w"))
})

test_that("a cluster may be an expression of two columns", {
  d <- transform(infert, region = 1 + stratum %% 4, unit = 1 + stratum %% 11)
  d$both <- interaction(d$region, d$unit, drop = TRUE)
  named <- prevail(case ~ induced, d, loss = "plain", infer = "robust", strata = region, cluster = both)
  expect_identical(vcov(prevail(case ~ induced, d, loss = "plain", infer = "robust", strata = region,
                                cluster = interaction(region, unit, drop = TRUE))), vcov(named))
  table <- coef(summary(named)) # Student's t, and called so
  expect_identical(colnames(table)[3:4], c("t value", "Pr(>|t|)"))
  expect_true(all(table[, 4] > 2 * pnorm(-abs(table[, 3]))))
  expect_output(print(summary(named)), "t value")
})
