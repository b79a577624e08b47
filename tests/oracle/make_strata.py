"""Rows sampled by stratum and label, and what the semiparametric likelihood makes of them, by SciPy.

    python3 tests/oracle/make_strata.py > tests/oracle/strata.txt

Writes strata_rows.csv, strata_counts.csv and strata_known.csv beside itself. Maximum likelihood over the coefficients and
the mass theta of every row: sum log(p theta) + sum (N - n) log lambda for a cohort's counts; with known prevalences the
dual of the same with lambda held, one multiplier a stratum. The weighted estimator by Newton's method.
"""
import os

import numpy as np
import scipy
from scipy.optimize import minimize

HERE = os.path.dirname(os.path.abspath(__file__))
STRATA, COHORT = 3, 40000
rng = np.random.default_rng(7)
stratum = rng.choice(STRATA, COHORT, p=[0.5, 0.3, 0.2])
x = np.round(np.column_stack([rng.normal(0.5 * (stratum == 1), 1), rng.normal(size=COHORT)]), 3)
eta = np.array([-3.0, -4.0, -2.0])[stratum] + x @ [0.8, -0.5]
label = (rng.random(COHORT) < 1 / (1 + np.exp(-eta))).astype(int)
people = np.array([[np.sum((stratum == s) & (label == y)) for y in (0, 1)] for s in range(STRATA)])
taken = [[40, 60], [80, 40], [60, 80]]
rows = np.concatenate([rng.choice(np.flatnonzero((stratum == s) & (label == y)), taken[s][y], replace=False)
                       for s in range(STRATA) for y in (0, 1)])
rng.shuffle(rows)
stratum, x, label = stratum[rows], x[rows], label[rows]
known = people[:, 1] / people.sum(axis=1)


def write(name, lines):
    with open(f"{HERE}/strata_{name}.csv", "w") as stream:
        stream.write("\n".join(lines) + "\n")


write("rows", ["x1,x2,site,y"] + [f"{a},{b},{'abc'[s]},{y}" for (a, b), s, y in zip(x, stratum, label)])
write("counts", ["site,y,count"] + [f"{'abc'[s]},{y},{people[s, y]}" for s in range(STRATA) for y in (0, 1)])
write("known", ["site,prevalence,share"] + [f"{'abc'[s]},{known[s]:.17g},{people[s].sum() / COHORT:.17g}"
                                             for s in range(STRATA)])


def matrix(feature):
    columns = [np.ones(len(x)), x[:, 0], x[:, 1]]
    return np.column_stack(columns + ([stratum == 1, stratum == 2] if feature else [])).astype(float)


def counted(par, X):
    k = X.shape[1]
    eta, t = X @ par[:k], par[k:]
    p = 1 / (1 + np.exp(-eta))
    value, g, gt = -np.sum(label * eta - np.logaddexp(0, eta)), X.T @ (p - label), np.zeros(len(t))
    for s in range(STRATA):
        i = np.flatnonzero(stratum == s)
        log_theta = t[i] - np.logaddexp.reduce(t[i])
        theta = np.exp(log_theta)
        lam = np.sum(theta * p[i])
        c0, c1 = people[s, 0] - np.sum(label[i] == 0), people[s, 1] - np.sum(label[i] == 1)
        value -= np.sum(log_theta) + c1 * np.log(lam) + c0 * np.log1p(-lam)
        slope = c1 / lam - c0 / (1 - lam)
        g -= X[i].T @ (slope * theta * p[i] * (1 - p[i]))
        gt[i] -= 1 - len(i) * theta + slope * theta * (p[i] - lam)
    return value, np.concatenate([g, gt])


def held(b, X):
    eta = X @ b
    p = 1 / (1 + np.exp(-eta))
    value, g = -np.sum(label * eta - np.logaddexp(0, eta)), X.T @ (p - label)
    for s in range(STRATA):
        i = np.flatnonzero(stratum == s)
        r = p[i] - known[s]
        if r.min() >= 0 or r.max() <= 0:  # outside the hull
            return 1e10, g
        low, high = -1 / r.max(), -1 / r.min()
        for _ in range(200):
            m = 0.5 * (low + high)
            low, high = (m, high) if np.sum(r / (1 + m * r)) > 0 else (low, m)
        value += np.sum(np.log1p(m * r))
        g = g + X[i].T @ (m / (1 + m * r) * p[i] * (1 - p[i]))
    return value, g


def polish(f, at, X):
    """BFGS, then Newton with differences of the gradient."""
    for _ in range(4):
        at = minimize(f, at, args=(X,), jac=True, method="BFGS", options=dict(maxiter=20000, gtol=1e-8)).x
    for _ in range(3):
        step = 1e-5
        hessian = np.array([(f(at + step * e, X)[1] - f(at - step * e, X)[1]) / (2 * step) for e in np.eye(len(at))])
        at = at - np.linalg.lstsq(hessian, f(at, X)[1], rcond=1e-12)[0]
    return at


def weighted(X):
    w = np.array([people[s, y] / np.sum((stratum == s) & (label == y)) for s, y in zip(stratum, label)])
    b = np.zeros(X.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-(X @ b)))
        b = b - np.linalg.solve(X.T @ (X * (w * p * (1 - p))[:, None]), X.T @ (w * (p - label)))
    return b


print("# Made by: python3 tests/oracle/make_strata.py > tests/oracle/strata.txt")
print(f"# numpy {np.__version__} scipy {scipy.__version__}")
for feature in (1, 0):
    X = matrix(feature)
    start = np.array([-3.0, 0.8, -0.5, -1, 1])[:X.shape[1]]
    found = {"counts": polish(counted, np.concatenate([start, np.zeros(len(x))]), X)[:X.shape[1]],
             "known": polish(held, start, X), "weighted": weighted(X)}
    for name, b in found.items():
        print(f"case {name}{feature}\narray estimate {len(b)}\n" + " ".join(f"{v:.17g}" for v in b))
print("end 6")
