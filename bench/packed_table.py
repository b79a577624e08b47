"""A packed table of ROWS x COLUMNS normal numbers in single precision and a label, written a piece at a time.

usage: packed_table.py FILE ROWS COLUMNS

The format is docs/formats.md's, written from its description alone. The label y is 1 with probability
sigmoid(x . w), w fixed, so that about half of the rows are cases.
"""
import ctypes
import ctypes.util
import json
import sys

import numpy as np

MAGIC = b"prevail packed table 1\n"
ALIGN = 4096
PIECE = 1_000_000


def xxh3(data):
    library = ctypes.CDLL(ctypes.util.find_library("xxhash"))
    library.XXH3_64bits.restype = ctypes.c_uint64
    return library.XXH3_64bits(data, ctypes.c_size_t(len(data)))


def aligned(at):
    return (at + ALIGN - 1) // ALIGN * ALIGN


def weights(columns):
    return np.random.default_rng(1).standard_normal(columns) / np.sqrt(columns)


def places(start, rows, columns):
    """Where each column begins; the label is the first, as codes."""
    made, at = [], start
    for _ in range(columns + 1):
        made.append(aligned(at))
        at = made[-1] + 4 * rows
    return made, at


def write(path, rows, columns):
    column = [{"name": "y", "kind": "code", "levels": ["0", "1"]}]
    column += [{"name": f"x{j + 1}", "kind": "single", "levels": []} for j in range(columns)]
    header = json.dumps({"source": f"{rows} rows", "hash": f"{rows:08x}{columns:08x}", "rows": rows, "lines": False,
                         "written": {"no_header": False}, "columns": column}).encode()
    rest = places(0, rows, columns)[1]
    sizes = f"{len(header)} {rest} {xxh3(header):016x}\n".encode()
    begin, end = places(len(MAGIC) + len(sizes) + len(header), rows, columns)
    w = weights(columns).astype(np.float32)
    with open(path, "wb") as file:
        file.write(MAGIC + sizes + header)
        file.truncate(end)
        for first in range(0, rows, PIECE):
            n = min(PIECE, rows - first)
            rng = np.random.default_rng([2, first // PIECE])
            z = np.zeros(n, np.float32)
            for j in range(columns):
                x = rng.standard_normal(n, dtype=np.float32)
                z += w[j] * x
                file.seek(begin[1 + j] + 4 * first)
                file.write(x.tobytes())
            y = rng.random(n, dtype=np.float32) < 1 / (1 + np.exp(-z))
            file.seek(begin[0] + 4 * first)
            file.write(y.astype(np.int32).tobytes())


def read(path, rows, columns, first, n):
    """x [n, columns] and y [n] of some of its rows, as a peer that has chunks of rows reads them."""
    with open(path, "rb") as file:
        file.readline()
        sizes = file.readline()
        begin, _ = places(len(MAGIC) + len(sizes) + int(sizes.split()[0]), rows, columns)
        x = np.empty((n, columns), np.float32)
        for j in range(columns):
            file.seek(begin[1 + j] + 4 * first)
            x[:, j] = np.fromfile(file, np.float32, n)
        file.seek(begin[0] + 4 * first)
        return x, np.fromfile(file, np.int32, n)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
