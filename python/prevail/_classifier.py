"""The library's own fit as an estimator of scikit-learn's kind."""

import contextlib
import copy
import ctypes
import inspect
import os
import tempfile
from collections.abc import Mapping

import numpy as np

from . import _c
from ._c import lib
from ._compat import (
    BaseEstimator,
    ClassifierMixin,
    check_features,
    check_is_fitted,
    check_numeric,
    check_weights,
    checked_labels,
)
from ._context import Context
from ._errors import InputError, in_python
from ._frames import (
    Table,
    array_type,
    encode,
    frame_names,
    frame_shape,
    is_frame,
    label_text,
    label_texts,
    numbers,
    positive_index,
)
from ._judge import frame
from ._labels import classes_and_codes, prevalence_text
from ._model import Model, array
from ._population import InferredPrevalence, decide, unknown_options

# Parameters that are no options of a fit.
_OWN = ("threads", "verbose")
# Options of the command that are not parameters: what they name are X, y and sample_weight; and reading files.
NOT_PARAMETERS = {"target", "weights", "images", "votes", "separator", "decimal", "no-header", "na"}
# Defaults that differ from the command's: scikit-learn's estimators accept columns of one value.
OTHER_DEFAULTS = {"constant": "drop"}

_TARGET, _WEIGHT = "y", "sample_weight"


def option_rows():
    """The library's options of a fit: name to (default, help)."""
    with Context() as ctx:
        settings = ctx.new("pv_fit_settings_new", free="pv_settings_free")
        rows = [lib.pv_settings_option(settings, i).contents for i in range(lib.pv_settings_count(settings))]
        return {row.name.decode(): (row.fallback and row.fallback.decode(), row.help.decode()) for row in rows}


def options():
    """What each parameter of `PrevalenceClassifier` that is an option of the command means: name to text."""
    return {
        name.replace("-", "_"): in_python(text)
        for name, (_, text) in option_rows().items()
        if name not in NOT_PARAMETERS
    }


