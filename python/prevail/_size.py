"""How many cases and controls a study needs."""

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


class Size:
    """Cases and controls, and what they will tell; `print` shows all of it, with what is assumed.

    Attributes
    ----------
    cases, controls, rows : int
        The design.
    ratio, cost : float
        Controls per case, and what the design costs.
    binding : str or None
        The criterion that decides; None where the design was given.
    criteria : dict of str to dict
        For each criterion `wanted`, `rows`, `cases`, `controls`, and `reached` by the design.
    figures : dict
        What the design will tell: `shrinkage`, `optimism`, `slope`, `power`, and `value`, `lo`, `hi` and `error` of `auc`, `risk`,
        `ppv`, `net_benefit` and `odds_ratio`, as far as they were asked for.
    curve : list of dict
        The rows that other ratios of controls to cases need; empty where the design was given.
    assumptions : list of str
    result : dict
        Everything, as `prevail size --json` prints it.
    """

    def __init__(self, result: dict[str, Any], text: str) -> None:
        self.result, self._text = result, text
        design = result["design"]
        self.cases, self.controls, self.rows = (int(design[key]) for key in ("cases", "controls", "rows"))
        self.ratio: float = design["ratio"]
        self.cost: float = design["cost"]
        self.binding: str | None = design["binding"]
        self.criteria: dict[str, dict[str, float]] = result["criteria"]
        self.figures: dict[str, Any] = result["figures"]
        self.curve: list[dict[str, Any]] = result.get("curve", [])
        self.assumptions: list[str] = result["assumptions"]

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        keys = ("wanted", "rows", "cases", "controls", "reached")
        rows = [(name, *(number(own[key], ".4g" if key in ("wanted", "reached") else ".0f") for key in keys))
                for name, own in self.criteria.items()]  # fmt: skip
        heads = ["", "wanted", "rows", "cases", "controls", "with the design"]
        return table(f"{self.cases} cases and {self.controls} controls", heads, rows, self.result["warnings"])


def _read(ctx: Context, name: str, result: Any) -> str:
    text = ctypes.c_char_p()
    ctx.call(name, result, ctypes.byref(text))
    try:
        return text.value.decode("utf-8", "replace").rstrip("\n")
    finally:
        lib.pv_result_text_free(ctx.handle, text)


def size(
    prevalence: float | str | tuple[float, float],
    *,
    prevalence_n: float | None = None,
    margin: float | None = None,
    ratio: float | str | None = None,
    cost_case: float | None = None,
    cost_control: float | None = None,
    cases: int | None = None,
    auc: float | None = None,
    r2: float | None = None,
    parameters: int | None = None,
    pilot: Any = None,
    score: str | None = None,
    outcome: str | None = None,
    positive: Any = None,
    shrinkage: float | None = None,
    optimism: float | None = None,
    slope: float | None = None,
    auc_width: float | None = None,
    threshold: float | None = None,
    risk_width: float | None = None,
    ppv_width: float | None = None,
    benefit_width: float | None = None,
    odds_ratio: float | None = None,
    exposure: float | None = None,
    power: float | None = None,
    interval: float | None = None,
) -> Size:
    """How many cases and controls a study needs for what is wanted of it.

    Parameters
    ----------
    prevalence : float, or (low, high)
        Of cases in the target population; or an interval of 95 %.
    prevalence_n : float or None
        Size of the random sample that the prevalence was estimated from. None: it is known exactly.
    margin : float
        Wanted half-width of the prevalence's interval, 0.05 by default: how many people of the population tell it.
    ratio : float, "population" or "best"
        Controls per case; "best" (the default): the ratio of least cost.
    cost_case, cost_control : float
        Costs of a case and a control, 1 by default.
    cases : int
        The number of cases of a design that is given, with `ratio`: what it will tell.
    auc, r2 : float
        Assumed performance of the model: AUC, or Cox and Snell's R2 in the target population.
    parameters : int
        Coefficients of the model, without the intercept.
    pilot : data frame
        Instead of `auc`: scores and outcomes whose distribution is assumed.
    score, outcome, positive : str
        Columns of the pilot, and the label of cases.
    shrinkage, optimism : float
        Wanted, by the criteria of Riley et al.; 0.9 and 0.05 by default.
    slope : float
        Wanted calibration slope of a fit without a prior.
    auc_width : float
        Wanted width of the interval of the AUC.
    threshold : float
        A risk: how precise a risk of this size, the PPV and the net benefit will be.
    risk_width, ppv_width, benefit_width : float
        Wanted widths of their intervals.
    odds_ratio, exposure, power : float
        An odds ratio to be detected, the share of controls that are exposed (None: a normal exposure, and the odds ratio of a standard
        deviation), and the wanted power, 0.8 by default.
    interval : float
        Level of the intervals, 0.95 by default.

    Returns
    -------
    Size
    """
    if pilot is not None and not is_frame(pilot):
        raise InputError(f"`pilot` is a {type(pilot).__name__}; give a data frame", "usage")
    if isinstance(prevalence, tuple):
        if len(prevalence) != 2:
            raise InputError(f"`prevalence` {prevalence!r}: give a number, or a pair (lower, upper)", "usage")
        prevalence = f"{prevalence[0]}-{prevalence[1]}"
    options = {
        "prevalence": prevalence, "prevalence-n": prevalence_n, "margin": margin, "ratio": ratio, "cost-case": cost_case,
        "cost-control": cost_control, "cases": cases, "auc": auc, "r2": r2, "parameters": parameters, "score": score,
        "outcome": outcome, "positive": None if positive is None else label_text(positive), "shrinkage": shrinkage,
        "optimism": optimism, "slope": slope, "auc-width": auc_width, "threshold": threshold, "risk-width": risk_width,
        "ppv-width": ppv_width, "benefit-width": benefit_width, "odds-ratio": odds_ratio, "exposure": exposure, "power": power,
        "interval": interval,
    }  # fmt: skip
    with Context() as ctx:
        settings = ctx.new("pv_size_settings_new", free="pv_settings_free")
        for name, value in options.items():
            if value is not None:
                ctx.call("pv_settings_set", settings, name.encode(), encode(option_text(name, value)))
        result = ctx.new("pv_size_find", None if pilot is None else Table.of_frame(ctx, "pilot", pilot).handle, settings)
        try:
            return Size(json.loads(_read(ctx, "pv_result_json", result)), _read(ctx, "pv_size_text", result))
        finally:
            lib.pv_result_free(result)
