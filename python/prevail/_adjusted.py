"""Adapts any scikit-learn classifier to predict for the population instead of the training sample."""

from __future__ import annotations

import copy
import warnings
from ctypes import POINTER, c_double
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from . import _design
from ._classifier import PrevalenceClassifier
from ._compat import BaseEstimator, ClassifierMixin, check_is_fitted, check_order, check_weights, checked_labels
from ._context import Context
from ._errors import InputError, PrevailWarning
from ._frames import label_texts, positive_index
from ._labels import classes_and_codes, missing_prevalence, shares
from ._output import FrameOutput
from ._population import Decisions, InferredPrevalence, Probabilities, decide, unknown_options
from ._types import Costs, Doubles, Label, Prevalence, Rows


FEWEST = 20  # training rows of a label that tell how its scores are distributed


def _own_population(fitted):
    """The label proportions for which one of this package's estimators predicts; None for any other estimator."""
    last = _design.fitted_last(fitted)
    if isinstance(last, PrevalenceAdjusted):
        stands = None if _is_word(last.prevalence, "unknown") else last.prevalence_
    elif isinstance(last, PrevalenceClassifier):
        stands = last._population_shares()
    else:
        return None
    if stands is None:
        raise InputError(
            "`estimator` infers the prevalence of each set of rows itself: state its prevalence, or use it alone", "usage"
        )
    return stands


