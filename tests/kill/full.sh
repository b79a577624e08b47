#!/usr/bin/env bash
# A full disk, simulated by a limit on the size of files (ulimit -f) that grows until the command succeeds, in steps of
# 1 KiB up to 16 KiB, then by doubling.
#
#   tests/kill/full.sh PREVAIL
#
# Below that limit the command must report that a file could not be written and exit with 1. Every output file exists
# before: it must be unchanged or, if there are several, be entirely old or entirely new. If only the checkpoint could
# not be written, not even once, all must be new. No partial file may remain, and nothing else may be written except a
# checkpoint. In the end the files must equal those of a run without a limit.
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
export OMP_WAIT_POLICY=passive
"$prevail" simulate gaussian --cases 200 --controls 200 --dimensions 5 --prevalence 0.05 -o data.csv || exit 1
"$prevail" fit data.csv --outcome y --prevalence 0.1 -o a.model >/dev/null || exit 1
"$prevail" predict a.model data.csv -o probs.csv >/dev/null || exit 1
"$prevail" simulate nodules --rows 400 --prevalence 0.3 -o nodules.csv || exit 1
cp "$here/../arrays/discs.npz" .

failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

next() { limit=$((limit < 16 ? limit + 1 : limit * 2)); }

# refused NAME CODE SAID: the expected message and exit code of a command that could not write.
refused() {
    [ $2 -eq 1 ] || fail "$1 with $limit KiB: exit code $2"
    [[ $3 == *"could not be written"* ]] || fail "$1 with $limit KiB: $3"
}

# compare NAME FOLDER OLD NEW: every file of FOLDER is equal to the one in OLD or in NEW, and none of OLD is missing.
compare() {
    local name=$1 folder=$2 old=$3 new=$4 file
    while read -r file; do
        cmp -s "$folder/$file" "$old/$file" || cmp -s "$folder/$file" "$new/$file" || fail "$name with $limit KiB: $file is neither old nor new"
    done < <(cd "$folder" && find . -type f ! -path ./ck)
    while read -r file; do
        [ -e "$folder/$file" ] || fail "$name with $limit KiB: $file is gone"
    done < <(cd "$old" && find . -type f)
}

# mask FOLDER: removes the speed from a trace.
mask() { [ ! -e "$1/t.csv" ] || sed -i -E '2,$s/^(([^,]*,){5})[^,]*,/\1,/' "$1/t.csv"; }

