"""Tables on both sides of the sizes at which the library goes another way (blocks, subsamples): so many people as counts of a
few hundred rows, which it never divides, and as rows of their own."""
import os

import numpy as np

import command as commands
import tables
from run import answer

SIZES = (8191, 8193, 16383, 16385, 65535, 65537, 131071, 131073)
KINDS = [("by label", "ig", "map"), ("by label", "ig", "robust"), ("by label", "ig", "laplace"), ("by label", "iw", "ml"), ("by label", "plain", "map"),
         ("strata", "ig", "map"), ("strata", "ig", "robust"), ("strata", "iw", "ml"), ("phase one", "ig", "map")]

# Standard errors "for very many rows are those of evenly spaced ones, good to two digits" (fit --help): a subsample is drawn.
SUBSAMPLE = 16384


def tolerance(people, design):
    def find(path, values):
        what, value = str(path[-1]), values.get(path)
        if path[0] in ("rows", "dropped"):
            return "skip"
        if path[0] in ("population", "warnings") and design in ("strata", "phase one") and people > SUBSAMPLE:
            return "skip"  # known.py: adequacy with strata
        if people <= SUBSAMPLE or not isinstance(value, float):
            return "present" if path[0] == "warnings" and people > SUBSAMPLE else None
        if what == "p_value":
            return 0.02
        if what in ("se", "sd", "z") or path[0] == "population":
            return 0.05 * abs(value) + 1e-8
        spread = values.get(path[:-1] + ("se",), values.get(path[:-1] + ("sd",)))
        if what in ("lo", "hi") and spread:
            return 0.1 * spread
        if what == "value" and spread and "sd" in {key[-1] for key in values if key[:-1] == path[:-1]}:
            return 1e-3 * spread  # a mean of draws
        if what == "p" or what.startswith("odds_ratio_"):
            return 0.1 * abs(value)
        if path[0] in ("elbo", "marginal_interval"):
            return 0.05
        if path[0] == "predicted" and path[1].startswith(("lo__", "hi__")):
            label = path[1][4:]
            return 0.05 * (values["predicted", "hi__" + label, path[2]] - values["predicted", "lo__" + label, path[2]])
        if path[0] == "predicted":
            return 1e-6  # the mean over a posterior whose spread is that of the subsample
        return None

    return find


def pair(random, design, loss, infer, people):
    """A case of counts that add up to so many people, and the same case as rows."""
    case = tables.make(random, design, loss, infer, "linear", rows=400)
    case.options.pop("--prevalence-n", None)
    rows = len(case.table)
    weights = 1 + random.multinomial(people - rows, np.full(rows, 1 / rows))
    if "cohort.csv" in case.files:
        cells = {}
        for s, y, w in zip(case.table.columns["s"], case.table.columns["y"], weights):
            cells[s, y] = cells.get((s, y), 0) + int(w)
        keys = sorted(cells)
        case.files["cohort.csv"] = tables.Table({"s": [s for s, _ in keys], "y": [y for _, y in keys],
                                                 "count": [cells[key] * (3 if key[1] else 30) for key in keys]})
    counted = case.changed(table=case.table.adding("w", [int(w) for w in weights])).with_options(weights="w", weights_are="counts")
    order = random.permutation(np.repeat(np.arange(rows), weights))
    return counted, case.changed(table=case.table.take(order))


def check(battery, seed, sizes, kinds=KINDS):
    for size in sizes:
        for design, loss, infer in kinds:
            title = f"{design}, {loss}, {infer}, {size} people"
            if battery.options.only and battery.options.only not in "counts as many rows of " + title:
                continue
            random = np.random.default_rng([seed, *title.encode()])
            counted, rows = pair(random, design, loss, infer, size)
            one, other = answer(battery.command, counted, battery.folder, "base"), answer(battery.command, rows, battery.folder, "other")
            battery.take(title, seed, "counts as many rows", commands.compare(one, other, 1e-8, tolerance(size, design)), one)
