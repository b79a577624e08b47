"""The design of another library's model: the label proportions that its probabilities are for.

Under a design with proportions d, a model that predicts p(y|x) among rows with proportions q has log odds that are shifted by
log d - log q. So the shift s that makes predictions agree with the rows on average,

    mean over rows of softmax(log p + s) = q,

gives the design back: d is proportional to q exp(-s). The predictions are cross-fitted: a model's own training rows would
answer with their labels. Probabilities of exactly 0 stay 0, as they do when they are adjusted.
"""

import inspect
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import _safe_indexing, indexable

from ._frames import label_text, label_texts

FOLDS = 5
# Parameters that reweight labels, with the values that leave them unweighted.
WEIGHTING = {
    "class_weight": (None,),
    "class_weights": (None,),
    "auto_class_weights": (None, "None"),
    "scale_pos_weight": (None, 1, 1.0),
    "is_unbalance": (None, False),
    "priors": (None,),
    "class_prior": (None,),
    "fit_prior": (None, True),
}
# For these, class_weight or scale_pos_weight determines the design; their effect is measured.
TRANSPARENT = ("sklearn.", "xgboost.", "lightgbm.")
KNOWN = TRANSPARENT + ("catboost.", "imblearn.")


def steps(estimator):
    """The steps of a pipeline; none of anything else."""
    found = getattr(estimator, "steps", None)
    return found if isinstance(found, list) else []


def last_step(estimator):
    """The estimator at the end of pipelines and within what freezes one."""
    while steps(estimator) or _freezes(estimator):
        estimator = steps(estimator)[-1][1] if steps(estimator) else estimator.estimator
    return estimator


def has_probabilities(estimator):
    """Whether it has `predict_proba` once it is fitted. A stack with the default final model has it only then."""
    last = last_step(estimator)
    if hasattr(last, "refit") and hasattr(last, "estimator"):  # a search
        return has_probabilities(last.estimator)
    return hasattr(last, "predict_proba") or (hasattr(last, "final_estimator") and last.final_estimator is None)


def _freezes(estimator):
    """FrozenEstimator of scikit-learn, from 1.6 on: `fit` does nothing, and a clone is the same."""
    return type(estimator).__name__ == "FrozenEstimator" and hasattr(estimator, "estimator")


def is_frozen(estimator):
    """Whether `fit` leaves the classifier as it is: the rows are not those that it has learned from."""
    while steps(estimator):
        estimator = steps(estimator)[-1][1]
    return _freezes(estimator)


def chosen(fitted):
    """The estimator that a search has chosen, also at the end of a pipeline; other estimators unchanged."""
    found = getattr(fitted, "best_estimator_", None)
    if found is not None:
        return chosen(found)
    if steps(fitted):
        name, last = steps(fitted)[-1]
        better = chosen(last)
        if better is not last:
            return clone(fitted).set_params(**{name: clone(better)})
    return fitted


def fitted_last(fitted):
    """The fitted classifier at the end of pipelines and searches."""
    while True:
        last = last_step(fitted)
        fitted = getattr(last, "best_estimator_", None)
        if fitted is None and type(last).__name__ in _THRESHOLDS:
            fitted = getattr(last, "estimator_", None)
        if fitted is None:
            return last


# These choose a threshold for `predict`; probabilities are those of the inner classifier.
_THRESHOLDS = ("TunedThresholdClassifierCV", "FixedThresholdClassifier")


def _name(path):
    return str(path).rpartition("__")[2]


def _params(estimator):
    try:
        return estimator.get_params(deep=True)
    except (AttributeError, TypeError):
        return {}


def _is_own(value, own):
    return type(value).__module__.partition(".")[0] == own


def _parts(estimator):
    """The estimator and those within it."""
    found = [estimator] + [value for value in _params(estimator).values() if hasattr(value, "get_params") and not inspect.isclass(value)]
    return found + [step for part in list(found) for _, step in steps(part)]


def _says_nothing(name, value):
    return any(value is usual or (usual is not None and not isinstance(value, (np.ndarray, dict, list)) and value == usual) for usual in WEIGHTING[name])


