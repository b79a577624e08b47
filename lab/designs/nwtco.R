# Two-phase samples of the National Wilms Tumor Study (survival::nwtco). The outcome is relapse. The institution's
# histology is known for everyone, the central laboratory's for the sample only.
#
#   Rscript nwtco.R PREVAIL SAMPLES [PARTS]
#
# PARTS: 1, with the strata as a feature; 2, without; 3, relapses drawn from the model, so that it is correct; default
# 1,2,3.
#
# Strata are the institution's histology. Each sample has 150 relapses and 150 others from each stratum, or all if there
# are fewer. Models: relapse on central histology, stage and age, with and without the strata as a feature. The truth is
# the same model fitted to the full cohort; we count how often 90 % intervals contain its coefficients. Methods:
# semiparametric maximum likelihood (prevail --phase-one), the weighted estimator (prevail --loss iw), and
# survey::twophase with svyglm.
suppressMessages({library(survival); library(survey)})
arguments <- commandArgs(TRUE)
prevail <- arguments[1]
samples <- as.integer(arguments[2])
parts <- if (length(arguments) > 2) as.integer(strsplit(arguments[3], ",")[[1]]) else 1:3
cohort <- with(nwtco, data.frame(rel = rel, unfavourable = histol - 1, s2 = as.integer(stage == 2), s3 = as.integer(stage == 3),
                                 s4 = as.integer(stage == 4), age = age / 12, site = ifelse(instit == 2, "unfavourable", "favourable")))
folder <- tempfile()
dir.create(folder)
count <- function() {
    counts <- as.data.frame(table(site = cohort$site, rel = cohort$rel), responseName = "count")
    write.csv(counts, file.path(folder, "counts.csv"), row.names = FALSE, quote = FALSE)
}
count()

fit <- function(rows, ...) {
    write.csv(rows, file.path(folder, "rows.csv"), row.names = FALSE, quote = FALSE)
    out <- system2(prevail, c("fit", file.path(folder, "rows.csv"), "--outcome", "rel", "--strata", "site", "--phase-one",
                              file.path(folder, "counts.csv"), "--infer", "ml", "--tolerance", "1e-10", "--threads", "1",
                              "--json", ...), stdout = TRUE)
    at <- grep("\"value\"", out[-seq_len(grep("\"coefficients\"", out))]) + grep("\"coefficients\"", out)
    number <- function(line) suppressWarnings(as.numeric(sub(".*: *([-0-9.e+]+).*", "\\1", line)))
    names <- sub("=", "", sub(" *\"(.*)\".*", "\\1", out[at - 1]))
    p_value <- number(grep("\"p_value\"", out, value = TRUE))
    list(value = setNames(number(out[at]), names), se = setNames(number(out[at + 1]), names),
         p_value = if (length(p_value)) p_value[1] else NA)
}

# drawn: probabilities of relapse from which each sample's cohort is drawn, so that the model is correct; NULL: the real
# cohort.
compare <- function(formula, more, drawn = NULL) {
    found <- lapply(seq_len(samples), function(seed) {
        set.seed(seed)
        if (!is.null(drawn)) {
            cohort$rel <<- rbinom(nrow(cohort), 1, drawn)
            count()
        }
        cell <- interaction(cohort$site, cohort$rel)
        chosen <- unlist(lapply(split(seq_len(nrow(cohort)), cell), function(i) if (length(i) <= 150) i else sample(i, 150)))
        rows <- cohort[sort(chosen), ]
        all <- cbind(cohort, cell = cell, id = seq_len(nrow(cohort)), second = seq_len(nrow(cohort)) %in% chosen)
        design <- twophase(list(~id, ~id), strata = list(NULL, ~cell), subset = ~second, data = all)
        weighted <- suppressWarnings(svyglm(formula, design, family = quasibinomial(), epsilon = 1e-12))
        ml <- fit(rows, more)
        list(rows = nrow(rows), full = coef(glm(formula, binomial, cohort)), ml = ml$value, se = ml$se,
             p_value = ml$p_value, iw = fit(rows, more, "--loss", "iw")$value, survey = coef(weighted),
             survey_se = sqrt(diag(vcov(weighted))))
    })
    part <- function(name) t(sapply(found, `[[`, name))
    order <- colnames(part("full"))
    cat(sprintf("\n%s: %.0f of %d people, %d samples; largest difference of --loss iw from survey::twophase %.2g\n",
                deparse(formula), mean(part("rows")), nrow(cohort), samples,
                max(abs(part("iw")[, order] - part("survey")[, order]))))
    cat(sprintf("the two estimators differ by fit's check (5 %%) in %.3f of the samples\n\n", mean(part("p_value") < 0.05)))
    cat("| | full cohort | mean, ML | mean, weighted | rms, ML | rms, weighted | error, ML | error, weighted | holds, ML | holds, weighted |\n")
    cat("|---|---|---|---|---|---|---|---|---|---|\n")
    for (name in order) {
        away <- function(of) part(of)[, name] - part("full")[, name]
        held <- function(of, se) mean(abs(away(of)) <= qnorm(0.95) * part(se)[, name])
        cat(sprintf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.2f | %.2f |\n", name, mean(part("full")[, name]),
                    mean(part("ml")[, name]), mean(part("iw")[, name]), sqrt(mean(away("ml")^2)), sqrt(mean(away("iw")^2)),
                    mean(part("se")[, name]), mean(part("survey_se")[, name]), held("ml", "se"),
                    held("survey", "survey_se")))
    }
}
with_site <- rel ~ unfavourable + s2 + s3 + s4 + age + site
without <- rel ~ unfavourable + s2 + s3 + s4 + age
right <- fitted(glm(without, binomial, cohort)) # before a cohort is drawn anew
if (1 %in% parts) compare(with_site, NULL)
if (2 %in% parts) compare(without, c("--exclude", "site"))
if (3 %in% parts) {
    cat("\nRelapses of each sample's cohort drawn from the cohort's own model, so that it is right:\n")
    compare(without, c("--exclude", "site"), right)
}
