"""Peer: XGBoost's external memory over chunks of a packed table: histograms of trees, 20 rounds of depth 6.

usage: xgboost_external.py FILE ROWS COLUMNS FOLDER, where its cache goes. Prints processor and wall seconds and the mean
log-likelihood of all rows.
"""
import json
import os
import sys
import time

import xgboost

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from packed_table import read

CHUNK = 500_000
path, rows, columns, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]


class Chunks(xgboost.DataIter):
    def __init__(self):
        self.first = 0
        super().__init__(cache_prefix=os.path.join(folder, "cache"))

    def reset(self):
        self.first = 0

    def next(self, put):
        if self.first >= rows:
            return 0
        x, y = read(path, rows, columns, self.first, min(CHUNK, rows - self.first))
        put(data=x, label=y)
        self.first += CHUNK
        return 1


begin, cpu = time.perf_counter(), time.process_time()
data = xgboost.DMatrix(Chunks())
model = xgboost.train({"objective": "binary:logistic", "tree_method": "hist", "eval_metric": "logloss"}, data, 20)
seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
loss = float(model.eval(data).split(":")[1])
print(json.dumps({"seconds": seconds, "cpu": cpu, "log_likelihood": -loss}))