def _weights_visible(estimator):
    """Whether some parameter gives labels weights, or some step changes the rows."""
    for path, value in _params(estimator).items():
        if _name(path) in WEIGHTING and not _says_nothing(_name(path), value):
            return True
    return any(hasattr(part, "fit_resample") or type(part).__module__.startswith("imblearn.ensemble") for part in _parts(estimator))


def _is_calibrated(estimator):
    """Probabilities that were calibrated on the rows given to fit: what is within does not matter."""
    return type(last_step(estimator)).__name__ == "CalibratedClassifierCV"


def _is_simple(estimator):
    """One classifier, optionally after steps that only transform columns, with no nested estimator."""
    if any(hasattr(step, "fit_resample") for _, step in steps(estimator)):
        return False
    last = last_step(estimator)
    return not any(hasattr(value, "fit") for value in _params(last).values())


def weights_of(sample_weight, fit_params):
    """The weights of the rows; a pipeline's are given to the step that takes them."""
    if sample_weight is not None:
        return sample_weight
    found = [value for name, value in fit_params.items() if _name(name) == "sample_weight" and value is not None]
    return np.asarray(found[0], dtype=float) if len(found) == 1 else None


class Design:
    """What is known of a design.

    Attributes
    ----------
    shares : ndarray
        Of the labels, in the order of classes.
    se : ndarray
        Standard errors of log(shares[k] / shares[0]); 0 where the design is known.
    """

    def __init__(self, shares, se=None):
        self.shares = shares
        self.se = np.zeros(len(shares)) if se is None else se


def by_rows(codes, classes, weights):
    mass = np.bincount(codes, weights, minlength=len(classes)).astype(float)
    return mass / mass.sum()


def by_parameters(estimator, codes, classes, weights):
    """The design according to the parameters; None if they do not determine it."""
    last = last_step(estimator)
    mass = by_rows(codes, classes, weights)
    if is_frozen(estimator):
        return None
    if _is_calibrated(estimator):
        return mass
    if any(_freezes(part) and hasattr(part.estimator, "predict_proba") for part in _parts(estimator)):
        return None
    if not _weights_visible(estimator):
        return mass if all(type(part).__module__.startswith(KNOWN) for part in _parts(estimator)) else None
    if not _is_simple(estimator) or not type(last).__module__.startswith(TRANSPARENT):
        return None
    params = {name: value for name, value in last.get_params(deep=False).items() if name in WEIGHTING and not _says_nothing(name, value)}
    if len(params) != 1:
        return None
    name, value = params.popitem()
    if name == "class_weight" and isinstance(value, str) and value.startswith("balanced"):
        varied = weights is not None and np.ptp(weights) > 0
        return None if varied else np.full(len(mass), 1 / len(mass))
    if name == "class_weight" and isinstance(value, dict):
        by_text = {label_text(label): float(factor) for label, factor in value.items()}
        mass = mass * np.array([by_text.get(text, 1.0) for text in label_texts(classes)])
        return mass / mass.sum()
    if name == "scale_pos_weight" and len(mass) == 2:
        mass = mass * np.array([1.0, float(value)])
        return mass / mass.sum()
    return None


def is_in_doubt(estimator, weights, repeated):
    """Whether to compare the model's behaviour with its parameters: something weights its labels, or may, or rows of a label
    are repeated, which flexible models memorise."""
    if repeated is not None:
        return True
    if _is_calibrated(estimator):
        return False
    return weights is not None or _weights_visible(estimator) or not all(type(part).__module__.startswith(KNOWN) for part in _parts(estimator))


def _row_keys(X):
    """A whole number for each row, the same for rows that are alike; None where rows cannot be compared."""
    if sparse.issparse(X):
        X = X.tocsr()
        X.sum_duplicates()
        ends = X.indptr.tolist()
        return np.array([hash((X.indices[a:b].tobytes(), X.data[a:b].tobytes())) for a, b in zip(ends, ends[1:])])
    if hasattr(X, "iloc") and not all(getattr(dtype, "kind", "O") in "biuf" for dtype in X.dtypes):
        from pandas.util import hash_pandas_object

        return hash_pandas_object(X, index=False).to_numpy()
    values = np.asarray(X)
    if values.ndim == 1 or values.dtype.kind not in "biuf":
        return np.array([hash(row if values.ndim == 1 else tuple(row)) for row in values.tolist()])
    values = values.reshape(len(values), -1)
    factors = np.random.default_rng(0).integers(0, 2**63, values.shape[1], dtype=np.uint64) * 2 + 1
    keys = np.zeros(len(values), np.uint64)
    for column, factor in zip(values.T, factors):
        bits = (np.asarray(column, np.float64) + 0.0).view(np.uint64)
        keys = (keys ^ (bits ^ (bits >> np.uint64(29))) * factor) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(32)
    return keys


