"""What the tests share: small data sets with a known design."""

import os
import shutil
import subprocess

import numpy as np
import pytest

HEADERS = os.environ.get(
    "PREVAIL_INCLUDE", os.path.join(os.path.dirname(__file__), "..", "..", "include", "prevail")
)


def sample(cases, controls, seed=0, features=3, shift=1.0):
    """Cases and controls of a population in which the log odds are linear: cases are shifted in the first column."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [controls, cases])
    X = rng.normal(size=(len(y), features))
    X[:, 0] += shift * y
    return X, y


@pytest.fixture
def study():
    """As many cases as controls."""
    return sample(300, 300)


@pytest.fixture
def people():
    """A population in which one in twenty is a case."""
    return sample(200, 3800, seed=1)


@pytest.fixture(scope="session")
def ffi():
    """The headers as cffi's parser reads them, without what the compiler adds of its own."""
    cffi = pytest.importorskip("cffi")
    if not os.path.exists(HEADERS) or not shutil.which("cc"):
        pytest.skip("the headers or a C compiler are not here")
    include = os.path.dirname(os.path.abspath(HEADERS))
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "headers")
    made = subprocess.run(
        ["cc", "-E", "-P", "-nostdinc", "-I", include, "-I", own, os.path.join(HEADERS, "prevail.h")],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    found = cffi.FFI()
    found.cdef(made.replace("__attribute__((warn_unused_result))", ""), override=True)
    return found
