"""Random tables, and the designs, models and inferences that are tried on them."""
import dataclasses

import numpy as np


class Table:
    """Columns by name, in order: arrays of numbers, or lists of texts; None is a missing cell."""

    def __init__(self, columns):
        self.columns = dict(columns)

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def take(self, rows):
        return Table({name: [column[i] for i in rows] for name, column in self.columns.items()})

    def replace(self, **columns):
        return Table({name: columns.get(name, column) for name, column in self.columns.items()})

    def adding(self, name, column):
        return Table({**self.columns, name: column})

    def without(self, *names):
        return Table({name: column for name, column in self.columns.items() if name not in names})

    def ordered(self, names):
        return Table({name: self.columns[name] for name in names})

    def lines(self, separator=",", decimal=".", quote=False):
        columns = [[spelt(cell, decimal, quote) for cell in column] for column in self.columns.values()]
        if len(columns) == 1:  # a blank line is no row
            return [cell or '""' for cell in columns[0]]
        return [separator.join(cells) for cells in zip(*columns)]

    def write(self, path, separator=",", decimal=".", quote=False, end="\n"):
        header = separator.join(f'"{name}"' if quote else name for name in self.columns)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(end.join([header] + self.lines(separator, decimal, quote)) + end)


def spelt(cell, decimal=".", quote=False):
    if cell is None:
        return ""
    if isinstance(cell, (float, np.floating)):
        text = repr(float(cell))
        return text if decimal == "." else text.replace(".", decimal)
    return f'"{cell}"' if quote and isinstance(cell, str) else str(cell)


@dataclasses.dataclass
class Case:
    """A fit: a table, the options, files that options name, and people to predict."""

    name: str
    table: Table
    people: Table
    options: dict
    files: dict
    labels: list
    numeric: list  # feature columns of numbers
    design: str
    model: str
    infer: str
    loss: str
    predicting: tuple = ()
    source: str = "csv"  # how the table and the people are given to the command: a name of sources.py

    def words(self):
        words = []
        for name, value in self.options.items():
            words += [name] if value is None else [name, str(value)]
        return words

    def changed(self, **what):
        copy = dataclasses.replace(self, **what)
        copy.options = dict(copy.options)
        copy.files = dict(copy.files)
        return copy

    def with_options(self, **options):
        """Option names with _ for -; the value False removes the option."""
        copy = self.changed()
        for name, value in options.items():
            name = "--" + name.replace("_", "-")
            if value is False:
                copy.options.pop(name, None)
            else:
                copy.options[name] = value
        return copy

    @property
    def drawn(self):
        """Whether results rest on random draws of parameters."""
        return self.infer in ("laplace", "vi", "hmc")


