"""Curves of small random predictions by scikit-learn and NumPy, the oracle of pv_curve_make.

  /usr/bin/python3 tests/oracle/make_curves.py > tests/oracle/curves.txt

A row with soft labels or a weight goes to scikit-learn as one row for each label with its mass as sample_weight; a stated
prevalence multiplies these by prevalence(y)/share(y). What scikit-learn does not have (expected errors, net benefit,
calibration with weights, intervals) is computed here from its definition, in another way than in C:
Wilson's bounds are the roots of the score equation.
"""
import numpy as np
import sklearn
from scipy.special import expit, log_softmax, logit
from scipy.optimize import root
from scipy.stats import norm
from sklearn import metrics as sk

LEVEL = 0.9
Z = norm.ppf(0.5 + LEVEL / 2)
CASES = [
    # name, rows, classes, soft labels, weights ("", "count", "real"), probabilities on a grid, stated for, positive
    ("hard", 24, 2, False, "", False, None, 1),
    ("ties", 40, 2, False, "", True, None, 1),
    ("first", 30, 2, False, "", True, None, 0),
    ("rare", 24, 2, False, "", False, [0.99, 0.01], 1),
    ("counts", 30, 2, False, "count", True, [0.7, 0.3], 1),
    ("soft", 16, 2, True, "real", False, None, 1),
    ("soft_rare", 16, 2, True, "real", False, [0.95, 0.05], 1),
    ("three", 24, 3, False, "count", False, None, 1),
    ("three_stated", 24, 3, False, "", False, [0.6, 0.3, 0.1], 2),
]
CALLS = 0


def array(name, values, digits=15):
    values = np.ravel(values)
    print("array", name, len(values))
    print(*("%.*g" % (digits, v) for v in values))


def curve(name, kind, columns):
    global CALLS
    CALLS += 1
    print("case %s/%s points=%d" % (name, kind, len(next(iter(columns.values())))))
    for key, values in columns.items():
        array(key, values)


def wilson(count, n):
    """Roots p of (count/n - p)^2 = z^2 p (1-p)/n."""
    share = min(count / n, 1)
    roots = np.sort(np.real(np.roots([1 + Z * Z / n, -(2 * share + Z * Z / n), share * share])))
    return (0 if share == 0 else roots[0]), (1 if share == 1 else roots[1])


def wilsons(count, n):
    return np.array([wilson(c, n) for c in count]).T


def ratio_bounds(prior, a, n_a, b, n_b):
    """Normal interval of prior + log(a/b); half a row for shares of 0 or 1."""
    if a == 0 and b == 0:
        return np.nan, np.nan
    value = 0 if a == 0 else 1 if b == 0 else expit(prior + np.log(a / b))
    a, b = [(s * n + 0.5) / (n + 1) if s in (0, 1) else s for s, n in ((a, n_a), (b, n_b))]
    sd = np.sqrt(1 / (n_a * a) - 1 / n_a + 1 / (n_b * b) - 1 / n_b)
    middle = prior + np.log(a) - np.log(b)
    return min(value, expit(middle - Z * sd)), max(value, expit(middle + Z * sd))


def precision(y, d, w):
    return sk.precision_score(y, d, sample_weight=w, zero_division=0) if d.any() else np.nan


def moved(y, w, prevalence):
    """Weights of a population with this prevalence."""
    return w * np.where(y, prevalence / w[y].sum(), (1 - prevalence) / w[~y].sum())


def roc(y, p, W, n1, n0):
    fpr, tpr, threshold = sk.roc_curve(y, p, sample_weight=W, drop_intermediate=False)
    threshold[0] = np.inf
    (fl, fh), (tl, th) = wilsons(fpr * n0, n0), wilsons(tpr * n1, n1)
    return dict(threshold=threshold, fpr=fpr, fpr_lo=fl, fpr_hi=fh, tpr=tpr, tpr_lo=tl, tpr_hi=th)


def pr(y, p, W, n1, n0):
    ppv, recall, threshold = sk.precision_recall_curve(y, p, sample_weight=W)
    ppv, recall, threshold = ppv[-2::-1], recall[-2::-1], threshold[::-1]
    prior = logit(W[y].sum() / W.sum())
    rl, rh = wilsons(recall * n1, n1)
    fpr = [W[~y & (p >= t)].sum() / W[~y].sum() for t in threshold]
    tpr = [W[y & (p >= t)].sum() / W[y].sum() for t in threshold]
    fpr, tpr = np.round(fpr, 15), np.round(tpr, 15)  # what is 1 must be 1
    low, high = np.array([ratio_bounds(prior, a, n1, b, n0) for a, b in zip(tpr, fpr)]).T
    return dict(threshold=threshold, recall=recall, recall_lo=rl, recall_hi=rh, precision=ppv, precision_lo=low,
                precision_hi=high)


