"""A classifier of the library, held by Python."""

import ctypes
import os
import weakref

import numpy as np

from . import _c
from ._c import lib
from ._context import Context, brief
from ._frames import encode


def _free(pointer):
    with brief() as ctx:
        lib.pv_classifier_free(ctx, pointer)


def _fact(name):
    fact = ctypes.c_int()
    if not lib.pv_classifier_fact_find(name.encode(), ctypes.byref(fact)):
        raise AttributeError(name)
    return fact


def array(pointer, *shape):
    """A copy of doubles of the library's; None for a null pointer."""
    return np.ctypeslib.as_array(pointer, shape).copy() if pointer else None


class Model:
    """What a fit has found. It is pickled and copied by the bytes of a model file."""

    def __init__(self, handle):
        self.handle = handle
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

    @classmethod
    def load(cls, path):
        with Context() as ctx:
            return cls(ctx.new("pv_classifier_load", os.fsencode(path)))

    # ---- what is in it ----------------------------------------------------------------------------------------------

    def text(self, name):
        value = lib.pv_classifier_text(self.handle, _fact(name))
        return None if value is None else value.decode("utf-8", "replace")

    def number(self, name):
        return lib.pv_classifier_number(self.handle, _fact(name))

    @property
    def labels(self):
        return [
            lib.pv_classifier_label(self.handle, i).decode() for i in range(lib.pv_classifier_classes(self.handle))
        ]

    @property
    def features(self):
        """The names of the columns of the encoded matrix; empty for images."""
        names = [
            lib.pv_classifier_feature(self.handle, i) for i in range(lib.pv_classifier_features(self.handle))
        ]
        return [name.decode() for name in names if name is not None]

    @property
    def references(self):
        """The reference level of each category among the features."""
        found, column = {}, ctypes.c_char_p()
        while (level := lib.pv_classifier_reference(self.handle, len(found), ctypes.byref(column))) is not None:
            found[column.value.decode()] = level.decode()
        return found

    @property
    def strata(self):
        """Of each column that defines the strata whether it is a feature as well."""
        found, feature = {}, ctypes.c_bool()
        while (name := lib.pv_classifier_stratum_column(self.handle, len(found), ctypes.byref(feature))) is not None:
            found[name.decode()] = feature.value
        return found

    @property
    def estimate(self):
        """(the estimate in use or None, the p-value of Hausman's test)."""
        p_value = ctypes.c_double()
        name = lib.pv_classifier_estimate(self.handle, ctypes.byref(p_value))
        return None if name is None else name.decode(), p_value.value

    @property
    def candidates(self):
        """Of `model` "auto": (name, weight, gain, standard error) of each, the mixture last."""
        found, values = [], [ctypes.c_double() for _ in range(3)]
        while (name := lib.pv_classifier_candidate(self.handle, len(found), *map(ctypes.byref, values))) is not None:
            found.append((name.decode(), *(value.value for value in values)))
        return found

    @property
    def offset(self):
        """The column that is added to the log odds as it stands; None: there is none."""
        name = lib.pv_classifier_offset(self.handle)
        return None if name is None else name.decode()

    def shares(self, name):
        """The prevalence or the design, in the order of the labels; None where there is none."""
        return array(getattr(lib, f"pv_classifier_{name}")(self.handle), len(self.labels))

    @property
    def ordinal(self):
        return self.text("model").startswith("ordinal")

    @property
    def relative(self):
        """Matched sets without a prevalence: odds ratios and no intercept."""
        return self.text("loss") == "matched" and self.shares("prevalence") is None

    def _coefficient_shape(self):
        """Linear: a row for each label but the first, the intercept first; ordinal: thresholds, then slopes."""
        labels, features = len(self.labels), len(self.features)
        return (1, labels - 1 + features) if self.ordinal else (labels - 1, 1 + features)

    def coefficients(self):
        """On the scale of the table, intercepts first; of a posterior the means, as the summary has them."""
        if self.text("posterior") is not None:
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
        with Context() as ctx:
            made = ctx.new(
                "pv_classifier_summary", self.handle, level, kind=ctypes.POINTER(_c.pv_summary), free="pv_summary_free"
            ).contents
            rows = []
            for i in range(made.equations * made.terms):
                c = made.coefficient[i]
                rows.append(
                    {
                        "label": c.label.decode(),
                        "term": c.name.decode(),
                        "coefficient": c.value.mean,
                        "sd": c.value.sd,
                        "lo": c.value.lo,
                        "hi": c.value.hi,
                        "odds_ratio": c.odds_ratio,
                        "odds_ratio_lo": c.odds_ratio_lo,
                        "odds_ratio_hi": c.odds_ratio_hi,
                        "z": c.z,
                        "p_value": c.p_value,
                        "df": c.df,
                        "weighting": c.weighting,
                        "linear": (c.linear.mean, c.linear.sd, c.linear.lo, c.linear.hi),
                    }
                )
            marginal = [
                {"mean": s.mean, "sd": s.sd, "lo": s.lo, "hi": s.hi} for s in made.marginal[: made.classes]
            ]
            return rows, marginal

    def checks(self, ctx):
        """The findings of a diagnosis, one mapping each."""
        made = ctx.new(
            "pv_diagnose", self.handle, None, kind=ctypes.POINTER(_c.pv_diagnosis), free="pv_diagnosis_free"
        ).contents
        found = []
        for check in made.check[: made.count]:
            found.append(
                {
                    "check": check.name.decode(),
                    "ok": bool(check.ok),
                    "value": check.value,
                    "text": check.text.decode("utf-8", "replace"),
                    "remedy": check.remedy.decode("utf-8", "replace"),
                    "warning": check.warning.decode("utf-8", "replace"),
                }
            )
        return found
