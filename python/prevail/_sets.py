"""Sets of labels with guaranteed coverage, and calls with a refer region."""

from __future__ import annotations

import ctypes
import json
import weakref
from collections.abc import Mapping
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from ._c import lib
from ._context import Context
from ._errors import InputError
from ._frames import encode, label_text, label_texts
from ._html import table
from ._labels import classes_and_codes, prevalence_text
from ._options import option_text
from ._population import Probabilities
from ._types import Label, Prevalence, Rows

_codes, _doubles = ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_double)
ByLabel = Union[float, Mapping[Any, float]]


class Sets:
    """A rule for sets of labels, learned from labelled rows; `print` shows its coverage.

    Attributes
    ----------
    classes_ : ndarray
        The labels, in the order of the columns.
    thresholds : dict
        For each label, the smallest probability with which a set contains it.
    result : dict
        Everything that was found, as `prevail sets --json` prints it: `labels`, `population`, `refer`, `warnings`.
    """

    def __init__(self, handle: Any, given: Probabilities, result: dict[str, Any], text: str) -> None:
        self._handle, self._text, self.result = handle, text, result
        self._end = weakref.finalize(self, lib.pv_result_free, handle)
        self.classes_, self._positive = given.classes, given.classes[given.positive] if len(given.classes) == 2 else None
        self.thresholds = {
            label: result["labels"][name]["threshold"] for label, name in zip(self.classes_.tolist(), label_texts(self.classes_))
        }

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        rows = [
            (name, f"{own['coverage']:g}", f"{own['rows']:g}", f"{own['threshold']:.4g}", f"{own['range']['lo']:.3f} to {own['range']['hi']:.3f}")
            for name, own in self.result["labels"].items()
        ]
        return table("Sets of labels", ["label", "coverage", "rows", "p at least", "with these rows"], rows, self.result["warnings"])

    def _apply(self, proba: Rows, calls: bool) -> NDArray[Any]:
        with Context() as ctx:
            given = Probabilities(ctx, proba, self.classes_, self._positive)
            k = len(self.classes_)
            p = given._p if given.width > 1 else np.column_stack([1 - given._p, given._p])
            p = np.ascontiguousarray(p)
            member, call = np.empty((given.rows, k), np.int32), np.empty(given.rows, np.int32)
            ctx.call(
                "pv_sets_apply", self._handle, given.rows, k, p.ctypes.data_as(_doubles), member.ctypes.data_as(_codes),
                call.ctypes.data_as(_codes) if calls else None,
            )  # fmt: skip
            if not calls:
                return member[:, np.argsort(given.order)].astype(bool)
            made = np.full(given.rows, None, dtype=object)
            for code in range(k):
                made[call == code] = self.classes_[given.order[code]]
            return made

    def predict(self, proba: Rows) -> NDArray[np.bool_]:
        """The set of each row: an array [rows][labels], True where the set contains the label.

        Parameters
        ----------
        proba : array-like of shape (n,) or (n, n_classes)
            Probabilities of the same model, for the same population, as those that the rule was learned from.
        """
        return self._apply(proba, False)

    def call(self, proba: Rows) -> NDArray[np.object_]:
        """The label that each row is called, None where it is referred; `sets` was given `refer`."""
        return self._apply(proba, True)


def _by_label(name: str, given: ByLabel, labels: list[str]) -> str:
    """0.9, or {"case": 0.99, "control": 0.9}."""
    if not isinstance(given, Mapping):
        return option_text(name, given)
    named = {label_text(label): float(value) for label, value in given.items()}
    for label in named:
        if label not in labels:
            raise InputError(f"`{name}`: there is no label {label!r}; the labels are {', '.join(labels)}", "usage")
    return ",".join(f"{label}={value!r}" for label, value in named.items())


def sets(
    proba: Rows,
    y: Rows,
    *,
    classes: Rows | None = None,
    positive: Label | None = None,
    coverage: ByLabel = 0.9,
    prevalence: Prevalence | None = None,
    refer: ByLabel | None = None,
    confidence: float = 0.95,
    sample_weight: Rows | None = None,
    groups: Rows | None = None,
    seed: int = 1,
) -> Sets:
    """A rule for sets of labels that cover each label, whatever the prevalence.

    Parameters
    ----------
    proba : array-like of shape (n,) or (n, n_classes)
        A classifier's probabilities of rows that it was not fitted to.
    y : array-like of shape (n,)
        Their labels, in any proportions. A coverage of 0.9 takes 9 rows of each label.
    classes : array-like or None
        The labels, in the order of the columns. None: column names of a data frame, or 0, 1, ...
    positive : label, optional
        Of two classes, the one that a single number refers to.
    coverage : float or mapping
        Of the rows of each label, the share whose set contains the label.
    prevalence : float, mapping or str
        That of the population: adds how many sets are empty, single and larger there. Two labels: also an interval, as in
        "0.005-0.02". `refer` needs it.
    refer : float or mapping
        Two labels: the largest share of wrong ones among the rows that are called each label, at the worst prevalence of its
        interval. Other rows are referred. 0: never call that label.
    confidence : float
        Probability that the errors of `refer` are kept.
    sample_weight : array-like of shape (n,), optional
        Counts.
    groups : array-like of shape (n,), optional
        The unit of each row, such as a person with several rows: one row of each unit and label is used, chosen by `seed`.
    seed : int
        For `groups`.

    Returns
    -------
    Sets

    Examples
    --------
    >>> import numpy as np, prevail
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [300, 100])
    >>> p = 1 / (1 + np.exp(-rng.normal(4.0 * y - 2, 1.5)))
    >>> found = prevail.sets(p, y, coverage={0: 0.9, 1: 0.95})
    >>> found.predict([0.01, 0.47, 0.99]).astype(int)
    array([[1, 0],
           [1, 1],
           [0, 1]])
    """
    with Context() as ctx:
        given = Probabilities(ctx, proba, classes, positive, y, sample_weight)
        labels = label_texts(given.classes)
        options = {
            "coverage": _by_label("coverage", coverage, labels),
            "refer": None if refer is None else _by_label("refer", refer, labels),
            "prevalence": prevalence_text(prevalence, given.classes, positive),
            "confidence": option_text("confidence", confidence),
            "seed": option_text("seed", seed),
        }
        settings = ctx.new("pv_sets_settings_new", free="pv_settings_free")
        for name, value in options.items():
            if value is not None:
                ctx.call("pv_settings_set", settings, name.encode(), encode(value))
        unit = None
        if groups is not None:
            if len(groups) != given.rows:
                raise InputError(f"groups has {len(groups)} rows, the probabilities have {given.rows}", "input")
            unit = np.ascontiguousarray(classes_and_codes(groups)[1], dtype=np.int32)
        rule = ctx.new("pv_sets_calibrate", given.handle, None if unit is None else unit.ctypes.data_as(_codes), settings)
        try:
            return Sets(rule, given, *_parts(ctx, rule))
        except BaseException:
            lib.pv_result_free(rule)
            raise


def _parts(ctx: Context, rule: Any) -> tuple[dict[str, Any], str]:
    made = []
    for name in ("pv_result_json", "pv_sets_text"):
        text = ctypes.c_char_p()
        ctx.call(name, rule, ctypes.byref(text))
        made.append(text.value.decode("utf-8", "replace").rstrip("\n"))
        lib.pv_result_text_free(ctx.handle, text)
    return json.loads(made[0]), made[1]