class PrevalenceClassifier(ClassifierMixin, BaseEstimator):
    """Learns from rows whose classes were sampled by design, and predicts in the population.

    Every option of the command `prevail fit` is a parameter of the same name; `prevail fit --help all` and
    `prevail.options()` have their texts. Those below are the ones that most people need.

    Parameters
    ----------
    prevalence : float, mapping, sequence, str or None
        How common the classes are in the population. A number is that of the positive class; a text such as
        "0.005-0.02" is an interval. None: the rows are taken as a sample of the population, and `loss` "ig" becomes
        "plain".
    positive : label, optional
        Of two classes, the one that `prevalence` and odds ratios speak of. Default: the larger number, or the one that
        says so (case, yes, true, malignant, ...), else the last.
    model : str
        "linear", "mlp:64,32", or for images "convnet" or "inception".
    loss : {"ig", "iw", "plain", "matched"}
        Information gain; class weights; log-loss, corrected when predicting; matched sets.
    infer : {"map", "ml", "laplace", "vi", "hmc", "robust"}
        The best parameters, without or with a prior; or a posterior.
    prior : str
        On slopes, per standard deviation of a column: "usual", "normal:2.5", "student:4", "laplace:1", "none".
    prevalence_n : str or float
        How well the prevalence is known: a number of observations, "known", "rows" or "auto".
    missing : {"refuse", "drop", "indicator", "impute"}
        What is done about missing cells.
    terms : str, optional
        Features made of columns: "log(age), ns(dose,3), age:sex".
    strata, matched, group, cluster, id : str, optional
        Columns of X that play such a part.
    prevalence_by, phase_one : data frame or path, optional
        With strata: the prevalence and share of each, or the counts of the cohort.
    seed : int
        Of every random stream.
    threads : int, optional
        The most threads to use.
    verbose : bool
        Whether progress is shown.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    positive_ : object
        The positive class of two.
    coef_, intercept_ : ndarray
        Of linear models, per unit of each column, in the population: of shape (1, n_features) and (1,) for two
        classes, and one row for each of more.
    odds_ratios_ : DataFrame
        Of linear models: each feature's, with its interval.
    prevalence_, design_ : ndarray of shape (n_classes,)
        Of the population and of the rows learned from.
    posterior_ : ndarray of shape (draws, n_coefficients) or None
        Draws of the coefficients, the intercept first.
    stop_ : str
        Why the fit stopped.
    n_iter_ : int
        Steps of the optimiser.
    features_ : list of str
        The columns of the encoded matrix.

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
        prevalence=None,
        *,
        positive=None,
        model="linear",
        loss="ig",
        iw_total=0.0,
        infer="map",
        prior="usual",
        prevalence_n="auto",
        missing="refuse",
        terms=None,
        features=None,
        exclude=None,
        categorical=None,
        reference=None,
        collinear="warn",
        constant="drop",
        weights_are="auto",
        cluster=None,
        id=None,
        group=None,
        matched=None,
        strata=None,
        prevalence_by=None,
        phase_one=None,
        subcohort=0.0,
        marginal="profile",
        match="auto",
        robust="auto",
        intercept_prior="auto",
        batch="auto",
        design="balanced",
        population_weight="counted",
        epoch_weight="counted",
        direct=False,
        implementation="2",
        start="prevalence",
        max_iter=1000,
        tolerance=1e-8,
        epochs=50,
        rate=0.0,
        schedule="cosine",
        validation=0.0,
        patience=0,
        auxiliary_rate=0.0,
        auxiliary_sparsity=1e-3,
        draws=2000,
        components=8,
        samples=8,
        steps=500,
        vi_rate=0.0,
        chains=4,
        warmup=1000,
        votes_min=1,
        binarise=0.0,
        spacing=None,
        ready_views=False,
        window=None,
        field=0.0,
        rotate=180.0,
        no_flip=False,
        shift=0.05,
        scale=0.1,
        pretrained=None,
        freeze_low=False,
        seed=1,
        threads=None,
        verbose=False,
    ):
        self.prevalence = prevalence
        self.positive = positive
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
        self.cluster = cluster
        self.id = id
        self.group = group
        self.matched = matched
        self.strata = strata
        self.prevalence_by = prevalence_by
        self.phase_one = phase_one
        self.subcohort = subcohort
        self.marginal = marginal
        self.match = match
        self.robust = robust
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

    def _settings(self, ctx, classes, files, *, weighted, sampled):
        """The library's settings: what differs from its defaults counts as given."""
        settings = ctx.new("pv_fit_settings_new", free="pv_settings_free")
        chosen = self.get_params(deep=False)
        chosen["prevalence"] = prevalence_text(self.prevalence, classes, self.positive)
        if len(classes) == 2:
            chosen["positive"] = label_text(classes[positive_index(classes, self.positive)])
        elif self.positive is not None:
            positive_index(classes, self.positive)
        if self.prevalence is None and self.loss == "ig" and self.matched is None and not sampled:
            if self.prevalence_by is None and self.phase_one is None and not self.subcohort:
                chosen["loss"] = "plain"
        for name in ("prevalence_by", "phase_one"):
            if chosen[name] is not None and hasattr(chosen[name], "to_csv"):
                chosen[name] = files.write(name, chosen[name])
        chosen["target"] = _TARGET
        chosen["weights"] = _WEIGHT if weighted else None
        for name, value in chosen.items():
            if name in _OWN or value is None:
                continue
            if name in OTHER_DEFAULTS or not _is_default(name, value):
                text = option_text(name, value)
                ctx.call("pv_settings_set", settings, encode(name.replace("_", "-")), encode(text))
        return settings

    @property
    def _of_images(self):
        return str(self.model).partition(":")[0] in ("convnet", "inception")

    # ---- fitting ----------------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None, *, population_sample=None):
        """Fits.

        Parameters
        ----------
        X : array-like of shape (n, n_features), data frame, or images
            Text and categories of a data frame become indicator columns. For networks of images an array of shape
            (n, height, width) or (n, depth, height, width), or a mapping of arrays ("images", "spacing", "group", ...).
        y : array-like of shape (n,)
            The labels; for images also the readers' votes, of shape (n, readers), 0 where there is none.
        sample_weight : array-like of shape (n,), optional
            Counts, or sampling weights (`weights_are`). A row of weight 0 is as one that is not there.
        population_sample : like X, optional
            Rows of the population, their labels unknown.
        """
        if self._of_images:
            return self._fit_images(X, y)
        rows, names, X = self._checked(X, reset=True)
        y = checked_labels(y, rows, type(self).__name__)
        weights = check_weights(sample_weight, rows)
        classes, codes = classes_and_codes(y)
        _check_classes(classes, codes, weights)
        with Context(self.threads, self.verbose) as ctx, _Files() as files:
            table = _table(ctx, "X", X, names)
            self._add_labels(table, codes, classes)
            if weights is not None:
                if _WEIGHT in names:
                    raise InputError(f"X has a column {_WEIGHT!r}: rename it, as weights are given apart", "input")
                table.add_numbers(_WEIGHT, weights)
            sample = None
            if population_sample is not None:
                _, sample_names, population_sample = self._checked(population_sample, reset=False)
                sample = _table(ctx, "population_sample", population_sample, sample_names).handle
            settings = self._settings(ctx, classes, files, weighted=weights is not None, sampled=sample is not None)
            self._learn(ctx, "pv_learn_sampled", [table.handle, sample, settings], classes)
        return self

    def _add_labels(self, table, codes, classes):
        if _TARGET in table.names:
            raise InputError(f"X has a column {_TARGET!r}: take it out or rename it, as the labels are given apart", "input")
        table.add_codes(_TARGET, codes.astype(np.int32), label_texts(classes))

    def _learn(self, ctx, function, arguments, classes):
        """Fits, and takes over what was found; after Ctrl-C what there is by then."""
        self.__dict__.pop("_model", None)
        model = Model(ctx.new(function, *arguments))
        ctx.resume()
        self._model, self.classes_ = model, np.asarray(classes)
        for check in model.checks(ctx):
            if check["warning"]:
                ctx.warn(check["warning"])
        self._describe()

    def _describe(self):
        model = self._model
        self._order = _order(self.classes_, model.labels)
        self.positive_ = self.classes_[self._order[-1]] if len(self.classes_) == 2 else self.classes_[-1]
        self.stop_, self.n_iter_ = model.text("stop"), int(model.number("iterations"))
        self.features_ = model.features

    def _checked(self, X, reset):
        """(rows, names of columns, X as it can be used)."""
        if is_frame(X):
            rows, count = frame_shape(X)
            names = frame_names(X)
            if rows == 0:
                raise ValueError(f"Found array with 0 sample(s) (shape={(rows, count)}) while a minimum of 1 is required.")
            check_features(self, names, count, reset)
            return rows, [str(name) for name in names], X
        finite = self.missing == "refuse"
        X = check_numeric(X, finite=finite, estimator=self)
        check_features(self, None, X.shape[1], reset)
        fitted = getattr(self, "feature_names_in_", None)
        names = [f"x{i}" for i in range(X.shape[1])] if fitted is None else list(fitted)
        return X.shape[0], names, X

    # ---- images -----------------------------------------------------------------------------------------------------

    def _fit_images(self, X, y):
        arrays = _arrays(X)
        rows = len(arrays["images"])
        y = np.asarray(y)
        self.n_features_in_ = int(np.prod(arrays["images"].shape[1:]))
        with Context(self.threads, self.verbose) as ctx, _Files() as files:
            archive = _Archive(ctx, arrays)
            if y.ndim == 2:  # the readers' votes
                classes = np.arange(1, int(y.max()) + 1) if not self.binarise else np.array([0, 1])
                archive.add("votes", y)
                settings = self._settings(ctx, classes, files, weighted=False, sampled=False)
                ctx.call("pv_settings_set", settings, b"votes", b"votes")
                ctx.call("pv_settings_set", settings, b"target", None)
                ctx.call("pv_settings_set", settings, b"positive", None)
                self._learn(ctx, "pv_learn_table", [archive.table(), settings], classes)
                self.classes_ = np.array([_plain(label) for label in self._model.labels])
                self._describe()
                return self
            y = checked_labels(y, rows, type(self).__name__)
            classes, codes = classes_and_codes(y)
            _check_classes(classes, codes, None)
            archive.add("labels", codes.astype(np.int32))
            numbered = copy.copy(self)  # in the file labels are numbers: their places among the classes
            numbered.positive = None if len(classes) != 2 else positive_index(classes, self.positive)
            if self.prevalence is not None and not isinstance(self.prevalence, str):
                text = prevalence_text(self.prevalence, classes, self.positive)
                parts = dict(part.rsplit("=", 1) for part in text.split(","))
                numbered.prevalence = {label_texts(classes).index(label): float(p) for label, p in parts.items()}
            settings = numbered._settings(ctx, np.arange(len(classes)), files, weighted=False, sampled=False)
            ctx.call("pv_settings_set", settings, b"target", b"labels")
            self._learn_numbered(ctx, [archive.table(), settings], classes)
        return self

    def _learn_numbered(self, ctx, arguments, classes):
        self._learn(ctx, "pv_learn_table", arguments, np.arange(len(classes)))
        self.classes_ = np.asarray(classes)
        self.positive_ = self.classes_[self._order[-1]] if len(classes) == 2 else self.classes_[-1]

    # ---- what was found ---------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def _fitted(self):
        check_is_fitted(self)
        return self._model

    def _shares(self, name):
        found = self._fitted().shares(name)
        if found is None:
            return None
        made = np.empty_like(found)
        made[self._order] = found
        return made

    @property
    def prevalence_(self):
        """Of the population, by class; that of the design where none was stated."""
        found = self._shares("prevalence")
        return self._shares("design") if found is None else found

    @property
    def design_(self):
        """The label shares of the rows learned from, by class."""
        return self._shares("design")

    def _coefficients(self):
        """[classes][1 + features_], in the order of the classes; the first label's, the reference, are 0."""
        found = self._fitted().coefficients()
        made = np.zeros((len(self.classes_), found.shape[1]))
        made[self._order[1:]] = found
        if len(self.classes_) == 2:  # of the second class against the first, whichever is the positive one
            return (made[1] - made[0])[None, :]
        return made

    def _by_feature(self, values):
        """Columns of the matrix as those of X, where these are the features themselves; left-out ones are 0."""
        names = getattr(self, "feature_names_in_", None)
        names = [f"x{i}" for i in range(self.n_features_in_)] if names is None else list(names)
        if not set(self.features_) <= set(names):
            return values
        made = np.zeros((values.shape[0], len(names)))
        made[:, [names.index(name) for name in self.features_]] = values
        return made

    @property
    def coef_(self):
        return self._by_feature(self._linear()[1])

    @property
    def intercept_(self):
        return self._linear()[0]

    def _linear(self):
        """(intercepts, coefficients); of ordinal models the thresholds, and one row for all labels."""
        model = self._fitted()
        if model.ordinal:
            found = model.coefficients()
            return found[0, : len(self.classes_) - 1], found[:, len(self.classes_) - 1 :]
        if model.text("model") != "linear":
            raise AttributeError(f"a model {model.text('model')!r} has no coefficients")
        found = self._coefficients()
        return found[:, 0], found[:, 1:]

    @property
    def odds_ratios_(self):
        return self.odds_ratios()

    def odds_ratios(self, level=0.9):
        """Odds ratios per unit of each feature, with intervals: a data frame."""
        self._linear()
        rows = [row for row in self._model.summary(level)[0] if not np.isnan(row["odds_ratio"])]
        columns = {
            "odds_ratio": [row["odds_ratio"] for row in rows],
            "lo": [row["odds_ratio_lo"] for row in rows],
            "hi": [row["odds_ratio_hi"] for row in rows],
        }
        if len(self.classes_) > 2 and not self._model.ordinal:
            columns = {"label": [row["label"] for row in rows], **columns}
        return frame(columns, index=[row["term"] for row in rows])

    @property
    def posterior_(self):
        draws = self._fitted().draws()
        return None if draws is None else draws.reshape(len(draws), -1)

    def summary(self, level=0.9):
        """Coefficients with their spread, and the prevalences: a text that prints well."""
        return Summary(self, level)

    def diagnose(self):
        """Whether the fit is to be trusted, and what to do if not: a list of mappings with the keys check, ok, value,
        text and remedy."""
        with Context(self.threads) as ctx:
            found = self._fitted().checks(ctx)
        for check in found:
            del check["warning"]
            for name in ("text", "remedy"):
                check[name] = in_python(check[name])
        return found

    # ---- predicting -------------------------------------------------------------------------------------------------

    def _dataset(self, ctx, X):
        if self._of_images:
            table = _Archive(ctx, _arrays(X)).table()
        else:
            _, names, X = self._checked(X, reset=False)
            table = _table(ctx, "X", X, names).handle
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
            shares = prevalence_text(population, self.classes_, self.positive_ if len(places) == 2 else None, "population")
            parts = dict(part.rsplit("=", 1) for part in shares.split(","))
            labels = label_texts(self.classes_)
            return "known:" + ",".join(f"{self._model.labels[list(self._order).index(labels.index(k))]}={p}" for k, p in parts.items())
        positive = self.positive_ if len(self.classes_) == 2 else None
        text = prevalence_text(population, self.classes_, positive, "population")
        return text if text.startswith("known:") else "known:" + text

    def _predict(self, ctx, X, population, level=0.0):
        text = self._population_text(population)
        dataset = self._dataset(ctx, X)
        how = unknown_options(ctx, level or 0.9)
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
            return [self._matrix(said, getattr(said, part)) for part in parts]

    def predict_proba(self, X, population=None):
        """Probabilities in the population, of shape (n, n_classes).

        Parameters
        ----------
        X : as for `fit`
        population : float, mapping, sequence, "true", "design", "unknown" or None
            Default: the one whose prevalence was stated. "unknown": inferred from X.
        """
        return self._said(X, population, "p")[0]

    def predict_log_proba(self, X, population=None):
        """Logarithms of `predict_proba`, without underflow."""
        return self._said(X, population, "log_p")[0]

    def predict_interval(self, X, level=0.9, population=None):
        """(lo, hi) of the probabilities, each of shape (n, n_classes): with a posterior, or for an unknown population."""
        return tuple(self._said(X, population, "lo", "hi", level=level))

    def decision_function(self, X):
        """Log odds of the second class; of more than two the logarithms of the probabilities."""
        log_p = self.predict_log_proba(X)
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    def predict(self, X):
        """The most probable label in the population. Where cases are rare that is seldom them: see `decide`."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def decide(self, X, costs, population=None):
        """The action of least expected cost for each row; `prevail.decide` says how costs are given."""
        return decide(self.predict_proba(X, population), costs, classes=self.classes_)

    def infer_prevalence(self, X, level=0.9):
        """How common the classes are among rows without labels: an `InferredPrevalence`."""
        self._fitted()
        with Context(self.threads) as ctx:
            return self._inferred(self._predict(ctx, X, "unknown", level))

    def for_population(self, population):
        """The same classifier, whose predictions are for another population by default; see `predict_proba`."""
        self._fitted()
        made = copy.copy(self)
        made.population_ = population
        made._population_text(None)
        return made

    # ---- files ------------------------------------------------------------------------------------------------------

    def save(self, path):
        """Writes a model file, as the command's."""
        self._fitted().save(path)

    @classmethod
    def load(cls, path):
        """A model file, of the command or of `save`, as a fitted estimator."""
        made = cls()
        made._model = Model.load(path)
        labels = made._model.labels
        plain = [_plain(label) for label in labels]
        made.classes_ = np.unique(plain if len({type(label) for label in plain}) == 1 else labels)
        names = [
            lib.pv_classifier_column(made._model.handle, i, None).decode()
            for i in range(lib.pv_classifier_columns(made._model.handle))
        ]
        made.n_features_in_ = len(names)
        made.model = made._model.text("model")
        if names != [f"x{i}" for i in range(len(names))]:
            made.feature_names_in_ = np.asarray(names, dtype=object)
        made._describe()
        return made

    # ---- scikit-learn's tags ----------------------------------------------------------------------------------------

    def _more_tags(self):
        return {"allow_nan": self.missing != "refuse"}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "refuse"
        return tags


