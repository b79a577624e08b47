#!/usr/bin/python3
"""Linear models of few rows on public tables: mean log score, less that of predicting the prevalence for everyone.

usage: few_rows.py PREVAIL [SAMPLES [OTHER]]     SAMPLES (5) of each size; OTHER: a second command, for comparison

As many cases as controls are drawn, 30, 100 and 300 of each where at most three fifths of a label are; the other rows are
predicted, restated to a prevalence of 0.1, risks no closer to 0 and 1 than 1e-15. Tables are those of R packages of Debian: MASS, survival, mlbench, kernlab,
modeldata, rpart, boot, AER (r-cran-NAME). Nats per row, positive: better than guessing.
"""
import collections
import io
import os
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

PREVALENCE, SIZES, MOST_ROWS = 0.1, (30, 100, 300), 2000
TABLES = r"""
of <- function(name, package) {
    e <- new.env()
    suppressWarnings(data(list = name, package = package, envir = e))
    as.data.frame(if (exists(name, e)) e[[name]] else getExportedValue(package, name))
}
save <- function(name, d, outcome, leave = NULL) {
    d <- d[!is.na(outcome), setdiff(names(d), leave), drop = FALSE]
    for (i in names(d)) if (is.logical(d[[i]])) d[[i]] <- factor(d[[i]])
    d$outcome <- ifelse(outcome[!is.na(outcome)], "yes", "no")
    write.csv(d, file.path(out, paste0(name, ".csv")), row.names = FALSE, na = "")
}
out <- commandArgs(TRUE)[1]
d <- rbind(MASS::Pima.tr, MASS::Pima.te); save("pima", d, d$type == "Yes", "type")
d <- MASS::biopsy; save("biopsy", d, d$class == "malignant", c("ID", "class"))
d <- MASS::birthwt; d$race <- factor(d$race, labels = c("white", "black", "other")); save("birthwt", d, d$low == 1, c("low", "bwt"))
d <- survival::pbc; d <- d[!is.na(d$trt), ]; save("pbc", d, d$status == 2, c("id", "time", "status"))
d <- survival::rotterdam; save("rotterdam", d, d$recur == 1, c("pid", "rtime", "recur", "dtime", "death"))
d <- survival::colon; d <- d[d$etype == 2, ]; save("colon", d, d$status == 1, c("id", "study", "status", "time", "etype"))
d <- survival::flchain; save("flchain", d, d$death == 1, c("futime", "death", "chapter"))
d <- of("Sonar", "mlbench"); save("sonar", d, d$Class == "M", "Class")
d <- of("Ionosphere", "mlbench"); save("ionosphere", d, d$Class == "bad", c("Class", "V2"))
d <- of("HouseVotes84", "mlbench"); save("votes", d, d$Class == "republican", "Class")
d <- of("spam", "kernlab"); save("spam", d, d$type == "spam", "type")
d <- of("income", "kernlab"); save("income", d, d$INCOME %in% levels(d$INCOME)[7:9], "INCOME")
d <- of("attrition", "modeldata"); save("attrition", d, d$Attrition == "Yes", "Attrition")
d <- of("credit_data", "modeldata"); save("credit", d, d$Status == "bad", "Status")
d <- of("mlc_churn", "modeldata"); save("churn", d, d$churn == "yes", "churn")
d <- of("two_class_dat", "modeldata"); save("two", d, d$Class == levels(d$Class)[1], "Class")
d <- rpart::stagec; save("stagec", d, d$pgstat == 1, c("pgtime", "pgstat"))
d <- of("HMDA", "AER"); save("hmda", d, d$deny == "yes", "deny")
d <- of("PSID1976", "AER"); save("labour", d, d$participation == "yes", c("participation", "hours", "wage", "repwage"))
d <- of("Affairs", "AER"); save("affairs", d, d$affairs > 0, "affairs")
d <- of("SwissLabor", "AER"); save("swiss", d, d$participation == "yes", "participation")
"""


def score(p, y):
    p = np.clip(p, 1e-15, 1 - 1e-15)
    guess = PREVALENCE * np.log(PREVALENCE) + (1 - PREVALENCE) * np.log1p(-PREVALENCE)
    return PREVALENCE * np.log(p[y]).mean() + (1 - PREVALENCE) * np.log1p(-p[~y]).mean() - guess


