"""Probabilities in another population: adjust, infer_prevalence, decide."""

from __future__ import annotations

import ctypes
import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _c
from ._c import lib
from ._context import Context, _outside
from ._errors import InputError, PrevailWarning
from ._frames import by_label, encode, is_guess, label_text, label_texts, listed, positive_index, texts
from ._html import table
from ._labels import classes_and_codes, is_missing, missing_prevalence, prevalence_text, shares
from ._model import array
from ._types import Costs, Doubles, Label, Prevalence, PrevalenceByStratum, Rows

_doubles = ctypes.POINTER(ctypes.c_double)
_codes = ctypes.POINTER(ctypes.c_int32)


class InferredPrevalence:
    """The prevalence of each class among rows without labels, as inferred from them.

    Attributes
    ----------
    classes : ndarray
        The labels.
    value, lo, hi, sd : ndarray of shape (n_classes,)
        The prevalence of each class, its interval and standard deviation. NaN if the method has none.
    level : float
        The level of the interval.
    prevalence, interval : float, (float, float)
        The same for the positive class of two.
    weak : bool
        The rows hardly determine it: they carry less information than ten labelled rows.
    swayed : bool
        The value depends noticeably on the prior.
    """

    def __init__(self, found: Any, classes: Any, positive: int, order: Any) -> None:
        at = np.argsort(order)  # the library's order to that of the classes
        self.classes = np.asarray(classes)
        self.positive = self.classes[positive]
        for name in ("value", "lo", "hi", "sd"):
            setattr(self, name, array(getattr(found, name), found.classes)[at])
        self.level, self.weak, self.swayed = found.level, bool(found.weak), bool(found.swayed)
        self.worth, self.movement = found.worth, found.movement
        self._at = positive

    def warn_if_weak(self) -> None:
        if not self.weak:
            return
        found = ""
        if len(self.value) == 2:
            lo, hi = self.interval
            found = f" ({self.prevalence:.2g}, {100 * self.level:g} % interval {lo:.2g} to {hi:.2g})"
        warnings.warn(
            f"The rows hardly determine their prevalence{found}: they carry less information than ten labelled ones. State the prevalence "
            "if it is known.",
            PrevailWarning,
            stacklevel=_outside(),
        )

    @property
    def prevalence(self) -> float:
        return float(self.value[self._at])

    @property
    def interval(self) -> tuple[float, float]:
        return float(self.lo[self._at]), float(self.hi[self._at])

    def _repr_html_(self) -> str:
        rows = [(label, *(f"{x:.4g}" for x in cells)) for label, *cells in zip(self.classes, self.value, self.lo, self.hi, self.sd)]
        notes = ["The rows hardly determine their prevalence: they carry less information than ten labelled rows."] if self.weak else []
        heads = ["", "prevalence", f"{100 * self.level:g} % interval from", "to", "sd"]
        return table("Inferred prevalence", heads, rows, notes)

    def __repr__(self) -> str:
        lo, hi = self.interval
        weak = "; the rows hardly determine it" if self.weak else ""
        interval = f"{100 * self.level:g} % interval {lo:.4g} to {hi:.4g}"
        if np.isnan(lo):
            interval = "no interval: this method gives an estimate only; method='exact' has an interval"
        return f"InferredPrevalence({self.positive!s}: {self.prevalence:.4g}, {interval}{weak})"


def columns_of(proba):
    """The names of a data frame's columns, which are the labels, as `set_output` has them; None of anything else."""
    columns = getattr(proba, "columns", None)
    return None if columns is None or len(columns) < 2 else np.asarray(list(columns))


def check_columns(proba, classes):
    """Rejects a data frame whose columns are the classes in another order, which is ambiguous."""
    named = columns_of(proba)
    if named is None:
        return
    names, labels = [label_text(name) for name in named.tolist()], label_texts(classes)
    if names != labels and sorted(names) == sorted(labels):
        raise InputError(
            f"the columns of the probabilities are {listed(names)}, and the classes are {listed(labels)}: put the columns in this order, or leave "
            "`classes` out",
            "input",
        )


def _has_parts(value):
    """Whether it cannot be the share of one label."""
    return isinstance(value, Mapping) or np.ndim(value) > 0


def _nested(strata, classes):
    """The form of prevalences by stratum and label, for messages."""
    by_label = ", ".join(f"{label!r}: ..." for label in classes.tolist()[:3])
    return ", ".join(f"{stratum!r}: {{{by_label}}}" for stratum in strata.tolist()[:2])


