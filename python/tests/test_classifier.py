"""PrevalenceClassifier: what it finds, against the command and against itself."""

import inspect
import json
import os
import pickle
import subprocess

import numpy as np
import pytest

import prevail
from prevail import _options

from conftest import sample

pandas = pytest.importorskip("pandas")
COMMAND = os.environ.get("PREVAIL_COMMAND")


@pytest.fixture
def frame():
    """Numbers, text, categories, dates, truth values, and a label in words."""
    X, y = sample(120, 120, seed=3)
    rng = np.random.default_rng(4)
    made = pandas.DataFrame(
        {
            "dose": X[:, 0],
            "age": rng.integers(30, 80, len(y)),
            "sex": rng.choice(["f", "m"], len(y)),
            "site": pandas.Categorical(rng.choice(["north", "south", "west"], len(y))),
            "smoker": rng.random(len(y)) < 0.4,
            "seen": pandas.Timestamp("2020-01-01") + pandas.to_timedelta(rng.integers(0, 900, len(y)), "D"),
        }
    )
    return made, np.where(y == 1, "case", "control")


def command_fit(tmp_path, frame, y, *options, weights=None):
    """The command's JSON of the same fit from a CSV file."""
    path = tmp_path / "study.csv"
    table = frame.assign(y=y) if weights is None else frame.assign(y=y, w=weights)
    table.to_csv(path, index=False)
    more = [] if weights is None else ["--weights", "w"]
    made = subprocess.run(
        [COMMAND, "fit", str(path), "--outcome", "y", "--json", *more, *options], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


@pytest.mark.skipif(not COMMAND, reason="PREVAIL_COMMAND names no command")
@pytest.mark.parametrize("weighted", [False, True])
def test_as_the_command(tmp_path, frame, weighted):
    X, y = frame
    weights = np.arange(len(y)) % 3 if weighted else None
    said = command_fit(tmp_path, X, y, "--prevalence", "0.02", "--terms", "ns(age,3)", weights=weights)
    model = prevail.PrevalenceClassifier(0.02, terms="ns(age,3)").fit(X, y, weights)
    rows = {row["term"]: row for row in model._model.summary(0.9)[0]}
    assert set(rows) == set(said["coefficients"])
    for name, wanted in said["coefficients"].items():
        assert rows[name]["coefficient"] == pytest.approx(wanted["value"], rel=1e-12, abs=1e-12), name
    assert model.stop_ == said["stop"] and model.n_iter_ == said["iterations"]


@pytest.mark.skipif(not COMMAND, reason="PREVAIL_COMMAND names no command")
def test_model_files_are_the_commands(tmp_path, frame):
    X, y = frame
    command_fit(tmp_path, X, y, "--prevalence", "0.02", "-o", str(tmp_path / "a.model"))
    loaded = prevail.PrevalenceClassifier.load(tmp_path / "a.model")
    own = prevail.PrevalenceClassifier(0.02).fit(X, y)
    np.testing.assert_allclose(loaded.predict_proba(X), own.predict_proba(X), rtol=1e-12)
    own.save(tmp_path / "b.model")
    predicted = subprocess.run(
        [COMMAND, "predict", str(tmp_path / "b.model"), str(tmp_path / "study.csv")], capture_output=True, text=True
    )
    assert predicted.returncode == 0, predicted.stderr
    rows = [line.split(",") for line in predicted.stdout.splitlines()]
    at = rows[0].index("p__case")
    np.testing.assert_allclose([float(row[at]) for row in rows[1:]], own.predict_proba(X)[:, 0], rtol=1e-12)


def test_every_option_is_a_parameter():
    """By the same name and with the same default."""
    rows = _options.option_rows()
    parameters = inspect.signature(prevail.PrevalenceClassifier.__init__).parameters
    names = {name.replace("_", "-") for name in parameters} - {"self", "threads", "verbose"}
    assert names == set(rows) - _options.NOT_PARAMETERS
    for name, (default, _) in rows.items():
        if name in _options.NOT_PARAMETERS:
            continue
        given = parameters[name.replace("-", "_")].default
        if isinstance(given, bool):
            assert given is False and default is None
        elif isinstance(given, (int, float)):
            assert given == float(default), name
        else:
            assert given == default, name
    assert set(prevail.options()) == {name.replace("-", "_") for name in names}


def test_labels_with_errors():
    X, y = sample(150, 150, seed=3)
    model = prevail.PrevalenceClassifier(0.1, label_error={"sensitivity": "85/100", "specificity": 0.97}).fit(X, y)
    plain = prevail.PrevalenceClassifier(0.1).fit(X, y)
    error = model._model.tree()["label_error"]
    assert error["positive"] == {"value": 0.85, "n": 100} and error["negative"] == {"value": 0.97, "n": "known"}
    assert np.abs(model.coef_).sum() > np.abs(plain.coef_).sum()
    with pytest.raises(prevail.InputError, match="label_error"):
        prevail.PrevalenceClassifier(0.1, label_error={"sensitivity": 0.4, "specificity": 0.5}).fit(X, y)
    with pytest.raises(prevail.InputError, match="label_error"):
        prevail.PrevalenceClassifier(0.1, label_error="sensitivity=0.9,specificity=0.9", model="mlp:4").fit(X, y)


def test_a_mixture(tmp_path):
    X, y = sample(60, 60, seed=5)
    model = prevail.PrevalenceClassifier(0.05, model="auto", candidates="prevalence,linear,iw").fit(X, y)
    found = model.candidates_
    assert list(found.index)[0] == "prevalence" and list(found.index)[-1] == "the mixture"
    assert np.isclose(found["weight"].to_numpy()[:-1].sum(), 1) and found["gain"].to_numpy()[-1] > 0
    p = model.predict_proba(X)[:, 1]
    assert ((p > 0) & (p < 1)).all()
    odds = p / (1 - p) * 19  # against those of the prevalence: within the cap
    assert (np.abs(np.log(odds)) <= np.log(61) + 1e-12).all()
    model.save(tmp_path / "a.model")
    assert (prevail.PrevalenceClassifier.load(tmp_path / "a.model").predict_proba(X)[:, 1] == p).all()
    with pytest.raises(AttributeError, match="coefficients"):
        model.coef_
    with pytest.raises(AttributeError, match="auto"):
        prevail.PrevalenceClassifier(0.05).fit(X, y).candidates_
    with pytest.raises(prevail.InputError, match="candidates"):
        prevail.PrevalenceClassifier(0.05, model="auto", prior="normal:1").fit(X, y)


def test_an_additive_model(tmp_path):
    """Curves: the log odds of a column's square are found; intervals, files, and no coefficients."""
    X, y = sample(150, 150, seed=6)
    curved = np.column_stack([X[:, 0], np.where(y == 1, 1.5, 0.2) * X[:, 1]])
    model = prevail.PrevalenceClassifier(0.05, model="additive").fit(curved, y)
    p = model.predict_proba(curved)[:, 1]
    linear = prevail.PrevalenceClassifier(0.05).fit(curved, y).predict_proba(curved)[:, 1]
    assert np.log(p)[y == 1].mean() > np.log(linear)[y == 1].mean()
    low, high = model.predict_interval(curved)
    assert ((low[:, 1] <= p) & (p <= high[:, 1])).all()
    with pytest.raises(AttributeError, match="coefficients"):
        model.coef_
    with pytest.raises(prevail.InputError, match="additive"):
        prevail.PrevalenceClassifier(0.05, model="additive", infer="ml").fit(curved, y)
    model.save(tmp_path / "a.model")
    assert (prevail.PrevalenceClassifier.load(tmp_path / "a.model").predict_proba(curved)[:, 1] == p).all()


def test_trees(tmp_path, monkeypatch):
    """Grown by XGBoost's library, kept without it: pickles and files predict where it is not."""
    pytest.importorskip("xgboost")
    X, y = sample(150, 150, seed=6)
    model = prevail.PrevalenceClassifier(0.05, model="trees:2").fit(X, y)
    p = model.predict_proba(X)[:, 1]
    assert 0 < p.min() < 0.05 < p.max() < 1
    holes = X.copy()
    holes[::7, 0] = np.nan
    gaps = prevail.PrevalenceClassifier(0.05, model="trees:2,20", missing="indicator").fit(holes, y)
    assert np.isfinite(gaps.predict_proba(holes)).all()
    monkeypatch.setenv("PREVAIL_XGBOOST", "/nowhere/libxgboost.so")
    assert (pickle.loads(pickle.dumps(model)).predict_proba(X)[:, 1] == p).all()
    odds = p / (1 - p) / (0.05 / 0.95)
    known = model.predict_proba(X, population=0.2)[:, 1]
    assert np.allclose(known / (1 - known) / (0.2 / 0.8), odds)
    with pytest.raises(prevail.PrevailError, match="XGBoost"):
        prevail.PrevalenceClassifier(0.05, model="trees").fit(X, y)
    with pytest.raises(AttributeError, match="coefficients"):
        model.coef_


def test_prior_correction():
    """Without a prior, with a known prevalence, the fit is the corrected maximum-likelihood one."""
    from sklearn.linear_model import LogisticRegression

    X, y = sample(400, 400)
    plain = LogisticRegression(C=1e10, tol=1e-10, max_iter=1000).fit(X, y)
    model = prevail.PrevalenceClassifier(0.01, infer="ml").fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=2e-5)
    np.testing.assert_allclose(model.intercept_, plain.intercept_ + np.log(0.01 / 0.99), atol=2e-5)
    np.testing.assert_allclose(model.decision_function(X), (X @ model.coef_.T + model.intercept_)[:, 0], atol=1e-9)


