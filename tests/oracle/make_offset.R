# Offsets by R: glm, survey::svyglm with clusters, MASS::polr and survival::clogit.
#
#   Rscript tests/oracle/make_offset.R > tests/oracle/offset.txt
suppressMessages({
    library(survey)
    library(survival)
})
array <- function(name, x) cat("array ", name, " ", length(x), "\n", paste(sprintf("%.17g", x), collapse = " "), "\n", sep = "")
both <- function(name, estimate, covariance) {
    array(paste0(name, "_estimate"), estimate)
    array(paste0(name, "_error"), sqrt(diag(covariance)))
}
set.seed(8)
n <- 300
d <- data.frame(set = rep(0:99, each = 3), x1 = round(rnorm(n), 3), x2 = round(rnorm(n, 4, 2), 3))
d$o <- round(log(20 + rexp(n, 1 / 200)), 3)
d$y <- rbinom(n, 1, plogis(-5.5 + 0.8 * d$x1 + 0.2 * d$x2 + d$o))
d$case <- as.numeric(seq_len(n) %% 3 == 1)
d$cluster <- seq_len(n) %% 25
d$w <- round(runif(n, 0.5, 8), 3)
d$grade <- as.numeric(cut(d$x1 + d$o + rlogis(n), c(-Inf, 4, 5, 6, Inf)))
exact <- glm.control(epsilon = 1e-15, maxit = 100)
cat("# Made by: Rscript tests/oracle/make_offset.R > tests/oracle/offset.txt\n")
cat("#", R.version.string, "survey", as.character(packageVersion("survey")), "survival", as.character(packageVersion("survival")), "\n")
cat("case offset n=", n, "\n", sep = "")
for (column in names(d)) array(column, d[[column]])
fit <- glm(y ~ x1 + x2 + offset(o), binomial, d, control = exact)
both("glm", coef(fit), vcov(fit))
fit <- svyglm(y ~ x1 + x2 + offset(o), svydesign(ids = ~cluster, weights = ~w, data = d), family = quasibinomial(), control = exact)
both("svyglm", coef(fit), vcov(fit))
fit <- MASS::polr(factor(grade) ~ x1 + x2 + offset(o), d, Hess = TRUE, control = list(reltol = 1e-16, maxit = 1000))
both("polr", c(fit$zeta, coef(fit)), vcov(fit)[c(3:5, 1:2), c(3:5, 1:2)])
fit <- clogit(case ~ x1 + x2 + offset(o) + strata(set), d, control = coxph.control(eps = 1e-13, iter.max = 100))
both("clogit", coef(fit), vcov(fit))
cat("end 1\n")
