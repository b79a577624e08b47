"""What scikit-learn's users expect of an estimator: sparse matrices, frames and arrays, categories, warnings, output, notebooks."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import AdaBoostClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import prevail

from conftest import sample

pandas = pytest.importorskip("pandas")


def table(cases=300, controls=300, seed=3):
    """A number, and a category whose natural order is not its own."""
    X, y = sample(cases, controls, seed=seed)
    size = np.array(["small", "medium", "large"])[(X[:, 1] + 0.8 * y > 0).astype(int) + (X[:, 2] > 0)]
    return pandas.DataFrame({"dose": X[:, 0], "size": size}), y


# ---- sparse matrices -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array"])
def test_sparse(study, form):
    X, y = study
    X = np.where(np.abs(X) < 0.7, 0, X)
    made = getattr(sparse, form)(X)
    dense = prevail.PrevalenceClassifier(0.05).fit(X, y)
    model = prevail.PrevalenceClassifier(0.05).fit(made, y)
    np.testing.assert_array_equal(model.coef_, dense.coef_)
    for rows in (made, X):
        np.testing.assert_array_equal(model.predict_proba(rows), dense.predict_proba(X))


def test_sparse_that_is_large_as_a_dense_matrix(study, monkeypatch):
    X, y = study
    monkeypatch.setattr("prevail._compat._MUCH", 1000)
    with pytest.warns(prevail.PrevailWarning, match="X is sparse .* as a dense matrix"):
        prevail.PrevalenceClassifier(0.05).fit(sparse.csr_matrix(X), y)


def test_sparse_missing_and_infinite(study):
    X, y = study
    X = X.copy()
    X[3, 1] = np.nan
    with pytest.raises(prevail.InputError, match="NaN: the first is in row 3, column 1"):
        prevail.PrevalenceClassifier(0.05).fit(sparse.csr_matrix(X), y)
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        prevail.PrevalenceClassifier(0.05).fit(sparse.csr_matrix(X), y)


@pytest.mark.parametrize("drop", [None, "first"])
def test_one_hot_columns_are_as_good_as_categories(drop):
    """A pipeline gives a sparse matrix of indicators, by default one for each level."""
    X, y = table(600, 600)  # of fewer the rows choose the prior, by the indicators that there are
    later, labels = table(4000, 4000, seed=4)
    raw = prevail.PrevalenceClassifier(0.05).fit(X, y)
    encode = make_column_transformer((OneHotEncoder(drop=drop), ["size"]), remainder="passthrough", sparse_threshold=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", prevail.PrevailWarning)  # without drop: indicators add up to 1
        pipeline = make_pipeline(encode, prevail.PrevalenceClassifier(0.05)).fit(X, y)
    one, other = raw.predict_proba(later)[:, 1], pipeline.predict_proba(later)[:, 1]
    assert np.abs(np.log(one / other)).max() < 0.1
    losses = [prevail.evaluate(labels, p, prevalence=0.05, bootstrap=0).log_loss.value for p in (one, other)]
    assert losses[1] == pytest.approx(losses[0], abs=2e-4)


# ---- categories ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ordered", [False, True])
def test_the_order_of_categories_sets_the_reference(ordered):
    X, y = table()
    natural = prevail.PrevalenceClassifier(0.05).fit(X, y)
    assert natural.summary().references == {"size": "large"}
    wanted = pandas.CategoricalDtype(["none", "small", "medium", "large"], ordered=ordered)
    model = prevail.PrevalenceClassifier(0.05).fit(X.astype({"size": wanted}), y)
    assert model.features_ == ["dose", "size=medium", "size=large"]  # the first with rows is the reference
    assert model.summary().references == {"size": "small"} and "reference levels: size small" in str(model.summary())
    named = prevail.PrevalenceClassifier(0.05, reference="size=small").fit(X, y)
    ratios = named.odds_ratios_.loc[model.features_]
    np.testing.assert_allclose(model.odds_ratios_.to_numpy(), ratios.to_numpy(), rtol=1e-4)
    again = pickle.loads(pickle.dumps(model))
    assert again.summary().references == {"size": "small"}
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert prevail.PrevalenceClassifier(0.05, reference="size=large").fit(X.astype({"size": wanted}), y).summary().references == {"size": "large"}


def test_strata_are_features_and_the_summary_says_so():
    X, y = table()
    X["site"] = np.where(np.arange(len(y)) % 3 == 0, "a", "b")
    by = pandas.DataFrame({"site": ["a", "b"], "prevalence": [0.02, 0.1], "share": [0.5, 0.5]})
    for exclude, feature, said in ((None, True, "strata: site (a feature)"), ("site", False, "strata: site (not a feature)")):
        model = prevail.PrevalenceClassifier(strata="site", prevalence_by=by, exclude=exclude).fit(X, y)
        assert model.summary().strata == {"site": feature} and said in str(model.summary())
        assert ("site=b" in model.features_) == feature


# ---- frames and arrays -----------------------------------------------------------------------------------------------


def test_frames_and_arrays_mix(study):
    """By place and with a warning, as scikit-learn's estimators do."""
    X, y = study
    named = pandas.DataFrame(X, columns=["a", "b", "c"])
    of_array, of_frame = prevail.PrevalenceClassifier(0.05).fit(X, y), prevail.PrevalenceClassifier(0.05).fit(named, y)
    wanted = of_array.predict_proba(X)
    with pytest.warns(UserWarning, match="X has feature names, but PrevalenceClassifier was fitted without"):
        np.testing.assert_array_equal(of_array.predict_proba(named), wanted)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but PrevalenceClassifier was fitted with"):
        np.testing.assert_allclose(of_frame.predict_proba(X), wanted, rtol=1e-9)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*feature names")
        numbered = prevail.PrevalenceClassifier(0.05).fit(pandas.DataFrame(X), y)  # names that are numbers are none
        np.testing.assert_allclose(numbered.predict_proba(X), wanted, rtol=1e-9)
        np.testing.assert_allclose(of_array.predict_proba(pandas.DataFrame(X)), wanted, rtol=1e-9)
        np.testing.assert_allclose(numbered.coef_, of_array.coef_, rtol=1e-9)


