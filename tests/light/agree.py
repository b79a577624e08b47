"""Whether two builds of the command agree. usage: agree.py ONE OTHER FOLDER [TOLERANCE [libm]]

With the same model file predictions and summaries agree to 1e-12. Fits agree to TOLERANCE (default: 1e-12). Simulated tables have the
same bytes; with libm, which says that the builds have different ones, cells agree to 1e-15 of their size.
"""

import csv
import gzip
import json
import math
import shutil
import subprocess
import sys

ONE, OTHER, FOLDER = sys.argv[1:4]
SAME_FILE = 1e-12
TOLERANCE = float(sys.argv[4]) if len(sys.argv) > 4 else SAME_FILE


def run(command, *arguments):
    done = subprocess.run([command, *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command} {' '.join(arguments)} ends with {done.returncode}: {done.stderr}")
    return done.stdout


def near(a, b, place, tolerance):
    if isinstance(a, dict):
        if a.keys() != b.keys():
            sys.exit(f"{place}: {sorted(a)} and {sorted(b)}")
        return max([near(a[key], b[key], f"{place}.{key}", tolerance) for key in a if key not in ("seconds", "file", "model", "command", "threads")], default=0)
    if isinstance(a, list):
        if len(a) != len(b):
            sys.exit(f"{place}: {len(a)} and {len(b)} values")
        return max([near(x, y, f"{place}[{i}]", tolerance) for i, (x, y) in enumerate(zip(a, b))], default=0)
    if isinstance(a, float) and isinstance(b, (int, float)) and not isinstance(b, bool):
        off = abs(a - b) / max(1, abs(a))
        if not off <= tolerance:
            sys.exit(f"{place}: {a!r} and {b!r}")
        return off
    if a != b:
        sys.exit(f"{place}: {a!r} and {b!r}")
    return 0


def numbers(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    if len(rows) < 100:
        sys.exit(f"{path} has {len(rows)} rows")
    return rows[:1] + [[float(cell) if cell.replace(".", "").replace("-", "").replace("e", "").isdigit() else cell for cell in row] for row in rows[1:]]


data = f"{FOLDER}/rows.csv"
run(ONE, "simulate", "nodules", "--cases", "300", "--controls", "400", "--seed", "3", "-o", data)
shutil.copyfile(data, f"{FOLDER}/first.csv")
run(OTHER, "simulate", "nodules", "--cases", "300", "--controls", "400", "--seed", "3", "-o", data)
if len(sys.argv) > 5:
    near(numbers(f"{FOLDER}/first.csv"), numbers(data), "simulated tables", 1e-15)
    shutil.copyfile(f"{FOLDER}/first.csv", data)
elif open(data, "rb").read() != open(f"{FOLDER}/first.csv", "rb").read():
    sys.exit("simulated tables differ")
with open(data, "rb") as plain, gzip.open(data + ".gz", "wb") as packed:
    shutil.copyfileobj(plain, packed)
with open(data) as file:
    outcome = file.readline().strip().split(",")[-1]

fits = {
    "linear": [],
    "laplace": ["--prior", "laplace:0.5", "--infer", "map"],
    "vi": ["--infer", "vi", "--steps", "200"],
    "draws": ["--infer", "laplace"],
    "auxiliary": ["--marginal", "auxiliary:constant", "--batch", "64", "--epochs", "3", "--infer", "map"],
    "mlp": ["--model", "mlp:3", "--infer", "map"],
    "robust": ["--infer", "robust"],
}
worst = count = 0
for name, options in fits.items():
    common = ["fit", data + ".gz", "--outcome", outcome, "--prevalence", "0.02", "--seed", "5", "--quiet", *options]
    made = []
    for build, command in enumerate((ONE, OTHER)):
        model = f"{FOLDER}/{name}{build}.model"
        run(command, *common, "-o", model)
        made.append(model)
    tables, summaries = [], []
    for model in made:
        for build, command in enumerate((ONE, OTHER)):
            out = f"{model}.{build}.csv"
            run(command, "predict", model, data, "-o", out, *(["--interval", "0.9"] if name in ("vi", "draws") else []))
            tables.append(numbers(out))
            summaries.append(json.loads(run(command, "summary", model, "--json")))
            count += 1
    # Of four: the first's model by either, the other's by either.
    for one, other, tolerance in ((0, 1, SAME_FILE), (2, 3, SAME_FILE), (0, 3, TOLERANCE)):
        off = max(near(tables[one], tables[other], name, tolerance), near(summaries[one], summaries[other], f"{name} summary", tolerance))
        worst = max(worst, off)
print(f"{count} predictions and summaries of {len(fits)} fits, each with either's model: {worst:.1e} apart at most")
