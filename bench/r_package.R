# Compares the R package, the command and glm on the same data. usage: Rscript bench/r_package.R PREVAIL ROWS REPEATS
#
# Rows x 50 doubles with a prevalence: prevail() on a data frame, the command on a CSV file and on a packed table, and
# glm. Prints processor seconds (summed over threads) and wall-clock seconds, each the minimum over repeats in
# alternating order.
suppressPackageStartupMessages(library(prevail))
arguments <- commandArgs(TRUE)
command <- normalizePath(arguments[1])
rows <- as.integer(arguments[2])
repeats <- as.integer(arguments[3])
set.seed(1)
x <- matrix(stats::rnorm(rows * 50), rows, dimnames = list(NULL, paste0("x", 1:50)))
y <- as.integer(stats::runif(rows) < stats::plogis(drop(x %*% stats::rnorm(50, sd = 1 / 7))))
data <- data.frame(y, x)
folder <- tempfile()
dir.create(folder)
csv <- file.path(folder, "numbers.csv")
packed <- file.path(folder, "numbers.pvt")
write_numbers <- if (requireNamespace("data.table", quietly = TRUE)) data.table::fwrite else function(data, file) utils::write.csv(data, file, row.names = FALSE)
write_numbers(data, csv)
run <- function(...) stopifnot(system2(command, c(...), stdout = FALSE, stderr = FALSE) == 0)
run("pack", csv, "-o", packed)
rm(x)
works <- list(
  `prevail()` = function() prevail(y ~ ., data, prevalence = 0.05),
  `command, CSV` = function() run("fit", csv, "--outcome", "y", "--prevalence", "0.05"),
  `command, packed` = function() run("fit", packed, "--outcome", "y", "--prevalence", "0.05"),
  glm = function() stats::glm(y ~ ., stats::binomial(), data)
)
found <- matrix(Inf, length(works), 2, dimnames = list(names(works), c("processor", "clock")))
for (turn in seq_len(repeats)) {
  for (name in names(works)) {
    gc()
    taken <- system.time(works[[name]]())
    found[name, ] <- pmin(found[name, ], c(sum(taken[-3]), taken[[3]]))
  }
}
unlink(folder, recursive = TRUE)
print(round(found, 2))
cat(sprintf("prevail() over the command: CSV %+.0f %%, packed %+.0f %% of the processor; glm takes %.1f times as long, %.1f by the clock\n",
  100 * (found[1, 1] / found[2, 1] - 1), 100 * (found[1, 1] / found[3, 1] - 1), found[4, 1] / found[1, 1], found[4, 2] / found[1, 2]))
