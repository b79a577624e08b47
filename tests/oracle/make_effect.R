# Standardised risks from outcome-sampled rows: values by glm, standard errors by perturbing the weight of each row
# (infinitesimal jackknife) and, for the weighted estimate, survey::svypredmeans and survey's jackknife.
#
#   Rscript tests/oracle/make_effect.R > tests/oracle/effect.txt
suppressMessages(library(survey))
array <- function(name, x) cat("array ", name, " ", length(x), "\n", paste(sprintf("%.17g", x), collapse = " "), "\n", sep = "")
control <- glm.control(epsilon = 1e-15, maxit = 100)
logit <- qlogis
formula <- y ~ e * x + g
cat("# Made by: Rscript tests/oracle/make_effect.R > tests/oracle/effect.txt\n")
cat("#", R.version.string, "survey", as.character(packageVersion("survey")), "\n")

people <- function(seed, n) {
  set.seed(seed)
  N <- 40 * n
  d <- data.frame(c = sample(N / 3, N, TRUE), s = rbinom(N, 1, 0.4), g = rbinom(N, 1, 0.5), x = round(rnorm(N), 3))
  d$e <- rbinom(N, 1, plogis(-0.3 + 0.6 * d$x + 0.4 * d$s))
  d$y <- rbinom(N, 1, plogis(-3 + 0.7 * d$e + 0.5 * d$x - 0.3 * d$e * d$x + 0.4 * d$g))
  d <- rbind(d[d$y == 1, ][seq_len(n), ], d[d$y == 0, ][seq_len(n + 20), ])
  d$c <- sample(60, nrow(d), TRUE)
  d
}

# pi: a matrix [strata][2] of prevalences by label; share: the strata's. v: weights of the rows, which the design scales
# to the number of rows in each cell.
measures <- function(d, v, pi, share, linear, by) {
  cell <- paste(d$s0, d$y)
  for (k in unique(cell)) v[cell == k] <- v[cell == k] * sum(cell == k) / sum(v[cell == k])
  n <- table(d$s0, d$y)
  row <- cbind(d$s0 + 1, d$y + 1)
  a <- share[d$s0 + 1] * pi[row] / n[row]
  d$ratio <- (log(n[, 2] / pi[, 2]) - log(n[, 1] / pi[, 1]))[d$s0 + 1]
  d$v <- v
  d$a <- v * a * nrow(d)
  fit <- suppressWarnings(if (linear) glm(formula, binomial, d, weights = v, offset = ratio, control = control)
                          else glm(formula, binomial, d, weights = a, control = control))
  d$ratio <- 0
  d1 <- d0 <- d
  d1$e <- 1
  d0$e <- 0
  X <- function(data) model.matrix(formula, data)
  p <- plogis(drop(X(d) %*% coef(fit)))
  p1 <- plogis(drop(X(d1) %*% coef(fit)))
  p0 <- plogis(drop(X(d0) %*% coef(fit)))
  theta <- v * a
  own <- d$y
  if (linear) {
    t <- v / (n[d$s0 + 1, 1] / pi[d$s0 + 1, 1] * (1 - p) + n[d$s0 + 1, 2] / pi[d$s0 + 1, 2] * p)
    theta <- t * share[d$s0 + 1] / as.vector(tapply(t, d$s0, sum))[d$s0 + 1]
    own <- p
  }
  inside <- if (is.na(by)) TRUE else d$g == by
  mean_of <- function(q) sum((theta * q)[inside]) / sum(rep_len(theta, nrow(d))[inside])
  r <- if (linear && is.na(by)) sum(share * pi[, 2]) else mean_of(own)
  r0 <- mean_of(p0)
  r1 <- mean_of(p1)
  all <- if (is.na(by)) r else mean_of(p) # of a group: the model's
  c(logit(r), logit(r0), logit(r1), r1 - r0, log(r1 / r0), logit(r1) - logit(r0), log(r0 / all))
}

errors <- function(d, pi, share, linear, by, clusters, people) {
  h <- 1e-4
  n <- nrow(d)
  up <- down <- matrix(0, n, 7)
  for (i in seq_len(n)) {
    v <- rep(1, n)
    v[i] <- 1 + h
    up[i, ] <- measures(d, v, pi, share, linear, by)
    v[i] <- 1 - h
    down[i, ] <- measures(d, v, pi, share, linear, by)
  }
  IF <- (up - down) / (2 * h)
  if (clusters) {
    IF <- rowsum(IF, d$c)
    variance <- nrow(IF) / (nrow(IF) - 1) * colSums(IF^2)
  } else {
    cell <- paste(d$s0, d$y)
    m <- as.vector(table(cell)[cell])
    variance <- colSums(IF^2 * m / (m - 1))
  }
  if (is.finite(people)) { # a prevalence from so many observations
    k <- 1e-5
    own <- (measures(d, rep(1, n), pi + cbind(-k, k), share, linear, by) -
              measures(d, rep(1, n), pi - cbind(-k, k), share, linear, by)) / (2 * k)
    variance <- variance + own^2 * pi[1, 1] * pi[1, 2] / people
  }
  sqrt(variance)
}

