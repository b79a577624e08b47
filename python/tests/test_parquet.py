"""Parquet files are read by the library of Python's package duckdb, where that is installed and no other is."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import prevail
from prevail._training import duckdb_library

PROGRAM = "import prevail, sys; print(prevail.PrevalenceClassifier(prevalence=0.1).fit_source(sys.argv[1], 'y').coef_.round(6).tolist())"


def fitted(path, folder):
    """What a program that finds folder in its path, and no other DuckDB, makes of a file."""
    env = {name: value for name, value in os.environ.items() if name not in ("PREVAIL_DUCKDB", "XDG_DATA_HOME")}
    package = os.path.dirname(os.path.dirname(os.path.abspath(prevail.__file__)))
    env.update(HOME=str(folder), PYTHONPATH=os.pathsep.join([str(folder), package]))
    return subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM, str(path)], env=env, capture_output=True, text=True)


@pytest.mark.parametrize("place", ["_duckdb.so", "duckdb/duckdb.cpython-39-x86_64-linux-gnu.so"])
def test_the_package_is_found(tmp_path, monkeypatch, place):
    """From 1.4 on the library is a module of its own; before, it was in the package. Neither is imported."""
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_bytes(b"")
    if place != "_duckdb.so":
        (tmp_path / "duckdb" / "__init__.py").write_text("raise RuntimeError")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert duckdb_library() == os.fsencode(tmp_path / place)


def test_a_package_that_cannot_be_used(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    shutil.copy(prevail._c.lib._name, tmp_path / "_duckdb.so")  # a library without DuckDB's functions
    found = fitted(tmp_path / "a.parquet", tmp_path)
    if "there is no" in found.stderr or "is no library that loads" in found.stderr or "it has no duckdb_" in found.stderr:
        assert "a.parquet: cannot be read: " in found.stderr and "it has no duckdb_" in found.stderr
    else:
        pytest.skip("DuckDB is installed on this system")


def test_a_parquet_file(tmp_path):
    """By a stand-in of the package: DuckDB's own library under its name."""
    library, command = os.environ.get("PREVAIL_DUCKDB"), os.environ.get("PREVAIL_COMMAND")
    if not library or not command:
        pytest.skip("PREVAIL_DUCKDB and PREVAIL_COMMAND name no files")
    data = tmp_path / "a.parquet"
    subprocess.run([command, "simulate", "gaussian", "--rows", "200", "--prevalence", "0.3", "-o", str(data), "--quiet"], check=True)
    before = fitted(data, tmp_path)
    if before.returncode == 0:
        pytest.skip("DuckDB is installed on this system")
    assert "there is no libduckdb.so" in before.stderr
    os.symlink(library, tmp_path / "_duckdb.so")
    found = fitted(data, tmp_path)
    assert found.returncode == 0, found.stderr
    csv = tmp_path / "a.csv"
    subprocess.run([command, "simulate", "gaussian", "--rows", "200", "--prevalence", "0.3", "-o", str(csv), "--quiet"], check=True)
    wanted = prevail.PrevalenceClassifier(prevalence=0.1).fit_source(str(csv), "y").coef_
    np.testing.assert_allclose(eval(found.stdout), wanted, atol=1e-6)
