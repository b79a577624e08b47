# Strata used in sampling.

# Two strata of different risk; the second, where x is larger, was sampled more densely.
towns <- function(seed = 3, n = 20000, effect = 1.5) {
  set.seed(seed)
  town <- rep(1:2, length.out = n)
  x <- stats::rnorm(n) + (town == 2)
  y <- as.integer(stats::runif(n) < stats::plogis(-4 + 0.5 * x - effect * (town == 2)))
  data.frame(town, x, y)
}
sampled <- function(all) all[all$y == 1 | stats::runif(nrow(all)) < ifelse(all$town == 2, 0.1, 0.02), ]
counts_of <- function(all) table(town = all$town, y = all$y)

test_that("a stratum that matters and is not in the formula is warned of", {
  all <- towns()
  d <- sampled(all)
  counts <- counts_of(all)
  expect_warning(out <- prevail(y ~ x, d, strata = town, phase_one = counts), "add factor\\(town\\) to the formula", class = "prevail_warning")
  expect_no_warning(inside <- prevail(y ~ x + factor(town), d, strata = town, phase_one = counts))
  expect_warning(purpose <- prevail(y ~ x - town, d, strata = town, phase_one = counts), "Strata differ")
  expect_identical(coef(purpose), coef(out))
  expect_output(print(inside), "strata town (a feature)", fixed = TRUE)
  expect_output(print(out), "strata town (not a feature)", fixed = TRUE)
  same <- towns(seed = 4, effect = 0) # a test at 1 % warns in one of a hundred
  expect_no_warning(prevail(y ~ x, sampled(same), strata = town, phase_one = counts_of(same)))
  expect_warning(update(out, infer = "ml"), "not in the model")
})

test_that("counts are a table, or a data frame of one, and messages name the argument", {
  all <- towns()
  d <- sampled(all)
  fit_with <- function(counts) prevail(y ~ x + factor(town), d, strata = town, phase_one = counts)
  counts <- counts_of(all)
  fit <- fit_with(counts)
  expect_identical(coef(fit_with(as.data.frame(counts))), coef(fit))
  expect_identical(coef(fit_with(as.data.frame(counts, responseName = "count"))), coef(fit))
  expect_identical(coef(fit_with(stats::xtabs(~ town + y, all))), coef(fit))
  expect_identical(fit_with(all[c("town", "y")])$bytes, fit$bytes)
  named <- prevail(y ~ x + town, d, strata = town, phase_one = counts) # a feature of the stratum's own name
  expect_equal(predict(named), predict(fit), tolerance = 1e-3)
  expect_warning(fit_with(counts_of(d)), "^phase_one: counts only the rows of the data")
  wrong <- as.data.frame(counts)
  wrong$Freq[3] <- -1
  expect_input_error(fit_with(wrong), "^phase_one, row 3: ")
  expect_input_error(fit_with(table(all$town, all$y)), "^phase_one: has no column 'town'")
  by <- data.frame(town = 1:2, prevalence = c(0.1, 0.2), share = c(0.8, 0.1))
  expect_input_error(prevail(y ~ x + factor(town), d, strata = town, prevalence_by = by), "^prevalence_by: the shares add up to 0.9")
  expect_no_match(fit$record, tempdir(), fixed = TRUE)
  expect_s3_class(cv(fit, folds = 2), "prevail_cv")
})

test_that("DuckDB's library is that of its package", {
  folder <- file.path(tempfile(), "duckdb")
  dir.create(file.path(folder, "libs"), recursive = TRUE)
  writeLines(c("Package: duckdb", "Version: 1.0"), file.path(folder, "DESCRIPTION"))
  file <- file.path(folder, "libs", paste0("duckdb", .Platform$dynlib.ext))
  writeLines("no library", file)
  paths <- .libPaths()
  on.exit(.libPaths(paths))
  .libPaths(c(dirname(folder), paths))
  expect_identical(normalizePath(prevail:::duckdb_library()), normalizePath(file))
  skip_if(nzchar(Sys.getenv("PREVAIL_DUCKDB")))
  d <- data.frame(y = rep(0:1, 20), x = 1:40, town = rep(c("a", "b"), each = 20))
  message <- tryCatch(prevail(y ~ x + town, d, strata = town, phase_one = "SELECT * FROM 'counts.csv'"), error = conditionMessage)
  expect_match(message, file.path("duckdb", "libs", "duckdb"), fixed = TRUE)
})
