#!/usr/bin/env bash
# A full disk at every write: a limit on the size of files (ulimit -f, in KiB) that grows until the command succeeds.
#
#   tests/kill/full.sh PREVAIL
#
# Below that limit the command must say that a file could not be written and exit with 1; what was there before must
# be unchanged, and nothing partial left.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ] || [ ! -x "$1" ]; then
    echo "usage: tests/kill/full.sh PREVAIL" >&2
    exit 2
fi
prevail=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
"$prevail" simulate gaussian --cases 200 --controls 200 --dimensions 5 --prevalence 0.05 -o data.csv || exit 1
"$prevail" fit data.csv --target y --prevalence 0.1 -o a.model >/dev/null || exit 1
cp "$here/../arrays/discs.npz" .

failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# try NAME FILE... -- WORD...: FILEs are what the command writes under these names.
try() {
    local name=$1 files=() limit code said refused=0
    shift
    while [ "$1" != -- ]; do
        files+=("$1")
        shift
    done
    shift
    for ((limit = 0; limit < 100000; limit = limit < 4 ? limit + 1 : limit * 3 / 2)); do
        for file in "${files[@]}"; do
            [ "$file" = ck ] || echo before >"$file"
        done
        said=$(ulimit -S -f $limit && exec "$prevail" "$@" 2>&1 >/dev/null) # a pipe has no limit
        code=$?
        [ $code -eq 0 ] && break
        refused=$((refused + 1))
        [ $code -eq 1 ] || fail "$name with $limit KiB: exit code $code"
        [[ $said == *"could not be written"* ]] || fail "$name with $limit KiB: $said"
        compgen -G "*.partial.*" >/dev/null && fail "$name with $limit KiB: left $(compgen -G "*.partial.*")"
        grep -qx before "${files[0]}" || fail "$name with $limit KiB: ${files[0]} is not what it was"
        rm -f ck
    done
    [ $refused -gt 0 ] || fail "$name: no limit was low enough"
    echo "$name: refused at $refused limits, done at $limit KiB"
    rm -f "${files[@]}"
}

# try_study NAME WORD...: a folder. A run of another seed is there before; below the limit every file is that run's or the new one's.
try_study() {
    local name=$1 limit code said refused=0 file
    shift
    "$prevail" "$@" --seed 2 -o before --quiet >/dev/null && "$prevail" "$@" -o after --quiet >/dev/null || fail "$name"
    for ((limit = 0; limit < 100000; limit = limit < 4 ? limit + 1 : limit * 3 / 2)); do
        rm -rf out ck
        cp -r before out
        said=$(ulimit -S -f $limit && exec "$prevail" "$@" -o out --checkpoint ck --checkpoint-every 0.001 --quiet 2>&1 >/dev/null)
        code=$?
        [ $code -eq 0 ] && break
        refused=$((refused + 1))
        [ $code -eq 1 ] || fail "$name with $limit KiB: exit code $code"
        [[ $said == *"could not be written"* ]] || fail "$name with $limit KiB: $said"
        for file in out/*; do
            [ -f "$file" ] || continue
            cmp -s "$file" "before/${file##*/}" || cmp -s "$file" "after/${file##*/}" || fail "$name with $limit KiB: $file is neither"
        done
        [ $refused -eq 8 ] || continue # and where there is room again
        "$prevail" "$@" -o out --checkpoint ck --resume --quiet >/dev/null && diff -r after out >/dev/null || fail "$name: resumed after $limit KiB"
    done
    [ $refused -gt 0 ] || fail "$name: no limit was low enough"
    diff -r after out >/dev/null || fail "$name: other bytes at $limit KiB"
    [ -e ck ] && fail "$name: left its checkpoint behind"
    echo "$name: refused at $refused limits, done at $limit KiB"
    rm -rf before after out ck
}

try fit b.model -- fit data.csv --target y --prevalence 0.1 --infer laplace -o b.model
try trace t.csv -- fit data.csv --target y --prevalence 0.1 --batch 20 --epochs 100 --trace t.csv
try checkpoint b.model ck -- fit data.csv --target y --prevalence 0.1 --model mlp:16 --batch 20 --epochs 20 -o b.model \
    --checkpoint ck --checkpoint-every 0.001
try images b.model ck -- fit discs.npz --model convnet:views=1,size=8,low=4,channels=8,features=8 --epochs 3 --prevalence 0.1 \
    -o b.model --checkpoint ck --checkpoint-every 0.001
try predict p.csv -- predict a.model data.csv -o p.csv
try cv p.csv ck -- cv data.csv --target y --prevalence 0.1 -o p.csv --checkpoint ck --checkpoint-every 0.001
try sweep p.csv ck -- sweep data.csv --target y --prevalence 0.1,0.2 -o p.csv --checkpoint ck --checkpoint-every 0.001
try simulate s.csv -- simulate nodules --rows 300 -o s.csv
try arrays s.npz -- simulate ct-nodules --rows 20 --size 24 -o s.npz
try_study contingency study contingency --prevalence-n 10 --steps 20
try_study coverage study coverage --replicates 3 --infer laplace,vi --steps 20 --draws 100 --cases 50 --controls 50
try_study ranks study coverage --sbc --replicates 3 --infer vi --steps 20
try_study calibration study calibration --replicates 2 --prevalences 0.1 --population-rows 1000 --steps 5 --draws 100
try_study bias study bias --replicates 2
echo "$failures failures"
[ $failures -eq 0 ]
