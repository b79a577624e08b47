"""Exported models against `prevail predict`. usage: compare.py PREVAIL WORK [--only NAME] [--node] [--duckdb FILE] [--postgres URL]

Each case is a table, a fit and a population. Every row is predicted by the command, and by what the model was exported
to: ONNX by onnxruntime (--node; onnx's checker where Python has it), C by gcc, SQL by DuckDB and PostgreSQL where there
are such. Without one of them its part is not run; run.sh says so.
"""

import argparse
import csv
import ctypes
import io
import itertools
import json
import math
import os
import random
import subprocess
import sys
import zipfile

here = os.path.dirname(os.path.abspath(__file__))
HOSTILE = 'a"b\'c\n-- */ ; DROP TABLE data; ??/ \\ $1 %s é'
failures = []
numbers_of_libraries = itertools.count()


def fail(text):
    failures.append(text)
    print("FAILED:", text)


def run(arguments, **more):
    done = subprocess.run(arguments, capture_output=True, text=True, **more)
    if done.returncode and (done.returncode != 3 or arguments[0] == "psql"):
        raise RuntimeError(f"{' '.join(arguments)[:300]}: exit {done.returncode}: {(done.stderr or done.stdout)[-600:]}")
    return done.stdout


def people(rows, seed, labels=2, missing=0.0, unseen=False, huge=False):
    """A table with columns of all kinds, of which some names and levels are hostile."""
    draw = random.Random(seed)
    table = []
    for i in range(rows):
        age, dose = draw.gauss(50, 12), math.exp(draw.gauss(0, 1))
        site, grade = draw.choice(["north", "south, east", HOSTILE]), draw.choice([1, 2, 3])
        score = 0.08 * (age - 50) + 0.5 * (site == HOSTILE) + 0.3 * math.sin(age / 6) + 0.4 * (grade == 3)
        score += 0.8 * math.log(dose) * (site == "north")
        y = sum(score + draw.gauss(0, 1) > cut for cut in [-0.3, 0.6, 1.4][: labels - 1])
        cells = {"age": age, "dose " + HOSTILE: dose, "site": site, "grade": grade, "prevalence": draw.gauss(0, 1), "y": ["no", "yes", "often", "always"][y]}
        for name in ("age", "site", "grade", "dose " + HOSTILE):
            if draw.random() < missing:
                cells[name] = None
        if huge and i % 50 == 7:
            cells["age"] = 1e200 if i % 100 == 7 else -1e200
        if unseen and i % 7 == 0:
            cells["site" if i % 2 else "grade"] = "nowhere" if i % 2 else 9
        table.append(cells)
    return table


