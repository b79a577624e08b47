"""Displays: what is drawn is the curve, and it can be read where cases are rare."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import prevail

from conftest import sample

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
DISPLAYS = [prevail.CalibrationDisplay, prevail.RocDisplay, prevail.PrecisionRecallDisplay, prevail.DecisionCurveDisplay]


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def rare():
    """Balanced rows, and a model for a population with one case in 200."""
    X, y = sample(1500, 1500)
    return prevail.PrevalenceAdjusted(LogisticRegression(), prevalence=0.005).fit(X, y), X, y


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


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
    assert shown.line_.get_label().startswith("PrevalenceAdjusted") and shown.ax_.get_xlabel() == display.labels[0]
    _, ax = pyplot.subplots()
    again = display.from_predictions(y, model.predict_proba(X)[:, 1], prevalence=0.05, ax=ax, name="forest", line_kw={"color": "red"})
    assert again.ax_ is ax and again.line_.get_color() == "red"
    np.testing.assert_allclose(again.line_.get_ydata(), shown.line_.get_ydata(), rtol=1e-9)


@pytest.mark.parametrize("display", DISPLAYS)
def test_several_models(rare, display):
    """One legend: a line for each model with its metric, and each line of reference once."""
    model, X, y = rare
    first = display.from_estimator(model, X, y, name="one")
    display.from_estimator(model.for_population(0.005), X[::2], y[::2], name="two", ax=first.ax_, color="black", linestyle="--")
    names = legend(first.ax_)
    assert len(names) == len(set(names)) and names[0].startswith("one") and names[1].startswith("two")
    assert len(names) == (4 if display is prevail.DecisionCurveDisplay else 3)
    assert first.ax_.lines[-1].get_color() == "black" or any(line.get_linestyle() == "--" for line in first.ax_.lines)
    assert "prevalence 0.005" in first.ax_.get_title()


def test_metrics_in_the_legend(rare):
    model, X, y = rare
    ev = prevail.evaluate(y, model.predict_proba(X), prevalence=0.005, bootstrap=0)
    assert legend(prevail.RocDisplay.from_estimator(model, X, y, name="m").ax_) == [f"m (AUC = {ev.auc.value:.3g})", "chance"]
    shown = prevail.PrecisionRecallDisplay.from_estimator(model, X, y, name="m")
    assert legend(shown.ax_) == [f"m (AP = {ev.average_precision.value:.3g})", "chance (0.005)"]
    np.testing.assert_allclose(shown.chance_.get_ydata(), 0.005)


def test_limits_of_rare_outcomes(rare):
    """The probabilities' range fills the axes, whatever line of reference goes beyond it."""
    model, X, y = rare
    calibration = prevail.CalibrationDisplay.from_estimator(model, X, y)
    bins = calibration.evaluation.curve("calibration")
    assert bins["mean_p"].max() < calibration.ax_.get_xlim()[1] < 2 * bins["mean_p"].max() < 0.2
    assert bins["observed"].max() < calibration.ax_.get_ylim()[1] < 0.3
    decision = prevail.DecisionCurveDisplay.from_estimator(model, X, y)
    assert 0.005 < decision.ax_.get_xlim()[1] < 0.5 and 0.004 < decision.ax_.get_ylim()[1] < 0.007
    assert -0.002 < decision.ax_.get_ylim()[0] < 0  # not where treating everyone goes
    precision = prevail.PrecisionRecallDisplay.from_estimator(model, X, y)
    assert 0.01 < precision.ax_.get_ylim()[1] < 0.5


def test_limits_of_common_outcomes():
    """No axis of probabilities goes far beyond 1."""
    rng = np.random.default_rng(0)
    proba = rng.random(400)
    y = rng.random(400) < proba
    for display in DISPLAYS:
        ax = display.from_predictions(y, proba).ax_
        assert 0.9 < ax.get_xlim()[1] <= 1.06 and ax.get_ylim()[1] <= 1.06


@pytest.mark.parametrize("display", DISPLAYS)
def test_pos_label_and_arguments(display):
    X, y = sample(200, 200)
    y = np.where(y == 1, "aaa", "bbb")
    model = LogisticRegression().fit(X, y)
    shown = display.from_estimator(model, X, y, pos_label="aaa", prevalence={"aaa": 0.1, "bbb": 0.9}, alpha=0.5)
    assert shown.evaluation.positive == "aaa" and shown.line_.get_alpha() == 0.5
    np.testing.assert_allclose(shown.evaluation.stated, [0.1, 0.9])
    with pytest.raises(prevail.InputError, match="`positive` is 'bbb' and `pos_label` is 'aaa'"):
        display.from_predictions(y, model.predict_proba(X), pos_label="aaa", positive="bbb")
