#!/usr/bin/env python3
"""What `--model auto` gains over guessing on tables of R's packages, next to the default, every member alone and others.

usage: tables.py PREVAIL [--samples N] [--sizes 30,100] [--prevalences 0.1,0.01] [--tables A,B] [--models A,B]
                 [--jobs J] [--seconds S] [--kept FILE]

Of each table samples of m rows of either label are drawn at random; every model learns from them and predicts the other
rows, of either label at most 1,000. The gain is the mean log probability of the observed label in a population of that
prevalence, less that of the prevalence itself, in nats. Calibration is that of these predictions in that population:
the slope of a logistic regression on their log odds, and their mean over the prevalence.

Prints tables in Markdown: means over the samples of each setting (a table, a size and a prevalence), paired standard
errors over settings. Rows of FILE, JSON, are kept results: a run that is interrupted goes on where it was, and with
--seconds 0 it only prints. Samples come first, so that each prefix of the work has about as many of every setting.
Competitors are corrected to the prevalence: scikit-learn's LogisticRegressionCV (log score, five folds, standardised
columns) and XGBoost's classifier with its defaults.

Needs Rscript and the packages AER, carData, kernlab, MASS, mlbench, mlmRev, modeldata and survival; for competitors
scikit-learn, pandas and xgboost. The table `contraception` is left out unless --tables names it: it was chosen as a final check
before the others were looked at.
"""

import argparse
import concurrent.futures
import csv
import hashlib
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

CHECK = "contraception"
MEMBERS = {
    **{f"linear normal:{s}": ["--weighting", "0", "--prior", f"normal:{s}"] for s in ("0.03", "0.1", "0.3", "1", "2.5")},
    **{f"iw normal:{s}": ["--loss", "iw", "--prior", f"normal:{s}"] for s in ("0.3", "1")},
    **{f"additive normal:{s}": ["--model", "additive", "--prior", f"normal:{s}"] for s in ("0.3", "1")},
    **{f"mlp:16 normal:{s}": ["--model", "mlp:16", "--prior", f"normal:{s}"] for s in ("0.25", "0.5", "1")},
    **{f"trees:{s}": ["--model", f"trees:{s}"] for s in ("2,30", "4,60,leaf=3", "4,300,leaf=3")},
}
MODELS = {
    "linear (default)": [],
    "auto": ["--model", "auto"],
    **MEMBERS,
    "additive (default)": ["--model", "additive"],
    "LogisticRegressionCV": "logistic",
    "XGBoost": "boosted",
}


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def of_prevail(prevail, folder, prevalence, options):
    """Risks of rest.csv; None where the fit is rejected."""
    model, made = folder / "a.model", folder / "p.csv"
    for path in (model, made):
        path.unlink(missing_ok=True)
    done = run(prevail, "fit", folder / "learn.csv", "--outcome", "y", "--positive", "1", "--prevalence", prevalence, "--missing", "impute",
        "--constant", "drop", "--threads", "1", "--quiet", "-o", model, *options)
    if not model.exists():
        print(done.stderr, file=sys.stderr)
        return None
    done = run(prevail, "predict", model, folder / "rest.csv", "--threads", "1", "--quiet", "-o", made)
    if not made.exists():
        raise SystemExit(done.stderr)
    with open(made) as stream:
        return np.array([float(row["p__1"]) for row in csv.DictReader(stream)])


def of_others(kind, folder, prevalence):
    """A competitor's risks of rest.csv, moved from the sample's equal labels to the prevalence."""
    import pandas as pd
    learn, rest = (pd.read_csv(folder / f"{name}.csv") for name in ("learn", "rest"))
    y, n = learn.pop("y").to_numpy(), len(learn)
    both = pd.get_dummies(pd.concat([learn, rest.drop(columns="y")]), drop_first=True).astype(float)
    if kind == "boosted":
        from xgboost import XGBClassifier
        x = both.to_numpy()
        p = XGBClassifier(n_jobs=1).fit(x[:n], y).predict_proba(x[n:])[:, 1]
    else:
        from sklearn.linear_model import LogisticRegressionCV
        centre, sd = both[:n].mean(), both[:n].std()
        x = ((both.fillna(centre) - centre) / sd).loc[:, sd > 0].to_numpy()
        p = LogisticRegressionCV(scoring="neg_log_loss", cv=5, max_iter=1000).fit(x[:n], y).predict_proba(x[n:])[:, 1]
    p = np.clip(p.astype(float), 1e-15, 1 - 1e-15)
    return 1 / (1 + np.exp(-(np.log(p / (1 - p)) + math.log(prevalence / (1 - prevalence)))))