case <- function(name, seed, n, prevalence, strata = FALSE, clusters = FALSE, by = NA, people = Inf) {
  d <- people_of(seed, n)
  d$s0 <- if (strata) d$s else 0
  pi <- if (strata) rbind(c(1 - prevalence, prevalence), c(1 - 2 * prevalence, 2 * prevalence)) else cbind(1 - prevalence, prevalence)
  share <- if (strata) c(0.6, 0.4) else 1
  cat("case ", name, " rows=", nrow(d), " prevalence=", prevalence, " strata=", as.integer(strata), " clusters=",
      as.integer(clusters), " by=", if (is.na(by)) -1 else by, " people=", if (is.finite(people)) people else 0, "\n", sep = "")
  for (column in c("y", "e", "x", "g", "s", "c")) array(column, d[[column]])
  for (linear in c(FALSE, TRUE)) {
    what <- if (linear) "linear" else "weighted"
    array(paste0(what, "_value"), measures(d, rep(1, nrow(d)), pi, share, linear, by))
    array(paste0(what, "_error"), errors(d, pi, share, linear, by, clusters, people))
  }
  if (name == "rows") {
    d$w <- (pi[cbind(1, d$y + 1)] / table(d$y)[d$y + 1])[seq_len(nrow(d))]
    d$level <- factor(d$e)
    # svypredmeans takes a fit without the group; the model here is additive
    design <- svydesign(ids = ~1, strata = ~y, weights = ~w, data = d)
    fit <- svyglm(y ~ x + g, design, family = quasibinomial(), control = control)
    means <- svypredmeans(fit, ~level)
    array("survey_mean", as.vector(coef(means)[c("0", "1")]))
    # Its standard errors add the variances of the two parts without their covariance, so the jackknife takes their place.
    jackknife <- as.svrepdesign(design, type = "JKn")
    again <- function(w, data) {
      data$own <- w * nrow(data)
      fit <- suppressWarnings(glm(y ~ x + g + e, binomial, data, weights = own, control = control))
      at <- function(value) {
        data$e <- value
        sum(w * predict(fit, data, type = "response")) / sum(w)
      }
      c(at(0), at(1), at(1) - at(0))
    }
    array("jackknife_error", as.vector(SE(withReplicates(jackknife, again))))
    array("survey_difference", sum(c(-1, 1) * coef(means)[c("0", "1")]))
  }
}
people_of <- people

case("rows", 1, 90, 0.05)
case("observed_prevalence", 2, 80, 0.05, people = 400)
case("clusters", 3, 80, 0.02, clusters = TRUE)
case("strata", 4, 100, 0.03, strata = TRUE)
case("group", 5, 100, 0.1, by = 1)
case("strata_group", 6, 100, 0.04, strata = TRUE, by = 0)

# A cohort, all of whom are rows of strata whose counts are random: the influence of free weights.
set.seed(7)
N <- 300
d <- data.frame(s = rbinom(N, 1, 0.4), x = round(rnorm(N), 3), g = 0, c = 0)
d$e <- rbinom(N, 1, plogis(0.3 * d$x))
d$y <- rbinom(N, 1, plogis(-1 + 0.7 * d$e + 0.5 * d$x + 0.5 * d$s))
free <- function(v) {
  d$v <- v
  fit <- suppressWarnings(glm(y ~ e + x, binomial, d, weights = v, control = control))
  at <- function(value) {
    d$e <- value
    sum(v * predict(fit, d, type = "response")) / sum(v)
  }
  r <- sum(v * d$y) / sum(v)
  c(logit(r), logit(at(0)), logit(at(1)), at(1) - at(0), log(at(1) / at(0)), logit(at(1)) - logit(at(0)), log(at(0) / r))
}
h <- 1e-4
IF <- t(sapply(seq_len(N), function(i) (free(replace(rep(1, N), i, 1 + h)) - free(replace(rep(1, N), i, 1 - h))) / (2 * h)))
cat("case cohort rows=", N, "\n", sep = "")
for (column in c("y", "e", "x", "g", "s", "c")) array(column, d[[column]])
array("counts", as.vector(t(table(d$s, d$y))))
array("weighted_value", free(rep(1, N)))
array("weighted_error", sqrt(colSums(sweep(IF, 2, colMeans(IF))^2)))
cat("end 7\n")
