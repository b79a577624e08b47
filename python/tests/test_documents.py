"""Examples in docstrings."""

import doctest
import importlib
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
