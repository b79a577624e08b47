"""Curves by matplotlib, in the convention of scikit-learn's displays."""

import numpy as np

from ._judge import evaluate


class _CurveDisplay:
    """A curve of an evaluation; `from_estimator` and `from_predictions` make one and draw it.

    Parameters
    ----------
    evaluation : Evaluation
        What is shown.
    name : str, optional
        For the legend.

    Attributes
    ----------
    ax_, figure_, line_
        The axes, their figure and the curve, once it is drawn.
    """

    kind = x = y = None
    labels = ("", "")

    def __init__(self, evaluation, name=None):
        self.evaluation, self.name = evaluation, name

    @classmethod
    def from_predictions(cls, y, proba, *, name=None, ax=None, level=0.9, line_kw=None, **options):
        """Draws the curve of labels and probabilities; further options are those of `evaluate`."""
        made = evaluate(y, proba, level=level, bootstrap=0, **options)
        return cls(made, name).plot(ax=ax, **(line_kw or {}))

    @classmethod
    def from_estimator(cls, estimator, X, y, *, name=None, ax=None, level=0.9, line_kw=None, **options):
        """Draws the curve of a fitted classifier; an estimator of this package knows its own prevalence."""
        options.setdefault("classes", estimator.classes_)
        options.setdefault("prevalence", getattr(estimator, "prevalence_", None))
        if len(estimator.classes_) == 2:
            options.setdefault("positive", getattr(estimator, "positive_", None))
        made = evaluate(y, estimator.predict_proba(X), level=level, bootstrap=0, **options)
        return cls(made, name or type(estimator).__name__).plot(ax=ax, **(line_kw or {}))

    def plot(self, ax=None, **line_kw):
        """Draws into ax, or into axes of its own."""
        try:
            from matplotlib import pyplot
        except ImportError as missing:
            raise ImportError("plots need matplotlib: pip install matplotlib") from missing
        self.ax_ = ax if ax is not None else pyplot.subplots()[1]
        self.figure_ = self.ax_.figure
        self._draw(self.ax_, {"label": self.name, **line_kw})
        self.ax_.set(xlabel=self.labels[0], ylabel=self.labels[1])
        if self.ax_.get_legend_handles_labels()[1]:
            self.ax_.legend()
        return self

    def _draw(self, ax, line_kw):
        curve = self.evaluation.curve(self.kind)
        x = np.asarray(curve[self.x])
        (self.line_,) = ax.plot(x, np.asarray(curve[self.y]), **line_kw)
        self._band(ax, x, curve, self.y)

    def _band(self, ax, x, curve, name):
        lo, hi = (np.asarray(curve[f"{name}_{end}"], dtype=float) for end in ("lo", "hi"))
        self.band_ = ax.fill_between(x, lo, hi, alpha=0.2, color=self.line_.get_color(), linewidth=0)

    def _stated(self):
        ev = self.evaluation
        return f"prevalence {ev.stated[list(ev.classes).index(ev.positive)]:.3g}"


class CalibrationDisplay(_CurveDisplay):
    __doc__ = "Observed share of positives against the probability, in bins and as a smooth curve.\n" + _CurveDisplay.__doc__
    kind, x, y = "calibration_smooth", "p", "observed"
    labels = ("predicted probability", "observed share of positives")

    def _draw(self, ax, line_kw):
        smooth, bins = self.evaluation.curve(self.kind), self.evaluation.curve("calibration")
        x = np.asarray(smooth["p"])
        (self.line_,) = ax.plot(x, np.asarray(smooth["observed"]), **line_kw)
        if len(x):
            self._band(ax, x, smooth, "observed")
        at, share = (np.asarray(bins[name], dtype=float) for name in ("mean_p", "observed"))
        ends = [np.clip(sign * (np.asarray(bins[f"observed_{end}"]) - share), 0, None) for sign, end in ((-1, "lo"), (1, "hi"))]
        self.bins_ = ax.errorbar(at, share, yerr=ends, fmt="o", markersize=4, color=self.line_.get_color())
        top = max(1e-9, float(np.nanmax([*at, *share])))
        (self.perfect_,) = ax.plot([0, top], [0, top], linestyle=":", color="grey", label="perfect")
        ax.set_title(f"Calibration, {self._stated()}")


class RocDisplay(_CurveDisplay):
    __doc__ = "True against false positive rate, with an interval.\n" + _CurveDisplay.__doc__
    kind, x, y = "roc", "fpr", "tpr"
    labels = ("false positive rate", "true positive rate")


class PrecisionRecallDisplay(_CurveDisplay):
    __doc__ = "Precision against recall in the population that is stated, with an interval.\n" + _CurveDisplay.__doc__
    kind, x, y = "pr", "recall", "precision"
    labels = ("recall", "precision")

    def _draw(self, ax, line_kw):
        super()._draw(ax, line_kw)
        ax.set_title(f"Precision and recall, {self._stated()}")


class DecisionCurveDisplay(_CurveDisplay):
    __doc__ = "Net benefit against the threshold, beside calling everyone and nobody.\n" + _CurveDisplay.__doc__
    kind, x, y = "net_benefit", "threshold", "net_benefit"
    labels = ("threshold", "net benefit per person")

    def _draw(self, ax, line_kw):
        super()._draw(ax, line_kw)
        curve = self.evaluation.curve(self.kind)
        at = np.asarray(curve["threshold"])
        ax.plot(at, np.asarray(curve["treat_all"]), linestyle="--", color="grey", label="everyone")
        ax.axhline(0, linestyle=":", color="grey", label="nobody")
        top = float(np.nanmax(np.asarray(curve["net_benefit"], dtype=float)))
        ax.set_ylim(-0.3 * max(top, 1e-9), 1.1 * max(top, 1e-9))
        ax.set_title(f"Decision curve, {self._stated()}")
