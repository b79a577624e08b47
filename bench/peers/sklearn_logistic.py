"""Peer: plain logistic regression by scikit-learn's lbfgs on rows x columns normal doubles.

Prints seconds (best of several) and the gradient it stopped at, as the largest entry per row, so that ours can be run
to the same tolerance.
"""
import json
import sys
import time

import numpy as np
from sklearn.linear_model import LogisticRegression

rows, columns, repeats = (int(a) for a in sys.argv[1:4])
rng = np.random.default_rng(0)
x = rng.standard_normal((rows, columns))
w = rng.standard_normal(columns) / np.sqrt(columns)
y = (rng.random(rows) < 1 / (1 + np.exp(-(x @ w)))).astype(int)
best = np.inf
for _ in range(repeats):
    start = time.perf_counter()
    model = LogisticRegression(C=1.0, solver="lbfgs", tol=1e-6, max_iter=500).fit(x, y)
    best = min(best, time.perf_counter() - start)
residual = 1 / (1 + np.exp(-(x @ model.coef_[0] + model.intercept_[0]))) - y
gradient = np.append(x.T @ residual + model.coef_[0], residual.sum())
print(json.dumps({"seconds": best, "gradient": float(np.abs(gradient).max() / rows), "iterations": int(model.n_iter_[0])}))
