"""Displays: what is drawn is the curve."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import prevail

from conftest import sample

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
DISPLAYS = [prevail.CalibrationDisplay, prevail.RocDisplay, prevail.PrecisionRecallDisplay, prevail.DecisionCurveDisplay]


@pytest.mark.parametrize("display", DISPLAYS)
def test_display(display):
    from matplotlib import pyplot

    X, y = sample(300, 300)
    model = prevail.PrevalenceAdjusted(LogisticRegression(), prevalence=0.05).fit(X, y)
    shown = display.from_estimator(model, X, y)
    curve = shown.evaluation.curve(display.kind)
    np.testing.assert_array_equal(shown.line_.get_xdata(), curve[display.x])
    np.testing.assert_array_equal(shown.line_.get_ydata(), curve[display.y])
    np.testing.assert_allclose(shown.evaluation.stated, [0.95, 0.05])
    assert shown.line_.get_label() == "PrevalenceAdjusted" and shown.ax_.get_xlabel() == display.labels[0]
    _, ax = pyplot.subplots()
    again = display.from_predictions(y, model.predict_proba(X)[:, 1], prevalence=0.05, ax=ax, name="forest", line_kw={"color": "red"})
    assert again.ax_ is ax and again.line_.get_color() == "red"
    np.testing.assert_allclose(again.line_.get_ydata(), shown.line_.get_ydata(), rtol=1e-9)
    pyplot.close("all")
