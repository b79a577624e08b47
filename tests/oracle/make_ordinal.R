# Proportional odds by R's MASS::polr: simulated grades with and without weights, and the housing table (weights).
#
#   Rscript tests/oracle/make_ordinal.R > tests/oracle/ordinal.txt && /usr/bin/python3 tests/oracle/make_ordinal.py >> tests/oracle/ordinal.txt
library(MASS)
array <- function(name, x) cat("array ", name, " ", length(x), "\n", paste(sprintf("%.17g", x), collapse = " "), "\n", sep = "")
fit <- function(form, data, weights) {
    data$weights <- weights
    m <- polr(form, data, weights = weights, Hess = TRUE, control = list(reltol = 1e-16, maxit = 2000))
    at <- c(coef(m), m$zeta)
    # polr stops early; we continue with Newton's method on its likelihood, with the Hessian from differences
    x <- model.matrix(form, data)[, -1, drop = FALSE]
    y <- as.integer(model.response(model.frame(form, data)))
    p <- ncol(x)
    value <- function(t) {
        z <- c(-Inf, t[-(1:p)], Inf)
        eta <- drop(x %*% t[1:p])
        -sum(weights * log(plogis(z[y + 1] - eta) - plogis(z[y] - eta)))
    }
    slope <- function(t) {
        z <- c(-Inf, t[-(1:p)], Inf)
        eta <- drop(x %*% t[1:p])
        up <- dlogis(z[y + 1] - eta)
        low <- dlogis(z[y] - eta)
        pr <- plogis(z[y + 1] - eta) - plogis(z[y] - eta)
        k <- length(t) - p
        c(colSums(weights * (up - low) / pr * x),
          sapply(1:k, function(j) -sum(weights * ((y == j) * up - (y == j + 1) * low) / pr)))
    }
    hessian <- function(t) {
        h <- 1e-5
        m <- sapply(seq_along(t), function(i) (slope(replace(t, i, t[i] + h)) - slope(replace(t, i, t[i] - h))) / (2 * h))
        (m + t(m)) / 2
    }
    for (i in 1:8) at <- at - solve(hessian(at), slope(at))
    stopifnot(max(abs(at - c(coef(m), m$zeta))) < 1e-3, value(at) <= m$deviance / 2 + 1e-9)
    error <- sqrt(diag(solve(hessian(at))))
    array("slopes", at[1:p])
    array("thresholds", at[-(1:p)])
    array("errors", c(error[-(1:p)], error[1:p]))
    array("loglik", -value(at))
}
cat("# Made by: Rscript tests/oracle/make_ordinal.R > tests/oracle/ordinal.txt && /usr/bin/python3 tests/oracle/make_ordinal.py >> tests/oracle/ordinal.txt\n")
cat("#", R.version.string, "MASS", as.character(packageVersion("MASS")), "\n")
set.seed(11)
n <- 240
x <- round(cbind(rnorm(n, 50, 12), rnorm(n)), 3)
grade <- findInterval(0.05 * (x[, 1] - 50) - 0.7 * x[, 2] + rlogis(n), c(-1.5, -0.2, 0.8, 2)) + 1
rows <- data.frame(x1 = x[, 1], x2 = x[, 2], grade = factor(grade))
weight <- sample(0:4, n, TRUE)
cat("case plain n=", n, "\n", sep = "")
array("x", t(x))
array("grade", grade)
fit(grade ~ x1 + x2, rows, rep(1, n))
cat("case weighted n=", n, "\n", sep = "")
array("x", t(x))
array("grade", grade)
array("weight", weight)
fit(grade ~ x1 + x2, rows, weight)
