"""How often intervals of a network's risks hold the truth: Laplace's method over the last layer, and an ensemble of five.

  /usr/bin/python3 lab/coverage/last_layer.py PREVAIL [--replicates 20] [--rows 250] [--epochs 20]

Simulated CT nodules (prevail simulate ct-nodules, whose file has the true probability of each nodule): --rows of either
label to learn from, 300 of either to judge, prevalence 0.02. A small convnet, fitted with seeds 1 to 5. `last layer`: the
first of them with --infer laplace, predict --interval 0.9. `ensemble`: in log odds, the mean of five and 2.13 of their
standard deviations (Student's t, four degrees of freedom) either way. A row counts as held where the interval of its
probability has the true one. `groups`: twenty of rows with neighbouring predictions, by the mean of their true probabilities, weighted to
the population, and the means of their intervals' ends: what a network cannot tell apart it cannot be asked to. Rows of one data
set are not independent, so that standard errors are over data sets.
Written for Python 3 with NumPy; prints one table.
"""
import argparse
import csv
import os
import subprocess
import tempfile

import numpy as np

MODEL = "convnet:views=3,size=16,low=8,channels=8-16-32,features=32"


def run(prevail, *arguments):
    subprocess.run([prevail, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def column(path, name):
    with open(path, newline="") as file:
        return np.array([float(row[name]) for row in csv.DictReader(file)])


def logit(p):
    return np.log(p) - np.log1p(-p)


def judge(truth, weight, centre, low, high):
    """Shares of rows and of groups that are held, mean width and error, all in log odds."""
    groups = []
    for part in np.array_split(np.argsort(centre), 20):
        risk = logit((weight[part] / (1 + np.exp(-truth[part]))).sum() / weight[part].sum())
        groups.append(low[part].mean() <= risk <= high[part].mean())
    held = (low <= truth) & (truth <= high)
    return held.mean(), np.mean(groups), (high - low).mean(), np.abs(centre - truth).mean()


def one(prevail, folder, seed, rows, epochs):
    train, test = os.path.join(folder, "train.npz"), os.path.join(folder, "test.npz")
    run(prevail, "simulate", "ct-nodules", "--cases", rows, "--controls", rows, "--prevalence", 0.02, "--size", 24,
        "--seed", seed, "-o", train)
    run(prevail, "simulate", "ct-nodules", "--cases", 300, "--controls", 300, "--prevalence", 0.02, "--size", 24,
        "--seed", 100000 + seed, "-o", test)
    data = np.load(test)
    truth = logit(data["probability"])
    weight = np.where(data["labels"] == 1, 0.02, 0.98)
    members, bounds, mean = [], None, None
    for s in range(1, 6):
        model, out = os.path.join(folder, "m.model"), os.path.join(folder, "p.csv")
        infer = ["--infer", "laplace", "--draws", 1000] if s == 1 else []
        run(prevail, "fit", train, "--outcome", "labels", "--prevalence", 0.02, "--model", MODEL, "--epochs", epochs,
            "--rate", 0.002, "--threads", 1, "--seed", s, *infer, "-o", model)
        run(prevail, "predict", model, test, "--threads", 1, *(["--interval", 0.9] if s == 1 else []), "-o", out)
        if s == 1:
            bounds = logit(column(out, "lo__1")), logit(column(out, "hi__1"))
            mean = logit(column(out, "p__1"))
        members.append(logit(column(out, "p__1")))
    members = np.array(members)
    centre, reach = members.mean(0), 2.132 * members.std(0, ddof=1)
    return {
        "last layer": judge(truth, weight, mean, *bounds),
        "ensemble": judge(truth, weight, centre, centre - reach, centre + reach),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prevail")
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--rows", type=int, default=250)
    parser.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, options.replicates + 1):
            for name, values in one(options.prevail, folder, seed, options.rows, options.epochs).items():
                found.setdefault(name, []).append(values)
    print("| method | rows | data sets | rows held (se) | groups held (se) | mean width | mean error |\n|---|---|---|---|---|---|---|")
    for name, values in found.items():
        values = np.array(values)
        mean, error = values.mean(0), values.std(0, ddof=1) / np.sqrt(len(values))
        print(f"| {name} | {options.rows} + {options.rows} | {len(values)} | {mean[0]:.3f} ({error[0]:.3f}) "
              f"| {mean[1]:.2f} ({error[1]:.2f}) | {mean[2]:.2f} | {mean[3]:.2f} |", flush=True)


main()
