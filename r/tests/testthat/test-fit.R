test_that("plain maximum likelihood is glm's", {
  d <- study()
  ours <- prevail(case ~ age + splines::ns(dose, 3) + smoker, d, loss = "plain", infer = "ml")
  theirs <- glm(case ~ age + splines::ns(dose, 3) + smoker, binomial, d, epsilon = 1e-14) # vcov is of the step before the last
  expect_identical(names(coef(ours)), names(coef(theirs)))
  expect_equal(coef(ours), coef(theirs), tolerance = 1e-6)
  expect_equal(vcov(ours), vcov(theirs), tolerance = 1e-6)
  expect_equal(as.numeric(logLik(ours)), as.numeric(logLik(theirs)), tolerance = 1e-9)
  expect_equal(residuals(ours), residuals(theirs), tolerance = 1e-6)
  expect_equal(residuals(ours, "pearson"), residuals(theirs, "pearson"), tolerance = 1e-6)
  expect_equal(residuals(ours, "response"), residuals(theirs, "response"), tolerance = 1e-6)
  expect_equal(deviance(ours), deviance(theirs), tolerance = 1e-6)
  expect_equal(AIC(ours), AIC(theirs), tolerance = 1e-9)
  expect_equal(unname(predict(ours)), unname(fitted(theirs)), tolerance = 1e-6)
})

test_that("a stated prevalence is glm's with its intercept moved", {
  d <- study()
  for (loss in c("plain", "ig")) {
    ours <- prevail(case ~ age + dose + smoker, d, prevalence = 0.01, loss = loss, infer = "ml", match = if (loss == "ig") "none")
    theirs <- glm(case ~ age + dose + smoker, binomial, d)
    moved <- plogis(predict(theirs) + qlogis(0.01) - qlogis(mean(d$case)))
    expect_equal(unname(predict(ours)), unname(moved), tolerance = 1e-6)
    expect_equal(coef(ours)[-1], coef(theirs)[-1], tolerance = 1e-6)
    expect_equal(sqrt(diag(vcov(ours)))[-1], sqrt(diag(vcov(theirs)))[-1], tolerance = 1e-5)
  }
  expect_equal(coef(ours)[[1]], coef(theirs)[[1]] + qlogis(0.01) - qlogis(0.5), tolerance = 1e-6)
})

test_that("counts, weights and rows are the same fit", {
  counted <- prevail(cbind(ncases, ncontrols) ~ agegp + alcgp, esoph, loss = "plain", infer = "ml")
  theirs <- glm(cbind(ncases, ncontrols) ~ agegp + alcgp, binomial, esoph)
  expect_equal(coef(counted), coef(theirs), tolerance = 1e-6)
  expect_equal(residuals(counted), residuals(theirs), tolerance = 1e-6)
  long <- rbind(transform(esoph, ill = "yes", n = ncases), transform(esoph, ill = "no", n = ncontrols))
  weighted <- prevail(ill ~ agegp + alcgp, long[long$n > 0, ], weights = n, loss = "plain", infer = "ml")
  expect_equal(coef(weighted), coef(counted), tolerance = 1e-6)
  rows <- long[rep(seq_len(nrow(long)), long$n), ]
  repeated <- prevail(ill ~ agegp + alcgp, rows, loss = "plain", infer = "ml")
  expect_equal(coef(repeated), coef(counted), tolerance = 1e-6)
  expect_equal(vcov(repeated), vcov(counted), tolerance = 1e-5)
})

test_that("matched sets are clogit's", {
  skip_if_not_installed("survival")
  suppressPackageStartupMessages(library("survival", character.only = TRUE)) # clogit calls coxph by its bare name
  theirs <- clogit(case ~ spontaneous + induced + strata(stratum), infert)
  for (ours in list(
    prevail(case ~ spontaneous + induced, infert, matched = stratum, infer = "ml"),
    prevail(case ~ spontaneous + induced, infert, matched = "stratum", infer = "ml"),
    prevail(case ~ spontaneous + induced, infert, matched = ~stratum, infer = "ml")
  )) {
    expect_equal(coef(ours), coef(theirs), tolerance = 1e-6)
    expect_equal(vcov(ours), vcov(theirs), tolerance = 1e-5)
    expect_equal(as.numeric(logLik(ours)), as.numeric(logLik(theirs)), tolerance = 1e-9)
    expect_input_error(predict(ours), "odds ratios only")
    x <- as.matrix(infert[names(coef(theirs))])
    expect_equal(unname(predict(ours, type = "link")), drop(unname(x %*% coef(theirs))), tolerance = 1e-6)
    said <- predict(ours, infert[3:1, ], type = "lp", se.fit = TRUE)
    expect_equal(unname(said$se.fit), unname(sqrt(diag(x[3:1, ] %*% vcov(theirs) %*% t(x[3:1, ])))), tolerance = 1e-5)
  }
  theirs <- clogit(case ~ age + spontaneous + induced + strata(stratum), infert) # the sets agree in age
  expect_warning(ours <- prevail(case ~ age + spontaneous + induced, infert, matched = stratum, infer = "ml"),
    "'age' is constant within every matched set")
  expect_equal(coef(ours), coef(theirs), tolerance = 1e-6)
  expect_true(is.na(coef(ours)[["age"]]) && all(is.na(vcov(ours)["age", ])))
  expect_true(is.na(summary(ours)$coefficients["age", 1]))
})