def write_csv(path, table):
    with open(path, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(table[0].keys())
        for row in table:
            writer.writerow(["" if cell is None else repr(cell) if isinstance(cell, float) else cell for cell in row.values()])


def predictions(text, labels):
    rows = list(csv.DictReader(io.StringIO(text)))
    return [[float(row[f"p__{label}"]) for label in labels] for row in rows], [row["decision__"] for row in rows]


def column_cells(about, table):
    """The rows as an exported model wants them, by input."""
    kinds = {column["name"]: column["type"] for column in about["inputs"]}
    cells = {}
    for name, kind in kinds.items():
        if kind in ("number", "text"):
            cells[name] = [row[name] for row in table]
        if kind == "text":
            cells[name] = [None if cell is None else str(cell) for cell in cells[name]]
        if kind == "number":
            cells[name] = [None if cell is None else float(cell) for cell in cells[name]]
    return cells


# ---- languages: each returns the probabilities and labels of all rows

def by_onnx(path, about, cells, given, web=False):
    with open(path + ".json", "w") as out:
        json.dump(cells, out)
    environment = dict(os.environ, **({"PREVAIL_WEB": "1"} if web else {}))
    said = run(["node", os.path.join(here, "score.js"), path, path + ".json"] + ([",".join(map(repr, given))] if given else []), env=environment)
    p, labels = [], []
    for line in said.splitlines():
        numbers, label = line.split(',"', 1)
        p.append([float(number) for number in numbers.split(",")])
        labels.append(json.loads('"' + label))
    return p, labels


def check_onnx(path):
    try:
        import onnx
    except ImportError:
        return False
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    facts = {entry.key: entry.value for entry in model.metadata_props}
    json.loads(facts["prevail.about"]), json.loads(facts["prevail.record"])
    return True


def by_c(path, about, cells, given):
    library = os.path.abspath(f"{path}.{next(numbers_of_libraries)}.so")  # a library of a name that is loaded is not read again
    run(["gcc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-shared", "-fPIC", path, "-o", library, "-lm"])
    code = ctypes.CDLL(library)
    labels = [text.decode() for text in (ctypes.c_char_p * len(about["labels"])).in_dll(code, "predict_labels")]
    if labels != about["labels"]:
        fail(f"{path}: labels {labels}")
    numbers = [name for name in cells if isinstance(cells[name], list) and kind_of(about, name) == "number"]
    texts = [name for name in cells if kind_of(about, name) == "text"]
    for names, symbol in ((numbers, "predict_numbers"), (texts, "predict_texts")):
        said = [text.decode() for text in (ctypes.c_char_p * len(names)).in_dll(code, symbol)]
        if said != names:
            fail(f"{path}: {symbol} {said}, not {names}")
    p = (ctypes.c_double * len(labels))()
    out, decided = [], []
    for i in range(len(next(iter(cells.values())))):
        number = (ctypes.c_double * max(1, len(numbers)))(*[math.nan if cells[n][i] is None else cells[n][i] for n in numbers])
        text = (ctypes.c_char_p * max(1, len(texts)))(*[None if cells[n][i] is None else cells[n][i].encode() for n in texts])
        arguments = [number, text]
        if given:
            arguments.append(ctypes.c_double(given[0]) if len(labels) == 2 else (ctypes.c_double * len(labels))(*given))
        best = code.predict(*arguments, p)
        out.append(list(p))
        decided.append(labels[best] if best >= 0 else "")
    return out, decided


def kind_of(about, name):
    return next(column["type"] for column in about["inputs"] if column["name"] == name)


def identifier(name):
    return '"' + name.replace('"', '""') + '"'


def sql_table(about, cells, given):
    """Statements that make the table `data` of the cells, with the rows in order."""
    names, columns = ["row number"], ["INTEGER"]
    for name in cells:
        names.append(name)
        columns.append("DOUBLE PRECISION" if kind_of(about, name) == "number" else "VARCHAR")
    extra = []
    if given:
        extra = [column["name"] for column in about["inputs"] if column["type"] == "prevalence"]
    names += extra
    columns += ["DOUBLE PRECISION"] * len(extra)
    yield "CREATE TABLE data (" + ", ".join(f"{identifier(n)} {c}" for n, c in zip(names, columns)) + ")"
    literal = lambda cell: "NULL" if cell is None else repr(cell) if isinstance(cell, float) else "'" + cell.replace("'", "''") + "'"
    rows = len(next(iter(cells.values())))
    for i in range(rows):
        yield "INSERT INTO data VALUES (" + ", ".join([str(i)] + [literal(cells[n][i]) for n in cells] + [repr(float(g)) for g in given or []]) + ")"


def read_scores(text, about):
    rows = sorted(csv.DictReader(io.StringIO(text)), key=lambda row: int(row["row number"]))
    number = lambda cell: math.nan if cell == "" else float(cell)
    return [[number(row[f"p__{label}"]) for label in about["labels"]] for row in rows], [row[about["outputs"][-1]] for row in rows]


class DuckDB:
    """DuckDB's library by its C interface: statements, the last of which writes a file."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.duckdb_result_error.restype = ctypes.c_char_p

    def __call__(self, statements):
        database, connection, result = ctypes.c_void_p(), ctypes.c_void_p(), (ctypes.c_char * 256)()
        self.lib.duckdb_open(None, ctypes.byref(database))
        self.lib.duckdb_connect(database, ctypes.byref(connection))
        for statement in statements:
            if self.lib.duckdb_query(connection, statement.encode(), ctypes.byref(result)) != 0:
                raise RuntimeError("DuckDB: " + (self.lib.duckdb_result_error(ctypes.byref(result)) or b"").decode()[:600])
            self.lib.duckdb_destroy_result(ctypes.byref(result))
        self.lib.duckdb_disconnect(ctypes.byref(connection))
        self.lib.duckdb_close(ctypes.byref(database))


def by_duckdb(duckdb, path, about, cells, given):
    out = path + ".duckdb.csv"
    query = open(path).read().rstrip().rstrip(";")
    duckdb([*sql_table(about, cells, given), f"COPY ({query}) TO '{out}' (HEADER)"])
    return read_scores(open(out, newline="").read(), about)


def by_postgres(url, path, about, cells, given):
    query = open(path).read().rstrip().rstrip(";")
    script = "DROP TABLE IF EXISTS data;\n" + ";\n".join([*sql_table(about, cells, given)]) + ";\nCOPY (" + query + "\n) TO STDOUT (FORMAT csv, HEADER);\n"
    return read_scores(run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", url], input=script), about)


# ---- comparison

def compare(name, labels, want, got, tolerance):
    """want, got: probabilities and labels; a row that is not predicted is NaN and has no label."""
    (p, decided), (q, found) = want, got
    if len(p) != len(q):
        return fail(f"{name}: {len(q)} rows, not {len(p)}")
    worst = 0.0
    for i, (a, b) in enumerate(zip(p, q)):
        if any(math.isnan(x) for x in a):
            if not all(math.isnan(x) for x in b) or found[i] != "":
                return fail(f"{name}: row {i} has {b}, {found[i]!r} and should have none")
            continue
        far = max(abs(x - y) for x, y in zip(a, b))
        if not far <= tolerance:
            return fail(f"{name}: row {i} has {b}, not {a}")
        worst = max(worst, far)
        top = sorted(a)
        if found[i] != decided[i] and top[-1] - top[-2] > 2 * tolerance:
            return fail(f"{name}: row {i} is {found[i]!r}, not {decided[i]!r}")
    print(f"{name:44} {worst:.1e}")


TERMS = f"age,ns(age,4),poly(prevalence,3),log(dose),age:site,site:grade"
CASES = {
    # all: every population. web: by onnxruntime-web as well
    "linear": dict(all=True, web=True, fit=[]),
    "few rows": dict(rows=90, fit=[]),
    "few rows, three labels": dict(rows=120, labels=3, fit=[]),
    "many columns apart": dict(rows=60, fit=["--prior", "normal:20"]),
    "terms": dict(rows=600, fit=["--terms", "ns(age,4),poly(prevalence,3),age:site,site:grade,prevalence:age"]),
    "log and root": dict(rows=400, rename=True, fit=["--terms", "log(dose),sqrt(dose)"]),
    "missing cells": dict(rows=500, missing=0.1, fit=["--missing", "indicator"]),
    "imputed cells": dict(rows=500, missing=0.1, huge=True, learn_whole=True, fit=["--missing", "impute", "--terms", "ns(age,3),age:site"]),
    "refused cells": dict(rows=300, missing=0.05, learn_whole=True, fit=[]),
    "levels": dict(rows=300, unseen=True, learn_whole=True, fit=[]),
    "levels that are rare": dict(rows=300, unseen=True, learn_whole=True, fit=[], unseen_rule="other"),
    "levels as missing": dict(rows=300, unseen=True, learn_whole=True, fit=["--terms", "age:site"], unseen_rule="missing"),
    "levels as reference": dict(rows=300, unseen=True, learn_whole=True, fit=["--terms", "age:site"], unseen_rule="reference"),
    "offset": dict(rows=300, fit=["--offset", "prevalence"]),
    "log-loss": dict(rows=300, fit=["--loss", "plain"]),
    "weights": dict(rows=300, fit=["--loss", "iw"]),
    "laplace": dict(rows=300, fit=["--infer", "laplace", "--draws", "100"]),
    "three labels, laplace": dict(all=True, rows=300, labels=3, fit=["--infer", "laplace", "--draws", "100"]),
    "ordinal": dict(rows=300, labels=3, fit=["--model", "ordinal", "--order", "no,yes,often"]),
    "ordinal, laplace": dict(rows=300, labels=3, fit=["--model", "ordinal", "--order", "no,yes,often", "--infer", "laplace", "--draws", "100"]),
    "mlp": dict(rows=300, fit=["--model", "mlp:6,4"]),
    "mlp, four labels": dict(rows=400, labels=4, fit=["--model", "mlp:5"]),
    "mlp, ordinal": dict(rows=300, labels=3, fit=["--model", "mlp:5,ordinal", "--order", "no,yes,often"]),
    "mlp, laplace": dict(rows=300, fit=["--model", "mlp:4", "--infer", "laplace", "--draws", "100"]),
    "additive": dict(rows=400, fit=["--model", "additive"]),
    "additive, missing cells": dict(rows=500, missing=0.1, fit=["--model", "additive", "--missing", "indicator"]),
    "additive, levels": dict(rows=300, unseen=True, learn_whole=True, fit=["--model", "additive"], unseen_rule="other"),
    "trees": dict(rows=400, fit=["--model", "trees:3,20"]),
    "trees, missing cells, three labels": dict(rows=500, labels=3, missing=0.1, fit=["--model", "trees:4,15", "--missing", "indicator"]),
    "auto": dict(rows=300, fit=["--model", "auto"]),
    "auto, a score": dict(rows=300, rename=True, fit=["--model", "auto", "--candidates", "prevalence,additive", "--terms", "score(dose)"]),
    "auto, three labels": dict(rows=300, labels=3, fit=["--model", "auto", "--candidates", "prevalence,linear"]),
}
IMAGES = {
    # name: fit, labels
    "convnet": (["--model", "convnet:views=3,size=8,low=4,channels=8,features=6"], 2),
    "convnet, mean, three labels": (["--model", "convnet:views=2,size=8,low=4,channels=8-8,features=6,pool=mean"], 3),
    "convnet, ordinal": (["--model", "convnet:views=2,size=8,low=4,channels=8,features=6,pool=min,output=ordinal"], 3),
    "inception": (["--model", "inception:views=3,size=8,low=4,channels=8,features=6", "--window", "20,200"], 2),
    "convnet, last layer": (["--model", "convnet:views=2,size=8,low=4,channels=8,features=6", "--infer", "laplace", "--draws", "100"], 2),
}
PREVALENCES = {2: "0.1", 3: "no=0.7,yes=0.2,often=0.1", 4: "no=0.6,yes=0.2,often=0.1,always=0.1"}
ELSEWHERE = {2: "0.02", 3: "no=0.9,yes=0.06,often=0.04", 4: "no=0.9,yes=0.06,often=0.03,always=0.01"}


def shares(text, labels):
    if "=" not in text:
        return [float(text)]
    named = dict(pair.split("=") for pair in text.split(","))
    return [float(named[label]) for label in labels]


def run_case(name, case, tools):
    prevail, work = tools.prevail, os.path.join(tools.work, name.replace(" ", "_").replace(",", ""))
    os.makedirs(work, exist_ok=True)
    os.chdir(work)
    labels = case.get("labels", 2)
    table = people(case.get("rows", 300), sum(map(ord, name)), labels, case.get("missing", 0), case.get("unseen", False), case.get("huge", False))
    learned = people(case.get("rows", 300), sum(map(ord, name)), labels) if case.get("learn_whole") else table
    if case.get("rename"):
        for row in table:
            row["dose"] = row.pop("dose " + HOSTILE)
    write_csv("learned.csv", learned)
    write_csv("data.csv", table)
    fit = ["fit", "learned.csv", "--outcome", "y", "--prevalence", PREVALENCES[labels], "--categorical", "grade", "-o", "model", *case["fit"]]
    if "order" not in " ".join(case["fit"]) and labels == 2:
        fit += ["--positive", "yes"]
    try:
        run([prevail, *fit])
    except RuntimeError as error:
        if "XGBoost" not in str(error) or "trees" not in name:
            raise
        return print(f"SKIPPED: {name}: XGBoost's library is not installed")
    export = [] if "unseen_rule" not in case else ["--unseen", case["unseen_rule"]]
    for population in ("known:" + ELSEWHERE[labels], None, "true", "design") if case.get("all") else (None, "true"):
        given = None
        about = {}
        for end in ("onnx", "c", "sql"):
            if end == "sql" and not (tools.duckdb or tools.postgres):
                continue
            about[end] = json.loads(run([prevail, "export", "model", "-o", "model." + end, "--json", *export, *(["--population", population] if population else [])]))
        if population is None:
            given = shares(ELSEWHERE[labels], about["c"]["labels"])
        asked = population or "known:" + ELSEWHERE[labels]
        want = wanted(prevail, table, asked, case, about["c"]["labels"])
        cells = column_cells(about["c"], table)
        title = f"{name}, {population or 'given'}"
        if tools.node:
            check_onnx("model.onnx")
            compare(title + ", ONNX", labels, want, by_onnx("model.onnx", about["onnx"], cells, given), 1e-6)
            if case.get("web"):
                compare(title + ", ONNX, web", labels, want, by_onnx("model.onnx", about["onnx"], cells, given, web=True), 1e-6)
        compare(title + ", C", labels, want, by_c("./model.c", about["c"], cells, given), 2e-12)
        if population in ("true", None):
            if tools.duckdb:
                compare(title + ", DuckDB", labels, want, by_duckdb(tools.duckdb, "model.sql", about["sql"], cells, given), 1e-6)
            if tools.postgres:
                compare(title + ", PostgreSQL", labels, want, by_postgres(tools.postgres, "model.sql", about["sql"], cells, given), 1e-6)


def write_npz(path, arrays):
    """Arrays of bytes: {name: (shape, values)}."""
    with zipfile.ZipFile(path, "w") as out:
        for name, (shape, values) in arrays.items():
            head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
            head += " " * (-(len(head) + 11) % 64) + "\n"
            out.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + bytes(values))


def run_images(name, fit, labels, tools):
    """Images of ready views, brighter in the middle the higher their label."""
    draw, rows = random.Random(name), 40
    work = os.path.join(tools.work, name.replace(" ", "_").replace(",", ""))
    os.makedirs(work, exist_ok=True)
    os.chdir(work)
    views, size = (int(fit[1].split(key)[1].split(",")[0]) for key in ("views=", "size="))
    label = [i % labels for i in range(rows)]
    pixels = [draw.randrange(60) + 60 * y * (2 <= i % size < 6) for y in label for i in range(views * size * size)]
    write_npz("data.npz", {"images": ((rows, views, size, size), pixels), "labels": ((rows,), label)})
    prevalence = "0.1" if labels == 2 else "0.7,0.2,0.1"
    run([tools.prevail, "fit", "data.npz", "--ready-views", "--prevalence", prevalence, "--epochs", "6", "--batch", "10", "--seed", "2", "-o", "model", *fit])
    about = json.loads(run([tools.prevail, "export", "model", "-o", "model.onnx", "--json"]))
    given = [0.02] if labels == 2 else [0.9, 0.06, 0.04]
    asked = "known:" + ",".join(map(str, given))
    p, decided = predictions(run([tools.prevail, "predict", "model", "data.npz", "--population", asked]), about["labels"])
    spread = max(q[-1] for q in p) - min(q[-1] for q in p)
    if not spread > 1e-3:
        fail(f"{name}: all images are alike to it, {spread}")
    cells = {about["inputs"][0]["name"]: {"dims": [rows, views, size, size], "data": pixels}}
    check_onnx("model.onnx")
    compare(name + ", given, ONNX", labels, (p, decided), by_onnx("model.onnx", about, cells, given), 1e-5)
    if name == "inception":
        compare(name + ", given, ONNX, web", labels, (p, decided), by_onnx("model.onnx", about, cells, given, web=True), 1e-5)


def wanted(prevail, table, population, case, labels):
    """What predict says of each row; rows that it refuses have NaN."""
    usable = [i for i, row in enumerate(table) if not refused(row, case)]
    write_csv("asked.csv", [table[i] for i in usable])
    rule = ["--unseen", case["unseen_rule"]] if "unseen_rule" in case else []
    p, decided = predictions(run([prevail, "predict", "model", "asked.csv", "--population", population, *rule]), labels)
    whole, names = [[math.nan] * len(labels)] * len(table), [""] * len(table)
    for at, i in enumerate(usable):
        whole[i], names[i] = p[at], decided[at]
    return whole, names


def refused(row, case):
    filled = "--missing" in case["fit"]
    unseen = "unseen_rule" not in case and (row["site"] == "nowhere" or row["grade"] == 9)
    far = row["age"] is not None and abs(row["age"]) > 1e100
    return far or unseen or (not filled and any(cell is None for cell in row.values()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prevail")
    parser.add_argument("work")
    parser.add_argument("--only")
    parser.add_argument("--node", action="store_true")
    parser.add_argument("--duckdb")
    parser.add_argument("--postgres")
    tools = parser.parse_args()
    tools.prevail, tools.work = os.path.abspath(tools.prevail), os.path.abspath(tools.work)
    tools.duckdb = DuckDB(tools.duckdb) if tools.duckdb else None
    for name, case in CASES.items():
        if tools.only and tools.only != name:
            continue
        try:
            run_case(name, case, tools)
        except (RuntimeError, KeyError, ValueError, AttributeError) as error:
            fail(f"{name}: {error}")
    for name, (fit, labels) in IMAGES.items():
        if tools.node and (not tools.only or tools.only == name):
            try:
                run_images(name, fit, labels, tools)
            except (RuntimeError, KeyError, ValueError) as error:
                fail(f"{name}: {error}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
