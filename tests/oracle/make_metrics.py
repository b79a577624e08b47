"""Metrics of small random predictions by scikit-learn and NumPy, the oracle of pv_assess.

  /usr/bin/python3 tests/oracle/make_metrics.py > tests/oracle/metrics.txt

"metric" lines: pv_assess. "restated" lines: pv_assess_intervals with the metrics stated for another prevalence, for which
rows are weighted label by label, and log_loss judges log_p.

A row with soft labels or a weight goes to scikit-learn as one row for each label with its mass as sample_weight. Only
what scikit-learn does not have (log_loss, ece, informedness, markedness, one-off accuracy, Brier with more than two classes
in this release, weights in one-against-one areas) is computed here from its definition, in another way than in C.
"""
import itertools

import numpy as np
import sklearn
from scipy.special import log_softmax, logsumexp
from sklearn import metrics as sk
from sklearn.linear_model import LogisticRegression

CASES = [
    # name, rows, classes, soft labels, weights ("", "count", "real"), ties, prevalence (None: of the rows)
    ("two_hard", 60, 2, False, "", False, [0.99, 0.01]),
    ("two_ties", 60, 2, False, "", True, [0.9, 0.1]),
    ("two_counts", 40, 2, False, "count", True, [0.7, 0.3]),
    ("two_soft", 40, 2, True, "", False, [0.999, 0.001]),
    ("two_soft_weights", 40, 2, True, "real", True, None),
    ("five_hard", 90, 5, False, "", False, [0.1, 0.2, 0.3, 0.15, 0.25]),
    ("five_ties", 90, 5, False, "", True, None),
    ("five_weights", 90, 5, False, "real", False, [0.5, 0.3, 0.1, 0.09, 0.01]),
    ("five_soft", 70, 5, True, "", False, [0.2, 0.2, 0.2, 0.2, 0.2]),
    ("five_soft_weights", 70, 5, True, "real", True, [0.6, 0.1, 0.1, 0.1, 0.1]),
]


def ratio(part, whole):
    return part / whole if whole > 0 else np.nan


def log_loss(y, g, w, prevalence):
    value = variance = 0.0
    for c, p in enumerate(prevalence):
        gc, wc = g[y == c], w[y == c]
        value += p * np.average(gc, weights=wc)
        if np.all(wc == np.round(wc)):
            v = np.cov(gc, fweights=wc.astype(int))
        else:
            v = np.cov(gc, aweights=wc, ddof=0) * wc.sum() / (wc.sum() - 1)
        variance += p**2 * v / wc.sum()
    return value, np.sqrt(variance)


def area(y, p, w, classes):
    if classes == 2:
        return sk.roc_auc_score(y, p[:, 1], sample_weight=w)
    if np.all(w == 1):
        return sk.roc_auc_score(y, p, multi_class="ovo", average="macro")
    both = []
    for a, b in itertools.combinations(range(classes), 2):
        pair = (y == a) | (y == b)
        one = sk.roc_auc_score(y[pair] == a, p[pair, a], sample_weight=w[pair])
        other = sk.roc_auc_score(y[pair] == b, p[pair, b], sample_weight=w[pair])
        both.append((one + other) / 2)
    return np.mean(both)


def calibration(y, p, w, classes):
    score = p[:, 1] if classes == 2 else p.max(1)
    true = (y == 1) if classes == 2 else (y == p.argmax(1))
    value, group = np.unique(score, return_inverse=True)
    mass = np.bincount(group, w)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    bins = np.minimum((10 * middle).astype(int), 9)[group]
    error = 0.0
    for b in np.unique(bins):
        inside = bins == b
        gap = np.average(score[inside], weights=w[inside]) - np.average(true[inside], weights=w[inside])
        error += w[inside].sum() / w.sum() * abs(gap)
    return error


def against_rest(y, d, w, classes, first, second):
    """sum over classes of share x (first + second - 1), rates of the class against the rest."""
    sum_ = 0.0
    for c in range(classes):
        sum_ += w[y == c].sum() / w.sum() * (first(y == c, d == c, w) + second(y == c, d == c, w) - 1)
    return sum_


def tpr(y, d, w):
    return sk.recall_score(y, d, sample_weight=w, zero_division=0) if w[y].sum() > 0 else np.nan


def tnr(y, d, w):
    return tpr(~y, ~d, w)


def ppv(y, d, w):
    return sk.precision_score(y, d, sample_weight=w, zero_division=0) if w[d].sum() > 0 else np.nan


def npv(y, d, w):
    return ppv(~y, ~d, w)