# try NAME WORD...: runs in a folder of its own, with the inputs in its parent.
try() {
    local name=$1 limit=0 code said count=0 file files first
    shift
    rm -rf new old work && mkdir new
    (cd new && "$prevail" "$@" >/dev/null 2>&1) || fail "$name: without a limit"
    mask new
    cp -r new old
    files=$(find old -type f | wc -l)
    for file in $(find old -type f); do # in a folder, only what begins as its files do is replaced
        first=$(case $file in old/*/*) head -n 1 "$file" ;; *) echo before ;; esac)
        printf '%s\nbefore\n' "$first" >"$file"
    done
    while [ $limit -lt 100000 ]; do
        rm -rf work && cp -r old work
        said=$(cd work && ulimit -S -f $limit && exec "$prevail" "$@" 2>&1 >/dev/null) # a pipe has no limit
        code=$?
        mask work
        [ $code -eq 0 ] && break
        count=$((count + 1))
        refused "$name" $code "$said"
        if [[ $said == *"work finished"* ]]; then # the checkpoint alone: the result is there
            diff -r new work >/dev/null || fail "$name with $limit KiB: no checkpoint, and other files"
        else
            compare "$name" work old "$([ "$files" -eq 1 ] && echo old || echo new)"
        fi
        next
    done
    [ $count -gt 0 ] || fail "$name: no limit was low enough"
    diff -r new work >/dev/null || fail "$name: other files at $limit KiB"
    echo "$name: $files files, refused at $count limits, done at $limit KiB"
}

# try_study NAME WORD...: the same for prevail-lab (in PREVAIL's folder), whose output is a folder. It first contains a
# run with another seed. If a checkpoint is left, the run is continued once without the limit.
try_study() {
    local name=$1 limit=0 code said count=0 resumed=0
    shift
    rm -rf old new work
    "$prevail-lab" "$@" --seed 2 -o old --quiet >/dev/null && "$prevail-lab" "$@" -o new --quiet >/dev/null || fail "$name"
    while [ $limit -lt 100000 ]; do
        rm -rf work ck*
        cp -r old work
        said=$(ulimit -S -f $limit && exec "$prevail-lab" "$@" -o work --checkpoint ck --checkpoint-every 0.001 --quiet 2>&1 >/dev/null)
        code=$?
        [ $code -eq 0 ] && break
        count=$((count + 1))
        refused "$name" $code "$said"
        compare "$name" work old new
        compgen -G "ck.*" >/dev/null && fail "$name with $limit KiB: left $(compgen -G "ck.*")"
        if [ $resumed -eq 0 ] && [ -s ck ]; then
            said=$("$prevail-lab" "$@" -o work --checkpoint ck --resume 2>&1 >/dev/null) && [[ $said == *"continuing from ck"* ]] &&
                diff -r new work >/dev/null || fail "$name: resumed after $limit KiB: $said"
            resumed=1
        fi
        next
    done
    [ $count -gt 0 ] || fail "$name: no limit was low enough"
    diff -r new work >/dev/null || fail "$name: other bytes at $limit KiB"
    [ -e ck ] && fail "$name: left its checkpoint behind"
    [ $resumed -eq 1 ] || fail "$name: no checkpoint was left to continue from"
    echo "$name: refused at $count limits, done at $limit KiB"
}

# A packed table next to the checkpoint: without enough space nothing of it remains, and the model is unchanged.
try_beside() {
    local limit=0 code said count=0
    rm -rf work && mkdir work
    "$prevail" simulate gaussian --cases 5000 --controls 5000 --dimensions 5 --prevalence 0.05 -o long.csv
    set -- fit ../long.csv --outcome y --prevalence 0.1 -o b.model --memory 1M --checkpoint ck --quiet
    while [ $limit -lt 100000 ]; do
        echo before >work/b.model
        said=$(cd work && ulimit -S -f $limit && exec "$prevail" "$@" 2>&1 >/dev/null)
        code=$?
        [ $code -eq 0 ] && break
        count=$((count + 1))
        [ $code -eq 1 ] || fail "beside with $limit KiB: exit code $code"
        [[ $said == *"could not be written"* || $said == *"cannot be written to"* ]] || fail "beside with $limit KiB: $said"
        [ "$(ls work) $(cat work/b.model)" = "b.model before" ] || fail "beside with $limit KiB: left $(ls work)"
        limit=$((limit < 16 ? limit + 8 : limit * 2))
    done
    [ $count -gt 0 ] || fail "beside: no limit was low enough"
    [ "$(ls work)" = b.model ] || fail "beside: left $(ls work)"
    echo "beside: refused at $count limits, done at $limit KiB"
}

fit="fit ../data.csv --outcome y --prevalence 0.1"
kept="--checkpoint ck --checkpoint-every 0.001"
try pack pack ../data.csv -o t.pvt
try_beside
try fit $fit --infer laplace --draws 100 -o b.model
try trace $fit --batch 20 --epochs 100 --trace t.csv
try checkpoint $fit --model mlp:16 --batch 20 --epochs 20 -o b.model --trace t.csv $kept
try images fit ../discs.npz --model convnet:views=1,size=8,low=4,channels=8,features=8 --epochs 3 --prevalence 0.1 -o b.model $kept
try vi $fit --infer vi --steps 30 --components 2 --draws 100 -o b.model $kept
try vi_batches $fit --infer vi --steps 30 --components 2 --draws 100 --batch 32 --marginal auxiliary:linear --prevalence-n rows -o b.model $kept
try hmc $fit --infer hmc --chains 2 --draws 100 --warmup 50 -o b.model $kept
try export_onnx export ../a.model -o e.onnx
try export_c export ../a.model -o e.c
try predict predict ../a.model ../data.csv -o p.csv
try adjust adjust ../probs.csv --from 0.1 --to 0.3 -o p.csv
try eval eval ../a.model ../data.csv --bootstrap 20 --report r.html --curves c --figures f
try cv cv ../data.csv --outcome y --prevalence 0.1 --bootstrap 20 -o p.csv --report r.html $kept
try sweep sweep ../data.csv --outcome y --prevalence 0.1,0.2 -o p.csv --report r.html $kept
try simulate simulate nodules --rows 300 -o s.csv --truth truth.csv
try design simulate cohort --cohort 2000 -o s.csv --known known.csv --truth truth.csv
try arrays simulate ct-nodules --rows 20 --size 24 -o s.npz
try_study contingency contingency --prevalence-n 10 --steps 20
try_study coverage coverage --replicates 3 --infer laplace,vi --steps 20 --draws 100 --cases 50 --controls 50
try_study ranks coverage --sbc --replicates 3 --infer vi --steps 20
try_study calibration calibration --replicates 2 --prevalences 0.1 --population-rows 1000 --steps 5 --draws 100
try_study calibration_data calibration --replicates 2 --prevalences 0.1 --population-rows 1000 --steps 5 --draws 100 \
    --data nodules.csv --splits 2
try_study bias bias --replicates 2
try_study designs designs --quick --only 2_balanced --replicates 2
try_study sets sets --kinds ties --rows 20 --replicates 3
try_study rate rate --rates 0.1 --gold 20 --replicates 3
try_study size size --aucs 0.8 --ratios 2 --replicates 3
try_study effect effect --kinds right --rows 100 --prevalences 0.1 --replicates 3
try_study labels labels --prevalences 0.1 --validated 50 --rows 200 --replicates 3
try_study robust robust --truths right --rows 40 --columns 2 --replicates 2
echo "$failures failures"
[ $failures -eq 0 ]
