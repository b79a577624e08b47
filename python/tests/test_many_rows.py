"""Many rows: passes that use every thread, and short cuts that only large tables take."""

import pickle

import numpy as np
import pytest

import prevail

from conftest import sample


pytestmark = pytest.mark.filterwarnings("ignore:column 'x5' has a different whole number")  # 1e120 of anything is one


@pytest.fixture(scope="module")
def large():
    X, y = sample(30_000, 40_000, features=9)
    X[:, 3] = 1e8 + X[:, 3]  # a mean that is far from 0
    X[:, 4] *= 1e-150
    X[:, 5] *= 1e120
    return X, y


@pytest.mark.parametrize("options", [{}, {"prevalence": 0.05}, {"prevalence": 0.05, "infer": "robust"}])
def test_any_number_of_threads(large, options):
    """The same bits, of the fit and of what is judged by it."""
    one, two = (prevail.PrevalenceClassifier(threads=threads, **options).fit(*large) for threads in (1, 3))
    assert pickle.dumps(one._model) == pickle.dumps(two._model)
    p = one.predict_proba(large[0])[:, 1]
    judged = [prevail.evaluate(large[1], p, prevalence=0.05, threads=threads) for threads in (1, 3)]
    assert repr(dict(judged[0])) == repr(dict(judged[1]))


@pytest.mark.parametrize("weighted", [False, True])
def test_scales(large, weighted):
    """Coefficients per unit of columns of any magnitude are those of the columns standardised by NumPy."""
    X, y = large
    weight = np.random.default_rng(1).integers(0, 3, len(y)) if weighted else None
    rows = np.repeat(np.arange(len(y)), weight) if weighted else slice(None)
    mean, sd = X[rows].mean(axis=0), np.array([X[rows, j].std() if j != 5 else (X[rows, j] / 1e120).std() * 1e120 for j in range(9)])
    sd[4] = (X[rows, 4] * 1e150).std() * 1e-150
    ours = prevail.PrevalenceClassifier(0.05).fit(X, y, sample_weight=weight)
    given = prevail.PrevalenceClassifier(0.05).fit((X - mean) / sd, y, sample_weight=weight)
    assert np.allclose(ours.coef_ * sd, given.coef_, atol=1e-6)


def test_calibration_slope(large):
    """By Newton's method on all rows, whatever the search begins with."""
    X, y = large
    line = 0.3 + 1.7 * X[:, 0]
    slope, intercept = 1.0, 0.0
    for _ in range(30):
        q = 1 / (1 + np.exp(-(intercept + slope * line)))
        h = q * (1 - q)
        H = np.array([[h.sum(), (h * line).sum()], [(h * line).sum(), (h * line**2).sum()]])
        intercept, slope = np.array([intercept, slope]) + np.linalg.solve(H, [(y - q).sum(), ((y - q) * line).sum()])
    found = prevail.evaluate(y, 1 / (1 + np.exp(-line)), bootstrap=0)
    assert abs(found.calibration_slope.value - slope) < 1e-9


def test_matched_sets_are_seen(large):
    """Sets of three with one case each, in any order of the rows; columns of measurements are not taken for them."""
    rng = np.random.default_rng(2)
    sets, y = np.repeat(np.arange(10_000.0), 3), np.tile([1, 0, 0], 10_000)
    order = rng.permutation(len(y))
    X = np.column_stack([rng.normal(size=len(y)), sets])[order]
    with pytest.warns(prevail.PrevailWarning, match="column 'x1' looks like matched sets .10000 groups, each with 1 case"):
        prevail.PrevalenceClassifier(0.05).fit(X, y[order])


def test_missing_and_infinite(large):
    X, y = large
    X = X.copy()
    X[69_000, 7] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        prevail.PrevalenceClassifier(0.05).fit(X, y)
    dropped = prevail.PrevalenceClassifier(0.05, missing="drop").fit(X, y)
    without = prevail.PrevalenceClassifier(0.05).fit(np.delete(X, 69_000, 0), np.delete(y, 69_000))
    assert np.allclose(dropped.coef_, without.coef_, rtol=1e-9)
