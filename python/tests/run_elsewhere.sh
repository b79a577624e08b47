#!/usr/bin/env bash
# Installs a wheel into an environment that sees the system's packages, and runs the tests with it.
#
#   python/tests/run_elsewhere.sh WHEEL [VENV [PYTEST-ARGUMENT ...]]
#
# For any machine with a Python, numpy, scikit-learn and pytest; PYTHON names another one than python3. What else is there
# (pandas, pyarrow, polars, torch, xgboost, imblearn, matplotlib, cffi) is tested with; what is not is skipped, and said.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
wheel=$(realpath "$1")
venv=${2:-$(mktemp -d)/venv}
shift
[ $# -eq 0 ] || shift
"${PYTHON:-python3}" -m venv --clear --system-site-packages "$venv"
"$venv/bin/python" -m pip install --quiet --no-deps --no-index --disable-pip-version-check "$wheel"
cd "$here"
unset PYTHONPATH PREVAIL_LIBRARY
"$venv/bin/python" - <<'END'
import importlib, platform, prevail
assert "site-packages" in prevail.__file__, prevail.__file__
names = "numpy sklearn pandas pyarrow polars torch xgboost imblearn matplotlib cffi".split()
found = []
for name in names:
    try:
        found.append(f"{name} {importlib.import_module(name).__version__}")
    except ImportError:
        found.append(f"no {name}")
print(f"prevail {prevail.__version__}, Python {platform.python_version()}:", ", ".join(found))
END
exec "$venv/bin/python" -m pytest -p no:cacheprovider -c "$here/../pyproject.toml" --rootdir "$here" -rs --tb=short "$here" "$@"