test_that("subset, na.action, contrasts and missing cells are as for glm", {
  d <- study()
  d$age[c(3, 10)] <- NA
  ours <- prevail(case ~ age + smoker, d, subset = dose < 2, loss = "plain", infer = "ml", contrasts = list(smoker = "contr.sum"))
  theirs <- glm(case ~ age + smoker, binomial, d, subset = dose < 2, contrasts = list(smoker = "contr.sum"))
  expect_equal(coef(ours), coef(theirs), tolerance = 1e-6)
  expect_equal(nobs(ours), nobs(theirs))
  kept <- prevail(case ~ age + smoker, d, prevalence = 0.1, na.action = na.exclude)
  expect_length(residuals(kept), nrow(d))
  expect_true(all(is.na(residuals(kept)[c(3, 10)])))
  expect_true(all(is.na(predict(kept)[c(3, 10)])))
  expect_true(is.na(predict(kept, d)[3]))
  expect_error(prevail(case ~ age, d, prevalence = 0.1, na.action = na.fail))
  filled <- prevail(case ~ age + smoker, d, prevalence = 0.1, missing = "impute")
  expect_equal(nobs(filled), nrow(d))
  expect_false(anyNA(predict(filled, d)))
})

test_that("columns of one value have the coefficient NA", {
  d <- study()
  d$one <- 1
  fit <- prevail(case ~ age + one + dose, d, prevalence = 0.1)
  expect_identical(names(coef(fit)), c("(Intercept)", "age", "one", "dose"))
  expect_true(is.na(coef(fit)[["one"]]))
  expect_true(is.na(vcov(fit)["one", "age"]))
  expect_equal(dim(vcov(fit, complete = FALSE)), c(3L, 3L))
  expect_false(anyNA(predict(fit, d)))
})

test_that("outcomes of several kinds are the same fit", {
  d <- study(200)
  d$text <- ifelse(d$case == 1, "case", "control")
  d$level <- factor(d$text)
  d$yes <- d$case == 1
  fits <- lapply(list(case ~ age, text ~ age, level ~ age, yes ~ age), prevail, data = d, prevalence = 0.05)
  for (fit in fits[-1]) expect_equal(coef(fit), coef(fits[[1]]), tolerance = 1e-8)
  expect_identical(fits[[3]]$positive, "case") # the label that says so, though it is glm's first level
  other <- prevail(level ~ age, d, prevalence = 0.05, positive = "control")
  expect_lt(coef(other)[["age"]] * coef(fits[[3]])[["age"]], 0)
  free <- factor(ifelse(d$case == 1, "b", "a"), levels = c("b", "a"))
  expect_identical(prevail(free ~ age, d)$positive, "a") # the second level, as for glm
  expect_input_error(prevail(free ~ age, d, prevalence = 0.05), "which label has it, b or a")
  expect_identical(prevail(free ~ age, d, prevalence = c(b = 0.05, a = 0.95))$positive, "a")
})

test_that("an ordinal model takes levels in their order, and is polr's", {
  skip_if_not_installed("MASS")
  housing <- MASS::housing
  theirs <- MASS::polr(Sat ~ Infl + Type, housing, weights = Freq, control = list(reltol = 1e-15))
  ours <- prevail(Sat ~ Infl + Type, housing, weights = Freq, model = "ordinal", infer = "ml")
  expect_identical(ours$labels, c("Low", "Medium", "High"))
  expect_equal(unname(coef(ours)), unname(c(theirs$zeta, coef(theirs))), tolerance = 1e-6)
  expect_equal(names(coef(ours)), c("Low|Medium", "Medium|High", names(coef(theirs))))
  expect_equal(unname(predict(ours, housing)), unname(predict(theirs, housing, type = "probs")), tolerance = 1e-6, ignore_attr = TRUE)
})

test_that("more than two labels, and labels in order", {
  shares <- c(setosa = 0.2, versicolor = 0.5, virginica = 0.3)
  fit <- prevail(Species ~ Sepal.Length + Sepal.Width, iris, prevalence = shares)
  p <- predict(fit)
  expect_equal(unname(rowSums(p)), rep(1, 150))
  expect_identical(colnames(p), names(shares))
  expect_length(coef(fit), 6)
  expect_equal(dim(confint(fit)), c(6L, 2L))
  ordinal <- prevail(Species ~ Sepal.Length, iris, model = "ordinal")
  expect_identical(names(coef(ordinal)), c("setosa|versicolor", "versicolor|virginica", "Sepal.Length"))
  turned <- factor(iris$Species, levels = rev(levels(iris$Species)))
  slope <- function(formula) coef(prevail(formula, iris, model = "ordinal", infer = "ml"))[[3]]
  expect_equal(slope(turned ~ Sepal.Length), -slope(Species ~ Sepal.Length), tolerance = 1e-6)
  expect_input_error(prevail(Species ~ Sepal.Length, iris, prevalence = 0.1), "one for each")
})

