"""Rates by imperfect verdicts."""

import numpy as np
import pandas as pd
import pytest

import prevail


def rows(columns, counts):
    return pd.DataFrame(np.repeat(np.array(columns, dtype=object), counts, axis=0)).infer_objects()


SAMPLE = rows([["right"], ["wrong"]], [730, 270]).set_axis(["judge"], axis=1)
GOLD = rows([["right", "right"], ["wrong", "right"], ["right", "wrong"], ["wrong", "wrong"]], [80, 20, 10, 90])
GOLD.columns = ["judge", "truth"]


def test_gold_by_label():
    found = prevail.rate(SAMPLE, GOLD, verdict="judge", outcome="truth", gold_by="label", positive="wrong", width=0.1)
    assert found.positive == "wrong"
    assert found.value == pytest.approx(0.1, abs=1e-9)  # (0.27 - 0.2)/0.7
    assert found.lo < 0.1 < found.hi
    assert found.rates["right"]["hi"] == pytest.approx(1 - found.lo)
    assert found.result["sensitivity"]["value"] == pytest.approx(0.9)
    assert set(found.result["width"]["more"]) == {"right", "wrong"}
    assert "gold rows drawn by label" in repr(found)
    assert "0.1000" in found._repr_html_()


def test_one_table_and_codes():
    sample = pd.DataFrame({"v": np.tile([0, 0, 0, 1], 250), "y": np.full(1000, np.nan)})
    sample.loc[:199, "y"] = sample["v"][:200]
    sample.loc[0, "y"] = 1
    found = prevail.rate(sample, verdict="v", outcome="y", gold_by="verdict")
    assert found.value == pytest.approx(0.75 * 1 / 150 + 0.25)
    again = prevail.rate(sample.astype({"v": str}), verdict="v", outcome="y", gold_by="random")
    assert (again.value, again.lo, again.hi) == (found.value, found.lo, found.hi)


def test_stated_accuracy_and_scores():
    found = prevail.rate(SAMPLE, verdict="judge", positive="wrong", sensitivity=(90, 100), specificity=0.8)
    assert found.value == pytest.approx(0.1, abs=1e-6)
    rng = np.random.default_rng(1)
    sample = pd.DataFrame({"p": rng.normal(2.0 * (np.arange(1000) < 200))})
    gold = pd.DataFrame({"p": rng.normal(2.0 * (np.arange(200) < 100)), "y": np.arange(200) < 100})
    for cuts in (None, [0, 1, 2]):
        found = prevail.rate(sample, gold, score="p", outcome="y", gold_by="label", cuts=cuts, positive=True)
        assert 0.1 < found.value < 0.3


def test_refused():
    with pytest.raises(prevail.InputError, match="how the gold rows were drawn") as error:
        prevail.rate(SAMPLE, GOLD, verdict="judge", outcome="truth")
    assert error.value.option == "gold_by"
    with pytest.raises(prevail.InputError, match="data frame"):
        prevail.rate([1, 2], GOLD, verdict="judge", outcome="truth", gold_by="label")
    empty = SAMPLE.copy()
    empty.loc[3, "judge"] = None
    with pytest.raises(prevail.InputError) as error:
        prevail.rate(empty, GOLD, verdict="judge", outcome="truth", gold_by="label")
    assert (error.value.row, error.value.column) == (3, "judge")


def test_warns():
    useless = GOLD.assign(judge=np.tile(["right", "wrong"], 100))
    with pytest.warns(prevail.PrevailWarning, match="carry no information about the rate"):
        found = prevail.rate(SAMPLE, useless, verdict="judge", outcome="truth", gold_by="label")
    assert (found.lo, found.hi) == (0, 1)
