# Checks that a page's R code runs and prints the output shown below it, if any. usage: Rscript page.R PAGE.md
lines <- readLines(commandArgs(TRUE)[1])
fences <- grep("^```", lines)
begin <- which(lines[fences] == "```r")
stopifnot(length(begin) > 0)
for (i in begin) {
  code <- lines[seq(fences[i] + 1, fences[i + 1] - 1)]
  shown <- i + 2 < length(fences) && fences[i + 2] == fences[i + 1] + 2 && lines[fences[i + 2]] == "```"
  expected <- if (shown) lines[seq(fences[i + 2] + 1, fences[i + 3] - 1)]
  file <- tempfile()
  writeLines(code, file)
  said <- capture.output(suppressMessages(source(file, echo = FALSE, print.eval = TRUE)))
  # Digits of posterior draws depend on the processor: only two must agree.
  rounded <- function(text) {
    at <- gregexpr("-?[0-9]+\\.[0-9]+", text)
    regmatches(text, at) <- lapply(regmatches(text, at), function(x) as.character(signif(as.numeric(x), 2)))
    gsub(" +", " ", sub(" +$", "", text))
  }
  if (shown && !identical(rounded(said), rounded(expected))) {
    cat("The page says:", expected, "R says:", said, sep = "\n")
    quit(status = 1)
  }
}
