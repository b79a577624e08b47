"""How much an exposure changes the risk in the population."""

from __future__ import annotations

import copy
import ctypes
import json
from collections.abc import Mapping
from typing import Any

from ._c import lib
from ._compat import check_order, check_weights, checked_labels
from ._context import Context
from ._errors import InputError
from ._frames import encode, label_text
from ._html import number, table
from ._labels import classes_and_codes
from ._options import WEIGHT, option_text
from ._training import check_classes, table_of


class Effect:
    """Risks of the population with everyone at one value of the exposure or another; `print` shows all of it.

    Attributes
    ----------
    effects : list of dict
        For everyone and each value of the exposure, then for each group: `group`, `to`, `share`, `risk`, `risk_from`, `risk_to`,
        `difference`, `ratio`, `odds_ratio` and `attributable`, each with `value`, `lo`, `hi`, `se`, `df` and `linear`, the same if the linear
        model is right; `number_needed`.
    result : dict
        Everything that was found, as `prevail effect --json` prints it.
    """

    def __init__(self, result: dict[str, Any], text: str) -> None:
        self.result, self._text = result, text
        self.effects: list[dict[str, Any]] = result["effects"]

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        names = {"risk_to": "risk", "risk_from": "risk without", "difference": "risk difference", "ratio": "risk ratio"}
        rows = []
        for effect in self.effects:
            where = effect["to"] if effect["group"] is None else f"{effect['to']}, {self.result['by']} = {effect['group']}"
            for key, name in names.items():
                rows.append((where, name, *(number(effect[key][part], ".4f") for part in ("value", "lo", "hi"))))
        heads = ["", "", "value", f"{100 * self.result['interval']:g} % interval from", "to"]
        return table(f"Effect of {self.result['exposure']}", heads, rows, self.result["warnings"])


def _text(ctx: Context, function: str, result: Any) -> str:
    text = ctypes.c_char_p()
    ctx.call(function, result, ctypes.byref(text))
    try:
        return text.value.decode("utf-8", "replace").rstrip("\n")
    finally:
        lib.pv_result_text_free(ctx.handle, text)


def _at(columns: Mapping[str, Any] | None) -> str | None:
    """{"age": 50} as age=50."""
    if columns is None:
        return None
    if not isinstance(columns, Mapping):
        raise InputError(f"`at` is a {type(columns).__name__}; give a mapping of columns to values", "usage")
    words = [f"{name}={label_text(value)}" for name, value in columns.items()]
    return ",".join('"' + word.replace('"', '""') + '"' for word in words)


def estimate(of: Any, X: Any, y: Any, sample_weight: Any, options: dict[str, Any]) -> Effect:
    """The effect with the parameters of a classifier, which stays as it is."""
    of = copy.copy(of)
    check_order(X, y=y, sample_weight=sample_weight)
    rows, names, X = of._checked(X, reset=True)
    y = checked_labels(y, rows, type(of).__name__)
    weights = check_weights(sample_weight, rows)
    classes, codes = classes_and_codes(y)
    check_classes(classes, codes, weights)
    options["at"] = _at(options["at"])
    with Context(of.threads, of.verbose) as ctx:
        data = table_of(ctx, "X", X, names)
        of._add_labels(data, codes, classes)
        if weights is not None:
            data.add_numbers(WEIGHT, weights)
        settings = of._settings(ctx, classes, weighted=weights is not None, made_by="pv_effect_settings_new")
        for name, value in options.items():
            if value is not None:
                text = label_text(value) if name in ("from", "to") else option_text(name, value)
                ctx.call("pv_settings_set", settings, name.encode(), encode(text))
        result = ctx.new("pv_effect_estimate", data.handle, settings)
        try:
            return Effect(json.loads(_text(ctx, "pv_result_json", result)), _text(ctx, "pv_effect_text", result))
        finally:
            lib.pv_result_free(result)
