"""Compatibility with scikit-learn from version 1.2 on."""

import warnings

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ._context import _outside
from ._errors import InputError, PrevailWarning
from ._labels import check_no_label_is_missing

VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])


def check_numeric(X, *, finite=True, ndim2=True, estimator=None, **more):
    """A matrix of numbers, checked as scikit-learn's own estimators do."""
    finite_name = "ensure_all_finite" if VERSION >= (1, 6) else "force_all_finite"
    more[finite_name] = "allow-nan"
    X = check_array(X, dtype="numeric", accept_sparse="csc", allow_nd=not ndim2, estimator=estimator, input_name="X", **more)
    if sparse.issparse(X):
        X = _dense(X)
    if finite and X.dtype.kind == "f" and np.isnan(X.sum()) and np.isnan(X).any():
        row, column = (int(at) for at in np.argwhere(np.isnan(X))[0][:2])
        raise InputError(
            f"Input X contains NaN: the first is in row {row}, column {column} (counted from 0). Use `missing='impute'`, 'indicator' or "
            "'drop', or an imputer in a pipeline",
            "input",
            row=row,
            column=str(column),
            option="missing",
        )
    return X.astype(np.float32) if X.dtype == np.float16 else X


def _dense(X):
    """The matrix column by column, which the library uses in place; it standardises columns, so none stays sparse."""
    size = X.shape[0] * X.shape[1] * X.dtype.itemsize
    if size > _MUCH:
        warnings.warn(
            f"X is sparse ({X.nnz / max(1, X.shape[0] * X.shape[1]):.2g} of its cells are stored) and takes {size / 2**30:.1f} GB as a "
            "dense matrix: leave out rare columns if that is too much",
            PrevailWarning,
            stacklevel=_outside(),
        )
    return X.toarray(order="F")


_MUCH = 2**30


def check_features(estimator, names, count, reset):
    """Learns the names and the number of columns, or compares them with what was learned, in scikit-learn's words."""
    named = names is not None and all(isinstance(name, str) for name in names)
    if names is not None and not named and any(isinstance(name, str) for name in names):
        kinds = sorted({type(name).__name__ for name in names})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{kinds} as feature name / column name types. If you want feature names to be stored and validated, you "
            "must convert them all to strings, by using X.columns = X.columns.astype(str) for example."
        )
    if reset:
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        if named:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        estimator.n_features_in_ = count
        return
    _compare_names(estimator, names if named else None)
    if count != estimator.n_features_in_:
        raise ValueError(
            f"X has {count} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features "
            "as input."
        )


def _compare_names(estimator, names):
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is None and names is None:
        return
    own = type(estimator).__name__
    if fitted is None:
        warnings.warn(f"X has feature names, but {own} was fitted without feature names", stacklevel=_outside())
        return
    if names is None:
        warnings.warn(f"X does not have valid feature names, but {own} was fitted with feature names", stacklevel=_outside())
        return
    if list(fitted) == list(names):
        return
    message = "The feature names should match those that were passed during fit.\n"
    for title, some in (
        ("Feature names unseen at fit time:\n", sorted(set(names) - set(fitted))),
        ("Feature names seen at fit time, yet now missing:\n", sorted(set(fitted) - set(names))),
    ):
        if some:
            message += title + "".join(f"- {name}\n" for name in some[:5]) + ("- ...\n" if len(some) > 5 else "")
    if set(names) == set(fitted):
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)


def check_order(X, of="X", **others):
    """Warns where others have the rows of X by their index, in another order: rows are matched by place."""
    index = getattr(X, "index", None)
    for name, other in others.items():
        there = getattr(other, "index", None)
        if not hasattr(index, "equals") or not hasattr(there, "equals") or len(index) != len(there) or index.equals(there):
            continue
        if index.is_unique and there.is_unique and index.difference(there).empty:
            warnings.warn(
                f"{name} has the index of {of} in another order, and rows are matched by position: give {name}.loc[index] with the "
                f"index of {of} if it names the rows",
                PrevailWarning,
                stacklevel=_outside(),
            )


def check_weights(sample_weight, rows):
    """Weights of the rows as doubles; None stays."""
    if sample_weight is None:
        return None
    weights = column_or_1d(check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"))
    if len(weights) != rows:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(rows,)}!")
    if (weights < 0).any():
        raise ValueError("Negative values in data passed to `sample_weight`.")
    return weights


def checked_labels(y, rows, own):
    """One label per row, checked as scikit-learn does. rows: the expected number; None: any number."""
    if y is None:
        raise ValueError(f"{own} requires y to be passed, but the target y is None")
    check_no_label_is_missing(np.asarray(y))
    y = column_or_1d(y, warn=True)
    if y.dtype.kind in "fc":
        check_array(y, ensure_2d=False, dtype=None, input_name="y")
    if rows is not None and len(y) != rows:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{rows}, {len(y)}]")
    check_classification_targets(y)
    return y


__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "VERSION",
    "check_array",
    "check_classification_targets",
    "check_consistent_length",
    "check_features",
    "check_is_fitted",
    "check_numeric",
    "check_order",
    "check_weights",
    "checked_labels",
]
