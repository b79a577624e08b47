"""Predictions of a classifier of the library's own."""

from __future__ import annotations

import copy
import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _c
from ._c import lib
from ._context import Context
from ._frames import encode, label_texts
from ._labels import prevalence_text, shares
from ._model import array
from ._output import FrameOutput
from ._population import Decisions, InferredPrevalence, decide, unknown_options
from ._training import Archive, arrays_of, table_of
from ._types import Costs, Doubles, Prevalence, Rows

if TYPE_CHECKING:
    from typing_extensions import Self


class Predicting(FrameOutput):
    """The methods of an estimator that predict."""

    def _dataset(self, ctx, X):
        if self._of_images:
            table = Archive(ctx, arrays_of(X)).table()
        else:
            _, names, X = self._checked(X, reset=False)
            made = table_of(ctx, "X", X, names)
            scored = self.__dict__.get("_scored")
            for name, ratio in scored.score(X).items() if scored else ():
                made.add_numbers(name, ratio)
            table = made.handle
        schema = lib.pv_classifier_schema(self._model.handle)
        return ctx.new("pv_dataset_of_table", schema, table, free="pv_dataset_free")

    def _population_text(self, population):
        if population is None:
            population = getattr(self, "population_", None)
        if population is None:
            return "design" if self._model.shares("prevalence") is None else "true"
        if isinstance(population, str) and population in ("true", "design", "unknown"):
            return population
        if self._of_images and not isinstance(population, str):
            places = dict(enumerate(self.classes_))
            texts = prevalence_text(population, self.classes_, self._named_positive(), "population")
            parts = dict(part.rsplit("=", 1) for part in texts.split(","))
            labels = label_texts(self.classes_)
            return "known:" + ",".join(f"{self._model.labels[list(self._order).index(labels.index(k))]}={p}" for k, p in parts.items())
        text = prevalence_text(population, self.classes_, self._named_positive(), "population")
        return text if text.startswith("known:") else "known:" + text

    def _named_positive(self):
        """The positive class, if something other than its spelling identifies it."""
        if len(self.classes_) != 2:
            return None
        named = self.positive is not None or self.order is not None or getattr(self, "_loaded", False)
        return self.positive_ if named else None

    def _population_shares(self):
        """The label proportions for which it predicts by default; None: inferred from the rows of each prediction."""
        self._fitted()
        population = getattr(self, "population_", None)
        if population is None or (isinstance(population, str) and population in ("true", "design")):
            return self.design_ if population == "design" else self._stated_shares()
        if population == "unknown":
            return None
        if isinstance(population, str):
            population = population.removeprefix("known:")
        with Context(self.threads) as ctx:
            return shares(ctx, "population", population, self.classes_, self._named_positive())

    def _predict(self, ctx, X, population, level=0.0):
        text = self._population_text(population)
        dataset = self._dataset(ctx, X)
        how = unknown_options(ctx, level or 0.95)
        place = ctx.new(
            "pv_population_new", self._model.handle, encode(text), ctypes.byref(how), free="pv_population_free"
        )
        options = _c.pv_predict_options(level, False, None)
        said = ctx.new(
            "pv_predict",
            self._model.handle,
            dataset,
            place,
            ctypes.byref(options),
            kind=ctypes.POINTER(_c.pv_prediction),
            free="pv_prediction_free",
        ).contents
        if text == "unknown":
            self.inferred_ = self._inferred(said)
        return said

    def _inferred(self, said):
        positive = int(self._order[-1]) if len(self.classes_) == 2 else len(self.classes_) - 1
        return InferredPrevalence(said.inferred.contents, self.classes_, positive, self._order)

    def _matrix(self, said, pointer):
        found = array(pointer, said.rows, said.classes)
        made = np.empty_like(found)
        made[:, self._order] = found
        return made

    def _said(self, X, population, *parts, level=0.0):
        self._fitted()
        with Context(self.threads) as ctx:
            said = self._predict(ctx, X, population, level)
            if self._population_text(population) == "unknown":
                self.inferred_.warn_if_weak()
            return [self._matrix(said, getattr(said, part)) for part in parts]

    def predict_proba(self, X: Rows, population: Prevalence | None = None) -> Any:
        """Probabilities in the population, of shape (n, n_classes).

        Parameters
        ----------
        X : as for `fit`
        population : float, mapping, sequence, "true", "design", "unknown" or None
            Default: the one with the stated prevalence. "unknown": inferred from X.
        """
        return self._framed(self._said(X, population, "p")[0], X)

    def predict_log_proba(self, X: Rows, population: Prevalence | None = None) -> Any:
        """Logarithms of `predict_proba`, without underflow."""
        return self._framed(self._said(X, population, "log_p")[0], X)

    def predict_interval(self, X: Rows, level: float = 0.95, population: Prevalence | None = None) -> tuple[Any, Any]:
        """Intervals (lo, hi) of the probabilities, each (n, n_classes). Networks need a posterior or an unknown population."""
        lo, hi = self._said(X, population, "lo", "hi", level=level)
        return self._framed(lo, X), self._framed(hi, X)

    def decision_function(self, X: Rows) -> Doubles:
        """Log odds of the second class; for more than two classes the logarithms of the probabilities.

        Matched sets have no intercept: log odds ratios against a row of zeros and reference levels.
        """
        if self._fitted().relative:
            return self._linear_predictor(X)
        log_p = self._said(X, None, "log_p")[0]
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def _linear_predictor(self, X):
        with Context(self.threads) as ctx:
            made = np.empty(X.shape[0] if hasattr(X, "shape") else len(X))
            dataset = self._dataset(ctx, X)
            ctx.call("pv_linear_predictor", self._model.handle, dataset, made.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))
        return made if self._order[1] == 1 else -made

    def predict(self, X: Rows) -> NDArray[Any]:
        """The most probable label in the population. A rare label seldom is: see `decide`."""
        best = self._said(X, None, "log_p")[0].argmax(axis=1)
        return self.classes_[best]

    def decide(self, X: Rows, costs: Costs, population: Prevalence | None = None) -> Decisions:
        """The action with the least expected cost for each row; see `prevail.decide` for the costs."""
        return decide(self._said(X, population, "p")[0], costs, classes=self.classes_, positive=self._named_positive())

    def infer_prevalence(self, X: Rows, level: float = 0.95) -> InferredPrevalence:
        """Infers the prevalence of rows without labels; returns an `InferredPrevalence`."""
        self._fitted()
        with Context(self.threads) as ctx:
            return self._inferred(self._predict(ctx, X, "unknown", level))

    def for_population(self, population: Prevalence) -> Self:
        """A copy of the classifier that predicts for another population by default; see `predict_proba`."""
        self._fitted()
        made = copy.copy(self)
        made.__dict__.pop("inferred_", None)
        made.population_ = population
        made._population_text(None)
        return made
