"""How common labels are, by an imperfect classifier, test or judge."""

from __future__ import annotations

import ctypes
import json
from typing import Any

from ._c import lib
from ._context import Context
from ._errors import InputError
from ._frames import Table, encode, is_frame, label_text
from ._html import number, table
from ._options import option_text


class Rate:
    """The proportion of each label in a sample; `print` shows all results.

    Attributes
    ----------
    value, lo, hi : float
        The rate of the label of interest and its interval.
    positive : str
        The label of interest.
    rates : dict of str to dict
        For each label `value`, `lo` and `hi`.
    result : dict
        Everything that was found, as `prevail rate --json` prints it: `apparent`, `verdict_given_label`,
        `label_given_verdict`, `sensitivity`, `specificity`, `strata`, `width`, `compare`, `warnings`.
    """

    def __init__(self, result: dict[str, Any], text: str) -> None:
        self.result, self._text = result, text
        self.positive: str = result["positive"]
        self.rates: dict[str, dict[str, float]] = result["rate"]
        own = self.rates[self.positive]
        self.value, self.lo, self.hi = own["value"], own["lo"], own["hi"]

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        rows = [(label, *(number(rate[key], ".4f") for key in ("value", "lo", "hi"))) for label, rate in self.rates.items()]
        heads = ["", "rate", f"{100 * self.result['interval']:g} % interval from", "to"]
        return table("Rates", heads, rows, self.result["warnings"])


def _json(ctx: Context, result: Any) -> dict[str, Any]:
    text = ctypes.c_char_p()
    ctx.call("pv_result_json", result, ctypes.byref(text))
    try:
        return json.loads(text.value)
    finally:
        lib.pv_result_text_free(ctx.handle, text)


def _text(ctx: Context, result: Any) -> str:
    text = ctypes.c_char_p()
    ctx.call("pv_rate_text", result, ctypes.byref(text))
    try:
        return text.value.decode("utf-8", "replace").rstrip("\n")
    finally:
        lib.pv_result_text_free(ctx.handle, text)


def _stated(accuracy: float | str | tuple[int, int] | None) -> str | None:
    """(45, 50) as 45/50."""
    if isinstance(accuracy, tuple):
        if len(accuracy) != 2:
            raise InputError(f"{accuracy!r}: give a probability, or a pair (correct verdicts, all verdicts)", "usage")
        return f"{accuracy[0]}/{accuracy[1]}"
    return None if accuracy is None else str(accuracy)


def rate(
    sample: Any,
    gold: Any = None,
    *,
    verdict: str | None = None,
    outcome: str | None = None,
    gold_by: str | None = None,
    score: str | None = None,
    cuts: Any = None,
    compare: str | None = None,
    positive: Any = None,
    sensitivity: float | str | tuple[int, int] | None = None,
    specificity: float | str | tuple[int, int] | None = None,
    weights: str | None = None,
    weights_are: str | None = None,
    strata: str | None = None,
    cluster: str | None = None,
    interval: float = 0.95,
    width: float | None = None,
    seed: int = 1,
) -> Rate:
    """Estimates how common labels are in a sample with imperfect verdicts, using gold rows with true labels.

    Parameters
    ----------
    sample : data frame
        A row for each case, with its verdict.
    gold : data frame or None
        Gold rows, with verdicts and outcomes. None: the rows of the sample that have an outcome.
    verdict, outcome : str
        The columns of verdicts and of true labels.
    gold_by : {"label", "verdict", "random"}
        How the gold rows were drawn: a chosen number of each true label, a chosen number of each verdict, or at random
        from the sample. There is no default, because the answer depends on it.
    score, cuts : str, list of float
        Instead of verdicts: a column of scores, and the edges of its bins.
    compare : str
        A second column of verdicts on the same rows.
    positive : label
        The label of interest.
    sensitivity, specificity : float, or (right, all)
        Instead of gold rows: known probabilities, or the counts (correct, all) of a validation study.
    weights, weights_are, strata, cluster : str
        Columns of counts or sampling weights, of strata and of clusters.
    interval : float
        The level of the intervals.
    width : float or None
        The desired width of the interval: `width` then tells how many more gold rows it takes.
    seed : int
        The seed of the bootstrap that calibrates the intervals.

    Returns
    -------
    Rate
    """
    for name, given in (("sample", sample), ("gold", gold)):
        if not is_frame(given) and not (name == "gold" and given is None):
            raise InputError(f"`{name}` is a {type(given).__name__}; give a data frame", "usage")
    options = {
        "verdict": verdict, "outcome": outcome, "gold-by": gold_by, "score": score, "cuts": cuts, "compare": compare,
        "positive": None if positive is None else label_text(positive), "sensitivity": _stated(sensitivity),
        "specificity": _stated(specificity), "weights": weights, "weights-are": weights_are, "strata": strata, "cluster": cluster,
        "interval": interval, "width": width, "seed": seed,
    }  # fmt: skip
    with Context() as ctx:
        settings = ctx.new("pv_rate_settings_new", free="pv_settings_free")
        for name, value in options.items():
            if value is not None:
                ctx.call("pv_settings_set", settings, name.encode(), encode(option_text(name, value)))
        tables = [Table.of_frame(ctx, "sample", sample).handle, gold if gold is None else Table.of_frame(ctx, "gold", gold).handle]
        result = ctx.new("pv_rate_estimate", *tables, settings)
        try:
            return Rate(_json(ctx, result), _text(ctx, result))
        finally:
            lib.pv_result_free(result)
