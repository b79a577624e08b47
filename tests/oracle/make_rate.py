"""Rates by imperfect verdicts: the oracle of src/rate.

  /usr/bin/python3 tests/oracle/make_rate.py > tests/oracle/rate.txt

double_*   twice the log-likelihood ratio of a rate by sample counts and gold rows drawn by verdict or at random: the
           cells' masses a = rate softmax(u), b = (1 - rate) softmax(w) maximised by BFGS (in C: a quadratic for each verdict
           and one multiplier). The most likely rate by Tenenbein's (1970) closed form.
paired_*   Tango's (1998) interval of a paired difference: the constrained share by a search, the ends by bisection.
wilson_*   the ends where the score test of a proportion is at its limit, by bisection.
known_*    known sensitivity and specificity: Rogan and Gladen's (1978) estimate, and the exact interval of Reiczigel, Foeldi
           and Ozsvari (2010) by Clopper and Pearson, as epiR's epi.prev prints both.
estimated_* sensitivity and specificity from validation studies: the same estimate, and the interval of Lang and Reiczigel
           (2014).
plan_*     gold rows for a width: by label and by verdict the closed form of Neyman's allocation, at random a division.
"""
import numpy as np
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import softmax, xlogy
from scipy.stats import beta, norm

Z = norm.ppf(0.975)


def show(name, values):
    values = np.asarray(values, float).ravel()
    print(f"array {name} {values.size}")
    print(" ".join(repr(float(v)) for v in values))


def loglik(sample, yes, no, a, b):
    s = a + b
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(s > 0, a / s, 0.5)
    return (xlogy(sample, s) + xlogy(yes, p) + xlogy(no, 1 - p)).sum()


def ratio(sample, yes, no, rate):
    total, gold = sample.sum(), yes + no
    s, p = sample / total, np.where(gold > 0, yes / np.maximum(gold, 1), 0.5)
    top = (xlogy(sample, s) + xlogy(yes, p) + xlogy(no, 1 - p)).sum()
    k = len(sample)

    def loss(w):
        return -loglik(sample, yes, no, rate * softmax(w[:k]), (1 - rate) * softmax(w[k:]))

    best = np.inf
    for start in (np.r_[np.log(s * (p + 0.01)), np.log(s * (1.01 - p))], np.zeros(2 * k)):
        found = minimize(loss, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
        found = minimize(loss, found.x, method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-13, "maxiter": 20000, "maxfev": 40000})
        best = min(best, found.fun)
    return 2 * (top + best), (s * np.where(gold > 0, p, 0)).sum()


def double():
    cases = {
        "two": ([850, 150], [2, 60], [98, 40]),
        "few": ([300, 40], [0, 12], [20, 8]),
        "none": ([500, 20], [0, 0], [30, 10]),
        "three": ([700, 200, 100], [3, 20, 45], [97, 30, 5]),
        "large_gold": ([60, 40], [10, 70], [90, 30]),
        "sure": ([800, 200], [0, 50], [50, 0]),
    }
    for name, parts in cases.items():
        sample, yes, no = (np.array(part, float) for part in parts)
        at = [0.005, 0.03, 0.1, 0.2, 0.4, 0.8]
        made = [ratio(sample, yes, no, rate) for rate in at]
        print(f"case double_{name} cells={len(sample)}")
        show("sample", sample), show("yes", yes), show("no", no), show("at", at)
        show("ratio", [m[0] for m in made]), show("mode", [made[0][1]])


def paired():
    for name, (b, c, n) in {"usual": (12, 5, 80), "none": (0, 0, 30), "one": (4, 0, 25), "many": (120, 180, 2000)}.items():

        def score(d):
            def loss(q):  # q: the second alone; the first alone q + d
                return -(xlogy(b, q + d) + xlogy(c, q) + xlogy(n - b - c, 1 - 2 * q - d))

            low, high = max(0, -d), (1 - d) / 2
            q = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-14}).x
            q = min((loss(v), v) for v in (q, low + 1e-300, high) if np.isfinite(loss(v)))[1] if c == 0 or b == 0 else q
            v = n * (2 * q + d * (1 - d))
            return (b - c - n * d) / np.sqrt(v) if v > 0 else np.sign(b - c - n * d) * np.inf

        middle = (b - c) / n
        ends = []
        for sign, end in ((1, -1 + 1e-12), (-1, 1 - 1e-12)):
            inside, outside = middle, end
            for _ in range(200):
                d = (inside + outside) / 2
                if sign * score(d) <= Z:
                    inside = d
                else:
                    outside = d
            ends.append(inside)
        print(f"case paired_{name} first={b} second={c} people={n}")
        show("ends", ends)


