#!/usr/bin/python3 -IS
"""Stands in for prevail in tests/cli/configurations.sh: runs the same command in another configuration.

CONFIGURATION says which: threads1, memory, ranks2, baseline, packed, sqlite, postgres, parquet ... Options are added, or each CSV
file that the command reads as a table is converted, and its converted form is given to the command. The command then takes
this process's place, so signals, standard input and the exit code are its own.

Environment: CONFIGURED_PREVAIL and CONFIGURED_ISA, the binaries; CONFIGURED_FOLDER, which has help/COMMAND (the text of --help
all) and receives changed/CASE (an empty file, if a command of the case was changed) and `names` (a sed script that turns the names of
converted files back into the names that the case uses).
"""
import csv
import os
import re
import signal
import subprocess
import sys
import zlib

FOLDER = os.environ["CONFIGURED_FOLDER"]
PREVAIL = os.environ["CONFIGURED_PREVAIL"]
CONFIGURATION = os.environ["CONFIGURATION"]

# Which argument is a table, for each command, and the options whose values are tables.
TABLE = {"fit": 0, "cv": 0, "sweep": 0, "adjust": 0, "predict": 1, "eval": 1, "diagnose": 1}
TABLE_OPTIONS = {"--probs", "--population-sample", "--labelled-sample", "--training"}
READING_OPTIONS = {"--separator", "--decimal", "--na", "--no-header", "--names", "--quote"}
MISSING = {"", "NA", "N/A", "NaN", "null", "."}
INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})\Z")
NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\Z")


class Arguments:
    """The words of a command line: which are options, and which are arguments."""

    def __init__(self, words):
        self.words = words
        self.command = words[0] if words else ""
        self.positions, self.options = [], {}  # options: name -> where its value is: (word, offset in the word)
        try:
            with open(os.path.join(FOLDER, "help", self.command), encoding="utf-8") as file:
                listed = re.findall(r"^  (?:(-\w), )?(--[\w-]+)(?: (\S))?", file.read(), re.M)
        except OSError:
            listed = []
        self.known = {name for _, name, _ in listed}
        valued = {n for short, name, value in listed if value and value != "[" for n in (short, name) if n}
        at, only_arguments = 1, False
        while at < len(words):
            word = words[at]
            if only_arguments or not word.startswith("-") or word == "-":
                self.positions.append(at)
            elif word == "--":
                only_arguments = True
            elif "=" in word:
                self.options[word.split("=")[0]] = (at, word.index("=") + 1)
            elif word in valued:
                self.options[word] = (at + 1, 0)
                at += 1
            else:
                self.options[word] = None
            at += 1

    def tables(self):
        """Where the words are that name tables: (word, offset)."""
        at = TABLE.get(self.command)
        if self.command == "eval" and "--probs" in self.options:
            at = None
        if at is not None and at < len(self.positions):
            yield self.positions[at], 0
        for name in TABLE_OPTIONS & self.options.keys():
            if self.options[name] and self.options[name][0] < len(self.words):
                yield self.options[name]


def read_table(path):
    """The header, the columns' types and the rows of a CSV file; None where another source would legitimately read it
    otherwise: a spelling that only CSV has (quoted numbers, leading zeros, spaces), or a defect that the case is about."""
    try:
        with open(path, newline="", encoding="utf-8", errors="strict") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return None
    if '"' in text or "\r" in text or "\0" in text:
        return None
    rows = list(csv.reader(text.splitlines()))
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return None
    header, rows = rows[0], rows[1:]
    if len({name.lower() for name in header}) < len(header) or any(not name.strip() for name in header):
        return None
    if len(header) < 2 or any(cell != cell.strip() or cell == "?" or cell.startswith("'") for row in [header] + rows for cell in row):
        return None
    types = []
    for column in zip(*rows):
        cells = [cell for cell in column if cell not in MISSING]
        if cells and all(INTEGER.match(cell) for cell in cells):
            types.append("BIGINT")
        elif cells and all(NUMBER.match(cell) for cell in cells):
            if any(re.match(r"-?0[0-9]", cell) for cell in cells):
                return None
            types.append("DOUBLE")
        elif cells:
            types.append("TEXT")
        else:
            return None
    return header, types, [[None if cell in MISSING else cell for cell in row] for row in rows]


def quoted(name, mark='"'):
    return mark + name.replace(mark, mark + mark) + mark


def declared(header, types, names):
    return ", ".join(f"{quoted(name)} {names[kind]}" for name, kind in zip(header, types))


def without_missing(table, path):
    """The table as a CSV file whose missing cells are empty."""
    header, _, rows = table
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([header] + [["" if cell is None else cell for cell in row] for row in rows])


def to_packed(path, table, place):
    done = subprocess.run([PREVAIL, "pack", path, "-o", place, "--quiet"], capture_output=True)
    return place if done.returncode == 0 else None


def to_sqlite(path, table, place):
    import sqlite3

    header, types, rows = table
    if os.path.exists(place):
        os.unlink(place)
    base = sqlite3.connect(place)
    base.execute(f"CREATE TABLE t ({declared(header, types, {'BIGINT': 'INTEGER', 'DOUBLE': 'REAL', 'TEXT': 'TEXT'})})")
    number = {"BIGINT": int, "DOUBLE": float, "TEXT": str}
    values = ([None if c is None else number[kind](c) for c, kind in zip(row, types)] for row in rows)
    base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(header))})", values)
    base.commit()
    base.close()
    return f"sqlite:{place}?t"


