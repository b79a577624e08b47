# Labels recorded with errors: in rows at random the same as glm with a link function of its own.
test_that("known errors are glm's with its own link", {
  d <- study(800, seed = 6)
  set.seed(7)
  d$case <- ifelse(d$case == 1, runif(800) < 0.85, runif(800) > 0.92) * 1
  link <- structure(list(
    linkfun = function(mu) qlogis((mu - 0.08) / 0.77), linkinv = function(eta) 0.08 + 0.77 * plogis(eta),
    mu.eta = function(eta) 0.77 * dlogis(eta), valideta = function(eta) TRUE, name = "recorded"
  ), class = "link-glm")
  theirs <- glm(case ~ age + smoker, binomial(link), d, epsilon = 1e-14, start = coef(glm(case ~ age + smoker, binomial, d)))
  ours <- prevail(case ~ age + smoker, d, loss = "plain", infer = "ml", label_error = "sensitivity=0.85,specificity=0.92")
  expect_equal(coef(ours), coef(theirs), tolerance = 1e-6)
  expect_equal(as.numeric(logLik(ours)), as.numeric(logLik(theirs)), tolerance = 1e-9)
  expect_equal(predict(ours, d[7:20, ]), plogis(predict(theirs, d[7:20, ], type = "link")), tolerance = 1e-6)
  vague <- prevail(case ~ age + smoker, d, loss = "plain", infer = "ml", label_error = "sensitivity=85/100,specificity=92/100")
  expect_true(all(diag(vcov(vague)) > diag(vcov(ours))))
  expect_input_error(prevail(case ~ age, d, prevalence = 0.1, label_error = "sensitivity=0.5,specificity=0.4"), "label_error")
})
