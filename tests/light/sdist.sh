#!/usr/bin/env bash
# Python's source distribution, installed where PATH has a compiler, POSIX's programs and Python, and nothing else. usage: tests/light/sdist.sh BUILD FOLDER
#
# BUILD is a CMake build folder with the command, whose numbers are compared; FOLDER is removed and made. Exits with 77, which ctest shows as
# skipped, where Python's NumPy, scikit-learn, build or pip is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd) folder=$2
python=${PYTHON:-/usr/bin/python3}
for module in numpy sklearn build setuptools wheel pip; do
    "$python" -c "import $module" 2>/dev/null || { echo "SKIPPED: $python has no $module (scripts/setup check)"; exit 77; }
done
rm -rf "$folder" && mkdir -p "$folder/source" "$folder/bin"
folder=$(cd "$folder" && pwd)

# A copy, so that nothing is written next to the sources.
ln -s "$source"/{CMakeLists.txt,cmake,src,include,cli,tool,scripts,exports.map,prevail.pc.in,LICENSE} "$folder/source/"
cp -r "$source/python" "$folder/source/python"
PREVAIL_BUILD_DIR=$build "$python" -m build -s -n -o "$folder/sdist" "$folder/source/python" >"$folder/sdist.log" 2>&1 ||
    { tail -n 20 "$folder/sdist.log"; echo "the source distribution could not be made"; exit 1; }

for program in sh cc gcc as ld ar ldd bash basename cat cp dirname echo env expr getconf grep ls mkdir mv od printf rm sed tr uname xargs; do
    found=$(command -v -p "$program") || { echo "$program is missing"; exit 1; }
    case $found in /*) ln -s "$found" "$folder/bin/$program" ;; esac
done
ln -s "$python" "$folder/bin/python3"
# Without optimisation, which takes a third of the time; installed in a folder of its own.
env -i PATH="$folder/bin" HOME="$folder" OPTIMISE=-O0 KERNELS=-O0 JOBS="${JOBS:-2}" "$python" -m pip install -q --no-build-isolation --no-index --no-deps \
    --target "$folder/installed" "$folder"/sdist/prevail-*.tar.gz >"$folder/install.log" 2>&1 || { tail -n 20 "$folder/install.log"; echo "FAILED: not installed"; exit 1; }

cd "$folder"
"$build/prevail" simulate nodules --cases 300 --controls 400 --seed 3 -o rows.csv
"$build/prevail" fit rows.csv --outcome malignant --prevalence 0.02 --quiet -o rows.model >fit.txt
"$build/prevail" predict rows.model rows.csv --quiet -o scores.csv
env -i PATH="$folder/bin" PYTHONPATH="$folder/installed" "$python" - <<'END'
import csv, prevail
assert "/installed/" in prevail.__file__, prevail.__file__
head, *rows = csv.reader(open("rows.csv"))
at = head.index("malignant")
x = [[float(cell) for i, cell in enumerate(row) if i != at] for row in rows]
y = [row[at] for row in rows]
ours = prevail.PrevalenceClassifier(prevalence=0.02).fit(x, y).predict_proba(x)[:, 1]
theirs = [float(row["p__1"]) for row in csv.DictReader(open("scores.csv"))]
worst = max(abs(a - b) for a, b in zip(ours, theirs))
assert len(theirs) == len(ours) == 700 and worst <= 1e-8, worst
print(f"2 passed, 0 failed: installed by a compiler alone; within {worst:.1e} of the command")
END
