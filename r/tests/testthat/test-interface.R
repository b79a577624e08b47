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
