"""What may be changed about a fit without changing what it says, or with a change that is known.

A relation takes a case and returns (changed case, how to read its answer) or None where it does not apply. The reading maps the
changed case's values back to the first case's names and units, so that the two can be compared. EXACT relations leave every
sum as it is: their answers must have the same bits.
"""
import re

import numpy as np

from sources import SOURCES
from tables import Table

EXACT, CLOSE = 0.0, 1e-8


def as_it_is(values):
    return values


def renamed(names):
    """Values whose path has old names where the first case has new ones; a column p__OLD likewise."""
    def word(part):
        if isinstance(part, str):
            for old, new in names.items():
                if part == old:
                    return new
                for prefix in ("p__", "lo__", "hi__"):
                    if part == prefix + old:
                        return prefix + new
                for mark in ("=", ":", "|"):
                    if mark in part and old in part.split(mark):
                        return mark.join(names.get(piece, piece) for piece in part.split(mark))
        return part

    def text(value):
        return re.sub(r"\b(%s)\b" % "|".join(map(re.escape, names)), lambda found: names[found[0]], value)

    return lambda values: {tuple(word(part) for part in path): text(value) if isinstance(value, str) else value
                           for path, value in values.items()}


# ---- rows
def rows_permuted(random, case):
    return case.changed(table=case.table.take(random.permutation(len(case.table)))), as_it_is


def people_permuted(random, case):
    if case.people is None:
        return None
    order = list(random.permutation(len(case.people)))
    place = {at: int(row) for at, row in enumerate(order)}

    def back(values):
        return {(path[0], path[1], place[path[2]]) if path[0] == "predicted" else path: value for path, value in values.items()}

    return case.changed(people=case.people.take(order)), back


def sample_permuted(random, case):
    if not case.files:
        return None
    return case.changed(files={name: table.take(random.permutation(len(table))) for name, table in case.files.items()}), as_it_is


# ---- counts and weights
def has_counts(case):
    return case.options.get("--weights-are") == "counts"


def counts_as_rows(random, case):
    if not has_counts(case):
        return None
    rows = [i for i, w in enumerate(case.table.columns["w"]) for _ in range(w)]
    return case.changed(table=case.table.take(rows).without("w")).with_options(weights=False, weights_are=False), as_it_is


def counts_split(random, case):
    if not has_counts(case):
        return None
    rows, weights = [], []
    for i, w in enumerate(case.table.columns["w"]):
        part = int(random.integers(0, w + 1))
        pieces = [piece for piece in (part, w - part) if piece]
        rows += [i] * len(pieces)
        weights += pieces
    return case.changed(table=case.table.take(rows).replace(w=weights)), as_it_is


def zero_weights(random, case):
    if not has_counts(case):
        return None
    # Rows with weight 0 and the cells of the first rows: they must not affect means and standard deviations.
    more = case.table.take([0, 1, 2])
    more = more.replace(w=[0, 0, 0], **{case.numeric[0]: [50.0, -50.0, 7.0]})
    columns = {name: list(case.table.columns[name]) + list(more.columns[name]) for name in case.table.columns}
    return case.changed(table=Table(columns)), as_it_is


def sampling_scaled(random, case):
    if case.options.get("--weights-are") != "sampling":
        return None
    factor = 2.0 ** int(random.integers(-3, 4)) * 1.25
    return case.changed(table=case.table.replace(w=[factor * w for w in case.table.columns["w"]])), as_it_is


