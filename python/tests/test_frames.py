"""Data frames of every kind are the same table: by Arrow's stream, by columns, and as the command reads their CSV file."""

import numpy as np
import pytest

import prevail

from arrow_frame import ArrowFrame, _Export
from conftest import sample

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def data():
    X, y = sample(130, 130, seed=6)
    rng = np.random.default_rng(7)
    sex = rng.choice(["f", "m", "zü"], len(y)).astype(object)
    sex[::17] = None
    return {"dose": X[:, 0], "age": rng.integers(20, 80, len(y)).astype(float), "sex": sex}, y


def probabilities(frame, y):
    model = prevail.PrevalenceClassifier(0.05, missing="indicator").fit(frame, y)
    assert model.features_ == ["dose", "age", "sex=m", "sex=zü", "sex (missing)"]
    assert list(model.feature_names_in_) == ["dose", "age", "sex"]
    return model.predict_proba(frame)


def test_a_stream(data):
    columns, y = data
    wanted = probabilities(pandas.DataFrame(columns), y)
    np.testing.assert_array_equal(probabilities(ArrowFrame(columns), y), wanted)
    np.testing.assert_array_equal(probabilities(ArrowFrame(columns, batch=7), y), wanted)
    assert not _Export.alive  # every stream was released


def test_streams_that_are_refused(data):
    columns, y = data
    with pytest.raises(prevail.InputError, match="X has no column|both named|two columns") as told:
        broken = ArrowFrame(columns)
        broken.columns = ["dose", "age", "age"]
        probabilities(broken, y)
    with pytest.raises(prevail.InputError, match="missing|cell") as told:
        prevail.PrevalenceClassifier(0.05).fit(ArrowFrame(columns), y)
    assert (told.value.row, told.value.column) == (0, "sex")
    with pytest.raises(prevail.InputError, match="NUL"):
        prevail.PrevalenceClassifier(0.05).fit(ArrowFrame({"a": np.array(["x\0y", "z"] * 130, dtype=object)}), y)
    assert not _Export.alive


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_other_libraries(data, library):
    made = pytest.importorskip(library)
    columns, y = data
    wanted = probabilities(pandas.DataFrame(columns), y)
    frame = made.table(columns) if library == "pyarrow" else made.DataFrame(columns)
    np.testing.assert_array_equal(probabilities(frame, y), wanted)


def test_pandas_types(data):
    """Nullable types, categories, an index that is no count, and both ways in."""
    columns, y = data
    plain = pandas.DataFrame(columns)
    wanted = probabilities(plain, y)
    typed = plain.astype({"age": "Int64", "sex": "category"}).set_index(pandas.Index([f"r{i}" for i in range(len(y))]))
    np.testing.assert_array_equal(probabilities(typed, y), wanted)
    np.testing.assert_array_equal(probabilities(plain.astype({"sex": "string"}), y), wanted)
    split = typed.iloc[::-1]
    np.testing.assert_allclose(probabilities(split, y[::-1])[::-1], wanted, rtol=1e-7)


def test_categories_of_numbers_are_categories():
    y = np.tile([0, 1], 60)
    grade = pandas.Series(np.repeat([1, 2, 3], 40), dtype="category")
    model = prevail.PrevalenceClassifier(0.1).fit(pandas.DataFrame({"grade": grade, "x": np.arange(120.0) % 7}), y)
    assert model.features_ == ["grade=2", "grade=3", "x"]


def test_columns_without_a_stream(data, monkeypatch):
    """What pandas does without pyarrow."""
    columns, y = data
    frame = pandas.DataFrame(columns).assign(day=pandas.Timestamp("2020-03-01") + pandas.to_timedelta(np.arange(260) % 90, "D"))
    first = prevail.PrevalenceClassifier(0.05, missing="impute").fit(frame, y).predict_proba(frame)
    if hasattr(frame, "__arrow_c_stream__"):
        def refuse(self, requested_schema=None):
            raise ImportError("no pyarrow")

        monkeypatch.setattr(pandas.DataFrame, "__arrow_c_stream__", refuse)
    second = prevail.PrevalenceClassifier(0.05, missing="impute").fit(frame, y).predict_proba(frame)
    np.testing.assert_allclose(first, second, rtol=1e-12)


@pytest.mark.parametrize("kind", ["int64", "uint64", "Int64", "UInt64", "objects", "numpy objects", "longer"])
def test_identifiers_keep_their_digits(kind):
    """Sets whose numbers no double tells apart are those that small numbers name."""
    rng = np.random.default_rng(0)
    small = np.repeat(np.arange(60), 3)
    y = np.tile([1, 0, 0], 60)
    dose = rng.normal(size=180) + y
    base = 10**25 if kind == "longer" else 2**63 if kind in ("uint64", "UInt64") else 2**60
    named = [base + int(i) for i in small]
    if kind == "numpy objects":
        named = [np.int64(i) for i in named]
    sets = pandas.Series(named, dtype=kind if "int" in kind.lower() else object)

    def odds_ratio(column):
        frame = pandas.DataFrame({"dose": dose, "set": column})
        model = prevail.PrevalenceClassifier(matched="set", loss="matched").fit(frame, y)
        return model.odds_ratios_.loc["dose", "odds_ratio"]

    assert odds_ratio(sets) == odds_ratio(small)