def test_missing_values_of_arrays(study):
    X, y = study
    X = X.copy()
    X[::7, 1] = np.nan
    with pytest.raises(prevail.InputError, match=r"contains NaN: the first is in row 0, column 1.*missing='impute'"):
        prevail.PrevalenceClassifier(0.05).fit(X, y)
    model = prevail.PrevalenceClassifier(0.05, missing="impute").fit(X, y)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    np.testing.assert_allclose(model.predict_proba(X), model.predict_proba(filled), rtol=1e-9)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    np.testing.assert_allclose(prevail.PrevalenceClassifier(0.05, missing="impute").fit(frame, y).predict_proba(frame), model.predict_proba(X))


# ---- warnings and names ----------------------------------------------------------------------------------------------


def test_convergence_warning(study):
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="max_iter"):
        model = prevail.PrevalenceClassifier(0.05, max_iter=1).fit(*study)
    assert model.stop_ == "max_iter" and issubclass(prevail.ConvergenceWarning, prevail.PrevailWarning)


def test_pos_label(study):
    X, y = study
    y = np.where(y == 1, "aaa", "bbb")
    proba = LogisticRegression().fit(X, y).predict_proba(X)
    ours = prevail.evaluate(y, proba, pos_label="aaa", bootstrap=0)
    assert ours.positive == "aaa" and ours.auc.value == prevail.evaluate(y, proba, positive="aaa", bootstrap=0).auc.value
    assert prevail.Scorer("auc", pos_label="aaa").positive == "aaa"
    with pytest.raises(prevail.InputError, match="give one of them"):
        prevail.evaluate(y, proba, positive="bbb", pos_label="aaa")


