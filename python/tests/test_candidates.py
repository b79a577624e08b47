"""Classifiers of scikit-learn's kind among the candidates of `model="auto"`."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import prevail


class Fixed(ClassifierMixin, BaseEstimator):
    """Knows the log odds of each label against the first, whatever it is fitted to; rows of equal labels are its design."""

    def __init__(self, slopes=(1.0,)):
        self.slopes = slopes

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        z = np.column_stack([np.zeros(len(X)), np.asarray(X)[:, :1] * np.asarray(self.slopes)])
        made = np.exp(z - z.max(axis=1, keepdims=True))
        return made / made.sum(axis=1, keepdims=True)


class Spy(ClassifierMixin, BaseEstimator):
    """Keeps what it is given, in a list of the class."""

    seen = []

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.rows, self.weights = np.unique(y), np.asarray(X)[:, 0], sample_weight
        return self

    def predict_proba(self, X):
        Spy.seen.append((self.rows, np.asarray(X)[:, 0], self.weights))
        return np.full((len(X), 2), 0.5) + np.outer(np.sin(np.asarray(X)[:, 0]), [-0.2, 0.2])


def rows(m=60, seed=0, labels=2):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(labels), m)
    return rng.normal(size=(len(y), 2)) + 1.5 * y[:, None] * [1.0, 0.0], y


@pytest.mark.parametrize("labels", [2, 3])
def test_the_mixture_is_what_its_weights_say(labels):
    X, y = rows(labels=labels)
    slopes = tuple(np.arange(1.0, labels))
    prior = np.array([0.9, 0.1]) if labels == 2 else np.array([0.7, 0.2, 0.1])
    design = np.full(labels, 1 / labels)
    fixed = prevail.PrevalenceAdjusted(Fixed(slopes), prior, design)
    model = prevail.PrevalenceClassifier(prior, model="auto", candidates=["prevalence", ("known", fixed)]).fit(X, y)
    weights = model.candidates_["weight"]
    assert list(weights.index) == ["prevalence", "known", "the mixture"] and 0 < weights["known"] <= 1
    new = rows(20, 1, labels)[0]
    ratio = np.log(Fixed(slopes).fit(X, y).predict_proba(new) / design)
    ratio = np.maximum(ratio, ratio.max(axis=1, keepdims=True) - np.log(61))
    own = prior * np.exp(ratio)
    own /= own.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(new), weights["prevalence"] * prior + weights["known"] * own, rtol=1e-9)
    assert set(model.estimators_) == {"known"}


@pytest.mark.filterwarnings("ignore::prevail.PrevailWarning")
def test_estimators_have_not_seen_what_they_score():
    """Nor others of its group; in the end they learn from all."""
    X, y = rows()
    table = pd.DataFrame({"number": np.arange(len(y), dtype=float), "a": X[:, 0], "practice": np.arange(len(y)) // 3})
    Spy.seen.clear()
    prevail.PrevalenceClassifier(0.1, model="auto", group="practice", candidates=["prevalence", Spy()]).fit(table, y)
    held = np.concatenate([scored for _, scored, _ in Spy.seen])
    assert sorted(held) == list(table["number"]) and len(Spy.seen) == 10
    for learned, scored, _ in Spy.seen:
        assert not set(learned // 3) & set(scored // 3)


def test_weights_reach_them():
    X, y = rows()
    weights = np.tile([1.0, 2.0, 0.0], 40)
    Spy.seen.clear()
    model = prevail.PrevalenceClassifier(0.1, model="auto", candidates=["prevalence", make_pipeline(StandardScaler(), Spy())])
    assert set(model.fit(X, y, weights).estimators_) == {"Spy"}
    for learned, _, given in Spy.seen:
        assert len(given) == len(learned) and set(given) == {1.0, 2.0}
    with pytest.raises(prevail.InputError, match="KNeighborsClassifier takes no `sample_weight`"):
        prevail.PrevalenceClassifier(0.1, model="auto", candidates=[KNeighborsClassifier()]).fit(X, y, weights)


def test_as_any_estimator(tmp_path):
    """Copies, files, nested cross-validation, other populations."""
    X, y = rows()
    own = ["prevalence", "linear", GaussianNB(), ("weighted", LogisticRegression(class_weight="balanced")), GaussianNB()]
    model = prevail.PrevalenceClassifier(0.1, model="auto", candidates=own).fit(X, y)
    assert list(model.estimators_) == ["GaussianNB", "weighted", "GaussianNB-2"]
    p = model.predict_proba(X)
    for again in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        assert (again.predict_proba(X) == p).all()
    odds = p[:, 1] / p[:, 0] * 9
    moved = model.predict_proba(X, 0.5)
    np.testing.assert_allclose(moved[:, 1] / moved[:, 0], odds, rtol=1e-9)
    assert 0 < model.infer_prevalence(X).value[1] < 1
    assert cross_val_score(model, X, y, cv=3, scoring="roc_auc").min() > 0.7
    model.save(tmp_path / "a.model")
    loaded = prevail.PrevalenceClassifier.load(tmp_path / "a.model")
    table = pd.DataFrame({**dict(zip(("x0", "x1"), X.T)), **model._scored.score(X)})
    np.testing.assert_allclose(loaded.predict_proba(table), p, rtol=1e-12)


def test_what_learns_by_heart_gets_no_weight():
    X, y = rows()
    y = np.random.default_rng(3).permutation(y)
    found = prevail.PrevalenceClassifier(0.1, model="auto", candidates=["prevalence", DecisionTreeClassifier(random_state=0)]).fit(X, y).candidates_
    assert found["weight"]["DecisionTreeClassifier"] < 0.2 and found["gain"]["DecisionTreeClassifier"] < 0


def test_what_is_rejected():
    X, y = rows()
    table = pd.DataFrame(X, columns=["a", "GaussianNB"])

    def rejected(match, rows=X, **options):
        with pytest.raises(prevail.InputError, match=match):
            prevail.PrevalenceClassifier(**{"prevalence": 0.1, "model": "auto", **options}).fit(rows, y)

    rejected("mixed by `model", model="linear", candidates=[GaussianNB()])
    rejected("no `predict_proba`", candidates=[StandardScaler()])
    rejected("no `predict_proba`", candidates=[GaussianNB])
    rejected("a text, or a list", candidates=7)
    rejected("two are called 'a'", candidates=[("a", GaussianNB()), ("a", GaussianNB())])
    rejected("a column 'GaussianNB'", table, candidates=[GaussianNB()])
    rejected("no candidate 'forest'", candidates=["forest", GaussianNB()])