class Repetitions(NamedTuple):
    """Repeated rows of a label."""

    number: np.ndarray  # of each row, among those that differ
    label: int
    rows: int  # of that label
    different: int


def repetitions(X, codes):
    """`Repetitions` where one label's rows are there several times and the others' are not, as oversampling makes them; None otherwise.
    Rows that another label has as well, of categories alone, are no copies."""
    try:
        keys = _row_keys(X)
    except (TypeError, ValueError, ImportError):
        return None
    if keys is None or len(keys) != len(codes):
        return None
    _, number = np.unique(keys, return_inverse=True)
    number = number.reshape(-1)
    rows = np.bincount(codes)
    first, last = np.full(number.max() + 1, len(rows)), np.zeros(number.max() + 1, int)
    np.minimum.at(first, number, codes)
    np.maximum.at(last, number, codes)
    own = first == last  # of one label alone
    copies = np.bincount(first[own], np.bincount(number)[own] - 1, minlength=len(rows))
    again = copies / np.maximum(rows, 1)
    label, usual = int(again.argmax()), again.min()
    if copies[label] < 10 or again[label] < 0.25 or usual > 0.25 * again[label]:
        return None
    return Repetitions(number, label, int(rows[label]), int(rows[label] - copies[label]))


def _folds(codes, number):
    """Pairs of rows to learn from and rows to predict; rows that are alike stay together. None where a label has too few."""
    rows = codes if number is None else codes[np.unique(number, return_index=True)[1]]
    folds = min(FOLDS, int(np.bincount(rows)[np.unique(codes)].min()))
    if folds < 2:
        return None
    kind = StratifiedKFold if number is None else StratifiedGroupKFold
    return kind(folds, shuffle=True, random_state=0).split(np.zeros(len(codes)), codes, number)


def cross_fitted(estimator, X, y, codes, fit_params, number=None):
    """Probabilities of each row by a model that has not seen it; None where a label has too few rows."""
    if is_frozen(estimator):
        return np.asarray(estimator.predict_proba(X))
    found = fold_models(estimator, X, y, codes, fit_params, number)
    return None if found is None else found[0]


def fold_models(estimator, X, y, codes, fit_params, number=None):
    """The same, and the models, each fitted without a fold; None where a label has too few rows."""
    folds = _folds(codes, number)
    if folds is None:
        return None
    X, y = indexable(X, y)
    p, models = np.empty((len(codes), len(np.unique(codes)))), []
    for train, test in folds:
        made = clone(estimator)
        models.append(made)
        made.fit(_safe_indexing(X, train), _safe_indexing(y, train), **{name: _of_rows(value, train, len(codes)) for name, value in fit_params.items()})
        p[test] = np.asarray(made.predict_proba(_safe_indexing(X, test)))
    return p, models


def _of_rows(value, rows, n):
    """What is given for each row, of some rows; anything else stays."""
    if isinstance(value, (str, dict)) or not (hasattr(value, "__len__") or hasattr(value, "__array__")):
        return value
    (value,) = indexable(value)
    return _safe_indexing(value, rows) if len(value) == n else value


