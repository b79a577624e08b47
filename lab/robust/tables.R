# Tables of Debian's R packages that are populations of their own, for prevail-lab robust --data:
#
#   Rscript lab/robust/tables.R FOLDER
#
# nwtco (survival): relapse of Wilms' tumour in the children of two national trials; flchain (survival): death within two
# years among the residents of Olmsted County, with serum free light chains; hmda (AER): mortgages denied in Boston.
folder <- commandArgs(trailingOnly = TRUE)[1]
write <- function(d, name) write.csv(d, file.path(folder, name), row.names = FALSE, quote = FALSE)
data(nwtco, package = "survival", envir = environment())
data(flchain, package = "survival", envir = environment())
data(HMDA, package = "AER", envir = environment())
write(with(nwtco, data.frame(age, stage, histology = histol, institution = instit, trial = study, relapse = rel)),
      "nwtco.csv")
known <- with(flchain, futime >= 730 | death == 1)
write(with(flchain[known, ], data.frame(age, sex, kappa, lambda, died = as.integer(death == 1 & futime < 730))),
      "flchain.csv")
write(with(HMDA, data.frame(payment = pirat, housing = hirat, value = lvrat, credit = as.integer(chist), mortgage =
      as.integer(mhist), record = phist, unemployment = unemp, self = selfemp, insurance, denied = deny)), "hmda.csv")
