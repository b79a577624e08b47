"""The options of a fit: what they are called, their texts, and an estimator's parameters as the library's settings."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from ._c import lib
from ._context import Context
from ._errors import InputError, in_python
from ._frames import by_label, encode, label_text, positive_index
from ._labels import prevalence_text

# Parameters that are no options of a fit.
_OWN = ("threads", "verbose")
# Options of the command that are not parameters: what they name are X, y and sample_weight; and reading files.
NOT_PARAMETERS = {"target", "weights", "images", "votes", "separator", "decimal", "no-header", "names", "quote", "na"}
# Defaults that differ from the command's: scikit-learn's estimators accept columns of one value.
OTHER_DEFAULTS = {"constant": "drop"}

TARGET, WEIGHT = "y", "sample_weight"


def option_rows():
    """The library's options of a fit: name to (default, help)."""
    with Context() as ctx:
        settings = ctx.new("pv_fit_settings_new", free="pv_settings_free")
        rows = [lib.pv_settings_option(settings, i).contents for i in range(lib.pv_settings_count(settings))]
        return {row.name.decode(): (row.fallback and row.fallback.decode(), row.help.decode()) for row in rows}


def options() -> dict[str, str]:
    """What each parameter of `PrevalenceClassifier` that is an option of the command means: name to text."""
    return {
        name.replace("-", "_"): in_python(text)
        for name, (_, text) in option_rows().items()
        if name not in NOT_PARAMETERS
    }


def option_text(name, value):
    """The value of a parameter as the text of an option."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value)) if not float(value).is_integer() or abs(value) > 1e15 else str(int(value))
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ",".join(f"{_quoted(str(k))}={_quoted(str(v))}" for k, v in value.items())
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(_quoted(str(item)) for item in value)
    raise InputError(f"{name}={value!r}: give a text or a number", "usage")


def _quoted(name):
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n') else name


def settings_of(ctx, chosen, defaults, classes, files, *, weighted, sampled):
    """The library's settings of a fit with the parameters chosen: what differs from the defaults counts as given."""
    settings = ctx.new("pv_fit_settings_new", free="pv_settings_free")
    positive = chosen["positive"]
    stated = chosen["prevalence"] is not None
    stated_as = chosen["prevalence"]
    chosen = {**chosen, "prevalence": prevalence_text(stated_as, classes, positive)}
    if len(classes) == 2 and chosen["order"] is not None:  # its last label is the positive one
        order = chosen["order"].split(",") if isinstance(chosen["order"], str) else list(chosen["order"])
        chosen["prevalence"] = prevalence_text(stated_as, classes, order[-1] if order else None)
    elif len(classes) == 2:
        chosen["positive"] = label_text(classes[positive_index(classes, positive)])
    elif positive is not None:
        positive_index(classes, positive)
    by_design = stated or sampled or chosen["matched"] is not None or chosen["subcohort"]
    if chosen["loss"] == "ig" and not by_design and chosen["prevalence_by"] is None and chosen["phase_one"] is None:
        chosen["loss"] = "plain"
    for name in ("prevalence_by", "phase_one"):
        if chosen[name] is not None and hasattr(chosen[name], "to_csv"):
            chosen[name] = files.write(name, chosen[name])
    chosen["target"] = TARGET
    chosen["weights"] = WEIGHT if weighted else None
    return _set(ctx, settings, chosen, defaults)


def source_settings_of(ctx, chosen, defaults, target, weights, files):
    """The same for a table that the library reads: its labels are not known yet, and prevalences are as the command has
    them."""
    settings = ctx.new("pv_fit_settings_new", free="pv_settings_free")
    chosen = {**chosen, "target": target, "weights": weights}
    prevalence = chosen["prevalence"]
    prevalence = by_label(prevalence, getattr(prevalence, "index", ()))
    if isinstance(prevalence, (list, tuple, np.ndarray)):
        raise InputError("`prevalence`: give a number, or a mapping by label; the order of the labels is not known yet", "usage")
    if isinstance(prevalence, Mapping):
        chosen["prevalence"] = ",".join(f"{label_text(label)}={float(share)!r}" for label, share in prevalence.items())
    if chosen["positive"] is not None:
        chosen["positive"] = label_text(chosen["positive"])
    for name in ("prevalence_by", "phase_one"):
        if chosen[name] is not None and hasattr(chosen[name], "to_csv"):
            chosen[name] = files.write(name, chosen[name])
    return _set(ctx, settings, chosen, defaults)


def _set(ctx, settings, chosen, defaults):
    for name, value in chosen.items():
        if name in _OWN or value is None:
            continue
        if name in OTHER_DEFAULTS or not (isinstance(value, (str, int, float)) and value == defaults.get(name)):
            ctx.call("pv_settings_set", settings, encode(name.replace("_", "-")), encode(option_text(name, value)))
    return settings