def estimate(p, codes, weights, number=None):
    """The design by the predictions p [rows][classes] of rows that the models have not seen; None: they do not tell it. number: rows of
    the same one are one in the standard errors."""
    n, k = p.shape
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    w = w / w.sum()
    y = np.eye(k)[codes]
    q = w @ y
    with np.errstate(divide="ignore"):
        log_p = np.log(p)
    shift = np.zeros(k)

    def moved(shift):
        made = log_p + shift
        made = np.exp(made - made.max(axis=1, keepdims=True))
        return made / made.sum(axis=1, keepdims=True)

    def residual(shift):
        return w @ moved(shift) - q

    for _ in range(200):
        there = moved(shift)
        gradient = (w @ there - q)[1:]
        curvature = (np.diag(w @ there) - (there * w[:, None]).T @ there)[1:, 1:]
        if not np.isfinite(curvature).all() or np.linalg.cond(curvature) > 1e12 or np.diag(curvature).min() < 1e-6:
            return None
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while size > 1e-8 and np.abs(residual(shift - np.r_[0, size * step])).max() > np.abs(gradient).max():
            size /= 2
        shift = shift - np.r_[0, size * step]
        if np.abs(residual(shift)).max() < 1e-10:
            break
    if np.abs(residual(shift)).max() > 1e-6:
        return None
    there = moved(shift)
    curvature = (np.diag(w @ there) - (there * w[:, None]).T @ there)[1:, 1:]
    means = (y * w[:, None]).T @ there / np.where(q > 0, q, 1)[:, None]
    scores = (w[:, None] * (there - y @ means))[:, 1:]  # the labels' numbers are given: what varies is within them
    if number is not None:
        scores = np.stack([np.bincount(number, column) for column in scores.T], axis=1)
    inverse = np.linalg.inv(curvature)
    covariance = inverse @ (scores.T @ scores) @ inverse
    shares = q * np.exp(-shift)
    return Design(shares / shares.sum(), np.r_[0, np.sqrt(np.diag(covariance))])


def apart(one, other):
    """The differences between log(shares[k] / shares[0]) of two designs, k > 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.log(one / one[0]) - np.log(other / other[0])
    return np.abs(gap[1:])


def learn(estimator, X, y, codes, classes, weights, fit_params, only_estimate=False, repeated=None):
    """The design of a fitted estimator, by its parameters and by what it does: (Design or None, the estimate that contradicts it
    or None). estimator: as `chosen` gives it, cloned for cross-fitting. repeated: of `repetitions`."""
    rows, said = by_rows(codes, classes, weights), None if only_estimate else by_parameters(estimator, codes, classes, weights)
    number = None if repeated is None else repeated.number
    if len(classes) < 2 or (said is not None and not is_in_doubt(estimator, weights, repeated)):
        return Design(rows if said is None else said), None
    fit_params = {name: value for name, value in fit_params.items() if name != "groups"}
    p = cross_fitted(estimator, X, y, codes, fit_params, number)
    found = None if p is None else estimate(p, codes, weights, number)
    if only_estimate or found is None:
        return found if said is None else Design(said), None
    if said is None:
        plain = not is_frozen(estimator) and not _weights_visible(estimator) and (apart(found.shares, rows) <= 2 * found.se[1:]).all()
        return (Design(rows) if plain else found), None
    gap = apart(found.shares, said)
    contradicted = ((gap > 3 * found.se[1:]) & (gap > 0.25)).any()
    return Design(said), found if contradicted else None


def miscalibrated(fitted, X, codes, weights, design):
    """Whether probabilities of its own training rows, of 10,000 at most, are off on average once they are moved from the design to
    the labels' proportions: (their mean, the proportions); None where they agree. The probabilities are then those of no design."""
    (X,) = indexable(X)
    rows = np.unique(np.linspace(0, len(codes) - 1, min(len(codes), 10_000)).astype(int))
    p = np.asarray(fitted.predict_proba(_safe_indexing(X, rows)))
    weights = None if weights is None else np.asarray(weights)[rows]
    codes = codes[rows]
    if np.bincount(codes, weights, minlength=p.shape[1]).min() == 0:
        return None
    there = by_rows(codes, range(p.shape[1]), weights)
    p = p * (there / design)
    mean = np.average(p / p.sum(axis=1, keepdims=True), axis=0, weights=weights)
    if not (mean > 0).all():
        return None
    chance = 3 * np.sqrt((1 / there[1:] + 1 / there[0]) / len(codes))
    return (mean, there) if (apart(mean, there) > np.maximum(chance, 0.4)).any() else None
