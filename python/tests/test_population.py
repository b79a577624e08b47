"""adjust, infer_prevalence, decide."""

import numpy as np
import pytest

import prevail


@pytest.fixture(scope="module")
def clinic():
    """Probabilities of a model made for 50:50, in a population where one in ten is a case."""
    rng = np.random.default_rng(3)
    y = (rng.random(3000) < 0.1).astype(int)
    x = rng.normal(2.0 * y)
    return y, 1 / (1 + np.exp(-(2 * x - 2)))


def test_adjust_is_bayes(clinic):
    _, p = clinic
    odds = p / (1 - p) * (0.01 / 0.99) / (0.4 / 0.6)
    np.testing.assert_allclose(prevail.adjust(p, from_=0.4, to=0.01), odds / (1 + odds), rtol=1e-12)
    both = prevail.adjust(np.column_stack([1 - p, p]), from_=[0.6, 0.4], to={1: 0.01, 0: 0.99})
    np.testing.assert_allclose(both[:, 1], odds / (1 + odds), rtol=1e-12)
    np.testing.assert_allclose(both.sum(axis=1), 1)
    back = prevail.adjust(prevail.adjust(p, from_=0.4, to=0.01), from_=0.01, to=0.4)
    np.testing.assert_allclose(back, p, rtol=1e-9)


def test_adjust_several_classes():
    p = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    moved = prevail.adjust(p, from_=[1 / 3] * 3, to={"a": 0.5, "b": 0.25, "c": 0.25}, classes=list("abc"))
    wanted = p * [0.5, 0.25, 0.25]
    np.testing.assert_allclose(moved, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-12)


def test_adjust_moves_each_stratum(clinic):
    """Each on its own, whatever the order of the rows; an unknown prevalence is each stratum's own."""
    _, p = clinic
    site = np.where(np.arange(len(p)) % 3 == 0, "b", "a")
    moved = prevail.adjust(p, from_={"a": 0.5, "b": 0.2}, to={"a": 0.1, "b": 0.3}, strata=site)
    np.testing.assert_allclose(moved[site == "a"], prevail.adjust(p[site == "a"], from_=0.5, to=0.1), rtol=1e-12)
    np.testing.assert_allclose(moved[site == "b"], prevail.adjust(p[site == "b"], from_=0.2, to=0.3), rtol=1e-12)
    unknown = prevail.adjust(p, from_=0.5, to="unknown", strata=site)
    alone = prevail.adjust(p[site == "b"], from_=0.5, to="unknown")
    np.testing.assert_allclose(unknown[site == "b"], alone, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"to": 0.1}, "mapping from each stratum"),
        ({"to": {"a": 0.1}}, "no prevalence for stratum 'b'"),
        ({"strata": ["a"]}, "expected"),
        ({"strata": ["a", None]}, "needs a stratum"),
    ],
)
def test_adjust_names_what_is_wrong_with_strata(change, message):
    given = {"from_": 0.5, "to": {"a": 0.1, "b": 0.2}, "strata": ["a", "b"]}
    with pytest.raises(prevail.InputError, match=message):
        prevail.adjust([0.2, 0.4], **{**given, **change})


@pytest.mark.parametrize("option", ["from_", "to"])
def test_adjust_refuses_names_of_labels_and_strata(option):
    """{0: 0.9, 1: 0.1} is read as shares of labels by one and as prevalences of strata by another."""
    p, by_label = [0.2, 0.4, 0.6], {0: 0.9, 1: 0.1}
    given = {"from_": 0.5, "to": {0: by_label, 1: [0.8, 0.2]}, "strata": [0, 1, 1]}
    with pytest.raises(prevail.InputError, match=rf"{option}: 0, 1 .*{option}={{0: {{0: ..., 1: ...}}, 1: {{"):
        prevail.adjust(p, **{**given, option: by_label})
    named = prevail.adjust(p, from_=0.5, to={"a": 0.1, "b": 0.2}, strata=["a", "b", "b"])
    np.testing.assert_array_equal(prevail.adjust(p, **given), named)


def test_certainty_stays():
    np.testing.assert_array_equal(prevail.adjust([0.0, 1.0], from_=0.5, to=0.01), [0, 1])


@pytest.mark.parametrize("method", ["exact", "em", "vb", "bbse"])
def test_infer_prevalence(clinic, method):
    y, p = clinic
    found = prevail.infer_prevalence(p, from_=0.5, method=method, reference=(y, p) if method == "bbse" else None)
    assert found.prevalence == pytest.approx(y.mean(), abs=0.03)
    assert found.value.sum() == pytest.approx(1)
    if method == "exact":
        assert found.interval[0] < y.mean() < found.interval[1] and not found.weak
        assert "95 % interval" in repr(found)


def test_known_labels_count(clinic):
    y, p = clinic
    labels = [int(label) if i < 1000 else None for i, label in enumerate(y)]
    some = prevail.infer_prevalence(p, from_=0.5, labels=labels)
    none = prevail.infer_prevalence(p, from_=0.5)
    assert some.sd[1] < none.sd[1]
    with pytest.raises(prevail.InputError, match="x in row 0"):
        prevail.infer_prevalence(p, from_=0.5, labels=["x"] + [None] * (len(y) - 1))


def test_reference_widens(clinic):
    """An interval that knows that the probabilities may be wrong."""
    y, p = clinic
    half, rest = slice(0, 1500), slice(1500, None)
    sure = prevail.infer_prevalence(p[rest], from_=0.5)
    doubting = prevail.infer_prevalence(p[rest], from_=0.5, reference=(y[half], p[half]))
    assert np.ptp(doubting.interval) > np.ptp(sure.interval)


def test_decide(clinic):
    _, p = clinic
    costs = np.array([[0, 10.0], [1, 0]])
    action, cost = prevail.decide(p, costs)
    np.testing.assert_array_equal(action, (10 * p > 1 - p).astype(int))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({1: [10.0, 0], 0: [0, 1.0]}, index=["wait", "treat"])
    np.testing.assert_array_equal(prevail.decide(p, frame).action == "treat", action == 1)
    with pytest.raises(prevail.InputError, match="one for each class"):
        prevail.decide(p, {"wait": {0: 1}})