def evaluate(p, y, prevalence):
    """(gain, mean over the prevalence, slope of calibration): weighted to the population."""
    p = np.clip(p, 1e-15, 1 - 1e-15)
    a = np.where(y, prevalence / y.mean(), (1 - prevalence) / (1 - y.mean())) / len(y)
    guess = prevalence * math.log(prevalence) + (1 - prevalence) * math.log1p(-prevalence)
    gain = float(a @ np.where(y, np.log(p), np.log1p(-p)) - guess)
    return gain, float(a @ p / prevalence), slope(np.log(p / (1 - p)), y, a)


def slope(z, y, a):
    """Of a logistic regression of y on z with weights a; NaN where there is none."""
    x, w = np.column_stack([np.ones_like(z), z]), np.array([0.0, 1.0])
    if np.ptp(z) < 1e-6:
        return math.nan
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(x @ w, -700, 700)))
        h = (x * (a * p * (1 - p))[:, None]).T @ x
        try:
            step = np.linalg.solve(h + 1e-12 * np.eye(2) * np.trace(h), x.T @ (a * (y - p)))
        except np.linalg.LinAlgError:
            return math.nan
        w += np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            return float(w[1])
    return math.nan


def draw(rows, m, seed):
    """m rows of each label, and the others, at most 2000 of them; None where too few are left."""
    chance = random.Random(seed)
    learn, rest = [], []
    for y in "01":
        own = [row for row in rows if row[-1] == y]
        if len(own) < m + 20:
            return None
        chance.shuffle(own)
        learn += own[:m]
        rest += own[m : m + 1000]
    return learn, rest


def work(prevail, head, rows, names, table, m, prevalence, seed):
    """One sample: by model, what `evaluate` returns; None where too few rows are there."""
    parts = draw(rows, m, seed)
    if not parts:
        return None
    found = {}
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for name, own in zip(("learn", "rest"), parts):
            with open(folder / f"{name}.csv", "w", newline="") as stream:
                csv.writer(stream).writerows([head, *own])
        y = np.array([row[-1] == "1" for row in parts[1]])
        for name in names:
            how = MODELS[name]
            p = of_others(how, folder, prevalence) if isinstance(how, str) else of_prevail(prevail, folder, prevalence, how)
            if p is not None:
                found[name] = evaluate(p, y, prevalence)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prevail")
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--sizes", default="30,100")
    parser.add_argument("--prevalences", default="0.1")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kept", type=pathlib.Path)
    parser.add_argument("--models")
    parser.add_argument("--tables")
    asked = parser.parse_args()
    names = asked.models.split(";") if asked.models else list(MODELS)
    kept, began, lock = {}, time.time(), threading.Lock()
    if asked.kept and asked.kept.exists():
        for line in asked.kept.read_text().splitlines():
            key, found = json.loads(line)
            kept[tuple(key)] = found
    if asked.seconds > 0:
        with tempfile.TemporaryDirectory() as place, concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
            subprocess.run(["Rscript", pathlib.Path(__file__).with_name("tables.R"), place], check=True)
            read = {path.stem: list(csv.reader(open(path))) for path in sorted(pathlib.Path(place).glob("*.csv"))}
            tables = asked.tables.split(",") if asked.tables else [table for table in read if table != CHECK]

            def one(table, m, prevalence, seed):
                key = table, m, prevalence, seed
                if key in kept or time.time() - began > asked.seconds:
                    return
                own = int.from_bytes(hashlib.sha256(f"{table} {m} {seed}".encode()).digest()[:8], "little")
                found = work(asked.prevail, read[table][0], read[table][1:], names, table, m, prevalence, own)
                with lock:
                    if found:
                        kept[key] = found
                    if found and asked.kept:
                        with open(asked.kept, "a") as stream:
                            stream.write(json.dumps([key, found]) + "\n")

            jobs = [pool.submit(one, table, m, prevalence, seed) for seed in range(asked.samples)
                    for m in map(int, asked.sizes.split(",")) for prevalence in map(float, asked.prevalences.split(","))
                    for table in tables]
            for job in jobs:
                job.result()
    report(names, kept)


