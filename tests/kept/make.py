#!/usr/bin/env python3
"""Writes the files that every later version must read (run.py): models, packed tables and checkpoints of each kind, and the
predictions that they gave. usage: TEST_ISA=baseline tests/kept/make.py BUILD/tests/prevail_isa

The kernels are those that every x86-64 has: a checkpoint continues to the same numbers everywhere.

They go to tests/kept/VERSION. The files of a released version are never written again. Those of a version that is still
being made are, when a format changes: look at the difference before committing it.
"""

import csv
import json
import math
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def write_rows(name, seed, rows):
    """People with an outcome that depends on age, dose, sex and site; one dose in twenty is missing."""
    rng = random.Random(seed)
    with open(name, "w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow("id age dose sex site visit case grade set weight".split())
        for i in range(rows):
            age, dose, sex, site = rng.randint(20, 80), math.exp(2 * rng.random() - 1), rng.choice("fm"), rng.choice(["north", "south", "Zürich, west"])
            risk = 0.06 * (age - 50) + math.log(dose) + (sex == "m") + (site == "south") - 0.5 + rng.gauss(0, 1.5)
            visit = f"{rng.randint(2020, 2023)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
            table.writerow(
                [f"{i:05}", age, "" if rng.random() < 0.05 else f"{dose:.3f}", sex, site, visit, "yes" if risk > 0 else "no",
                 "low" if risk < -1 else "middle" if risk < 1 else "high", i // 2, f"{0.5 + rng.random():.3f}"]
            )  # fmt: skip


def write_images(name, seed, rows):
    """Discs of 12 by 12 pixels, bright ones of label 1, as a file of arrays."""
    rng = random.Random(seed)
    pixels, labels = bytearray(), bytearray()
    for i in range(rows):
        label = i % 2
        labels += struct.pack("<b", label)
        for y in range(12):
            for x in range(12):
                inside = (x - 5.5) ** 2 + (y - 5.5) ** 2 < 16
                pixels += struct.pack("<f", inside * (0.5 + label) + rng.gauss(0, 0.3))
    with zipfile.ZipFile(name, "w") as archive:
        for array, descr, shape, data in (("images", "<f4", (rows, 12, 12), pixels), ("labels", "|i1", (rows,), labels)):
            header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
            header += b" " * ((64 - (len(header) + 11) % 64) % 64) + b"\n"
            about = zipfile.ZipInfo(array + ".npy", (2000, 1, 1, 0, 0, 0))
            archive.writestr(about, b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(data))


class Maker:
    def __init__(self, prevail):
        self.prevail, self.cases = prevail, []

    def run(self, *arguments, codes=(0, 3)):
        done = subprocess.run([self.prevail, *arguments, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode not in codes:
            sys.exit(f"prevail {' '.join(arguments)}\n{done.stderr}")

    def predict(self, name, model, data, *how, tolerance=1e-9, **more):
        """A case: what the model predicts, now and for ever."""
        self.run("predict", model, data, *how, "-o", name + ".csv")
        self.cases.append({"name": name, "model": model, "data": data, "how": list(how), "tolerance": tolerance, **more})

    def model(self, name, *fit, data="people.csv", new="new.csv", how=("--id", "id"), **more):
        self.run("fit", data, *fit, "-o", name + ".model")
        self.predict(name, name + ".model", new, *how, **more)

    def checkpoint(self, name, *command, tolerance, judge=None):
        """The state of work that was stopped halfway; the case is what it comes to in the end."""
        state, result = name + ".checkpoint", name + ".end"
        full = [*command, "--threads", "1", "--checkpoint", state, *(["-o", result] if judge is None else ["--json"])]
        for patience in (0.4, 0.2, 0.1, 0.05, 0.02):
            work = subprocess.Popen([self.prevail, *full, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(patience)
            work.send_signal(signal.SIGINT)
            work.wait()
            if os.path.exists(state) and os.path.getsize(state) > 0:
                break
            if os.path.exists(result):
                os.remove(result)
        else:
            sys.exit(f"{name}: it ended before it was stopped")
        shutil.copy(state, state + ".kept")
        if os.path.exists(result):
            os.remove(result)
        case = {"name": name, "checkpoint": state, "command": full, "tolerance": tolerance}
        done = subprocess.run([self.prevail, *full, "--resume"], capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(f"{name}: {done.stderr}")
        if judge is None:
            self.run("predict", result, "new.csv", "--id", "id", "-o", name + ".csv")
            os.remove(result)
        else:
            found = json.loads(done.stdout)
            for key in judge:
                found = found[key]
            case["judge"], case["value"] = judge, found
        os.rename(state + ".kept", state)
        self.cases.append(case)


def fit_of(usual, *words):
    """The options of a fit: the usual ones, but for those that are given; None leaves one out."""
    options = dict(usual)
    options.update(zip(words[::2], words[1::2]))
    return [word for name, value in options.items() if value is not None for word in (name, value)]


USUAL = {"--target": "case", "--id": "id", "--exclude": "grade,set,visit,weight", "--prevalence": "0.02", "--missing": "impute"}


def models(make):
    def model(name, *words, **more):
        make.model(name, *fit_of(USUAL, *words), **more)

    known, dropped = ["--id", "id", "--population", "known:0.3"], ["--id", "id", "--missing", "drop"]
    model("linear", "--missing", "indicator")
    model("linear_ml", "--infer", "ml", how=known)
    model("dates", "--exclude", "grade,set,weight", "--prevalence", "0.005-0.05", "--missing", "drop", "--reference", "site=south", how=dropped)
    model("terms", "--missing", "drop", "--terms", "log(dose),ns(age,3),age:sex", "--weights", "weight", "--exclude", "grade,set,visit", how=dropped)
    model("poly", "--missing", "drop", "--terms", "poly(age,2),sqrt(dose)", how=dropped)
    model("offset", "--offset", "weight", "--exclude", "grade,set,visit")
    model("iw", "--loss", "iw")
    model("plain", "--loss", "plain", how=known)
    three = ["--target", "grade", "--exclude", "case,set,visit,weight", "--prevalence", "low=0.7,middle=0.2,high=0.1"]
    model("three", *three)
    model("ordinal", *three, "--order", "low,middle,high", "--model", "ordinal")
    strata = ["--strata", "sex", "--prevalence-by", "known_strata.csv", "--prevalence", None]
    model("strata", *strata)
    model("mlp", "--model", "mlp:4,3", "--prior", "normal:1")
    batches = ["--model", "mlp:4", "--batch", "32", "--epochs", "3", "--prior", "normal:1"]
    model("mlp_batches", *batches)
    interval = ["--id", "id", "--interval", "0.9"]
    model("laplace", "--infer", "laplace", "--draws", "100", how=interval)
    model("laplace_strata", *strata, "--infer", "laplace", "--draws", "100", how=interval)
    model("vi", "--infer", "vi", "--components", "2", "--steps", "100", "--draws", "100", how=interval)
    model("hmc", "--infer", "hmc", "--chains", "2", "--warmup", "100", "--draws", "100", how=interval)
    model("robust", "--infer", "robust", how=interval)
    model("last_layer", *batches, "--infer", "laplace", "--draws", "100", how=interval)
    make.predict("unknown", "linear.model", "people.csv", "--id", "id", "--population", "unknown", tolerance=1e-6)
    net = ["--prevalence", "0.1", "--epochs", "2", "--batch", "16", "--seed", "1"]
    views = {"data": "discs.npz", "new": "discs.npz", "how": (), "tolerance": 1e-4, "images": True}
    make.model("convnet", "--model", "convnet:views=1,size=8,low=8,channels=4,features=4", *net, **views)
    make.model("inception", "--model", "inception:views=1,size=8,low=4,channels=4,features=4", *net, **views)


def packed(make):
    make.run("pack", "new.csv", "-o", "double.packed")
    make.run("pack", "new.csv", "--single", "-o", "single.packed")
    with open("new.csv") as old, open("lines.tsv", "w") as new:  # blank lines, so that rows do not lie on a line each
        for i, row in enumerate(csv.reader(old)):
            new.write("\t".join(row) + "\n" + "\n" * (i % 3))
    make.run("pack", "lines.tsv", "--separator", "tab", "-o", "lines.packed")
    os.remove("lines.tsv")
    for kind in ("double", "single", "lines"):
        make.predict(kind, "linear.model", kind + ".packed", "--id", "id")


def checkpoints(make):
    fit = ["fit", "people.csv", *fit_of(USUAL)]
    mlp = ["--model", "mlp:16", "--prior", "normal:1"]
    make.checkpoint("full_batch", *fit, *mlp, "--tolerance", "1e-12", "--max-iter", "20000", tolerance=1e-3)
    make.checkpoint("minibatch", *fit, *mlp, "--batch", "32", "--epochs", "4000", tolerance=1e-3)
    make.checkpoint("vi_half", *fit, "--infer", "vi", "--steps", "20000", "--draws", "200", tolerance=0.02)
    make.checkpoint("hmc_half", *fit, "--infer", "hmc", "--chains", "2", "--warmup", "4000", "--draws", "4000", tolerance=0.02)
    make.checkpoint("cv_half", "cv", *fit[1:], "--repeats", "60", "--folds", "5", tolerance=1e-3, judge=["metrics", "log_loss", "value"])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    prevail = os.path.realpath(sys.argv[1])
    version = subprocess.run([prevail, "version"], capture_output=True, text=True, check=True).stdout.split()[1]
    folder = os.path.join(HERE, version)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)
    os.environ["LC_ALL"] = "C"
    write_rows("people.csv", 1, 160)
    write_rows("new.csv", 2, 20)
    write_images("discs.npz", 3, 24)
    with open("known_strata.csv", "w") as out:
        out.write("sex,share,prevalence\nf,0.5,0.02\nm,0.5,0.04\n")
    make = Maker(prevail)
    models(make)
    packed(make)
    checkpoints(make)
    with open("cases.json", "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(case) for case in make.cases) + "\n]\n")
    print(f"{len(make.cases)} cases in {folder}")


if __name__ == "__main__":
    main()