# ---- pieces ---------------------------------------------------------------------------------------------------------


_DEFAULTS = {name: p.default for name, p in inspect.signature(PrevalenceClassifier.__init__).parameters.items()}


def _is_default(name, value):
    default = _DEFAULTS.get(name)
    return isinstance(value, (str, int, float)) and value == default


def option_text(name, value):
    """The value of a parameter as the text of an option."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value)) if not float(value).is_integer() or abs(value) > 1e15 else str(int(value))
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ",".join(f"{_quoted(str(k))}={_quoted(str(v))}" for k, v in value.items())
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(_quoted(str(item)) for item in value)
    raise InputError(f"{name}={value!r}: give a text or a number", "usage")


def _quoted(name):
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n') else name


def _plain(label):
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(label)
    return label


def _order(classes, labels):
    """The place among the classes of each of the library's labels."""
    place = {text: i for i, text in enumerate(label_texts(classes))}
    return np.array([place[label] for label in labels])


def _check_classes(classes, codes, weights):
    if weights is not None and not (weights > 0).any():
        raise InputError("sample_weight: all weights are zero; give each row that counts a weight above it", "input")
    used = classes if weights is None else classes[np.bincount(codes, weights, len(classes)) > 0]
    if len(used) < 2:
        raise InputError(
            f"This solver needs samples of at least 2 classes in the data, but the data contains only one class: {used[:1]!r}",
            "input",
        )


