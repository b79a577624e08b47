# Peer: R's biglm on chunks of a packed table. usage: Rscript biglm_chunks.R FILE ROWS COLUMNS
# Prints processor and wall-clock seconds and the mean log-likelihood over all rows.
suppressMessages(library(biglm))
argument <- commandArgs(TRUE)
path <- argument[1]; rows <- as.numeric(argument[2]); columns <- as.integer(argument[3])
chunk <- 200000
file <- file(path, "rb")
head <- readLines(file, 2)
begin <- nchar(head[1]) + nchar(head[2]) + 2 + as.numeric(strsplit(head[2], " ")[[1]][1])
close(file)
place <- numeric(columns + 1)
at <- begin
for (j in seq_len(columns + 1)) {
    place[j] <- ceiling(at / 4096) * 4096
    at <- place[j] + 4 * rows
}
file <- file(path, "rb")
take <- function(first) {
    n <- min(chunk, rows - first)
    seek(file, place[1] + 4 * first)
    frame <- data.frame(y = readBin(file, "integer", n, 4))
    for (j in seq_len(columns)) {
        seek(file, place[j + 1] + 4 * first)
        frame[[paste0("x", j)]] <- readBin(file, "numeric", n, 4)
    }
    frame
}
first <- 0
source <- function(reset = FALSE) {
    if (reset) { first <<- 0; return(NULL) }
    if (first >= rows) return(NULL)
    first <<- first + chunk
    take(first - chunk)
}
formula <- as.formula(paste("y ~", paste0("x", seq_len(columns), collapse = " + ")))
clock <- proc.time()
model <- bigglm(formula, source, family = binomial(), maxit = 25)
clock <- proc.time() - clock
total <- 0
for (first in seq(0, rows - 1, chunk)) {
    frame <- take(first)
    z <- drop(cbind(1, as.matrix(frame[-1])) %*% coef(model))
    total <- total + sum(plogis(ifelse(frame$y == 1, z, -z), log.p = TRUE))
}
cat(sprintf('{"seconds": %f, "cpu": %f, "log_likelihood": %.12f}\n', clock[3], clock[1] + clock[2], total / rows))
