# Additive models by mgcv: gam with REML, with the same basis functions and penalties (paraPen). The basis functions are
# made from mgcv's cubic regression splines (smoothCon, bs = "cr") and their penalty matrix, as defined in
# src/data/smooth.c.
#
#   Rscript tests/oracle/make_additive.R > tests/oracle/additive.txt
suppressMessages(library(mgcv))
array <- function(name, x) cat("array ", name, " ", length(x), "\n", paste(sprintf("%.17g", x), collapse = " "), "\n", sep = "")

# Weighted quantile of the rows in which no value counts for more than a tenth of them.
capped <- function(x, share) {
    mass <- pmin(table(x), length(x) / 10)
    value <- sort(unique(x))
    value[which(cumsum(mass) >= share * sum(mass) * (1 - 1e-14))[1]]
}

# Features [rows x m] of a column, each with a prior variance of 1.
curves <- function(x, most) {
    location <- capped(x, 0.5)
    t <- (x - location) / (2 * (capped(x, 0.75) - capped(x, 0.25)))
    u <- asinh(t)
    k <- 10
    while (k > 3 && (k > length(unique(x)) || k * 8 > length(x))) k <- k - 1
    knots <- sapply(seq(0, 1, length.out = k), function(q) capped(u, q))
    knots[1] <- min(u)
    knots <- sort(unique(knots))
    k <- length(knots)
    smooth <- smoothCon(s(u, bs = "cr", k = k), data.frame(u = u), knots = list(u = knots), scale.penalty = FALSE)[[1]]
    eigen_s <- eigen(smooth$S[[1]], symmetric = TRUE)
    keep <- seq_len(k - 2)
    g <- smooth$X %*% eigen_s$vectors[, keep] %*% diag(1 / sqrt(eigen_s$values[keep]), k - 2)
    g <- residuals(lm(g ~ u))
    g <- as.matrix(g) / sqrt(sum(colMeans(as.matrix(g)^2)))
    f <- cbind(u / sqrt(mean((u - mean(u))^2)), g)
    f <- residuals(lm(f ~ x))
    e <- eigen(crossprod(f) / length(x), symmetric = TRUE)
    m <- min(most, 8, sum(e$values > 1e-3 * sum(e$values)))
    list(knots = knots, x = f %*% e$vectors[, seq_len(m)], variance = e$values[seq_len(m)])
}

set.seed(5)
n <- 400
d <- data.frame(a = round(rnorm(n), 3), b = round(rgamma(n, 4), 3), c = rbinom(n, 5, 0.4), level = sample(0:3, n, TRUE))
d$o <- round(rnorm(n, 0, 0.5), 3)
d$w <- sample(1:3, n, TRUE)
effect <- c(-0.7, 0.2, 0.9, 0)[d$level + 1]
d$y <- rbinom(n, 1, plogis(0.9 * (d$a^2 - 1) + 0.8 * log(d$b) + 0.3 * (d$c - 2)^2 + effect + d$o - 0.5))
cat("# Made by: Rscript tests/oracle/make_additive.R > tests/oracle/additive.txt\n")
cat("#", R.version.string, "mgcv", as.character(packageVersion("mgcv")), "\n")
cat("case additive n=", n, "\n", sep = "")
for (column in names(d)) array(column, d[[column]])

standard <- function(x) (x - mean(x)) / sqrt(mean((x - mean(x))^2))
parts <- lapply(d[c("a", "b", "c")], curves, most = 80)
for (column in names(parts)) {
    array(paste0(column, "_knots"), parts[[column]]$knots)
    array(paste0(column, "_variance"), parts[[column]]$variance)
}

# Negative log density of the prior of the scales (src/infer/smoothing.c).
expected <- function(rho) {
    curves <- rho[-1] - log(0.2)
    k <- length(curves)
    covariance <- log(3)^2 * (diag(k) + matrix(1, k, k))
    (rho[1] - log(0.5))^2 / log(2)^2 / 2 + sum(curves * solve(covariance, curves)) / 2
}

# Rows are repeated by their counts. rho: logarithms of the scales; NULL: those that maximise REML plus their prior.
fitted <- function(name, times, offset, rho) {
    all <- d[rep(seq_len(n), times), ]
    slopes <- sapply(all[c("a", "b", "c")], standard)
    level <- model.matrix(~ 0 + factor(level), all)
    parts <- lapply(all[c("a", "b", "c")], curves, most = 80)
    data <- list(y = all$y, slopes = slopes, level = level, fa = parts$a$x, fb = parts$b$x, fc = parts$c$x,
                 offset = rep(offset, times))
    pen <- function(x, rho) list(diag(ncol(x)), sp = exp(-2 * rho))
    at <- function(rho)
        gam(y ~ slopes + level + fa + fb + fc + offset(offset), family = binomial, data = data, method = "REML",
            control = gam.control(epsilon = 1e-13, maxit = 400),
            paraPen = list(slopes = pen(slopes, rho[1]), level = pen(level, rho[2]), fa = pen(parts$a$x, rho[3]),
                           fb = pen(parts$b$x, rho[4]), fc = pen(parts$c$x, rho[5])))
    if (is.null(rho)) {
        found <- optim(log(c(1, rep(0.5, 4))), function(rho) as.numeric(at(rho)$gcv.ubre) + expected(rho),
                       method = "BFGS", control = list(reltol = 1e-14, maxit = 500, ndeps = rep(1e-4, 5)))
        stopifnot(found$convergence == 0)
        rho <- found$par
        array(paste0(name, "_scale"), exp(rho))
    }
    m <- at(rho)
    array(paste0(name, "_eta"), m$linear.predictors[cumsum(times)])
    edf <- m$edf[-1]
    group <- rep(seq_len(5), c(ncol(slopes), ncol(level), sapply(parts, function(p) ncol(p$x))))
    array(paste0(name, "_edf"), tapply(edf, group, sum))
}
fitted("chosen", rep(1, n), rep(0, n), NULL)
fitted("stated", rep(1, n), rep(0, n), rep(log(0.7), 5))
fitted("counts", d$w, d$o, NULL)
cat("end 1\n")
