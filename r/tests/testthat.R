library(testthat)
library(prevail)

test_check("prevail")
