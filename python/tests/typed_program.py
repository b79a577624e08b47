"""A user's program that `mypy --strict` accepts; test_types.py has it read, and runs it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import prevail
from prevail import Evaluation, PrevalenceAdjusted, PrevalenceClassifier


def rows(n: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], n)
    return rng.normal(size=(2 * n, 2)) + y[:, None], y


def fitted() -> PrevalenceClassifier:
    X, y = rows(200)
    return PrevalenceClassifier(prevalence=0.05, positive=1, strata=None, threads=1).fit(X, y)


def evaluated(model: PrevalenceClassifier) -> Evaluation:
    X, y = rows(100)
    return prevail.evaluate(y, model.predict_proba(X), prevalence={0: 0.95, 1: 0.05}, bootstrap=0)


def main() -> float:
    X, y = rows(100)
    model = fitted()
    coefficients: npt.NDArray[np.float64] = model.coef_
    summary = model.summary(level=0.95)
    references: dict[str, str] = summary.references
    lo, hi = model.predict_interval(X)
    ev = evaluated(model)
    auc: float = ev.auc.value + ev["brier"].value
    decisions = model.decide(X, {"wait": {0: 0, 1: 50}, "examine": {0: 1, 1: 1}})
    counts = decisions.counts["wait"]
    wrapped = PrevalenceAdjusted(model, prevalence=0.1).for_population(0.2)
    moved = prevail.adjust(wrapped.predict_proba(X)[:, 1], from_=0.2, to=0.01)
    inferred = prevail.infer_prevalence(moved, from_=0.01)
    low, high = inferred.interval
    scorer = prevail.Scorer("log_loss", pos_label=1)
    try:
        prevail.evaluate(y, [2.0] * len(y))
    except prevail.InputError as error:
        assert error.problem and error.row is None
    print(summary, references, coefficients, lo.shape, hi.shape, counts, low, high)
    return auc + scorer(model, X, y) + float(moved.mean())


if __name__ == "__main__":
    main()
