# errors = "hc0" must give the numbers of survey and of a sandwich computed by hand.

population_sample <- function(n = 300) {
  set.seed(5)
  big <- data.frame(x = rnorm(60000), z = rbinom(60000, 1, 0.4))
  big$case <- rbinom(60000, 1, plogis(-4.2 + 0.8 * big$x + 0.2 * big$x^2 - 0.5 * big$z))
  rows <- c(sample(which(big$case == 1), n), sample(which(big$case == 0), n))
  d <- big[rows, ]
  d$w <- ifelse(d$case == 1, 0.02 / n, 0.98 / n) * 60000
  d
}

test_that("hc0 equals svyglm with labels as strata, for a stated prevalence", {
  skip_if_not_installed("survey")
  d <- population_sample()
  design <- survey::svydesign(ids = ~1, strata = ~case, weights = ~w, data = d)
  theirs <- survey::svyglm(case ~ x + z, design, family = quasibinomial(), control = list(epsilon = 1e-14, maxit = 50))
  ours <- suppressWarnings(prevail(case ~ x + z, d, prevalence = 0.02, infer = "robust", errors = "hc0"))
  expect_equal(coef(ours), coef(theirs), tolerance = 1e-8)
  expect_equal(sqrt(diag(vcov(ours))), sqrt(diag(vcov(theirs))), tolerance = 1e-7)
  found <- summary(ours)$coefficients
  z <- coef(ours) / sqrt(diag(vcov(ours)))
  expect_true(all(found[, ncol(found)] >= 2 * pnorm(-abs(z)))) # p-values by Student's t
})

test_that("hc0 with sampling weights equals svyglm, and without them the sandwich", {
  skip_if_not_installed("survey")
  d <- population_sample()
  d$w <- d$w * exp(0.3 * d$x)
  theirs <- survey::svyglm(case ~ x + z, survey::svydesign(ids = ~1, weights = ~w, data = d), family = quasibinomial(),
    control = list(epsilon = 1e-14, maxit = 50))
  ours <- suppressWarnings(prevail(case ~ x + z, d, weights = w, weights_are = "sampling", loss = "plain", infer = "robust", errors = "hc0"))
  expect_equal(coef(ours), coef(theirs), tolerance = 1e-8)
  expect_equal(sqrt(diag(vcov(ours))), sqrt(diag(vcov(theirs))), tolerance = 1e-7)
  fit <- glm(case ~ x + z, binomial, d, epsilon = 1e-14)
  x <- model.matrix(fit)
  bread <- solve(crossprod(x, x * fit$weights))
  scores <- x * (d$case - fitted(fit))
  sandwich <- bread %*% crossprod(scores) %*% bread * nrow(d) / (nrow(d) - 1)
  ours <- suppressWarnings(prevail(case ~ x + z, d, loss = "plain", infer = "robust", errors = "hc0"))
  expect_equal(coef(ours), coef(fit), tolerance = 1e-8)
  expect_equal(sqrt(diag(vcov(ours))), sqrt(diag(sandwich)), tolerance = 1e-7)
})

test_that("hc0 of a second phase equals twophase", {
  skip_if_not_installed("survey")
  skip_if_not_installed("survival")
  cohort <- survival::nwtco
  cohort$unfavourable <- as.integer(cohort$histol == 2)
  cohort$age <- cohort$age / 12
  cohort$cell <- interaction(cohort$rel, cohort$instit)
  set.seed(2)
  chosen <- unlist(lapply(split(seq_len(nrow(cohort)), cohort$cell), function(i) i[sample(length(i), 150)]))
  cohort$taken <- seq_len(nrow(cohort)) %in% chosen
  design <- survey::twophase(id = list(~1, ~1), strata = list(NULL, ~cell), subset = ~taken, data = cohort)
  theirs <- survey::svyglm(rel ~ unfavourable + age, design, family = quasibinomial(), control = list(epsilon = 1e-14, maxit = 50))
  ours <- suppressWarnings(prevail(rel ~ unfavourable + age, cohort[cohort$taken, ], strata = ~instit, phase_one = cohort[c("instit", "rel")],
    infer = "robust", errors = "hc0"))
  expect_equal(coef(ours), coef(theirs), tolerance = 1e-8)
  expect_equal(sqrt(diag(vcov(ours))), sqrt(diag(vcov(theirs))), tolerance = 1e-7)
})

test_that("robust and laplace do not depend on the seed", {
  d <- population_sample(100)
  for (infer in c("robust", "laplace")) {
    fits <- lapply(1:2, function(seed) suppressWarnings(prevail(case ~ x + z, d, prevalence = 0.02, infer = infer, seed = seed)))
    expect_identical(coef(fits[[1]]), coef(fits[[2]]))
    expect_identical(vcov(fits[[1]]), vcov(fits[[2]]))
    expect_identical(confint(fits[[1]]), confint(fits[[2]]))
  }
})