def means_of(kept):
    """By setting and model, means over samples of (gain, ratio, slope), and how many samples there are."""
    settings = {}
    for (table, m, prevalence, _), found in sorted(kept.items()):
        settings.setdefault((prevalence, m, table), []).append(found)
    return {key: ({name: np.nanmean([[math.nan if v is None else v for v in one[name]] for one in each if name in one], axis=0)
                   for name in each[0]}, len(each)) for key, each in settings.items()}


def error(x):
    x = np.asarray(x, float)
    return x.std(ddof=1) / math.sqrt(len(x)) if len(x) > 1 else math.nan


def report(names, kept):
    np.seterr(all="ignore")
    import warnings
    warnings.simplefilter("ignore")
    settings = means_of(kept)
    members = [name for name in names if name in MEMBERS]
    for prevalence in sorted({key[0] for key in settings}, reverse=True):
        own = {key[1:]: value for key, value in settings.items() if key[0] == prevalence}
        print(f"\n## prevalence {prevalence}: {len(own)} settings, {sum(n for _, n in own.values())} samples\n")
        report_settings(own, members, [name for name in ("linear (default)", "auto", "LogisticRegressionCV", "XGBoost") if name in names])
        report_models(names, own)
        if "auto" in names:
            report_auto(own, members)


def report_settings(own, members, shown):
    print("| table, rows of each label | samples | " + " | ".join(shown) + " | best member |")
    print("|---|---|" + "---|" * (len(shown) + 1))
    for (m, table), (mean, n) in own.items():
        here = [name for name in members if name in mean]
        best = max(here, key=lambda name: mean[name][0], default=None)
        print(f"| {table}, {m} | {n} | " + " | ".join(f"{mean[name][0]:+.3f}" if name in mean else "–" for name in shown)
              + (f" | {mean[best][0]:+.3f} ({best}) |" if best else " | |"))


def report_models(names, own):
    print("\n| model | settings | mean gain | worst setting | settings below −0.01 | auto's gain less this, paired | standard error |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        gain = [mean[name][0] for mean, _ in own.values() if name in mean]
        if not gain:
            continue
        less = [mean["auto"][0] - mean[name][0] for mean, _ in own.values() if name in mean and "auto" in mean]
        print(f"| {name} | {len(gain)} | {np.mean(gain):+.4f} | {min(gain):+.3f} | {sum(g < -0.01 for g in gain)} | "
              + (f"{np.mean(less):+.4f} | {error(less):.4f} |" if less and name != "auto" else "| |"))


def report_auto(own, members):
    regret = [max(mean[name][0] for name in members if name in mean) - mean["auto"][0] for mean, _ in own.values()
              if "auto" in mean and any(name in mean for name in members)]
    if regret:
        print(f"\nregret of auto to the best member of each setting, chosen after the fact: {np.mean(regret):.4f} (standard error {error(regret):.4f})")
    there = [mean["auto"] for mean, _ in own.values() if "auto" in mean]
    if not there:
        return
    gain, ratio, steep = np.array(there).T
    some = np.isfinite(steep) & (gain > 0.01)
    print(f"calibration of auto: mean risk over prevalence {ratio.mean():.3f} ({error(ratio):.3f}); slope, median of all settings "
          f"{np.nanmedian(steep):.2f}, mean of {some.sum()} settings with a gain above 0.01 {steep[some].mean():.2f} ({error(steep[some]):.2f})")


if __name__ == "__main__":
    main()
