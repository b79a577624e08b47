"""Evaluation of predictions: evaluate, net_benefit, scorers."""

from __future__ import annotations

import ctypes
import math
import os
import tempfile
import textwrap
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _c
from ._c import lib
from ._compat import check_order
from ._context import Context, brief
from ._design import fitted_last
from ._errors import InputError
from ._frames import encode, is_guess, label_text, label_texts, listed, one_positive
from ._html import table
from ._labels import classes_and_codes, prevalence_text
from ._model import number
from ._population import Probabilities, columns_of
from ._types import Label, Prevalence, Rows
from ._version import __version__


def _metrics():
    """The description of each metric and the smallest number of labels it supports, by name."""
    found, text, least = {}, ctypes.c_char_p(), ctypes.c_int()
    while (name := lib.pv_metric_name(len(found), ctypes.byref(text), ctypes.byref(least))) is not None:
        found[name.decode()] = (text.value.decode(), least.value)
    return found


_METRICS = _metrics()
METRICS = {name: text for name, (text, _) in _METRICS.items()}

CURVES = {
    "roc": "true against false positive rate",
    "pr": "precision against recall",
    "im": "informedness and markedness, at several prevalences",
    "calibration": "observed proportion of positives against mean probability, in bins",
    "calibration_smooth": "the same as a smooth curve",
    "expected": "errors expected from the probabilities and those observed",
    "net_benefit": "decision curve",
    "predictive_values": "ppv and npv against the prevalence",
}

class Metric(NamedTuple):
    """A metric with its interval; lo and hi are NaN if there is none."""

    value: float
    lo: float
    hi: float


def frame(columns, index=None):
    """A pandas data frame if pandas is installed, else the mapping of arrays."""
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns, index=index)


def _free_judgement(address):
    with brief() as ctx:
        lib.pv_judgement_free(ctx, address)


