"""A classifier of the library, held by Python."""

import ctypes
import math
import os
import weakref

import numpy as np

from ._c import lib
from ._context import Context, brief
from ._frames import encode


def _free(pointer):
    with brief() as ctx:
        lib.pv_classifier_free(ctx, pointer)


def array(pointer, *shape):
    """A copy of doubles of the library's; None for a null pointer."""
    return np.ctypeslib.as_array(pointer, shape).copy() if pointer else None


def number(value):
    """A number in a result tree; NaN if it is undefined."""
    return math.nan if value is None else value


def _row(label, term, entry):
    """A coefficient of the tree."""
    linear = entry.get("if_linear", {})
    numbers = {
        "coefficient": "value",
        "sd": "sd" if "sd" in entry else "se",
        "lo": "lo",
        "hi": "hi",
        "odds_ratio": "odds_ratio",
        "odds_ratio_lo": "odds_ratio_lo",
        "odds_ratio_hi": "odds_ratio_hi",
        "z": "z",
        "p_value": "p",
    }
    row = {"label": label, "term": term, **{name: number(entry.get(key)) for name, key in numbers.items()}}
    for name, log_odds in (("odds_ratio", "coefficient"), ("odds_ratio_lo", "lo"), ("odds_ratio_hi", "hi")):
        if name in entry and entry[name] is None and row[log_odds] > 0:
            row[name] = math.inf
    row["df"] = entry.get("df", math.inf if "se" in entry else math.nan)
    row["weighting"] = number(entry.get("weighting"))
    row["linear"] = tuple(number(linear.get(key)) for key in ("value", "se", "lo", "hi"))
    return row


