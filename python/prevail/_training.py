"""Training data: tables and arrays of images."""

import contextlib
import ctypes
import glob
import importlib.util
import os
from collections.abc import Mapping

import numpy as np

from ._errors import InputError
from ._frames import Table, array_type, encode, is_frame, label_texts, numbers


def plain_label(label):
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(label)
    return label


def place_of(classes, labels):
    """The place among the classes of each of the library's labels."""
    place = {text: i for i, text in enumerate(label_texts(classes))}
    return np.array([place[label] for label in labels])


def check_classes(classes, codes, weights):
    if weights is not None and not (weights > 0).any():
        raise InputError("sample_weight: all weights are zero; give at least one row a weight above it", "input")
    used = classes if weights is None else classes[np.bincount(codes, weights, len(classes)) > 0]
    if len(used) < 2:
        raise InputError(
            f"This solver needs samples of at least 2 classes in the data, but the data contains only one class: {used[:1]!r}",
            "input",
        )


def table_of(ctx, source, X, names):
    if is_frame(X):
        return Table.of_frame(ctx, source, X)
    table = Table(ctx, source, X.shape[0])
    table.add_matrix(names, X)
    return table


def arrays_of(X):
    """A mapping of arrays, of which "images" is one."""
    arrays = dict(X) if isinstance(X, Mapping) else {"images": X}
    if "images" not in arrays:
        raise InputError(f"X has no array 'images', only {', '.join(map(str, arrays))}", "input")
    arrays = {name: np.asarray(value) for name, value in arrays.items()}
    for name, value in arrays.items():
        if value.dtype.kind not in "biuf":
            raise InputError(f"the array {name!r} is of {value.dtype}, not of numbers", "input")
    if arrays["images"].ndim not in (3, 4):
        raise ValueError(
            f"images have the shape (n, height, width) or (n, depth, height, width), not {arrays['images'].shape}"
        )
    return arrays


class Archive:
    """Arrays in the library's memory."""

    def __init__(self, ctx, arrays):
        self.ctx = ctx
        self.handle = ctx.new("pv_archive_new", b"X", free="pv_archive_free")
        for name, value in arrays.items():
            self.add(name, value)

    def add(self, name, value):
        value = np.ascontiguousarray(numbers(value))
        place = ctypes.c_void_p()
        shape = (ctypes.c_size_t * value.ndim)(*value.shape)
        self.ctx.call(
            "pv_archive_add", self.handle, encode(name), array_type(value.dtype), value.ndim, shape, ctypes.byref(place)
        )
        ctypes.memmove(place, value.ctypes.data, value.nbytes)

    def table(self):
        return self.ctx.new("pv_table_of", self.handle, None, free="pv_table_free")


def xgboost_library():
    """The library in the package xgboost; None if it is not installed. The package is not imported."""
    spec = importlib.util.find_spec("xgboost")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for found in sorted(glob.glob(os.path.join(glob.escape(folder), "lib", "libxgboost.*"))):
            return os.fsencode(found)
    return None


def duckdb_library():
    """The file of the package duckdb that has its C interface; None: it is not installed. It is not imported."""
    for spec in map(importlib.util.find_spec, ("_duckdb", "duckdb")):
        if spec is None:
            continue
        if spec.origin and spec.origin.endswith((".so", ".dylib")):
            return os.fsencode(spec.origin)
        for folder in spec.submodule_search_locations or []:  # before 1.4
            for found in sorted(glob.glob(os.path.join(glob.escape(folder), "duckdb.*.so"))):
                return os.fsencode(found)
    return None
