"""Estimators of other libraries among the candidates of `model="auto"`.

Each enters as columns of log-likelihood ratios, log p(k|x)/p(0|x) - log d_k/d_0 for the labels k > 0, d being the label
proportions that it has learned from (_design.py). Those of the training rows are cross-fitted: an estimator has not seen the rows
that it scores, nor others of their units. The library mixes them with its own candidates, and finds the weights.
"""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from . import _design
from ._errors import InputError
from ._frames import is_frame, label_texts

_FOLDS, _MANY_UNITS, _MANY_FOLDS = 10, 2000, 5  # as src/infer/stack_folds.c
_LEAST = 1e-12  # the least probability


def split(candidates):
    """(the library's own candidates as text, the estimators by name); a text, or a list of texts, estimators and (name, estimator)."""
    if isinstance(candidates, str):
        return candidates, {}
    if not isinstance(candidates, (list, tuple)):
        raise InputError(f"`candidates`: give a text, or a list of texts and classifiers, not {type(candidates).__name__}", "usage")
    texts, found = [], {}
    for item in candidates:
        if isinstance(item, str):
            texts.append(item)
            continue
        named = isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)
        estimator = item[1] if named else item
        name = item[0] if named else type(_design.last_step(estimator)).__name__
        if isinstance(estimator, type) or not hasattr(estimator, "fit") or not _design.has_probabilities(estimator):
            raise InputError(f"`candidates`: {name} has no `predict_proba`; give a classifier that has one, not yet fitted", "usage")
        if named and name in found:
            raise InputError(f"`candidates`: two are called {name!r}; give them names of their own", "usage")
        number = 2
        while name in found:
            name, number = f"{type(_design.last_step(estimator)).__name__}-{number}", number + 1
        found[name] = estimator
    return ",".join(texts) or "all", found


def terms_with(terms, columns):
    """The parameter `terms`, and a score for each of these columns."""
    given = [] if not terms else [terms] if isinstance(terms, str) else [str(term) for term in terms]
    return ",".join(given + ['score("' + column.replace('"', '""') + '")' for column in columns])


class Scored:
    """Estimators fitted to the training rows, and their log-likelihood ratios for other rows.

    Attributes
    ----------
    estimators : dict
        By name, each fitted to all rows.
    columns : list of str
        What their ratios are called in the library's table: one for each label but the first.
    """

    def __init__(self, candidates, names, classes, order, leave):
        self.candidates, self._order, self._leave = candidates, order, leave
        texts = label_texts(classes)
        self._columns = {
            name: [name] if len(classes) == 2 else [f"{name}: {texts[k]}" for k in order[1:]] for name in candidates
        }
        self.columns = [column for own in self._columns.values() for column in own]
        taken = sorted(set(self.columns) & set(names))
        if taken:
            raise InputError(f"`candidates`: X has a column {taken[0]!r} as well; name the estimator, as in (\"mine\", estimator)", "usage")

    def fit(self, X, y, codes, weights, units, seed):
        """Fits all, and returns their cross-fitted columns."""
        X, made = self._narrowed(X), {}
        self.estimators, self._shares = {}, {}
        folds = _deal(codes, weights, units, seed)
        for name, candidate in self.candidates.items():
            p = np.empty((len(codes), len(self._order)))
            for train, test in folds:
                p[test] = _said(_learned(candidate, name, X, y, weights, train), name, _safe_indexing(X, test), len(self._order))
            self.estimators[name] = _learned(candidate, name, X, y, weights, np.arange(len(codes)))
            self._shares[name] = _shares_of(self.estimators[name], name, p, codes, weights)
            made[name] = p
        return self._ratios(made)

    def name_of(self, candidate):
        """The estimator that the library calls by the first of its columns; others keep their name."""
        return next((name for name, own in self._columns.items() if own[0] == candidate), candidate)

    def score(self, X):
        """The candidates' columns for new rows."""
        X = self._narrowed(X)
        return self._ratios({name: _said(own, name, X, len(self._order)) for name, own in self.estimators.items()})

    def _ratios(self, said):
        found = {}
        for name, p in said.items():
            ratio = np.log(np.clip(p, _LEAST, 1)) - np.log(self._shares[name])
            ratio = (ratio - ratio[:, self._order[:1]])[:, self._order[1:]]
            found.update(zip(self._columns[name], np.ascontiguousarray(ratio.T)))
        return found

    def _narrowed(self, X):
        """Without columns that are not features."""
        if is_frame(X):
            X = X if hasattr(X, "iloc") else X.to_pandas()
            kept = [column for column in X.columns if str(column) not in self._leave]
            return X if len(kept) == len(X.columns) else X[kept]
        kept = [i for i in range(X.shape[1]) if f"x{i}" not in self._leave]
        return X if len(kept) == X.shape[1] else X[:, kept]


def _deal(codes, weights, units, seed):
    """Folds by unit, of the rows with a positive weight; the other rows are in the first fold."""
    rows = np.arange(len(codes)) if weights is None else np.flatnonzero(weights > 0)
    own = rows if units is None else units[rows]
    labels = [len(np.unique(own[codes[rows] == label])) for label in np.unique(codes[rows])]
    folds = min(_FOLDS if len(np.unique(own)) <= _MANY_UNITS else _MANY_FOLDS, *labels)
    if folds < 2:
        raise InputError(
            "`candidates`: estimators are weighted by cross-validation, and there are too few rows: give at least two rows (groups, "
            "clusters) of each label",
            "input",
        )
    kind = (StratifiedKFold if units is None else StratifiedGroupKFold)(folds, shuffle=True, random_state=seed % 2**32)
    made = [(rows[train], rows[test]) for train, test in kind.split(np.zeros(len(rows)), codes[rows], own)]
    if len(rows) < len(codes):
        made[0] = made[0][0], np.r_[made[0][1], np.setdiff1d(np.arange(len(codes)), rows)]
    return made


def _learned(candidate, name, X, y, weights, rows):
    if weights is None:
        return clone(candidate).fit(_safe_indexing(X, rows), _safe_indexing(y, rows))
    rows = rows[weights[rows] > 0]
    last, where = candidate, "sample_weight"
    while _design.steps(last):
        where = f"{_design.steps(last)[-1][0]}__{where}"
        last = _design.steps(last)[-1][1]
    if not has_fit_parameter(last, "sample_weight"):
        raise InputError(f"`candidates`: {name} takes no `sample_weight`; leave it out of the candidates, or the weights", "usage")
    return clone(candidate).fit(_safe_indexing(X, rows), _safe_indexing(y, rows), **{where: weights[rows]})


def _said(fitted, name, X, classes):
    p = np.asarray(fitted.predict_proba(X), dtype=float)
    if p.shape[1] != classes or not np.isfinite(p).all():
        what = f"knows {p.shape[1]} of {classes} labels" if p.shape[1] != classes else "has probabilities that are not finite"
        raise InputError(f"`candidates`: {name} {what}; leave it out", "input")
    return p


def _shares_of(fitted, name, p, codes, weights):
    """The label proportions that an estimator's probabilities are of."""
    from ._adjusted import _own_population

    own = _own_population(fitted)
    if own is not None:
        return own
    classes = np.unique(codes)
    known = _design.by_parameters(_design.chosen(fitted), codes, classes, weights)
    if known is not None:
        return known
    found = _design.estimate(p, codes, weights)
    if found is None:
        raise InputError(
            f"`candidates`: the design that {name} was trained on cannot be determined from its parameters or predictions; give "
            "PrevalenceAdjusted of it, with a prevalence and a design",
            "usage",
        )
    return found.shares
