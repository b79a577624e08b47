"""Curves drawn with matplotlib, following the convention of scikit-learn's displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._frames import one_positive
from ._judge import Evaluation, evaluate, own
from ._types import Label, Rows

if TYPE_CHECKING:
    from typing_extensions import Self

_LINE = "_prevail_curve"  # how the curves of several models in one axes are told from other lines


def _limits(least, most):
    """Limits of an axis that show what is there, with a twentieth to spare, and 0 where that is near."""
    span = max(most - least, 1e-12)
    least = 0.0 if 0 <= least < 0.25 * most else least - 0.05 * span
    return least, most + 0.05 * span


class _CurveDisplay:
    """A curve of an evaluation; `from_estimator` and `from_predictions` make and plot one.

    Pass the same `ax` to plot several models in one figure: each adds its curve to the legend, and reference lines are
    drawn once.

    Parameters
    ----------
    evaluation : Evaluation
        The evaluation to show.
    name : str, optional
        The name in the legend.

    Attributes
    ----------
    ax_, figure_, line_
        The axes, their figure and the curve, once it is drawn.
    """

    kind = x = y = title = ""
    metric = None
    labels = ("", "")
    legend = "best"

    def __init__(self, evaluation: Evaluation, name: str | None = None) -> None:
        self.evaluation, self.name = evaluation, name

    @classmethod
    def from_predictions(
        cls,
        y: Rows,
        proba: Rows,
        *,
        name: str | None = None,
        ax: Any = None,
        level: float = 0.95,
        pos_label: Label | None = None,
        line_kw: dict[str, Any] | None = None,
        evaluate_kw: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Plots the curve of labels and probabilities.

        Parameters
        ----------
        y, proba
            As for `evaluate`.
        name : str, optional
            The name in the legend.
        ax : matplotlib Axes, optional
            Where to plot; default: new axes.
        level : float
            The level of the band.
        pos_label : label, optional
            The positive class.
        line_kw, evaluate_kw : dict, optional
            Further arguments of the curve and of `evaluate`.
        **kwargs
            Arguments of `evaluate` (prevalence, stated_for, sample_weight, ...) or of the curve (color, linestyle,
            ...).
        """
        given, line = _split(kwargs, line_kw, evaluate_kw)
        given["positive"] = one_positive(given.get("positive"), pos_label)
        made = evaluate(y, proba, level=level, **{"bootstrap": 0, **given})
        return cls(made, name).plot(ax=ax, **line)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Rows,
        y: Rows,
        *,
        name: str | None = None,
        ax: Any = None,
        level: float = 0.95,
        pos_label: Label | None = None,
        line_kw: dict[str, Any] | None = None,
        evaluate_kw: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Plots the curve of a fitted classifier; estimators of this package know their prevalence. Arguments are those of
        `from_predictions`."""
        given, line = _split(kwargs, line_kw, evaluate_kw)
        given.setdefault("classes", estimator.classes_)
        proba = estimator.predict_proba(X)
        if "prevalence" not in given:
            given["prevalence"] = own(estimator, "prevalence_")
        positive = one_positive(given.pop("positive", None), pos_label)
        if positive is None and len(estimator.classes_) == 2:
            positive = own(estimator, "positive_")
        made = evaluate(y, proba, level=level, **{"bootstrap": 0, **given, "positive": positive})
        return cls(made, name or type(estimator).__name__).plot(ax=ax, **line)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Plots into ax, or into new axes. Further arguments are those of the curve."""
        try:
            from matplotlib import pyplot
        except ImportError as missing:
            raise ImportError("plots need matplotlib: pip install matplotlib") from missing
        self.ax_ = ax if ax is not None else pyplot.subplots(layout="constrained")[1]
        self.figure_ = self.ax_.figure
        first = not any(line.get_gid() == _LINE for line in self.ax_.lines)
        self._first = first
        self._draw(self.ax_, {"label": self._legend(name or self.name), **kwargs})
        self.line_.set_gid(_LINE)
        self.ax_.set(xlabel=self.labels[0], ylabel=self.labels[1])
        if first and not self.ax_.get_title():
            self.ax_.set_title(f"{self.title}, {self._stated()}")
        self._order_legend()
        return self

    def _legend(self, name):
        said = "" if self.metric is None else f"{self.metric[1]} = {self.evaluation[self.metric[0]].value:.3g}"
        return f"{name} ({said})" if name and said else name or said or None

    def _order_legend(self):
        """Models first, lines of reference last."""
        handles, labels = self.ax_.get_legend_handles_labels()
        order = sorted(range(len(handles)), key=lambda i: getattr(handles[i], "get_gid", lambda: None)() != _LINE)
        if order:
            self.ax_.legend([handles[i] for i in order], [labels[i] for i in order], loc=self.legend)

    def _draw(self, ax, line_kw):
        curve = self.evaluation.curve(self.kind)
        x = np.asarray(curve[self.x])
        (self.line_,) = ax.plot(x, np.asarray(curve[self.y]), **line_kw)
        self._band(ax, x, curve, self.y)

    def _band(self, ax, x, curve, name):
        lo, hi = (np.asarray(curve[f"{name}_{end}"], dtype=float) for end in ("lo", "hi"))
        self.band_ = ax.fill_between(x, lo, hi, alpha=0.2, color=self.line_.get_color(), linewidth=0)

    def _reference(self, ax, label, x, y, linestyle=":"):
        """A line that models are compared with; one for all of the same population."""
        for line in ax.lines:
            if line.get_label() == label:
                return line
        return ax.plot(x, y, linestyle=linestyle, color="grey", label=label, zorder=1, scalex=False, scaley=False)[0]

    def _show(self, axis, least, most):
        """The limits of an axis: those of this curve and of the others in the same axes."""
        least, most = _limits(least, most)
        if not self._first:
            old = getattr(self.ax_, f"get_{axis}lim")()
            least, most = min(least, old[0]), max(most, old[1])
        getattr(self.ax_, f"set_{axis}lim")(least, most)

    def _prevalence(self):
        ev = self.evaluation
        return float(ev.stated[list(ev.classes).index(ev.positive)])

    def _stated(self):
        return f"prevalence {self._prevalence():.3g}"


