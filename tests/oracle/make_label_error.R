# Labels with errors by R. Known sensitivity and specificity in a random sample: glm with a link function of its own,
# and its model-based (expected) information. Sampled by the recorded label: optim and numerical derivatives, written
# from the definition of the likelihood, P(recorded | x, sampled).
#
#   Rscript tests/oracle/make_label_error.R > tests/oracle/label_error.txt
array <- function(name, x) cat("array ", name, " ", length(x), "\n", paste(sprintf("%.17g", x), collapse = " "), "\n", sep = "")
set.seed(38)
n <- 600
se <- 0.85
sp <- 0.92
x1 <- round(rnorm(3 * n), 3)
x2 <- round(rexp(3 * n), 3)
true <- runif(3 * n) < plogis(-1.2 + 0.9 * x1 - 0.4 * x2)
recorded <- ifelse(true, runif(3 * n) < se, runif(3 * n) > sp)
random <- 1:n
chosen <- c(which(recorded)[1:(n / 2)], which(!recorded)[1:(n / 2)])
exact <- glm.control(epsilon = 1e-15, maxit = 200)
link <- structure(list(
  linkfun = function(mu) qlogis((mu - (1 - sp)) / (se + sp - 1)),
  linkinv = function(eta) 1 - sp + (se + sp - 1) * plogis(eta),
  mu.eta = function(eta) (se + sp - 1) * dlogis(eta),
  valideta = function(eta) TRUE, name = "recorded"), class = "link-glm")

cat("# Made by: Rscript tests/oracle/make_label_error.R > tests/oracle/label_error.txt\n")
cat("#", R.version.string, "\n")
cat("case random n=", n, " sensitivity=", se, " specificity=", sp, "\n", sep = "")
d <- data.frame(x1 = x1[random], x2 = x2[random], y = as.numeric(recorded[random]))
for (column in names(d)) array(column, d[[column]])
fit <- glm(y ~ x1 + x2, binomial(link), d, start = c(-1, 0, 0), control = exact)
array("estimate", coef(fit))
array("loglik", as.numeric(logLik(fit)))
# The sandwich: numerical derivatives of rows' scores at the estimate.
X <- cbind(1, d$x1, d$x2)
score <- function(b) {
  p <- plogis(X %*% b)
  q <- as.vector(1 - sp + (se + sp - 1) * p)
  X * as.vector((d$y - q) / (q * (1 - q)) * (se + sp - 1) * p * (1 - p))
}
jacobian <- function(f, at, h) sapply(seq_along(at), function(j) {
  e <- replace(numeric(length(at)), j, h)
  (8 * (f(at + e) - f(at - e)) - (f(at + 2 * e) - f(at - 2 * e))) / (12 * h)
})
A <- -jacobian(function(b) colSums(score(b)), coef(fit), 1e-4)
B <- crossprod(score(coef(fit)))
array("error_hc0", sqrt(diag(solve(A) %*% B %*% solve(A))))

cat("case sampled n=", n, " prevalence=0.2 prevalence_n=400 sensitivity=42/50 specificity=184/200\n", sep = "")
d <- data.frame(x1 = x1[chosen], x2 = x2[chosen], y = as.numeric(recorded[chosen]))
for (column in names(d)) array(column, d[[column]])
X <- cbind(1, d$x1, d$x2)
n1 <- sum(d$y)
n0 <- sum(1 - d$y)
rows <- function(b, psi) { # log-likelihood of each row; psi: sensitivity, specificity, prevalence
  share <- psi[1] * psi[3] + (1 - psi[2]) * (1 - psi[3])
  p <- as.vector(plogis(X %*% b))
  q <- psi[1] * p + (1 - psi[2]) * (1 - p)
  a1 <- q * n1 / share
  a0 <- (1 - q) * n0 / (1 - share)
  ifelse(d$y == 1, log(a1), log(a0)) - log(a1 + a0)
}
# Scores by Richardson differences of the rows' log-likelihoods.
scores <- function(b, psi) jacobian(function(b) rows(b, psi), b, 1e-3)
psi <- c(42 / 50, 184 / 200, 0.2)
start <- optim(c(-1.2, 0, 0), function(b) -sum(rows(b, psi)), method = "BFGS", control = list(reltol = 1e-14, maxit = 1000))$par
for (i in 1:20) { # Newton's method on the differences
  H <- jacobian(function(b) colSums(scores(b, psi)), start, 1e-3)
  start <- start - solve((H + t(H)) / 2, colSums(scores(start, psi)))
}
array("estimate", start)
array("loglik", sum(rows(start, psi)))
U <- scores(start, psi)
A <- -jacobian(function(b) colSums(scores(b, psi)), start, 1e-3)
A <- (A + t(A)) / 2
centred <- U
for (y in 0:1) centred[d$y == y, ] <- sweep(U[d$y == y, ], 2, colMeans(U[d$y == y, ]))
D <- solve(A) %*% jacobian(function(p) colSums(scores(start, p)), psi, 1e-4)
jeffreys <- function(a, m) (a + 0.5) * (m - a + 0.5) / ((m + 1)^2 * (m + 2))
V <- diag(c(jeffreys(42, 50), jeffreys(184, 200), 0.2 * 0.8 / 400))
known <- solve(A) %*% crossprod(centred) %*% solve(A)
array("error_known", sqrt(diag(known)))
array("error", sqrt(diag(known + D %*% V %*% t(D))))

# The same rows with predictive values: psi is ppv, npv and the prevalence.
through <- function(v) { # recorded share from v, then sensitivity and specificity
  share <- (v[3] - (1 - v[2])) / (v[1] + v[2] - 1)
  c(v[1] * share / v[3], v[2] * (1 - share) / (1 - v[3]), v[3])
}
v <- c(60 / 80, 97 / 100, 0.2)
b <- start
for (i in 1:30) {
  H <- jacobian(function(b) colSums(scores(b, through(v))), b, 1e-3)
  b <- b - solve((H + t(H)) / 2, colSums(scores(b, through(v))))
}
array("predictive_estimate", b)
U <- scores(b, through(v))
A <- -jacobian(function(b) colSums(scores(b, through(v))), b, 1e-3)
A <- (A + t(A)) / 2
centred <- U
for (y in 0:1) centred[d$y == y, ] <- sweep(U[d$y == y, ], 2, colMeans(U[d$y == y, ]))
D <- solve(A) %*% jacobian(function(v) colSums(scores(b, through(v))), v, 1e-4)
V <- diag(c(jeffreys(60, 80), jeffreys(97, 100), 0.2 * 0.8 / 400))
array("predictive_error", sqrt(diag(solve(A) %*% crossprod(centred) %*% solve(A) + D %*% V %*% t(D))))
cat("end 2\n")
