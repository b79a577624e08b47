"""Mistakes: the exception that a scikit-learn user expects, in words that name the place and the remedy."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prevail

from conftest import sample

pandas = pytest.importorskip("pandas")
X, y = sample(40, 40)


def fit(X=X, y=y, **options):
    return prevail.PrevalenceClassifier(**{"prevalence": 0.1, **options}).fit(X, y)


@pytest.mark.parametrize("prevalence, part", [
    (1.5, "between 0 and 1; is it 0.015, that is 1.5 %"),
    (0, "between 0 and 1"),
    (float("nan"), "between 0 and 1"),
    ("none", "'none' is not a number"),
    ([0.5, 0.6], "sum|add"),
    ([0.5, 0.25, 0.25], "2 classes: 0, 1"),
    ({"ill": 0.1}, "no label 'ill'; the labels are 0, 1"),
])  # fmt: skip
def test_prevalences(prevalence, part):
    for model in (prevail.PrevalenceClassifier(prevalence), prevail.PrevalenceAdjusted(LogisticRegression(), prevalence)):
        with pytest.raises(prevail.InputError, match=part):
            model.fit(X, y)
    with pytest.raises(ValueError, match=part):
        prevail.adjust([0.5], from_=0.5, to=prevalence)


def test_no_prevalence():
    """What is missing is named, with what to give; nothing is left as it is in silence."""
    model = prevail.PrevalenceAdjusted(LogisticRegression()).fit(X, y)
    for use in (
        lambda: model.predict_proba(X),
        lambda: model.prevalence_,
        lambda: model.for_population(None),
        lambda: prevail.adjust([0.5], from_=0.5, to=None),
        lambda: prevail.adjust([0.5], from_=None, to=0.5),
        lambda: prevail.infer_prevalence([0.5, 0.2], from_=None),
    ):
        with pytest.raises(prevail.InputError, match=r"is missing: state how common 1 is, \w+=0.02 .*\{0: 0.98, 1: 0.02\}"):
            use()
    assert np.allclose(model.for_population(0.5).predict_proba(X), model.for_population("design").predict_proba(X))
    with pytest.raises(prevail.InputError, match="state how common each class is, to={0: ..., 1: ..., 2: ...}"):
        prevail.adjust([[0.2, 0.3, 0.5]], from_=[0.2, 0.3, 0.5], to=None)


def test_sequence_in_the_wrong_order():
    named = np.where(y == 1, "case", "control")
    model = prevail.PrevalenceAdjusted(LogisticRegression(), 0.1).fit(X, named)
    with pytest.warns(prevail.PrevailWarning, match=r"order of the classes, case, control.*\{'case': 0.9, 'control': 0.1\}"):
        model.for_population([0.9, 0.1])
    with pytest.warns(prevail.PrevailWarning, match="order of the classes"):
        prevail.adjust([0.5], from_=0.5, to=[0.2, 0.8])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.for_population([0.1, 0.9]).predict_proba(X)
        model.for_population({"case": 0.9, "control": 0.1}).predict_proba(X)
        prevail.adjust([0.5], from_=[0.2, 0.8], to=0.1)  # a design may have any shares


@pytest.mark.parametrize("text, here", [
    ("leave it out with `exclude=age`", "leave it out with `exclude='age'`"),
    ("leave it out with `exclude=my age`, or", "leave it out with `exclude='my age'`, or"),
    ("with `exclude=a``b's`", "with `exclude=\"a`b's\"`"),
    ("a prior such as `prior=normal:2.5`", "a prior such as `prior='normal:2.5'`"),
    ("`prevalence-n=0` without a prior", "`prevalence_n=0` without a prior"),
    ("use `batch=N`", "use `batch=N`"),
    ("`prevalence-n` is a number", "`prevalence_n` is a number"),
    ("say it with `from=0.5`", "say it with `from_=0.5`"),
    ("`infer=laplase`: choose one of map|ml", "`infer='laplase'`: choose one of map|ml"),
    ("`my_argument` and `", "`my_argument` and `"),
])  # fmt: skip
def test_words_of_the_command(text, here):
    from prevail._errors import in_python

    assert in_python(text) == here


@pytest.mark.parametrize("given, labels, part", [
    (X, np.zeros(80), "class"),
    (X, y[:-1], "inconsistent numbers of samples"),
    (X[:, 0], y, "1D array"),
    (X[None], y, "dim 3"),
    (np.where(X > 2, np.inf, X), y, "infinity"),
    (np.full(X.shape, "a"), y, "could not convert|numeric"),
    (X + 1j, y, "omplex"),
    (X, np.where(y == 1, np.nan, y), "NaN"),
    (X, None, "y"),
    (X[:0], y[:0], "0 sample"),
])  # fmt: skip
def test_data(given, labels, part):
    with pytest.raises(ValueError, match=part):
        fit(given, labels)


def test_unfitted():
    for model in (prevail.PrevalenceClassifier(0.1), prevail.PrevalenceAdjusted(LogisticRegression(), 0.1)):
        with pytest.raises(NotFittedError):
            model.predict_proba(X)
        with pytest.raises((NotFittedError, AttributeError)):
            model.prevalence_


def frame():
    return pandas.DataFrame({"age": X[:, 0], "sex": np.where(X[:, 1] > 0, "f", "m")})


def test_frames():
    mixed = frame()
    mixed["sex"] = ["f"] * 79 + [3]
    with pytest.raises(prevail.InputError, match="column 'sex' holds numbers and texts: 3 in row 79") as told:
        fit(mixed)
    assert told.value.column == "sex" and told.value.row == 79
    holes = frame()
    holes.loc[5, "sex"] = None
    with pytest.raises(prevail.InputError, match="row 5") as told:
        fit(holes)
    assert (told.value.row, told.value.column) == (5, "sex") and "`missing='drop'`" in str(told.value)
    assert fit(holes, missing="impute").predict_proba(holes).shape == (80, 2)
    objects = frame()
    objects["sex"] = [{}] * 80
    with pytest.raises(prevail.InputError, match="column 'sex' (holds {} in row 0|is of Arrow's type '.s')"):
        fit(objects)
    twice = pandas.DataFrame(X, columns=["a", "b", "b"])
    with pytest.raises(prevail.InputError, match="two columns are named 'b'"):
        fit(twice)
    with pytest.raises(prevail.InputError, match="remove or rename it"):
        fit(frame().assign(y=y))
    with pytest.raises(prevail.InputError, match="more than 200 different texts"):
        many = pandas.DataFrame({"id": [f"person {i}" for i in range(300)], "x": np.arange(300.0)})
        fit(many, np.arange(300) % 2)


def test_columns_that_changed():
    model = fit(frame())
    with pytest.raises(ValueError, match="unseen at fit time:\n- weight"):
        model.predict_proba(frame().rename(columns={"age": "weight"}))
    with pytest.raises(ValueError, match="same order"):
        model.predict_proba(frame()[["sex", "age"]])
    with pytest.raises(prevail.InputError, match="column 'age' held numbers in training, here it holds 'f'"):
        model.predict_proba(frame().assign(age="f"))
    assert model.predict_proba(frame().assign(sex="x")).shape == (80, 2)  # a new level is told, not refused


def test_options():
    for options, part in (
        ({"loss": "log"}, "`loss='log'`: choose one of ig|iw|plain|matched"),
        ({"epochs": 3}, "`epochs` is only for minibatches"),
        ({"max_iter": -1}, "`max_iter=-1`"),
        ({"prior": "wide"}, "`prior='wide'`"),
        ({"exclude": "age"}, "`exclude`"),
        ({"positive": "ill"}, "no label 'ill'; the labels are 0, 1"),
        ({"threads": 0}, "threads=0"),
        ({"prior": object()}, "give a text or a number"),
    ):
        with pytest.raises(ValueError, match=part):
            fit(**options)


@pytest.mark.parametrize("proba, labels, part", [
    ([0.2, 30], [0, 1], "30 in row 2 is not a probability.*percentages"),
    ([0.2, np.nan], [0, 1], "NaN"),
    ([0.2, -1.5], [0, 1], "logits"),
    ([[0.2, 0.2], [0.5, 0.5]], [0, 1], "add up to 0.4"),
    ([0.2, 0.3, 0.4], [0, 1], "3"),
    ([0.2, 0.3], [0, 2], None),
    ([[0.2, 0.8], [0.5, 0.5]], [0, 2], None),
    ([[0.2, 0.3, 0.5], [0.5, 0.2, 0.3]], [0, 2], "classes="),
    (["a", "b"], [0, 1], "probabilities are numbers"),
    ([], [], "no rows|numbers"),
])  # fmt: skip
def test_probabilities(proba, labels, part):
    if part is None:
        assert prevail.evaluate(labels, proba, bootstrap=0).rows == 2
        return
    with pytest.raises(prevail.InputError, match=part):
        prevail.evaluate(labels, proba)


def test_unknown_labels():
    with pytest.raises(prevail.InputError, match="label 2 in row 1, which is not one of the classes: 0, 1"):
        prevail.evaluate([0, 2], [0.1, 0.2], classes=[0, 1])


def test_errors_have_fields():
    with pytest.raises(prevail.InputError) as told:
        fit(infer="hmc", batch=16)
    error = told.value
    assert (error.option, error.value, error.remedy) == ("infer", "hmc", "leave `batch` out")
    assert error.problem == "`infer='hmc'` takes all rows at once"
    assert str(error) == "`infer='hmc'` takes all rows at once: leave `batch` out"
    again = pickle.loads(pickle.dumps(error))
    assert (again.option, again.value, again.problem, again.remedy) == (error.option, error.value, error.problem, error.remedy)
    with pytest.raises(prevail.InputError) as told:
        fit(prevalence_n=-3)
    assert (told.value.option, told.value.value) == ("prevalence_n", "-3")


def test_errors_say_what_they_are():
    with pytest.raises(prevail.FileError) as told:
        prevail.PrevalenceClassifier.load("/nowhere/a.model")
    assert isinstance(told.value, OSError) and told.value.status == "path"
    with pytest.raises(prevail.InputError):
        prevail.PrevalenceClassifier.load(__file__)


def test_confusions():
    """Arguments in the wrong order, decisions for probabilities, estimators that know no probabilities."""
    proba = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    with pytest.raises(prevail.InputError, match="pass the labels first") as told:
        prevail.evaluate(proba, y)
    assert len(str(told.value)) < 300
    with pytest.warns(prevail.PrevailWarning, match="are these decisions"):
        prevail.evaluate(y, (proba > 0.5).astype(int), bootstrap=0)
    from sklearn.linear_model import LinearRegression
    from sklearn.svm import SVC

    for wrong in (LinearRegression(), SVC(), make_pipeline(StandardScaler(), SVC())):
        with pytest.raises(prevail.InputError, match="has no `predict_proba`"):
            prevail.PrevalenceAdjusted(wrong, 0.1).fit(X, y)


def test_weights_twice():
    """Balanced class weights on top of sample weights: what that makes differs from estimator to estimator, so it is estimated."""
    weights = np.where(y == 1, 0.1, 1.0)
    balanced = prevail.PrevalenceAdjusted(LogisticRegression(class_weight="balanced"), prevalence=0.1)
    assert 0.01 < balanced.fit(X, y, sample_weight=weights).predict_proba(X)[y == 0, 1].mean() < 0.15
    assert 0 < balanced.design_se_[1] < 0.6
    assert balanced.set_params(design=0.5).fit(X, y, sample_weight=weights).predict_proba(X).shape == (len(y), 2)


def test_costs_that_do_not_fit():
    with pytest.raises(prevail.InputError, match="costs of 'wait': give one for each class"):
        prevail.decide([0.1, 0.2], {"wait": [0, 50, 99], "biopsy": [1, 1]})


def test_columns_of_one_number():
    """(n, 1), as networks give it, is (n,)."""
    proba = np.linspace(0.05, 0.9, 40)
    labels = np.tile([0, 1, 1, 1], 10)
    flat, column = (prevail.evaluate(*given, bootstrap=0).log_loss.value for given in ((labels, proba), (labels[:, None], proba[:, None])))
    assert flat == column == prevail.evaluate(pandas.DataFrame({"y": labels}), pandas.DataFrame({"p": proba}), bootstrap=0).log_loss.value
    moved = prevail.adjust(proba[:, None], from_=0.5, to=0.1)
    assert moved.shape == (40, 1) and (moved[:, 0] == prevail.adjust(proba, from_=0.5, to=0.1)).all()


@pytest.mark.parametrize("labels", [np.array([1.0, 0, np.nan] * 20), np.array([1, 0, None] * 20, dtype=object),
                                    np.array(["a", "b", None] * 20, dtype=object), pandas.Series([1, 0, None] * 20, dtype="Int64"),
                                    pandas.Series(["a", "b", None] * 20, dtype="string"), pandas.Series([True, False, None] * 20, dtype="boolean")])  # fmt: skip
def test_labels_that_are_missing(labels):
    rows = X[:60]
    for use in (
        lambda: prevail.PrevalenceClassifier({labels[0]: 0.1, labels[1]: 0.9}).fit(rows, labels),
        lambda: prevail.PrevalenceAdjusted(LogisticRegression(), {labels[0]: 0.1, labels[1]: 0.9}).fit(rows, labels),
        lambda: prevail.evaluate(labels, np.full(60, 0.5)),
    ):
        with pytest.raises(prevail.InputError, match="y contains NaN: there is no label in row 2"):
            use()


def test_prevalences_that_are_no_one_number():
    for positive in (None, 0):
        with pytest.raises(prevail.InputError, match="`to` 0.01-0.05: give one prevalence, not an interval"):
            prevail.adjust([0.5], from_=0.5, to="0.01-0.05", positive=positive)
        with pytest.raises(prevail.InputError, match="write '5%' as a decimal number"):
            prevail.adjust([0.5], from_=0.5, to="5%", positive=positive)
        assert prevail.adjust([0.5], from_=0.5, to="0.1", positive=positive)[0] == pytest.approx(0.1)


def test_costs_of_errors():
    """As the command reads them; a number for each action is none for each class."""
    proba = np.linspace(0.005, 0.9, 41)
    wanted = prevail.decide(proba, {"none": {0: 0, 1: 50}, "treat": {0: 1, 1: 0}})
    for costs in ({"fp": 1, "fn": 50}, "fp=1,fn=50"):
        found = prevail.decide(proba, costs)
        assert found.action.tolist() == wanted.action.tolist()
        np.testing.assert_array_equal(found.cost, wanted.cost)
    turned = prevail.decide(np.c_[proba, 1 - proba], "fp=1,fn=50", classes=["case", "control"])
    assert turned.action.tolist() == wanted.action.tolist()
    with pytest.raises(prevail.InputError, match="which label is the positive one, 'a' or 'b'"):
        prevail.decide(np.c_[proba, 1 - proba], "fp=1,fn=50", classes=["a", "b"])
    with pytest.raises(prevail.InputError, match="costs of 'wait': give one for each class: 0, 1"):
        prevail.decide(proba, {"wait": 1, "go": 50})
    model = prevail.PrevalenceAdjusted(LogisticRegression(), 0.1, positive=0).fit(X, y)
    assert (model.decide(X, "fp=1,fn=3").action == np.where(model.predict_proba(X)[:, 0] > 0.25, "treat", "none")).all()


def test_terms_as_a_list():
    rows = frame()
    wanted = fit(rows, terms="ns(age,3), age:sex").odds_ratios_
    pandas.testing.assert_frame_equal(fit(rows, terms=["ns(age,3)", "age:sex"]).odds_ratios_, wanted)
    spaced = rows.rename(columns={"age": "my, age"})
    assert len(fit(spaced, terms=['ns("my, age",3)'], exclude=["sex"]).odds_ratios_) == 3


def test_rates_of_a_label_that_was_guessed():
    words = np.where(y == 1, "low", "normal")
    proba = LogisticRegression().fit(X, words).predict_proba(X)
    with pytest.warns(prevail.PrevailWarning, match="refer to the label normal, the last in alphabetical order"):
        prevail.evaluate(words, proba, bootstrap=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", prevail.PrevailWarning)
        prevail.evaluate(words, proba, positive="low", bootstrap=0)


def test_partly_known_labels():
    proba = np.linspace(0.1, 0.9, 40)
    known = [np.int64(1), None, np.nan, 0] * 10
    told = prevail.infer_prevalence(proba, from_=0.5, labels=known)
    assert told.sd[1] != prevail.infer_prevalence(proba, from_=0.5).sd[1]
    nullable = pandas.Series([1, None, None, 0] * 10, dtype="Int64")
    assert prevail.infer_prevalence(proba, from_=0.5, labels=nullable).sd[1] == told.sd[1]


def test_an_interruption_after_the_last_look():
    import os
    import signal

    from prevail._context import Context

    with pytest.raises(KeyboardInterrupt):
        with Context():
            os.kill(os.getpid(), signal.SIGINT)


def test_one_number_needs_a_label():
    """Labels whose spelling alone would make one of them the positive: a number could be of either."""
    words = np.where(y == 1, "low", "normal")  # the last by spelling is not the one of interest
    proba = LogisticRegression().fit(X, words).predict_proba(X)
    match = r"which label (has it|is it for), 'low' or 'normal'\? "
    for use in (
        lambda: prevail.PrevalenceClassifier(0.07).fit(X, words),
        lambda: prevail.PrevalenceClassifier("0.05-0.1").fit(X, words),
        lambda: prevail.PrevalenceClassifier({"low": 0.07, "normal": 0.93}).fit(X, words).predict_proba(X, population=0.2),
        lambda: prevail.PrevalenceClassifier({"low": 0.07, "normal": 0.93}).fit(X, words).for_population(0.2),
        lambda: prevail.PrevalenceAdjusted(LogisticRegression(), 0.07).fit(X, words),
        lambda: prevail.adjust(proba, from_=0.5, to=0.07, classes=["low", "normal"]),
        lambda: prevail.evaluate(words, proba, prevalence=0.07),
        lambda: prevail.evaluate(words, proba, stated_for=0.07),
        lambda: prevail.evaluate(words, proba[:, 0]),
    ):
        with pytest.raises(prevail.InputError, match=match):
            use()
    with pytest.raises(prevail.InputError, match=r"Say prevalence=\{'low': 0.07, 'normal': 0.93\} if it is that of 'low'"):
        prevail.PrevalenceAdjusted(LogisticRegression(), 0.07).fit(X, words)
    wanted = prevail.PrevalenceClassifier(0.07).fit(X, y).predict_proba(X)[:, 1]
    for model in (prevail.PrevalenceClassifier(0.07, positive="low"), prevail.PrevalenceClassifier({"low": 0.07, "normal": 0.93})):
        np.testing.assert_allclose(model.fit(X, words).predict_proba(X)[:, 0], wanted, rtol=1e-6)
    model = prevail.PrevalenceClassifier(0.07, positive="low").fit(X, words)
    np.testing.assert_allclose(model.for_population(0.2).prevalence_, [0.2, 0.8])
    assert model.predict_proba(X, population=0.2)[:, 0].mean() > model.predict_proba(X)[:, 0].mean()
    assert prevail.evaluate(words, proba[:, 0], positive="low", bootstrap=0).auc.value > 0.5
    assert prevail.adjust(proba[:, 0], from_=0.5, to=0.07, classes=["low", "normal"])[0] < proba[0, 0]  # both of the column's label
    assert prevail.adjust(proba, from_=0.5, to={"low": 0.07, "normal": 0.93}, classes=["low", "normal"])[0, 0] < proba[0, 0]


def test_rows_in_another_order():
    frame = pandas.DataFrame(X, columns=["a", "b"][: X.shape[1]] if X.shape[1] == 2 else [f"c{i}" for i in range(X.shape[1])])
    labels = pandas.Series(y)
    shuffled = frame.sample(frac=1, random_state=0)
    for model in (prevail.PrevalenceClassifier(0.1), prevail.PrevalenceAdjusted(LogisticRegression(), 0.1)):
        with pytest.warns(prevail.PrevailWarning, match=r"y has the index of X in another order.*y\.loc\[index\]"):
            model.fit(shuffled, labels)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*in another order")
            model.fit(shuffled, labels.loc[shuffled.index])
            model.fit(shuffled, labels.loc[shuffled.index].to_numpy())
            model.fit(shuffled, labels.loc[shuffled.index].set_axis(range(1000, 1000 + len(y))))  # names of its own
    with pytest.warns(prevail.PrevailWarning, match="y has the index"):
        prevail.evaluate(labels, pandas.Series(np.linspace(0.1, 0.9, len(y))).iloc[::-1], bootstrap=0)


def test_levels_that_training_did_not_have():
    """They are predicted as rare levels are, which is reported where everyone sees it."""
    known = frame()
    model = fit(known)
    with pytest.warns(prevail.PrevailWarning, match="a level that the training data did not have.*'x' in column 'sex'.*`unseen`"):
        model.predict_proba(known.assign(sex="x"))


def test_columns_of_probabilities_name_their_labels():
    """A data frame with the labels as columns, in any order; others are in the order of the labels."""
    proba = LogisticRegression().fit(X, y).predict_proba(X)
    wanted = prevail.evaluate(y, proba, bootstrap=0).auc.value
    named = pandas.DataFrame(proba, columns=[0, 1])
    assert prevail.evaluate(y, named[[1, 0]], bootstrap=0).auc.value == wanted
    assert prevail.evaluate(y, named.set_axis(["a", "b"], axis=1), bootstrap=0).auc.value == wanted
    texts = named.set_axis(["control", "case"], axis=1)
    assert prevail.evaluate(np.where(y == 1, "case", "control"), texts, bootstrap=0).auc.value == wanted
    np.testing.assert_allclose(prevail.adjust(texts, from_=0.5, to={"case": 0.1, "control": 0.9}), prevail.adjust(proba, from_=0.5, to=0.1))
    np.testing.assert_allclose(prevail.adjust(named[[1, 0]], from_=0.5, to=0.1)[:, 0], prevail.adjust(proba, from_=0.5, to=0.1)[:, 1])
    costs = {"wait": {"control": 0, "case": 50}, "examine": {"control": 1, "case": 1}}
    assert prevail.decide(texts, costs).counts == prevail.decide(proba, {"wait": [0, 50], "examine": [1, 1]}).counts


def test_numbers_as_texts():
    """A column read as text becomes a category for each value, which is reported; few values, codes and categories are as meant."""
    ages = np.round(40 + 10 * X[:, 0]).astype(int)
    for dtype in (object, "string"):
        with pytest.warns(prevail.PrevailWarning, match="column 'age' holds numbers as texts .*categories.*`categorical='age'`"):
            fit(pandas.DataFrame({"age": pandas.Series(ages.astype(str), dtype=dtype), "x": X[:, 1]}))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*holds numbers as texts")
        fit(pandas.DataFrame({"age": (ages // 20).astype(str), "x": X[:, 1]}))
        fit(pandas.DataFrame({"age": np.char.zfill(ages.astype(str), 4), "x": X[:, 1]}))
        fit(pandas.DataFrame({"age": pandas.Categorical(ages.astype(str)), "x": X[:, 1]}))
        fit(pandas.DataFrame({"age": ages.astype(str), "x": X[:, 1]}), categorical="age")


def test_copies_of_a_label():
    """Oversampled rows: intervals would be too short in silence."""
    rows, labels = sample(30, 300, seed=3)
    copies = np.r_[np.arange(300), 300 + np.random.default_rng(0).integers(0, 30, 300)]
    with pytest.warns(prevail.PrevailWarning, match="Rows with label '1' are repeated .30 distinct of 300.;.*`cluster`"):
        over = prevail.PrevalenceClassifier(0.1).fit(rows[copies], labels[copies]).coefficients()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*are repeated")
        once = prevail.PrevalenceClassifier(0.1).fit(rows, labels).coefficients()
        frame = pandas.DataFrame(rows[copies], columns=list("abc")).assign(person=copies)
        together = prevail.PrevalenceClassifier(0.1, cluster="person").fit(frame, labels[copies]).coefficients()
        prevail.PrevalenceClassifier(0.1).fit((rows > 0).astype(int), labels)  # rows of every label are alike
    assert over["sd"].iloc[1] < 0.75 * once["sd"].iloc[1] and together["sd"].iloc[1] > 0.8 * once["sd"].iloc[1]
