#!/usr/bin/python3
"""Random systems of margins A d >= 0, and whether a linear program finds a d with A d != 0 (Konis 2007): of models with two
and three labels, ordered labels and matched sets, with heavy tails, outliers, rare levels and ties.

usage: make_separation.py >separation.txt        each system: a line "rows size separated", then its rows
"""
import numpy as np
from scipy.optimize import linprog


def separated(A):
    """max sum_c s_c, s = A d, 0 <= s <= 1; columns are scaled for the solver's tolerances alone"""
    A = A[np.abs(A).max(1) > 0]
    if len(A) == 0:
        return False
    A = A / np.maximum(np.abs(A).max(0), 1e-300)
    found = linprog(-A.sum(0), A_ub=np.r_[-A, A], b_ub=np.r_[np.zeros(len(A)), np.ones(len(A))],
                    bounds=[(None, None)] * A.shape[1], method="highs")
    assert found.status == 0
    assert not 1e-9 < -found.fun < 1e-4, "too close to call"
    return -found.fun > 1e-4


def table(g):
    n, d = g.choice([6, 9, 14, 20]), g.choice([1, 2])
    X = g.normal(size=(n, d))
    kind = g.choice(["plain", "exp2", "exp4", "outlier", "level", "ints", "dummies"])
    if kind in ("exp2", "exp4"):
        X[:, 0] = np.exp(float(kind[3]) * X[:, 0])
    elif kind == "level":
        X[:, 0] = X[:, 0] > 1
    elif kind == "ints":
        X = np.round(X)
    elif kind == "dummies":
        X = np.eye(4)[g.integers(0, 4, n)][:, 1:]
    eta = np.clip(g.choice([0, 1, 3]) * X[:, 0] - 0.5, -30, 30)
    if kind == "outlier":
        X[g.integers(n), 0] = g.choice([1e3, 1e5])
    return np.array([[float("%.3g" % v) for v in row] for row in X]), eta


def system(g):
    X, eta = table(g)
    n, d = X.shape
    T, p = np.c_[np.ones(n), X], 1 / (1 + np.exp(-eta))
    model = g.choice(["two", "three", "ordinal", "matched"])
    if model == "two":
        return T * np.where(g.random(n) < p, 1, -1)[:, None]
    rows = []
    if model == "three":
        y = np.minimum((g.random(n) < p) * 1 + (g.random(n) < 0.3), 2)
        for i in range(n):
            for z in set(range(3)) - {y[i]}:
                a = np.zeros((3, d + 1))
                a[y[i]] += T[i]
                a[z] -= T[i]
                rows.append(a[1:].ravel())
    elif model == "ordinal":
        y = np.minimum((g.random(n) < p) * 1 + (g.random(n) < p), 2)
        for i in range(n):
            for j in range(2):
                a = np.r_[np.eye(2)[j], -X[i]]
                rows += [a] * int(y[i] == j) + [-a] * int(y[i] == j + 1)
    else:
        for s in range(0, n - 2, 3):
            k = s + np.argmax(eta[s:s + 3] + g.logistic(size=3))
            rows += [X[k] - X[i] for i in range(s, s + 3) if i != k]
    return np.array(rows)


g = np.random.default_rng(20)
for _ in range(300):
    A = np.array([[float("%.10g" % v) + 0.0 for v in row] for row in system(g)])
    print(*A.shape, int(separated(A)))
    for row in A:
        print(*("%.10g" % v for v in row))
