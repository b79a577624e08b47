# The same numbers in give the same bits out as the command's.

test_that("a fit is the command's, bit for bit", {
  d <- study()
  path <- tempfile(fileext = ".csv")
  x <- as.data.frame(model.matrix(~ age + dose + smoker, d))[-1]
  write_numbers(cbind(x, case = d$case), path)
  for (how in list(c("ig", "map"), c("plain", "ml"), c("ig", "laplace"), c("iw", "map"))) {
    file <- tempfile()
    run_command("fit", path, "--target", "case", "--prevalence", "0.01", "--loss", how[1], "--infer", how[2], "--quiet", "-o", file)
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
  for (name in c("auc", "nell", "calibration_slope")) {
    found <- regmatches(said, regexec(paste0('"', name, '": *\\{ *"value": *([-0-9.e+]+), *"lo": *([-0-9.e+]+)'), said))[[1]]
    expect_printed(found[2:3], unname(unlist(ours[name, c("value", "lower")])))
  }
})
