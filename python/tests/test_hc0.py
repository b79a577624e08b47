"""``errors="hc0"`` is the sandwich that R's survey has, by NumPy; closed forms do not depend on the seed."""

import numpy as np
import prevail
import pytest


def case_control(n=300, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60000, 2))
    y = rng.random(60000) < 1 / (1 + np.exp(4.2 - 0.8 * x[:, 0] - 0.2 * x[:, 0] ** 2 + 0.5 * x[:, 1]))
    rows = np.r_[rng.choice(np.flatnonzero(y), n, False), rng.choice(np.flatnonzero(~y), n, False)]
    return x[rows], y[rows].astype(int)


def weighted_sandwich(X, y, prevalence):
    """Weighted logistic regression, and its variance with the labels as strata."""
    x = np.c_[np.ones(len(y)), X]
    n = np.bincount(y)
    weight = np.where(y == 1, prevalence / n[1], (1 - prevalence) / n[0])
    b = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ b))
        H = (x * (weight * p * (1 - p))[:, None]).T @ x
        b += np.linalg.solve(H, x.T @ (weight * (y - p)))
    p = 1 / (1 + np.exp(-x @ b))
    scores, meat = x * (weight * (y - p))[:, None], 0
    for label in (0, 1):
        own = scores[y == label] - scores[y == label].mean(axis=0)
        meat = meat + n[label] / (n[label] - 1) * own.T @ own
    return b, np.sqrt(np.diag(np.linalg.solve(H, np.linalg.solve(H, meat).T)))


@pytest.mark.filterwarnings("ignore::prevail.PrevailWarning")
def test_hc0_is_the_sandwich():
    X, y = case_control()
    model = prevail.PrevalenceClassifier(0.02, infer="robust", errors="hc0").fit(X, y)
    b, errors = weighted_sandwich(X, y, 0.02)
    found = model.coefficients()
    assert found["coefficient"].to_numpy() == pytest.approx(b, rel=1e-8)
    assert found["sd"].to_numpy() == pytest.approx(errors, rel=1e-7)
    assert np.all((found["p_value"] >= 0) & (found["p_value"] <= 1))


@pytest.mark.filterwarnings("ignore::prevail.PrevailWarning")
@pytest.mark.parametrize("infer", ["robust", "laplace"])
def test_no_seed(infer):
    X, y = case_control(100)
    one, other = (prevail.PrevalenceClassifier(0.02, infer=infer, seed=s).fit(X, y).coefficients() for s in (1, 2))
    assert np.array_equal(one.to_numpy(float), other.to_numpy(float), equal_nan=True)
