"""Boosted trees by XGBoost's Python package with its own losses, the oracle of `model=trees`.

  /usr/bin/python3 tests/oracle/make_trees.py

writes trees_rows.csv and trees.txt. Two labels: binary:logistic with the log share of the labels as base margin, rows
that count. Three: multi:softprob. Some cells are missing, which trees take as they are. Margins are less those of the
first row, so that a constant does not count: the library under test moves its biases after the last tree.
"""
import os

import numpy as np
import xgboost

FOLDER = os.path.dirname(os.path.abspath(__file__))


def array(out, name, values):
    values = np.ravel(values)
    print("array", name, len(values), file=out)
    print(*("%.9g" % v for v in values), file=out)


def main():
    rng = np.random.default_rng(5)
    n, rounds, depth, rate = 400, 25, 3, 0.3
    x = np.column_stack([np.round(rng.normal(size=n), 1), rng.integers(0, 5, n), np.round(rng.uniform(size=n), 2),
                         np.round(rng.exponential(size=n), 1)])
    missing = rng.uniform(size=n) < 0.15
    score = np.sin(2 * x[:, 0]) + 0.5 * (x[:, 1] > 2) * x[:, 3] - x[:, 2] + missing
    two = (score + rng.logistic(size=n) > 0.8).astype(int)
    three = np.digitize(score + rng.logistic(size=n), [-0.3, 0.9])
    count = rng.integers(1, 4, n)
    with open(os.path.join(FOLDER, "trees_rows.csv"), "w") as out:
        print("a,b,c,d,two,three,count", file=out)
        for i in range(n):
            print("%g,%g,%s,%g,%d,%d,%d" % (x[i, 0], x[i, 1], "" if missing[i] else "%g" % x[i, 2], x[i, 3], two[i],
                                           three[i], count[i]), file=out)
    x[missing, 2] = np.nan
    common = {"tree_method": "hist", "max_depth": depth, "eta": rate, "lambda": 1, "min_child_weight": 1,
              "base_score": 0.5, "nthread": 1}
    with open(os.path.join(FOLDER, "trees.txt"), "w") as out:
        print("# made by make_trees.py with xgboost", xgboost.__version__, file=out)
        share = np.average(two, weights=count)
        start = np.full(n, np.log(share / (1 - share)))
        matrix = xgboost.DMatrix(x, two, weight=count, base_margin=start)
        fitted = xgboost.train(dict(common, objective="binary:logistic"), matrix, rounds)
        margin = fitted.predict(matrix, output_margin=True).astype(float)
        print("case two rounds=%d depth=%d rate=%g" % (rounds, depth, rate), file=out)
        array(out, "margin", margin - margin[0])
        share = np.bincount(three, weights=count) / count.sum()
        matrix = xgboost.DMatrix(x, three, weight=count, base_margin=np.tile(np.log(share), n))
        fitted = xgboost.train(dict(common, objective="multi:softprob", num_class=3), matrix, rounds)
        margin = fitted.predict(matrix, output_margin=True).reshape(n, 3).astype(float)
        margin -= margin[:, :1]
        print("case three rounds=%d depth=%d rate=%g" % (rounds, depth, rate), file=out)
        array(out, "margin", margin - margin[0])
        print("end 2", file=out)


main()
