"""The options of a fit: names, help texts, and an estimator's parameters converted to the library's settings."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from ._c import lib
from ._context import Context
from ._errors import InputError, in_python
from ._frames import Table, by_label, encode, frame_names, is_frame, label_text, positive_index, renamed
from ._labels import prevalence_text

# Parameters that are not fit options.
_OWN = ("threads", "verbose")
# Options of the command that are not parameters, since X, y and sample_weight replace them or they concern files.
NOT_PARAMETERS = {"outcome", "weights", "images", "votes", "separator", "decimal", "no-header", "names", "quote", "na"}

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
    if isinstance(value, (list, tuple, np.ndarray)):  # terms have commas of their own, and quotes around columns' names
        return ",".join(str(item) if name == "terms" else _quoted(str(item)) for item in value)
    raise InputError(f"{name}={value!r}: give a text or a number", "usage")


def _quoted(name):
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n') else name


def settings_of(ctx, chosen, defaults, classes, *, weighted, outcome=None, made_by="pv_fit_settings_new"):
    """The library's settings of a fit with the parameters chosen: what differs from the defaults counts as given."""
    settings = ctx.new(made_by, free="pv_settings_free")
    positive = chosen["positive"]
    stated_as = chosen["prevalence"]
    chosen = {**chosen, "prevalence": prevalence_text(stated_as, classes, positive)}
    if len(classes) == 2 and chosen["order"] is not None:  # its last label is the positive one
        order = chosen["order"].split(",") if isinstance(chosen["order"], str) else list(chosen["order"])
        chosen["prevalence"] = prevalence_text(stated_as, classes, order[-1] if order else None)
    elif len(classes) == 2:
        chosen["positive"] = label_text(classes[positive_index(classes, positive)])
    elif positive is not None:
        positive_index(classes, positive)
    _take_population(ctx, settings, chosen, TARGET, outcome)
    chosen["outcome"] = TARGET
    chosen["weights"] = WEIGHT if weighted else None
    return _set(ctx, settings, chosen, defaults)


def source_settings_of(ctx, chosen, defaults, target, weights):
    """The same for a table that the library reads: its labels are not known yet, and prevalences are as the command has
    them."""
    settings = ctx.new("pv_fit_settings_new", free="pv_settings_free")
    chosen = {**chosen, "outcome": target, "weights": weights}
    prevalence = chosen["prevalence"]
    prevalence = by_label(prevalence, getattr(prevalence, "index", ()))
    if isinstance(prevalence, (list, tuple, np.ndarray)):
        raise InputError("`prevalence`: give a number, or a mapping by label; the order of the labels is not known yet", "usage")
    if isinstance(prevalence, Mapping):
        chosen["prevalence"] = ",".join(f"{label_text(label)}={float(share)!r}" for label, share in prevalence.items())
    if chosen["positive"] is not None:
        chosen["positive"] = label_text(chosen["positive"])
    _take_population(ctx, settings, chosen, target)
    return _set(ctx, settings, chosen, defaults)


def _take_population(ctx, settings, chosen, target, outcome=None):
    """Data frames of strata and counts go to the library as tables; outcome: what the column of the labels may be named as well."""
    for name in ("prevalence_by", "phase_one"):
        given = chosen[name]
        if hasattr(given, "reset_index") and not hasattr(given, "columns"):  # counts by groupby or value_counts
            given = given.rename("count").reset_index()
        if isinstance(given, (Mapping, list, tuple, np.ndarray)):
            raise InputError(f"`{name}`: give a data frame, or the path of a CSV file, with a column for each of the strata", "usage")
        if not is_frame(given):
            continue
        names = [str(column) for column in frame_names(given)]
        if target not in names and outcome is not None:
            given = renamed(given, [target if column == str(outcome) else column for column in names])
        lib.pv_fit_settings_set_known(settings, Table.of_frame(ctx, name, given).handle)
        chosen[name] = name


def _set(ctx, settings, chosen, defaults):
    for name, value in chosen.items():
        if name in _OWN or value is None:
            continue
        if not (isinstance(value, (str, int, float)) and value == defaults.get(name)):
            ctx.call("pv_settings_set", settings, encode(name.replace("_", "-")), encode(option_text(name, value)))
    return settings
