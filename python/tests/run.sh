#!/usr/bin/env bash
# The Python package as a user gets it: builds a wheel, installs it in an environment of its own, and runs the tests there.
#
#   python/tests/run.sh [BUILD [FOLDER]]
#
# BUILD is a CMake build folder with the library and, where it has one, the command (default: one of its own, which takes
# minutes); FOLDER is where wheel and environment go (default: a temporary one). Ends with 77, which is skipped, where
# Debian's scikit-learn, pytest or build are not there. Nothing is downloaded. PREVAIL_BUNDLED=yes tests the wheel that is built from
# the source distribution, which takes minutes more.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(dirname "$here")
python=${PYTHON:-/usr/bin/python3}
for module in numpy sklearn pytest build setuptools wheel venv; do
    "$python" -c "import $module" 2>/dev/null || { echo "skipped: $python has no $module (scripts/setup check)"; exit 77; }
done
folder=${2:-$(mktemp -d)}
[ -n "${2:-}" ] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"
rm -rf "$folder/dist" "$folder/source"
# A copy, so that nothing is written beside the sources; ../CMakeLists.txt is what it builds.
mkdir -p "$folder/source"
ln -sfn "$(dirname "$source")/"{CMakeLists.txt,cmake,src,include,cli,tool,scripts,exports.map,prevail.pc.in,LICENSE} "$folder/source/"
cp -r "$source" "$folder/source/python"
build=${1:-}
if [ -n "$build" ]; then
    build=$(cd "$build" && pwd)
    export PREVAIL_BUILD_DIR=$build PREVAIL_COMMAND=$build/prevail
fi
"$python" -m build -w -n -o "$folder/dist" "$folder/source/python" >"$folder/build.log" 2>&1 ||
    { tail -n 40 "$folder/build.log"; echo "the wheel could not be built"; exit 1; }
if command -v readelf >/dev/null; then
    tag=$("$(dirname "$source")/scripts/wheel-policy" "$folder"/dist/*.whl) || { echo "the wheel breaks the manylinux policy"; exit 1; }
    echo "the wheel keeps the policy $tag"
fi
"$python" -m build -s -n -o "$folder/sdist" "$folder/source/python" >"$folder/sdist.log" 2>&1 ||
    { tail -n 20 "$folder/sdist.log"; echo "the source distribution could not be made"; exit 1; }
tar -tzf "$folder"/sdist/prevail-*.tar.gz >"$folder/sdist.list"
for part in setup.py LICENSE prevail/py.typed libprevail/scripts/compile libprevail/glyphs.h libprevail/src/base/context.c; do
    grep -q "^prevail-[^/]*/$part$" "$folder/sdist.list" || { echo "the source distribution has no $part"; exit 1; }
done
if [ "${PREVAIL_BUNDLED-}" = yes ]; then # minutes
    rm -rf "$folder/dist" && (unset PREVAIL_BUILD_DIR && "$python" -m pip wheel -q --no-deps --no-build-isolation --no-index -w "$folder/dist" "$folder"/sdist/*.tar.gz)
fi
export PYTHON=$python PREVAIL_INCLUDE=$(dirname "$source")/include/prevail
exec "$here/run_elsewhere.sh" "$folder"/dist/*.whl "$folder/venv"
