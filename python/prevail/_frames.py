"""Tables of the library from NumPy arrays and data frames."""

import collections
import ctypes
from collections.abc import Mapping

import numpy as np

from ._c import lib
from ._errors import InputError


def encode(text):
    """A text as the library takes it."""
    if "\0" in text:
        raise InputError(f"{text!r} has a NUL character in it, which texts must not have", "input")
    return text.encode("utf-8", "surrogatepass")


def texts(values):
    """A C array of texts; None is a null pointer."""
    return (ctypes.c_char_p * len(values))(*[None if value is None else encode(value) for value in values])


def array_type(dtype):
    """The library's type of a NumPy dtype; None where it has none."""
    kind = ctypes.c_int()
    name = np.dtype(dtype).name
    return kind.value if lib.pv_array_type_find(name.encode(), ctypes.byref(kind)) else None


def numbers(values):
    """The values in a type that the library knows, in the machine's byte order."""
    values = np.asarray(values)
    if values.dtype.kind in "biuf" and values.dtype.isnative and array_type(values.dtype) is not None:
        return values
    return values.astype(np.float64)


# ---- labels ---------------------------------------------------------------------------------------------------------


def label_text(label):
    """A label as the library and its reports write it."""
    if isinstance(label, (bool, np.bool_)):
        return str(bool(label))
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


def label_texts(classes):
    """The texts of labels, which must be told apart by them."""
    made = [label_text(label) for label in classes]
    for label in made:
        if not label.strip():
            raise InputError(f"the label {label!r} is empty; name it", "input")
    if len(set(made)) != len(made):
        raise InputError(f"labels that are written the same way: {list(classes)!r}; rename them", "input")
    return made


def listed(labels, most=6):
    """Labels for a message: the first few of many."""
    labels = [str(label) for label in labels]
    return ", ".join(labels[:most]) + (f", ... ({len(labels)} in all)" if len(labels) > most else "")


def positive_index(classes, positive=None):
    """Which of two classes prevalences and odds ratios speak of; the last of several."""
    labels = label_texts(classes)
    if positive is not None:
        wanted = label_text(positive)
        if len(labels) != 2:
            raise InputError(f"`positive` is for two classes, not for {len(labels)}; leave it out", "usage")
        if wanted not in labels:
            raise InputError(f"`positive`: there is no label {wanted!r}; the labels are {listed(labels)}", "usage")
        return labels.index(wanted)
    if len(labels) != 2:
        return len(labels) - 1
    guess = lib.pv_labels_positive(texts(labels))
    return guess if guess >= 0 else 1


def is_guess(classes, positive=None):
    """Whether of two classes spelling alone makes the last one the positive."""
    return positive is None and len(classes) == 2 and lib.pv_labels_positive(texts(label_texts(classes))) < 0


def one_positive(positive, pos_label):
    """The positive class by its name here or by scikit-learn's, `pos_label`."""
    if pos_label is None or positive is None or label_text(positive) == label_text(pos_label):
        return pos_label if positive is None else positive
    raise InputError(f"`positive` is {positive!r} and `pos_label` is {pos_label!r}: give one of them", "usage")


def by_label(values, labels):
    """A Series of pandas that names labels or strata as a mapping; one without names of its own is a sequence, and anything else stays."""
    if not (hasattr(values, "index") and hasattr(values, "items")) or hasattr(values, "columns") or isinstance(values, Mapping):
        return values
    names = [label_text(name) for name in values.index]
    if len(set(names)) < len(names):
        raise InputError(f"its index names {listed(names)}, some of them twice: give each once", "input")
    plain = names == [str(i) for i in range(len(names))]
    return values if plain and not set(names) <= set(map(label_text, labels)) else dict(values.items())


# ---- frames ---------------------------------------------------------------------------------------------------------


def is_frame(X):
    """Whether X is a data frame: something that streams Arrow, or is like pandas'."""
    if isinstance(X, np.ndarray):
        return False
    return hasattr(X, "__arrow_c_stream__") or (hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "iloc"))


