"""Runs the command, reads what it answers, and compares two answers number by number."""
import csv
import io
import json
import math
import os
import subprocess

ENVIRONMENT = dict(os.environ, OMP_WAIT_POLICY="passive", LC_ALL="C")


class Command:
    def __init__(self, program):
        self.program, self.runs = program, 0

    def __call__(self, *words, timeout=300):
        self.runs += 1
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, timeout=timeout, env=ENVIRONMENT, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


class Answer:
    """What a command answered: its exit code, its values by their path, and the message if it was rejected."""

    def __init__(self, code, values, message=""):
        self.code, self.values, self.message = code, values, message

    @property
    def accepted(self):
        return self.code in (0, 3)


# Fields in which two runs of the same work may differ: origin, duration, number of steps.
APART = {"seconds", "threads", "ranks", "saved", "model_file", "source", "data", "hash", "iterations", "passes", "file", "version", "files"}


def flatten(value, path=(), into=None):
    into = {} if into is None else into
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in APART:
                flatten(inner, path + (name,), into)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            flatten(inner, path + (at,), into)
    else:
        into[path] = value
    return into


def read_predictions(text):
    """(column, row) -> number or text. Row numbers are not compared: rows may be in another order."""
    rows = list(csv.reader(io.StringIO(text)))
    values = {}
    for at, row in enumerate(rows[1:]):
        for name, cell in zip(rows[0], row):
            if name in ("row", "id"):
                continue
            values[("predicted", name, at)] = cell if name == "decision__" else float(cell)
    return values


def fit_and_predict(command, data, options, people, model, predicting=(), prefix=()):
    """Fits, then predicts `people`; an Answer with the values of both."""
    code, out, err = command("fit", data, *options, "--json", "--quiet", "-o", model, *prefix)
    if code not in (0, 3):
        return Answer(code, {}, err.strip())
    values = flatten(json.loads(out))
    if people is not None:
        predicted, out, err = command("predict", model, people, "--quiet", *predicting, *prefix)
        if predicted != 0:
            return Answer(predicted, {}, "predict: " + err.strip())
        values.update(read_predictions(out))
    return Answer(code, values)


def answer_of(command, *words):
    """The JSON object that a command prints."""
    code, out, err = command(*words, "--json", "--quiet")
    if code not in (0, 3):
        return Answer(code, {}, err.strip())
    return Answer(code, flatten(json.loads(out)))


def digits_aside(text):
    return "".join("#" if c.isdigit() else c for c in text)


def number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def compare(one, other, tolerance, tolerance_of=lambda path, values: None):
    """The worst difference of two answers as (excess, path, value, value); None where there is none. With the tolerance 0 values
    must have the same bits. A tolerance is relative to the larger of 1 and the value; tolerance_of may give a path its own:
    a number, "present" or "skip"."""
    if one.code != other.code:
        return math.inf, ("exit code",), f"{one.code} {one.message}", f"{other.code} {other.message}"
    worst = None

    def found(excess, path, a, b):
        nonlocal worst
        if worst is None or excess > worst[0]:
            worst = (excess, path, a, b)

    for path in one.values.keys() | other.values.keys():
        allowed = tolerance_of(path, one.values)
        if allowed == "skip":
            continue
        allowed = tolerance if allowed is None else allowed
        if path not in one.values or path not in other.values:
            found(math.inf, path, one.values.get(path, "absent"), other.values.get(path, "absent"))
            continue
        if allowed == "present":
            continue
        a, b = one.values[path], other.values[path]
        if number(a) and number(b):
            difference = abs(a - b)
            if not (a == b or difference <= allowed * max(1.0, abs(a), abs(b))):
                found(difference / max(1.0, abs(a), abs(b)), path, a, b)
        elif isinstance(a, str) and isinstance(b, str) and allowed > 0:
            if digits_aside(a) != digits_aside(b):
                found(math.inf, path, a, b)
        elif a != b:
            found(math.inf, path, a, b)
    return worst
