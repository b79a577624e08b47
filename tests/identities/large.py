"""Tables on both sides of the sizes at which the library goes another way (blocks, groups): so many people as counts of a
few hundred rows, which it never divides, and as rows of their own."""
import numpy as np

import command as commands
import tables
from run import answer

SIZES = (8191, 8193, 16383, 16385, 65535, 65537, 131071, 131073)
KINDS = [("by label", "ig", "map"), ("by label", "ig", "robust"), ("by label", "ig", "laplace"), ("by label", "iw", "ml"), ("by label", "plain", "map"),
         ("strata", "ig", "map"), ("strata", "ig", "robust"), ("strata", "iw", "ml"), ("phase one", "ig", "map")]


def rows_apart(path, values):
    return "skip" if path[0] in ("rows", "dropped") else None


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
            battery.take(title, seed, "counts as many rows", commands.compare(one, other, 1e-8, rows_apart), one)
