"""How often intervals hold the truth where rows were sampled by stratum and label.

    python3 coverage.py PREVAIL SAMPLES [ROWS [COHORT]]

A population of S strata whose prevalences, shares and sampling differ; the model is right. Each sample is fitted by
`prevail fit --strata --infer laplace` with the true prevalences (known), or with a new cohort's counts (counts), and by
`--loss iw`, the weighted estimator. Printed for each cell: the share of 90 % intervals of the slopes, and of the log odds
of ten people, that hold the truth; and the mean squared error of the slopes over that of the weighted estimator.
"""
import csv
import json
import subprocess
import sys
import tempfile

import numpy as np

SLOPES = np.array([0.8, -0.5])
ROWS = int(sys.argv[3]) if len(sys.argv) > 3 else 600  # of a sample
COHORT = int(sys.argv[4]) if len(sys.argv) > 4 else 20000


def population(strata):
    """Intercepts, shares, and means of x1 by stratum."""
    at = np.arange(strata)
    share = (1.0 + at % 3) / np.sum(1.0 + at % 3)
    return -4.0 + 2.0 * at / max(strata - 1, 1), share, 0.6 * (at % 2)


def draw_x(rng, n, mean):
    return np.column_stack([rng.normal(mean, 1, n), rng.normal(0, 1, n)])


def true_prevalence(intercept, mean):
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    scale = np.hypot(*SLOPES)  # the linear predictor is normal
    eta = intercept + SLOPES[0] * mean + scale * nodes
    return np.sum(weights / np.sum(weights) / (1 + np.exp(-eta)))


def draw_labelled(rng, label, n, intercept, mean):
    """n rows of one label, by rejection."""
    rows = np.empty((0, 2))
    while len(rows) < n:
        x = draw_x(rng, 4096, mean)
        p = 1 / (1 + np.exp(-(intercept + x @ SLOPES)))
        rows = np.concatenate([rows, x[(rng.random(len(p)) < p) == label]])
    return rows[:n]


def write(path, header, rows):
    with open(path, "w", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(header)
        out.writerows(rows)


def sample(rng, strata, balanced, counts, folder):
    intercept, share, mean = population(strata)
    prevalence = np.array([true_prevalence(b, m) for b, m in zip(intercept, mean)])
    per = ROWS // strata
    rows, cohort = [], []
    for s in range(strata):
        cases = per // 2 if balanced else per * (1 + s % 3) // 4
        controls = per - cases
        if counts:
            size = rng.poisson(COHORT * share[s])
            people = rng.binomial(size, prevalence[s])
            cases, controls = min(cases, people), min(controls, size - people)
            cohort += [[f"s{s}", 1, people], [f"s{s}", 0, size - people]]
        for label, n in ((1, cases), (0, controls)):
            rows += [[a, b, f"s{s}", label] for a, b in draw_labelled(rng, label, n, intercept[s], mean[s])]
    write(f"{folder}/rows.csv", ["x1", "x2", "site", "y"], rows)
    if counts:
        write(f"{folder}/known.csv", ["site", "y", "count"], cohort)
    else:
        write(f"{folder}/known.csv", ["site", "prevalence", "share"],
              [[f"s{s}", prevalence[s], share[s]] for s in range(strata)])


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise SystemExit(done.stderr)
    return done.stdout


def fit(prevail, folder, counts, more):
    file = ["--phase-one" if counts else "--prevalence-by", f"{folder}/known.csv"]
    out = run([prevail, "fit", f"{folder}/rows.csv", "--target", "y", "--strata", "site", *file, "--threads", "1",
               "--json", "-o", f"{folder}/model", *more])
    return json.loads(out)["coefficients"]


def cell(prevail, samples, strata, balanced, counts):
    intercept, _, mean = population(strata)
    held, risks, ours, weighted = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        people = draw_x(np.random.default_rng(1), 10, 0.3)
        site = np.arange(10) % strata
        write(f"{folder}/people.csv", ["x1", "x2", "site"], [[a, b, f"s{s}"] for (a, b), s in zip(people, site)])
        truth = 1 / (1 + np.exp(-(intercept[site] + people @ SLOPES)))
        for seed in range(samples):
            sample(np.random.default_rng([seed, strata, balanced, counts]), strata, balanced, counts, folder)
            found = fit(prevail, folder, counts, ["--infer", "laplace"])
            held += [found[x]["lo"] <= b <= found[x]["hi"] for x, b in zip(("x1", "x2"), SLOPES)]
            ours.append([found[x]["value"] for x in ("x1", "x2")])
            run([prevail, "predict", f"{folder}/model", f"{folder}/people.csv", "--interval", "0.9", "--threads", "1",
                 "-o", f"{folder}/out.csv"])
            with open(f"{folder}/out.csv") as stream:
                risks += [float(r["lo__1"]) <= p <= float(r["hi__1"]) for r, p in zip(csv.DictReader(stream), truth)]
            other = fit(prevail, folder, counts, ["--loss", "iw", "--infer", "ml"])
            weighted.append([other[x]["value"] for x in ("x1", "x2")])
    error = [np.mean((np.array(e) - SLOPES) ** 2) for e in (ours, weighted)]
    print(f"| {strata} | {'balanced' if balanced else 'not'} | {'counts' if counts else 'known'} | "
          f"{np.mean(held):.3f} | {np.mean(risks):.3f} | {error[0] / error[1]:.2f} |", flush=True)


if __name__ == "__main__":
    print("| strata | labels | prevalence | slopes | risks | error |\n|---|---|---|---|---|---|")
    for strata in (2, 5, 10):
        for balanced in (True, False):
            for counts in (False, True):
                cell(sys.argv[1], int(sys.argv[2]), strata, balanced, counts)