def _table(ctx, source, X, names):
    if is_frame(X):
        return Table.of_frame(ctx, source, X)
    table = Table(ctx, source, X.shape[0])
    table.add_matrix(names, X)
    return table


def _arrays(X):
    """A mapping of arrays, of which "images" is one."""
    arrays = dict(X) if isinstance(X, Mapping) else {"images": X}
    if "images" not in arrays:
        raise InputError(f"X has no array 'images', only {', '.join(map(str, arrays))}", "input")
    arrays = {name: np.asarray(value) for name, value in arrays.items()}
    for name, value in arrays.items():
        if value.dtype.kind not in "biuf":
            raise InputError(f"the array {name!r} is of {value.dtype}, not of numbers", "input")
    if arrays["images"].ndim not in (3, 4):
        raise ValueError(
            f"images have the shape (n, height, width) or (n, depth, height, width), not {arrays['images'].shape}"
        )
    return arrays


class _Archive:
    """Arrays in the library's memory."""

    def __init__(self, ctx, arrays):
        self.ctx = ctx
        self.handle = ctx.new("pv_archive_new", b"X", free="pv_archive_free")
        for name, value in arrays.items():
            self.add(name, value)

    def add(self, name, value):
        value = np.ascontiguousarray(numbers(value))
        place = ctypes.c_void_p()
        shape = (ctypes.c_size_t * value.ndim)(*value.shape)
        self.ctx.call(
            "pv_archive_add", self.handle, encode(name), array_type(value.dtype), value.ndim, shape, ctypes.byref(place)
        )
        ctypes.memmove(place, value.ctypes.data, value.nbytes)

    def table(self):
        return self.ctx.new("pv_table_of", self.handle, None, free="pv_table_free")