@pytest.mark.parametrize("infer", ["map", "ml", "robust", "laplace", "vi"])
@pytest.mark.parametrize("named", [False, True])
def test_odds_ratios_are_those_of_the_coefficients(study, infer, named):
    X, y = study
    model = prevail.PrevalenceClassifier(0.05, infer=infer).fit(X, np.where(y == 1, "case", "control") if named else y)
    ratios = np.asarray(model.odds_ratios_["odds_ratio"])
    sign = -1 if named else 1  # coef_ is of the last class, here control
    np.testing.assert_allclose(np.exp(sign * model.coef_[0]), ratios, rtol=1e-12)
    found = model.coefficients()["coefficient"]
    np.testing.assert_allclose(sign * np.r_[model.intercept_, model.coef_[0]], found, rtol=1e-12)


# ---- designs ---------------------------------------------------------------------------------------------------------


class FrozenEstimator(ClassifierMixin, BaseEstimator):
    """As that of scikit-learn from 1.6 on: what was fitted, whatever `fit` is given."""

    __module__ = "sklearn.frozen"

    def __init__(self, estimator):
        self.estimator = estimator

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return self.estimator.classes_

    def fit(self, X, y, *args, **kwargs):
        return self

    def predict_proba(self, X):
        return self.estimator.predict_proba(X)


class Fitted:
    """A model that a clone leaves as it is, also in versions whose `clone` does not know of frozen estimators."""

    def __init__(self, model):
        self.classes_, self.predict_proba = model.classes_, model.predict_proba


def test_a_frozen_estimator_has_not_learned_from_the_rows(people):
    """Trained on balanced rows, and wrapped with rows of the population: these are not its design."""
    balanced = LogisticRegression().fit(*sample(2000, 2000, seed=8))
    X, y = people
    model = prevail.PrevalenceAdjusted(FrozenEstimator(Fitted(balanced)), prevalence=0.05)
    model.fit(X, y)
    assert abs(np.log(model.design_[1] / model.design_[0])) < 3 * model.design_se_[1] < 0.5
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.05, abs=0.01)
    stated = prevail.PrevalenceAdjusted(FrozenEstimator(balanced), prevalence=0.05, design=0.5)
    assert stated.predict_proba(X)[:, 1].mean() == pytest.approx(0.05, abs=0.01)
    ours = prevail.PrevalenceClassifier(0.3).fit(*sample(300, 300))
    moved = prevail.PrevalenceAdjusted(FrozenEstimator(ours), prevalence=0.05)
    np.testing.assert_allclose(moved.predict_proba(X), ours.predict_proba(X, population=0.05), rtol=1e-9)


class TunedThresholdClassifierCV(ClassifierMixin, BaseEstimator):
    """As that of scikit-learn from 1.5 on, as far as probabilities go: those of a fitted clone, or of the model that `prefit` has."""

    __module__ = "sklearn.model_selection"

    def __init__(self, estimator, refit="auto", cv=None):
        self.estimator, self.refit, self.cv = estimator, refit, cv

    def fit(self, X, y, **params):
        self.estimator_ = self.estimator if self.cv == "prefit" else clone(self.estimator).fit(X, y, **params)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X):
        return self.estimator_.predict_proba(X)