def _split(kwargs, line_kw, evaluate_kw):
    """Arguments of `evaluate`, and those of the curve."""
    names = {"prevalence", "stated_for", "classes", "positive", "sample_weight", "bootstrap", "seed", "threads"}
    given = {**{name: value for name, value in kwargs.items() if name in names}, **(evaluate_kw or {})}
    return given, {**{name: value for name, value in kwargs.items() if name not in names}, **(line_kw or {})}


class CalibrationDisplay(_CurveDisplay):
    __doc__ = "Observed proportion of positives against the probability, in bins and as a smooth curve.\n" + _CurveDisplay.__doc__
    kind, x, y, title = "calibration_smooth", "p", "observed", "Calibration"
    labels = ("predicted probability", "observed proportion of positives")

    def _draw(self, ax, line_kw):
        smooth, bins = self.evaluation.curve(self.kind), self.evaluation.curve("calibration")
        x, y = np.asarray(smooth["p"]), np.asarray(smooth["observed"])
        (self.line_,) = ax.plot(x, y, **line_kw)
        if len(x):
            self._band(ax, x, smooth, "observed")
        at, share = (np.asarray(bins[name], dtype=float) for name in ("mean_p", "observed"))
        ends = [np.clip(sign * (np.asarray(bins[f"observed_{end}"]) - share), 0, None) for sign, end in ((-1, "lo"), (1, "hi"))]
        self.bins_ = ax.errorbar(at, share, yerr=ends, fmt="o", markersize=4, color=self.line_.get_color())
        self.perfect_ = self._reference(ax, "perfect", [0, 1], [0, 1])
        right = min(1.0, max(1e-9, 1.2 * float(np.nanmax(at))))  # a few rows may have far larger probabilities
        self._show("x", 0, right)
        self._show("y", 0, max(1e-9, float(np.nanmax([*(share + ends[1]), *y[x <= right], right]))))


class RocDisplay(_CurveDisplay):
    __doc__ = "True against false positive rate, with an interval.\n" + _CurveDisplay.__doc__
    kind, x, y, title = "roc", "fpr", "tpr", "ROC"
    metric = ("auc", "AUC")
    labels = ("false positive rate", "true positive rate")
    legend = "lower right"

    def _draw(self, ax, line_kw):
        super()._draw(ax, line_kw)
        self.chance_ = self._reference(ax, "chance", [0, 1], [0, 1])
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))


class PrecisionRecallDisplay(_CurveDisplay):
    __doc__ = "Precision against recall in the population that is stated, with an interval.\n" + _CurveDisplay.__doc__
    kind, x, y, title = "pr", "recall", "precision", "Precision and recall"
    metric = ("average_precision", "AP")
    labels = ("recall", "precision")

    def _draw(self, ax, line_kw):
        super()._draw(ax, line_kw)
        chance = self._prevalence()
        self.chance_ = self._reference(ax, f"chance ({chance:.3g})", [0, 1], [chance, chance])
        curve = self.evaluation.curve(self.kind)
        recall, precision = np.asarray(curve["recall"], dtype=float), np.asarray(curve["precision"], dtype=float)
        shown = precision[recall >= 0.05]  # the first few rows are noise, and may reach 1
        ax.set_xlim(-0.01, 1.01)
        self._show("y", 0, min(1.0, max(1.2 * chance, float(np.nanmax(shown)) if len(shown) else 1.0)))


class DecisionCurveDisplay(_CurveDisplay):
    __doc__ = "Net benefit against the threshold, with those of treating everyone and no one.\n" + _CurveDisplay.__doc__
    kind, x, y, title = "net_benefit", "threshold", "net_benefit", "Decision curve"
    labels = ("threshold", "net benefit per person")

    def _draw(self, ax, line_kw):
        super()._draw(ax, line_kw)
        curve = self.evaluation.curve(self.kind)
        at, value = np.asarray(curve["threshold"]), np.asarray(curve["net_benefit"], dtype=float)
        self._reference(ax, "treat all", at, np.asarray(curve["treat_all"]), "--")
        self._reference(ax, "treat none", [0, 1], [0, 0])
        top = max(float(np.nanmax(value)), 1e-9)
        useful = at[value > 0.02 * top]  # beyond these it is that of treating no one
        self._show("x", 0, min(1.0, float(useful.max()) * 1.1) if len(useful) else 1.0)
        low, high = -0.15 * top, 1.1 * top
        if not self._first:
            old = ax.get_ylim()
            low, high = min(low, old[0]), max(high, old[1])
        ax.set_ylim(low, high)
