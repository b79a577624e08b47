"""Intervals of the stratified bootstrap with NumPy, the oracle of pv_assess_intervals.

  /usr/bin/python3 tests/oracle/make_bootstrap.py > tests/oracle/bootstrap.txt

Rows are drawn within labels, counts multinomial in the weights (Poisson, scaled to the label's mass, where these are no
counts). Units (clusters, rows with sampling weights) are drawn within blocks as Rao and Wu (1988) do, one fewer than there
are, and the labels' masses are restored. For each metric: the bounds, and how far those of another run of 20,000 replicates may be off, four standard
errors of the quantile's probability on either side. Areas are sums over pairs of rows, not over ranks.
"""
import numpy as np
from scipy.special import log_softmax

R, OTHER, LEVEL = 40000, 20000, 0.9
CASES = [
    # name, rows, classes, weights, ties, stated for
    ("two", 60, 2, "", False, None),
    ("two_ties_stated", 60, 2, "", True, [0.9, 0.1]),
    ("two_counts", 30, 2, "count", False, None),
    ("two_real", 60, 2, "real", False, [0.7, 0.3]),
    ("three", 60, 3, "", False, None),
    ("three_stated", 60, 3, "", False, [0.5, 0.3, 0.2]),
    ("clusters", 60, 2, "", False, None, "mixed"),
    ("clusters_counts", 60, 2, "count", False, [0.8, 0.2], "mixed"),
    ("clusters_of_a_label", 60, 2, "", False, [0.63, 0.37], "pure"),
    ("clusters_three", 60, 3, "", False, None, "mixed"),
    ("survey", 60, 2, "real", False, [0.7, 0.3], "survey"),
    ("sampling", 60, 2, "real", False, None, "sampling"),
]


def array(name, values):
    values = np.ravel(values)
    print("array", name, len(values))
    print(*("%.17g" % v for v in values))


def draw(rng, label, weight, classes):
    counts = np.zeros((R, len(label)))
    for c in range(classes):
        i = np.flatnonzero(label == c)
        total = weight[i].sum()
        if np.all(weight == np.round(weight)):
            counts[:, i] = rng.multinomial(int(total), weight[i] / total, size=R)
        else:
            drawn = rng.poisson(weight[i], size=(R, len(i)))
            counts[:, i] = drawn * total / drawn.sum(1, keepdims=True)
    return counts


def make_units(rng, kind, label):
    """The unit of each row, and the stratum of a survey or None."""
    n = len(label)
    if kind == "sampling":
        return np.arange(n), None
    if kind == "pure":
        return 2 * rng.integers(0, 10, n) + label, None
    unit = rng.integers(0, 20, n)
    return unit, unit // 5 if kind == "survey" else None


def draw_units(rng, label, weight, classes, unit, stratum):
    names, unit = np.unique(unit, return_inverse=True)
    within = stratum if stratum is not None else label
    block = np.zeros(len(names), int)
    if all(len(set(within[unit == g])) == 1 for g in range(len(names))):
        block = np.array([within[unit == g][0] for g in range(len(names))])
    times = np.zeros((R, len(names)))
    for b in np.unique(block):
        own = np.flatnonzero(block == b)
        times[:, own] = rng.multinomial(len(own) - 1, np.full(len(own), 1 / len(own)), size=R) * len(own) / (len(own) - 1)
    counts = times[:, unit] * weight
    for c in range(classes):
        i = np.flatnonzero(label == c)
        counts[:, i] *= weight[i].sum() / counts[:, i].sum(1, keepdims=True)
    return counts


def area(label, score, counts, a, b):
    i, j = label == a, label == b
    kernel = (score[i][:, None] > score[j]) + 0.5 * (score[i][:, None] == score[j])
    return np.einsum("ri,ij,rj->r", counts[:, i], kernel, counts[:, j]) / counts[:, i].sum(1) / counts[:, j].sum(1)


def ece(p, right, w):
    order = np.argsort(p, kind="stable")
    value, group = np.unique(p, return_inverse=True)
    mass = np.bincount(group, w)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    bins = np.minimum((10 * middle).astype(int), 9)[group]
    return np.abs(np.bincount(bins, w * (p - right), 10)).sum() / mass.sum()