def test_a_tuned_threshold_leaves_probabilities_alone(people):
    """Whatever is tuned: weights, one of ours, within or around, and a model that was fitted to other rows."""
    X, y = people
    for inner in (LogisticRegression(class_weight="balanced"), prevail.PrevalenceClassifier(0.3)):
        model = prevail.PrevalenceAdjusted(TunedThresholdClassifierCV(inner), prevalence=0.05).fit(X, y)
        assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.05, abs=0.01)
    assert model.design_[1] == pytest.approx(0.3)
    outer = TunedThresholdClassifierCV(prevail.PrevalenceAdjusted(LogisticRegression(class_weight="balanced"), prevalence=0.05)).fit(X, y)
    assert outer.predict_proba(X)[:, 1].mean() == pytest.approx(0.05, abs=0.01)
    assert prevail.Scorer()(outer, X, y) == -prevail.evaluate(y, outer.predict_proba(X), prevalence=0.05, bootstrap=0).log_loss.value
    frozen = FrozenEstimator(Fitted(LogisticRegression().fit(*sample(2000, 2000, seed=8))))
    for around in (TunedThresholdClassifierCV(frozen, cv="prefit"), VotingClassifier([("a", frozen)], voting="soft")):
        model = prevail.PrevalenceAdjusted(around, prevalence=0.05).fit(X, y)
        assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.05, abs=0.01)


def test_metadata_routing_of_a_scorer(monkeypatch):
    """By a stand-in of scikit-learn's requests, from 1.4 on."""
    import sys
    import types

    class Requests:
        def __init__(self, owner):
            self.owner, self.score, self.asked = owner, self, {}

        def add_request(self, *, param, alias):
            self.asked[param] = alias

    stand_in = types.ModuleType("sklearn.utils.metadata_routing")
    stand_in.MetadataRequest = Requests
    monkeypatch.setitem(sys.modules, stand_in.__name__, stand_in)
    scorer = prevail.Scorer("log_loss")
    assert scorer.get_metadata_routing().asked == {"sample_weight": None}
    for asked in (True, False, "weight"):
        assert scorer.set_score_request(sample_weight=asked) is scorer and scorer.get_metadata_routing().asked == {"sample_weight": asked}


@pytest.mark.skipif(sklearn.__version__.startswith(("1.2.", "1.3.", "1.4.")), reason="needs scikit-learn from 1.6 on")
def test_estimators_of_newer_versions(people):
    from sklearn import config_context
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection import TunedThresholdClassifierCV, cross_validate

    X, y = people
    balanced = LogisticRegression().fit(*sample(2000, 2000, seed=8))
    model = prevail.PrevalenceAdjusted(FrozenEstimator(balanced), prevalence=0.05).fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.05, abs=0.01)
    for inner in (LogisticRegression(class_weight="balanced"), prevail.PrevalenceClassifier(0.3)):
        model = prevail.PrevalenceAdjusted(TunedThresholdClassifierCV(inner, cv=3), prevalence=0.05).fit(X, y)
        assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.05, abs=0.01)
    outer = TunedThresholdClassifierCV(prevail.PrevalenceAdjusted(LogisticRegression(class_weight="balanced"), prevalence=0.05)).fit(X, y)
    assert outer.predict_proba(X)[:, 1].mean() == pytest.approx(0.05, abs=0.01)
    weights = np.where(y == 1, 2.0, 1.0)
    with config_context(enable_metadata_routing=True):
        for model in (prevail.PrevalenceClassifier(0.05), prevail.PrevalenceAdjusted(LogisticRegression(), prevalence=0.05)):
            model.set_fit_request(sample_weight=True)
            scorer = prevail.Scorer("log_loss").set_score_request(sample_weight=True)
            found = cross_validate(model, X, y, params={"sample_weight": weights}, scoring=scorer, cv=3, error_score="raise")
            assert np.isfinite(found["test_score"]).all()


def test_probabilities_that_are_not_calibrated(people):
    """Their design is known, and their mean is that of no design: adjusting them by it would give 0.4 for 0.05."""
    X, y = people
    for inner in (AdaBoostClassifier(n_estimators=20, random_state=0), make_pipeline(MinMaxScaler(), ComplementNB())):
        with pytest.warns(prevail.PrevailWarning, match="not calibrated.*CalibratedClassifierCV.*design=.estimate"):
            prevail.PrevalenceAdjusted(inner, prevalence=0.05).fit(X, y)
        model = prevail.PrevalenceAdjusted(inner, prevalence=0.05, design="estimate").fit(X, y)
        assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.05, abs=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error", prevail.PrevailWarning)
        prevail.PrevalenceAdjusted(LogisticRegression(), prevalence=0.05).fit(X, y)