class Probabilities:
    """Another model's probabilities in a context: columns in the library's order, the positive class last of two."""

    def __init__(self, ctx, proba, classes=None, positive=None, y=None, sample_weight=None):
        if classes is None:
            classes = columns_of(proba)
        else:
            check_columns(proba, classes)
        proba = np.asarray(proba)
        self.shape = proba.shape
        if proba.ndim == 2 and proba.shape[1] == 1:
            proba = proba[:, 0]
        if proba.dtype.kind not in "biuf" or proba.ndim not in (1, 2) or proba.size == 0:
            raise InputError(
                f"probabilities are numbers, one per row or one for each class, not {proba.dtype} of shape {proba.shape}"
                + ("; give the output of `predict_proba`, not `predict`" if proba.dtype.kind in "OUS" else ""),
                "input",
            )
        width = 1 if proba.ndim == 1 else proba.shape[1]
        if np.isnan(proba.sum()):  # one pass, and none that makes an array
            absent = np.isnan(proba).reshape(len(proba), -1).any(axis=1)
            if absent.any():
                raise InputError(f"Input contains NaN: the first is in row {int(absent.argmax())}", "input")
        if classes is None:
            classes = np.arange(2 if width == 1 else width)
        self.ctx, self.classes, self.width = ctx, np.asarray(classes), width
        count = len(self.classes)
        if width not in (1, count) or (width == 1 and count != 2):
            raise InputError(
                f"the probabilities have {width} column{'s'[: width > 1]}, and there are {count} classes: "
                f"{listed(label_texts(self.classes))}",
                "input",
            )
        self.positive = positive_index(self.classes, positive)
        self._named = positive
        if width == 1 and self._named is None and y is None:  # a number is then of the class that the column is of
            self._named = self.classes[self.positive]
        self.order = np.arange(count)
        if count == 2 and self.positive == 0:
            self.order = np.array([1, 0])
        self.names = [label_texts(self.classes)[i] for i in self.order]
        self.labels = texts(self.names)
        if width > 1 and (self.order != np.arange(count)).any():
            proba = proba[:, self.order]
        self._p = np.ascontiguousarray(proba, dtype=np.float64)
        self.rows = len(self._p)
        self.certain = self.rows > 1 and all(((part == 0) | (part == 1)).all() for part in (self._p[:100], self._p))
        self._y = self._codes(y)
        self._weight = None
        if sample_weight is not None:
            self._weight = np.ascontiguousarray(sample_weight, dtype=np.float64)
            if self._weight.shape != (self.rows,):
                raise InputError(f"sample_weight.shape == {self._weight.shape}, expected {(self.rows,)}!", "input")
        self.handle = ctx.new(
            "pv_probs_new",
            self.rows,
            self.labels,
            count,
            width,
            self._p.ctypes.data_as(_doubles),
            None if self._y is None else self._y.ctypes.data_as(_codes),
            None if self._weight is None else self._weight.ctypes.data_as(_doubles),
            free="pv_probs_free",
        )

    strata = None  # their names, where rows are of some

    def stratify(self, strata, from_):
        """Assign rows to strata, each with its own prevalence for which the rows' probabilities were computed."""
        strata = np.asarray(strata)
        if strata.shape != (self.rows,):
            raise InputError(f"strata.shape == {strata.shape}, expected {(self.rows,)}!", "input")
        if any(map(is_missing, strata)):
            raise InputError("every row needs a stratum, and strata has missing values", "input")
        self.strata, codes = np.unique(strata, return_inverse=True)
        made = self.by_stratum("from_", from_)
        codes = np.ascontiguousarray(codes, dtype=np.int32)
        names = texts(label_texts(self.strata))
        self.ctx.call(
            "pv_probs_strata_set",
            self.handle,
            len(self.strata),
            names,
            codes.ctypes.data_as(_codes),
            made.ctypes.data_as(_doubles),
        )

    def cluster(self, cluster):
        """Rows that were sampled together."""
        cluster = np.asarray(cluster)
        if cluster.shape != (self.rows,):
            raise InputError(f"cluster.shape == {cluster.shape}, expected {(self.rows,)}!", "input")
        if any(map(is_missing, cluster)):
            raise InputError("every row needs a cluster, and cluster has missing values", "input")
        codes = np.ascontiguousarray(np.unique(cluster, return_inverse=True)[1], dtype=np.int32)
        data = _c.pv_probs.from_address(self.handle.value).data
        self.ctx.call("pv_dataset_cluster", data, codes.ctypes.data_as(_codes))

    def by_stratum(self, option, given):
        """Prevalences [strata][classes] in the library's order: from a mapping of strata, or one for all."""
        given = by_label(given, self.strata.tolist())
        if not isinstance(given, Mapping) or not any(s in given for s in self.strata.tolist()):
            if option == "to":
                raise InputError(
                    "to: with strata a mapping from each stratum to its prevalence, or 'unknown'", "usage"
                )
            return np.ascontiguousarray(np.tile(self.shares(option, given), (len(self.strata), 1)))
        if all(label_text(key) in self.names and not _has_parts(value) for key, value in given.items()):
            raise InputError(
                f"{option}: {listed([label_text(key) for key in given])} are names of labels and of strata: give each "
                f"stratum a mapping of its own, {option}={{{_nested(self.strata, self.classes)}}}",
                "usage",
            )
        absent = [s for s in self.strata.tolist() if s not in given]
        if absent:
            raise InputError(f"{option} has no prevalence for stratum {absent[0]!r}, which strata has", "input")
        return np.ascontiguousarray([self.shares(option, given[s]) for s in self.strata.tolist()])

    def _codes(self, y):
        if y is None:
            return None
        if len(y) != self.rows:
            raise InputError(f"y has {len(y)} rows, the probabilities have {self.rows}", "input")
        _, codes = classes_and_codes(y, self.classes)
        if (self.order == np.arange(len(self.order))).all():
            return np.ascontiguousarray(codes, dtype=np.int32)
        return np.argsort(self.order).astype(np.int32)[codes]

    def shares(self, option, prevalence):
        """A prevalence in the library's order; None stays."""
        if prevalence is None:
            return None
        found = shares(self.ctx, option, prevalence, self.classes, self._named if len(self.classes) == 2 else None)
        return np.ascontiguousarray(found[self.order])

    def required(self, option, prevalence):
        """The same, where there must be one."""
        if prevalence is None:
            raise InputError(
                missing_prevalence(option, self.classes, self.classes[self.positive] if len(self.classes) == 2 else None),
                "usage",
            )
        return self.shares(option, prevalence)

    def predict(self, from_=None, to=None, unknown=None, level=0.0, likelihood=False, known=None):
        """A pv_prediction. to: None, where they are; a prevalence by class, in the library's order; or "unknown"."""
        ctx, source = self.ctx, None if from_ is None else from_.ctypes.data_as(_doubles)
        population = None
        if isinstance(to, str):
            population = ctx.new(
                "pv_population_of_probs", self.handle, source, encode(to), unknown, free="pv_population_free"
            )
        elif to is not None and self.strata is not None:
            population = ctx.new(
                "pv_population_known_strata", self.handle, to.ctypes.data_as(_doubles), free="pv_population_free"
            )
        elif to is not None:
            population = ctx.new(
                "pv_population_known", len(self.classes), to.ctypes.data_as(_doubles), free="pv_population_free"
            )
        options = _c.pv_predict_options(level, likelihood, None)
        if known is not None:
            options.label = known.ctypes.data_as(_codes)
        return ctx.new(
            "pv_predict_probs",
            self.handle,
            source,
            population,
            ctypes.byref(options),
            kind=ctypes.POINTER(_c.pv_prediction),
            free="pv_prediction_free",
        ).contents

    def confusion(self, from_):
        """Shares of the rows of each label by the most likely one, for "bbse"; of labelled rows."""
        said, marginal = self.predict(from_, likelihood=True), np.log(from_)
        sample = _c.pv_unknown_sample(
            n=self.rows,
            classes=len(self.classes),
            loglik=said.loglik,
            log_marginal=marginal.ctypes.data_as(_doubles),
            label=self._y.ctypes.data_as(_codes),
        )
        made = np.empty((len(self.classes),) * 2)
        self.ctx.call("pv_confusion", ctypes.byref(sample), self.labels, made.ctypes.data_as(_doubles))
        return made

    def matrix(self, pointer):
        """[rows][classes] of the library's, with columns in the order of the classes."""
        return array(pointer, self.rows, len(self.classes))[:, np.argsort(self.order)]

    def like_input(self, pointer):
        """The same in the shape that the probabilities came in."""
        made = self.matrix(pointer)
        return made[:, self.positive].reshape(self.shape) if self.width == 1 else made


