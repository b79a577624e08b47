"""What has names is taken by them: labels of a Series, columns of a data frame, instants, the population of an estimator."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prevail

pandas = pytest.importorskip("pandas")
PROBA = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
SHARES = {2: 0.1, 0: 0.7, 1: 0.2}


def rows(n=300, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    return X, (random.random(n) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)


def test_a_series_of_prevalences_names_its_labels():
    series = pandas.Series(SHARES)  # in the order of value_counts, say
    for from_, to in ((SHARES, [1 / 3] * 3), ([1 / 3] * 3, SHARES)):
        wanted = prevail.adjust(PROBA, from_=from_, to=to)
        as_series = [pandas.Series(shares) if shares is SHARES else shares for shares in (from_, to)]
        np.testing.assert_array_equal(prevail.adjust(PROBA, from_=as_series[0], to=as_series[1]), wanted)
    words = ["a", "b", "c"]
    wanted = prevail.adjust(PROBA, from_=[1 / 3] * 3, to={"c": 0.1, "a": 0.7, "b": 0.2}, classes=words)
    named = pandas.Series({"c": 0.1, "a": 0.7, "b": 0.2})
    np.testing.assert_array_equal(prevail.adjust(PROBA, from_=[1 / 3] * 3, to=named, classes=words), wanted)
    unnamed = pandas.Series([0.7, 0.2, 0.1])
    np.testing.assert_array_equal(prevail.adjust(PROBA, from_=[1 / 3] * 3, to=unnamed, classes=words), wanted)
    with pytest.raises(prevail.InputError, match="there is no label 'd'"):
        prevail.adjust(PROBA, from_=[1 / 3] * 3, to=pandas.Series({"d": 0.1, "a": 0.7, "b": 0.2}), classes=words)
    with pytest.raises(prevail.InputError, match="twice"):
        prevail.adjust(PROBA, from_=[1 / 3] * 3, to=pandas.Series([0.1, 0.7, 0.2], index=["a", "a", "b"]), classes=words)
    X, y = rows()
    for shares in ({1: 0.1, 0: 0.9}, {0: 0.9, 1: 0.1}):
        wanted = prevail.PrevalenceClassifier(shares).fit(X, y).predict_proba(X, population={1: 0.3, 0: 0.7})
        found = prevail.PrevalenceClassifier(pandas.Series(shares)).fit(X, y).predict_proba(X, population=pandas.Series({1: 0.3, 0: 0.7}))
        np.testing.assert_array_equal(found, wanted)
    model = prevail.PrevalenceAdjusted(LogisticRegression().fit(X, y), pandas.Series({1: 0.1, 0: 0.9}), pandas.Series({1: 0.6, 0: 0.4}))
    np.testing.assert_allclose([model.prevalence_, model.design_], [[0.9, 0.1], [0.4, 0.6]])
    sites, by_site = ["a", "b"], {"b": 0.1, "a": 0.01}
    wanted = prevail.adjust([0.2, 0.5], from_=0.5, to=by_site, strata=sites)
    np.testing.assert_array_equal(prevail.adjust([0.2, 0.5], from_=0.5, to=pandas.Series(by_site), strata=sites), wanted)
    assert series.index.tolist() == [2, 0, 1]  # left as it was


def test_a_series_of_costs_names_its_labels():
    wanted = prevail.decide([0.001, 0.3], {"wait": {1: 50, 0: 0}, "examine": {0: 1, 1: 1}})
    found = prevail.decide([0.001, 0.3], {"wait": pandas.Series({1: 50, 0: 0}), "examine": pandas.Series({0: 1, 1: 1})})
    assert found.action.tolist() == wanted.action.tolist() == ["wait", "examine"]


def test_columns_and_classes_that_contradict_each_other():
    turned = pandas.DataFrame(PROBA[:, ::-1], columns=[2, 1, 0])
    np.testing.assert_allclose(prevail.adjust(turned, from_=[1 / 3] * 3, to=SHARES)[:, ::-1], prevail.adjust(PROBA, from_=[1 / 3] * 3, to=SHARES))
    for use in (
        lambda: prevail.adjust(turned, from_=[1 / 3] * 3, to=SHARES, classes=[0, 1, 2]),
        lambda: prevail.evaluate([0, 2], turned, classes=[0, 1, 2]),
        lambda: prevail.decide(turned, np.eye(3), classes=[0, 1, 2]),
        lambda: prevail.infer_prevalence(PROBA, from_=[1 / 3] * 3, reference=([0, 1], turned)),
    ):
        with pytest.raises(prevail.InputError, match="put the columns in this order"):
            use()


def test_the_population_of_an_estimator():
    """Metrics are stated for the population that probabilities are for."""
    X, y = rows()
    model = prevail.PrevalenceClassifier(0.02).fit(X, y)
    moved = model.for_population(0.2)
    np.testing.assert_allclose([model.prevalence_[1], moved.prevalence_[1]], [0.02, 0.2])
    wanted = prevail.evaluate(y, moved.predict_proba(X), prevalence=0.2, bootstrap=0)
    assert prevail.Scorer("calibration_ratio")(moved, X, y) == wanted.calibration_ratio.value
    pipeline = make_pipeline(StandardScaler(), prevail.PrevalenceClassifier(0.02)).fit(X, y)
    wanted = prevail.evaluate(y, pipeline.predict_proba(X), prevalence=0.02, bootstrap=0)
    assert prevail.Scorer("calibration_ratio")(pipeline, X, y) == wanted.calibration_ratio.value
    for unknown in (model.for_population("unknown"), prevail.PrevalenceAdjusted(LogisticRegression(), "unknown").fit(X, y)):
        with pytest.raises(AttributeError, match="call `predict_proba` first"):
            unknown.prevalence_
        rare = np.flatnonzero(y == 0)
        rare = np.concatenate([rare, np.flatnonzero(y == 1)[:20]])
        first = prevail.Scorer()(unknown, X[rare], y[rare])
        prevail.Scorer()(unknown, X, y)
        assert prevail.Scorer()(unknown, X[rare], y[rare]) == first


def test_labels_of_a_model_file_keep_their_spelling(tmp_path):
    X, y = rows()
    for labels in (["01", "02"], ["1_0", "2_0"], ["1", "1.50"], ["1", "2"]):
        model = prevail.PrevalenceClassifier({labels[1]: 0.1, labels[0]: 0.9}).fit(X, np.array(labels)[y])
        model.save(tmp_path / "a.model")
        loaded = prevail.PrevalenceClassifier.load(tmp_path / "a.model")
        assert [str(label) for label in loaded.classes_] == labels
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_an_instant_is_the_same_in_every_time_zone():
    X, y = rows()
    times = pandas.Series(pandas.date_range("2020-01-01", periods=len(y), freq="h", tz="UTC")).sample(frac=1, random_state=0)
    frame = pandas.DataFrame({"t": times.array, "x": X[:, 0]})
    elsewhere = frame.assign(t=frame.t.dt.tz_convert("Asia/Tokyo"))
    naive = frame.assign(t=frame.t.dt.tz_localize(None))
    model = prevail.PrevalenceClassifier(0.1).fit(frame, y)
    np.testing.assert_array_equal(model.predict_proba(elsewhere), model.predict_proba(frame))
    np.testing.assert_array_equal(model.predict_proba(naive), model.predict_proba(frame))
