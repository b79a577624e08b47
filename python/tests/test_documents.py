"""Examples in docstrings, and the tutorial."""

import doctest
import importlib
import os
import pkgutil

import pytest

import prevail

MODULES = [name for _, name, _ in pkgutil.iter_modules(prevail.__path__, "prevail.") if name != "prevail.torch"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


def test_public_names_have_texts():
    for name in prevail.__all__:
        value = getattr(prevail, name)
        assert isinstance(value, str) or value.__doc__, name


def test_tutorial(capsys):
    """Cell by cell, as a notebook would run it."""
    with open(os.path.join(os.path.dirname(__file__), "tutorial.py")) as file:
        cells = file.read().split("# %% ")
    names = {}
    for cell in cells:
        exec(compile(cell if cell.startswith("#") else "# " + cell, cell.partition("\n")[0], "exec"), names)
    assert "Evaluation" in capsys.readouterr().out