def metrics(label, log_p, counts, stated):
    """Arrays over replicates; counts [R][n]."""
    n, classes = log_p.shape
    p, d = np.exp(log_p), log_p.argmax(1)
    mass = np.stack([counts[:, label == c].sum(1) for c in range(classes)], 1)
    total = mass.sum(1, keepdims=True)
    W = counts * (np.array(stated) * total / mass if stated else np.ones_like(mass))[:, label]
    all_ = W.sum(1)
    out = {}
    mean = lambda x: (W * x).sum(1) / all_
    out["log_loss"] = mean(-log_p[np.arange(n), label])
    out["accuracy"] = mean(d == label)
    last = classes - 1
    pos, dec = label == last, d == last
    with np.errstate(invalid="ignore", divide="ignore"):
        out["tpr"] = W[:, pos & dec].sum(1) / W[:, pos].sum(1)
        out["tnr"] = W[:, ~pos & ~dec].sum(1) / W[:, ~pos].sum(1)
        out["ppv"] = W[:, pos & dec].sum(1) / W[:, dec].sum(1)
        out["npv"] = W[:, ~pos & ~dec].sum(1) / W[:, ~dec].sum(1)
    out["brier"] = mean(((p - np.eye(classes)[label]) ** 2).sum(1) / (2 if classes == 2 else 1))
    if classes == 2:
        out["auc"] = area(label, log_p[:, 1] - log_p[:, 0], counts, 1, 0)
        score, right = p[:, 1], label == 1
    else:
        pairs = [(a, b) for a in range(classes) for b in range(classes) if a != b]
        out["auc"] = np.mean([area(label, log_p[:, a], counts, a, b) for a, b in pairs], 0)
        score, right = p.max(1), label == d
        out["one_off_accuracy"] = mean(np.abs(label - d) <= 1)
    out["ece"] = np.array([ece(score, right, w) for w in W])
    return out


def bounds(values, q):
    values = np.sort(values[np.isfinite(values)])
    se = 4 * np.sqrt(q * (1 - q) * (1 / R + 1 / OTHER))
    at, low, high = np.quantile(values, [q, q - se, q + se])
    return at, max(at - low, high - at)


def main():
    print("# Made by tests/oracle/make_bootstrap.py with NumPy %s." % np.__version__)
    for seed, (name, n, classes, weights, ties, stated, *units) in enumerate(CASES):
        rng = np.random.default_rng(500 + seed)
        label = np.arange(n) % classes
        logits = 1.2 * rng.normal(size=(n, classes)) + 1.2 * np.eye(classes)[label]
        if ties:
            logits = np.round(logits)
        log_p = log_softmax(logits, axis=1)
        weight = np.ones(n)
        if weights == "count":
            weight = rng.integers(1, 5, size=n).astype(float)
        elif weights == "real":
            weight = 0.5 + rng.gamma(2.0, size=n)
        print("case %s rows=%d classes=%d" % (name, n, classes))
        array("label", label)
        array("log_p", log_p)
        if weights:
            array("weight", weight)
        if stated:
            array("stated", stated)
        if units:
            unit, stratum = make_units(rng, units[0], label)
            if units[0] != "sampling":
                array("unit", unit)
            if stratum is not None:
                array("block", stratum)
            if weights == "real":
                array("sampling", [1])
            counts = draw_units(rng, label, weight, classes, unit, stratum)
        else:
            counts = draw(rng, label, weight, classes)
        value = metrics(label, log_p, weight[None], stated)
        for key, values in metrics(label, log_p, counts, stated).items():
            (lo, lo_off), (hi, hi_off) = bounds(values, 0.5 - LEVEL / 2), bounds(values, 0.5 + LEVEL / 2)
            if key == "ece":
                v = value[key][0]
                middle, middle_off = bounds(values, 0.5)
                lo, lo_off, hi, hi_off = max(0, 2 * v - hi), hi_off, v + middle - lo, lo_off + middle_off
            array(key, (lo, lo_off, hi, hi_off))
    print("end", len(CASES))


main()
