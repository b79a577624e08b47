"""Sets of labels and calls with a refer region: the oracle of src/sets.

  /usr/bin/python3 tests/oracle/make_sets.py > tests/oracle/sets.txt

rule_*   thresholds by sorting each label's probabilities (repeated by their counts); sizes of the sets of its own rows; ends
         of the 95 % range of the coverage given the calibration rows, scipy's beta quantiles.
side_*   thresholds below which one label may be called: the band of Massart (1990), binomial tests of scipy, fixed sequences
         from the starts that the rows of the right label determine (src/sets/regions.c).
"""
import math

import numpy as np
from scipy.stats import beta, binom

STARTS = [(-1, 0.5), (0, 0.1), (3, 0.1), (8, 0.1), (16, 0.1), (32, 0.1)]


def show(name, values):
    values = np.asarray(values, float).ravel()
    print(f"array {name} {values.size}")
    print(" ".join(repr(float(v)) for v in values))


def rule(name, rng, rows, classes, coverage, digits, counts):
    y = np.r_[np.arange(classes), rng.integers(0, classes, rows - classes)]
    z = rng.normal(size=(rows, classes)) + 1.5 * (np.arange(classes) == y[:, None])
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    # ties: binary fractions whose rows add up to 1 exactly
    p = np.floor(p * 2**digits) / 2**digits
    p[:, -1] = 1 - p[:, :-1].sum(1)
    weight = rng.integers(1, 4, rows) if counts else np.ones(rows, int)
    threshold, ends, sizes = [], [], []
    for label in range(classes):
        own = np.sort(np.repeat(p[y == label, label], weight[y == label]))
        n = len(own)
        k = math.floor(round((n + 1) * (1 - coverage[label]), 9))
        threshold.append(own[k - 1])
        ends += [beta.ppf(0.025, n + 1 - k, k), beta.ppf(0.975, n + 1 - k, k)]
    size = (p >= np.array(threshold)).sum(1)
    for label in range(classes):
        own = np.repeat(size[y == label], weight[y == label])
        sizes += [np.mean(own == 0), np.mean(own == 1), np.mean(own > 1), own.mean()]
    print(f"case rule_{name} rows={rows} classes={classes}")
    for key, values in (("y", y), ("p", p), ("weight", weight), ("coverage", coverage), ("threshold", threshold), ("range", ends), ("sizes", sizes)):
        show(key, values)


def side(name, right, wrong, error, odds, delta, first):
    right, wrong = np.sort(right), np.sort(wrong)
    n, m = len(right), len(wrong)
    at = np.unique(right)
    below = np.searchsorted(right, at, side="right") / n
    tolerance = error / (1 - error) / odds
    bound = tolerance * np.maximum(0, below - math.sqrt(math.log(2 / delta) / (2 * n)))
    x = np.searchsorted(wrong, at, side="right")
    p = np.clip(np.abs(right), 1e-12, 1 - 1e-12)
    likely = p / (1 - p) if first else (1 - p) / p
    expected = np.array([likely[right <= t].sum() for t in at]) / likely.sum()

    def passes(x, t, level):
        return t >= 1 or (x < m and binom.cdf(x, m, t) <= level)

    holds = np.zeros(len(at), bool)
    for rows, share in STARTS:
        level = delta / 2 * share
        if rows < 0:
            power = []
            for t, f in zip(bound, expected):
                most = -1
                while most < m and passes(most + 1, t, level):
                    most += 1
                power.append(binom.cdf(most, m, min(f, 1 - 1e-9)) if most >= 0 else 0)
            i = int(np.argmax(power)) if max(power) > 0 else len(at)
        else:
            i = next((i for i, t in enumerate(bound) if passes(rows, t, level)), len(at))
        while i < len(at) and passes(x[i], bound[i], level):
            holds[i] = True
            i += 1
    print(f"case side_{name} right={n} wrong={m} error={error!r} odds={odds!r} delta={delta!r} first={int(first)}")
    for key, values in (("scores", right), ("others", wrong), ("at", at), ("holds", holds)):
        show(key, values)


def main():
    print("# made by make_sets.py: sets of labels and refer regions")
    rng = np.random.default_rng(20)
    rule("two", rng, 60, 2, [0.9, 0.8], 30, False)
    rule("ties", rng, 80, 2, [0.9, 0.75], 3, True)
    rule("three", rng, 90, 3, [0.9, 0.9, 0.9], 30, False)
    rule("many_ties", rng, 120, 4, [0.8, 0.9, 0.85, 0.5], 4, True)

    def scores(n, shift):
        return np.round(1 / (1 + np.exp(-(2.5 * rng.normal(size=n) + shift))), 4)

    side("negative", scores(300, -3), scores(120, 3), 0.01, 0.02, 0.025, True)
    side("positive", -scores(150, 4), -scores(400, -4), 0.4, 20.0, 0.025, False)
    side("none", scores(200, 0), scores(60, 0.1), 0.001, 0.02, 0.05, True)
    side("easy", scores(200, -2), scores(60, 2), 0.02, 0.01, 0.05, True)
    side("tied", np.round(scores(250, -2), 1), np.round(scores(100, 3), 1), 0.05, 0.1, 0.05, True)


main()
print("end 9")
