#!/usr/bin/python3
"""Writes the array files of this folder with NumPy. Element i of every image array, in the order of C, is 3 i - 7
(unsigned: 3 i); tests/unit/test_images.c knows that."""
import gzip
import pathlib
import struct
import zlib

import numpy as np

here = pathlib.Path(__file__).parent


def ramp(shape, dtype, start=-7):
    return (3 * np.arange(np.prod(shape)) + start).reshape(shape).astype(dtype)


def npy(array):
    import io
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array)
    return stream.getvalue()


def zip64(path, members):
    """Every size and offset in ZIP64's extra field, as in archives over 4 GB."""
    out, directory = b"", b""
    for name, data in members.items():
        name, crc, ones = (name + ".npy").encode(), zlib.crc32(data), 0xFFFFFFFF
        local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 0, crc, ones, ones, len(name), 20)
        extra = struct.pack("<HHQQQ", 1, 24, len(data), len(data), len(out))
        directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 0, crc, ones, ones, len(name),
                                 len(extra), 0, 0, 0, 0, ones) + name + extra
        out += local + name + struct.pack("<HHQQ", 1, 16, len(data), len(data)) + data
    end = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, len(members), len(members), len(directory), len(out))
    locator = struct.pack("<IIQI", 0x07064B50, 0, len(out) + len(directory), 1)
    tail = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, ones, ones, 0)
    path.write_bytes(out + directory + end + locator + tail)


np.savez(here / "stored.npz", images=ramp((3, 2, 4), np.uint8, 0), labels=np.array([1, 0, 1]))
np.savez_compressed(here / "packed.npz", hu=np.asfortranarray(ramp((3, 2, 3, 4), ">i2")),
                    votes=np.array([[1, 3, 0, 3], [0, 0, 0, 0], [2, 2, 2, 2]], np.int8),
                    patient=np.array(["Zoë", "Ann", "Zoë"]), spacing=np.array([[2, 1, 1], [3, 1, 1], [2.5, 0.5, 0.5]]))
zip64(here / "zip64.npz", {"images": npy(ramp((2, 2, 3), np.float32)), "labels": npy(np.array(["no", "yes"]))})
(here / "fortran.npy").write_bytes(npy(np.asfortranarray(ramp((3, 4, 5), ">f8"))))
idx = struct.pack(">HBB3I", 0, 0x0B, 3, 3, 2, 2) + ramp((3, 2, 2), ">i2").tobytes()
(here / "images.idx.gz").write_bytes(gzip.compress(idx, mtime=0))
(here / "labels.idx").write_bytes(struct.pack(">HBBI", 0, 0x08, 1, 3) + bytes([9, 4, 9]))
# Discs in noise, large ones labelled 1, which a small network can learn. Three readers grade them 1 to 3; the second
# half of the patients is the hold-out sample of the tests.
rng = np.random.default_rng(3)
y = np.arange(80) % 2
grid = np.hypot(*(np.mgrid[:12, :12] - 5.5))
radius = 2.2 + 1.5 * y + rng.normal(0, 0.3, 80)
discs = np.clip(60 * (grid < radius[:, None, None]) + rng.normal(60, 8, (80, 12, 12)), 0, 255).astype(np.uint8) // 8 * 8
grades = np.clip(np.round(1 + 2 * y[:, None] + rng.normal(0, 0.6, (80, 3))), 1, 3).astype(np.int8)
grades[::3, 2] = 0
for name, rows in (("discs.npz", slice(0, 48)), ("discs_test.npz", slice(48, 80))):
    np.savez_compressed(here / name, images=discs[rows], labels=y[rows], votes=grades[rows],
                        patient=np.arange(80)[rows] // 4, diameter=2 * radius[rows].astype(np.float32))
# The first two convolutions of a VGG with 2 channels, under both naming schemes.
first, second = ramp((2, 3, 3, 3), np.float32), ramp((2, 2, 3, 3), np.float32)
biases = np.array([0.5, -0.25], np.float32), np.array([2, 3], np.float32)
np.savez_compressed(here / "vgg.npz", **{"features.0.weight": first, "features.0.bias": biases[0],
                                         "features.2.weight": second, "features.2.bias": biases[1]})
np.savez_compressed(here / "vgg_last.npz", conv1_1_W=first.transpose(2, 3, 1, 0), conv1_1_b=biases[0],
                    conv1_2_W=second.transpose(2, 3, 1, 0), conv1_2_b=biases[1])
# Discs whose radius four readers grade from 1 to 5, with some votes missing: for the study of ratings.
rng = np.random.default_rng(5)
radius = rng.uniform(1.5, 5.5, 90)
discs = np.clip(60 * (grid < radius[:, None, None]) + rng.normal(60, 8, (90, 12, 12)), 0, 255).astype(np.uint8) // 8 * 8
grades = np.clip(np.round(radius[:, None] + rng.normal(0, 0.6, (90, 4))), 1, 5).astype(np.int8)
grades[::4, 3] = 0
np.savez_compressed(here / "graded.npz", images=discs, votes=grades, patient=np.arange(90) // 2)
