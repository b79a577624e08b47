"""Peer: metrics and curves of two-class predictions with scikit-learn, on as many rows as ours. usage: ROWS REPEATS

Fewer metrics and curves than ours computes in the same time: no informedness-markedness, expected errors, net benefit
or calibration intervals. argsort_seconds is NumPy's sort of the scores alone.
"""
import json
import sys
import time

import numpy as np
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve

rows, repeats = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
log_odds = 1.5 * rng.standard_normal(rows) - 1
p = 1 / (1 + np.exp(-log_odds))
label = (rng.random(rows) < p).astype(np.int32)
best = sort = curve = np.inf
for _ in range(repeats):
    start = time.perf_counter()
    np.argsort(log_odds)
    sort = min(sort, time.perf_counter() - start)
    start = time.perf_counter()
    sk.roc_curve(label, p)
    sk.roc_auc_score(label, p)
    curve = min(curve, time.perf_counter() - start)
    decision = p > 0.5
    sk.precision_recall_curve(label, p)
    sk.confusion_matrix(label, decision)
    sk.accuracy_score(label, decision)
    sk.matthews_corrcoef(label, decision)
    sk.brier_score_loss(label, p)
    sk.log_loss(label, p)
    calibration_curve(label, p, n_bins=10)
    best = min(best, time.perf_counter() - start)
print(json.dumps({"seconds": best, "roc_seconds": curve, "argsort_seconds": sort}))
