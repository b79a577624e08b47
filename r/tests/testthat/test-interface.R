# The C side: memory, interrupts, forks.

test_that("handles are checked", {
  expect_error(.Call(prevail:::call_session_said, 1), "not a handle")
  session <- .Call(prevail:::call_session, 1L, FALSE)
  expect_error(.Call(prevail:::call_model_facts, session, session), "not a handle")
  .Call(prevail:::call_session_end, session)
  expect_error(.Call(prevail:::call_session_said, session), "gone")
})

test_that("Ctrl-C reaches the library", {
  skip_on_os("windows")
  d <- study(2000)
  interrupted <- FALSE
  pid <- Sys.getpid()
  system(paste0("(sleep 1; kill -INT ", pid, ") &"))
  tryCatch(
    prevail(case ~ age + dose + smoker, d, prevalence = 0.01, infer = "hmc", draws = 1e6, warmup = 1e5),
    interrupt = function(e) interrupted <<- TRUE
  )
  expect_true(interrupted)
  expect_error(prevail(case ~ age, d, prevalence = 0.01), NA)
})

test_that("forked processes can fit and predict", {
  skip_on_os("windows")
  d <- study(300)
  fit <- prevail(case ~ age, d, prevalence = 0.1)
  here <- lapply(1:3, function(i) coef(prevail(case ~ age, d[seq(i, 300), ], prevalence = 0.1)))
  there <- parallel::mclapply(1:3, function(i) coef(prevail(case ~ age, d[seq(i, 300), ], prevalence = 0.1)), mc.cores = 2)
  expect_identical(there, here)
  expect_identical(parallel::mclapply(1:2, function(i) predict(fit, d), mc.cores = 2)[[2]], predict(fit, d))
})

test_that("nothing of R's own is masked", {
  own <- unlist(lapply(c("base", "stats", "utils", "graphics", "grDevices", "methods", "datasets"), function(package) ls(asNamespace(package), all.names = TRUE)))
  expect_identical(intersect(getNamespaceExports("prevail"), own), character())
})

test_that("a fit is exported as the command would", {
  fit <- prevail(case ~ age + parity, infert, prevalence = 0.1, threads = 1)
  file <- tempfile(fileext = ".c")
  about <- export(fit, file, population = 0.05)
  expect_match(about, '"format": "C"', fixed = TRUE)
  expect_false(any(grepl("double prevalence", readLines(file))))
  query <- tempfile(fileext = ".sql")
  export(fit, query, table = "people")
  expect_true(any(grepl('FROM "people"', readLines(query), fixed = TRUE)))
  expect_input_error(export(fit, tempfile(fileext = ".txt")), "MODEL.onnx")
  expect_input_error(export(fit, file, table = "people"), "leave it out")
  expect_input_error(export(fit, file, population = "unknown"), "one row at a time")
})

test_that("a methods paragraph states what the fit did", {
  fit <- prevail(case ~ age + parity, infert, prevalence = 0.1, threads = 1)
  found <- methods_text(fit)
  expect_match(found$text, "248 rows: 83 with case = 1", fixed = TRUE)
  expect_match(found$text, "stated as 0.1", fixed = TRUE)
  expect_identical(nrow(found$tripod), 52L)
  expect_true(is.na(found$tripod$text[found$tripod$item == "17"]))
  expect_output(print(found), "References")
  sets <- prevail(case ~ spontaneous + induced, infert, matched = infert$stratum, infer = "ml", threads = 1)
  expect_match(methods_text(sets)$text, "conditional logistic regression", fixed = TRUE)
})
