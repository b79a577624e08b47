"""Examples in docstrings, and the tutorial."""

import doctest
import importlib
import os
import pkgutil
import re

import pytest
import sklearn

import prevail

MODULES = [name for _, name, _ in pkgutil.iter_modules(prevail.__path__, "prevail.") if name not in ("prevail.torch", "prevail.dask")]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


def test_public_names_have_texts():
    for name in prevail.__all__:
        value = getattr(prevail, name)
        assert isinstance(value, str) or value.__doc__, name


def test_metrics_are_documented():
    from prevail._judge import METRICS

    for documented in (prevail.evaluate, prevail.Scorer):
        for name, text in METRICS.items():
            assert re.search(rf"^ +{name} +{re.escape(text)}$", documented.__doc__, re.M), name


def test_tutorial(capsys):
    """Cell by cell, as a notebook would run it."""
    with open(os.path.join(os.path.dirname(__file__), "tutorial.py")) as file:
        cells = file.read().split("# %% ")
    names = {}
    for cell in cells:
        exec(compile(cell if cell.startswith("#") else "# " + cell, cell.partition("\n")[0], "exec"), names)
    assert "Evaluation" in capsys.readouterr().out


ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def blocks(path):
    """Python in a page, and what it says is printed: the next block without a language, if it follows at once."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for found in re.finditer(r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", text, re.S):
        yield found.group(1), found.group(2)


@pytest.mark.parametrize("page", ["docs/python.md"])
@pytest.mark.filterwarnings("ignore")
def test_pages(page, capsys):
    """Every example runs. What is printed is compared where scikit-learn is the version that it was written with."""
    path = os.path.join(ROOT, page)
    if not os.path.exists(path):
        pytest.skip(f"{page} is not here")
    pytest.importorskip("pandas")
    pytest.importorskip("torch")
    names, count = {}, 0
    for code, printed in blocks(path):
        exec(compile(code, page, "exec"), names)
        count += 1
        out = capsys.readouterr().out
        if printed is not None and sklearn.__version__.startswith("1.2."):
            assert out == printed
    assert count > 0
