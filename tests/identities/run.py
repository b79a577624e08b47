#!/usr/bin/python3
"""The metamorphic battery: changes that must not change an answer.

    tests/identities/run.py PREVAIL [--seed N] [--rounds N] [--minutes M] [--only TEXT] [--keep FOLDER] [--verbose]

Each round goes through every combination of design, loss, inference and model (tables.py), makes a random table for it, and
compares its fit and predictions with those of each relation that applies (relations.py). What may differ is in exceptions.py.
--minutes repeats rounds with the next seeds for that long. A finding prints the seed, and --keep has its files.
"""
import argparse
import os
import shutil
import sys
import tempfile
import time

import numpy as np

import command as commands
import exceptions
import relations
import tables
from sources import SOURCES, written_like


def answer(command, case, folder, name):
    """Writes a case and has the command fit it and predict its people."""
    place = os.path.join(folder, name)
    os.makedirs(place, exist_ok=True)
    data, reading = SOURCES[case.source](case.table, os.path.join(place, "data"), command)
    people = None
    if case.people is not None:
        people, _ = SOURCES[case.source](case.people, os.path.join(place, "people"), command)
    for file, table in case.files.items():
        written_like(case.source, table, os.path.join(place, file))
    words = [os.path.join(place, word) if word in case.files else word for word in case.words()]
    predicting = list(case.predicting) + list(reading) + ["--threads", case.options["--threads"]]
    result = commands.fit_and_predict(command, data, words + list(reading), people, os.path.join(place, "model"), predicting)
    result.message = result.message.replace(place, "FOLDER")
    result.values = {path: value.replace(place, "FOLDER") if isinstance(value, str) else value for path, value in result.values.items()}
    with open(os.path.join(place, "command"), "w", encoding="utf-8") as file:
        file.write(" ".join(["prevail fit", data] + [f"'{word}'" if " " in str(word) else str(word) for word in words + list(reading)]) + "\n")
    return result


def rejection(base):
    """The finding, as `compare` returns one, that the command rejects a case."""
    return float("inf"), ("exit code",), "0", f"{base.code} {base.message}"


class Battery:
    def __init__(self, options):
        self.command, self.options = commands.Command(os.path.realpath(options.prevail)), options
        self.passed, self.failed, self.unfinished, self.tried, self.skipped = 0, 0, {}, {}, {}
        self.folder = tempfile.mkdtemp(prefix="identities")

    def report(self, title, seed, relation, found, *names):
        self.failed += 1
        excess, path, one, other = found
        print(f"FAILED: {relation} of {title} (seed {seed}): {'/'.join(map(str, path))} is {one}, and {other}", flush=True)
        if self.options.keep:
            keep = os.path.join(self.options.keep, f"{self.failed:03d}-{relation.replace(' ', '-')}")
            for name in filter(lambda name: os.path.isdir(os.path.join(self.folder, name)), names):
                shutil.copytree(os.path.join(self.folder, name), os.path.join(keep, name), dirs_exist_ok=True)

    def take(self, title, seed, relation, found, base):
        """Counts a comparison. Every case is meant to be accepted: two rejections that agree are a failure."""
        self.tried[relation] = self.tried.get(relation, 0) + 1
        if found:
            self.report(title, seed, relation, found, "base", "other")
        elif base.accepted:
            self.passed += 1
        else:
            self.report(title, seed, relation, rejection(base), "base", "other")

    def case(self, seed, combination):
        title = ", ".join(combination)
        random = np.random.default_rng([seed, *title.encode()])
        case = tables.make(random, *combination)
        base = answer(self.command, case, self.folder, "base")
        if not base.accepted:
            self.report(title, seed, "the fit", rejection(base), "base")
            return
        if base.values.get(("stop",)) not in ("converged", "max_iter"):
            self.unfinished.setdefault(str(base.values.get(("stop",))), []).append(title)
            return
        for name, (relation, tolerance) in relations.RELATIONS.items():
            if self.options.only and self.options.only not in f"{name} of {title}":
                continue
            reason = exceptions.incomparable(name, case)
            if reason:
                self.skipped[f"{name}: {reason}"] = self.skipped.get(f"{name}: {reason}", 0) + 1
                continue
            changed = relation(random, case)
            if changed is None:
                continue
            other, back = changed
            result = answer(self.command, other, self.folder, "other")
            if result.accepted:
                result.values = back(result.values)
            self.take(title, seed, name, commands.compare(base, result, tolerance, exceptions.tolerance_of(name, case)), base)

    def round(self, seed, sizes):
        import evaluation
        import fronts
        import large

        for combination in tables.combinations():
            self.case(seed, combination)
        evaluation.Evaluation(self, seed).all()
        fronts.check(self, seed)
        large.check(self, seed, sizes)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prevail")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    import known
    import large

    battery = Battery(options)
    begin, seed = time.monotonic(), options.seed
    while seed < options.seed + options.rounds or time.monotonic() - begin < 60 * options.minutes:
        sizes = large.SIZES if options.minutes else large.SIZES[seed % 2 :: 2]
        battery.round(seed, sizes)
        seed += 1
    known.check(battery)
    for stop, titles in battery.unfinished.items():
        print(f"SKIPPED [{len(titles)} cases] fits that did not converge: {stop} ({titles[0]})")
    for reason, count in battery.skipped.items():
        print(f"SKIPPED [{count} cases] {reason}")
    if options.verbose:
        for name, count in battery.tried.items():
            print(f"{count:5d} {name}")
        print(f"{battery.command.runs} commands, {time.monotonic() - begin:.0f} s")
    battery.close()
    print(f"{battery.passed} passed, {battery.failed} failed")
    return 0 if battery.failed == 0 and battery.passed > 0 else 1


if __name__ == "__main__":
    sys.modules["run"] = sys.modules["__main__"]
    sys.exit(main())
