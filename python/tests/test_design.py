"""PrevalenceAdjusted finds the design by what the fitted model does: the mean of its probabilities is the prevalence."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import prevail
from prevail import _design

from conftest import sample

PREVALENCE = 0.1


@pytest.fixture(scope="module")
def rows():
    """One in ten is a case: what balanced weights shift by a factor of nine."""
    return sample(150, 1350, seed=11)


@pytest.fixture(scope="module")
def later():
    return sample(2000, 18_000, seed=12)


def balanced():
    return LogisticRegression(class_weight="balanced")


def scale_pos_weight(**more):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=20, max_depth=2, n_jobs=1, scale_pos_weight=9, **more)


def resampled():
    pipeline = pytest.importorskip("imblearn.pipeline")
    from imblearn.under_sampling import RandomUnderSampler

    return pipeline.make_pipeline(RandomUnderSampler(random_state=0), LogisticRegression())


def balanced_forest():
    ensemble = pytest.importorskip("imblearn.ensemble")
    return ensemble.BalancedRandomForestClassifier(30, min_samples_leaf=5, random_state=0)


class Custom(LogisticRegression):
    """A classifier whose weights nobody sees."""

    def fit(self, X, y):
        return super().fit(X, y, sample_weight=np.where(y == 1, 9.0, 1.0))


ESTIMATORS = {
    "no weights": LogisticRegression,
    "class weights": balanced,
    "scale_pos_weight": scale_pos_weight,
    "pipeline": lambda: make_pipeline(StandardScaler(), balanced()),
    "a search of its own": lambda: LogisticRegressionCV(Cs=3, class_weight="balanced", cv=2),
    "search": lambda: GridSearchCV(balanced(), {"C": [0.1, 1.0]}, cv=2),
    "random search": lambda: RandomizedSearchCV(balanced(), {"C": [0.1, 1.0]}, n_iter=2, cv=2),
    "weights in the grid": lambda: GridSearchCV(LogisticRegression(), {"class_weight": ["balanced"]}, cv=2),
    "search within a pipeline": lambda: make_pipeline(StandardScaler(), GridSearchCV(balanced(), {"C": [0.1, 1.0]}, cv=2)),
    "pipeline within a search": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), balanced()), {"logisticregression__C": [0.1, 1.0]}, cv=2
    ),
    "scale_pos_weight in a search": lambda: GridSearchCV(scale_pos_weight(), {"n_estimators": [10, 20]}, cv=2),
    "voting": lambda: VotingClassifier([("a", balanced()), ("b", GaussianNB())], voting="soft"),
    "bagging": lambda: BaggingClassifier(balanced(), random_state=0),
    "stacking": lambda: StackingClassifier([("a", GaussianNB())], final_estimator=balanced()),
    "stacking by the usual model": lambda: StackingClassifier([("a", balanced())]),
    "a stack in a search": lambda: GridSearchCV(StackingClassifier([("a", balanced())]), {"passthrough": [True]}, cv=2),
    "boosting": lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=1, class_weight="balanced"), n_estimators=10, random_state=0),
    "one against the rest": lambda: OneVsRestClassifier(balanced()),
    "resampling": resampled,
    "resampling in a search": lambda: GridSearchCV(resampled(), {"logisticregression__C": [0.1, 1.0]}, cv=2),
    "a forest that balances": balanced_forest,
    "priors": lambda: LinearDiscriminantAnalysis(priors=[0.5, 0.5]),
    "calibrated": lambda: CalibratedClassifierCV(balanced()),
    "calibrated in a search": lambda: GridSearchCV(CalibratedClassifierCV(balanced()), {"method": ["sigmoid"]}, cv=2),
    "a class of one's own": Custom,
    "one of ours": lambda: prevail.PrevalenceClassifier(0.02),
    "one of ours in a pipeline": lambda: make_pipeline(StandardScaler(), prevail.PrevalenceClassifier(0.02)),
    "one of ours in a search": lambda: GridSearchCV(prevail.PrevalenceClassifier(0.02), {"prior": ["usual"]}, cv=2),
    "adjusted already": lambda: prevail.PrevalenceAdjusted(balanced(), 0.02),
    "one of ours that votes": lambda: VotingClassifier([("a", prevail.PrevalenceClassifier(0.02))], voting="soft"),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_mean_is_the_prevalence(rows, later, name):
    model = prevail.PrevalenceAdjusted(ESTIMATORS[name](), prevalence=PREVALENCE).fit(*rows)
    assert model.predict_proba(later[0])[:, 1].mean() == pytest.approx(PREVALENCE, abs=0.02)
    there = model.for_population(0.5)
    raw = model.estimator_.predict_proba(later[0])
    np.testing.assert_allclose(there.predict_proba(later[0]), prevail.adjust(raw, from_=model.design_, to=0.5), atol=1e-9)


def test_weights_given_to_a_step(rows, later):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    model = prevail.PrevalenceAdjusted(pipeline, prevalence=PREVALENCE)
    model.fit(X, y, logisticregression__sample_weight=np.where(y == 1, 9.0, 1.0))
    np.testing.assert_allclose(model.design_, [0.5, 0.5])
    assert model.predict_proba(later[0])[:, 1].mean() == pytest.approx(PREVALENCE, abs=0.015)


def test_contradictions_are_rejected(rows, later):
    """Parameters say 0.5; Platt scaling and fully grown trees undo it."""
    for inner in (SVC(probability=True, class_weight="balanced", random_state=0), RandomForestClassifier(50, class_weight="balanced", random_state=0)):
        with pytest.raises(prevail.InputError, match="was asked to weight.*1 0.5.*predictions.*design=.estimate"):
            prevail.PrevalenceAdjusted(inner, prevalence=PREVALENCE).fit(*rows)
        model = prevail.PrevalenceAdjusted(inner, prevalence=PREVALENCE, design="estimate").fit(*rows)
        assert 0.05 < model.design_[1] < 0.2 and 0 < model.design_se_[1] < 0.3
        assert model.predict_proba(later[0])[:, 1].mean() == pytest.approx(PREVALENCE, abs=0.02)
    with pytest.raises(prevail.InputError, match="cannot be determined.*state it"):
        tree = BaggingClassifier(DecisionTreeClassifier(class_weight="balanced"), n_estimators=1)
        prevail.PrevalenceAdjusted(tree, prevalence=PREVALENCE).fit(*rows)


def test_what_is_known_is_not_estimated(rows):
    for inner in (LogisticRegression(), GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2), CalibratedClassifierCV(balanced())):
        model = prevail.PrevalenceAdjusted(inner, prevalence=PREVALENCE).fit(*rows)
        np.testing.assert_array_equal(model.design_, [0.9, 0.1])
        np.testing.assert_array_equal(model.design_se_, 0)
    np.testing.assert_array_equal(prevail.PrevalenceAdjusted(balanced(), PREVALENCE).fit(*rows).design_, [0.5, 0.5])


def test_several_classes():
    """Shifts of three labels, by weights of a mapping that a vote hides."""
    rng = np.random.default_rng(5)
    y = rng.choice(["a", "b", "c"], 3000, p=[0.7, 0.2, 0.1])
    X = rng.normal(size=(3000, 2)) + np.c_[y == "b", y == "c"] * 1.5
    inner = LogisticRegression(class_weight={0: 1, 1: 4, 2: 8})  # a vote numbers its labels
    model = prevail.PrevalenceAdjusted(VotingClassifier([("a", inner)], voting="soft"), prevalence=[0.7, 0.2, 0.1]).fit(X, y)
    wanted = np.bincount(np.unique(y, return_inverse=True)[1]) * [1, 4, 8]
    gap = np.log(model.design_ / model.design_[0]) - np.log(wanted / wanted[0])
    assert (np.abs(gap) <= 3 * model.design_se_ + 1e-12).all() and (model.design_se_[1:] > 0).all()
    np.testing.assert_allclose(model.predict_proba(X).mean(axis=0), [0.7, 0.2, 0.1], atol=0.02)


def test_an_estimated_design_that_is_not_that_of_the_model(rows):
    """Folds say one thing and the fitted model does another: its mean prediction would be far from the prevalence."""
    X, y = rows

    class Erratic(LogisticRegression):
        def fit(self, X, y):
            return super().fit(X, y, sample_weight=np.where(y == 1, 9.0 if len(y) == 1500 else 1.0, 1.0))

    with pytest.warns(prevail.PrevailWarning, match="not calibrated.*CalibratedClassifierCV"):
        prevail.PrevalenceAdjusted(Erratic(), prevalence=PREVALENCE).fit(X, y)


@pytest.mark.parametrize("kind", ["array", "frame", "texts", "sparse"])
def test_rows_that_were_drawn_again(rows, later, kind):
    """Oversampling before the fit: a forest knows the copies by heart, and would predict 0.02 for 0.1."""
    X, y = rows
    drawn = np.r_[np.flatnonzero(y == 0), np.random.default_rng(0).choice(np.flatnonzero(y == 1), 1350)]
    again = X[drawn]
    if kind == "frame":
        again = pytest.importorskip("pandas").DataFrame(again, columns=["a", "b", "c"])
    elif kind == "texts":
        again = pytest.importorskip("pandas").DataFrame(again).assign(text=np.where(again[:, 0] > 1, "x", "y"))
        found = _design.repetitions(again, y[drawn])
        assert (found.label, found.rows) == (1, 1350) and found.different < 151
        return
    elif kind == "sparse":
        again = sparse.csr_matrix(again)
    forest = RandomForestClassifier(30, random_state=0)
    for inner in (forest, CalibratedClassifierCV(forest, cv=2)):
        with pytest.raises(prevail.InputError, match="the 1350 rows of label 1 are 1[0-9]{2} distinct rows.*Fit the distinct rows only"):
            prevail.PrevalenceAdjusted(inner, prevalence=PREVALENCE).fit(again, y[drawn])
    model = prevail.PrevalenceAdjusted(LogisticRegression(), prevalence=PREVALENCE).fit(again, y[drawn])
    np.testing.assert_array_equal(model.design_, [0.5, 0.5])
    coarse = (X > 0).astype(int)
    assert _design.repetitions(coarse, y) is None and _design.repetitions(X, y) is None  # categories repeat in both labels
    sometimes = np.where(np.arange(len(y))[:, None] < 1200, X, 0)  # rows of zeros, which most cases are
    assert (sometimes[y == 1] == 0).all() and _design.repetitions(sometimes, y) is None


def test_the_standard_error_is_right():
    """The estimate against the shift that the fitted model shows on many rows of the same design, over 40 samples."""
    def odds(made):
        return np.log(made.shares[1] / made.shares[0])

    gaps, errors = [], []
    for seed in range(40):
        X, y = sample(150, 1350, seed=100 + seed)
        made = _design.estimate(_design.cross_fitted(balanced(), X, y, y, {}), y, None)
        many, labels = sample(2000, 18_000, seed=9000 + seed)
        truth = _design.estimate(balanced().fit(X, y).predict_proba(many), labels, None)
        gaps.append(odds(made) - odds(truth))
        errors.append(made.se[1])
    assert 0.6 < np.std(gaps) / np.mean(errors) < 1.3 and np.abs(np.mean(gaps)) < 0.02


def test_ours_is_not_corrected_twice(rows):
    X, _ = rows
    inner = prevail.PrevalenceClassifier(0.05).fit(*rows)
    wanted = inner.predict_proba(X, population=0.3)
    for model in (prevail.PrevalenceAdjusted(inner, 0.3), prevail.PrevalenceAdjusted(prevail.PrevalenceClassifier(0.05), 0.3).fit(*rows)):
        np.testing.assert_allclose(model.predict_proba(X), wanted, rtol=1e-9)
    moved = prevail.PrevalenceAdjusted(inner.for_population(0.2), 0.3)
    np.testing.assert_allclose(moved.predict_proba(X), wanted, rtol=1e-9)
    with pytest.raises(prevail.InputError, match="leave `design` out"):
        prevail.PrevalenceAdjusted(prevail.PrevalenceClassifier(0.05), 0.3, design=0.5).fit(*rows)
    with pytest.raises(prevail.InputError, match="infers the prevalence"):
        prevail.PrevalenceAdjusted(prevail.PrevalenceAdjusted(LogisticRegression(), "unknown"), 0.3).fit(*rows)
