#!/usr/bin/python3
"""Two classes of Fashion-MNIST that are easily confused, learned balanced, predicted at a prevalence of 0.01.

usage: lab/fashion/run.py [--prevail build/prevail] [--work FOLDER] [--seeds 5] [--jobs 2] [-o lab/fashion]

Needs Debian's dataset-fashion-mnist and NumPy (scripts/setup study). Fits that FOLDER has already are not repeated.
"""
import argparse
import concurrent.futures
import csv
import gzip
import json
import pathlib
import statistics
import subprocess
import sys

import numpy as np

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
CONTROL, CASE, PREVALENCE, PER_CLASS = 0, 6, 0.01, 1000  # T-shirt/top, shirt
FIT = ["--outcome", "labels", "--prevalence", str(PREVALENCE), "--field", "28", "--rotate", "10", "--batch", "32",
       "--epochs", "10", "--rate", "0.002", "--model", "convnet:views=1,size=28,low=8,channels=16-32,features=32"]
METHODS = {
    "ig, profile": ["--loss", "ig", "--marginal", "profile", "--prevalence-n", "known"],
    "ig, auxiliary:constant": ["--loss", "ig", "--marginal", "auxiliary:constant", "--prevalence-n", "known"],
    "ig, auxiliary:linear": ["--loss", "ig", "--marginal", "auxiliary:linear", "--prevalence-n", "known"],
    "iw": ["--loss", "iw"],
    "plain, corrected": ["--loss", "plain"],
    "ig, profile, N = rows": ["--loss", "ig", "--marginal", "profile", "--prevalence-n", "rows"],
    "ig, auxiliary:constant, N = rows": ["--loss", "ig", "--marginal", "auxiliary:constant", "--prevalence-n", "rows"],
    "ig, auxiliary:linear, N = rows": ["--loss", "ig", "--marginal", "auxiliary:linear", "--prevalence-n", "rows"],
}


def idx(name):
    raw = gzip.open(DATA / name).read()
    dims = raw[3]
    shape = [int.from_bytes(raw[4 + 4 * i:8 + 4 * i], "big") for i in range(dims)]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * dims).reshape(shape)


def save(path, images, labels, rows):
    np.savez(path, images=images[rows], labels=(labels[rows] == CASE).astype(np.uint8))


def make_data(work, seeds):
    """train-S.npz: 1000 images of each class, drawn with seed S; rest-S.npz: the others. test.npz: all test images."""
    images, labels = idx("train-images-idx3-ubyte.gz"), idx("train-labels-idx1-ubyte.gz")
    for seed in seeds:
        rng = np.random.default_rng(seed)
        rows = np.concatenate([rng.choice(np.flatnonzero(labels == c), PER_CLASS, replace=False)
                               for c in (CONTROL, CASE)])
        rows = rng.permutation(rows)
        save(work / f"train-{seed}.npz", images, labels, rows)
        rest = np.setdiff1d(np.flatnonzero((labels == CONTROL) | (labels == CASE)), rows)
        save(work / f"rest-{seed}.npz", images, labels, rest)
    images, labels = idx("t10k-images-idx3-ubyte.gz"), idx("t10k-labels-idx1-ubyte.gz")
    save(work / "test.npz", images, labels, np.flatnonzero((labels == CONTROL) | (labels == CASE)))


def file_of(work, method, seed):
    return work / ("".join(c if c.isalnum() else "-" for c in method) + f"-{seed}.model")


def fit(prevail, work, method, seed):
    model = file_of(work, method, seed)
    if not model.exists():
        subprocess.run([prevail, "fit", work / f"train-{seed}.npz", *FIT, *METHODS[method], "--seed", str(seed),
                        "--threads", "1", "--quiet", "-o", model], check=True, stdout=subprocess.DEVNULL)


def mean_over_prevalence(prevail, model, data):
    """Mean predicted probability over the prevalence, and its standard error from the sampling of the images."""
    out = subprocess.run([prevail, "predict", model, data], check=True, capture_output=True, text=True)
    p = np.array([float(row["p__1"]) for row in csv.DictReader(out.stdout.splitlines())])
    y = np.load(data)["labels"]
    share = {0: 1 - PREVALENCE, 1: PREVALENCE}
    mean = sum(share[c] * p[y == c].mean() for c in share)
    variance = sum(share[c] ** 2 * p[y == c].var() / (y == c).sum() for c in share)
    return mean / PREVALENCE, variance ** 0.5 / PREVALENCE


def judge(prevail, work, method, seed):
    """The test set resampled to the prevalence: rows weighted label by label, which is the mean over resamples."""
    model = file_of(work, method, seed)
    found = json.loads(subprocess.run([prevail, "eval", model, work / "test.npz", "--stated-for", str(PREVALENCE),
                                       "--bootstrap", "0", "--json"], check=True, capture_output=True).stdout)
    calibration, error = mean_over_prevalence(prevail, model, work / "test.npz")
    rest, rest_error = mean_over_prevalence(prevail, model, work / f"rest-{seed}.npz")
    metrics = found["metrics"]
    return {"method": method, "seed": seed, "calibration": calibration, "calibration_se": error,
            "calibration_rest": rest, "calibration_rest_se": rest_error,
            "log_likelihood": -metrics["log_loss"]["value"], "auc": metrics["auc"]["value"]}


def write(rows, folder):
    with open(folder / "results.csv", "w", newline="") as out:
        table = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    of = {method: [row for row in rows if row["method"] == method] for method in METHODS}
    iw = {row["seed"]: row["log_likelihood"] for row in of["iw"]}
    lines = ["| method | mean p / prevalence | by seed | on the images left over | log-likelihood (se) | better than iw | AUC |",
             "|---|---|---|---|---|---|---|"]
    for method, some in of.items():
        ratio, ll = [r["calibration"] for r in some], [r["log_likelihood"] for r in some]
        error = statistics.stdev(ll) / len(ll) ** 0.5 if len(ll) > 1 else float("nan")
        better = sum(r["log_likelihood"] > iw[r["seed"]] for r in some)
        lines.append(f"| {method} | {statistics.mean(ratio):.3f} | {', '.join(f'{r:.2f}' for r in ratio)} | "
                     f"{statistics.mean(r['calibration_rest'] for r in some):.3f} | "
                     f"{statistics.mean(ll):.5f} ({error:.5f}) | " + ("–" if method == "iw" else f"{better} of {len(ll)}") +
                     f" | {statistics.mean(r['auc'] for r in some):.4f} |")
    (folder / "table.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prevail", default="build/prevail")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/fashion"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("lab/fashion"))
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"fashion: {DATA} is missing; scripts/setup study installs it")
    options.work.mkdir(parents=True, exist_ok=True)
    seeds = range(1, options.seeds + 1)
    make_data(options.work, seeds)
    tasks = [(method, seed) for seed in seeds for method in METHODS]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda task: fit(options.prevail, options.work, *task), tasks))
        rows = list(pool.map(lambda task: judge(options.prevail, options.work, *task), tasks))
    write(rows, options.output)


if __name__ == "__main__":
    main()
