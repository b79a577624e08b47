"""Peer: scikit-learn's SGDClassifier over chunks of a packed table by partial_fit, so many passes over its rows.

usage: sgd_chunks.py FILE ROWS COLUMNS PASSES. Prints processor and wall seconds of the learning and the mean log-likelihood of
all rows, which is worked out after the clock is stopped.
"""
import json
import os
import sys
import time

import numpy as np
from sklearn.linear_model import SGDClassifier

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from packed_table import read

CHUNK = 200_000
path, rows, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
passes = int(sys.argv[4])
# Its default learning rate diverges with such a small penalty.
model = SGDClassifier(loss="log_loss", alpha=1e-7, learning_rate="invscaling", eta0=0.05, power_t=0.5, average=True,
                      random_state=0)
begin, cpu = time.perf_counter(), time.process_time()
for first in list(range(0, rows, CHUNK)) * passes:
    x, y = read(path, rows, columns, first, min(CHUNK, rows - first))
    model.partial_fit(x, y, classes=[0, 1])
seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
total = 0.0
for first in range(0, rows, CHUNK):
    x, y = read(path, rows, columns, first, min(CHUNK, rows - first))
    z = x.astype(float) @ model.coef_[0] + model.intercept_[0]
    total -= np.logaddexp(0, np.where(y == 1, -z, z)).sum()
print(json.dumps({"seconds": seconds, "cpu": cpu, "log_likelihood": total / rows}))
