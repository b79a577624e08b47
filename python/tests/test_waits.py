"""Ctrl-C ends a wait for what never answers: a pipe without a writer, a silent server, a query without end."""

import ctypes.util
import os
import socket
import sqlite3
import subprocess
import sys

import pytest

WAITS = """
import os, signal, sys, threading
import prevail
model = prevail.PrevalenceClassifier(0.05)
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    model.fit_source(sys.argv[1], "y")
except KeyboardInterrupt:
    print("stopped cleanly")
"""


def stopped(source):
    done = subprocess.run([sys.executable, "-c", WAITS, source], capture_output=True, text=True, timeout=60, env=dict(os.environ))
    assert done.stdout == "stopped cleanly\n", done.stdout + done.stderr


def test_pipe_without_a_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    stopped(str(tmp_path / "pipe.csv"))


@pytest.mark.skipif(not ctypes.util.find_library("pq"), reason="there is no libpq")
def test_silent_server():
    with socket.create_server(("127.0.0.1", 0)) as server:
        stopped(f"postgresql://nobody@127.0.0.1:{server.getsockname()[1]}/x#people")


@pytest.mark.skipif(not ctypes.util.find_library("sqlite3"), reason="there is no libsqlite3")
@pytest.mark.parametrize("view", ["people", "plan14"])  # rows without end, and a plan
def test_view_without_end(tmp_path, view):
    database = sqlite3.connect(tmp_path / "a.db")
    database.execute("CREATE VIEW people AS WITH RECURSIVE r(a, y) AS (SELECT 1, 0 UNION ALL SELECT a + 1, 1 - y FROM r) SELECT * FROM r WHERE a < 0")
    for k in range(15):
        before = f"plan{k - 1}" if k else "people"
        database.execute(f"CREATE VIEW plan{k} AS SELECT a.a, a.y FROM {before} a, {before} b")
    database.commit()
    database.close()
    stopped(f"sqlite:{tmp_path / 'a.db'}?{view}")
