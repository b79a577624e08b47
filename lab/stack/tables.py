#!/usr/bin/env python3
"""What `--model auto` gains over guessing on tables of R's packages, next to the default and every member alone.

usage: tables.py PREVAIL [--samples N] [--sizes 30,100] [--prevalence P] [--seconds S] [--tables A,B] [--models A,B]

Of each table samples of m rows of either label are drawn at random; every model learns from them and predicts the other
rows. The gain is the mean log probability of the observed label in a population of that prevalence, less that of the
prevalence itself, in nats. Writes a table in Markdown: means over the samples, and the standard error of the mean over
tables. Needs Rscript and the packages AER, carData, MASS, mlbench, modeldata and survival.
"""

import argparse
import csv
import math
import pathlib
import random
import subprocess
import tempfile
import time

PRIORS = ("0.03", "0.1", "0.3", "1", "2.5")
MODELS = {
    "linear (default)": [],
    "auto": ["--model", "auto"],
    **{f"linear normal:{s}": ["--weighting", "0", "--prior", f"normal:{s}"] for s in PRIORS},
    **{f"iw normal:{s}": ["--loss", "iw", "--prior", f"normal:{s}"] for s in ("0.3", "1")},
    **{f"mlp:16 normal:{s}": ["--model", "mlp:16", "--prior", f"normal:{s}"] for s in ("0.25", "0.5", "1")},
}


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def gain(prevail, folder, head, learn, rest, prevalence, options):
    """Mean log score less that of the prevalence; None where the fit is rejected."""
    for name, rows in (("learn", learn), ("rest", rest)):
        with open(folder / f"{name}.csv", "w", newline="") as stream:
            csv.writer(stream).writerows([head, *rows])
    model, said = folder / "a.model", folder / "p.csv"
    for path in (model, said):
        path.unlink(missing_ok=True)
    run(prevail, "fit", folder / "learn.csv", "--outcome", "y", "--positive", "1", "--prevalence", prevalence, "--missing",
        "impute", "--quiet", "-o", model, *options)
    if not model.exists():
        return None
    done = run(prevail, "predict", model, folder / "rest.csv", "--quiet", "-o", said)
    if not said.exists():
        raise SystemExit(done.stderr)
    with open(said) as stream:
        p = [float(row["p__1"]) for row in csv.DictReader(stream)]
    score = {"0": [], "1": []}
    for row, own in zip(rest, p, strict=True):
        score[row[-1]].append(math.log(max(own if row[-1] == "1" else 1 - own, 1e-300)))
    shares = {"0": 1 - prevalence, "1": prevalence}
    return sum(share * (sum(score[y]) / len(score[y]) - math.log(share)) for y, share in shares.items())


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prevail")
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--sizes", default="30,100")
    parser.add_argument("--prevalence", type=float, default=0.1)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--models")
    parser.add_argument("--tables")
    asked = parser.parse_args()
    names = asked.models.split(",") if asked.models else list(MODELS)
    began, settings = time.time(), []
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        subprocess.run(["Rscript", pathlib.Path(__file__).with_name("tables.R"), place], check=True)
        tables = asked.tables.split(",") if asked.tables else sorted(path.stem for path in folder.glob("*.csv"))
        read = {}
        for table in tables:
            with open(folder / f"{table}.csv") as stream:
                read[table] = list(csv.reader(stream))
        for m in map(int, asked.sizes.split(",")):
            for table in tables:
                found = {name: [] for name in names}
                for seed in range(asked.samples):
                    parts = draw(read[table][1:], m, seed)
                    if not parts or time.time() - began > asked.seconds:
                        break
                    for name in names:
                        found[name].append(gain(asked.prevail, folder, read[table][0], *parts, asked.prevalence, MODELS[name]))
                if found[names[0]]:
                    means = {name: sum(x for x in own if x is not None) / max(1, sum(x is not None for x in own))
                             for name, own in found.items()}
                    settings.append((table, m, means))
                    print(f"{table} {m}: " + ", ".join(f"{name} {x:+.3f}" for name, x in means.items()), flush=True)
    tell(names, settings)


def tell(names, settings):
    members = [name for name in names if name not in ("linear (default)", "auto")]
    mean = {name: sum(s[2][name] for s in settings) / len(settings) for name in names}
    worst = {name: min(s[2][name] for s in settings) for name in names}
    print("\n| table, rows of each label | linear (default) | auto | best member of this table |\n|---|---|---|---|")
    for table, m, own in settings:
        best = max(members, key=lambda name: own[name], default=None)
        print(f"| {table}, {m} | {own.get(names[0]):+.3f} | {own.get('auto', math.nan):+.3f} | "
              + (f"{own[best]:+.3f} ({best}) |" if best else "|"))
    print("\n| model | mean gain | worst setting |\n|---|---|---|")
    for name in names:
        print(f"| {name} | {mean[name]:+.4f} | {worst[name]:+.3f} |")


if __name__ == "__main__":
    main()
