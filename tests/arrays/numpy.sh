#!/bin/sh
# NumPy reads the files of `prevail simulate ct-nodules`. usage: numpy.sh PREVAIL. Skipped (77) without NumPy.
set -eu
python=/usr/bin/python3
if ! $python -c 'import numpy' 2>/dev/null; then
    echo "skipped: no NumPy (scripts/setup bench installs it)"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" simulate ct-nodules --cases 6 --controls 4 --size 17 -o "$folder/ct.npz"
$python - "$folder/ct.npz" <<'END'
import sys
import zipfile

import numpy as np

assert zipfile.ZipFile(sys.argv[1]).testzip() is None
data = np.load(sys.argv[1])
shapes = {"labels": (10,), "votes": (10, 4), "group": (10,), "spacing": (10, 3), "probability": (10,),
          "grade_probability": (10, 5), "diameter": (10,), "density": (10,), "margin": (10,), "spiculation": (10,),
          "lobulation": (10,), "images": (10, 17, 17, 17)}
assert {name: data[name].shape for name in data.files} == shapes
assert data["images"].dtype == np.dtype("<i2") and data["images"].min() >= -1024
assert data["labels"].sum() == 6 and data["votes"].max() <= 5 and (data["votes"].max(1) > 0).all()
assert np.allclose(data["grade_probability"].sum(1), 1)
assert ((data["diameter"] >= 3) & (data["diameter"] <= 30)).all()
print("NumPy", np.__version__, "reads it")
END