def frame_names(X):
    """The names of its columns, as they are."""
    names = getattr(X, "column_names", None)  # pyarrow: columns are the data
    if names is None:
        names = getattr(X, "columns", None)
    if names is None:
        raise InputError(f"the columns of a {type(X).__name__} have no names; make a data frame of it", "input")
    return list(names)


def frame_shape(X):
    shape = getattr(X, "shape", None)
    return (int(shape[0]), int(shape[1])) if shape is not None and len(shape) == 2 else (len(X), len(frame_names(X)))


def renamed(X, names):
    """The same columns by other names."""
    if hasattr(X, "set_axis"):
        return X.set_axis(names, axis="columns")
    if hasattr(X, "rename_columns"):  # pyarrow
        return X.rename_columns(names)
    return X.rename(dict(zip(frame_names(X), names)))


class Table:
    """A library table that is filled column by column and lives as long as its context."""

    def __init__(self, ctx, source, rows=None, stream=None):
        self.ctx, self.source, self.names = ctx, source, []
        ctx.names[source] = self.names
        if stream is None:
            self.handle = ctx.new("pv_table_new", encode(source), rows, free="pv_table_free")
        else:
            self.handle = ctx.new("pv_table_of_arrow", encode(source), stream, free="pv_table_free")

    @classmethod
    def of_frame(cls, ctx, source, X):
        """The columns of a data frame, as a CSV file with them would be read."""
        names = frame_names(X)
        named = [str(name) for name in names]
        if len(set(named)) < len(named):
            repeated = collections.Counter(named).most_common(1)[0][0]
            raise InputError(f"two columns are named {repeated!r}; rename one", "input", column=repeated)
        ctx.names[source] = named
        capsule = _stream(X)
        if capsule is not None:
            table = cls(ctx, source, stream=_PyCapsule_GetPointer(capsule, b"arrow_array_stream"))
            table.names.extend(named)
            return table
        table = cls(ctx, source, rows=frame_shape(X)[0])
        for i, name in enumerate(names):
            table.add_column(name, X.iloc[:, i] if hasattr(X, "iloc") else X[name])
        return table

    def _named(self, name):
        name = str(name)
        self.names.append(name)
        return encode(name)

    def add_numbers(self, name, values, missing=None):
        values = numbers(values)
        mask = None if missing is None else np.ascontiguousarray(missing, dtype=np.uint8)
        self.ctx.keep(values, mask)
        self.ctx.call(
            "pv_table_add_numbers",
            self.handle,
            self._named(name),
            array_type(values.dtype),
            values.ctypes.data,
            values.strides[0],
            None if mask is None else mask.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8)),
            True,
        )

    def add_matrix(self, names, values):
        values = numbers(values)
        self.ctx.keep(values)
        named = [str(name) for name in names]
        self.names.extend(named)
        self.ctx.call(
            "pv_table_add_matrix",
            self.handle,
            texts(named),
            values.shape[1],
            array_type(values.dtype),
            values.ctypes.data,
            values.strides[0],
            values.strides[1],
            True,
        )

    def add_texts(self, name, values):
        self.ctx.call("pv_table_add_texts", self.handle, self._named(name), texts(values), None)

    def add_codes(self, name, codes, levels):
        codes = np.ascontiguousarray(codes)
        self.ctx.call(
            "pv_table_add_codes",
            self.handle,
            self._named(name),
            array_type(codes.dtype),
            codes.ctypes.data,
            codes.strides[0],
            0,
            texts(levels),
            len(levels),
            None,
        )

    def add_column(self, name, column):
        dtype = getattr(column, "dtype", None)
        categories = getattr(dtype, "categories", None)
        if categories is not None and hasattr(column, "cat"):
            self.add_codes(name, column.cat.codes.to_numpy(), [label_text(level) for level in categories])
            return
        kind = getattr(dtype, "kind", "O")
        if kind == "c":
            raise InputError(f"column {str(name)!r} holds complex data not supported", "input", column=str(name))
        if kind in "mM":
            if kind == "m":
                raise InputError(f"column {str(name)!r} holds durations; convert them to numbers", "input", None, None, str(name))
            self._add_dates(name, column)
            return
        mask = column.isna().to_numpy() if hasattr(column, "isna") else None
        if kind == "b":
            self._add_objects(name, np.asarray(column.astype(object)), mask)
        elif kind in "iuf":
            if mask is not None and not isinstance(dtype, np.dtype):  # nullable numbers of pandas
                plain = getattr(dtype, "numpy_dtype", np.dtype(np.float64))
                self.add_numbers(name, column.to_numpy(dtype=plain, na_value=0), mask)
            else:
                self.add_numbers(name, np.asarray(column))
        else:
            self._add_objects(name, np.asarray(column, dtype=object), mask)

    def _add_dates(self, name, column):
        """Days since 1970-01-01, as of a CSV file; the same instant is the same number in every time zone."""
        values = np.asarray(column.dt.tz_convert("UTC").dt.tz_localize(None) if getattr(column.dtype, "tz", None) else column)
        days = values.astype("datetime64[ns]").astype(np.int64) / 86_400e9
        self.add_numbers(name, days, np.isnat(values))

    def _add_number_objects(self, name, present, missing):
        """Whole numbers keep their digits, beyond 64 bits as texts: they may be identifiers."""
        whole = all(isinstance(value, (int, np.integer)) for value in present)
        lowest, highest = (int(min(present)), int(max(present))) if whole else (0, 0)
        if lowest < np.iinfo(np.int64).min or highest > np.iinfo(np.uint64).max or (lowest < 0 and highest > np.iinfo(np.int64).max):
            cells = np.full(len(missing), None, dtype=object)
            cells[~missing] = [str(int(value)) for value in present]
            self.add_texts(name, list(cells))
            return
        kind = np.float64 if not whole else np.int64 if highest <= np.iinfo(np.int64).max else np.uint64
        filled = np.zeros(len(missing), dtype=kind)
        filled[~missing] = present.astype(kind)
        self.add_numbers(name, filled, missing)

    def _add_objects(self, name, values, mask):
        missing = np.zeros(len(values), bool) if mask is None else np.asarray(mask, dtype=bool)
        present = values[~missing]
        is_number = [isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in present]
        if len(present) and all(is_number):
            self._add_number_objects(name, present, missing)
            return
        if any(is_number):
            row = int(np.flatnonzero(~missing)[is_number.index(True)])
            raise InputError(
                f"column {str(name)!r} holds numbers and texts: {values[row]!r} in row {row} is a number; convert all to one type",
                "input",
                row=row,
                column=str(name),
            )
        for row in np.flatnonzero(~missing):
            if not isinstance(values[row], (str, bool, np.bool_)):
                raise InputError(
                    f"column {str(name)!r} holds {values[row]!r} in row {row}, which is neither a number nor a text",
                    "input",
                    row=int(row),
                    column=str(name),
                )
        self.add_texts(name, [None if missing[i] else str(value) for i, value in enumerate(values)])



_PyCapsule_GetPointer = ctypes.pythonapi.PyCapsule_GetPointer
_PyCapsule_GetPointer.restype = ctypes.c_void_p
_PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _stream(X):
    """The frame's Arrow stream, a capsule; None where it has none.

    pandas needs pyarrow for one, takes its index for a column unless that is a plain count, loses the order of categories,
    and rejects columns of mixed objects, of which our own message says more.
    """
    if not hasattr(X, "__arrow_c_stream__"):
        return None
    if not hasattr(X, "iloc"):
        return X.__arrow_c_stream__()
    if any(hasattr(dtype, "categories") for dtype in X.dtypes):
        return None
    try:
        return X.reset_index(drop=True).__arrow_c_stream__()
    except (ImportError, ValueError, TypeError, NotImplementedError):
        return None
