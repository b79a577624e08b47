#!/usr/bin/env bash
# The library for tables alone: built with -DPV_IMAGES=OFF, without optimisation, and tried. usage: tests/light/run.sh PREVAIL FOLDER [CMAKE_FLAG ...]
#
# PREVAIL is the command with images. FOLDER keeps the build, so that a second run compiles only what has changed. Shows that oneDNN is not needed, that what is for
# tables works, and that a network is refused with one line.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../checks.sh"
here=$(cd "$(dirname "$0")" && pwd)
whole=${1:?usage: tests/light/run.sh PREVAIL FOLDER [CMAKE_FLAG ...]} folder=$2
shift 2

# PV_DNNL names nothing: a build that asked for oneDNN all the same would fail. The kernels' own -O3 costs most of the time.
if ! { cmake -S "$here/../.." -B "$folder" -DPV_IMAGES=OFF -DPV_TESTS=OFF -DCMAKE_BUILD_TYPE=Debug -DPV_DNNL=/nowhere "$@" &&
    cmake --build "$folder" -j 2 --target prevail --target prevail_command; } >"$folder.log" 2>&1; then
    tail -n 20 "$folder.log"
    exit 1
fi
prevail=$folder/prevail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

needs() { readelf -d "$1" | grep NEEDED; }
for file in "$prevail" "$folder/libprevail.so"; do
    check "$file: readelf shows what it needs" test "$(needs "$file" | wc -l)" -gt 2
    check "$file needs no oneDNN" test "$(needs "$file" | grep -c dnnl)" -eq 0
    check "$file needs no oneDNN by way of another" test "$(ldd "$file" | grep -c dnnl)" -eq 0
done
check "version says so" grep -q '^networks   none: built without images$' <("$prevail" version)
check "version names no oneDNN" test "$("$prevail" version | grep -c oneDNN)" -eq 0

# One line, exit code 2.
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
check "convnet is refused" refused "--model convnet: $without" fit builtin:esoph --outcome cancer --prevalence 0.01 --model convnet
check "inception is refused" refused "--model inception: $without" fit "$here/../arrays/graded.npz" --prevalence 0.1 --model inception

# A model of images that the whole build has made.
"$whole" fit "$here/../arrays/discs.npz" --model convnet:views=1,size=8,low=2,channels=2,features=2 --prevalence 0.1 --epochs 1 --quiet \
    -o "$scratch/images.model" >/dev/null
check "a model of images is refused" refused 'is a model of images, and this prevail was built without' summary "$scratch/images.model"

check "cases of tables" "$here/../cli/run.sh" "$prevail" fit_contingency fit_losses predict adjust
checks_end
