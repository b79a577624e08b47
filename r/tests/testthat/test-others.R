# Packages that this one enhances. R CMD check hides them; tests/r/run.sh runs this file once more beside it.

test_that("prior correction is relogit's", {
  skip_if_not_installed("Zelig")
  d <- study(400)
  theirs <- suppressWarnings(suppressMessages(
    Zelig::zelig(case ~ age + dose, data = d, model = "relogit", tau = 0.01, bias.correct = FALSE, case.control = "prior", cite = FALSE)
  ))
  ours <- prevail(case ~ age + dose, d, prevalence = 0.01, infer = "ml", match = "none")
  expect_equal(unname(coef(ours)), unname(theirs$get_coef()[[1]]), tolerance = 1e-6)
})

test_that("curves are pictures of ggplot2", {
  skip_if_not_installed("ggplot2")
  ev <- evaluate(prevail(case ~ age + smoker, study(200), prevalence = 0.05))
  for (kind in c("roc", "calibration", "net_benefit")) expect_s3_class(ggplot2::autoplot(ev, kind), "ggplot")
})

test_that("marginal means are the risks of their rows", {
  skip_if_not_installed("emmeans")
  d <- study(200)
  fit <- prevail(case ~ age + smoker, d, prevalence = 0.05)
  means <- as.data.frame(emmeans::emmeans(fit, "smoker", type = "response"))
  grid <- data.frame(age = mean(d$age), smoker = levels(d$smoker))
  expect_equal(means$risk, unname(predict(fit, grid)), tolerance = 1e-6)
})

test_that("marginal means are those of glm, with offsets too", {
  skip_if_not_installed("emmeans")
  d <- study(300)
  d$time <- 5 + d$dose
  for (formula in list(case ~ age * smoker, case ~ age + smoker + offset(log(time)))) {
    ours <- prevail(formula, d, loss = "plain", infer = "ml")
    theirs <- glm(formula, binomial, d, epsilon = 1e-14)
    columns <- c("emmean", "SE", "asymp.LCL", "asymp.UCL")
    for (of in c("smoker", "age")) {
      at <- list(age = c(50, 70))
      expect_equal(as.data.frame(emmeans::emmeans(ours, of, at = at))[columns], as.data.frame(emmeans::emmeans(theirs, of, at = at))[columns],
        tolerance = 1e-5, ignore_attr = TRUE)
    }
    pairs <- function(fit) as.data.frame(graphics::pairs(emmeans::emmeans(fit, "smoker")))[c("estimate", "SE", "p.value")]
    expect_equal(pairs(ours), pairs(theirs), tolerance = 1e-4, ignore_attr = TRUE)
  }
})

test_that("broom's tables have rows for coefficients and rows", {
  skip_if_not_installed("broom")
  fit <- prevail(case ~ age + smoker, study(200), prevalence = 0.05)
  expect_equal(broom::tidy(fit)$estimate, unname(coef(fit)))
  expect_equal(nrow(broom::glance(fit)), 1)
  expect_equal(nrow(broom::augment(fit)), 200)
})
