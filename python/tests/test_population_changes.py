"""A prevalence that changes after fitting, and rows that hardly tell theirs: neither passes in silence."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import prevail

from conftest import sample


def test_a_prevalence_that_is_set_after_fitting(study):
    X, y = study
    model = prevail.PrevalenceClassifier(0.05).fit(X, y)
    before = model.predict_proba(X)
    for use in (model.predict_proba, model.predict, lambda X: model.summary(), lambda X: model.coef_):
        model.set_params(prevalence=0.3)
        with pytest.raises(prevail.InputError, match=r"was 0\.05.*is now 0\.3.*for_population\(0\.3\)"):
            use(X)
        model.set_params(prevalence=0.05)
        np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.for_population(0.3).predict_proba(X)[:, 1].mean() > before[:, 1].mean()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), before)
    model.set_params(prevalence=0.3).fit(X, y)
    assert model.prevalence_[1] == pytest.approx(0.3)
    mapping = prevail.PrevalenceClassifier({0: 0.9, 1: 0.1}).fit(X, y)
    assert mapping.set_params(prevalence={0: 0.9, 1: 0.1}).predict_proba(X).shape == (600, 2)


def test_a_loaded_model(study, tmp_path):
    path = str(tmp_path / "a.model")
    prevail.PrevalenceClassifier(0.05).fit(*study).save(path)
    model = prevail.PrevalenceClassifier.load(path)
    assert model.predict_proba(study[0]).shape == (600, 2)
    with pytest.raises(prevail.InputError, match="for_population"):
        model.set_params(prevalence=0.3).predict_proba(study[0])


def test_rows_that_hardly_tell(study, people):
    X, y = study
    classifier = prevail.PrevalenceClassifier(0.05).fit(X, y)
    wrapped = prevail.PrevalenceAdjusted(LogisticRegression(), prevalence="unknown").fit(X, y)
    with pytest.warns(prevail.PrevailWarning, match="hardly determine their prevalence .*interval"):
        classifier.predict_proba(X[:5], population="unknown")
    with pytest.warns(prevail.PrevailWarning, match="hardly determine"):
        wrapped.predict_proba(X[:5])
    with warnings.catch_warnings():
        warnings.simplefilter("error", prevail.PrevailWarning)
        classifier.predict_proba(people[0], population="unknown")
        wrapped.predict_proba(people[0])
        assert classifier.infer_prevalence(X[:5]).weak
