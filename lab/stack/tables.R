# Writes tables from R packages as CSV files with the outcome y (0, 1) last. usage: Rscript tables.R FOLDER
folder <- commandArgs(TRUE)[1]
get <- function(package, name) {
  place <- new.env()
  data(list = name, package = package, envir = place)
  as.data.frame(place[[name]])
}
put <- function(name, table, outcome, positive, exclude = NULL) {
  y <- as.integer(table[[outcome]] %in% positive)
  y[is.na(table[[outcome]])] <- NA
  table <- table[setdiff(names(table), c(outcome, exclude))]
  ordered <- vapply(table, is.ordered, NA)
  table[ordered] <- lapply(table[ordered], as.integer)
  write.csv(cbind(table, y = y)[!is.na(y), ], file.path(folder, paste0(name, ".csv")), row.names = FALSE, na = "")
}
put("pima", get("mlbench", "PimaIndiansDiabetes2"), "diabetes", "pos")
put("sonar", get("mlbench", "Sonar"), "Class", "M")
put("ionosphere", get("mlbench", "Ionosphere"), "Class", "bad", c("V1", "V2"))
put("breast", get("mlbench", "BreastCancer"), "Class", "malignant", "Id")
put("credit", get("modeldata", "credit_data"), "Status", "bad")
put("attrition", get("modeldata", "attrition"), "Attrition", "Yes")
put("churn", get("modeldata", "mlc_churn"), "churn", "yes", "state")
put("affairs", transform(get("AER", "Affairs"), some = affairs > 0), "some", TRUE, "affairs")
put("smoking", get("AER", "SmokeBan"), "smoker", "yes")
put("mortgage", get("AER", "HMDA"), "deny", "yes")
put("work", get("carData", "Mroz"), "lfp", "no")
put("birthwt", get("MASS", "birthwt"), "low", 1, "bwt")
put("infert", get("datasets", "infert"), "case", 1, c("stratum", "pooled.stratum"))
put("flchain", get("survival", "flchain"), "death", 1, c("futime", "chapter", "sample.yr"))
put("arrests", get("carData", "Arrests"), "released", "No")
put("spam", get("kernlab", "spam"), "type", "spam")
put("votes", get("mlbench", "HouseVotes84"), "Class", "republican")
put("pbc", subset(get("survival", "pbc"), !is.na(trt)), "status", 2, c("id", "time"))
put("rotterdam", getExportedValue("survival", "rotterdam"), "recur", 1, c("pid", "rtime", "dtime", "death"))
put("contraception", transform(get("mlmRev", "Contraception"), livch = paste("children", livch), district = paste("district", district)), "use", "Y", "woman")