def softmax(scores):
    e = np.exp(scores - scores.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def plain(random, rows, classes=2, dimensions=None, category=None):
    """A table with numbers x0, x1 ..., perhaps texts c, and labels y. Effects are small, so that no label is separated."""
    dimensions = dimensions or int(random.integers(1, 4))
    x = random.normal(size=(rows, dimensions))
    if random.random() < 0.3:
        x[:, 0] = np.round(2 * x[:, 0])  # ties
    slopes = random.normal(size=(dimensions, classes)) * 0.5
    risks = softmax(x @ slopes)
    y = np.array([random.choice(classes, p=p) for p in risks])
    for label in range(classes):
        y[random.choice(rows, 6, replace=False)] = label
    columns = {f"x{i}": [float(v) for v in x[:, i]] for i in range(dimensions)}
    if category if category is not None else random.random() < 0.4:
        columns["c"] = [("low", "mid", "top")[v] for v in random.permutation(np.arange(rows) % 3)]
    columns["y"] = [int(v) for v in y]
    return Table(columns)


def prevalence_text(random, classes):
    if classes == 2:
        return repr(float(random.choice([0.5, 0.1, 0.01, 0.3])))
    shares = np.maximum(random.dirichlet(np.ones(classes) * 3), 0.02)
    return ",".join(repr(float(v)) for v in shares / shares.sum())


def file_of_strata(random, strata):
    shares = np.maximum(random.dirichlet(np.ones(strata) * 3), 0.05)
    shares /= shares.sum()
    return Table({"s": [f"s{k}" for k in range(strata)], "prevalence": [repr(float(v)) for v in random.uniform(0.05, 0.4, strata)],
                  "share": [float(v) for v in shares]})


# A design adds columns and options to a plain table: (random, table, options, files, loss) -> table.
def by_label(random, table, options, files):
    return table


def counts(random, table, options, files):
    options.update({"--weights": "w", "--weights-are": "counts"})
    return table.adding("w", [int(v) for v in random.integers(1, 5, len(table))])


def sampling(random, table, options, files):
    options.update({"--weights": "w", "--weights-are": "sampling"})
    return table.adding("w", [float(v) for v in random.uniform(0.5, 3, len(table))])


def clusters(random, table, options, files):
    options["--cluster"] = "k"
    return table.adding("k", [f"k{v:03d}" for v in random.permutation(np.arange(len(table)) // 4)])


def cluster_counts(random, table, options, files):
    return counts(random, clusters(random, table, options, files), options, files)


def strata(random, table, options, files):
    number = int(random.integers(2, 4))
    cells = random.permutation(np.arange(len(table)) % number)
    options.pop("--prevalence", None)
    options.update({"--strata": "s", "--prevalence-by": "by.csv"})
    files["by.csv"] = file_of_strata(random, number)
    return table.adding("s", [f"s{v}" for v in cells])


def strata_counts(random, table, options, files):
    return counts(random, strata(random, table, options, files), options, files)


def phase_one(random, table, options, files):
    table = strata(random, table, options, files)
    del files["by.csv"], options["--prevalence-by"]
    options["--phase-one"] = "cohort.csv"
    cells = sorted(set(zip(table.columns["s"], table.columns["y"])))
    had = [sum(1 for cell in zip(table.columns["s"], table.columns["y"]) if cell == wanted) for wanted in cells]
    files["cohort.csv"] = Table({"s": [s for s, _ in cells], "y": [y for _, y in cells],
                                 "count": [n + int(random.integers(20, 300)) for n in had]})
    return table


def subcohort(random, table, options, files):
    options.pop("--prevalence", None)
    options["--subcohort"] = "0.2"
    return table


def matched(random, table, options, files):
    """Sets of one case and two controls."""
    options.pop("--prevalence", None)
    options.update({"--matched": "set", "--loss": "matched"})
    sets = len(table) // 3
    table = table.take(range(3 * sets))
    y = [int(i % 3 == 0) for i in range(3 * sets)]
    return table.replace(y=y).adding("set", [f"set{i // 3:03d}" for i in range(3 * sets)])


def survey(random, table, options, files):
    table = clusters(random, sampling(random, table, options, files), options, files)
    block = {k: f"b{i % 3}" for i, k in enumerate(sorted(set(table.columns["k"])))}
    options.update({"--strata": "b", "--exclude": "b", "--prior": "none", "--intercept-prior": "none"})
    options.pop("--prevalence", None)
    return table.adding("b", [block[k] for k in table.columns["k"]])


def survey_uncorrected(random, table, options, files):
    options["--errors"] = "hc0"
    return survey(random, table, options, files)


def offset(random, table, options, files):
    options["--offset"] = "o"
    return table.adding("o", [float(v) for v in random.normal(size=len(table)) * 0.5])


def missing(random, table, options, files):
    options["--missing"] = str(random.choice(["impute", "indicator", "drop"]))
    gaps = set(random.choice(len(table), 8, replace=False))
    return table.replace(x0=[None if i in gaps else v for i, v in enumerate(table.columns["x0"])])


def terms(random, table, options, files):
    options["--terms"] = "poly(x0,2)" if random.random() < 0.5 else "ns(x0,3)"
    return table.replace(x0=[float(v) for v in random.normal(size=len(table))])


def population_sample(random, table, options, files):
    people = plain(random, 60, dimensions=sum(n.startswith("x") for n in table.columns), category="c" in table.columns).without("y")
    options["--population-sample"] = "sample.csv"
    options.pop("--prevalence", None)
    files["sample.csv"] = people
    return table


def one_estimate(weighting):
    """The efficient (0) or the weighted (1) estimate alone, of one of the designs; the others have auto, which combines them."""
    def make_one(random, table, options, files):
        options["--weighting"] = weighting
        designs = (by_label, counts, sampling, cluster_counts, strata, strata_counts)
        return designs[random.integers(len(designs))](random, table, options, files)

    return make_one


# name: (function, losses, inferences, models). The command rejects all other combinations, which tests/unit covers.
LINEAR = ("map", "ml", "laplace", "robust", "vi", "hmc")
MATRIX = {
    "by label": (by_label, ("ig", "iw", "plain"), LINEAR, ("linear", "ordinal", "mlp")),
    "counts": (counts, ("ig", "iw", "plain"), LINEAR, ("linear", "ordinal", "mlp")),
    "weighting 0": (one_estimate("0"), ("ig",), ("map",), ("linear",)),
    "weighting 1": (one_estimate("1"), ("ig",), ("map", "ml"), ("linear",)),
    "sampling": (sampling, ("ig", "plain"), ("map", "robust"), ("linear",)),
    "clusters": (clusters, ("ig", "plain"), ("map", "robust"), ("linear",)),
    "cluster counts": (cluster_counts, ("ig", "plain"), ("robust",), ("linear",)),
    "strata": (strata, ("ig", "iw"), ("map", "ml", "laplace", "robust"), ("linear", "ordinal")),
    "strata counts": (strata_counts, ("ig", "iw"), ("map", "ml", "laplace", "robust"), ("linear",)),
    "phase one": (phase_one, ("ig", "iw"), ("map", "ml", "laplace", "robust"), ("linear",)),
    "subcohort": (subcohort, ("ig",), ("map", "ml", "laplace", "robust"), ("linear",)),
    "matched": (matched, ("matched",), ("map", "ml"), ("linear",)),
    "survey": (survey, ("plain",), ("robust",), ("linear",)),
    "survey hc0": (survey_uncorrected, ("plain",), ("robust",), ("linear",)),
    "offset": (offset, ("ig", "iw", "plain"), ("map", "ml", "laplace"), ("linear",)),
    "missing": (missing, ("ig", "iw", "plain"), ("map", "laplace"), ("linear",)),
    "terms": (terms, ("ig", "iw", "plain"), ("map", "laplace", "robust"), ("linear",)),
    "population sample": (population_sample, ("ig",), ("map", "laplace"), ("linear",)),
}


def combinations():
    for design, (_, losses, inferences, models) in MATRIX.items():
        for loss in losses:
            for infer in inferences:
                for model in models:
                    if model == "mlp" and infer != "map" or loss == "iw" and infer in ("laplace", "robust", "vi", "hmc"):
                        continue
                    if model == "ordinal" and infer not in ("map", "ml", "laplace"):
                        continue
                    if loss == "plain" and infer == "robust" and model != "linear":
                        continue
                    yield design, loss, infer, model


def make(random, design, loss, infer, model, rows=None):
    """A random case of a combination."""
    make_design = MATRIX[design][0]
    many = design in ("by label", "counts") and model != "linear" or design == "by label" and random.random() < 0.25
    classes = 3 if many and infer not in ("robust",) and random.random() < 0.7 else 2
    rows = rows or int(random.choice([60, 90, 150, 240]))
    if infer == "robust" or classes == 3:
        rows = max(rows, 150)
    table = plain(random, rows, classes)
    options = {"--outcome": "y", "--prevalence": prevalence_text(random, classes), "--loss": loss, "--infer": infer, "--threads": 1,
               "--tolerance": "1e-11", "--model": {"mlp": "mlp:3"}.get(model, model)}
    if model == "mlp":
        options.update({"--max-iter": 4, "--prior": "normal:1"})
    elif infer in ("map", "laplace") and random.random() < 0.5:
        options["--prior"] = str(random.choice(["normal:1", "student:4"]))
    if infer == "hmc":
        options.update({"--warmup": 200, "--draws": 400})
    if infer == "vi":
        options.update({"--steps": 100, "--components": 2, "--draws": 400})
    if infer == "laplace":
        options["--draws"] = 400
    if infer == "ml" and "c" in table.columns:
        table = table.without("c")
    if loss == "plain" and random.random() < 0.5:
        del options["--prevalence"]
    if loss == "ig" and infer in ("map", "ml", "laplace") and design == "by label" and random.random() < 0.3:
        options["--prevalence-n"] = str(random.choice(["100", "rows"]))
    files = {}
    table = make_design(random, table, options, files)
    labels = list(range(classes))
    people = table.take(random.integers(0, len(table), 12)).without("y", "w", "k", "set", "b")
    if design == "missing" and options["--missing"] == "drop":
        people = people.replace(x0=[0.0 if v is None else v for v in people.columns["x0"]])
    numeric = [name for name in table.columns if name.startswith("x")]
    predicting = ("--interval", "0.9") if infer in ("laplace", "robust", "vi", "hmc") else ()
    if loss == "plain" and "--prevalence" not in options:
        predicting += ("--population", "design")
    return Case(f"{design}, {loss}, {infer}, {model}", table, people if design not in ("matched", "survey", "survey hc0") else None, options, files,
                labels, numeric, design, model, infer, loss, predicting)
