test_that("what is printed says how it was made", {
  d <- study()
  fit <- prevail(case ~ age + smoker, d, prevalence = 0.01)
  expect_output(print(fit), "case = 1: prevalence 0.01, in the rows 0.5")
  expect_output(print(summary(fit)), "Odds ratio")
  expect_output(print(summary(fit, level = 0.9)), "5 %")
  expect_output(print(summary(prevail(case ~ age, d, infer = "ml"))), "z value")
  ratios <- odds_ratios(fit)
  expect_equal(ratios$odds_ratio, unname(exp(coef(fit)[-1])))
  expect_equal(log(ratios$lower), unname(confint(fit)[-1, 1]))
  expect_named(diagnose(fit), c("check", "ok", "value", "text", "remedy"))
})

test_that("odds ratios of tiny and huge units are for a power of ten of units", {
  d <- study()
  shown <- function(scale) {
    d$x <- d$age * scale
    fit <- summary(prevail(case ~ x + smoker, d, prevalence = 0.01, threads = 1))
    expect_equal(unname(fit$odds_ratios["x", 1]), unname(exp(fit$coefficients["x", 1])))
    list(unit = fit$units[[2]], odds = unname(fit$odds_shown["x", ]), text = capture.output(print(fit)))
  }
  usual <- shown(1)
  tiny <- shown(1e7)
  huge <- shown(1e-6)
  expect_equal(usual$unit, 1)
  expect_false(any(grepl("units", usual$text)))
  expect_true(any(grepl("units", tiny$text)) && any(grepl("units", huge$text)))
  expect_equal(log(tiny$odds) * 1e7 / tiny$unit, log(usual$odds), tolerance = 1e-6)
  expect_equal(log(huge$odds) * 1e-6 / huge$unit, log(usual$odds), tolerance = 1e-6)
  expect_true(all(abs(log(tiny$odds)) < 5) && abs(log(tiny$odds[1])) > 0.05)
})

test_that("nested fits are compared by their likelihoods", {
  d <- study()
  large <- prevail(case ~ age + dose + smoker, d, prevalence = 0.01, infer = "ml", match = "none")
  small <- update(large, . ~ . - smoker)
  ours <- anova(small, large)
  theirs <- anova(glm(case ~ age + dose, binomial, d), glm(case ~ age + dose + smoker, binomial, d), test = "Chisq")
  expect_equal(ours$Chisq[2], theirs$Deviance[2], tolerance = 1e-6)
  expect_equal(ours[["Pr(>Chisq)"]][2], theirs[["Pr(>Chi)"]][2], tolerance = 1e-6)
  expect_input_error(logLik(prevail(case ~ age, d, prevalence = 0.01)), "prior")
})

test_that("likelihoods of different things are not compared", {
  d <- study(300)
  small <- prevail(case ~ age, d, prevalence = 0.01, infer = "ml", match = "none", threads = 1)
  large <- function(...) update(small, . ~ . + dose, ...)
  expect_s3_class(anova(small, large()), "anova")
  expect_s3_class(anova(small, large(prevalence = c(`0` = 0.99, `1` = 0.01))), "anova")
  expect_input_error(anova(small, large(prevalence = 0.02)), "prevalences .0.01 and 0.02")
  expect_input_error(anova(small, large(prevalence_n = 100)), "prevalence_n")
  expect_input_error(anova(small, large(marginal = "plugin")), "marginal")
  expect_input_error(anova(small, large(data = transform(d, case = rev(case)))), "outcomes")
  expect_input_error(anova(small, large(data = transform(d, age = rev(age)))), "age")
  expect_input_error(anova(small, update(small, subset = -1)), "rows")
  expect_input_error(anova(small, large(data = study(330)[31:330, ])), "rows")
  expect_input_error(anova(small, update(small, weights = rep(1:2, 150))), "weights")
})

