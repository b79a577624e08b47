"""What a fit found: coefficients, odds ratios, draws, the summary, the diagnosis, model files."""

from __future__ import annotations

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
from ._types import Doubles

if TYPE_CHECKING:
    from typing_extensions import Self


class Found:
    """The part of an estimator that says what was found."""

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
        """Of the population that it predicts for, by class; that of the design where none was stated; an inferred one as of the
        last prediction."""
        found = self._population_shares()
        if found is None and "inferred_" not in self.__dict__:
            raise AttributeError("the prevalence is inferred by a prediction, and there was none yet")
        return self.inferred_.value if found is None else found

    def _stated_shares(self):
        found = self._shares("prevalence")
        return self._shares("design") if found is None else found

    @property
    def design_(self) -> Doubles:
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
        """Of `model` "auto": what was mixed, a data frame with the mixture itself as its last row. ``gain`` is the mean log
        score of people of the population whom a fit has not seen, less that of the prevalence alone, ``se`` its standard
        error."""
        rows = self._fitted().candidates
        if not rows:
            raise AttributeError('candidates are those of `model="auto"`')
        columns = {name: [row[i] for row in rows] for i, name in ((1, "weight"), (2, "gain"), (3, "se"))}
        return frame(columns, index=[row[0] for row in rows])

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
        if model.text("model") != "linear":
            raise AttributeError(f"a model {model.text('model')!r} has no coefficients")
        found = self._coefficients()
        return found[:, 0], found[:, 1:]

    def coefficients(self, level: float = 0.95) -> Any:
        """Coefficients with standard errors and intervals: a data frame.

        With a stated prevalence these hold whatever the shape of the risk; ``linear``, ``linear_lo`` and ``linear_hi``
        are the efficient estimate, for a linear model that is right, and ``weighting`` is the share of the weighted
        estimate in the coefficient, where the two are combined. They are NaN where there is one estimate.
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
        """Odds ratios per unit of each feature, with intervals: a data frame. NaN where there is no estimate."""
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
        """Coefficients with their spread, and the prevalences: a text that prints well."""
        return Summary(self, level)

    def diagnose(self) -> list[dict[str, Any]]:
        """Whether the fit is to be trusted, and what to do if not: a list of mappings with the keys check, ok, value,
        text and remedy."""
        with Context(self.threads) as ctx:
            found = self._fitted().checks(ctx)
        for check in found:
            del check["warning"]
            for name in ("text", "remedy"):
                check[name] = in_python(check[name])
        return found

    # ---- files ------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file, as the command's."""
        self._fitted().save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A model file, of the command or of `save`, as a fitted estimator."""
        made = cls()
        made._take(Model.load(path))
        made.model = made._model.text("model")
        return made

    def _take(self, model):
        """A model that was not fitted to arrays: its labels and columns are as its file has them."""
        self._model = model
        plain = [plain_label(label) for label in model.labels]
        written_so = len({type(label) for label in plain}) == 1 and [label_text(label) for label in plain] == list(model.labels)
        self.classes_ = np.unique(plain if written_so else model.labels)
        names = [
            lib.pv_classifier_column(model.handle, i, None).decode()
            for i in range(lib.pv_classifier_columns(model.handle))
        ]
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


def _number(value, missing):
    return missing if np.isnan(value) else f"{value:.4g}"


class Summary:
    """What a fit found; its text is for people, its attributes for programs.

    Attributes
    ----------
    coefficients : DataFrame
        Of linear models: each term's coefficient, its spread and interval, and the odds ratio.
    prevalence, design : dict
        By label.
    references : dict
        The reference level of each category: pandas' categories keep their order, texts are in natural order.
    strata : dict
        Of each column that defines the strata whether it is a feature as well. It is, unless `exclude` takes it out.
    estimate : str or None
        Of linear models with a stated prevalence the estimate in use: "efficient", "weighted" or "combined".
    hausman : float
        The p-value of Hausman's test that the efficient and the weighted estimate agree; NaN where there is none.
    """

    def __init__(self, classifier: Any, level: float) -> None:
        model = classifier._fitted()
        rows, marginal = model.summary(level)
        self.level = level
        self.model, self.loss, self.stop = model.text("model"), model.text("loss"), model.text("stop")
        self.rows = int(model.number("rows"))
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
            ratio = _number(row["odds_ratio"], "NA" if coefficient == "NA" else "")
            bounds = (row["odds_ratio_lo"], row["odds_ratio_hi"])
            interval = "" if np.isnan(bounds).any() else f"{bounds[0]:.4g} to {bounds[1]:.4g}"
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
    "efficient": "efficient, for a linear model that is right",
    "weighted": "weighted, whatever the shape of the risk",
    "combined": "combined term by term; intervals hold whatever the shape of the risk",
}