def unknown_options(ctx, level, reference=None, confusion=None, folds=None, **options):
    """How an unknown prevalence is inferred: the library's options by name, and what they have not. folds: log likelihood ratios
    [folds][rows] by the models that scored the reference."""
    settings = ctx.new("pv_unknown_settings_new", free="pv_settings_free")
    for name, value in options.items():
        if value is not None:
            ctx.call("pv_settings_set", settings, encode(name.replace("_", "-")), encode(str(value)))
    made = _c.pv_unknown_options.from_buffer_copy(lib.pv_unknown_options_of(settings).contents)
    made.level = level
    made.reference = reference
    if confusion is not None:
        made.confusion = confusion
    if folds is not None:
        made._folds = np.clip(folds, -60, 60)  # PV_REFERENCE_SCORE; borrowed
        made.fold_score, made.folds = made._folds.ctypes.data_as(_doubles), len(folds)
    made._settings = settings  # its texts are borrowed
    return made


def adjust(
    proba: Rows,
    *,
    from_: PrevalenceByStratum | None,
    to: PrevalenceByStratum | None,
    strata: Rows | None = None,
    classes: Rows | None = None,
    positive: Label | None = None,
    threads: int | None = None,
) -> Doubles:
    """Corrects probabilities made for one population to another with a different prevalence.

    Parameters
    ----------
    proba : array-like of shape (n,) or (n, n_classes)
        Probabilities of the positive class of two, or of every class.
    from_ : float, mapping, sequence or str
        The prevalence of the classes in the training rows of the model (with class weights: as weighted), or in the
        population that the probabilities are for. A number is that of the positive class.
    to : float, mapping, sequence or str
        The prevalence in the target population; "unknown" infers it from the rows themselves.
    strata : array-like of shape (n,), optional
        The stratum (site, age group) of each row. Each is corrected separately: `from_` and `to` are then mappings
        from each stratum to its prevalence; `from_` may be one prevalence for all, and `to` may be "unknown", inferred
        for each. If names of strata are also labels, give each stratum a mapping of labels.
    classes : sequence, optional
        The labels of the columns; default: the names of a data frame's columns, or 0, 1, ...
    positive : label, optional
        Of two classes, the one that a single number refers to. Default: the larger number, or the one with a name
        such as case, yes, true or malignant, else the last.
    threads : int, optional
        The largest number of threads.

    Returns
    -------
    ndarray
        The corrected probabilities, in the shape of `proba`.

    Examples
    --------
    >>> import prevail
    >>> prevail.adjust([0.2, 0.5, 0.9], from_=0.5, to=0.01).round(4)
    array([0.0025, 0.01  , 0.0833])
    >>> sites = ["a", "a", "b"]
    >>> prevail.adjust([0.2, 0.5, 0.9], from_=0.5, to={"a": 0.01, "b": 0.1}, strata=sites).round(4)
    array([0.0025, 0.01  , 0.5   ])
    """
    with Context(threads) as ctx:
        given = Probabilities(ctx, proba, classes, positive)
        source = None
        if strata is not None:
            given.stratify(strata, from_)
        else:
            source = given.required("from_", from_)
        if isinstance(to, str) and to == "unknown":
            said = given.predict(source, to, unknown_options(ctx, 0.95))
            if said.inferred and strata is None:
                InferredPrevalence(said.inferred.contents, given.classes, given.positive, given.order).warn_if_weak()
        else:
            said = given.predict(source, given.required("to", to) if strata is None else given.by_stratum("to", to))
        return given.like_input(said.p)


