# Logistic regression with splines, polynomials and interactions by R's glm, on the infert data, and predictions for
# rows outside their range.
#
#   Rscript tests/oracle/make_terms.R > tests/oracle/terms.txt
library(splines)
array <- function(name, x) cat("array ", name, " ", length(x), "\n", paste(sprintf("%.17g", x), collapse = " "), "\n", sep = "")
fit <- function(formula)
    glm(formula, binomial, infert, control = glm.control(epsilon = 1e-15, maxit = 100))
later <- data.frame(education = levels(infert$education)[c(1, 2, 3, 2, 3, 2)], age = c(17, 21, 29.5, 36, 44, 52),
                    parity = c(1, 2, 3, 6, 9, 4), induced = c(0, 1, 2, 1, 0, 2), spontaneous = c(2, 0, 1, 2, 1, 0),
                    stratum = c(1, 90, 30, 7, 83, 50))
for (column in c("induced", "spontaneous")) {
    infert[[paste0("f", column)]] <- factor(infert[[column]])
    later[[paste0("f", column)]] <- factor(later[[column]])
}
cat("# Made by: Rscript tests/oracle/make_terms.R > tests/oracle/terms.txt\n")
cat("#", R.version.string, "\n")
cat("case later n=", nrow(later), "\n", sep = "")
for (column in c("age", "parity", "induced", "spontaneous", "stratum"))
    array(column, later[[column]])
array("education", match(later$education, levels(infert$education)) - 1)
cases <- list(
    functions = case ~ education + induced + spontaneous + ns(age, 3) + poly(parity, 2) + log(stratum) + sqrt(stratum),
    wide = case ~ spontaneous + ns(age, 5) + ns(stratum, 1) + poly(parity, 4),
    products = case ~ education + age + parity + finduced + fspontaneous + age:parity + education:age +
        finduced:fspontaneous)
for (name in names(cases)) {
    model <- fit(cases[[name]])
    estimate <- coef(model)
    pairs <- grep("finduced.:", names(estimate)) # ours go through the levels of the second column first
    estimate[pairs] <- estimate[pairs][order(names(estimate)[pairs])]
    estimate <- estimate[!is.na(estimate)]       # the pair that no row has makes no feature
    cat("case ", name, " coefficients=", length(estimate), "\n", sep = "")
    array("estimate", estimate)
    array("predicted", predict(model, later, type = "response"))
}
cat("end", length(cases) + 1, "\n")