# ---- output ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: prevail.PrevalenceClassifier(0.05), lambda: prevail.PrevalenceAdjusted(LogisticRegression(), 0.05)])
def test_frames_as_output(make):
    X, y = table()
    X = X.drop(columns="size").set_index(np.arange(len(y)) + 1000)
    labels = np.where(y == 1, "case", "control")
    plain, model = make().fit(X, labels), make().set_output(transform="pandas").fit(X, labels)
    found = model.predict_proba(X)
    assert list(found.columns) == ["case", "control"] and list(found.index[:2]) == [1000, 1001]
    np.testing.assert_array_equal(found.to_numpy(), plain.predict_proba(X))
    assert isinstance(clone(model).fit(X, labels).predict_log_proba(X), pandas.DataFrame)
    assert (model.predict(X) == plain.predict(X)).all()
    np.testing.assert_array_equal(model.decide(X, [[0, 1], [1, 0]]).cost, plain.decide(X, [[0, 1], [1, 0]]).cost)
    np.testing.assert_allclose(
        cross_val_predict(model, X, labels, method="predict_proba", cv=3), cross_val_predict(plain, X, labels, method="predict_proba", cv=3)
    )
    assert isinstance(model.set_output(transform="default").predict_proba(X), np.ndarray)
    with pytest.raises(prevail.InputError, match="choose one of default, pandas, polars"):
        model.set_output(transform="frame")


def test_polars_output():
    polars = pytest.importorskip("polars")
    X, y = sample(100, 100)
    found = prevail.PrevalenceClassifier(0.05).set_output(transform="polars").fit(X, y).predict_proba(X)
    assert isinstance(found, polars.DataFrame) and found.columns == ["0", "1"]


def test_polars_output_without_polars(monkeypatch):
    """What polars is given, by a stand-in: a column of numbers for each label."""
    import sys
    import types

    stand_in = types.ModuleType("polars")
    stand_in.DataFrame = dict
    monkeypatch.setitem(sys.modules, "polars", stand_in)
    X, y = sample(100, 100)
    model = prevail.PrevalenceClassifier({"case": 0.05, "control": 0.95}).fit(X, np.where(y == 1, "case", "control"))
    wanted = model.predict_proba(X)
    found = model.set_output(transform="polars").predict_proba(X)
    assert list(found) == ["case", "control"]
    np.testing.assert_array_equal(np.column_stack(list(found.values())), wanted)


def test_notebooks(study):
    """What Jupyter shows: tables, with names escaped."""
    X, y = study
    frame = pandas.DataFrame({"a<b": X[:, 0], "c": X[:, 1]})
    model = prevail.PrevalenceClassifier(0.05).fit(frame, y)
    page = model.summary()._repr_html_()
    assert page.startswith("<table>") and "<th>a&lt;b</th>" in page and "estimate: " in page
    assert f"<td>{model.odds_ratios_.odds_ratio.iloc[0]:.4g}</td>" in page
    inferred = model.infer_prevalence(frame)
    assert f"<td>{inferred.value[1]:.4g}</td>" in inferred._repr_html_()
    decisions = model.decide(frame, {"wait": {0: 0, 1: 50}, "examine": {0: 1, 1: 1}})
    assert decisions.counts == {action: int((decisions.action == action).sum()) for action in decisions.counts}
    assert "<td>" + str(decisions.counts["wait"]) + "</td>" in decisions._repr_html_() and "wait: " in repr(decisions)
    assert len(decisions) == 2 and pickle.loads(pickle.dumps(decisions)).counts == decisions.counts
    assert "<table>" in prevail.evaluate(y, model.predict_proba(frame), prevalence=0.05, bootstrap=0)._repr_html_()
