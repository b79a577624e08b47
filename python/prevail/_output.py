"""Probabilities as data frames, if requested."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ._errors import InputError
from ._frames import label_texts

_KINDS = ("default", "pandas", "polars")


class FrameOutput:
    """The part of an estimator that gives probabilities as arrays or as data frames."""

    def set_output(self, *, transform: str | None = None) -> Any:
        """Whether `predict_proba` and the like give arrays ("default") or data frames ("pandas", "polars").

        Data frames have a column for each label and, for pandas, the index of X. Only this method sets the output: a
        pipeline's `set_output` and `sklearn.set_config` concern transformers.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None
            None: unchanged.
        """
        if transform is not None:
            if transform not in _KINDS:
                raise InputError(f"set_output(transform={transform!r}): choose one of {', '.join(_KINDS)}", "usage")
            self._sklearn_output_config = {"transform": transform}
        return self

    def _framed(self, values: np.ndarray, X: Any) -> Any:
        kind = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        if kind == "default":
            return values
        library = importlib.import_module(kind)
        if kind == "polars":
            return library.DataFrame(dict(zip(label_texts(self.classes_), values.T)))
        return library.DataFrame(values, columns=self.classes_, index=X.index if hasattr(X, "iloc") else None)