def im(y, p, W, n1, n0):
    rows = []
    own = W[y].sum() / W.sum()
    for prevalence in (own, 0.001, 0.01, 0.1, 0.5, 0.9):
        w = moved(y, W, prevalence)
        for t in np.unique(p)[::-1]:
            d = p >= t
            a, b = sk.recall_score(y, d, sample_weight=w), 1 - sk.recall_score(~y, ~d, sample_weight=w)
            sd = np.sqrt(max(a * (1 - a), 0) / n1 + max(b * (1 - b), 0) / n0)
            ppv, npv = precision(y, d, w), precision(~y, ~d, w)
            rows.append((prevalence, t, a - b, max(a - b - Z * sd, -1), min(a - b + Z * sd, 1), ppv + npv - 1, ppv, npv))
    names = "prevalence threshold informedness informedness_lo informedness_hi markedness ppv npv".split()
    return dict(zip(names, np.array(rows).T))


def calibration(y, p, w, W):
    values = np.unique(p)
    below = np.array([w[p < v].sum() for v in values]) / w.sum()  # the share of rows before each probability
    tenth = np.minimum(np.floor(10 * below + 1e-9), 9)
    begins, need = [], -1
    for i, t in enumerate(tenth):  # a bin begins where the rows below reach the next tenth
        if t > need:
            begins.append(i)
            need = t
    which = np.searchsorted(begins, np.searchsorted(values, p), side="right") - 1
    tops = [values[e - 1] for e in begins[1:] + [len(values)]]
    edges = np.array([values[0]] + tops)
    beta = (W[y].sum() / w[y].sum()) / (W[~y].sum() / w[~y].sum())
    rows = []
    for b in np.unique(which):
        i = which == b
        k, n = w[i & y].sum(), w[i].sum()
        low, high = wilson(k, n)
        odds = [(q * beta / (q * beta + 1 - q)) for q in (low, high)]
        rows.append((edges[b], edges[b + 1], np.average(p[i], weights=W[i]), np.average(y[i], weights=W[i]), *odds, n, k,
                     W[i].sum() / W.sum()))
    names = "bin_lo bin_hi mean_p observed observed_lo observed_hi rows positives share".split()
    return dict(zip(names, np.array(rows).T))


def calibration_smooth(y, p, w, W):
    """Local logistic regression on logit p, by the roots of its score, in the stated population."""
    x = logit(p)
    beta = (W[y].sum() / w[y].sum()) / (W[~y].sum() / w[~y].sum())
    need = 2 / 3 * w.sum(), min(10, w[y].sum()), min(10, w[~y].sum())
    rows = []
    for at in np.linspace(x.min(), x.max(), 100):
        distance = np.abs(x - at)
        for h in np.unique(distance):
            near = distance <= h
            held = w[near].sum(), w[near & y].sum(), w[near & ~y].sum()
            if all(a > b - 1e-9 for a, b in zip(held, need)):
                break
        h *= 1.1
        K = w * np.where(near, (1 - (distance / h) ** 3).clip(0) ** 3, 0)
        X = np.stack([np.ones_like(x), x - at], axis=1)

        def score(c):
            return X.T @ (K * (y - expit(X @ c))) - np.array([0, c[1] - 1])

        def curvature(c):
            s = expit(X @ c)
            return -(X.T * (K * s * (1 - s))) @ X - np.diag([0, 1])

        c = root(score, [at, 1], jac=curvature, method="lm", options=dict(xtol=1e-15, ftol=1e-15)).x
        for _ in range(3):
            c = c - np.linalg.solve(curvature(c), score(c))
        s = expit(X @ c)
        inverse = np.linalg.inv(-curvature(c))
        sd = np.sqrt((inverse @ ((X.T * (K * (K / w) * s * (1 - s))) @ X) @ inverse)[0, 0])
        a = c[0] + np.log(beta)
        rows.append((expit(at), expit(a), expit(a - Z * sd), expit(a + Z * sd)))
    return dict(zip("p observed observed_lo observed_hi".split(), np.array(rows).T))


