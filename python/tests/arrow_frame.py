"""A data frame that can do nothing but stream Arrow: for tests where neither pyarrow nor polars is installed."""

import ctypes

import numpy as np


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


_schema_release = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
_array_release = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
_get_schema = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Schema))
_get_next = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Array))
_get_error = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)
_stream_release = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))

Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", _schema_release),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", _array_release),
    ("private_data", ctypes.c_void_p),
]
Stream._fields_ = [
    ("get_schema", _get_schema),
    ("get_next", _get_next),
    ("get_last_error", _get_error),
    ("release", _stream_release),
    ("private_data", ctypes.c_void_p),
]


class ArrowFrame:
    """Columns of numbers and texts in batches of some rows."""

    def __init__(self, columns, batch=100):
        self.columns = list(columns)
        self.shape = (len(next(iter(columns.values()))), len(columns))
        self._columns, self._batch = columns, batch

    def __arrow_c_stream__(self, requested_schema=None):
        return _Export(self).capsule()


class _Export:
    """What one stream hands out, alive as long as it."""

    alive = {}

    def __init__(self, frame):
        self.frame, self.keep, self.at = frame, [], 0
        self.released = _schema_release(lambda schema: setattr(schema.contents, "release", _schema_release()))
        self.array_released = _array_release(lambda array: setattr(array.contents, "release", _array_release()))
        self.stream = Stream(
            _get_schema(self.schema), _get_next(self.next), _get_error(lambda stream: b"failed"), _stream_release(self.end)
        )
        self.key = ctypes.addressof(self.stream)
        _Export.alive[self.key] = self

    def capsule(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(self.key, b"arrow_array_stream", None)

    def end(self, stream):
        stream.contents.release = _stream_release()
        _Export.alive.pop(self.key, None)

    def schema(self, stream, out):
        children = []
        for name, values in self.frame._columns.items():
            children.append(Schema(format=b"u" if values.dtype == object else b"g", name=name.encode()))
        pointers = (ctypes.POINTER(Schema) * len(children))(*map(ctypes.pointer, children))
        self.keep += [children, pointers]
        out[0] = Schema(format=b"+s", n_children=len(children), children=pointers, release=self.released)
        return 0

    def next(self, stream, out):
        rows = self.frame.shape[0]
        if self.at >= rows:
            out[0] = Array()
            return 0
        part = slice(self.at, min(self.at + self.frame._batch, rows))
        self.at = part.stop
        children = [self.column(values[part]) for values in self.frame._columns.values()]
        pointers = (ctypes.POINTER(Array) * len(children))(*map(ctypes.pointer, children))
        none = (ctypes.c_void_p * 1)(None)
        self.keep += [children, pointers, none]
        out[0] = Array(
            length=part.stop - part.start,
            n_buffers=1,
            buffers=none,
            n_children=len(children),
            children=pointers,
            release=self.array_released,
        )
        return 0

    def column(self, values):
        if values.dtype != object:
            parts = [None, np.ascontiguousarray(values, dtype=np.float64)]
        else:
            texts = [b"" if value is None else value.encode() for value in values]
            valid = np.packbits([value is not None for value in values], bitorder="little")
            parts = [valid, np.cumsum([0, *map(len, texts)], dtype=np.int32), np.frombuffer(b"".join(texts) + b" ", np.uint8)]
        buffers = (ctypes.c_void_p * len(parts))(*[None if part is None else part.ctypes.data for part in parts])
        self.keep += [parts, buffers]
        return Array(length=len(values), null_count=-1, n_buffers=len(parts), buffers=buffers)
