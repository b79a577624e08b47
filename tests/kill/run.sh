#!/usr/bin/env bash
# Kills the command at random moments and continues it; the output must be the bytes of a run that was never killed.
#
#   tests/kill/run.sh PREVAIL [KILLS [SEED]]
#
# KILLS (default 24) SIGKILLs are spread over minibatch training on a table and on images, variational inference, sampling,
# cross-validation and a sweep. Each is killed and resumed, then resumed until it is done. What may be left behind by a killed
# process is OUTPUT.partial.XXXXXX alone (docs/formats.md); a checkpoint and its own partial files are gone at the end.
# `make soak` runs it with 200 kills; the last line says how many were survived.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ] || [ ! -x "$1" ]; then
    echo "usage: tests/kill/run.sh PREVAIL [KILLS [SEED]]" >&2
    exit 2
fi
prevail=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
kills=${2:-24}
RANDOM=${3:-$$}
echo "seed ${3:-$$}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
"$prevail" simulate gaussian --cases 200 --controls 200 --dimensions 5 --prevalence 0.05 -o data.csv || exit 1
cp "$here/../arrays/discs.npz" .

common=(--prevalence 0.1 --quiet)
names=(table images vi vi_batches hmc cv sweep)
arguments() {
    case $1 in
    table) echo fit data.csv --target y --model mlp:16 --batch 16 --epochs 100 --marginal auxiliary:linear --validation 0.2 --trace trace.csv ;;
    images) echo fit discs.npz --model convnet:views=1,size=8,low=4,channels=8,features=8 --epochs 20 --batch 16 ;;
    vi) echo fit data.csv --target y --infer vi --steps 1000 --components 4 ;;
    vi_batches) echo fit data.csv --target y --infer vi --steps 500 --components 4 --batch 32 --marginal auxiliary:linear ;;
    hmc) echo fit data.csv --target y --infer hmc --draws 1000 --warmup 300 ;;
    cv) echo cv data.csv --target y --model mlp:16 --batch 16 --epochs 30 --folds 3 --bootstrap 0 ;;
    sweep) echo sweep data.csv --target y --model mlp:8 --batch 16 --epochs 15 --losses ig,plain ;;
    esac
}

failures=0
survived=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# Starts the command in the background and kills it after up to 0.3 s; true where it was killed. Counts of `make coverage`
# that a kill may tear go elsewhere.
killed() {
    GCOV_PREFIX=$scratch/.counts "$prevail" "$@" >/dev/null 2>err &
    local pid=$!
    sleep "0.$(printf %03d $((RANDOM % 300)))"
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ $? -eq 137 ]
}

for i in "${!names[@]}"; do
    name=${names[$i]}
    read -r -a words <<<"$(arguments "$name")"
    words+=("${common[@]}")
    "$prevail" "${words[@]}" -o whole >/dev/null 2>err || fail "$name: without kills: $(cat err)"
    share=$(((kills * (i + 1)) / ${#names[@]} - (kills * i) / ${#names[@]}))
    done=0
    for ((attempt = 0; done < share && attempt < 10 * share + 10; attempt++)); do
        if killed "${words[@]}" -o out --checkpoint ck --checkpoint-every 0.02 --resume; then
            done=$((done + 1))
        else
            [ -s err ] && fail "$name: $(cat err)"
            cmp -s whole out || fail "$name: other bytes after $done kills"
            rm -f out # and once more from the beginning
        fi
    done
    "$prevail" "${words[@]}" -o out --checkpoint ck --checkpoint-every 0.02 --resume >/dev/null 2>err ||
        fail "$name: to its end: $(cat err)"
    cmp -s whole out || fail "$name: other bytes after $done kills"
    for file in *; do
        case $file in
        data.csv | discs.npz | whole | out | err | trace.csv | out.partial.?????? | trace.csv.partial.??????) ;;
        *) fail "$name: left $file behind" ;;
        esac
    done
    rm -f whole out trace.csv *.partial.* ck*
    survived=$((survived + done))
    echo "$name: $done kills"
done
echo "$survived kills, $failures failures"
[ $failures -eq 0 ]
