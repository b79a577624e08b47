"""Effects in the population."""

import numpy as np
import pandas as pd
import pytest

import prevail
from prevail import PrevalenceClassifier


def rows(n=400, seed=1):
    rng = np.random.default_rng(seed)
    people = 40 * n
    x = rng.normal(size=people)
    smoke = np.where(rng.uniform(size=people) < 1 / (1 + np.exp(0.3 - 0.6 * x)), "yes", "no")
    y = rng.uniform(size=people) < 1 / (1 + np.exp(3 - 0.9 * (smoke == "yes") - 0.5 * x))
    kept = np.r_[np.flatnonzero(y)[:n], np.flatnonzero(~y)[:n]]
    return pd.DataFrame({"x": x, "smoke": smoke, "sex": rng.choice(["f", "m"], people)}).iloc[kept].reset_index(drop=True), y[kept].astype(int)


def test_a_table_of_four_cells():
    X = pd.DataFrame({"e": [1, 0, 1, 0]})
    found = PrevalenceClassifier(prevalence=0.05, infer="ml").effect(X, [1, 1, 0, 0], [60, 40, 30, 70], exposure="e")
    effect = found.effects[0]
    exposed, other = 0.05 * 0.6 / (0.05 * 0.6 + 0.95 * 0.3), 0.05 * 0.4 / (0.05 * 0.4 + 0.95 * 0.7)
    assert effect["to"] == "1" and effect["group"] is None
    for name, value in {"risk_to": exposed, "risk_from": other, "difference": exposed - other, "ratio": exposed / other,
                        "attributable": 1 - other / 0.05}.items():  # fmt: skip
        assert effect[name]["value"] == pytest.approx(value, rel=0.03)  # less by the reduction of bias
        assert effect[name]["lo"] < value < effect[name]["hi"]


def test_groups_values_and_shows():
    X, y = rows()
    classifier = PrevalenceClassifier(prevalence=0.05)
    found = classifier.effect(X, y, exposure="smoke", by="sex", at={"x": 1.0})
    assert [e["group"] for e in found.effects] == [None, "f", "m"]
    assert sum(e["share"] for e in found.effects[1:]) == pytest.approx(1)
    assert found.effects[0]["difference"]["value"] > 0 and "attributable" not in found.effects[0]
    assert "risk difference" in repr(found) and "risk ratio" in found._repr_html_()
    back = classifier.effect(X, y, exposure="smoke", from_="yes", to="no")
    ahead = classifier.effect(X, y, exposure="smoke")
    assert back.effects[0]["difference"]["value"] == pytest.approx(-ahead.effects[0]["difference"]["value"])
    assert not hasattr(classifier, "n_features_in_")  # it stays as it was
    assert isinstance(found, prevail.Effect)


def test_what_cannot_be_estimated_is_refused():
    X, y = rows(100)
    for options, arguments, message in [
        ({"prevalence": 0.05}, {"exposure": "smok"}, "smok"),
        ({"prevalence": 0.05}, {"exposure": "x"}, "more than two values"),
        ({"prevalence": 0.05}, {"exposure": "smoke", "to": "often"}, "often"),
        ({"prevalence": 0.05}, {"exposure": "smoke", "at": {"sex": "x"}}, "no level"),
        ({"prevalence": 0.05}, {"exposure": "smoke", "at": "sex=f"}, "mapping"),
        ({"prevalence": 0.05, "model": "mlp:4"}, {"exposure": "smoke"}, "linear model"),
        ({"prevalence": 0.05, "infer": "laplace"}, {"exposure": "smoke"}, "draws"),
        ({}, {"exposure": "smoke"}, "prevalence"),
    ]:
        with pytest.raises(prevail.InputError, match=message):
            PrevalenceClassifier(**options).effect(X, y, **arguments)
