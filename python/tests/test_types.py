"""Annotations: a user's program passes `mypy --strict`, and mypy sees the types rather than Any."""

import os
import shutil
import subprocess
import sys

import pytest

import prevail

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "typed_program.py")


def mypy(*arguments, **more):
    if not shutil.which("mypy"):
        pytest.skip("there is no mypy (scripts/setup check)")
    folder = os.path.dirname(os.path.dirname(os.path.abspath(prevail.__file__)))
    return subprocess.run(
        ["mypy", "--strict", "--follow-imports=silent", "--python-executable", sys.executable, "--cache-dir", os.devnull, *arguments],
        env={**os.environ, "MYPYPATH": folder}, capture_output=True, text=True, **more,
    )  # fmt: skip


def test_a_program_passes():
    found = mypy(PROGRAM)
    assert found.returncode == 0, found.stdout


def test_mistakes_are_seen(tmp_path):
    program = tmp_path / "wrong.py"
    program.write_text(
        "import prevail\n"
        "model = prevail.PrevalenceClassifier(prevalence=0.1, seed='one')\n"
        "n: str = prevail.evaluate([0, 1], [0.1, 0.9]).auc.value\n"
        "prevail.adjust([0.1], to=0.1)\n"
        "prevail.decide([0.1], {}).counts.append(1)\n"
    )
    found = mypy(str(program))
    lines = [int(line.split(":")[1]) for line in found.stdout.splitlines() if ": error:" in line]
    assert lines == [2, 3, 4, 5], found.stdout


def test_the_program_runs(capsys):
    sys.path.insert(0, HERE)
    try:
        import typed_program

        assert typed_program.main() > 0
    finally:
        sys.path.remove(HERE)


def test_the_package_says_that_it_is_typed():
    assert os.path.exists(os.path.join(os.path.dirname(prevail.__file__), "py.typed"))
