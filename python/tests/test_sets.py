"""Sets of labels and refer regions."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import prevail


def rows(seed, n, m):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [n, m])
    return 1 / (1 + np.exp(-rng.normal(4.0 * y - 2, 1.5))), y


def test_covers_each_label():
    found = prevail.sets(*rows(1, 4000, 1000), coverage={0: 0.8, 1: 0.95}, prevalence=0.01)
    p, y = rows(2, 20000, 20000)
    inside = found.predict(p)
    assert inside.dtype == bool and inside.shape == (40000, 2)
    assert inside[y == 0, 0].mean() == pytest.approx(0.8, abs=0.03)
    assert inside[y == 1, 1].mean() == pytest.approx(0.95, abs=0.03)
    assert (inside[:, 1] == (p >= found.thresholds[1])).all()
    assert found.result["labels"]["1"]["rows"] == 1000
    assert "0.95" in repr(found) and "Expected in the population (1 % 1)" in repr(found)
    assert "0.950" in found._repr_html_() or "0.95" in found._repr_html_()
    assert (found.predict(np.column_stack([1 - p, p])) == inside).all()


def test_order_of_labels():
    p, y = rows(3, 500, 300)
    named = np.array(["ill", "well"])[1 - y]  # ill is the positive one, and the first by spelling
    a = prevail.sets(np.column_stack([p, 1 - p]), named, classes=["ill", "well"], positive="ill", refer={"ill": 0.3, "well": 0.05}, prevalence=0.3)
    b = prevail.sets(p, y, refer={1: 0.3, 0: 0.05}, prevalence=0.3)
    assert (a.predict(np.column_stack([p, 1 - p]))[:, 0] == b.predict(p)[:, 1]).all()
    called = b.call(p)
    assert {None, 0, 1} == set(called)
    assert (a.call(np.column_stack([p, 1 - p])) == np.where(called == 1, "ill", np.where(called == 0, "well", None))).all()
    wrong = (y[called == 0] == 1).sum() / 300 * 0.3
    right = (y[called == 0] == 0).sum() / 500 * 0.7
    assert 0 < wrong / (wrong + right) <= 0.05


def test_three_labels_of_a_model():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 900)
    x = rng.normal(size=(900, 2)) + np.array([[0, 0], [2, 0], [1, 1.8]])[y]
    names = np.array(["a", "b", "c"])[y]
    model = LogisticRegression().fit(x[:300], names[:300])
    found = prevail.sets(model.predict_proba(x[300:600]), names[300:600], classes=model.classes_, prevalence={"a": 0.9, "b": 0.05, "c": 0.05})
    inside = found.predict(model.predict_proba(x[600:]))
    assert 0.8 < inside[np.arange(300), y[600:]].mean() < 1
    assert inside.sum(axis=1).max() > 1
    with pytest.raises(prevail.InputError, match="refer"):
        found.call(model.predict_proba(x[600:]))


def test_counts_and_groups():
    p, y = rows(5, 100, 100)
    count = np.arange(200) % 3 + 1
    twice = prevail.sets(np.repeat(p, count), np.repeat(y, count))
    assert prevail.sets(p, y, sample_weight=count).thresholds == twice.thresholds
    assert prevail.sets(np.repeat(p, count), np.repeat(y, count), groups=np.repeat(np.arange(200), count)).thresholds == prevail.sets(p, y).thresholds


def test_refused():
    p, y = rows(6, 30, 8)
    with pytest.raises(prevail.InputError, match="label '1' has 8 calibration rows, and a coverage of 0.9 takes at least 9"):
        prevail.sets(p, y)
    with pytest.raises(prevail.InputError, match="whole numbers"):
        prevail.sets(p, y, coverage=0.8, sample_weight=np.full(38, 0.5))
    with pytest.raises(prevail.InputError, match="no label '2'"):
        prevail.sets(p, y, coverage={2: 0.8})
    with pytest.raises(prevail.InputError, match="needs `prevalence`") as error:
        prevail.sets(p, y, coverage=0.8, refer=0.1)
    assert error.value.option in (None, "refer")
    with pytest.raises(prevail.InputError, match="groups has 3 rows"):
        prevail.sets(p, y, coverage=0.8, groups=[1, 2, 3])
    with pytest.raises(prevail.InputError):
        prevail.sets(p, y, coverage=0.8).predict([[0.5, 0.7]])


def test_warns_where_nothing_is_called():
    with pytest.warns(prevail.PrevailWarning, match="never called"):
        found = prevail.sets(*rows(7, 50, 50), refer=0.0001, prevalence=0.1)
    assert (found.call([0.001, 0.999]) == None).all()  # noqa: E711