def sampling_split(random, case):
    """A row of a cluster that stands for w people, and two alike in the same cluster that stand for them together. Without a
    prior: sampling weights are scaled to as many people as there are rows. Without the correction for leverage, which is a row's
    own, not a cluster's."""
    if case.design != "survey hc0":
        return None
    rows = [i for i in range(len(case.table)) for _ in range(2)]
    shares = random.uniform(0.2, 0.8, len(case.table))
    weights = [case.table.columns["w"][i // 2] * (shares[i // 2] if i % 2 else 1 - shares[i // 2]) for i in range(len(rows))]
    return case.changed(table=case.table.take(rows).replace(w=[float(w) for w in weights])), as_it_is


def counts_as_cases_and_controls(random, case):
    if not has_counts(case) or len(case.labels) > 2 or case.design != "counts" or case.model != "linear":
        return None
    y, w = case.table.columns["y"], case.table.columns["w"]
    table = case.table.without("y", "w").adding("ill", [n if label else 0 for label, n in zip(y, w)])
    table = table.adding("well", [0 if label else n for label, n in zip(y, w)])
    return case.changed(table=table).with_options(weights=False, weights_are=False, outcome="ill/well"), renamed({"ill": "1", "well": "0"})


# ---- labels
def labels_renamed(random, case):
    if "--votes" in case.options:
        return None
    names = {label: ("Qa", "Qb", "Qc")[label] for label in case.labels}

    def written(table):
        return table.replace(y=[names[label] for label in table.columns["y"]]) if "y" in table.columns else table

    changed = case.changed(table=written(case.table), files={name: written(table) for name, table in case.files.items()})
    if len(case.labels) == 2:
        changed = changed.with_options(positive=names[1])
    return changed, renamed({name: str(label) for label, name in names.items()})


def positive_swapped(random, case):
    if len(case.labels) > 2 or case.model == "ordinal" or case.design in ("matched", "subcohort") or "--prevalence-by" in case.options:
        return None
    options = {"positive": "0"}
    if "--prevalence" in case.options:
        options["prevalence"] = "1=" + case.options["--prevalence"] + ",0=" + repr(1 - float(case.options["--prevalence"]))
    opposite = {"lo": "hi", "hi": "lo", "odds_ratio_lo": "odds_ratio_hi", "odds_ratio_hi": "odds_ratio_lo"}

    def back(values):
        turned = {}
        for path, value in values.items():
            if path[0] == "coefficients":
                if path[-1] in ("value", "lo", "hi", "z") and value is not None:
                    value = -value
                elif path[-1].startswith("odds_ratio") and value is not None:
                    value = 1 / value
                path = path[:-1] + (opposite.get(path[-1], path[-1]),)
            turned[path] = value
        return turned

    changed = case.with_options(**options)
    if "o" in case.table.columns:  # an offset is added to the log odds of the positive label
        changed = changed.changed(table=negated(case.table, "o"), people=negated(case.people, "o"))
    return changed, back


def negated(table, name):
    return table.replace(**{name: [-v for v in table.columns[name]]})


# ---- columns
def columns_reordered(random, case):
    names = list(case.table.columns)
    order = [names[i] for i in random.permutation(len(names))]
    return case.changed(table=case.table.ordered(order)), as_it_is


def term_of(path):
    """The term of a coefficient's path: coefficients / ... / term / what, or term / if_linear / what."""
    return path[-3] if path[-2] == "if_linear" else path[-2]


def scaled(case, factors, shifts):
    """Columns times factors plus shifts. Odds ratios are left out: they have a range of their own."""
    def moved(table):
        return table.replace(**{name: [None if v is None else v * factors[name] + shifts[name] for v in table.columns[name]]
                                for name in case.numeric if name in table.columns})

    def back(values):
        turned = {}
        for path, value in values.items():
            if path[0] == "coefficients" and value is not None:
                name, what = term_of(path), path[-1]
                if name in factors:
                    factor = factors[name]
                    if what in ("value", "se", "sd", "lo", "hi"):
                        value = value * (abs(factor) if what in ("se", "sd") else factor)
                    if factor < 0:
                        path = path[:-1] + ({"lo": "hi", "hi": "lo"}.get(what, what),)
                        value = -value if what == "z" else value
                elif what == "value" and (name == "(Intercept)" or "|" in name):
                    inner = path[path.index(name) + 1 :]
                    slopes = sum(values.get(path[: -1 - len(inner)] + (x, *inner), 0) * shift for x, shift in shifts.items())
                    value += -slopes if "|" in name else slopes
            turned[path] = value
        return turned

    return case.changed(table=moved(case.table), people=case.people and moved(case.people),
                        files={name: moved(table) for name, table in case.files.items()}), back


def columns_doubled(random, case):
    """Other units by a power of two: no digit of a standardised column changes."""
    if case.design == "terms":
        return None
    return scaled(case, {name: 2.0 ** int(random.integers(-6, 7)) for name in case.numeric}, dict.fromkeys(case.numeric, 0.0))


def columns_scaled(random, case):
    if case.design == "terms":
        return None
    factors = {name: float(random.choice([1e-3, 3.0, 1e3])) for name in case.numeric}
    return scaled(case, factors, dict.fromkeys(case.numeric, 0.0))


def columns_negated(random, case):
    if case.design == "terms":
        return None
    return scaled(case, dict.fromkeys(case.numeric, -1.0), dict.fromkeys(case.numeric, 0.0))


def columns_shifted(random, case):
    if case.design == "terms":
        return None
    return scaled(case, dict.fromkeys(case.numeric, 1.0), {name: float(random.choice([1.0, -3.0, 10.0])) for name in case.numeric})


def column_excluded(random, case):
    noise = [float(v) for v in random.normal(size=len(case.table))]
    excluded = ",".join(filter(None, [case.options.get("--exclude"), "noise"]))
    return case.changed(table=case.table.adding("noise", noise)).with_options(exclude=excluded), as_it_is


def levels_renamed(random, case):
    if "c" not in case.table.columns:
        return None
    names = {"low": "l1", "mid": "m2", "top": "t3"}

    def written(table):
        return table.replace(c=[names[v] for v in table.columns["c"]]) if "c" in table.columns else table

    return (case.changed(table=written(case.table), people=case.people and written(case.people),
                         files={name: written(table) for name, table in case.files.items()}),
            renamed({new: old for old, new in names.items()}))


# ---- groups of rows
def groups_renamed(random, case):
    """Names of clusters, matched sets or survey strata in another order."""
    columns = [name for name in ("k", "set", "b") if name in case.table.columns]
    if not columns:
        return None
    table = case.table
    for name in columns:
        old = sorted(set(table.columns[name]))
        new = dict(zip(old, (f"g{i:04d}" for i in random.permutation(len(old)))))
        table = table.replace(**{name: [new[v] for v in table.columns[name]]})
    return case.changed(table=table), as_it_is


def strata_renamed(random, case):
    if "s" not in case.table.columns:
        return None
    names = {"s0": "Adelaide", "s1": "Bergen", "s2": "Cork"}  # words of no message, in the order of the others

    def written(table):
        return table.replace(s=[names[v] for v in table.columns["s"]]) if "s" in table.columns else table

    return (case.changed(table=written(case.table), people=case.people and written(case.people),
                         files={name: written(table) for name, table in case.files.items()}),
            renamed({new: old for old, new in names.items()}))


def one_stratum(random, case):
    """A stratum that holds all rows, and none."""
    if case.design != "by label" or len(case.labels) > 2 or case.infer not in ("map", "ml") or case.loss == "plain" or case.model == "mlp":
        return None
    if "--prevalence-n" in case.options:
        return None
    one = Table({"s": ["all"], "prevalence": [case.options["--prevalence"]], "share": [1]})
    changed = case.changed(table=case.table.adding("s", ["all"] * len(case.table)), files={"by.csv": one},
                           people=case.people.adding("s", ["all"] * len(case.people)))
    changed = changed.with_options(prevalence=False, strata="s", prevalence_by="by.csv", exclude="s")
    return changed, as_it_is


def rows_dropped(random, case):
    """--missing drop, and the rows left out by hand."""
    if case.options.get("--missing") != "drop":
        return None
    kept = [i for i, v in enumerate(case.table.columns["x0"]) if v is not None]
    return case.changed(table=case.table.take(kept)), as_it_is


def labels_as_votes(random, case):
    if case.design not in ("by label", "counts") or case.model != "linear" or case.infer not in ("map", "ml", "laplace"):
        return None
    table = case.table.without("y")
    for label in case.labels:
        table = table.adding(f"v{label}", [int(y == label) for y in case.table.columns["y"]])
    votes = ",".join(f"{label}=v{label}" for label in case.labels)
    return case.changed(table=table).with_options(outcome=False, votes=votes), as_it_is


def offset_shifted(random, case):
    if "--offset" not in case.options:
        return None
    shift = 2.0

    def back(values):
        return {path: value + shift if path[0] == "coefficients" and path[1:] and term_of(path) == "(Intercept)" and path[-1] in ("value", "lo", "hi")
                else value for path, value in values.items()}

    def moved(table):
        return table.replace(o=[v + shift for v in table.columns["o"]])

    return case.changed(table=moved(case.table), people=moved(case.people)), back


# ---- execution
def from_source(name):
    return lambda random, case: (case.changed(source=name), as_it_is)


def on_threads(random, case):
    return case.with_options(threads=3), as_it_is


def in_little_memory(random, case):
    return case.with_options(memory="1M"), as_it_is


# name: (relation, tolerance). A tolerance of 0 requires identical bits.
RELATIONS = {
    "rows permuted": (rows_permuted, CLOSE),
    "people permuted": (people_permuted, EXACT),
    "files permuted": (sample_permuted, CLOSE),
    "counts as rows": (counts_as_rows, CLOSE),
    "counts split": (counts_split, CLOSE),
    "rows of weight 0": (zero_weights, CLOSE),
    "sampling weights scaled": (sampling_scaled, CLOSE),
    "sampling weights split": (sampling_split, CLOSE),
    "cases and controls": (counts_as_cases_and_controls, CLOSE),
    "labels renamed": (labels_renamed, EXACT),
    "positive label swapped": (positive_swapped, CLOSE),
    "columns reordered": (columns_reordered, CLOSE),
    "columns times powers of two": (columns_doubled, CLOSE),
    "columns scaled": (columns_scaled, CLOSE),
    "columns negated": (columns_negated, CLOSE),
    "columns shifted": (columns_shifted, CLOSE),
    "a column excluded": (column_excluded, EXACT),
    "levels renamed": (levels_renamed, EXACT),
    "groups renamed": (groups_renamed, CLOSE),
    "strata renamed": (strata_renamed, CLOSE),
    "one stratum": (one_stratum, CLOSE),
    "rows dropped": (rows_dropped, EXACT),
    "labels as votes": (labels_as_votes, CLOSE),
    "offset shifted": (offset_shifted, CLOSE),
    "three threads": (on_threads, EXACT),
    "little memory": (in_little_memory, EXACT),
    **{f"from {name}": (from_source(name), EXACT) for name in SOURCES if name != "csv"},
}
