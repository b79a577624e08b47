"""The library's own fit as an estimator of scikit-learn's kind."""

from __future__ import annotations

import contextlib
import copy
import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._candidates import Scored, split, terms_with
from ._compat import BaseEstimator, ClassifierMixin, check_features, check_numeric, check_order, check_weights, checked_labels
from ._context import Context
from ._effect import Effect, estimate
from ._errors import ConvergenceWarning, InputError, PrevailWarning
from ._found import Found
from ._frames import encode, frame_names, frame_shape, is_frame, label_texts, positive_index, renamed
from ._labels import classes_and_codes, prevalence_text
from ._model import Model
from ._options import TARGET, WEIGHT, settings_of, source_settings_of
from ._predicting import Predicting
from ._ranks import Ranks
from ._training import Archive, arrays_of, check_classes, duckdb_library, place_of, plain_label, table_of, xgboost_library
from ._types import Label, Prevalence, Rows


class PrevalenceClassifier(Found, Predicting, ClassifierMixin, BaseEstimator):
    """Fits rows that were sampled by class, and predicts probabilities in the population.

    Every option of the command `prevail fit` is a parameter of the same name; `prevail fit --help all` and
    `prevail.options()` describe them. Those below are the most common.

    Parameters
    ----------
    prevalence : float, mapping, sequence, str or None
        The prevalence of the classes in the population. A number is that of the positive class; a text such as
        "0.005-0.02" is an interval. None: the rows are treated as a sample of the population, and `loss` "ig" becomes
        "plain".
    positive : label, optional
        Of two classes, the one that `prevalence` and odds ratios refer to. Default: the larger number, or the one with a
        name such as case, yes, true or malignant, else the last.
    order : sequence of labels, optional
        All labels in order, for `model` "ordinal". Default: numbers by size, texts alphabetically.
    model : str
        "linear", "additive" (a smooth curve for each column), "ordinal", "trees" (boosted, by the package xgboost), "mlp:64,32", or
        for images "convnet" or "inception". "auto": a mixture of models for the best predictions, weighted by cross-validation;
        `candidates_` has the weights.
    candidates : str or list
        For `model` "auto": the models to mix, such as "prevalence,linear,iw,mlp", or "all". A list may also contain scikit-learn
        classifiers, as in ["all", RandomForestClassifier()] or [("forest", RandomForestClassifier())]; a list without texts adds
        them to all of the library's own. They are cross-fitted by unit, and weighted with the others.
    loss : {"ig", "iw", "plain", "matched"}
        "ig": information gain, corrected for the sampling. "iw": class weights. "plain": log-loss, corrected when
        predicting. "matched": conditional likelihood of matched sets.
    infer : {"map", "ml", "laplace", "vi", "hmc", "robust"}
        A point estimate with ("map") or without ("ml") a prior; a posterior ("laplace", "vi", "hmc"); or the weighted
        estimate without a prior ("robust").
    weighting : {"auto", "0", "1"}
        For linear models: the efficient estimate ("0"), the weighted one ("1"), which is valid even if the linear
        model is wrong, or the two combined term by term, with the intervals of the weighted one.
    prior : str
        On slopes, per standard deviation of a column: "usual", "auto", "normal:2.5", "student:4", "laplace:1", "none".
        "usual": normal, with a scale chosen from the rows if there are few rows per slope or weight, else
        "normal:2.5".
    prevalence_n : str or float
        How well the prevalence is known: the number of observations behind it, "known" (exactly), "rows" (as many as
        training rows) or "auto".
    label_error : str or mapping, optional
        How often the labels were recorded wrongly: ``{"sensitivity": "85/100", "specificity": 0.98}``, or ppv and npv.
        Probabilities, counts of a validation study, or intervals such as "0.8-0.9". The model is of the true label.
    missing : {"refuse", "drop", "indicator", "impute"}
        How to treat missing cells.
    terms : str, optional
        Features computed from columns, such as "log(age), ns(dose,3), age:sex".
    offset : str, optional
        A column of X that is added to the log odds with a coefficient of 1.
    strata, matched, group, cluster, id : str, optional
        Columns of X with this role.
    prevalence_by, phase_one : data frame or path, optional
        With strata: the prevalence and share of each (columns prevalence and share), or the counts of the cohort by stratum and
        label: a column count, and a column of labels named y or like the y given to `fit`, as in
        `cohort.groupby(["site", "ill"]).size()`.
    prevalence_odds : float
        A factor for the odds of every prevalence in `prevalence_by`.
    seed : int
        The seed of every random stream.
    threads : int, optional
        The largest number of threads.
    verbose : bool
        Whether to show progress.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    positive_ : object
        The positive class, if there are two.
    coef_, intercept_ : ndarray
        Linear models: coefficients per unit of each column, in the population, of shape (1, n_features) and (1,) for
        two classes, and with a row for each class if there are more.
    odds_ratios_ : DataFrame
        Linear models: the odds ratio of each feature, with its interval.
    prevalence_, design_ : ndarray of shape (n_classes,)
        Label proportions of the population and of the training rows.
    posterior_ : ndarray of shape (draws, n_coefficients) or None
        Posterior draws of the coefficients, the intercept first (matched sets have no intercept).
    stop_ : str
        Why the fit stopped.
    n_iter_ : int
        Steps of the optimiser.
    features_ : list of str
        The columns of the encoded matrix.
    estimators_ : dict
        The classifiers among the candidates, by name, fitted to all rows.

    Examples
    --------
    >>> import numpy as np, prevail
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 400)
    >>> X = rng.normal(size=(800, 2)) + np.outer(y, [1.0, 0.0])
    >>> model = prevail.PrevalenceClassifier(prevalence=0.01).fit(X, y)
    >>> model.coef_.round(1)
    array([[ 1.1, -0. ]])
    >>> bool(model.predict_proba(X[:400])[:, 1].mean() < 0.02)
    True
    """

    def __init__(
        self,
        prevalence: Prevalence | None = None,
        *,
        positive: Label | None = None,
        order: Sequence[Label] | str | None = None,
        model: str = "linear",
        loss: str = "ig",
        iw_total: float = 0.0,
        infer: str = "map",
        prior: str = "usual",
        prevalence_n: str | float = "auto",
        missing: str = "refuse",
        terms: str | Sequence[str] | None = None,
        features: str | Sequence[str] | None = None,
        exclude: str | Sequence[str] | None = None,
        categorical: str | Sequence[str] | None = None,
        reference: str | Mapping[str, str] | None = None,
        collinear: str = "warn",
        constant: str = "drop",
        weights_are: str = "auto",
        offset: str | None = None,
        cluster: str | None = None,
        id: str | None = None,
        group: str | None = None,
        matched: str | None = None,
        strata: str | Sequence[str] | None = None,
        prevalence_by: Any = None,
        prevalence_odds: float = 1.0,
        phase_one: Any = None,
        subcohort: float = 0.0,
        label_error: str | Mapping[str, str | float] | None = None,
        marginal: str = "profile",
        match: str = "none",
        candidates: str | Sequence[Any] = "all",
        weighting: str | int | float = "auto",
        errors: str = "auto",
        intercept_prior: str = "auto",
        batch: str | int = "auto",
        design: str = "balanced",
        population_weight: str = "counted",
        epoch_weight: str = "counted",
        direct: bool = False,
        implementation: str = "2",
        start: str = "prevalence",
        max_iter: int = 1000,
        tolerance: float = 1e-8,
        epochs: int = 50,
        rate: float = 0.0,
        schedule: str = "cosine",
        validation: float = 0.0,
        patience: int = 0,
        auxiliary_rate: float = 0.0,
        auxiliary_sparsity: float = 1e-3,
        draws: int = 2000,
        components: int = 8,
        samples: int = 8,
        steps: int = 500,
        vi_rate: float = 0.0,
        chains: int = 4,
        warmup: int = 1000,
        votes_min: int = 1,
        binarise: float = 0.0,
        spacing: Any = None,
        ready_views: bool = False,
        window: Any = None,
        field: float = 0.0,
        rotate: float = 180.0,
        no_flip: bool = False,
        shift: float = 0.05,
        scale: float = 0.1,
        pretrained: Any = None,
        freeze_low: bool = False,
        seed: int = 1,
        threads: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.prevalence = prevalence
        self.positive = positive
        self.order = order
        self.model = model
        self.loss = loss
        self.iw_total = iw_total
        self.infer = infer
        self.prior = prior
        self.prevalence_n = prevalence_n
        self.missing = missing
        self.terms = terms
        self.features = features
        self.exclude = exclude
        self.categorical = categorical
        self.reference = reference
        self.collinear = collinear
        self.constant = constant
        self.weights_are = weights_are
        self.offset = offset
        self.cluster = cluster
        self.id = id
        self.group = group
        self.matched = matched
        self.strata = strata
        self.prevalence_by = prevalence_by
        self.prevalence_odds = prevalence_odds
        self.phase_one = phase_one
        self.subcohort = subcohort
        self.label_error = label_error
        self.marginal = marginal
        self.match = match
        self.candidates = candidates
        self.weighting = weighting
        self.errors = errors
        self.intercept_prior = intercept_prior
        self.batch = batch
        self.design = design
        self.population_weight = population_weight
        self.epoch_weight = epoch_weight
        self.direct = direct
        self.implementation = implementation
        self.start = start
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.epochs = epochs
        self.rate = rate
        self.schedule = schedule
        self.validation = validation
        self.patience = patience
        self.auxiliary_rate = auxiliary_rate
        self.auxiliary_sparsity = auxiliary_sparsity
        self.draws = draws
        self.components = components
        self.samples = samples
        self.steps = steps
        self.vi_rate = vi_rate
        self.chains = chains
        self.warmup = warmup
        self.votes_min = votes_min
        self.binarise = binarise
        self.spacing = spacing
        self.ready_views = ready_views
        self.window = window
        self.field = field
        self.rotate = rotate
        self.no_flip = no_flip
        self.shift = shift
        self.scale = scale
        self.pretrained = pretrained
        self.freeze_low = freeze_low
        self.seed = seed
        self.threads = threads
        self.verbose = verbose

    # ---- settings ---------------------------------------------------------------------------------------------------

    def _settings(self, ctx, classes, *, weighted, **how):
        scored = self.__dict__.get("_scored")
        return settings_of(
            ctx, self._chosen(scored.columns if scored else ()), _DEFAULTS, classes, weighted=weighted, **how
        )

    def _chosen(self, scores=()):
        """The parameters as the library knows them: classifiers among the candidates are columns of scores."""
        chosen = self.get_params(deep=False)
        chosen["candidates"], estimators = split(self.candidates)
        if estimators and not scores:
            raise InputError("`candidates`: classifiers need X and y; call `fit` with a table and its labels", "usage")
        if scores:
            chosen["terms"] = terms_with(self.terms, scores)
        return chosen

    def _scores(self, X, names, y, classes, codes, weights):
        """The ratios of classifiers among the candidates, by column; empty: there are none."""
        self.__dict__.pop("_scored", None)
        estimators = split(self.candidates)[1]
        if not estimators:
            return {}
        if self.model != "auto" or self.prevalence is None:
            raise InputError('`candidates`: classifiers are mixed by `model="auto"` with a stated `prevalence`; give both', "usage")
        positive = positive_index(classes, self.positive)
        order = np.array([1 - positive, positive]) if len(classes) == 2 else np.arange(len(classes))
        together = self.cluster if self.cluster is not None else self.group
        own = [self.exclude] if isinstance(self.exclude, str) else list(self.exclude or ())
        leave = {str(name) for part in own for name in str(part).split(",")} | {str(part) for part in (self.id, self.group, self.cluster) if part}
        units = None
        if together is not None:
            if together not in names:
                raise InputError(f"`group`, `cluster`: X has no column {together!r}", "usage")
            column = X[together] if is_frame(X) else X[:, names.index(together)]
            units = np.unique(np.asarray(column).astype(str), return_inverse=True)[1]
        self._scored = Scored(estimators, names, classes, order, leave)
        return self._scored.fit(X, np.asarray(y), codes, weights, units, int(self.seed))

    @property
    def estimators_(self) -> dict[str, Any]:
        self._fitted()
        return self._scored.estimators if "_scored" in self.__dict__ else {}

    @property
    def _of_images(self):
        return str(self.model).partition(":")[0] in ("convnet", "inception")

    # ---- fitting ----------------------------------------------------------------------------------------------------

    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None, *, population_sample: Rows | None = None) -> PrevalenceClassifier:
        """Fits.

        Parameters
        ----------
        X : array-like of shape (n, n_features), data frame, or images
            Text and categories of a data frame become indicator columns. For networks of images an array of shape
            (n, height, width) or (n, depth, height, width), or a mapping of arrays ("images", "spacing", "group", ...).
        y : array-like of shape (n,)
            The labels; for images also the readers' votes, of shape (n, readers), with 0 for a missing vote.
        sample_weight : array-like of shape (n,), optional
            Counts, or sampling weights (`weights_are`). A row with weight 0 is ignored.
        population_sample : like X, optional
            Rows of the population with unknown labels.
        """
        if self._of_images:
            return self._fit_images(X, y)
        check_order(X, y=y, sample_weight=sample_weight)
        rows, names, X = self._checked(X, reset=True)
        outcome = getattr(y, "name", None)
        y = checked_labels(y, rows, type(self).__name__)
        weights = check_weights(sample_weight, rows)
        classes, codes = classes_and_codes(y)
        check_classes(classes, codes, weights)
        scores = self._scores(X, names, y, classes, codes, weights)
        with Context(self.threads, self.verbose) as ctx:
            ctx.call("pv_ctx_set_xgboost", xgboost_library())
            table = table_of(ctx, "X", X, names)
            for name, ratio in scores.items():
                table.add_numbers(name, ratio)
            self._add_labels(table, codes, classes)
            if weights is not None:
                if WEIGHT in names:
                    raise InputError(f"X has a column {WEIGHT!r}: rename it, because weights are passed separately", "input")
                table.add_numbers(WEIGHT, weights)
            sample = None
            if population_sample is not None:
                _, sample_names, population_sample = self._checked(population_sample, reset=False)
                sample = table_of(ctx, "population_sample", population_sample, sample_names).handle
            settings = self._settings(ctx, classes, weighted=weights is not None, outcome=outcome)
            self._learn(ctx, "pv_learn_sampled", [table.handle, sample, settings], classes)
        if scores and len(classes) > 2 and list(self._order) != list(range(len(classes))):
            raise InputError("`candidates`: classifiers know the labels in the order of `classes_`; leave `order` out", "usage")
        return self

    def fit_source(
        self,
        source: str | os.PathLike[str],
        target: str,
        *,
        weights: str | None = None,
        memory: int | None = None,
        ranks: Ranks | None = None,
    ) -> PrevalenceClassifier:
        """Fits a table directly from its source, as the command does, without loading it into Python.

        Parameters
        ----------
        source : str or path
            A CSV file, a Parquet file or many ("visits/*.parquet"), a query ("SELECT ... FROM 'visits/*.parquet'"), a
            table of a database, or a packed table: docs/formats.md.
        target : str
            The column with the labels. The others are features, except for `weights`, `exclude` and those of the
            design.
        weights : str, optional
            The column of counts or sampling weights.
        memory : int, optional
            The largest number of bytes of memory; further data are spilled to temporary files.
        ranks : Ranks, optional
            The processes that fit together. All of them make this call with the same arguments and get the same model.
        """
        with Context(self.threads, self.verbose) as ctx:
            ctx.call("pv_ctx_set_duckdb", duckdb_library())
            ctx.call("pv_ctx_set_xgboost", xgboost_library())
            if memory is not None:
                ctx.call("pv_ctx_set_memory", memory, None)
            with ranks.share(ctx) if ranks is not None else contextlib.nullcontext():
                settings = source_settings_of(ctx, self._chosen(), _DEFAULTS, target, weights)
                self.__dict__.pop("_model", None)
                self.__dict__.pop("_scored", None)
                model = Model(ctx.new("pv_learn", encode(os.fspath(source)), settings))
            ctx.resume()
            self._take(model)
            self._warn(ctx)
        return self

    def effect(
        self,
        X: Rows,
        y: Rows,
        sample_weight: Rows | None = None,
        *,
        exposure: str,
        from_: Any = None,
        to: Any = None,
        by: str | None = None,
        at: Mapping[str, Any] | None = None,
        interval: float = 0.95,
    ) -> Effect:
        """How much an exposure changes the risk in the population: a linear model with these parameters is fitted to X and y.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            The rows that were sampled by label.
        exposure : str
            The column of X whose effect is wanted.
        from_, to : value, optional
            The two values that are compared. None: a category's reference level with each other level, the smaller of two numbers
            with the other.
        by : str, optional
            A column of X: the effects in each of its groups as well.
        at : mapping, optional
            Columns that everyone has at these values.
        interval : float
            The level of the intervals.

        Returns
        -------
        Effect
        """
        options = {"exposure": exposure, "from": from_, "to": to, "by": by, "at": at, "interval": interval}
        return estimate(self, X, y, sample_weight, options)

    def _add_labels(self, table, codes, classes):
        if TARGET in table.names:
            raise InputError(f"X has a column {TARGET!r}: remove or rename it, because labels are passed separately", "input")
        table.add_codes(TARGET, codes.astype(np.int32), label_texts(classes))

    def _learn(self, ctx, function, arguments, classes):
        """Fits, and stores the results; after Ctrl-C those so far."""
        self.__dict__.pop("_model", None)
        model = Model(ctx.new(function, *arguments))
        ctx.resume()
        self._model, self.classes_, self._learned_prevalence, self._loaded = model, np.asarray(classes), self.prevalence, False
        self._describe()
        self._warn(ctx)

    def _warn(self, ctx):
        for check in self._model.checks(ctx):
            if check["warning"]:
                ctx.warn(check["warning"], ConvergenceWarning if check["check"] in _CONVERGENCE else PrevailWarning)

    def _describe(self):
        model = self._model
        self._order = place_of(self.classes_, model.labels)
        self.positive_ = self.classes_[self._order[-1]] if len(self.classes_) == 2 else self.classes_[-1]
        self.stop_, self.n_iter_ = model.tree()["stop"], model.tree()["iterations"]
        self.features_ = model.features

    def _checked(self, X, reset):
        """(rows, names of columns, X as it can be used)."""
        if is_frame(X):
            rows, count = frame_shape(X)
            names = frame_names(X)
            if rows == 0:
                raise ValueError(f"Found array with 0 sample(s) (shape={(rows, count)}) while a minimum of 1 is required.")
            check_features(self, names, count, reset)
            names = [str(name) for name in names]
            if reset or names == self._columns:
                self._columns = names
                return rows, names, X
            return rows, self._columns, renamed(X, self._columns)  # fitted to columns without names
        finite = self.missing == "refuse"
        X = check_numeric(X, finite=finite, estimator=self)
        check_features(self, None, X.shape[1], reset)
        if reset:
            self._columns = [f"x{i}" for i in range(X.shape[1])]
        return X.shape[0], self._columns, X

    # ---- images -----------------------------------------------------------------------------------------------------

    def _fit_images(self, X, y):
        arrays = arrays_of(X)
        rows = len(arrays["images"])
        y = np.asarray(y)
        self.__dict__.pop("_scored", None)
        self.n_features_in_ = int(np.prod(arrays["images"].shape[1:]))
        with Context(self.threads, self.verbose) as ctx:
            archive = Archive(ctx, arrays)
            if y.ndim == 2:  # the readers' votes
                classes = np.arange(1, int(y.max()) + 1) if not self.binarise else np.array([0, 1])
                archive.add("votes", y)
                settings = self._settings(ctx, classes, weighted=False)
                ctx.call("pv_settings_set", settings, b"votes", b"votes")
                ctx.call("pv_settings_set", settings, b"outcome", None)
                ctx.call("pv_settings_set", settings, b"positive", None)
                self._learn(ctx, "pv_learn_table", [archive.table(), settings], classes)
                self.classes_ = np.array([plain_label(label) for label in self._model.labels])
                self._describe()
                return self
            y = checked_labels(y, rows, type(self).__name__)
            classes, codes = classes_and_codes(y)
            check_classes(classes, codes, None)
            archive.add("labels", codes.astype(np.int32))
            numbered = copy.copy(self)  # in the file labels are numbers: their places among the classes
            numbered.positive = None if len(classes) != 2 else positive_index(classes, self.positive)
            if self.prevalence is not None and not isinstance(self.prevalence, str):
                text = prevalence_text(self.prevalence, classes, self.positive)
                parts = dict(part.rsplit("=", 1) for part in text.split(","))
                numbered.prevalence = {label_texts(classes).index(label): float(p) for label, p in parts.items()}
            settings = numbered._settings(ctx, np.arange(len(classes)), weighted=False)
            ctx.call("pv_settings_set", settings, b"outcome", b"labels")
            self._learn_numbered(ctx, [archive.table(), settings], classes)
        return self

    def _learn_numbered(self, ctx, arguments, classes):
        self._learn(ctx, "pv_learn_table", arguments, np.arange(len(classes)))
        self.classes_ = np.asarray(classes)
        self.positive_ = self.classes_[self._order[-1]] if len(classes) == 2 else self.classes_[-1]

    # ---- scikit-learn's tags ----------------------------------------------------------------------------------------

    def _more_tags(self):
        return {"allow_nan": self.missing != "refuse", "X_types": ["2darray", "sparse"]}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "refuse"
        tags.input_tags.sparse = True
        return tags


# Checks of a diagnosis that tell whether the optimiser or the sampler converged.
_CONVERGENCE = ("optimiser", "posterior", "rhat", "effective_size", "divergences", "tree_depth")
_DEFAULTS = {name: p.default for name, p in inspect.signature(PrevalenceClassifier.__init__).parameters.items()}
