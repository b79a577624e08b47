# Weighted logistic regression of a survey by R's survey::svyglm: single rows and clusters, both in strata.
#
#   Rscript tests/oracle/make_survey.R > tests/oracle/survey.txt
suppressMessages(library(survey))
array <- function(name, x) cat("array ", name, " ", length(x), "\n", paste(sprintf("%.17g", x), collapse = " "), "\n", sep = "")
set.seed(3)
n <- 300
d <- data.frame(cluster = rep(0:29, each = 10))
u <- rnorm(30)[d$cluster + 1]
d$x1 <- round(rnorm(n) + u, 3)
d$x2 <- round(rnorm(n), 3)
d$y <- rbinom(n, 1, plogis(-0.5 + 0.8 * d$x1 - 0.4 * d$x2 + 0.5 * u))
d$stratum <- c(0, 1, 1, 2, 2, 2)[d$cluster %% 6 + 1]
d$w <- round(runif(n, 0.5, 8), 3)
cat("# Made by: Rscript tests/oracle/make_survey.R > tests/oracle/survey.txt\n")
cat("#", R.version.string, "survey", as.character(packageVersion("survey")), "\n")
cat("case survey n=", n, "\n", sep = "")
for (column in names(d))
    array(column, d[[column]])
for (strata in c(FALSE, TRUE))
    for (ids in c(~1, ~cluster)) {
        design <- svydesign(ids = ids, weights = ~w, strata = if (strata) ~stratum else NULL, data = d)
        fit <- svyglm(y ~ x1 + x2, design, family = quasibinomial(), control = glm.control(epsilon = 1e-15, maxit = 100))
        name <- paste0(if (ids == ~1) "rows" else "clusters", if (strata) "_strata" else "")
        if (name == "rows")
            array("estimate", coef(fit)[-1])
        array(paste0("error_", name), sqrt(diag(vcov(fit)))[-1])
    }
cat("end 1\n")
