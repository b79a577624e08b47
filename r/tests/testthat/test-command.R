# The same input gives bit-identical output in R and in the command.

test_that("a fit is the command's, bit for bit", {
  d <- study()
  path <- tempfile(fileext = ".csv")
  x <- as.data.frame(model.matrix(~ age + dose + smoker, d))[-1]
  write_numbers(cbind(x, case = d$case), path)
  for (how in list(c("ig", "map"), c("plain", "ml"), c("ig", "laplace"), c("iw", "map"))) {
    file <- tempfile()
    run_command("fit", path, "--outcome", "case", "--prevalence", "0.01", "--loss", how[1], "--infer", how[2], "--quiet", "-o", file)
    theirs <- read_model(file)
    ours <- prevail(case ~ age + dose + smoker, d, prevalence = 0.01, loss = how[1], infer = how[2])
    expect_identical(coef(ours), coef(theirs))
    expect_identical(unname(predict(ours, d)), unname(predict(theirs, x)))
  }
})

test_that("the command reads our files, and predicts the same", {
  d <- study(200)
  fit <- prevail(case ~ age + dose, d, prevalence = 0.05, infer = "laplace")
  model <- tempfile()
  rows <- tempfile(fileext = ".csv")
  save_model(fit, model)
  write_numbers(d[c("age", "dose")], rows)
  said <- read.csv(text = run_command("predict", model, rows, "--interval", "0.9", "--quiet"), check.names = FALSE, colClasses = "character")
  ours <- predict(fit, d, interval = 0.9)
  expect_printed(said[["p__1"]], unname(ours[, "fit"]))
  expect_printed(said[["lo__1"]], unname(ours[, "lwr"]))
  expect_printed(said[["hi__1"]], unname(ours[, "upr"]))
})

test_that("metrics are the command's", {
  d <- study(200)
  fit <- prevail(case ~ age + dose, d, prevalence = 0.05)
  model <- tempfile()
  rows <- tempfile(fileext = ".csv")
  save_model(fit, model)
  write_numbers(d[c("age", "dose", "case")], rows)
  said <- paste(run_command("eval", model, rows, "--stated-for", "population", "--interval", "0.9", "--json", "--quiet"), collapse = " ")
  ours <- evaluate(fit, d, level = 0.9)$metrics
  for (name in c("auc", "log_loss", "calibration_slope")) {
    found <- regmatches(said, regexec(paste0('"', name, '": *\\{ *"value": *([-0-9.e+]+), *"lo": *([-0-9.e+]+)'), said))[[1]]
    expect_printed(found[2:3], unname(unlist(ours[name, c("value", "lower")])))
  }
})

test_that("weights of a population sample count, as in the command", {
  set.seed(1)
  d <- data.frame(x = rnorm(200))
  d$y <- rbinom(200, 1, plogis(d$x))
  d$w <- sample(1:3, 200, TRUE)
  sample <- data.frame(x = rnorm(60, -1), w = sample(1:20, 60, TRUE))
  weighted <- suppressWarnings(prevail(y ~ x, d, weights = w, population_sample = sample))
  repeated <- suppressWarnings(prevail(y ~ x, d, weights = w, population_sample = sample[rep(1:60, sample$w), "x", drop = FALSE]))
  expect_equal(coef(weighted), coef(repeated), tolerance = 1e-8)
  expect_false(isTRUE(all.equal(coef(weighted), coef(suppressWarnings(prevail(y ~ x, d, weights = w, population_sample = sample["x"]))))))
  sample$w[7] <- NA
  expect_input_error(prevail(y ~ x, d, weights = w, population_sample = sample), "missing in row 7")
})

test_that("a model from a file is evaluated with its weights, as in the command", {
  skip_if(Sys.getenv("PREVAIL_COMMAND") == "", "no command")
  set.seed(2)
  d <- data.frame(x = rnorm(300))
  d$y <- rbinom(300, 1, plogis(d$x))
  d$w <- sample(1:9, 300, TRUE)
  data <- tempfile(fileext = ".csv")
  model <- tempfile(fileext = ".model")
  write.csv(d, data, row.names = FALSE)
  system2(Sys.getenv("PREVAIL_COMMAND"), c("fit", data, "--outcome", "y", "--prevalence", "0.1", "--weights", "w", "--quiet", "-o", model), stdout = NULL, stderr = NULL)
  found <- evaluate(read_model(model), d, bootstrap = 0)
  wanted <- evaluate(rep(d$y, d$w), rep(predict(read_model(model), d), d$w), prevalence = 0.1, bootstrap = 0)
  expect_equal(found$metrics["auc", "value"], wanted$metrics["auc", "value"], tolerance = 1e-12)
  expect_equal(found$metrics["log_loss", "value"], wanted$metrics["log_loss", "value"], tolerance = 1e-12)
})

test_that("columns and labels that contradict each other are refused", {
  p <- cbind(a = c(0.2, 0.1), b = c(0.3, 0.1), c = c(0.5, 0.8))
  from <- c(a = 1, b = 1, c = 1) / 3
  to <- c(c = 0.1, a = 0.7, b = 0.2)
  expect_equal(adjust(p[, 3:1], from, to)[, 3:1], adjust(p, from, to))
  expect_input_error(adjust(p[, 3:1], from, to, labels = c("a", "b", "c")), "put the columns in this order")
})