test_that("step and drop1 go by likelihoods", {
  d <- study()
  fit <- prevail(case ~ age + dose + smoker, d, infer = "ml")
  theirs <- glm(case ~ age + dose + smoker, binomial, d)
  expect_equal(extractAIC(fit), extractAIC(theirs), tolerance = 1e-9)
  expect_equal(coef(step(fit, trace = 0)), coef(step(theirs, trace = 0)), tolerance = 1e-6)
})

test_that("coefficients of a posterior are those of its summary", {
  fit <- prevail(case ~ age + dose, study(), prevalence = 0.01, infer = "laplace")
  expect_identical(unname(coef(fit)), unname(summary(fit)$coefficients[, "Estimate"]))
})

test_that("one row is as good as many", {
  fit <- prevail(case ~ age + dose, study(), prevalence = 0.01, infer = "laplace")
  new <- data.frame(age = 60, dose = 1, row.names = "ann")
  expect_named(predict(fit, new), "ann")
  expect_identical(dimnames(predict(fit, new, interval = 0.9)), list("ann", c("fit", "lwr", "upr")))
})

test_that("rows that cannot be predicted are NA, and none are none", {
  d <- study()
  fit <- prevail(case ~ age + smoker, d, prevalence = 0.02)
  gone <- transform(d[1:2, ], age = NA_real_)
  expect_identical(predict(fit, gone), c(`1` = NA_real_, `2` = NA_real_))
  expect_identical(dim(predict(fit, gone, interval = TRUE)), c(2L, 3L))
  expect_length(predict(fit, d[0, ]), 0)
  expect_identical(predict(fit, gone, type = "class"), factor(c(NA, NA), levels = c("0", "1")))
  expect_equal(attr(predict(fit, d, population = "unknown"), "inferred")$level, 0.95)
})

test_that("estimates do not depend on the seed", {
  d <- study()
  for (infer in c("map", "robust", "laplace")) {
    fit <- suppressWarnings(prevail(case ~ age + dose, d, prevalence = 0.02, infer = infer, seed = 1))
    other <- suppressWarnings(update(fit, seed = 2))
    expect_identical(coef(fit), coef(other))
    expect_identical(vcov(fit), vcov(other))
    expect_identical(predict(fit, d, type = "link", se.fit = TRUE)$se.fit, predict(other, d, type = "link", se.fit = TRUE)$se.fit)
  }
})

test_that("vcov of a posterior is that of its draws", {
  d <- study()
  fit <- prevail(case ~ age + dose, d, prevalence = 0.01, infer = "laplace")
  plain <- prevail(case ~ age + dose, d, prevalence = 0.01)
  expect_equal(sqrt(diag(vcov(fit)))[-1], sqrt(diag(vcov(plain)))[-1], tolerance = 0.1)
  expect_equal(sqrt(diag(vcov(fit))), summary(fit)$coefficients[, 2], tolerance = 1e-8)
  expect_equal(sqrt(diag(vcov(plain))), summary(plain)$coefficients[, 2], tolerance = 1e-8)
})

test_that("predictions move with the population", {
  d <- study()
  fit <- prevail(case ~ age + dose, d, prevalence = 0.01, infer = "laplace")
  p <- predict(fit, d[1:5, ])
  expect_equal(predict(fit, d[1:5, ], type = "link"), qlogis(p), tolerance = 1e-9)
  moved <- predict(fit, d[1:5, ], population = 0.3)
  expect_true(all(moved > p))
  expect_identical(predict(fit, d[1:5, ], population = c(`0` = 0.7, `1` = 0.3)), moved)
  bounds <- predict(fit, d[1:5, ], interval = 0.9)
  expect_true(all(bounds[, "lwr"] < bounds[, "fit"] & bounds[, "fit"] < bounds[, "upr"]))
  unknown <- predict(fit, d, population = "unknown")
  expect_s3_class(attr(unknown, "inferred"), "prevail_inferred")
  expect_equal(attr(unknown, "inferred")$value[["1"]], 0.5, tolerance = 0.15)
  expect_equal(sum(predict(fit, d[1:20, ], population = "counts:15,5")), 5, tolerance = 1e-6)
  decisions <- predict(fit, d, type = "decision", costs = rbind(wait = c(`0` = 0, `1` = 200), go = c(1, 1)))
  expect_identical(decisions$action == "go", unname(predict(fit, d) > 1 / 200))
  parts <- predict(fit, type = "terms")
  expect_equal(rowSums(parts) + attr(parts, "constant"), drop(model.matrix(fit) %*% coef(fit)), tolerance = 1e-9)
})