test_that("strata with a cohort's counts find its prevalence", {
  skip_if_not_installed("survival")
  cohort <- survival::nwtco
  cohort$stage <- factor(cohort$stage)
  set.seed(2)
  rows <- cohort[cohort$rel == 1 | runif(nrow(cohort)) < 0.15, ]
  counts <- as.data.frame(table(instit = cohort$instit, rel = cohort$rel), responseName = "count")
  fit <- prevail(rel ~ histol + stage + factor(instit), rows, strata = instit, phase_one = counts)
  expect_equal(fit$prevalence[["1"]], mean(cohort$rel), tolerance = 1e-6)
  expect_equal(mean(predict(fit, cohort)), mean(cohort$rel), tolerance = 0.03)
  people <- prevail(rel ~ histol + stage + factor(instit), rows, strata = "instit", phase_one = cohort[c("instit", "rel")])
  expect_equal(coef(people), coef(fit), tolerance = 1e-9)
})

test_that("a prevalence can be an interval", {
  fit <- prevail(case ~ age, study(), prevalence = "0.005-0.02", infer = "laplace")
  expect_equal(fit$prevalence[["1"]], 0.01, tolerance = 0.01)
  known <- update(fit, prevalence = 0.01)
  wide <- function(fit) diff(predict(fit, data.frame(age = 60), interval = 0.9)[1, 2:3])
  expect_gt(wide(fit), 2 * wide(known))
})

test_that("programs can call it", {
  d <- study(200)
  make <- function(data, share) {
    form <- case ~ age
    w <- rep(1, nrow(data))
    prevail(form, data, prevalence = share, weights = w)
  }
  expect_error(make(d, 0.1), NA)
  fit <- do.call(prevail, list(case ~ age, quote(d), prevalence = 0.1))
  expect_equal(coef(update(fit, . ~ . + dose))[["dose"]], coef(prevail(case ~ age + dose, d, prevalence = 0.1))[["dose"]])
  expect_equal(coef(update(fit, prevalence = 0.2))[[1]], coef(prevail(case ~ age, d, prevalence = 0.2))[[1]])
})

test_that("options that are variables are as good as texts", {
  d <- study(300)
  d$age[seq(1, 300, 3)] <- NA
  how <- "impute"
  fit <- prevail(case ~ age + dose, d, prevalence = 0.1, missing = how)
  expect_equal(nobs(fit), 300)
  expect_identical(coef(fit), coef(prevail(case ~ age + dose, d, prevalence = 0.1, missing = "impute")))
  bare <- prevail(case ~ age + dose, d, prevalence = 0.1, missing = how, keep_frame = FALSE)
  how <- "drop" # after the fit: its rows are those it had
  expect_equal(nrow(model.frame(bare)), 300)
  sample <- NULL
  expect_s3_class(cv(prevail(case ~ dose, d, prevalence = 0.1, population_sample = sample), folds = 2), "prevail_cv")
})

test_that("a mixture of models predicts, and tells what it was made of", {
  d <- study(200)
  fit <- prevail(case ~ age + smoker, d, prevalence = 0.1, model = "auto", candidates = "prevalence,linear,iw")
  mixed <- fit$candidates
  expect_equal(rownames(mixed)[c(1, 9)], c("prevalence", "the mixture"))
  expect_equal(sum(mixed$weight[1:8]), 1)
  p <- predict(fit, d)
  expect_true(all(p > 0 & p < 1))
  expect_equal(weighted.mean(p, ifelse(d$case == 1, 0.1 / mean(d$case == 1), 0.9 / mean(d$case != 1))), 0.1, tolerance = 0.2)
  expect_output(print(fit), "auto")
  expect_error(coef(fit), "no coefficients")
  expect_input_error(predict(fit, d, interval = 0.9), "auto")
  expect_input_error(prevail(case ~ age, d, prevalence = 0.1, model = "auto", prior = "normal:1"), "prior of its own")
  file <- tempfile()
  save_model(fit, file)
  columns <- as.data.frame(stats::model.matrix(~ age + smoker, d)) # which a model file knows
  expect_equal(unname(predict(read_model(file), columns)), unname(p))
})

test_that("an additive model has curves, predicts and has intervals", {
  d <- study(300)
  fit <- prevail(case ~ age + smoker, d, prevalence = 0.1, model = "additive")
  expect_true(any(grepl("^s\\(age\\)", names(coef(fit)))))
  p <- predict(fit, d)
  expect_true(all(p > 0 & p < 1))
  of <- predict(fit, d, interval = 0.9)
  expect_true(all(of[, 2] <= p & p <= of[, 3]))
  expect_output(print(fit), "additive")
  expect_input_error(prevail(case ~ age, d, prevalence = 0.1, model = "additive", prior = "none"), "additive")
  file <- tempfile()
  save_model(fit, file)
  columns <- as.data.frame(stats::model.matrix(~ age + smoker, d))
  expect_equal(unname(predict(read_model(file), columns)), unname(p))
})