def ours(command, folder, options=()):
    """Risks of rest.csv by a fit to sample.csv; NaN: none was made."""
    model, sample, rest = (os.path.join(folder, name) for name in ("model", "sample.csv", "rest.csv"))
    fit = subprocess.run([command, "fit", sample, "--outcome", "outcome", "--prevalence", f"yes={PREVALENCE}", "--missing", "indicator",
                          "-o", model, "--quiet", *options], capture_output=True, text=True)
    made = subprocess.run([command, "predict", model, rest, "--quiet"], capture_output=True, text=True)
    if fit.returncode not in (0, 3) or made.returncode:
        print(fit.stderr, made.stderr, file=sys.stderr)
        return None
    return pd.read_csv(io.StringIO(made.stdout)).p__yes.to_numpy()


def theirs(train, rest):
    """scikit-learn's default, standardised columns and indicators, corrected to the prevalence."""
    both = pd.get_dummies(pd.concat([train, rest]).drop(columns="outcome"), drop_first=True).astype(float)
    n = len(train)
    fill, sd = both[:n].mean(), both[:n].std()
    x = ((both.fillna(fill) - fill) / sd).loc[:, sd > 0].to_numpy()
    fit = LogisticRegression(max_iter=1000).fit(x[:n], train.outcome == "yes")
    return 1 / (1 + np.exp(-(fit.decision_function(x[n:]) + np.log(PREVALENCE / (1 - PREVALENCE)))))


def usable(train, rest):
    """Without columns that are constant in the sample, and without rows whose levels it lacks."""
    keep = [c for c in train if train[c].nunique() > 1]
    known = np.ones(len(rest), bool)
    for c in keep:
        if train[c].dtype == object:
            known &= rest[c].isin(train[c]) | rest[c].isna()
        if not train[c].isna().any():
            known &= rest[c].notna()
    return train[keep], rest.loc[known, keep]


def main(command, samples=5, other=None):
    gained = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "tables.R")
        with open(script, "w", encoding="utf-8") as file:
            file.write(TABLES)
        subprocess.run(["Rscript", script, folder], check=True, capture_output=True)
        for name in sorted(n for n in os.listdir(folder) if n.endswith(".csv")):
            table = pd.read_csv(os.path.join(folder, name), keep_default_na=False, na_values=[""])
            case = np.flatnonzero(table.outcome == "yes"), np.flatnonzero(table.outcome == "no")
            for m in SIZES:
                if m > 0.6 * min(map(len, case)):
                    continue
                for sample in range(samples):
                    random = np.random.default_rng([sample, m])
                    drawn = np.concatenate([random.permutation(rows)[:m] for rows in case])
                    left = random.permutation(np.setdiff1d(np.arange(len(table)), drawn))[:MOST_ROWS]
                    train, rest = usable(table.iloc[drawn], table.iloc[left])
                    train.to_csv(os.path.join(folder, "sample.csv"), index=False)
                    rest.to_csv(os.path.join(folder, "rest.csv"), index=False)
                    y = (rest.outcome == "yes").to_numpy()
                    risks = {"default": ours(command, folder), "normal:2.5": ours(command, folder, ["--prior", "normal:2.5"]),
                             "sklearn": theirs(train, rest)}
                    if other:
                        risks["other"] = ours(other, folder)
                    if any(p is None for p in risks.values()):
                        continue
                    gained[name[:-4], m, len(train.columns) - 1].append({k: score(p, y) for k, p in risks.items()})
                os.remove(os.path.join(folder, "sample.csv"))
                os.remove(os.path.join(folder, "rest.csv"))
    report(gained)


def report(gained):
    rows = collections.defaultdict(list)
    for (name, m, _), each in gained.items():
        rows[name, m] += each
    columns = list(next(iter(rows.values()))[0])
    print("| table, m + m | " + " | ".join(columns) + " | default's standard error |\n|" + "---|" * (len(columns) + 2))
    means = []
    for (name, m), each in rows.items():
        means.append([np.mean([one[c] for one in each]) for c in columns])
        error = np.std([one["default"] for one in each], ddof=1) / len(each) ** 0.5 if len(each) > 1 else np.nan
        print(f"| {name}, {m} | " + " | ".join(f"{v:+.3f}" for v in means[-1]) + f" | {error:.3f} |")
    means = np.array(means)
    print(f"| mean of {len(means)} | " + " | ".join(f"{v:+.3f}" for v in means.mean(0)) + " | |")
    print("| worst | " + " | ".join(f"{v:+.3f}" for v in means.min(0)) + " | |")
    print("| worse than guessing by 0.01 | " + " | ".join(str(v) for v in (means < -0.01).sum(0)) + " | |")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]), *sys.argv[3:4])
