"""Identities of the commands that evaluate and adjust: metrics, populations, cross-validation."""
import json
import os

import numpy as np

import command as commands
import tables
from tables import Table


def probabilities(random, rows, classes=2, ties=False):
    scores = random.normal(size=(rows, classes)) * 1.5
    if ties:
        scores = np.round(scores)
    p = tables.softmax(scores)
    y = np.array([random.choice(classes, p=q) for q in p])
    y[:classes] = np.arange(classes)
    table = Table({f"p__{k}": [float(v) for v in p[:, k]] for k in range(classes)})
    return table.adding("y", [int(v) for v in y]).adding("w", [int(v) for v in random.integers(1, 4, rows)])


def prevalence(random, classes):
    return tables.prevalence_text(random, classes)


def bent(random, rows):
    """A table on which no linear model is adequate, so that several priors are chosen."""
    x = random.normal(size=(rows, 2))
    risks = 1 / (1 + np.exp(1 - 1.2 * x[:, 0] ** 2 - 0.8 * x[:, 0] * x[:, 1]))
    y = [int(v) for v in random.random(rows) < risks]
    return Table({"x0": [float(v) for v in x[:, 0]], "x1": [float(v) for v in x[:, 1]], "y": y})


class Evaluation:
    def __init__(self, battery, seed):
        self.battery, self.seed = battery, seed
        self.random = np.random.default_rng([seed, 20])
        self.command = battery.command

    def place(self, name, table):
        path = os.path.join(self.battery.folder, name + ".csv")
        table.write(path)
        return path

    def ask(self, *words):
        return commands.answer_of(self.command, *words, "--threads", "1")

    def same(self, relation, title, one, other, tolerance, tolerance_of=lambda path, values: None):
        if self.battery.options.only and self.battery.options.only not in f"{relation} of {title}":
            return
        self.battery.take(title, self.seed, relation, commands.compare(one, other, tolerance, tolerance_of), one)

    @staticmethod
    def but(*names):
        """Values that are not compared, by the first part of their path."""
        return lambda path, values: "skip" if path[0] in names or path[-1] in names else None

    def metrics(self):
        for classes in (2, 3):
            for ties in (False, True):
                title = f"eval, {classes} labels" + (", ties" if ties else "")
                table = probabilities(self.random, 200, classes, ties)
                words = ["--outcome", "y", "--from", prevalence(self.random, classes), "--bootstrap", "0"]
                one = self.ask("eval", "--probs", self.place("a", table), *words, "--weights", "w")
                order = self.random.permutation(len(table))
                other = self.ask("eval", "--probs", self.place("b", table.take(order)), *words, "--weights", "w")
                self.same("rows permuted", title, one, other, 1e-10)
                rows = [i for i, w in enumerate(table.columns["w"]) for _ in range(w)]
                other = self.ask("eval", "--probs", self.place("b", table.take(rows).without("w")), *words)
                self.same("counts as rows", title, one, other, 1e-10, self.but("rows", "weights"))
                front = table.ordered(["w", "y"] + [name for name in table.columns if name.startswith("p__")])
                other = self.ask("eval", "--probs", self.place("b", front), *words, "--weights", "w")
                self.same("columns reordered", title, one, other, 1e-10)
        table = probabilities(self.random, 200).adding("c", [int(v) for v in self.random.integers(0, 40, 200)])
        table = table.adding("alone", [f"r{i}" for i in self.random.permutation(200)])
        words = ["--outcome", "y", "--bootstrap", "50"]
        rows = self.ask("eval", "--probs", self.place("a", table), *words)
        self.same("clusters of one row", "eval", rows, self.ask("eval", "--probs", self.place("a", table), *words, "--cluster", "alone"), 0.0)
        one = self.ask("eval", "--probs", self.place("a", table), *words, "--cluster", "c", "--weights", "w")
        named = table.replace(c=[f"k{(7 * v + 3) % 40}" for v in table.columns["c"]])
        other = self.ask("eval", "--probs", self.place("b", named), *words, "--cluster", "c", "--weights", "w")
        self.same("clusters relabelled", "eval", one, other, 0.0)
        rows = [i for i, w in enumerate(table.columns["w"]) for _ in range(w)]
        other = self.ask("eval", "--probs", self.place("b", table.take(rows)), *words, "--cluster", "c")
        self.same("counts as rows", "eval, clusters", one, other, 1e-8, self.but("rows", "weights", "verdict"))
        table = probabilities(self.random, 200)
        turned = Table({"p__a": table.columns["p__1"], "p__b": table.columns["p__0"], "y": ["ba"[v] for v in table.columns["y"]]})
        one = self.ask("eval", "--probs", self.place("a", table), "--outcome", "y", "--bootstrap", "0")
        other = self.ask("eval", "--probs", self.place("b", turned), "--outcome", "y", "--bootstrap", "0")
        kept = {"auc", "log_loss", "brier", "accuracy", "mcc", "ece", "informedness", "calibration_slope"}
        self.same("positive label swapped", "eval", one, other, 1e-10, lambda path, values: None if path[0] == "metrics" and path[1] in kept else "skip")

    def populations(self):
        for classes in (2, 3):
            table = probabilities(self.random, 100, classes).without("y", "w")
            here, there = prevalence(self.random, classes), prevalence(self.random, classes)
            title = f"adjust, {classes} labels"

            def adjusted(name, path, *words):
                code, out, err = self.command("adjust", path, *words, "--quiet", "-o", os.path.join(self.battery.folder, name))
                text = open(os.path.join(self.battery.folder, name), encoding="utf-8").read() if code == 0 else ""
                return commands.Answer(code, commands.read_predictions(text) if text else {}, err)

            start = self.place("a", table)
            adjusted("b.csv", start, "--from", here, "--to", there)
            back = adjusted("c.csv", os.path.join(self.battery.folder, "b.csv"), "--from", there, "--to", here)
            base = commands.Answer(0, {("predicted", name, i): v for name, column in table.columns.items() for i, v in enumerate(column)})
            self.same("there and back", title, base, back, 1e-12, lambda path, values: "skip" if path[1] == "decision__" else None)
            order = list(self.random.permutation(len(table)))
            plain = self.ask("adjust", start, "--from", here, "--to", "unknown", "-o", os.path.join(self.battery.folder, "u.csv"))
            mixed = self.ask("adjust", self.place("b", table.take(order)), "--from", here, "--to", "unknown", "-o", os.path.join(self.battery.folder, "u.csv"))
            self.same("rows permuted", title + ", unknown", plain, mixed, 1e-8)
            counts = [int(v) for v in self.random.integers(1, 4, len(table))]
            weighted = self.ask("adjust", self.place("b", table.adding("w", counts)), "--from", here, "--to", "unknown", "--weights", "w",
                                "-o", os.path.join(self.battery.folder, "u.csv"))
            rows = [i for i, w in enumerate(counts) for _ in range(w)]
            repeated = self.ask("adjust", self.place("b", table.take(rows)), "--from", here, "--to", "unknown", "-o", os.path.join(self.battery.folder, "u.csv"))
            self.same("counts as rows", title + ", unknown", weighted, repeated, 1e-8, self.but("rows"))

    def models(self):
        """predict --population known:P is adjust; people are predicted alone as together; cross-validation under other names."""
        folder = self.battery.folder
        case = tables.make(self.random, "by label", "ig", "map", "linear")
        data, people = self.place("data", case.table), self.place("people", case.people)
        model = os.path.join(folder, "a.model")
        self.command("fit", data, *case.words(), "--quiet", "-o", model)
        there = prevalence(self.random, len(case.labels))

        def predicted(*words):
            code, out, err = self.command(*words, "--quiet")
            return commands.Answer(code, commands.read_predictions(out) if code == 0 else {}, err)

        self.command("predict", model, people, "--quiet", "-o", os.path.join(folder, "p.csv"))
        marginal = json.loads(self.command("summary", model, "--json")[1])["marginal"]  # the optimiser's, not quite as stated
        here = ",".join(f"{label}={share!r}" for label, share in marginal.items())
        moved = predicted("adjust", os.path.join(folder, "p.csv"), "--from", here, "--to", there)
        self.same("known prevalence as adjust", "predict", predicted("predict", model, people, "--population", "known:" + there), moved, 1e-12,
                  lambda path, values: "skip" if path[1] == "row" else None)
        together = predicted("predict", model, people)
        for i in (0, len(case.people) - 1):
            alone = predicted("predict", model, self.place("one", case.people.take([i])))
            part = commands.Answer(0, {(p, c, 0): v for (p, c, at), v in together.values.items() if at == i})
            self.same("people alone", "predict", part, alone, 0.0)
        words = ["--bootstrap", "0", "--folds", "4"]
        table = tables.plain(self.random, 120, category=False)
        one = self.ask("cv", self.place("a", table), "--outcome", "y", "--prevalence", "0.1", *words)
        named = table.replace(y=["no" if v == 0 else "yes" for v in table.columns["y"]])
        other = self.ask("cv", self.place("b", named), "--outcome", "y", "--prevalence", "0.1", *words)
        self.same("labels renamed", "cv", one, other, 0.0, lambda path, values: None if path[0] == "metrics" else "skip")
        other = self.ask("cv", self.place("b", table.replace(x0=[4 * v for v in table.columns["x0"]])), "--outcome", "y", "--prevalence", "0.1", *words)
        self.same("columns times powers of two", "cv", one, other, 1e-8, lambda path, values: None if path[0] == "metrics" else "skip")
        other = self.ask("cv", self.place("b", table.ordered(reversed(list(table.columns)))), "--outcome", "y", "--prevalence", "0.1", *words)
        self.same("columns reordered", "cv", one, other, 1e-8, lambda path, values: None if path[0] == "metrics" else "skip")

    def folds(self):
        """Folds are a property of the rows: of neither their order, nor the columns', nor how people are counted."""
        words = ["--outcome", "y", "--prevalence", "0.02"]
        for title, more, make in (("fit --prior auto", ["--prior", "auto"], bent), ("fit of a network", ["--model", "mlp:2", "--max-iter", "3"], bent)):
            table = make(self.random, 80)
            one = self.ask("fit", self.place("a", table), *words, *more)
            chosen = self.but() if "auto" in more else lambda path, values: None if path[0] == "prior" else "skip"
            for _ in range(3):
                other = self.ask("fit", self.place("b", table.take(self.random.permutation(len(table)))), *words, *more)
                self.same("rows permuted", title, one, other, 1e-8, chosen)
            if "auto" not in more:
                continue
            other = self.ask("fit", self.place("b", table.ordered(["y", "x1", "x0"])), *words, *more)
            self.same("columns reordered", title, one, other, 1e-8)
            counts = table.adding("w", [int(w) for w in self.random.choice([1, 2, 3, 7, 12], len(table))])
            one = self.ask("fit", self.place("a", counts), *words, *more, "--weights", "w")
            rows = [i for i, w in enumerate(counts.columns["w"]) for _ in range(w)]
            other = self.ask("fit", self.place("b", counts.take(rows).without("w")), *words, *more)
            self.same("counts as rows", title, one, other, 1e-8, self.but("rows", "warnings", "notes"))
        table = tables.plain(self.random, 120, category=False)
        groups = [f"g{v}" for v in self.random.integers(0, 25, 120)]
        metrics = lambda path, values: None if path[0] == "metrics" else "skip"
        for title, table, more in (("cv", table, []), ("cv, groups", table.adding("g", groups), ["--group", "g"])):
            one = self.ask("cv", self.place("a", table), *words, *more, "--bootstrap", "0")
            other = self.ask("cv", self.place("b", table.take(self.random.permutation(len(table)))), *words, *more, "--bootstrap", "0")
            self.same("rows permuted", title, one, other, 1e-8, metrics)

    def folds_by_hand(self):
        """The fit of a fold is the fit of its rows; sampling weights have a mean of 1 there as well."""
        table = tables.plain(self.random, 80, category=False)
        half = [int(i >= 40) for i in range(80)]
        table = table.adding("g", half).adding("w", [float(w) * (9.5 if h else 0.5) for w, h in zip(self.random.uniform(0.5, 1.5, 80), half)])
        words = ["--outcome", "y", "--prevalence", "0.05", "--weights", "w", "--weights-are", "sampling", "--group", "g", "--prior", "normal:0.3", "--loss", "iw"]
        folder = self.battery.folder
        self.command("cv", self.place("a", table), *words, "--folds", "2", "--bootstrap", "0", "--quiet", "-o", os.path.join(folder, "out.csv"))
        whole = commands.read_predictions(open(os.path.join(folder, "out.csv"), encoding="utf-8").read())
        for fold in (0, 1):
            inside = [i for i, h in enumerate(half) if h == fold]
            rest = [i for i, h in enumerate(half) if h != fold]
            self.command("fit", self.place("b", table.take(rest)), *words, "--quiet", "-o", os.path.join(folder, "f.model"))
            code, out, err = self.command("predict", os.path.join(folder, "f.model"), self.place("c", table.take(inside)), "--quiet")
            alone = commands.Answer(code, commands.read_predictions(out) if code == 0 else {}, err)
            part = commands.Answer(0, {(p, c, inside.index(at)): v for (p, c, at), v in whole.items() if c.startswith("p__") and at in inside})
            self.same("folds by hand", "cv of sampling weights", part, alone, 1e-6, lambda path, values: None if path[1].startswith("p__") else "skip")

    def all(self):
        self.metrics()
        self.populations()
        self.models()
        self.folds()
        self.folds_by_hand()