class PrevalenceAdjusted(FrameOutput, ClassifierMixin, BaseEstimator):
    """Corrects a classifier's probabilities for a population whose prevalence differs from that of its training rows.

    Undersampling, oversampling, class weights and case-control designs all shift a classifier's probabilities towards
    the label proportions of its training rows. This wrapper knows these proportions (the design) and corrects the
    probabilities for the stated prevalence.

    Parameters
    ----------
    estimator : estimator
        A classifier with `predict_proba`, or a pipeline that ends in one. `fit` fits a clone of it. A fitted
        classifier can be used without `fit` if `design` is given.
    prevalence : float, mapping, sequence, "unknown" or "design"
        The prevalence of the classes in the population. A number is that of the positive class; a sequence is in the
        order of `classes_`. "unknown": inferred from the rows of each prediction; with two classes the cross-fitted
        scores of the training rows are used too (`fit` keeps the rows for this, and a pickled model has none).
        "design": probabilities are left as they are. It may be changed after fitting, and must be set to predict.
    design : float, mapping, sequence, "estimate" or None
        The label proportions that the estimator was fitted to. "estimate": estimated from its predictions of held-out
        rows (five-fold cross-fitting). None: those of the rows given to `fit` if they are unweighted. If they are
        weighted (`sample_weight`, `class_weight`, `scale_pos_weight`, ...), those given by the parameters, compared with
        the estimate: `fit` raises an error if the two contradict each other. If the parameters do not determine them
        (meta-estimators, resampling pipelines), the estimate. Estimators of this package need no
        design: they know which population they predict for.
    positive : label, optional
        Of two classes, the one that a single number refers to. Default: the larger number, or the one with a name
        such as case, yes, true or malignant, else the last.
    threads : int, optional
        The largest number of threads for inferring the prevalence.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    classes_ : ndarray
        The labels.
    positive_ : object
        The positive class.
    design_ : ndarray of shape (n_classes,)
        The label proportions of the design.
    design_se_ : ndarray of shape (n_classes,)
        Standard errors of log(design_ / design_[0]); 0 if the design is known.
    prevalence_ : ndarray of shape (n_classes,)
        The prevalence of the population; if it is inferred, that of the last prediction.
    inferred_ : InferredPrevalence
        With an unknown prevalence: the prevalence inferred from the rows of the last prediction, with its interval.

    Examples
    --------
    >>> import numpy as np, prevail
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 500)                       # as many cases as controls
    >>> X = rng.normal(size=(1000, 3)) + y[:, None]
    >>> forest = RandomForestClassifier(min_samples_leaf=20, random_state=0)
    >>> model = prevail.PrevalenceAdjusted(forest, prevalence=0.01).fit(X, y)
    >>> model.design_
    array([0.5, 0.5])
    >>> bool(model.predict_proba(X)[:, 1].mean() < 0.1)
    True
    >>> model.for_population(0.2).predict_proba(X[:1]).shape
    (1, 2)
    """

    def __init__(
        self,
        estimator: Any = None,
        prevalence: Prevalence | None = None,
        design: Prevalence | None = None,
        *,
        positive: Label | None = None,
        threads: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.prevalence = prevalence
        self.design = design
        self.positive = positive
        self.threads = threads

    # ---- fitting ----------------------------------------------------------------------------------------------------

    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None, **fit_params: Any) -> PrevalenceAdjusted:
        """Fits a clone of the estimator and learns the design.

        Parameters
        ----------
        X, y
            As the estimator expects them.
        sample_weight : array-like of shape (n,), optional
            Passed to the estimator, and used in the design.
        **fit_params
            Passed to the estimator.
        """
        if self.estimator is None:
            raise InputError("`estimator` is missing: give the classifier to be adjusted", "usage")
        if not _design.has_probabilities(self.estimator):
            raise InputError(
                f"`estimator`: {type(_design.last_step(self.estimator)).__name__} has no `predict_proba`; give a classifier that has "
                "one (SVC with probability=True, say)",
                "usage",
            )
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        check_order(X, y=y, sample_weight=sample_weight)
        labels = checked_labels(y, None, type(self).__name__)
        weights = check_weights(sample_weight, len(labels))
        self._check(np.unique(labels))
        fitted = clone(self.estimator)
        if weights is not None:
            fit_params["sample_weight"] = sample_weight
        self.estimator_ = fitted.fit(X, y, **fit_params)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
            elif hasattr(self, name):
                delattr(self, name)
        self._take_design(X, y, labels, _design.weights_of(weights, fit_params), fit_params)
        self._training = (X, y, labels, fit_params)
        self.__dict__.pop("_fold_models", None)
        return self

    def _check(self, classes):
        """Rejects invalid parameters before any work is done."""
        with Context() as ctx:
            for name in ("design", "prevalence"):
                given = getattr(self, name)
                if given is not None and not _is_word(given, *_WORDS[name]) and len(classes) > 1:
                    shares(ctx, name, given, classes, self.positive)

    def _take_design(self, X, y, labels, weights, fit_params):
        own = _own_population(self.estimator_)
        if own is not None:
            if self.design is not None:
                raise InputError(
                    f"`design`: {type(_design.fitted_last(self.estimator_)).__name__} predicts for a population of its own, "
                    f"{_listed(self.estimator_.classes_, own)}: leave `design` out",
                    "usage",
                )
            self._learned_design = _design.Design(own)
        if own is not None or not (self.design is None or _is_word(self.design, "estimate")):
            return
        classes = self.estimator_.classes_
        _, codes = classes_and_codes(labels, classes)
        estimator = _design.chosen(self.estimator_)
        repeated = None if _design.is_frozen(estimator) else _design.repetitions(X, codes)
        found, behaves = _design.learn(
            estimator, X, y, codes, classes, weights, fit_params, only_estimate=_is_word(self.design, "estimate"), repeated=repeated
        )
        name = type(_design.last_step(estimator)).__name__
        if found is None:
            raise InputError(
                f"the design that {name} was fitted to cannot be determined from its parameters or predictions: state it with "
                "`design`, 0.5 for balanced labels",
                "usage",
            )
        if behaves is not None:
            unseen = f"its predictions of held-out rows are those of a model fitted to {_listed(classes, behaves.shares)}"
            raise InputError(
                f"{name} was asked to weight its labels to {_listed(classes, found.shares)}, but {unseen}: give design=\"estimate\" to "
                "use the latter, or state `design`"
                if repeated is None
                else f"the {repeated.rows} rows of label {label_texts(classes)[repeated.label]} are {repeated.different} distinct rows, repeated: "
                f"{name} has memorised them, and {unseen}. Fit the distinct rows only: the prevalence corrects the imbalance",
                "usage",
            )
        fitted_here = len(classes) > 1 and not _design.is_frozen(estimator)
        off = _design.miscalibrated(self.estimator_, X, codes, weights, found.shares) if fitted_here else None
        if off is not None:
            remedy = "" if found.se.any() else ", or use design=\"estimate\""
            warnings.warn(
                f"the probabilities of {name} are not calibrated: on average they are {_listed(classes, off[0])} for training rows that "
                f"are {_listed(classes, off[1])}. Give CalibratedClassifierCV({name}(...)){remedy}.",
                PrevailWarning,
                stacklevel=3,
            )
        if found.se.max() > 0.3:
            warnings.warn(
                f"the design of {name} is estimated from few rows: {_listed(classes, found.shares)}, with a standard error of "
                f"{found.se.max():.2g} on the log odds. State `design` if it is known.",
                PrevailWarning,
                stacklevel=3,
            )
        self._learned_design = found

    # ---- stated prevalences ------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_") or (self._knows_design() and _is_fitted(self.estimator))

    def _knows_design(self):
        """Of an estimator that was fitted elsewhere."""
        own = isinstance(_design.fitted_last(self.estimator), (PrevalenceAdjusted, PrevalenceClassifier))
        return own if self.design is None else not _is_word(self.design, "estimate")

    def _fitted(self):
        if hasattr(self, "estimator_"):
            return self.estimator_
        if self.estimator is not None and _is_fitted(self.estimator):
            if self._knows_design():
                return self.estimator
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Its estimator is: state the label proportions that it "
                "was trained on with `design`, or call 'fit'"
            )
        check_is_fitted(self)

    @property
    def classes_(self) -> NDArray[Any]:
        return self._fitted().classes_

    @property
    def positive_(self) -> Label:
        classes = self.classes_
        return classes[positive_index(classes, self.positive)]

    @property
    def design_(self) -> Doubles:
        fitted = self._fitted()
        if self.design is None or _is_word(self.design, "estimate"):
            return self._known_design(fitted).shares
        with Context() as ctx:
            return shares(ctx, "design", self.design, fitted.classes_, self.positive)

    def _known_design(self, fitted):
        found = getattr(self, "_learned_design", None)
        return _design.Design(_own_population(fitted)) if found is None else found

    @property
    def design_se_(self) -> Doubles:
        """Standard errors of the logarithms of design_ over its first entry; 0 where the design is known."""
        fitted = self._fitted()
        if self.design is None or _is_word(self.design, "estimate"):
            return self._known_design(fitted).se
        return np.zeros(len(fitted.classes_))

    def _stated(self):
        """An error without a prevalence: using the design's own would silently leave the bias in place."""
        classes = self._fitted().classes_
        if self.prevalence is None and len(classes) > 1:
            raise InputError(
                missing_prevalence("prevalence", classes, self.positive)
                + "; prevalence='unknown' infers it from the rows, and 'design' leaves probabilities as they are",
                "usage",
            )

    @property
    def prevalence_(self) -> Doubles:
        self._stated()
        if _is_word(self.prevalence, "design"):
            return self.design_
        if _is_word(self.prevalence, "unknown"):
            if "inferred_" not in self.__dict__:
                raise AttributeError("the prevalence is inferred when rows are predicted: call `predict_proba` first")
            return self.inferred_.value
        with Context() as ctx:
            return shares(ctx, "prevalence", self.prevalence, self.classes_, self.positive)

    def for_population(self, prevalence: Prevalence | None, X: Rows | None = None) -> PrevalenceAdjusted:
        """The same classifier for another population, without fitting again.

        Parameters
        ----------
        prevalence : float, mapping, sequence, "unknown" or "design"
            As in the constructor. "unknown": inferred from the rows of each prediction.
        X : array-like, optional
            With "unknown": rows of the population, from which the prevalence is inferred at once. It is stored in
            `prevalence_` and `inferred_`, and predictions use it.

        Returns
        -------
        PrevalenceAdjusted
        """
        made = copy.copy(self)
        made.__dict__.pop("inferred_", None)
        made.prevalence = prevalence
        if not _is_word(prevalence, "unknown"):
            made.prevalence_  # noqa: B018 - refuses now what cannot be
        elif X is not None:
            made._proba(X)
            found = made.inferred_
            made.prevalence = dict(zip(found.classes.tolist(), (found.value / found.value.sum()).tolist()))
        return made

    # ---- predicting -------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Rows) -> Any:
        """Probabilities in the population, of shape (n, n_classes)."""
        return self._framed(self._proba(X), X)

    def _proba(self, X):
        fitted = self._fitted()
        self._stated()
        said = np.asarray(fitted.predict_proba(X))
        if len(fitted.classes_) < 2 or _is_word(self.prevalence, "design"):
            return said
        with Context(self.threads) as ctx:
            given = Probabilities(ctx, said, fitted.classes_, self.positive)
            source = np.ascontiguousarray(self.design_[given.order])
            if not _is_word(self.prevalence, "unknown"):
                return given.matrix(given.predict(source, given.shares("prevalence", self.prevalence)).p)
            moved = given.predict(source, "unknown", self._by_reference(ctx, given, source, X))
            self.inferred_ = InferredPrevalence(moved.inferred.contents, given.classes, given.positive, given.order)
            self.inferred_.warn_if_weak()
            return given.matrix(moved.p)

    def __getstate__(self):
        """Without the training rows, which a pickled model must not contain; the models of the folds stay."""
        return {name: value for name, value in super().__getstate__().items() if name != "_training"}

    def _reference(self):
        """(labels of the training rows, their probabilities by models that have not seen them, these models), from which an
        unknown prevalence of two classes is inferred; None if they are not available. The folds are fitted on first use."""
        if "_fold_models" not in self.__dict__:
            X, y, labels, fit_params = self.__dict__.get("_training") or (None,) * 4
            if X is None or len(self.classes_) != 2 or _design.is_frozen(self.estimator) or _own_population(self.estimator_) is not None:
                return None
            _, codes = classes_and_codes(labels, self.classes_)
            if np.bincount(codes, minlength=2).min() < FEWEST:
                return None
            params = {name: value for name, value in fit_params.items() if name != "groups"}
            self._fold_models = (labels, *_design.fold_models(self.estimator, X, y, codes, params))
        return self._fold_models

    def _by_reference(self, ctx, given, source, X):
        """Settings that infer the prevalence of X: from cross-fitted scores of the training rows, if there are any."""
        found = self._reference()
        if found is None:
            return unknown_options(ctx, 0.95)
        labels, p, models = found
        rows = Probabilities(ctx, p, given.classes, given.classes[given.positive], y=labels)
        held = ctx.new("pv_probs_reference", rows.handle, source.ctypes.data_as(POINTER(c_double)), free="pv_reference_free")
        with np.errstate(divide="ignore"):
            ratios = np.array([np.log(np.asarray(model.predict_proba(X))[:, given.order]) - np.log(source) for model in models])
        return unknown_options(ctx, 0.95, held, folds=ratios[:, :, 1] - ratios[:, :, 0])

    def predict_log_proba(self, X: Rows) -> Any:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return self._framed(np.log(self._proba(X)), X)

    def predict(self, X: Rows) -> NDArray[Any]:
        """The most probable label in the population. A rare label seldom is: see `decide`."""
        return self.classes_[self._proba(X).argmax(axis=1)]

    def decide(self, X: Rows, costs: Costs) -> Decisions:
        """The action with the least expected cost for each row; see `prevail.decide` for the costs."""
        return decide(self._proba(X), costs, classes=self.classes_, positive=self.positive)

    def _more_tags(self):
        return _inner_tags(self.estimator)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = getattr(self.estimator, "__sklearn_tags__", None)
        if inner is not None:
            inner = inner()
            tags.input_tags = inner.input_tags
            tags.classifier_tags = inner.classifier_tags or tags.classifier_tags
        return tags


def _inner_tags(estimator):
    try:
        from sklearn.utils._tags import _safe_tags

        tags = _safe_tags(estimator)
    except (ImportError, ValueError):
        return {}
    return {name: tags[name] for name in ("allow_nan", "binary_only", "pairwise", "X_types", "poor_score") if name in tags}


_WORDS = {"prevalence": ("unknown", "design"), "design": ("estimate",)}


def _listed(classes, shares):
    return ", ".join(f"{label} {share:.3g}" for label, share in zip(label_texts(classes), shares))


def _is_word(prevalence, *words):
    return isinstance(prevalence, str) and prevalence in (words or ("unknown", "design"))


def _is_fitted(estimator):
    try:
        check_is_fitted(_design.last_step(estimator))
    except (NotFittedError, TypeError):
        return False
    return hasattr(estimator, "classes_")
