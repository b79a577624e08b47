"""PrevalenceAdjusted around estimators of several kinds."""

import pickle
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prevail

from conftest import sample


def forest():
    return RandomForestClassifier(60, min_samples_leaf=10, random_state=0)


def test_undersampled_forest(people):
    """The mean of the probabilities in the population is its prevalence, and they beat the raw ones."""
    model = prevail.PrevalenceAdjusted(forest(), prevalence=0.05).fit(*sample(600, 600, seed=2))
    X, y = people
    p = model.predict_proba(X)[:, 1]
    raw = model.estimator_.predict_proba(X)[:, 1]
    assert raw.mean() > 0.2 and p.mean() == pytest.approx(0.05, abs=0.015)
    good, bad = (prevail.evaluate(y, q, bootstrap=0).log_loss.value for q in (p, raw))
    assert good < bad
    odds = p / (1 - p) / (raw / (1 - raw))
    np.testing.assert_allclose(odds[(raw > 0) & (raw < 1)], 0.05 / 0.95, rtol=1e-9)


def test_prior_changes_after_fitting(study):
    X, y = study
    model = prevail.PrevalenceAdjusted(LogisticRegression(), prevalence=0.05).fit(X, y)
    fitted = model.estimator_
    there = model.for_population(0.2)
    assert there.estimator_ is fitted and model.prevalence == 0.05
    np.testing.assert_array_equal(model.set_params(prevalence=0.2).predict_proba(X), there.predict_proba(X))
    np.testing.assert_allclose(there.prevalence_, [0.8, 0.2])


def test_unknown_population(people):
    X, y = people
    model = prevail.PrevalenceAdjusted(LogisticRegression(), prevalence=0.3).fit(*sample(2000, 2000, seed=2))
    there = model.for_population("unknown", X)
    lo, hi = there.inferred_.interval
    assert lo < y.mean() < hi and there.prevalence_[1] == pytest.approx(there.inferred_.prevalence)
    later = model.for_population("unknown")
    with pytest.raises(AttributeError, match="inferred when rows are predicted"):
        later.prevalence_
    np.testing.assert_allclose(later.predict_proba(X)[:, 1].mean(), y.mean(), atol=0.02)
    assert later.inferred_.interval == (lo, hi)


def test_unknown_population_of_a_forest(people):
    """Probabilities of exactly 0 and 1 are no reason to fail."""
    X, y = people
    trees = RandomForestClassifier(20, random_state=0)
    model = prevail.PrevalenceAdjusted(trees, prevalence="unknown").fit(*sample(500, 500, seed=2))
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("wrong", ["class_weight", "mapping", "sample_weight"])
def test_weights_are_part_of_the_design(people, wrong):
    """However the classes are weighted, the adjusted probabilities are those of the population."""
    X, y = people
    weights = None
    if wrong == "class_weight":
        inner = LogisticRegression(class_weight="balanced")
    elif wrong == "mapping":
        inner = LogisticRegression(class_weight={1: 19.0})
    else:
        inner, weights = LogisticRegression(), np.where(y == 1, 19.0, 1.0)
    model = prevail.PrevalenceAdjusted(inner, prevalence=0.05).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.design_, [0.5, 0.5])
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.05, abs=0.012)


def test_xgboost(people):
    xgboost = pytest.importorskip("xgboost")
    X, y = people
    inner = xgboost.XGBClassifier(n_estimators=30, max_depth=2, scale_pos_weight=19, n_jobs=1)
    model = prevail.PrevalenceAdjusted(inner, prevalence=0.05).fit(X, y)
    np.testing.assert_allclose(model.design_, [0.5, 0.5], atol=1e-6)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.05, abs=0.015)


def test_fitted_already(study):
    X, y = study
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    wanted = prevail.adjust(fitted.predict_proba(X), from_=0.5, to=0.01)
    model = prevail.PrevalenceAdjusted(fitted, prevalence=0.01, design=0.5)
    np.testing.assert_allclose(model.predict_proba(X), wanted)
    with pytest.raises(NotFittedError, match="`design`"):
        prevail.PrevalenceAdjusted(fitted, prevalence=0.01).predict_proba(X)
    with pytest.raises(NotFittedError):
        prevail.PrevalenceAdjusted(LogisticRegression(), prevalence=0.01, design=0.5).predict_proba(X)


def test_labels_in_words(study):
    X, y = study
    words = np.where(y == 1, "case", "control")
    model = prevail.PrevalenceAdjusted(LogisticRegression(), prevalence=0.01).fit(X, words)
    assert model.positive_ == "case"
    assert model.predict_proba(X)[:, 0].mean() < 0.1
    np.testing.assert_allclose(model.prevalence_, [0.01, 0.99])
    flipped = prevail.PrevalenceAdjusted(LogisticRegression(), prevalence=0.99, positive="control").fit(X, words)
    np.testing.assert_allclose(flipped.predict_proba(X), model.predict_proba(X), rtol=1e-12)


def test_within_scikit_learn(study):
    X, y = study
    model = prevail.PrevalenceAdjusted(LogisticRegression(), prevalence=0.01)
    scores = cross_val_score(model, X, y, scoring=prevail.Scorer("log_loss"), cv=3)
    assert (scores < 0).all() and (scores > -0.2).all()
    search = GridSearchCV(model, {"estimator__C": [1e-4, 1.0]}, scoring=prevail.Scorer("auc"), cv=3).fit(X, y)
    assert search.best_params_["estimator__C"] in (1e-4, 1.0)


def test_decide(study):
    X, y = study
    model = prevail.PrevalenceAdjusted(LogisticRegression(), prevalence=0.05).fit(X, y)
    costs = {"wait": {0: 0, 1: 19}, "act": {0: 1, 1: 1}}
    action, cost = model.decide(X, costs)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(action == "act", 19 * p > 1)
    np.testing.assert_allclose(cost, np.minimum(19 * p, 1))


def test_an_unknown_prevalence_is_told_by_models_without_a_fold():
    """A forest knows its training rows by heart: its ratios taken as right put the prevalence far off."""
    rng = np.random.default_rng(3)

    def rows(y):
        return rng.normal(size=(len(y), 6)) + 0.7 * y[:, None]

    y = np.repeat([0, 1], 150)
    model = prevail.PrevalenceAdjusted(RandomForestClassifier(60, random_state=0), prevalence="unknown").fit(rows(y), y)
    truth = (np.arange(1500) % 10 == 0).astype(int)
    X = rows(truth)
    p = model.predict_proba(X)
    lo, hi = model.inferred_.interval
    assert lo < 0.1 < hi and hi - lo < 0.2
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(X) == p).all() and "_training" not in vars(again)
    plain = prevail.infer_prevalence(model.estimator_.predict_proba(X), from_=0.5)
    assert plain.interval[1] - plain.interval[0] < hi - lo
    few = prevail.PrevalenceAdjusted(LogisticRegression(), prevalence="unknown").fit(X[:30], np.repeat([0, 1], 15))
    few.predict_proba(X)
    assert few._reference() is None
