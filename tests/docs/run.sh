#!/usr/bin/env bash
# The examples of the site's pages run and print what the pages show; links resolve; the numbers in docs/validation.md
# agree. usage: tests/docs/run.sh BUILD [PAGE...]
#
# BUILD is a CMake build folder with the command and the library. Exits with 77 (skipped) without Python or NumPy.
# Comparisons with other software (R, scikit-learn, XGBoost, ...) are skipped and reported if it is not installed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
build=$(cd "${1:?usage: tests/docs/run.sh BUILD [PAGE...]}" && pwd)
shift
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import numpy' 2>/dev/null || { echo "skipped: $python has no NumPy (scripts/setup check)"; exit 77; }
cd "$source"
"$python" -m doctest "$here/run.py"
"$python" "$here/links.py" "$build/prevail"
[ $# -gt 0 ] || set -- README.md docs/index.md docs/validation.md docs/designs.md docs/guides/*.md docs/coming-from/*.md docs/reference/*.md
nice "$python" "$here/run.py" --build "$build" "$@"
if command -v mkdocs >/dev/null; then "$source/scripts/site" "$build"; else echo "skipped: no mkdocs, so the site was not made (scripts/setup site)"; fi