def infer_prevalence(
    proba: Rows,
    *,
    from_: Prevalence | None,
    classes: Rows | None = None,
    positive: Label | None = None,
    labels: Rows | None = None,
    reference: tuple[Rows, Rows] | None = None,
    sample_weight: Rows | None = None,
    level: float = 0.95,
    method: str = "bins",
    dirichlet: str = "flat",
    max_iter: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
) -> InferredPrevalence:
    """Infers the prevalence of the classes in rows without labels, from a model's probabilities for them.

    Parameters
    ----------
    proba : array-like of shape (n,) or (n, n_classes)
        Probabilities of the positive class of two, or of every class.
    from_ : float, mapping, sequence or str
        The prevalence that the probabilities are for: for a model as trained, the label proportions of its training
        rows.
    classes, positive
        As for `adjust`.
    labels : sequence, optional
        Known labels, one per row, None (or NaN) if unknown. Known labels count as observed.
    reference : (y, proba), optional
        Labelled rows that the model has not seen, with its probabilities for them: the interval then allows for
        errors of the probabilities. Method "bbse" takes its confusion matrix from them.
    sample_weight : array-like of shape (n,), optional
        Weights, as counts of identical rows.
    level : float
        The level of the interval.
    method : {"bins", "exact", "vb", "em", "bbse"}
        "bins": from the binned scores of `reference`, valid even if the probabilities are miscalibrated (without
        `reference` the same as "exact"). "exact": the posterior with the labels summed out, assuming that the
        probabilities
        are right. "vb": the paper's variational updates. "em": maximum likelihood. "bbse": from a confusion matrix.
    dirichlet : str
        The prior: "flat", "jeffreys", "balanced", "counts:1,1", ...
    max_iter, seed, threads : int, optional
        The largest number of iterations (em, vb); the seed of the draws (more than two classes); the largest number of
        threads.

    Returns
    -------
    InferredPrevalence

    Examples
    --------
    >>> import numpy as np, prevail
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.1                       # one in ten, which is not known
    >>> x = rng.normal(2.0 * y)
    >>> proba = 1 / (1 + np.exp(-(2 * x - 2)))           # a model made for 50:50
    >>> found = prevail.infer_prevalence(proba, from_=0.5)
    >>> found.interval[0] < 0.1 < found.interval[1]
    True
    """
    with Context(threads) as ctx:
        given = Probabilities(ctx, proba, classes, positive, sample_weight=sample_weight)
        source = given.required("from_", from_)
        held = confusion = None
        if reference is not None:
            y, reference_proba = reference
            rows = Probabilities(ctx, reference_proba, given.classes, given.classes[given.positive] if len(given.classes) == 2 else None, y=y)
            if method == "bbse":
                confusion = rows.confusion(source)
            else:
                held = ctx.new("pv_probs_reference", rows.handle, source.ctypes.data_as(_doubles), free="pv_reference_free")
        options = unknown_options(
            ctx,
            level,
            held,
            None if confusion is None else confusion.ctypes.data_as(_doubles),
            method=method,
            dirichlet=dirichlet if dirichlet != "flat" else None,
            max_iter=max_iter,
            seed=seed,
        )
        known = None if labels is None else _known_codes(given, labels)
        said = given.predict(source, "unknown", options, known=known)
        found = InferredPrevalence(said.inferred.contents, given.classes, given.positive, given.order)
        found.warn_if_weak()
        return found


