"""What the installed wheel says of itself, and carries."""

import importlib.metadata
import os

import pytest

import prevail


@pytest.fixture(scope="module")
def wheel():
    for found in importlib.metadata.distributions(name="prevail"):
        if os.path.realpath(found.locate_file("prevail")) == os.path.realpath(os.path.dirname(prevail.__file__)):
            return found
    pytest.skip("the package is not installed from a wheel")


def test_what_pip_shows(wheel):
    about = wheel.metadata
    assert about["Version"] == prevail.__version__ and about["License"] and about["Author-email"] and about["Requires-Python"]
    assert {"Typing :: Typed", "License :: OSI Approved :: Apache Software License"} <= set(about.get_all("Classifier"))
    links = {line.partition(",")[0] for line in about.get_all("Project-URL")}
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= links


def test_what_it_carries(wheel):
    """Annotations, its licence, and the licence of each library that is bundled."""
    files = {str(path) for path in wheel.files}
    assert "prevail/py.typed" in files and any(path.endswith("LICENSE") for path in files)
    bundled = {path.rpartition("/")[2].partition(".so")[0] for path in files if path.startswith("prevail/lib/lib")} - {"libprevail"}
    licences = {path.rpartition("/")[2][: -len(".txt")] for path in files if path.startswith("prevail/lib/licences/")}
    assert bundled and bundled == licences