class Evaluation(Mapping[str, Metric]):
    """The performance of predictions in a population: metrics with intervals, and curves.

    A mapping from the names of metrics to `Metric(value, lo, hi)`; `ev["auc"]` and `ev.auc` are the same.

    Attributes
    ----------
    classes : ndarray
        The labels.
    positive : object
        The label that rates and curves refer to.
    observed, stated : ndarray of shape (n_classes,)
        The label proportions in the rows, and in the population of the metrics.
    rows : int
        The number of rows.
    level : float
        The level of the intervals.
    misleading : bool
        The metrics are for the rows as they are, whose label proportions are far from the population's.
    """

    def __init__(self, judgement: Any, given: Any, level: float) -> None:
        with Context(looks=False) as ctx:
            found = ctx.tree("pv_judgement_result", judgement)
        back = np.argsort(given.order)
        self.classes = given.classes
        self.positive = given.classes[given.positive]
        self.rows, self.level = found["rows"], level
        self.observed, self.stated, self.prevalence = (
            None if found[name] is None else np.array([found[name][label] for label in given.names])[back]
            for name in ("observed", "stated_for", "prevalence")
        )
        self.misleading, self.replicates = found["misleading"], found["bootstrap"]
        self._metrics = {
            name: Metric(*(number(values[part]) for part in ("value", "lo", "hi")))
            for name, values in found["metrics"].items()
            if len(self.classes) >= _METRICS[name][1]
        }
        self._curves = {}
        self._judgement = judgement
        weakref.finalize(self, _free_judgement, judgement.value)

    # ---- metrics ----------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Metric:
        return self._metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def __getattr__(self, name: str) -> Metric:
        try:
            return self.__dict__["_metrics"][name]
        except KeyError:
            raise AttributeError(f"an Evaluation has no metric {name!r}; it has {', '.join(METRICS)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._metrics]

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def to_frame(self) -> Any:
        """The metrics as a data frame with the columns value, lo, hi and what, the meaning of each."""
        return frame(
            {
                "value": [metric.value for metric in self.values()],
                "lo": [metric.lo for metric in self.values()],
                "hi": [metric.hi for metric in self.values()],
                "what": [METRICS[name] for name in self],
            },
            index=list(self),
        )

    # ---- curves -----------------------------------------------------------------------------------------------------

    def curve(
        self,
        kind: str,
        *,
        points: int = 500,
        bins: int = 10,
        level: float | None = None,
        threshold: float = 0.5,
        prevalences: Sequence[float] | None = None,
    ) -> Any:
        """A curve as a data frame.

        Parameters
        ----------
        kind : str
            "roc", "pr", "im", "calibration", "calibration_smooth", "expected", "net_benefit" or "predictive_values".
        points : int
            The largest number of thresholds; 0: every distinct one.
        bins : int
            Of "calibration".
        level : float, optional
            Of the intervals; default: that of the evaluation.
        threshold : float
            Of "predictive_values".
        prevalences : sequence of float, optional
            Of "im".
        """
        wanted = (kind, points, bins, level, threshold, None if prevalences is None else tuple(prevalences))
        if wanted not in self._curves:
            self._curves[wanted] = self._make(*wanted)
        return frame(dict(self._curves[wanted]))

    def _make(self, kind, points, bins, level, threshold, prevalences):
        if kind not in CURVES:
            raise InputError(f"there is no curve {kind!r}; choose one of {', '.join(CURVES)}", "usage")
        if self._judgement is None:
            raise InputError("an evaluation that was pickled has no curves; make them before pickling", "usage")
        level = self.level if level is None else level
        count = 0 if prevalences is None else len(prevalences)
        at = (ctypes.c_double * count)(*prevalences) if count else None
        with Context() as ctx:
            made = ctx.tree(
                "pv_judgement_curve", self._judgement, kind.encode(), points, bins, level, threshold, at, count, arrays=["values"]
            )
        return {name: made["values"][:, c] for c, name in enumerate(made["columns"])}

    def rates(self, threshold: float, *, level: float | None = None) -> dict[str, Metric]:
        """Classification rates, with intervals, if rows with a probability of at least `threshold` are called positive.

        Parameters
        ----------
        threshold : float
            Between 0 and 1.
        level : float, optional
            Of the intervals; default: that of the evaluation.

        Returns
        -------
        dict
            "tpr", "tnr", "ppv", "npv", "called" (the proportion of people called positive) and "net_benefit" to `Metric`.
        """
        if self._judgement is None:
            raise InputError("an evaluation that was pickled has no rates at a threshold; compute them before pickling", "usage")
        with Context() as ctx:
            made = ctx.tree("pv_judgement_rates", self._judgement, threshold, self.level if level is None else level)
        return {name: Metric(*(number(rate[part]) for part in ("value", "lo", "hi"))) for name, rate in made.items()}

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        target: str | None = None,
        figures: str | os.PathLike[str] | None = None,
    ) -> Report:
        """The page of `report` for this evaluation."""
        if self._judgement is None:
            raise InputError("an evaluation that was pickled cannot make a report; make it before pickling", "usage")
        return Report(self, path, title, target, figures)

    def __getstate__(self) -> dict[str, Any]:
        for kind in CURVES:
            self.curve(kind)
        state = dict(self.__dict__)
        state["_judgement"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # ---- as text ----------------------------------------------------------------------------------------------------

    def _lead(self):
        stated = self.stated[list(self.classes).index(self.positive)]
        return f"{self.rows} rows, metrics for a population where the prevalence of {self.positive!s} is {stated:.4g}"

    def __repr__(self) -> str:
        lines = [f"Evaluation: {self._lead()}"]
        if any(not math.isnan(metric.lo) for metric in self.values()):
            lines.append(f"  {'':<30}   {100 * self.level:g} % interval")
        for name, metric in self.items():
            if math.isnan(metric.value):
                continue
            interval = "" if math.isnan(metric.lo) else f"   {metric.lo:>9.4g} to {metric.hi:<9.4g}"
            lines.append(f"  {name:<20}{metric.value:>10.4g}{interval}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(name, f"{m.value:.4g}", f"{m.lo:.4g}", f"{m.hi:.4g}", METRICS[name]) for name, m in self.items() if not math.isnan(m.value)]
        return table(self._lead(), ["metric", "value", f"{100 * self.level:g} % interval from", "to", "meaning"], rows)


class Report:
    """An HTML page about predictions, as a file and for notebooks.

    Attributes
    ----------
    path : str or None
        The file that the page was written to.
    html : str
        The whole page, which is self-contained.
    evaluation : Evaluation
        The evaluation that the page shows.
    """

    def __init__(self, evaluation: Evaluation, path: Any, title: str | None, target: str | None, figures: Any) -> None:
        self.evaluation, self.path = evaluation, None if path is None else os.fspath(path)
        with tempfile.TemporaryDirectory(prefix="prevail-") as folder:
            page = self.path or os.path.join(folder, "report.html")
            options = _c.pv_report_options(
                os.fsencode(page),
                None if figures is None else os.fsencode(figures),
                encode(title or "How good are these probabilities?"),
                encode(f"{evaluation._lead()}. prevail {__version__}"),
            )
            with Context() as ctx:
                ctx.call(
                    "pv_judgement_report",
                    evaluation._judgement,
                    None if target is None else encode(target),
                    evaluation.level,
                    ctypes.byref(options),
                )
            with open(page, encoding="utf-8") as file:
                self.html = file.read()

    def _repr_html_(self) -> str:
        """In a frame of its own: its style is not the notebook's, and its script runs for it alone."""
        from html import escape

        return f'<iframe srcdoc="{escape(self.html)}" width="100%" height="640" style="border:0"></iframe>'

    def __repr__(self) -> str:
        return f"Report({self.path!r}, {len(self.html)} characters)"


def report(
    y: Rows,
    proba: Rows,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    target: str | None = None,
    figures: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Report:
    """Writes an HTML page about probabilities: a summary in three sentences, metrics with intervals, an explorer of
    prevalences and costs, and charts. A notebook displays it.

    Parameters
    ----------
    y, proba
        As for `evaluate`, which also takes the further options.
    path : path, optional
        The HTML file, which is self-contained. Default: none, for notebooks.
    title : str, optional
        The title of the page.
    target : str, optional
        The name of the outcome, such as "malignant".
    figures : path, optional
        A folder for each chart as SVG and its data as CSV.

    Returns
    -------
    Report

    Examples
    --------
    >>> import numpy as np, prevail
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(300) < 0.4
    >>> page = prevail.report(y, np.clip(0.4 + 0.3 * y + rng.normal(0, 0.1, 300), 0, 1))
    >>> "Population explorer" in page.html
    True
    """
    return evaluate(y, proba, **options).report(path, title=title, target=target, figures=figures)


def stated_text(stated_for, classes, positive):
    """The population that metrics are stated for, as the library reads it."""
    if isinstance(stated_for, str) and stated_for in ("rows", "population"):
        return stated_for
    return prevalence_text(stated_for, classes, positive, "stated_for")


def evaluate(
    y: Rows,
    proba: Rows,
    *,
    prevalence: Prevalence | None = None,
    stated_for: Prevalence | None = None,
    classes: Rows | None = None,
    positive: Label | None = None,
    pos_label: Label | None = None,
    sample_weight: Rows | None = None,
    cluster: Rows | None = None,
    level: float = 0.95,
    bootstrap: int = -1,
    seed: int = 1,
    threads: int | None = None,
) -> Evaluation:
    """Evaluates probabilities on labelled rows: metrics with intervals, and curves.

    Parameters
    ----------
    y : array-like of shape (n,)
        The labels.
    proba : array-like of shape (n,) or (n, n_classes)
        Probabilities of the positive class of two, or of every class.
    prevalence : float, mapping, sequence or str, optional
        The prevalence of the population that the probabilities are for.
    stated_for : {"rows", "population"}, float, mapping or sequence, optional
        The population that the metrics are for: the rows as they are; the one that the probabilities are for; or one
        with another prevalence. Rows are weighted by their labels. Default: "population" if `prevalence` is given,
        else "rows".
    classes : sequence, optional
        The labels of the columns of `proba`; default: those of y, sorted.
    positive : label, optional
        Of two classes, the one that rates and curves refer to. Default: the larger number, or the one with a name
        such as case, yes, true or malignant, else the last.
    pos_label : label, optional
        The same, with the name used by scikit-learn's metrics.
    sample_weight : array-like of shape (n,), optional
        Weights, as counts of identical rows.
    cluster : array-like of shape (n,), optional
        Rows with the same value (a person, a centre) were sampled together: intervals of metrics are by cluster.
        Those of curves and rates still take rows as independent.
    level : float
        The level of the intervals.
    bootstrap : int
        Bootstrap replicates for the intervals; 0: no intervals; -1: as many as time allows.
    seed, threads : int, optional
        The seed of the bootstrap; the largest number of threads.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np, prevail
    >>> y = np.array([0, 0, 0, 1, 0, 1, 1, 1])
    >>> proba = np.array([0.1, 0.3, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9])
    >>> ev = prevail.evaluate(y, proba, prevalence=0.5, stated_for=0.01)
    >>> round(ev.auc.value, 4), round(ev.ppv.value, 4)
    (0.9375, 0.0294)
    """
    positive = one_positive(positive, pos_label)
    check_order(proba, "the probabilities", y=y, sample_weight=sample_weight, cluster=cluster)
    if classes is None:
        classes = _classes_of(y, proba)
    with Context(threads) as ctx:
        given = Probabilities(ctx, proba, classes, positive, y=y, sample_weight=sample_weight)
        if given.width == 1 and is_guess(given.classes, positive):
            one, other = label_texts(given.classes)
            raise InputError(f"there is one probability per row: which label is it for, {one!r} or {other!r}? Name it with `positive`", "usage")
        if given.width > 1 and is_guess(given.classes, positive):
            ctx.warn(f"rates and curves refer to the label {label_text(given.classes[1])}, the last in alphabetical order: name the positive label with `positive`")
        settings = ctx.new("pv_judge_settings_new", free="pv_settings_free")
        if stated_for is None:
            stated_for = "rows" if prevalence is None else "population"
        asked = {
            "stated-for": stated_text(stated_for, given.classes, positive),
            "bootstrap": str(bootstrap),
            "interval": repr(float(level)),
            "seed": str(seed),
        }
        if len(given.classes) > 2 and positive is not None:
            asked["positive"] = label_text(positive)
        for name, text in asked.items():
            ctx.call("pv_settings_set", settings, name.encode(), encode(text))
        source = given.shares("prevalence", prevalence)
        said = given.predict(source, likelihood=True)
        if cluster is not None:
            given.cluster(cluster)
        probs = _c.pv_probs.from_address(given.handle.value)
        judgement = ctx.new(
            "pv_judge",
            probs.data,
            probs.labels,
            ctypes.byref(said),
            lib.pv_judge_options_of(settings),
        )
        made = Evaluation(judgement, given, level)
        if given.certain:
            ctx.warn(
                "the probabilities are all 0 or 1: are these decisions? Give the output of `predict_proba`, not `predict`"
            )
        if made.misleading:
            ctx.warn(
                "the metrics are for the rows as they are, whose label proportions are far from the prevalence: evaluate them for "
                "the population with `stated-for=population`"
            )
        return made


def _classes_of(y, proba):
    """The labels of y; where it has one only, and the probabilities are one a row, 0 and 1 if it is one of these."""
    classes, _ = classes_and_codes(y)
    named = columns_of(proba)
    if named is not None and set(label_texts(classes)) <= {label_text(name) for name in named.tolist()}:
        return named
    shape = np.shape(proba)
    shape = shape[:1] if shape[1:] == (1,) else shape
    if classes.dtype.kind == "f" and len(classes) > 2 and (classes % 1 != 0).any():
        raise InputError(
            f"y has {len(classes)} different values that are not labels ({listed(classes, 2)}): pass the labels first, "
            "then the probabilities",
            "input",
        )
    if len(classes) == 1 and (len(shape) == 1 or shape[1:] == (2,)) and label_text(classes[0]) in ("0", "1"):
        return np.array([0, 1], dtype=classes.dtype)
    if len(shape) == 2 and len(classes) != shape[1]:
        raise InputError(
            f"y has the labels {listed(label_texts(classes))}, and the probabilities have {shape[1]} columns: "
            "name the labels of the columns with classes=",
            "input",
        )
    return classes


def net_benefit(
    y: Rows,
    proba: Rows,
    thresholds: Rows | None = None,
    *,
    prevalence: Prevalence | None = None,
    stated_for: Prevalence | None = None,
    level: float = 0.95,
    **more: Any,
) -> Any:
    """The decision curve: net benefit per person, against the threshold.

    Net benefit is the rate of true positives less that of false positives times the odds of the threshold.

    Parameters
    ----------
    y, proba, prevalence, stated_for, level
        As for `evaluate`, which takes further arguments.
    thresholds : sequence of float, optional
        Default: the thresholds in the data, at most 500.

    Returns
    -------
    DataFrame
        Columns threshold, net_benefit and its interval, treat_all, treat_none.

    Examples
    --------
    >>> import prevail
    >>> curve = prevail.net_benefit([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9], [0.25, 0.5])
    >>> [round(float(value), 4) for value in curve["net_benefit"]]
    [0.4444, 0.1667]
    """
    made = evaluate(y, proba, prevalence=prevalence, stated_for=stated_for, level=level, bootstrap=0, **more)
    if thresholds is None:
        return made.curve("net_benefit")
    at = np.atleast_1d(np.asarray(thresholds, dtype=float))
    found = [made.rates(threshold)["net_benefit"] for threshold in at.tolist()]
    pi = made.stated[list(made.classes).index(made.positive)]
    return frame(
        {
            "threshold": at,
            **{name: [getattr(metric, part) for metric in found] for name, part in _NET_BENEFIT.items()},
            "treat_all": pi - (1 - pi) * at / (1 - at),
            "treat_none": np.zeros(len(at)),
        }
    )


_NET_BENEFIT = {"net_benefit": "value", "net_benefit_lo": "lo", "net_benefit_hi": "hi"}


# ---- scorers --------------------------------------------------------------------------------------------------------

_LOSSES = {"log_loss", "brier", "ece", "log_loss_upper", "holdout_nll"}  # the smaller the better


def own(estimator, name):
    """What an estimator of this package, or one at the end of pipelines and searches, says itself; None of any other. An inferred
    prevalence is that of the last prediction: predict first."""
    return getattr(fitted_last(estimator), name, None)


class Scorer:
    """A scorer of probabilities for a population, for `cross_val_score` and `GridSearchCV`.

    Parameters
    ----------
    metric : str
        A metric of `evaluate`; metrics for which lower is better are negated.
    prevalence : float, mapping, sequence or str, optional
        The prevalence of the population that the probabilities are for. Default: the estimator's own prevalence if it
        is from this package (also at the end of a pipeline); otherwise unknown.
    stated_for : optional
        As for `evaluate`; default: the population.
    positive, pos_label : label, optional
        As for `evaluate`; default: the estimator's own.

    Notes
    -----
    Scores for different populations cannot be compared. To search over `prevalence` itself, give the scorer a number
    as `stated_for`; but a prevalence should be known, not tuned.

    Examples
    --------
    >>> import prevail
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = prevail.PrevalenceClassifier(prevalence=0.01, positive=0)
    >>> scores = cross_val_score(model, X[:, :5], y, scoring=prevail.Scorer("auc"))
    >>> bool((scores > 0.9).all())
    True
    """

    def __init__(
        self,
        metric: str = "log_loss",
        prevalence: Prevalence | None = None,
        stated_for: Prevalence | None = None,
        positive: Label | None = None,
        pos_label: Label | None = None,
    ) -> None:
        if metric not in METRICS:
            raise InputError(f"there is no metric {metric!r}; choose one of {', '.join(METRICS)}", "usage")
        self.metric, self.prevalence, self.stated_for, self.positive = metric, prevalence, stated_for, one_positive(positive, pos_label)

    def __call__(self, estimator: Any, X: Rows, y: Rows, sample_weight: Rows | None = None) -> float:
        proba, positive = estimator.predict_proba(X), self.positive
        if positive is None:
            positive = own(estimator, "positive_") if len(estimator.classes_) == 2 else None
        made = evaluate(
            y,
            proba,
            prevalence=own(estimator, "prevalence_") if self.prevalence is None else self.prevalence,
            stated_for=self.stated_for,
            classes=estimator.classes_,
            positive=positive,
            sample_weight=sample_weight,
            bootstrap=0,
        )
        value = made[self.metric].value
        return -value if self.metric in _LOSSES else value

    _weighted: bool | str | None = None

    def set_score_request(self, *, sample_weight: bool | str | None = None) -> Scorer:
        """For metadata routing (scikit-learn from 1.4 on): whether to pass `sample_weight`, or its name."""
        self._weighted = sample_weight
        return self

    def get_metadata_routing(self) -> Any:
        """What metadata routing is to pass."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=type(self).__name__)
        request.score.add_request(param="sample_weight", alias=self._weighted)
        return request

    def __repr__(self) -> str:
        return f"Scorer({self.metric!r}, prevalence={self.prevalence!r}, stated_for={self.stated_for!r})"


def _with_metrics(text):
    """A docstring with the table of metrics, which the library has, before its examples."""
    width = max(map(len, METRICS)) + 2
    rule = "=" * (width - 1) + " " + "=" * max(map(len, METRICS.values()))
    rows = "\n".join(f"{name:{width}}{what}" for name, what in METRICS.items())
    at = text.index("    Examples\n")
    return text[:at] + textwrap.indent(f"Metrics\n-------\n{rule}\n{rows}\n{rule}\n\n", "    ") + text[at:]


for _documented in (evaluate, Scorer):
    if _documented.__doc__:  # python -OO has none
        _documented.__doc__ = _with_metrics(_documented.__doc__)