class _Files(contextlib.ExitStack):
    """Data frames that the library reads as files."""

    def write(self, name, data):
        folder = self.enter_context(tempfile.TemporaryDirectory(prefix="prevail-"))
        path = os.path.join(folder, f"{name}.csv")
        data.to_csv(path, index=False)
        return path


class Summary:
    """What a classifier says; its text is for people, its attributes for programs.

    Attributes
    ----------
    coefficients : DataFrame
        Of linear models: each term's coefficient, its spread and interval, and the odds ratio.
    prevalence, design : dict
        By label.
    """

    def __init__(self, classifier, level):
        model = classifier._fitted()
        rows, marginal = model.summary(level)
        self.level = level
        self.model, self.loss, self.stop = model.text("model"), model.text("loss"), model.text("stop")
        self.rows = int(model.number("rows"))
        labels = model.labels
        stated = model.shares("prevalence")
        self.prevalence = None if stated is None else dict(zip(labels, stated.tolist()))
        self.design = dict(zip(labels, model.shares("design").tolist()))
        self.marginal = dict(zip(labels, marginal))
        self._rows = rows
        terms = [row["term"] for row in rows]
        names = [name for name in (rows[0] if rows else {}) if name != "term"]
        self.coefficients = frame({name: [row[name] for row in rows] for name in names}, index=terms) if rows else None

    def __str__(self):
        lines = [f"{self.model}, loss {self.loss}, {self.rows} rows; {self.stop}"]
        for title, given in (("prevalence", self.prevalence), ("design", self.design)):
            if given is not None:
                lines.append(f"{title}: " + ", ".join(f"{label} {share:.4g}" for label, share in given.items()))
        width = max([len(row["term"]) for row in self._rows], default=0) + 2
        if self._rows:
            lines.append(f"{'':{width}}{'coefficient':>12}{'odds ratio':>12}   {100 * self.level:g} % interval")
        for row in self._rows:
            ratio = "" if np.isnan(row["odds_ratio"]) else f"{row['odds_ratio']:.4g}"
            bounds = (row["odds_ratio_lo"], row["odds_ratio_hi"])
            interval = "" if np.isnan(bounds).any() else f"{bounds[0]:.4g} to {bounds[1]:.4g}"
            lines.append(f"{row['term']:{width}}{row['coefficient']:>12.4g}{ratio:>12}   {interval}".rstrip())
        return "\n".join(lines)

    __repr__ = __str__