def test_odds_ratios_of_tiny_and_huge_units():
    """Never 1 (1 to 1), nor infinite: the summary shows the odds ratio of a power of ten of units."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    x = rng.normal(size=600) + 0.3 * y
    shown = {}
    for scale in (1, 1e7, 1e-6):
        model = prevail.PrevalenceClassifier(0.02).fit(x[:, None] * scale, y)
        line = str(model.summary()).splitlines()[-1]
        shown[scale] = line.split()[2:6]
        assert line.endswith({1: shown[1][-1], 1e7: " per 1e7 units", 1e-6: " per 1e-6 units"}[scale])
        assert (" per " in model.summary()._repr_html_()) == (scale != 1)
        assert model.odds_ratios_["odds_ratio"].iloc[0] == pytest.approx(np.exp(model.coef_[0, 0]))
    assert shown[1] == shown[1e7] == shown[1e-6]
    assert float(shown[1][0]) > 1.1


def test_labels_in_words(frame):
    X, y = frame
    model = prevail.PrevalenceClassifier(0.02).fit(X, y)
    assert list(model.classes_) == ["case", "control"] and model.positive_ == "case"
    np.testing.assert_allclose(model.prevalence_, [0.02, 0.98])
    np.testing.assert_allclose(model.design_, [0.5, 0.5])
    other = prevail.PrevalenceClassifier({"control": 0.98, "case": 0.02}).fit(X, y)
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    # decision_function refers to the second class, as do the coefficients; odds ratios refer to cases
    assert ((model.decision_function(X) > 0) == (model.predict(X) == "control")).all()
    ratios = model.odds_ratios_
    assert ratios.loc["dose", "odds_ratio"] > 1 and ratios.loc["dose", "lo"] < ratios.loc["dose", "odds_ratio"]
    assert {"sex=m", "site=south", "site=west", "smoker=True", "seen"} < set(ratios.index)
    dose = list(model.features_).index("dose")
    assert model.coef_[0, dose] == pytest.approx(-np.log(ratios.loc["dose", "odds_ratio"]))


def test_populations(study):
    X, y = study
    model = prevail.PrevalenceClassifier(0.01).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    there = model.predict_proba(X, population=0.3)[:, 1]
    moved = prevail.adjust(p, from_=0.01, to=0.3)
    np.testing.assert_allclose(there, moved, rtol=1e-9)
    np.testing.assert_array_equal(model.for_population(0.3).predict_proba(X)[:, 1], there)
    np.testing.assert_array_equal(model.for_population({0: 0.7, 1: 0.3}).predict_proba(X)[:, 1], there)
    assert model.predict_proba(X, population="design")[:, 1].mean() == pytest.approx(0.5, abs=0.03)
    unknown = model.for_population("unknown")
    unknown.predict_proba(X)
    assert unknown.inferred_.interval[0] < 0.5 < unknown.inferred_.interval[1]
    assert model.infer_prevalence(X).prevalence == unknown.inferred_.prevalence


def test_posterior(study):
    X, y = study
    model = prevail.PrevalenceClassifier(0.01, infer="laplace", draws=300).fit(X, y)
    assert model.posterior_.shape == (300, 4)
    lo, hi = model.predict_interval(X)
    p = model.predict_proba(X)
    assert ((lo <= p) & (p <= hi)).all() and (hi[:, 1] > lo[:, 1]).all()
    summary = model.summary()
    assert "odds ratio" in str(summary) and list(summary.coefficients.index) == ["(Intercept)", "x0", "x1", "x2"]
    assert all(check["ok"] for check in model.diagnose())


def test_three_classes():
    rng = np.random.default_rng(5)
    y = np.repeat(["a", "b", "c"], 250)  # of fewer risks are averages
    X = rng.normal(size=(750, 2)) + np.repeat([[0, 0], [2, 0], [0, 2]], 250, axis=0)
    model = prevail.PrevalenceClassifier({"a": 0.9, "b": 0.06, "c": 0.04}).fit(X, y)
    assert model.coef_.shape == (3, 2) and model.intercept_.shape == (3,)
    scores = X @ model.coef_.T + model.intercept_
    log_p = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_log_proba(X), log_p, atol=1e-8)
    with pytest.raises(prevail.InputError, match="one number, and there are 3 classes"):
        prevail.PrevalenceClassifier(0.1).fit(X, y)


def test_ordered_classes():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0] + rng.logistic(size=300), [-1, 1])
    model = prevail.PrevalenceClassifier([0.5, 0.3, 0.2], model="ordinal").fit(X, y)
    assert model.coef_.shape == (1, 2) and model.intercept_.shape == (2,) and model.coef_[0, 0] > 0.5
    assert list(model.odds_ratios_.index) == ["x0", "x1"]
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_constant_and_missing():
    X, y = sample(60, 60)
    X = np.column_stack([X, np.full(len(y), 7.0)])
    model = prevail.PrevalenceClassifier(0.1).fit(X, y)
    assert model.coef_.shape == (1, 4) and model.coef_[0, 3] == 0
    with pytest.raises(ValueError, match="same value in every row: x3"):
        prevail.PrevalenceClassifier(0.1, constant="refuse").fit(X, y)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, y)
    filled = prevail.PrevalenceClassifier(0.1, missing="indicator").fit(X, y)
    assert "x1 (missing)" in filled.features_ and np.isfinite(filled.predict_proba(X)).all()


def test_memory_order_and_types(study):
    """The same numbers give the same model, wherever they lie."""
    X, y = study
    X = X.astype(np.float32).astype(float)
    wanted = prevail.PrevalenceClassifier(0.1).fit(X, y).predict_proba(X)
    wide = np.repeat(X, 2, axis=1)
    for given in (np.asfortranarray(X), wide[:, ::2], X.astype(np.float32), np.flip(np.flip(X, 0).copy(), 0), X.tolist()):
        model = prevail.PrevalenceClassifier(0.1).fit(given, y)
        np.testing.assert_array_equal(model.predict_proba(given), wanted)


def test_population_sample():
    X, y = sample(300, 300, shift=3)
    everyone, labels = sample(100, 1900, seed=9, shift=3)
    with pytest.warns(prevail.PrevailWarning, match="estimated from 2,000 rows of population_sample") as told:
        model = prevail.PrevalenceClassifier().fit(X, y, population_sample=everyone)
    assert told[0].filename == __file__  # warnings point at the caller
    assert model.prevalence_[1] == pytest.approx(labels.mean(), abs=0.03)


def test_strata(frame):
    X, y = frame
    by = pandas.DataFrame({"site": ["north", "south", "west"], "prevalence": [0.01, 0.02, 0.05], "share": [0.5, 0.3, 0.2]})
    model = prevail.PrevalenceClassifier(strata="site", prevalence_by=by).fit(X, y)
    assert model.prevalence_[0] == pytest.approx(0.005 + 0.006 + 0.01)


def test_offset(frame):
    X, y = frame
    numbers = X.select_dtypes("number")
    plain = dict(loss="plain", infer="ml", tolerance=1e-12)
    whole = prevail.PrevalenceClassifier(**plain).fit(numbers, y)
    name, slope = numbers.columns[-1], whole.coef_[0, -1]
    sign = 1 if whole.positive_ == whole.classes_[1] else -1  # coef_ speaks of the second class, the offset of the positive
    moved = numbers.assign(**{name: sign * slope * numbers[name]})
    model = prevail.PrevalenceClassifier(offset=name, **plain).fit(moved, y)
    assert name not in model.features_
    assert model.coef_[0, :-1] == pytest.approx(whole.coef_[0, :-1], abs=1e-6)
    assert model.coef_[0, -1] == sign
    assert model.intercept_ == pytest.approx(whole.intercept_, abs=1e-6)
    assert model.predict_proba(moved) == pytest.approx(whole.predict_proba(numbers), abs=1e-6)
    again = prevail.PrevalenceClassifier(offset="other", **plain)
    with pytest.raises(prevail.InputError, match="offset='other'|no column 'other'"):
        again.fit(moved, y)


def test_matched_sets():
    rng = np.random.default_rng(0)
    sets = np.repeat(np.arange(60), 3)
    y = np.tile([1, 0, 0], 60)
    X = pandas.DataFrame({"dose": rng.normal(size=180) + y, "set": sets})
    model = prevail.PrevalenceClassifier(matched="set", loss="matched").fit(X, y)
    assert model.odds_ratios_.loc["dose", "odds_ratio"] > 1.5
    assert list(model.coefficients().index) == ["dose"]
    assert model.decision_function(X) == pytest.approx(model.coef_[0, 0] * X["dose"].to_numpy())
    assert np.isnan(model.intercept_[0])
    same = X.assign(age=sets % 7)
    with pytest.warns(prevail.PrevailWarning, match="'age' is constant within every matched set"):
        told = prevail.PrevalenceClassifier(matched="set", loss="matched", infer="ml").fit(same, y)
    found = told.coefficients().loc["age"]
    assert np.isnan(found["coefficient"]) and np.isnan(found["sd"])
    assert np.isnan(told.odds_ratios_.loc["age"]).all()
    assert ["age", "NA", "NA"] in [line.split() for line in str(told.summary()).splitlines()]
    assert told.coefficients().loc["dose", "sd"] == pytest.approx(
        prevail.PrevalenceClassifier(matched="set", loss="matched", infer="ml").fit(X, y).coefficients().loc["dose", "sd"], rel=1e-6
    )


def test_images():
    rng = np.random.default_rng(0)
    y = np.repeat(["benign", "malignant"], 24)
    X = rng.normal(size=(48, 12, 12)).astype(np.float32)
    X[y == "malignant", 4:8, 4:8] += 2
    model = prevail.PrevalenceClassifier(
        0.05, model="convnet:views=1,size=8,low=4,channels=4-4,features=4", batch="16", epochs=3, threads=1
    ).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == (48, 2) and list(model.classes_) == ["benign", "malignant"]
    assert model.positive_ == "malignant" and model.prevalence_[1] == pytest.approx(0.05)
    again = model.predict_proba({"images": X})
    np.testing.assert_array_equal(again, proba)
    np.testing.assert_allclose(model.predict_proba(X, population=0.05), proba, rtol=1e-5)
    with pytest.raises(ValueError, match="height, width"):
        model.predict_proba(X[:, 0])


def test_export_is_the_commands(tmp_path, study):
    X, y = study
    model = prevail.PrevalenceClassifier(0.1).fit(X, y)
    about = model.export(tmp_path / "a.c", population=0.2)
    assert about["format"] == "C" and "double prevalence" not in (tmp_path / "a.c").read_text()
    about = model.export(tmp_path / "a.sql", table="people")
    assert about["inputs"][-1]["name"] == "prevalence" and '"people"' in (tmp_path / "a.sql").read_text()
    with pytest.raises(prevail.InputError, match="one row at a time"):
        model.export(tmp_path / "a.onnx", population="unknown")
    with pytest.raises(prevail.InputError, match="MODEL.onnx"):
        model.export(tmp_path / "a.txt")
    assert not (tmp_path / "a.onnx").exists()
