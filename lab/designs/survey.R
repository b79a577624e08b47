# Surveys: coverage of 90 % intervals of R's svyglm on samples simulated by prevail.
#
#   Rscript survey.R PREVAIL SAMPLES
#
# Each sample has 1,200 rows in about 220 clusters of three strata. Intervals: normal with svyglm's variances (as in
# prevail fit --infer robust); Student's t with the design's degrees of freedom; and normal with each cluster's
# residuals corrected for its leverage (Mancl and DeRouen 2001). For two slopes, and for the log odds of five people.
suppressMessages(library(survey))
arguments <- commandArgs(TRUE)
prevail <- arguments[1]
samples <- as.integer(arguments[2])
file <- tempfile(fileext = ".csv")
truth_file <- tempfile(fileext = ".csv")
simulate <- function(seed) {
    system2(prevail, c("simulate", "survey", "--strata", 3, "--rows", 1200, "--seed", seed, "--truth", truth_file, "-o", file, "--quiet"))
    truth <- read.csv(truth_file)$value
    list(rows = read.csv(file), truth = c(truth[1], truth[4:5], truth[2] - truth[1], truth[3] - truth[1]))
}
people <- rbind(c(1, 0, 0, 0, 0), c(1, 0, 0, 1, 0), c(1, 0, 0, 0, 1), c(1, 1, 1, 0, 0), c(1, -1, 1, 0, 1))
wanted <- rbind(c(0, 1, 0, 0, 0), c(0, 0, 1, 0, 0), people)
# The same sandwich with (I - H_gg)^-1 r instead of a cluster's residuals r.
corrected <- function(fit, rows) {
    x <- model.matrix(fit)
    p <- fitted(fit)
    v <- p * (1 - p)
    w <- rows$weight / mean(rows$weight)
    inverse <- solve(crossprod(x, x * (w * v)))
    meat <- 0
    for (s in unique(rows$site)) {
        u <- sapply(unique(rows$cluster[rows$site == s]), function(g) {
            i <- which(rows$cluster == g)
            xi <- x[i, , drop = FALSE]
            hat <- (v[i] * xi) %*% inverse %*% t(xi * w[i])
            crossprod(xi, w[i] * solve(diag(length(i)) - hat, (rows$y - p)[i]))
        })
        u <- u - rowMeans(u)
        meat <- meat + ncol(u) / (ncol(u) - 1) * tcrossprod(u)
    }
    inverse %*% meat %*% inverse
}
found <- lapply(seq_len(samples), function(seed) {
    made <- simulate(seed)
    rows <- made$rows
    design <- svydesign(~cluster, strata = ~site, weights = ~weight, data = rows, nest = TRUE)
    fit <- svyglm(y ~ x1 + x2 + site, design, family = quasibinomial())
    error <- function(v) sqrt(diag(wanted %*% v %*% t(wanted)))
    away <- drop(wanted %*% (coef(fit) - made$truth))
    list(away = away, own = error(vcov(fit)), lever = error(corrected(fit, rows)), df = degf(design), cases = sum(rows$y[rows$site == "s1"]))
})
part <- function(name) t(sapply(found, `[[`, name))
shares <- function(held) {
    slopes <- rowMeans(held[, 1:2])
    risks <- rowMeans(held[, -(1:2)])
    sprintf("%.3f (%.0f) | %.3f (%.0f)", mean(slopes), 1000 * sd(slopes) / sqrt(samples), mean(risks), 1000 * sd(risks) / sqrt(samples))
}
away <- abs(part("away"))
cat(sprintf("%d samples, %.0f degrees of freedom, %.0f cases in the first stratum\n\n| | slopes | log odds |\n|---|---|---|\n", samples,
            mean(part("df")), mean(part("cases"))))
cat("| svyglm, normal |", shares(away <= qnorm(0.95) * part("own")), "|\n")
cat("| svyglm, t |", shares(away <= qt(0.95, drop(part("df"))) * part("own")), "|\n")
cat("| leverages, normal |", shares(away <= qnorm(0.95) * part("lever")), "|\n")
cat("| mean error over standard deviation, svyglm |", sprintf("%.3f |", c(mean((colMeans(part("own")) / apply(part("away"), 2, sd))[1:2]),
    mean((colMeans(part("own")) / apply(part("away"), 2, sd))[-(1:2)]))), "\n")