def _known_codes(given, labels):
    labels = list(labels)
    if len(labels) != given.rows:
        raise InputError(f"labels has {len(labels)} rows, the probabilities have {given.rows}", "input")
    code = {label: i for i, label in enumerate(given.names)}
    made = np.full(given.rows, -1, dtype=np.int32)
    for i, label in enumerate(labels):
        if is_missing(label):
            continue
        if label_text(label) not in code:
            raise InputError(f"labels: {label_text(label)} in row {i} is not one of the classes: {listed(given.names)}", "input", row=i)
        made[i] = code[label_text(label)]
    return made


# ---- decisions ------------------------------------------------------------------------------------------------------

class _Decisions(NamedTuple):
    action: NDArray[Any]
    cost: Doubles


class Decisions(_Decisions):
    """The action with the least expected cost for each row, and its cost."""

    __slots__ = ()

    @property
    def counts(self) -> dict[Any, int]:
        """How many rows each action was chosen for: action to number."""
        return dict(Counter(self.action.tolist()))

    def _lead(self):
        return f"{len(self.cost)} rows, expected cost {self.cost.sum():.6g} in all, {self.cost.mean():.4g} per row"

    def __repr__(self) -> str:
        return f"Decisions({', '.join(f'{action}: {n}' for action, n in self.counts.items())}; {self._lead()})"

    def _repr_html_(self) -> str:
        rows = [(action, n, f"{self.cost[[a == action for a in self.action]].sum():.6g}") for action, n in self.counts.items()]
        return table(self._lead(), ["action", "rows", "expected cost"], rows)


