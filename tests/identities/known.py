"""Defects that are known: each has an input on which it shows. When it no longer does, the battery fails until the entry goes."""
import os

import numpy as np

import command as commands
import tables


def bent(random, rows):
    """A table on which no linear model is adequate."""
    x = random.normal(size=(rows, 2))
    risks = 1 / (1 + np.exp(1 - 1.2 * x[:, 0] ** 2 - 0.8 * x[:, 0] * x[:, 1]))
    y = [int(v) for v in random.random(rows) < risks]
    return tables.Table({"x0": [float(v) for v in x[:, 0]], "x1": [float(v) for v in x[:, 1]], "y": y})


def order_decides(battery, option, path):
    """Whether a choice by cross-validation depends on the order of the rows."""
    random = np.random.default_rng(10)
    table, seen = bent(random, 80), set()
    for _ in range(8):
        file = os.path.join(battery.folder, "order.csv")
        table.write(file)
        answer = commands.answer_of(battery.command, "fit", file, "--target", "y", "--prevalence", "0.02", option, "auto", "--threads", "1")
        seen.add(answer.values.get(path, answer.message))
        table = table.take(random.permutation(len(table)))
    return len(seen) > 1


KNOWN = {
    "row order decides --prior auto": lambda battery: order_decides(battery, "--prior", ("prior",)),
}


def check(battery):
    for name, still in KNOWN.items():
        if battery.options.only and battery.options.only not in name:
            continue
        if still(battery):
            print(f"KNOWN, as expected: {name}")
        else:
            battery.failed += 1
            print(f"FAILED: {name}: this no longer happens; take it out of tests/identities/known.py and exceptions.py")
