#!/usr/bin/env bash
# Installs a wheel into a folder of its own, beside the packages that are there, and runs the tests with it.
#
#   python/tests/run_elsewhere.sh WHEEL [FOLDER [PYTEST-ARGUMENT ...]]
#
# For any machine with a Python, numpy, scikit-learn and pytest; PYTHON names another one than python3. What else is there
# (pandas, pyarrow, polars, torch, xgboost, imblearn, matplotlib, cffi) is tested with; what is not is skipped, and said.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
wheel=$(realpath "$1")
folder=${2:-$(mktemp -d)}
shift
[ $# -eq 0 ] || shift
python=${PYTHON:-python3}
"$python" -m pip install --quiet --no-deps --no-index --upgrade --disable-pip-version-check --target "$folder" "$wheel"
cd "$here"
unset PREVAIL_LIBRARY
export PYTHONPATH=$folder
"$python" - <<'END'
import importlib, os, platform, prevail
assert prevail.__file__.startswith(os.environ["PYTHONPATH"]), prevail.__file__
names = "numpy sklearn pandas pyarrow polars torch xgboost imblearn matplotlib cffi".split()
found = []
for name in names:
    try:
        found.append(f"{name} {importlib.import_module(name).__version__}")
    except ImportError:
        found.append(f"no {name}")
print(f"prevail {prevail.__version__}, Python {platform.python_version()}:", ", ".join(found))
END
exec "$python" -m pytest -p no:cacheprovider -c "$here/../pyproject.toml" --rootdir "$here" -rs --tb=short "$here" "$@"
