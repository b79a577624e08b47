options(prevail.threads = 2L)

# A case-control sample from a population with known risks.
study <- function(n = 600, seed = 1) {
  set.seed(seed)
  made <- data.frame(
    age = stats::rnorm(n, 60, 8), dose = stats::rexp(n), smoker = factor(sample(c("no", "ex", "yes"), n, TRUE)),
    case = rep(0:1, length.out = n)
  )
  made$age <- made$age + 4 * made$case
  made$dose <- made$dose + 0.3 * made$case
  made
}

expect_input_error <- function(code, text) expect_error(code, text, class = "prevail_input_error")

# The command from the same build; tests that need it are skipped with a message if there is none.
command <- function() {
  path <- Sys.getenv("PREVAIL_COMMAND")
  testthat::skip_if(!nzchar(path) || !file.exists(path), "PREVAIL_COMMAND names no command")
  path
}

run_command <- function(...) {
  said <- suppressWarnings(system2(command(), shQuote(c(...)), stdout = TRUE, stderr = TRUE))
  if (!is.null(attr(said, "status"))) stop(paste(said, collapse = "\n"))
  said
}

# The command prints the fewest digits that read back exactly. Outputs are compared as text, because R parses numbers
# through long doubles, rounds twice, and so sometimes differs in the last bit.
expect_printed <- function(text, numbers) {
  digits <- nchar(sub("^0+", "", gsub("[^0-9]", "", sub("e.*", "", text))))
  expect_identical(text, sprintf("%.*g", digits, numbers))
}

write_numbers <- function(data, path) {
  data[] <- lapply(data, function(column) if (is.numeric(column)) sprintf("%.17g", column) else column)
  utils::write.csv(data, path, row.names = FALSE, quote = FALSE)
}
