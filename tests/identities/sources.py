"""One table in the forms that the command reads. Each function writes it and returns the name to give to the command, and the
reading options that go with it."""
import gzip
import os
import subprocess


def kinds(table):
    """The type of each column: whole numbers, numbers or texts."""
    def kind(column):
        cells = [cell for cell in column if cell is not None]
        return "text" if any(isinstance(c, str) for c in cells) else "integer" if all(isinstance(c, int) for c in cells) else "real"

    return {name: kind(column) for name, column in table.columns.items()}


def written_like(source, table, path):
    """A file that an option names, which is read as the table is."""
    if source == "spelt":
        table.write(path, separator=";", decimal=",", quote=True, end="\r\n")
    else:
        table.write(path)


def as_csv(table, path, command):
    table.write(path + ".csv")
    return path + ".csv", ()


def as_packed(table, path, command):
    table.write(path + ".csv")
    code, _, err = command("pack", path + ".csv", "-o", path + ".pvt", "--quiet")
    if code != 0:
        raise RuntimeError("pack: " + err)
    return path + ".pvt", ()


def as_spelt(table, path, command):
    """Semicolons, decimal commas, quotes around texts, lines that end in CRLF."""
    table.write(path + ".txt", separator=";", decimal=",", quote=True, end="\r\n")
    return path + ".txt", ("--separator", ";", "--decimal", ",")


def as_gzip(table, path, command):
    table.write(path + ".csv")
    with open(path + ".csv", "rb") as plain, gzip.open(path + ".csv.gz", "wb") as packed:
        packed.write(plain.read())
    return path + ".csv.gz", ()


def as_sqlite(table, path, command):
    import sqlite3

    if os.path.exists(path + ".db"):
        os.unlink(path + ".db")
    base = sqlite3.connect(path + ".db")
    base.execute("CREATE TABLE t (%s)" % ", ".join(f'"{name}" {kind}' for name, kind in kinds(table).items()))
    base.executemany("INSERT INTO t VALUES (%s)" % ", ".join("?" * len(table.columns)), zip(*table.columns.values()))
    base.commit()
    base.close()
    return f"sqlite:{path}.db?t", ()


def as_query(table, path, command):
    """Read from the CSV file by DuckDB."""
    table.write(path + ".csv")
    types = {"text": "VARCHAR", "integer": "BIGINT", "real": "DOUBLE"}
    columns = ", ".join(f"'{name}': '{types[kind]}'" for name, kind in kinds(table).items())
    return f"SELECT * FROM read_csv('{path}.csv', header = true, delim = ',', nullstr = '', columns = {{{columns}}})", ()


def as_postgres(table, path, command):
    table.write(path + ".csv")
    url, name = os.environ["IDENTITIES_SERVER"], "t_" + "".join(c if c.isalnum() else "_" for c in os.path.basename(path))
    types = {"text": "text", "integer": "bigint", "real": "float8"}
    columns = ", ".join(f'"{column}" {types[kind]}' for column, kind in kinds(table).items())
    subprocess.run(["psql", "-q", url, "-c", f"DROP TABLE IF EXISTS {name}", "-c", f"CREATE TABLE {name} ({columns})",
                    "-c", f"\\copy {name} FROM '{path}.csv' CSV HEADER"], check=True, capture_output=True)
    return f"{url}#{name}", ()


SOURCES = {"csv": as_csv, "packed": as_packed, "spelt": as_spelt, "gzip": as_gzip, "sqlite": as_sqlite}
if os.environ.get("PREVAIL_DUCKDB"):
    SOURCES["query"] = as_query
if os.environ.get("IDENTITIES_SERVER"):
    SOURCES["postgres"] = as_postgres
