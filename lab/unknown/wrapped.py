"""Does the interval of an unknown prevalence hold the truth with estimators of scikit-learn?

    python3 lab/unknown/wrapped.py [SAMPLES]      # 100 samples a line, some minutes

PrevalenceAdjusted(estimator, prevalence="unknown"), 200 rows of each label to learn from and 1000 others at 0.05. Its training rows, scored by
models without their fold, tell the prevalence. Nominal 95 % intervals. "as right": the fitted estimator's probabilities taken as right.
"""
import sys
import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import prevail

EACH, ROWS, PREVALENCE = 200, 1000, 0.05


def normal(columns):
    def rows(rng, y):
        made = rng.normal(size=(len(y), columns))
        made[:, :4] += 0.75 * y[:, None]
        return made

    return rows


def ties(rng, y):
    return (rng.random((len(y), 5)) < np.where(y, 0.6, 0.3)[:, None]).astype(float)


def half(rng, y):
    made = rng.normal(size=(len(y), 4))
    made[:, 0] += 2.4 * y * (rng.random(len(y)) < 0.5)
    return made


CASES = [
    ("logistic, 4 columns", LogisticRegression(), normal(4)),
    ("logistic, 20 columns", LogisticRegression(), normal(20)),
    ("logistic, ties", LogisticRegression(), ties),
    ("logistic, half of the cases like controls", LogisticRegression(), half),
    ("forest, 20 columns", RandomForestClassifier(100, random_state=0), normal(20)),
    ("forest, half of the cases like controls", RandomForestClassifier(100, random_state=0), half),
]


def main():
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    warnings.simplefilter("ignore", prevail.PrevailWarning)
    print("| estimator | coverage | mean | width | as right | mean |\n|---|---|---|---|---|---|")
    for name, estimator, rows in CASES:
        held, value, width, plain_held, plain_value = [], [], [], [], []
        for seed in range(samples):
            rng = np.random.default_rng([seed, len(name)])
            y, truth = np.repeat([0, 1], EACH), (rng.random(ROWS) < PREVALENCE).astype(int)
            model = prevail.PrevalenceAdjusted(estimator, prevalence="unknown").fit(rows(rng, y), y)
            X = rows(rng, truth)
            model.predict_proba(X)
            found = model.inferred_
            plain = prevail.infer_prevalence(model.estimator_.predict_proba(X), from_=0.5)
            held.append(found.interval[0] <= PREVALENCE <= found.interval[1])
            plain_held.append(plain.interval[0] <= PREVALENCE <= plain.interval[1])
            value.append(found.prevalence)
            plain_value.append(plain.prevalence)
            width.append(found.interval[1] - found.interval[0])
        numbers = (held, value, width, plain_held, plain_value)
        print(f"| {name} | " + " | ".join(f"{np.mean(n):.3f}" for n in numbers) + " |", flush=True)


main()
