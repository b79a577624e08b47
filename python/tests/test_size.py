"""Sample sizes."""

import numpy as np
import pandas as pd
import pytest

import prevail


def test_riley():
    with pytest.warns(prevail.PrevailWarning, match="calibration slope"):
        found = prevail.size(0.174, r2=0.288, parameters=24, ratio="population")
    assert (found.rows, found.cases, found.binding) == (662, 116, "optimism")
    assert [found.criteria[name]["rows"] for name in ("shrinkage", "optimism", "margin")] == [623, 662, 221]
    assert found.figures["slope"] == pytest.approx(0.82, abs=0.005)
    assert len(found.curve) > 5
    assert "Riley" in repr(found)
    assert "662" in found._repr_html_()


def test_best_ratio_and_power():
    found = prevail.size(0.001, odds_ratio=1.002, exposure=0.2, cost_case=9)
    assert found.ratio == pytest.approx(3, rel=0.01)
    assert found.figures["power"] == pytest.approx(0.8, abs=1e-6)


def test_a_given_design():
    found = prevail.size((0.01, 0.03), auc=0.8, parameters=12, threshold=0.1, cases=150, ratio=3)
    assert (found.cases, found.controls, found.binding, found.curve) == (150, 450, None, [])
    assert found.result["prevalence"]["lo"] == pytest.approx(0.01, abs=1e-5)
    assert found.figures["risk"]["lo"] < 0.1 < found.figures["risk"]["hi"]


def test_pilot():
    rng = np.random.default_rng(1)
    label = np.arange(400) % 2 == 0
    pilot = pd.DataFrame({"x": rng.normal(1.2 * label), "sick": label})
    found = prevail.size(0.05, pilot=pilot, score="x", outcome="sick", positive=True, parameters=10)
    assert found.result["model"]["scores"] == "pilot"
    assert found.result["model"]["auc"] == pytest.approx(0.8, abs=0.05)


def test_refused():
    with pytest.raises(prevail.InputError, match="has no effect") as error:
        prevail.size(0.02, auc=0.8, parameters=12, ppv_width=0.1)
    assert error.value.option == "ppv_width"
    with pytest.raises(prevail.InputError, match="data frame"):
        prevail.size(0.02, pilot=[1, 2], score="x", outcome="y")
    with pytest.raises(prevail.InputError, match="a pair"):
        prevail.size((0.1, 0.2, 0.3), auc=0.8, parameters=3)
    pilot = pd.DataFrame({"x": [1.0, np.nan], "y": [0, 1]})
    with pytest.raises(prevail.InputError) as error:
        prevail.size(0.02, pilot=pilot, score="x", outcome="y", parameters=3)
    assert (error.value.row, error.value.column) == (1, "x")