test_that("simulated outcomes are like the rows", {
  d <- study()
  d$level <- factor(ifelse(d$case == 1, "case", "control"))
  fit <- prevail(level ~ age, d, prevalence = 0.01)
  made <- simulate(fit, 3, seed = 1)
  expect_identical(dim(made), c(nrow(d), 3L))
  expect_identical(levels(made$sim_1), levels(d$level))
  expect_equal(mean(made$sim_1 == "case"), 0.5, tolerance = 0.15)
  expect_identical(made, simulate(fit, 3, seed = 1))
})

test_that("fits survive being saved", {
  d <- study(200)
  fit <- prevail(case ~ age + smoker, d, prevalence = 0.05, infer = "laplace")
  path <- tempfile()
  saveRDS(fit, path)
  again <- readRDS(path)
  expect_identical(predict(again, d, interval = 0.9), predict(fit, d, interval = 0.9))
  expect_identical(summary(again)$coefficients, summary(fit)$coefficients)
  save_model(again, path)
  expect_identical(readBin(path, "raw", 1e7), fit$bytes)
  expect_error(read_model(tempfile()), class = "prevail_file_error")
  writeLines("not a model", path)
  expect_input_error(read_model(path), "model")
})

test_that("pictures are drawn", {
  d <- study(200)
  fit <- prevail(case ~ age + smoker, d, prevalence = 0.05)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(fit))
  ev <- evaluate(fit)
  for (kind in c("roc", "pr", "calibration", "net_benefit", "predictive_values")) expect_silent(plot(ev, kind))
})

test_that("pictures show what can be read at a prevalence of 0.005", {
  ev <- evaluate(prevail(case ~ age + dose, study(), prevalence = 0.005))
  picture <- lapply(stats::setNames(nm = c("roc", "pr", "calibration", "net_benefit", "predictive_values")), prevail:::curve_picture, x = ev)
  for (one in picture) {
    expect_true(all(is.finite(c(one$xlim, one$ylim))))
    expect_true(nzchar(one$title) && all(vapply(one$lines, function(line) nzchar(line$label), NA)))
  }
  expect_lt(picture$pr$ylim[2], 0.1)
  expect_lt(picture$net_benefit$xlim[2], 0.2)
  expect_lt(picture$net_benefit$ylim[2], 0.006)
  expect_match(picture$roc$lines[[1]]$label, "^AUC .0\\.[0-9]+, 0\\.[0-9]+ to 0\\.[0-9]+.$")
  expect_true(all(is.finite(picture$predictive_values$lines[[1]]$y))) # no one is called at a threshold of 0.5
  expect_input_error(curve_data(ev, "roc", threshold = 0.1), "for the curve predictive_values")
})

test_that("broom's generics are there", {
  d <- study(200)
  fit <- prevail(case ~ age + smoker, d, prevalence = 0.05)
  if (requireNamespace("generics", quietly = TRUE)) {
    expect_equal(generics::tidy(fit, conf.int = TRUE)$conf.low, unname(confint(fit)[, 1]))
    expect_equal(generics::tidy(fit, exponentiate = TRUE)$estimate, unname(exp(coef(fit))))
    expect_equal(generics::glance(fit)$prevalence, 0.05)
    expect_equal(generics::augment(fit)$.fitted, unname(predict(fit)))
  }
})