def expected(y, p, W, n1, n0):
    rows = []
    for t in np.concatenate([[np.inf], np.unique(p)[::-1]]):
        d = p >= t
        fp, fn = W[d & ~y].sum(), W[~d & y].sum()
        efp, efn = (W * (1 - p))[d].sum(), (W * p)[~d].sum()
        fpr, fnr = fp / W[~y].sum(), fn / W[y].sum()
        rows.append((t, efp / (W * (1 - p)).sum(), fpr, *wilson(round(fpr, 15) * n0, n0), efn / (W * p).sum(), fnr,
                     *wilson(round(fnr, 15) * n1, n1), efp, fp, efn, fn))
    names = ("threshold fpr_expected fpr fpr_lo fpr_hi fnr_expected fnr fnr_lo fnr_hi fp_expected fp fn_expected "
             "fn").split()
    return dict(zip(names, np.array(rows).T))


def net_benefit(y, p, W, n1, n0):
    prevalence = W[y].sum() / W.sum()
    grid = np.arange(1, 100) / 100
    if prevalence < 0.1:
        grid = expit(np.linspace(logit(prevalence / 10), logit(0.99), 99))
    rows = []
    for t in grid:
        d = p >= t - 1e-13
        tp, fp = W[d & y].sum() / W.sum(), W[d & ~y].sum() / W.sum()
        price = t / (1 - t)
        a, b = round(tp / prevalence, 15), round(fp / (1 - prevalence), 15)
        sd = np.sqrt(prevalence**2 * max(a - a * a, 0) / n1 + ((1 - prevalence) * price) ** 2 * max(b - b * b, 0) / n0)
        value = tp - fp * price
        rows.append((t, value, value - Z * sd, value + Z * sd, prevalence - (1 - prevalence) * price, 0))
    names = "threshold net_benefit net_benefit_lo net_benefit_hi treat_all treat_none".split()
    return dict(zip(names, np.array(rows).T))


def predictive_values(y, p, W, n1, n0):
    d = p >= 0.5 - 1e-13
    a, b = round(W[d & y].sum() / W[y].sum(), 15), round(W[d & ~y].sum() / W[~y].sum(), 15)
    rows = []
    for log_odds in np.linspace(logit(0.001), logit(0.999), 99):
        w = moved(y, W, expit(log_odds))
        rows.append((expit(log_odds), precision(y, d, w), *ratio_bounds(log_odds, a, n1, b, n0), precision(~y, ~d, w),
                     *ratio_bounds(-log_odds, 1 - b, n0, 1 - a, n1)))
    names = "prevalence ppv ppv_lo ppv_hi npv npv_lo npv_hi".split()
    return dict(zip(names, np.array(rows).T))


def main():
    print("# Made by tests/oracle/make_curves.py with scikit-learn %s, NumPy %s." % (sklearn.__version__, np.__version__))
    for seed, (name, n, classes, soft, weights, grid, stated, positive) in enumerate(CASES):
        rng = np.random.default_rng(100 + seed)
        label = rng.integers(classes, size=n)
        log_p = log_softmax(1.2 * rng.normal(size=(n, classes)) + 1.5 * np.eye(classes)[label], axis=1)
        if grid:
            tenth = np.clip(np.round(10 * np.exp(log_p[:, 1])), 1, 9) / 10
            log_p = np.log(np.stack([1 - tenth, tenth], axis=1))
        votes = rng.multinomial(5, [1 / classes] * classes, size=n) + 3 * np.eye(classes)[label]
        target = votes / votes.sum(1, keepdims=True) if soft else np.eye(classes)[label]
        weight = np.ones(n)
        if weights == "count":
            weight = rng.integers(1, 6, size=n).astype(float)
        elif weights == "real":
            weight = rng.gamma(2.0, size=n)
        print("case %s rows=%d classes=%d positive=%d" % (name, n, classes, positive))
        array("frequency" if soft else "label", target if soft else label, 17)
        if weights:
            array("weight", weight, 17)
        array("log_p", log_p, 17)
        if stated:
            array("stated", stated)
        y = np.tile(np.arange(classes), n)
        w = (weight[:, None] * target).ravel()
        keep = w > 0
        row, y, w = np.repeat(np.arange(n), classes)[keep], y[keep], w[keep]
        mass = np.bincount(y, w, classes)
        factor = np.array(stated) * w.sum() / mass if stated else np.ones(classes)
        p, W = np.exp(log_p)[row, positive], w * factor[y]
        if grid:
            p = np.round(p, 12)
        one = y == positive
        n1, n0 = w[one].sum(), w[~one].sum()
        if stated and classes > 2:  # the others count as one label with their stated mix
            w = np.where(one, w, W * n0 / W[~one].sum())
        for kind in (roc, pr, im, expected, net_benefit, predictive_values):
            curve(name, kind.__name__, kind(one, p, W, n1, n0))
        curve(name, "calibration", calibration(one, p, w, W))
        curve(name, "calibration_smooth", calibration_smooth(one, p, w, W))
    print("end", CALLS + len(CASES))


main()
