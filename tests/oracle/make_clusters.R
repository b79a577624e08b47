# Few clusters of unequal sizes, by R's clubSandwich (Debian: r-cran-clubsandwich): CR3, with influences centred at
# their mean and the factor G/(G-1), and their Satterthwaite degrees of freedom. With and without sampling weights.
#
#   Rscript tests/oracle/make_clusters.R > tests/oracle/clusters.txt
suppressMessages(library(clubSandwich))
array <- function(name, x) cat("array ", name, " ", length(x), "\n", paste(sprintf("%.17g", x), collapse = " "), "\n", sep = "")
set.seed(4)
G <- 9
m <- sample(5:14, G, TRUE)
n <- sum(m)
d <- data.frame(cluster = rep(seq_len(G), m))
u <- rnorm(G)[d$cluster]
d$x1 <- round(rnorm(n) + u, 3)
d$x2 <- round(rnorm(G), 3)[d$cluster]
d$w <- round(runif(n, 0.5, 8), 3)
d$y <- rbinom(n, 1, plogis(-0.5 + 0.8 * d$x1 - 0.4 * d$x2 + 0.5 * u))
cat("# Made by: Rscript tests/oracle/make_clusters.R > tests/oracle/clusters.txt\n")
cat("#", R.version.string, "clubSandwich", as.character(packageVersion("clubSandwich")), "\n")
cat("case clusters n=", n, "\n", sep = "")
for (column in names(d))
    array(column, d[[column]])
for (weights in c("equal", "sampling")) {
    d$v <- if (weights == "equal") 1 else d$w
    fit <- suppressWarnings(glm(y ~ x1 + x2, binomial, d, weights = v, epsilon = 1e-15, maxit = 100))
    U <- t(vcovCR(fit, d$cluster, type = "CR3", form = "estfun"))
    stopifnot(all.equal(crossprod(U), unclass(vcovCR(fit, d$cluster, type = "CR3")), check.attributes = FALSE))
    U <- scale(U, scale = FALSE)
    array(paste0("estimate_", weights), coef(fit)[-1])
    array(paste0("error_", weights), sqrt(colSums(U^2) * G / (G - 1))[-1])
    array(paste0("df_", weights), pmin(2 / (colSums(U^4) / colSums(U^2)^2 - 1 / G), G - 1)[-1])
}
cat("end 1\n")
