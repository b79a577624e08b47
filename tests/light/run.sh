#!/usr/bin/env bash
# Tests the command without optional libraries. usage: tests/light/run.sh PREVAIL FOLDER
#
# PREVAIL is the full command. The build is stored in FOLDER. Checks that only the compiler's own libraries are needed,
# that all that concerns tables agrees with the full build, that each reads the other's model files, and that a network
# is refused with a one-line message.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../checks.sh"
here=$(cd "$(dirname "$0")" && pwd)
whole=${1:?usage: tests/light/run.sh PREVAIL FOLDER} folder=${2:?usage: tests/light/run.sh PREVAIL FOLDER}

compiler=${CC:-cc}
command -v ccache >/dev/null && compiler="ccache $compiler"
mkdir -p "$folder"
if ! CC=$compiler CFLAGS="-O1 -Wall -Wextra -Wpedantic -Werror" OPENMP=none JOBS=2 "$here/../../scripts/compile" "$folder" command \
    >"$folder.log" 2>&1; then
    tail -n 20 "$folder.log"
    exit 1
fi
prevail=$folder/prevail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

needs() { readelf -d "$1" | grep NEEDED; }
check "readelf shows what it needs" test "$(needs "$prevail" | wc -l)" -ge 1
check "it needs nothing but libc and libm" test "$(needs "$prevail" | grep -cEv 'lib(c|m|dl|pthread)\.so|ld-linux')" -eq 0
check "version says so" grep -q '^networks   none: built without images$' <("$prevail" version)
check "version names no oneDNN" test "$("$prevail" version | grep -c oneDNN)" -eq 0

# A single line, and exit code 2.
refused() { # text that must be in it, then the arguments
    local text=$1 code
    shift
    "$prevail" "$@" >"$scratch/out" 2>"$scratch/err"
    code=$?
    [ $code -eq 2 ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -qF -e "$text" "$scratch/err" && return
    echo "exit code $code; $(cat "$scratch/err")"
    return 1
}
without='this prevail was built without networks for images (PV_IMAGES=OFF)'
printf '\050\265\057\375rest' >"$scratch/table.csv.zst"
check "a table packed by zstd is refused" refused 'is compressed by zstd, which this build of prevail cannot read' \
    fit "$scratch/table.csv.zst" --outcome y --prevalence 0.1
check "convnet is refused" refused "--model convnet: $without" fit builtin:esoph --outcome cancer --prevalence 0.01 --model convnet
check "inception is refused" refused "--model inception: $without" fit "$here/../arrays/graded.npz" --prevalence 0.1 --model inception

# An image model from the full build.
"$whole" fit "$here/../arrays/discs.npz" --model convnet:views=1,size=8,low=2,channels=2,features=2 --prevalence 0.1 --epochs 1 --quiet \
    -o "$scratch/images.model" >/dev/null
check "a model of images is refused" refused 'is a model of images, and this prevail was built without' summary "$scratch/images.model"

check "cases of tables" "$here/../cli/run.sh" "$prevail" fit_contingency fit_losses predict adjust

# Fits, predictions and evaluations of both, with its own and with the other's model. gzip is supported by own code.
check "agrees with the whole build" "${PYTHON:-/usr/bin/python3}" "$here/agree.py" "$whole" "$prevail" "$scratch"
checks_end