def _costs(costs, classes):
    """(actions, matrix [actions][classes]) of a mapping, a data frame or an array."""
    labels = label_texts(classes)
    if isinstance(costs, Mapping):
        actions = list(costs)
        rows = [by_label(costs[action], labels) for action in actions]
    elif hasattr(costs, "iterrows"):
        actions = list(costs.index)
        rows = [dict(row) for _, row in costs.iterrows()]
    else:
        matrix = np.asarray(costs, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != len(labels):
            raise InputError(
                f"costs are of the shape (actions, {len(labels)}), one column for each class, not {matrix.shape}", "usage"
            )
        return (list(classes) if len(matrix) == len(labels) else list(range(len(matrix)))), matrix
    matrix = np.empty((len(actions), len(labels)))
    for i, (action, row) in enumerate(zip(actions, rows)):
        if not isinstance(row, Mapping) and not hasattr(row, "__len__"):
            raise InputError(f"costs of {action!r}: give one for each class: {listed(labels)}", "usage")
        if isinstance(row, Mapping):
            given = {label_text(label): cost for label, cost in row.items()}
        else:
            given = dict(zip(labels, row)) if len(row) == len(labels) else {}
        if set(given) != set(labels):
            raise InputError(f"costs of {action!r}: give one for each class: {listed(labels)}", "usage")
        matrix[i] = [given[label] for label in labels]
    return actions, matrix


def _of_errors(ctx, costs, given):
    """The costs of errors, fp=1,fn=50, as the library reads them: (actions, matrix in the order of the classes)."""
    text = costs if isinstance(costs, str) else ",".join(f"{name}={cost!r}" for name, cost in costs.items())
    read = ctx.new("pv_costs_read", encode(text), given.labels, len(given.classes), kind=ctypes.POINTER(_c.pv_costs), free="pv_costs_free").contents
    actions = [read.action[i].decode() for i in range(read.actions)]
    return actions, array(read.cost, read.actions, read.classes)[:, np.argsort(given.order)]


def decide(proba: Rows, costs: Costs, *, classes: Rows | None = None, positive: Label | None = None) -> Decisions:
    """The action with the least expected cost for each row.

    Parameters
    ----------
    proba : array-like of shape (n,) or (n, n_classes)
        Probabilities for the population in which the decisions are made.
    costs : mapping, data frame, array-like or str
        What each action costs with each class: `{"biopsy": {0: 1, 1: 1}, "wait": {0: 0, 1: 50}}`, a data frame with
        actions as rows and classes as columns, or an array; if an array has as many rows as classes, the actions are to
        predict each class. Or the costs of errors, `{"fp": 1, "fn": 50}` or "fp=1,fn=50": the actions are then
        "treat" and "none".
    classes : sequence, optional
        The labels of the columns; default 0, 1, ...
    positive : label, optional
        Of two classes, the one whose cases "fn" misses. Default: as for `adjust`.

    Returns
    -------
    Decisions
        `action`, an array, and `cost`, the expected cost of each action.

    Examples
    --------
    >>> import prevail
    >>> costs = {"wait": {0: 0, 1: 50}, "biopsy": {0: 1, 1: 1}}
    >>> prevail.decide([0.001, 0.015, 0.3], costs).action.tolist()
    ['wait', 'wait', 'biopsy']
    """
    with Context() as ctx:
        given = Probabilities(ctx, proba, classes, positive)
        by_errors = isinstance(costs, str) or (isinstance(costs, Mapping) and set(costs) <= {"fp", "fn", "tp", "tn"})
        if by_errors and is_guess(given.classes, positive):
            one, other = given.names
            raise InputError(f"costs of errors: which label is the positive one, {one!r} or {other!r}? Name it with `positive`", "usage")
        actions, matrix = _of_errors(ctx, costs, given) if by_errors else _costs(costs, given.classes)
        if not np.isfinite(matrix).all() or not len(actions):
            raise InputError("costs must be finite numbers, one for each action and class", "usage")
        p = np.ascontiguousarray(given.matrix(given.predict().p))
        matrix = np.ascontiguousarray(matrix)
        names = texts([str(action) for action in actions])
        table = _c.pv_costs(len(actions), len(given.classes), names, matrix.ctypes.data_as(_doubles))
        action, expected = np.empty(given.rows, np.int32), np.empty(given.rows)
        ctx.call(
            "pv_decide",
            ctypes.byref(table),
            given.rows,
            p.ctypes.data_as(_doubles),
            action.ctypes.data_as(_codes),
            expected.ctypes.data_as(_doubles),
        )
        made = np.empty(len(actions), dtype=object)
        made[:] = actions
        chosen = made[action]
        return Decisions(np.array(list(chosen)) if len({type(a) for a in actions}) == 1 else chosen, expected)


__all__ = ["InferredPrevalence", "Decisions", "adjust", "infer_prevalence", "decide", "prevalence_text"]
