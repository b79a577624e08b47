"""Results of a fit: coefficients, odds ratios, draws, the summary, the diagnosis, model files."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ._c import lib
from ._compat import check_is_fitted
from ._context import Context
from ._errors import InputError, in_python
from ._frames import label_text
from ._html import table
from ._judge import frame
from ._model import Model
from ._training import plain_label
from ._types import Doubles, Prevalence

if TYPE_CHECKING:
    from typing_extensions import Self


class Found:
    """The attributes and methods of an estimator that describe the fit."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _fitted(self):
        check_is_fitted(self)
        if self.prevalence is not self._learned_prevalence and not _alike(self.prevalence, self._learned_prevalence):
            raise InputError(
                f"`prevalence` was {self._learned_prevalence!r} when the model was fitted and is now {self.prevalence!r}: call `fit` "
                f"again, or predict for another population with for_population({self.prevalence!r})",
                "usage",
            )
        return self._model

    def _shares(self, name):
        found = self._fitted().shares(name)
        if found is None:
            return None
        made = np.empty_like(found)
        made[self._order] = found
        return made

    @property
    def prevalence_(self) -> Doubles:
        """The prevalence of the target population, by class; that of the design if none was stated; if it is inferred, that
        of the last prediction."""
        found = self._population_shares()
        if found is None and "inferred_" not in self.__dict__:
            raise AttributeError("the prevalence is inferred when rows are predicted: call `predict_proba` first")
        return self.inferred_.value if found is None else found

    def _stated_shares(self):
        found = self._shares("prevalence")
        return self._shares("design") if found is None else found

    @property
    def design_(self) -> Doubles:
        """The label proportions of the training rows, by class."""
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
        """Columns of the matrix as those of X, where these are the features themselves; left-out ones are 0, an offset 1."""
        names = self._columns
        place = {name: i for i, name in enumerate(names)}
        if not all(name in place for name in self.features_):
            return values
        made = np.zeros((values.shape[0], len(names)))
        made[:, [place[name] for name in self.features_]] = values
        offset = self._model.offset
        if offset in place:  # the first class may be the positive one
            made[:, place[offset]] = 1 if self._model.ordinal or self._order[1] == 1 else -1
        return made

    @property
    def candidates_(self) -> Any:
        """For `model` "auto": a data frame of the mixed models, with the mixture itself as its last row. ``gain`` is
        the mean log score of held-out rows in the population, less that of the prevalence alone, ``se`` its standard
        error."""
        rows = self._fitted().candidates
        if not rows:
            raise AttributeError('candidates are those of `model="auto"`')
        columns = {name: [row[i] for row in rows] for i, name in ((1, "weight"), (2, "gain"), (3, "se"))}
        scored = self.__dict__.get("_scored")
        return frame(columns, index=[scored.name_of(row[0]) if scored else row[0] for row in rows])

    @property
    def coef_(self) -> Doubles:
        return self._by_feature(self._linear()[1])

    @property
    def intercept_(self) -> Doubles:
        return self._linear()[0]

    def _linear(self):
        """(intercepts, coefficients); of ordinal models the thresholds, and one row for all labels."""
        model = self._fitted()
        if model.ordinal:
            found = model.coefficients()
            return found[0, : len(self.classes_) - 1], found[:, len(self.classes_) - 1 :]
        if model.tree()["model"] != "linear":
            raise AttributeError(f"a model {model.tree()['model']!r} has no coefficients")
        found = self._coefficients()
        return found[:, 0], found[:, 1:]

    def coefficients(self, level: float = 0.95) -> Any:
        """Coefficients with standard errors and intervals: a data frame.

        With a stated prevalence these do not assume that the linear model is right; ``linear``, ``linear_lo`` and ``linear_hi``
        are the efficient estimate, which assumes that the linear model is right, and ``weighting`` is the proportion
        of the weighted estimate in the coefficient, if the two are combined. They are NaN if there is only one
        estimate.
        """
        self._linear()
        rows = self._model.summary(level)[0]
        columns = {name: [row[name] for row in rows] for name in ("coefficient", "sd", "lo", "hi", "df", "p_value")}
        columns["weighting"] = [row["weighting"] for row in rows]
        for place, name in ((0, "linear"), (2, "linear_lo"), (3, "linear_hi")):
            columns[name] = [row["linear"][place] for row in rows]
        if len(self.classes_) > 2 and not self._model.ordinal:
            columns = {"label": [row["label"] for row in rows], **columns}
        return frame(columns, index=[row["term"] for row in rows])

    @property
    def odds_ratios_(self) -> Any:
        return self.odds_ratios()

    def odds_ratios(self, level: float = 0.95) -> Any:
        """Odds ratios per unit of each feature, with intervals: a data frame. NaN where there is no estimate.

        If a feature is in tiny or huge units, its odds ratio is close to 1, or infinite; `summary` shows that of a power of
        ten of units instead.
        """
        self._linear()
        rows = [row for row in self._model.summary(level)[0] if np.isnan([row["odds_ratio"], row["coefficient"]]).sum() != 1]
        columns = {
            "odds_ratio": [row["odds_ratio"] for row in rows],
            "lo": [row["odds_ratio_lo"] for row in rows],
            "hi": [row["odds_ratio_hi"] for row in rows],
        }
        if len(self.classes_) > 2 and not self._model.ordinal:
            columns = {"label": [row["label"] for row in rows], **columns}
        return frame(columns, index=[row["term"] for row in rows])

    @property
    def posterior_(self) -> Doubles | None:
        draws = self._fitted().draws()
        if draws is None:
            return None
        draws = draws.reshape(len(draws), -1)
        return draws[:, 1:] if self._model.relative else draws

    def summary(self, level: float = 0.95) -> Summary:
        """Printable summary: coefficients with standard errors and intervals, and the prevalences."""
        return Summary(self, level)

    def diagnose(self) -> list[dict[str, Any]]:
        """Checks of the fit, with what to do about problems: a list of mappings with the keys check, ok, value, text
        and remedy."""
        with Context(self.threads) as ctx:
            found = self._fitted().checks(ctx)
        for check in found:
            del check["warning"]
            for name in ("text", "remedy"):
                check[name] = in_python(check[name])
        return found

    # ---- files ------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file, as the command does."""
        self._fitted().save(path)

    def methods(self) -> dict[str, Any]:
        """A methods paragraph for a manuscript, and the items of the TRIPOD+AI checklist that the fit answers.

        Returns
        -------
        dict
            text : the paragraph; parts : its sentences by topic; citation : references; tripod : a list of items, each
            with item (its number), topic, text (None where only the authors can answer) and authors (what is left for
            them, or None).
        """
        return self._fitted().methods()

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        population: str | Prevalence | None = None,
        missing: str = "model",
        unseen: str = "refuse",
        table: str | None = None,
    ) -> dict[str, Any]:
        """Exports the model for use without prevail, and returns a description of its inputs and outputs.

        Parameters
        ----------
        path : path
            The extension determines the language: .onnx (all models), .c or .sql (models of tables).
        population : str, float or mapping, optional
            The population of the probabilities: "true", "design", or a prevalence. None: the prevalence is an input.
        missing : {"model", "refuse", "impute"}
            Rows with missing cells: treated as in training ("model"), no probabilities ("refuse"), or imputed
            ("impute").
        unseen : {"refuse", "other", "missing", "reference"}
            Rows with levels that the training data did not have: no probabilities ("refuse"), or as in `prevail
            predict --unseen`.
        table : str, optional
            SQL: the table with the rows. Default: "data".
        """
        self._fitted()
        place = None if population is None else self._population_text(population)
        return self._model.export(path, {"population": place, "missing": missing, "unseen": unseen, "table": table})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a model file, written by the command or by `save`, as a fitted estimator."""
        made = cls()
        made._take(Model.load(path))
        made.model = made._model.tree()["model"]
        return made

    def _take(self, model):
        """A model that was not fitted to arrays: its labels and columns are as its file has them."""
        self._model = model
        plain = [plain_label(label) for label in model.labels]
        written_so = len({type(label) for label in plain}) == 1 and [label_text(label) for label in plain] == list(model.labels)
        self.classes_ = np.unique(plain if written_so else model.labels)
        names = model.columns
        self.n_features_in_ = len(names)
        self.__dict__.pop("feature_names_in_", None)
        self._columns = [f"x{i}" for i in range(len(names))]
        if set(names) != set(self._columns):  # those of an array, of which an offset comes first
            self.feature_names_in_, self._columns = np.asarray(names, dtype=object), names
        self._learned_prevalence, self._loaded = self.prevalence, True
        self._describe()


def _alike(one, other):
    try:
        return bool(np.all(one == other))
    except (TypeError, ValueError):
        return False


def _odds_unit(estimate, lo, hi):
    """How many units of its column an odds ratio is shown for: 1, or a power of ten if one unit is tiny or huge."""
    bounded = np.isfinite(lo) and np.isfinite(hi)
    size, spread = (max(abs(lo), abs(hi)), (hi - lo) / 4) if bounded else (abs(estimate), 0.0)
    if not 0 < size < np.inf or (size >= 5e-4 and max(abs(estimate), spread) <= 50):
        return 1.0
    return 10.0 ** -round(math.log10(size))


def _bounds_text(lo, hi):
    """With enough digits that bounds near 1 do not look like 1."""
    digits = 4
    while digits < 12 and (f"{lo:.{digits}g}" == "1" or f"{hi:.{digits}g}" == "1") and lo != 1 != hi:
        digits += 1
    return f"{lo:.{digits}g} to {hi:.{digits}g}"


def _number(value, missing):
    return missing if np.isnan(value) else f"{value:.4g}"


class Summary:
    """A summary of a fit, as text for people and attributes for programs.

    Attributes
    ----------
    coefficients : DataFrame
        For linear models: each term's coefficient, standard error, interval and odds ratio.
    prevalence, design : dict
        By label.
    references : dict
        The reference level of each category: pandas' categories keep their order, texts are in natural order.
    strata : dict
        For each column that defines the strata, whether it is also a feature. It is, unless `exclude` removes it.
    estimate : str or None
        For linear models with a stated prevalence, the estimate in use: "efficient", "weighted" or "combined".
    hausman : float
        The p-value of Hausman's test that the efficient and the weighted estimate agree; NaN if there is none.
    """

    def __init__(self, classifier: Any, level: float) -> None:
        model = classifier._fitted()
        rows, marginal = model.summary(level)
        self.level = level
        self.model, self.loss, self.stop, self.rows = (model.tree()[key] for key in ("model", "loss_kind", "stop", "rows"))
        self.references, self.strata = model.references, model.strata
        self.estimate, self.hausman = model.estimate
        labels = model.labels
        stated = model.shares("prevalence")
        self.prevalence = None if stated is None else dict(zip(labels, stated.tolist()))
        self.design = dict(zip(labels, model.shares("design").tolist()))
        self.marginal = dict(zip(labels, marginal))
        self._rows = rows
        self._labelled = len(labels) > 2 and not model.ordinal
        terms = [row["term"] for row in rows]
        names = [name for name in (rows[0] if rows else {}) if name != "term"]
        self.coefficients = frame({name: [row[name] for row in rows] for name in names}, index=terms) if rows else None

    def _head(self):
        """The lines above the coefficients."""
        lines = [f"{self.model}, loss {self.loss}, {self.rows} rows; {self.stop}"]
        for title, given in (("prevalence", self.prevalence), ("design", self.design)):
            if given is not None:
                lines.append(f"{title}: " + ", ".join(f"{label} {share:.4g}" for label, share in given.items()))
        if self.estimate is not None:
            test = "" if np.isnan(self.hausman) else f"; Hausman's test p = {self.hausman:.2g}"
            lines.append(f"estimate: {_ESTIMATES[self.estimate]}{test}")
        if self.strata:
            said = (f"{name} ({'a feature' if feature else 'not a feature'})" for name, feature in self.strata.items())
            lines.append("strata: " + ", ".join(said))
        return lines

    def _cells(self):
        """Term, coefficient, odds ratio and interval, as texts."""
        for row in self._rows:
            coefficient = _number(row["coefficient"], "NA")
            unit = 1.0 if np.isnan(row["odds_ratio"]) else _odds_unit(row["coefficient"], row["lo"], row["hi"])
            with np.errstate(over="ignore"):
                ratio, lo, hi = (np.exp(unit * row[end]) for end in ("coefficient", "lo", "hi"))
            ratio = _number(np.nan if np.isnan(row["odds_ratio"]) else ratio, "NA" if coefficient == "NA" else "")
            interval = "" if np.isnan(row["odds_ratio"]) or np.isnan([lo, hi]).any() else _bounds_text(lo, hi)
            interval += "" if unit == 1 else f" per {unit:.0e} units".replace("e+0", "e").replace("e-0", "e-")
            name = f"{row['label']}: {row['term']}" if self._labelled else row["term"]
            yield name, coefficient, ratio, interval

    def _foot(self):
        if not self.references:
            return []
        return ["reference levels: " + ", ".join(f"{column} {level}" for column, level in self.references.items())]

    def __str__(self) -> str:
        lines, cells = self._head(), list(self._cells())
        width = max([len(row[0]) for row in cells], default=0) + 2
        if cells:
            lines.append(f"{'':{width}}{'coefficient':>12}{'odds ratio':>12}   {100 * self.level:g} % interval")
        for name, coefficient, ratio, interval in cells:
            lines.append(f"{name:{width}}{coefficient:>12}{ratio:>12}   {interval}".rstrip())
        return "\n".join(lines + self._foot())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *notes = self._head()
        heads = ["", "coefficient", "odds ratio", f"{100 * self.level:g} % interval"]
        return table(head, heads, self._cells(), notes + self._foot())


_ESTIMATES = {
    "efficient": "efficient, which assumes that the linear model is right",
    "weighted": "weighted; intervals do not assume that the linear model is right",
    "combined": "combined term by term; intervals do not assume that the linear model is right",
}
