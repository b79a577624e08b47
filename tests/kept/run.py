#!/usr/bin/env python3
"""Reads the models, packed tables and checkpoints that each version wrote, and compares with what they gave then (make.py).

usage: TEST_ISA=baseline tests/kept/run.py BUILD/tests/prevail_isa, or tests/kept/run.py PREVAIL foreign|rounding

rounding: the command runs on a machine of the same kind (64 bits, little-endian) that rounds differently. It continues checkpoints, or
rejects them where rounding has changed the data (imputed cells); fits of hidden layers, which have many optima, end within 0.02. foreign: the command runs on another kind of machine than the one that wrote the files (32 bits, big-endian). It must reject
checkpoints, which are for the kind of machine that wrote them, and give the same predictions.
"""

import csv
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def numbers(path):
    """The cells of a file, numbers as such."""
    with open(path, newline="") as stream:
        for row in csv.reader(stream):
            yield [cell if not cell or cell[0] not in "0123456789.-" or len(cell) == 5 else float(cell) for cell in row]


def apart(one, other):
    """The largest difference between the numbers of two files; None where anything else differs."""
    one, other = list(numbers(one)), list(numbers(other))
    if [len(row) for row in one] != [len(row) for row in other]:
        return None
    most = 0.0
    for a, b in zip(sum(one, []), sum(other, [])):
        if isinstance(a, float) and isinstance(b, float) and a - b == a - b:
            most = max(most, abs(a - b))
        elif a != b:
            return None
    return most


class Reader:
    def __init__(self, prevail, mode, version, folder, scratch):
        self.prevail, self.version, self.folder, self.scratch = prevail, version, folder, scratch
        self.foreign, self.rounding = mode == "foreign", mode == "rounding"
        about = self.run("version")
        self.same_version = about.stdout.split()[1] == version
        self.images = "built without images" not in about.stdout

    def run(self, *arguments):
        return subprocess.run([self.prevail, *arguments], cwd=self.folder, capture_output=True, text=True)

    def refuses(self, done, text):
        return "" if done.returncode == 2 and text in done.stderr else f"exit {done.returncode}, not rejected with {text!r}: {done.stderr}"

    def compare(self, case, model, tolerance=None):
        tolerance = tolerance or case["tolerance"]
        made = os.path.join(self.scratch, case["name"] + ".csv")
        data = case.get("data", "new.csv")
        done = self.run("predict", model, data, *case.get("how", ["--id", "id"]), "-o", made, "--quiet")
        if case.get("images") and not self.images:
            return self.refuses(done, "built without networks")
        if done.returncode not in (0, 3):
            return f"exit {done.returncode}: {done.stderr}"
        difference = apart(os.path.join(self.folder, case["name"] + ".csv"), made)
        if difference is None or difference > tolerance:
            return f"other predictions: {difference} apart, at most {tolerance}"
        return ""

    def resume(self, case):
        """In a copy of the folder, as a checkpoint is removed when the work is done."""
        state = os.path.join(self.scratch, case["checkpoint"])
        shutil.copy(os.path.join(self.folder, case["checkpoint"]), state)
        result = os.path.join(self.scratch, case["name"] + ".end")
        at = {case["checkpoint"]: state, case["name"] + ".end": result}
        done = self.run(*[at.get(word, word) for word in case["command"]], "--resume")
        if self.foreign:
            return self.refuses(done, "another kind of machine")
        if not self.same_version:
            return self.refuses(done, "version is")
        if self.rounding and done.returncode == 2:
            return self.refuses(done, "is a checkpoint of a different run: the data is")
        if done.returncode not in (0, 3):
            return f"exit {done.returncode}: {done.stderr}"
        if "continuing from" not in done.stderr:
            return f"began again: {done.stderr}"
        if "judge" not in case:
            return self.compare(case, result, 0.02 if self.rounding else None)
        found = json.loads(done.stdout)
        for key in case["judge"]:
            found = found[key]
        return "" if abs(found - case["value"]) <= case["tolerance"] else f"{found}, and it was {case['value']}"


    def writes(self):
        """On another kind of machine: files are written in the same byte order."""
        made, model = os.path.join(self.scratch, "made.packed"), os.path.join(self.scratch, "made.model")
        done = self.run("pack", "new.csv", "-o", made, "--quiet")
        if done.returncode != 0:
            return f"pack: exit {done.returncode}: {done.stderr}"
        with open(os.path.join(self.folder, "double.packed"), "rb") as then, open(made, "rb") as now:
            if self.same_version and then.read() != now.read():
                return "pack: other bytes"
        done = self.run("fit", "people.csv", "--target", "case", "--features", "age", "--prevalence", "0.02", "-o", model, "--quiet")
        if done.returncode != 0:
            return f"fit: exit {done.returncode}: {done.stderr}"
        with open(model, "rb") as stream:
            magic, sizes, header, payload = stream.read().split(b"\n", 3)
        place = json.loads(header)["arrays"]["prevalence"]["offset"]
        found = struct.unpack_from("<2d", payload, place)
        return "" if found == (0.98, 0.02) else f"fit: a prevalence of {found}"


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["foreign"], ["rounding"]):
        sys.exit(__doc__)
    os.environ["LC_ALL"] = "C"
    prevail, passed, failed = os.path.realpath(sys.argv[1]), 0, 0
    for version in sorted(os.listdir(HERE)):
        folder = os.path.join(HERE, version)
        if not os.path.exists(os.path.join(folder, "cases.json")):
            continue
        with open(os.path.join(folder, "cases.json")) as stream:
            cases = json.load(stream)
        with tempfile.TemporaryDirectory() as scratch:
            reader = Reader(prevail, (sys.argv[2:] or ["same"])[0], version, folder, scratch)
            for case in cases + [{"name": "writing"}] * (reader.foreign or reader.rounding):
                if case["name"] == "writing":
                    wrong = reader.writes()
                elif "checkpoint" in case:
                    wrong = reader.resume(case)
                else:
                    wrong = reader.compare(case, case["model"])
                passed, failed = passed + (not wrong), failed + bool(wrong)
                if wrong:
                    print(f"FAILED: {version}/{case['name']}: {wrong}")
    print(f"{passed} passed, {failed} failed")
    if failed:
        print("The files of a released version must be read for ever. Those of an unreleased one are written by tests/kept/make.py")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
