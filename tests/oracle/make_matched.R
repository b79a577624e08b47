# Conditional logistic regression by R's survival::clogit, exact: infert; bdendo of the Epi package (endometrial cancer
# in Los Angeles, one case and four controls); retinopathy (pairs of eyes, of which none, one or both lost their sight);
# and simulated sets with several cases each.
#
#   Rscript tests/oracle/make_matched.R > tests/oracle/matched.txt
suppressMessages({library(survival); library(Epi)})
control <- coxph.control(eps = 1e-14, toler.chol = 1e-16, iter.max = 200)
array <- function(name, x) cat("array ", name, " ", length(x), "\n", paste(sprintf("%.17g", x), collapse = " "), "\n", sep = "")
show <- function(fit) {
    array("estimate", coef(fit))
    array("error", sqrt(diag(vcov(fit))))
    array("loglik", fit$loglik[2])
}
cat("# Made by: Rscript tests/oracle/make_matched.R > tests/oracle/matched.txt\n")
cat("#", R.version.string, "survival", as.character(packageVersion("survival")), "\n")
cat("case infert\n")
show(suppressWarnings(clogit(case ~ induced + spontaneous + strata(stratum), infert, method = "exact",
                             control = control)))

# Rows of a set: x1 x2 case. Sizes 2 to 9, with 1 to all but one cases.
set.seed(5)
rows <- do.call(rbind, lapply(1:40, function(s) {
    m <- sample(2:9, 1)
    x <- round(matrix(rnorm(2 * m), m), 3)
    d <- sample(m - 1, 1)
    score <- x %*% c(0.8, -0.5) + rlogis(m)
    data.frame(set = s, x1 = x[, 1], x2 = x[, 2], case = as.integer(rank(-score) <= d))
}))
data(bdendo)
bdendo <- with(bdendo, data.frame(set = set, x1 = as.integer(est == "Yes"), x2 = as.integer(gall == "Yes"), case = d))
eyes <- with(retinopathy, data.frame(set = as.integer(factor(id)), x1 = trt, x2 = risk, case = status))
tables <- list(simulated = rows, bdendo = bdendo, retinopathy = eyes)
for (name in names(tables)) {
    rows <- tables[[name]]
    cat("case ", name, " n=", nrow(rows), "\n", sep = "")
    array("set", rows$set - 1)
    array("x", t(as.matrix(rows[c("x1", "x2")])))
    array("case", rows$case)
    show(suppressWarnings(clogit(case ~ x1 + x2 + strata(set), rows, method = "exact", control = control)))
}
cat("end 4\n")