def wilson():
    for x, n in ((0, 20), (3, 50), (50, 50), (40, 137)):
        p = x / n
        f = lambda t: (p - t) ** 2 - Z**2 * t * (1 - t) / n
        lo = 0.0 if x == 0 else brentq(f, 0, p - (x == n) * 1e-9, xtol=1e-15)
        hi = 1.0 if x == n else brentq(f, p + (x == 0) * 1e-9, 1, xtol=1e-15)
        print(f"case wilson_{x}_{n} count={x} people={n}")
        show("interval", [p, lo, hi])


def adjust(t, se, sp):
    return min(max((t + sp - 1) / (se + sp - 1), 0), 1)


def known():
    for x, n, se, sp in ((4, 150, 0.7, 0.99), (150, 1000, 0.85, 0.93), (30, 60, 0.9, 0.8), (500, 5000, 0.95, 0.98)):
        lo = beta.ppf(0.025, x, n - x + 1) if x > 0 else 0
        hi = beta.ppf(0.975, x + 1, n - x) if x < n else 1
        print(f"case known_{x}_{n} positive={x} people={n} sensitivity={se} specificity={sp}")
        show("interval", [adjust(v, se, sp) for v in (x / n, lo, hi)])


def estimated():
    for x, n, a, n1, b, n0 in ((150, 1000, 85, 100, 186, 200), (60, 400, 45, 50, 47, 50), (900, 3000, 160, 200, 190, 200)):
        t, se, sp = x / n, a / n1, b / n0
        rate = adjust(t, se, sp)
        t, se, sp = (x + Z**2 / 2) / (n + Z**2), (a + 1) / (n1 + 2), (b + 1) / (n0 + 2)
        r = (t + sp - 1) / (se + sp - 1)
        v1, v0 = se * (1 - se) / (n1 + 2), sp * (1 - sp) / (n0 + 2)
        middle = r + 2 * Z**2 * (r * v1 - (1 - r) * v0)
        half = Z / (se + sp - 1) * np.sqrt(t * (1 - t) / (n + Z**2) + r**2 * v1 + (1 - r) ** 2 * v0)
        print(f"case estimated_{x}_{n} positive={x} people={n} right1={a} all1={n1} right0={b} all0={n0}")
        show("interval", [rate, max(0, middle - half), min(1, middle + half)])


def smooth(counts):
    counts = np.asarray(counts, float) + 0.5
    return counts / counts.sum()


def plan():
    """Two labels, two verdicts; counts are large, so that half a person changes little, but it is in."""
    m = np.array([85000.0, 15000.0])
    n = m.sum()
    # by label: gold [label][verdict]
    g = np.array([[186.0, 14.0], [15.0, 85.0]])
    f = np.array([smooth(row) for row in g])
    j = f[1, 1] - f[0, 1]
    raw = g / g.sum(1, keepdims=True)
    pi = (m[1] / n - raw[0, 1]) / (raw[1, 1] - raw[0, 1])
    pi = smooth([n * (1 - pi), n * pi])[1]
    q = pi * f[1, 1] + (1 - pi) * f[0, 1]
    c = np.array([(1 - pi) ** 2 * f[0, 1] * f[0, 0], pi**2 * f[1, 1] * f[1, 0]]) / j**2
    least, width = q * (1 - q) / n / j**2, 0.03
    d = (width / (2 * Z)) ** 2 - least
    wanted = np.sqrt(c) * np.sqrt(c).sum() / d
    now = 2 * Z * np.sqrt((c / g.sum(1)).sum() + least)
    print(f"case plan_label width={width}")
    show("sample", m), show("gold", g), show("now", [now, 2 * Z * np.sqrt(least)]), show("more", np.ceil(wanted - g.sum(1)))
    # by verdict and at random
    g = np.array([[98.0, 40.0], [2.0, 60.0]])
    s, p = m / n, (g[1] + 0.5) / (g.sum(0) + 1)
    rate = (s * p).sum()
    between = (s * (p - rate) ** 2).sum() / n
    c = s**2 * p * (1 - p)
    width = 0.02
    d = (width / (2 * Z)) ** 2 - between
    wanted = np.sqrt(c) * np.sqrt(c).sum() / d
    print(f"case plan_verdict width={width}")
    show("sample", m), show("gold", g)
    show("now", [2 * Z * np.sqrt((c / g.sum(0)).sum() + between), 2 * Z * np.sqrt(between)]), show("more", np.ceil(wanted - g.sum(0)))
    c = (s * p * (1 - p)).sum()
    print(f"case plan_random width={width}")
    show("sample", m), show("gold", g)
    show("now", [2 * Z * np.sqrt(c / g.sum() + between), 2 * Z * np.sqrt(between)]), show("more", [np.ceil(c / d - g.sum())])


print("# made by make_rate.py: rates by imperfect verdicts")
double(), paired(), wilson(), known(), estimated(), plan()
print("end 24")