def to_postgres(path, table, place):
    header, types, _ = table
    plain = place + ".plain"
    without_missing(table, plain)
    url = os.environ["CONFIGURED_SERVER"]
    name = "t" + format(zlib.crc32(place.encode()), "08x")
    names = {"BIGINT": "bigint", "DOUBLE": "float8", "TEXT": "text"}
    done = subprocess.run(
        ["psql", "-q", url, "-c", f"DROP TABLE IF EXISTS {name}", "-c", f"CREATE TABLE {name} ({declared(header, types, names)})",
         "-c", f"\\copy {name} FROM '{plain}' CSV HEADER"], capture_output=True)
    return f"{url}#{name}" if done.returncode == 0 else None


def to_parquet(path, table, place):
    import ctypes

    header, types, _ = table
    plain = place + ".plain"
    without_missing(table, plain)
    duck = ctypes.CDLL(os.environ["PREVAIL_DUCKDB"])
    base, connection = ctypes.c_void_p(), ctypes.c_void_p()
    names = {"BIGINT": "BIGINT", "DOUBLE": "DOUBLE", "TEXT": "VARCHAR"}
    columns = ", ".join(f"{quoted(name, chr(39))}: '{names[kind]}'" for name, kind in zip(header, types))
    query = (f"COPY (SELECT * FROM read_csv({quoted(plain, chr(39))}, header = true, delim = ',', nullstr = '', "
             f"columns = {{{columns}}})) TO {quoted(place, chr(39))} (FORMAT parquet)")
    done = (duck.duckdb_open(None, ctypes.byref(base)) == 0 and duck.duckdb_connect(base, ctypes.byref(connection)) == 0
            and duck.duckdb_query(connection, query.encode(), None) == 0)
    return place if done else None


SOURCES = {"packed": (to_packed, ""), "sqlite": (to_sqlite, ".db"), "postgres": (to_postgres, ""), "parquet": (to_parquet, ".parquet")}


def convert(arguments, to, ending):
    """Replaces the tables among the arguments; returns whether any was."""
    changed = False
    packed = to is to_packed
    if not packed and READING_OPTIONS & arguments.options.keys():
        return False
    for at, offset in arguments.tables():
        word = arguments.words[at]
        path = word[offset:]
        if not os.path.isfile(path) or not re.search(r"\.(csv|tsv|txt)\Z", path):
            continue
        table = None if packed else read_table(path)
        if table is None and not packed or packed and READING_OPTIONS & arguments.options.keys():
            continue
        # A folder name without words or numbers, since cases filter output by words and round numbers.
        folder = format(zlib.crc32(os.path.abspath(path).encode()), "x").translate(str.maketrans("0123456789", "ghijklmnop"))
        place = os.path.join(FOLDER, "converted", folder, os.path.basename(path)) + ending
        os.makedirs(os.path.dirname(place), exist_ok=True)
        try:
            name = to(path, table, place)
        except Exception:  # whatever it is that the case limits, the command meets it with the CSV file as well
            name = None
        if name is None:
            continue
        arguments.words[at] = word[:offset] + name
        changed = True
        with open(os.path.join(FOLDER, "names"), "a", encoding="utf-8") as mask:
            for long, short in ((f"'{name}'", path), (name, path), (os.path.basename(name), os.path.basename(path))):
                if long != short:
                    mask.write("s#" + re.sub(r"([][\\.*^$#])", r"\\\1", long) + "#" + re.sub(r"([&\\#])", r"\\\1", short) + "#g\n")
    return changed


def main():
    arguments = Arguments(sys.argv[1:])
    command, before, changed = PREVAIL, [], False

    def add(name, value):
        if name not in arguments.known or name in arguments.options:
            return False
        arguments.words[1:1] = [name, value]
        return True

    if CONFIGURATION in SOURCES:
        changed = convert(arguments, *SOURCES[CONFIGURATION])
    elif CONFIGURATION.startswith("threads"):
        changed = add("--threads", CONFIGURATION[len("threads"):])
    elif CONFIGURATION == "memory":
        changed = add("--memory", "8M")
    elif CONFIGURATION == "baseline":
        os.environ["TEST_ISA"] = "baseline"
        changed = arguments.command not in ("", "version", "simulate", "pack", "summary")
        command = os.environ["CONFIGURED_ISA"]
    elif CONFIGURATION.startswith("ranks"):
        changed = "--ranks" in arguments.known and "--ranks" not in arguments.options and "--help" not in arguments.options
        if changed:
            # Each rank prints a usage error before ranks exchange data, and mpirun ends all of them when one fails.
            # Errors of the other ranks are therefore dropped, and they wait for rank 0 to print its own. They read no
            # standard input.
            alone = 'if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then exec "$@"; else "$@" >/dev/null 2>&1 </dev/null || ' \
                    '{ code=$?; sleep 0.5; exit $code; }; fi'
            before = ["mpirun", "-q", "--oversubscribe", "-n", CONFIGURATION[len("ranks"):], "sh", "-c", alone, "prevail"]
    else:
        sys.exit(f"configured: there is no configuration {CONFIGURATION}")
    if changed:
        # An empty file, since the case may limit the size of files.
        os.close(os.open(os.path.join(FOLDER, "changed", os.environ["CASE"]), os.O_CREAT | os.O_WRONLY, 0o600))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program inherits that
        signal.signal(number, signal.SIG_DFL)
    os.execvp((before + [command])[0], before + [command] + arguments.words)


main()