class Model:
    """The results of a fit. They are pickled and copied as the bytes of a model file."""

    def __init__(self, handle):
        self.handle = handle
        self._trees = {}
        weakref.finalize(self, _free, handle.value)

    # ---- bytes ------------------------------------------------------------------------------------------------------

    def to_bytes(self):
        data, size = ctypes.POINTER(ctypes.c_ubyte)(), ctypes.c_size_t()
        with Context() as ctx:
            ctx.call("pv_classifier_to_bytes", self.handle, ctypes.byref(data), ctypes.byref(size))
            ctx.later("pv_bytes_free", data)
            return ctypes.string_at(data, size.value)

    @classmethod
    def from_bytes(cls, data):
        buffer = (ctypes.c_ubyte * len(data)).from_buffer_copy(data)
        with Context() as ctx:
            return cls(ctx.new("pv_classifier_from_bytes", b"the model", buffer, len(data)))

    def __reduce__(self):
        return Model.from_bytes, (self.to_bytes(),)

    def __copy__(self):
        return self  # nothing changes a model

    def __deepcopy__(self, memo):
        return self

    def save(self, path):
        with Context() as ctx:
            ctx.call("pv_classifier_save", self.handle, os.fsencode(path))

    def export(self, path, options):
        """The model for other programs, and what was written as a mapping."""
        with Context() as ctx:
            settings = ctx.new("pv_export_settings_new", free="pv_settings_free")
            for name, text in options.items():
                if text is not None:
                    ctx.call("pv_settings_set", settings, name.encode(), encode(text))
            return ctx.tree("pv_export", self.handle, settings, os.fsencode(path))

    def methods(self):
        """A methods paragraph and the items of TRIPOD+AI, as a mapping."""
        with Context() as ctx:
            return ctx.tree("pv_methods", self.handle, None)

    @classmethod
    def load(cls, path):
        with Context() as ctx:
            return cls(ctx.new("pv_classifier_load", os.fsencode(path)))

    # ---- contents ----------------------------------------------------------------------------------------------------

    def tree(self, level=0.95):
        """The model's description, as `prevail summary --json` prints it; level: of the intervals."""
        if level not in self._trees:
            with Context(looks=False) as ctx:
                self._trees[level] = ctx.tree("pv_classifier_result", self.handle, level)
        return self._trees[level]

    @property
    def labels(self):
        return self.tree()["classes"]

    @property
    def features(self):
        """The names of the columns of the encoded matrix; empty for images."""
        return self.tree()["features"]

    @property
    def columns(self):
        """The names of the columns that a table must have."""
        return [column["name"] for column in self.tree()["columns"]]

    @property
    def references(self):
        """The reference level of each category among the features."""
        return self.tree()["references"]

    @property
    def strata(self):
        """Of each column that defines the strata whether it is a feature as well."""
        return {column["name"]: column["feature"] for column in self.tree().get("strata_columns", [])}

    @property
    def estimate(self):
        """(the estimate in use or None, the p-value of Hausman's test)."""
        found = self.tree()["weighting"] or {}
        return found.get("use"), number(found.get("p_value"))

    @property
    def candidates(self):
        """Of `model` "auto": (name, weight, gain, standard error) of each, the mixture last."""
        found = self.tree().get("stacked")
        if found is None:
            return []
        rows = [*found["candidates"], {"name": "the mixture", "weight": 1.0, "gain": found["gain"], "se": found["se"]}]
        return [(row["name"], *(number(row[key]) for key in ("weight", "gain", "se"))) for row in rows]

    @property
    def offset(self):
        """The column that is added to the log odds with a coefficient of 1, or None."""
        return self.tree().get("offset")

    def shares(self, name):
        """The prevalence or the design, in the order of the labels; None where there is none."""
        found = self.tree()[name]
        return None if found is None else np.array([found[label] for label in self.labels])

    @property
    def ordinal(self):
        return self.tree()["model"].startswith("ordinal")

    @property
    def relative(self):
        """Matched sets without a prevalence: odds ratios and no intercept."""
        return self.tree()["loss_kind"] == "matched" and self.shares("prevalence") is None

    def _coefficient_shape(self):
        """Linear: a row for each label but the first, the intercept first; ordinal: thresholds, then slopes."""
        labels, features = len(self.labels), len(self.features)
        return (1, labels - 1 + features) if self.ordinal else (labels - 1, 1 + features)

    def coefficients(self):
        """On the scale of the table, intercepts first; of a posterior the means, as the summary has them."""
        if "posterior" in self.tree():
            return np.array([row["coefficient"] for row in self.summary(0.9)[0]]).reshape(self._coefficient_shape())
        made = np.empty(self._coefficient_shape())
        with Context() as ctx:
            ctx.call("pv_classifier_coefficients", self.handle, made.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))
        return made

    def draws(self):
        """The same of each draw of the posterior; None where there is none."""
        count = ctypes.c_size_t()
        if not lib.pv_classifier_draws(self.handle, ctypes.byref(count)):
            return None
        made = np.empty((count.value, *self._coefficient_shape()))
        with Context() as ctx:
            for i in range(count.value):
                ctx.call(
                    "pv_classifier_draw_coefficients",
                    self.handle,
                    i,
                    made[i].ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
                )
        return made

    def summary(self, level):
        """(coefficients, marginal): rows of names and numbers."""
        tree, labels = self.tree(level), self.labels
        found = tree.get("coefficients", {})
        if len(labels) == 2 or self.ordinal:
            found = {"higher" if self.ordinal else labels[1]: found}
        rows = [_row(label, term, entry) for label, terms in found.items() for term, entry in terms.items()]
        spreads = tree.get("marginal_interval", {})
        marginal = [
            {"mean": number(mean), **{name: number(spreads.get(label, {}).get(name)) for name in ("sd", "lo", "hi")}}
            for label, mean in tree["marginal"].items()
        ]
        return rows, marginal

    def checks(self, ctx):
        """The findings of a diagnosis, one mapping each."""
        made = ctx.new("pv_diagnose", self.handle, None, free="pv_diagnosis_free")
        found = ctx.tree("pv_diagnosis_result", made)["checks"]
        return [
            {
                "check": check["name"],
                "ok": check["ok"],
                "value": number(check["value"]),
                **{name: check[name] or "" for name in ("text", "remedy", "warning")},
            }
            for check in found
        ]