def assess(target, loglik, log_marginal, log_p, weight, prevalence, stated=None):
    """target [n][classes], one-hot or frequencies. stated: the label distribution the metrics are stated for."""
    n, classes = target.shape
    y = np.tile(np.arange(classes), n)
    w = (weight[:, None] * target).ravel()
    keep = w > 0
    row = np.repeat(np.arange(n), classes)[keep]
    y, w = y[keep], w[keep]
    f, lp = loglik[row], log_p[row]
    p, d = np.exp(lp), lp.argmax(1)
    share = np.bincount(y, w, classes) / w.sum()
    out = {}
    if stated is None:
        value, sd = log_loss(y, -f[np.arange(len(y)), y], w, share if prevalence is None else prevalence)
    else:
        value, sd = log_loss(y, -lp[np.arange(len(y)), y], w, stated)
        w, share = w * (stated / share)[y], stated
    out["log_loss"], out["log_loss_sd"], out["log_loss_upper"] = value, sd, value + 2 * sd
    adapted = np.exp(log_softmax(f - log_marginal + np.log(share), axis=1))
    out["holdout_nll"] = sk.log_loss(y, adapted, sample_weight=w, labels=list(range(classes)))
    out["information_gain"] = np.average((f - log_marginal)[np.arange(len(y)), y], weights=w)
    out["accuracy"] = sk.accuracy_score(y, d, sample_weight=w)
    last = classes - 1
    for name, rate in (("tnr", tnr), ("tpr", tpr), ("npv", npv), ("ppv", ppv)):
        out[name] = rate(y == last, d == last, w)
    out["auc"] = area(y, p, w, classes)
    out["informedness"] = against_rest(y, d, w, classes, tpr, tnr)
    out["markedness"] = against_rest(y, d, w, classes, ppv, npv)
    out["mcc"] = sk.matthews_corrcoef(y, d, sample_weight=w)
    if classes == 2:
        out["brier"] = sk.brier_score_loss(y, p[:, 1], sample_weight=w)
    else:
        out["brier"] = np.average(((p - np.eye(classes)[y]) ** 2).sum(1), weights=w)
    out["ece"] = calibration(y, p, w, classes)
    out["calibration_ratio"] = out["calibration_slope"] = out["average_precision"] = np.nan
    if classes == 2:
        out["calibration_ratio"] = np.average(p[:, 1], weights=w) / np.average(y, weights=w)
        out["average_precision"] = sk.average_precision_score(y, p[:, 1], sample_weight=w)
        fit = LogisticRegression(penalty=None, tol=1e-12, max_iter=10000, solver="newton-cholesky")
        out["calibration_slope"] = fit.fit((lp[:, 1] - lp[:, 0])[:, None], y, sample_weight=w).coef_[0, 0]
    out["one_off_accuracy"] = np.average(np.abs(d - y) <= 1, weights=w) if classes > 2 else np.nan
    return out


def line(name, values):
    print(name, *("%.17g" % v for v in np.ravel(values)))


def main():
    versions = sklearn.__version__, np.__version__
    print("# Made by tests/oracle/make_metrics.py with scikit-learn %s, NumPy %s." % versions)
    for seed, (name, n, classes, soft, weights, ties, prevalence) in enumerate(CASES):
        rng = np.random.default_rng(seed)
        label = rng.integers(classes, size=n)
        label[: 2 * classes] = np.arange(2 * classes) % classes
        logits = 1.2 * rng.normal(size=(n, classes)) + 2 * np.eye(classes)[label]
        shift = 0.5 * rng.normal(size=classes)
        if ties:
            logits = logits[rng.integers(4 * classes, size=n)]  # few patterns, whole rows equal
        loglik, log_p = log_softmax(logits, axis=1), log_softmax(logits + shift, axis=1)
        log_marginal = logsumexp(loglik, axis=0) - np.log(n)
        votes = rng.multinomial(5, [1 / classes] * classes, size=n) + 3 * np.eye(classes)[label]
        target = votes / votes.sum(1, keepdims=True) if soft else np.eye(classes)[label]
        weight = np.ones(n)
        if weights == "count":
            weight = rng.integers(0, 6, size=n).astype(float)
        elif weights == "real":
            weight = rng.gamma(2.0, size=n)
        print("case", name, n, classes)
        if soft:
            line("frequency", target)
        else:
            line("label", label)
        if weights:
            line("weight", weight)
        line("loglik", loglik)
        line("log_p", log_p)
        line("log_marginal", log_marginal)
        if prevalence is not None:
            line("prevalence", prevalence)
        for key, value in assess(target, loglik, log_marginal, log_p, weight, prevalence).items():
            line("metric " + key, value)
        stated = np.random.default_rng(1000 + seed).dirichlet(np.ones(classes))
        line("stated", stated)
        for key, value in assess(target, loglik, log_marginal, log_p, weight, prevalence, stated).items():
            line("restated " + key, value)


main()
