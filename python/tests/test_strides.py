"""Arrays of any layout are read as NumPy reads them: nothing behind or between their cells."""

import numpy as np
import pytest

import prevail
from prevail._context import Context
from prevail._frames import Table

from conftest import sample

pandas = pytest.importorskip("pandas")


def padded(values, step):
    """The values, step cells apart; what lies between them would show."""
    made = np.full((values.shape[0] * step, values.shape[1] * step), 1e6)
    made[::step, ::step] = values
    return made[::step, ::step]


def readonly(values):
    made = values.copy()
    made.setflags(write=False)
    return made


def unaligned(values):
    buffer = np.zeros(values.nbytes + 1, np.uint8)
    made = np.frombuffer(buffer, np.float64, values.size, 1)
    made = made.reshape(values.shape)
    buffer[1:] = np.ascontiguousarray(values).view(np.uint8).ravel()
    return made


LAYOUTS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "every second cell": lambda v: padded(v, 2),
    "rows backwards": lambda v: v[::-1].copy()[::-1],
    "columns backwards": lambda v: v[:, ::-1].copy()[:, ::-1],
    "all backwards": lambda v: np.asfortranarray(v[::-1, ::-1])[::-1, ::-1],
    "readonly": readonly,
    "unaligned": unaligned,
    "the other byte order": lambda v: v.astype(v.dtype.newbyteorder()),
    "a slice of a larger array": lambda v: np.hstack([np.full((len(v), 1), 7.0), v, np.full((len(v), 2), 8.0)])[:, 1:-2],
}


@pytest.fixture(scope="module")
def fitted():
    X, y = sample(150, 150, seed=3)
    return prevail.PrevalenceClassifier(0.05).fit(X, y), X, y


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(fitted, layout):
    model, X, y = fitted
    laid = LAYOUTS[layout](X)
    np.testing.assert_array_equal(laid, X)
    np.testing.assert_array_equal(model.predict_proba(laid), model.predict_proba(X))
    np.testing.assert_array_equal(prevail.PrevalenceClassifier(0.05).fit(laid, y).coef_, model.coef_)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(prevail.adjust(LAYOUTS[layout](p), from_=0.05, to=0.2), prevail.adjust(p, from_=0.05, to=0.2))


@pytest.mark.parametrize("rows", [1, 2, 5, 100_000])
def test_one_row_broadcast(fitted, rows):
    model, X, _ = fitted
    wanted = np.tile(model.predict_proba(X[:1]), (rows, 1))
    np.testing.assert_array_equal(model.predict_proba(np.broadcast_to(X[0], (rows, X.shape[1]))), wanted)
    p = np.broadcast_to(wanted[0], (rows, 2))
    np.testing.assert_array_equal(prevail.adjust(p, from_=0.05, to=0.2), prevail.adjust(p.copy(), from_=0.05, to=0.2))


def test_one_column_or_cell_broadcast(fitted):
    model, X, _ = fitted
    for laid in (np.broadcast_to(X[:, :1], X.shape), np.broadcast_to(np.float64(0.5), X.shape)):
        assert 0 in laid.strides
        np.testing.assert_array_equal(model.predict_proba(laid), model.predict_proba(laid.copy()))


def test_weights_and_labels_broadcast(fitted):
    _, X, y = fitted
    weight = np.broadcast_to(np.float64(2), len(y))
    made = prevail.PrevalenceClassifier(0.05).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(made.coef_, prevail.PrevalenceClassifier(0.05).fit(X, y, sample_weight=weight.copy()).coef_)
    p = made.predict_proba(X)
    one, other = (prevail.evaluate(y, p, sample_weight=w) for w in (weight, weight.copy()))
    assert (one.log_loss.value, one.log_loss.lo) == (other.log_loss.value, other.log_loss.lo)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int8, bool])
def test_broadcast_columns_of_a_frame(kind):
    X, y = sample(150, 150, seed=3)
    frame = pandas.DataFrame(X, columns=list("abc"))
    model = prevail.PrevalenceClassifier(0.05).fit(frame, y)
    one = pandas.Series(np.broadcast_to(np.arange(1, 9).astype(kind)[:1], 40), copy=False)
    laid = pandas.DataFrame({"a": one, "b": 0.5, "c": -0.5}, copy=False)
    if kind is bool:
        laid["a"] = one.astype(float)
    np.testing.assert_array_equal(model.predict_proba(laid), model.predict_proba(laid.copy()))
    np.testing.assert_array_equal(model.predict_proba(laid), np.tile(model.predict_proba(laid[:1]), (40, 1)))


class Name:
    """A column's name that counts how often it is asked for."""

    asked = 0

    def __init__(self, name):
        self.name = name

    def __str__(self):
        Name.asked += 1
        return self.name


def test_names_of_columns_are_searched_once():
    """8,000 columns took 6 s, as each name was looked for among all of them."""
    columns = 300
    frame = pandas.DataFrame(np.arange(3.0)[:, None] + np.zeros(columns), columns=[Name(f"c{i}") for i in range(columns)])
    with Context() as ctx:
        Table.of_frame(ctx, "X", frame)
    assert Name.asked <= 3 * columns
