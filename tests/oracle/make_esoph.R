# Coefficients and standard errors of plain logistic regression on R's esoph data (datasets, R >= 4.0.4: 200 cases, 775
# controls), by glm. The groups are unordered factors with treatment contrasts; the reference is the first level in byte
# order.
#
#   Rscript tests/oracle/make_esoph.R > tests/oracle/esoph_glm.txt
data <- datasets::esoph
stopifnot(sum(data$ncases) == 200, sum(data$ncontrols) == 775)
columns <- c(age = "agegp", alcohol = "alcgp", tobacco = "tobgp")
for (ours in names(columns)) {
    text <- as.character(data[[columns[[ours]]]])
    data[[ours]] <- factor(text, levels = sort(unique(text), method = "radix"))
}
fit <- glm(cbind(ncases, ncontrols) ~ age + alcohol + tobacco, family = binomial(), data = data,
           contrasts = list(age = "contr.treatment", alcohol = "contr.treatment", tobacco = "contr.treatment"),
           epsilon = 1e-14, maxit = 100)
stopifnot(fit$converged)

# The score must vanish at the optimum: this shows how many digits are correct, unlike glm's own criterion.
design <- model.matrix(fit)
score <- crossprod(design, data$ncases - (data$ncases + data$ncontrols) * fitted(fit))
stopifnot(max(abs(score)) < 1e-10)

cat("# Plain logistic regression of cancer on age, alcohol and tobacco, esoph data, R's glm.\n")
cat("# Made by: Rscript tests/oracle/make_esoph.R > tests/oracle/esoph_glm.txt\n")
cat(sprintf("# %s; largest entry of the score at these values: %.1e\n", R.version.string, max(abs(score))))
estimate <- coef(fit)
error <- sqrt(diag(vcov(fit)))
for (name in names(estimate)) {
    column <- names(columns)[startsWith(name, names(columns))]
    label <- if (length(column)) paste0(column, "=", substring(name, nchar(column) + 1)) else name
    cat(sprintf("%s %.17g %.17g\n", label, estimate[[name]], error[[name]]))
}
