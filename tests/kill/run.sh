#!/usr/bin/env bash
# Kills the command at random moments and continues it; the output must equal that of an uninterrupted run.
#
#   tests/kill/run.sh PREVAIL [KILLS [SEED]]
#
# KILLS (default 30) SIGKILLs are spread over minibatch training on a table and on images, variational inference,
# sampling, cross-validation, a sweep and the studies of prevail-lab (in PREVAIL's folder), whose output is a folder.
# Each run is killed and resumed, with varying numbers of threads, until it is complete. A run that completes while
# there is a checkpoint must have continued from it, and half of the kills must have left a checkpoint; otherwise the
# test would prove nothing. SIGTERMs are sent in between and not counted. A killed process may leave only
# OUTPUT.partial.XXXXXX (docs/formats.md); at the end the checkpoint and its partial files must be gone. `make soak`
# runs it with 200 kills; the last line reports the number of survived kills and of runs continued from a checkpoint.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ] || [ ! -x "$1" ]; then
    echo "usage: tests/kill/run.sh PREVAIL [KILLS [SEED]]" >&2
    exit 2
fi
prevail=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
kills=${2:-30}
RANDOM=${3:-$$}
echo "seed ${3:-$$}"
scratch=$(mktemp -d)
trap '[ $BASHPID -eq $$ ] && rm -rf "$scratch"' EXIT # a SIGTERM may come before the command has taken the shell's place
cd "$scratch" || exit 1
"$prevail" simulate gaussian --cases 200 --controls 200 --dimensions 5 --prevalence 0.05 -o data.csv || exit 1
"$prevail" simulate nodules --rows 400 --prevalence 0.3 -o nodules.csv || exit 1
"$prevail" simulate gaussian --cases 5000 --controls 5000 --dimensions 5 --prevalence 0.05 -o long.csv || exit 1
cp "$here/../arrays/discs.npz" .

names=(table packed images vi vi_batches hmc cv sweep sweep_holdout contingency coverage ranks calibration calibration_data bias robust unknown designs rate effect sets size labels nodules ratings)
arguments() {
    local fit="--outcome y --prevalence 0.1"
    case $1 in
    table) echo fit data.csv $fit --model mlp:16 --batch 16 --epochs 100 --marginal auxiliary:linear --validation 0.2 --trace trace.csv ;;
    packed) echo fit long.csv $fit --memory 1M --model mlp:8 --batch 64 --epochs 4 ;; # beside the checkpoint
    images) echo fit discs.npz --prevalence 0.1 --model convnet:views=1,size=8,low=4,channels=8,features=8 --epochs 20 --batch 16 ;;
    vi) echo fit data.csv $fit --infer vi --steps 1000 --components 4 ;;
    vi_batches) echo fit data.csv $fit --infer vi --steps 500 --components 4 --batch 32 --marginal auxiliary:linear --prevalence-n rows ;;
    hmc) echo fit data.csv $fit --infer hmc --draws 1000 --warmup 300 ;;
    cv) echo cv data.csv $fit --model mlp:16 --batch 16 --epochs 30 --folds 3 --bootstrap 0 ;;
    sweep) echo sweep data.csv $fit --model mlp:8 --batch 16 --epochs 15 --losses ig,plain ;;
    sweep_holdout) echo sweep data.csv $fit --model mlp:16 --batch 16 --epochs 50 --losses ig,plain --holdout data.csv ;;
    contingency) echo lab contingency --prevalence-n 10 --steps 1000 --hmc ;;
    coverage) echo lab coverage --replicates 6 --infer laplace,vi,hmc --steps 100 --draws 200 ;;
    ranks) echo lab coverage --sbc --replicates 8 --steps 100 ;;
    calibration) echo lab calibration --replicates 3 --prevalences 0.1,0.01 --population-rows 1000 --steps 50 ;;
    calibration_data) echo lab calibration --replicates 2 --prevalences 0.1 --population-rows 1000 --steps 50 --data nodules.csv --splits 2 ;;
    bias) echo lab bias --replicates 8 ;;
    robust) echo lab robust --truths right,square-0.3 --rows 40,60 --columns 2 --replicates 8 ;;
    unknown) echo lab unknown --replicates 2 --populations ties ;;
    designs) echo lab designs --quick --only 2_ --replicates 6 ;;
    sets) echo lab sets --kinds ties --rows 200 --replicates 4000 ;;
    rate) echo lab rate --rates 0.1,0.3 --gold 50 --replicates 40 ;;
    size) echo lab size --aucs 0.8 --ratios 1,4 --replicates 60 ;;
    effect) echo lab effect --kinds right --rows 100 --prevalences 0.1 --replicates 60 ;;
    labels) echo lab labels --prevalences 0.1,0.3 --validated 50 --replicates 60 ;;
    nodules) echo lab nodules --quick --networks convnet --batches balanced --prevalences 0.01 --methods ig-linear,iw --folds 2 --epochs 20 ;;
    ratings) echo lab ratings --quick --prevalences 0.9 --methods iw,plain --folds 2 --epochs 20 ;;
    esac
}

failures=0
survived=0
resumed=0
kept=0 # kills that left a checkpoint
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# The current files: a process that has not started must not change them.
there() { find . -name .counts -prune -o -type f ! -name err -printf '%p %i %s %T@\n' | sort; }
# Starts the command in the background and ends it after at most 0.3 s or its normal duration, by SIGKILL or, one time
# in three, by SIGTERM, after which it must exit with 1 and a message, or not have started. True if it was ended.
# Coverage counts (`make coverage`) go elsewhere, since a kill may damage them.
ended() {
    local before pid
    before=$(there)
    : >err # it may be ended before it has opened it
    GCOV_PREFIX=$scratch/.counts "$program" "$@" >/dev/null 2>err &
    pid=$!
    signal=$([ $((RANDOM % 3)) -eq 0 ] && echo TERM || echo KILL)
    sleep "0.$(printf %03d $((RANDOM % most)))"
    kill -$signal $pid 2>/dev/null
    wait $pid 2>/dev/null
    code=$?
    case $signal-$code in
    KILL-137) ;;
    TERM-143) [ ! -s err ] && [ "$before" = "$(there)" ] ;; # before it catches signals
    TERM-1) grep -q -e 'stopped on request' -e interrupted err ;;
    *) false ;;
    esac
}
# The first message expected from a run that completes, depending on whether there was a checkpoint with content.
look() { first="${program##*/}: ck: nothing there yet; starting from the beginning"; [ ! -s ck ] || first="${program##*/}: continuing from ck"; }
# Whether it printed that and nothing else, except the paths of its report and of existing fits of a grid.
said() {
    sed -i '1{/does not fit --memory: it was packed into a file next to the checkpoint/d}' err
    [ "$(head -n 1 err)" = "$first" ] &&
        ! tail -n +2 err | grep -q -v -x -e '[a-z-]*: report in out/report.html' -e '[a-z-]*: [0-9]* of [0-9]* fits are in out already'
}
count() { ! grep -q -x '[a-z-]*: continuing from ck' err || resumed=$((resumed + 1)); }
# Compares a file, or all files of a folder; the seconds in cells are masked.
same() {
    if [ -d whole ]; then
        find whole out -path '*/cells/*.json' -exec sed -i 's/"seconds":[^,]*,//' {} +
        diff -rq -x '*.partial.??????' whole out
    else
        cmp whole out
    fi >/dev/null 2>&1
}

for i in "${!names[@]}"; do
    name=${names[$i]}
    read -r -a words <<<"$(arguments "$name")"
    program=$prevail
    [ "${words[0]}" != lab ] || { program=$prevail-lab words=("${words[@]:1}"); }
    began=${EPOCHREALTIME/[.,]/}
    "$program" "${words[@]}" -o whole >/dev/null 2>err || fail "$name: without kills: $(cat err)"
    most=$(((${EPOCHREALTIME/[.,]/} - began) / 1000 + 1)) # milliseconds
    [ $most -lt 300 ] || most=300
    share=$(((kills * (i + 1)) / ${#names[@]} - (kills * i) / ${#names[@]}))
    done=0
    for ((attempt = 0; done < share && attempt < 20 * share + 20; attempt++)); do
        look
        if ended "${words[@]}" -o out --checkpoint ck --checkpoint-every 0.02 --resume --threads $((1 + RANDOM % 3)); then
            count
            [ "$signal" = KILL ] || continue
            done=$((done + 1))
            [ ! -s ck ] || kept=$((kept + 1))
        else
            count
            [ $code -eq 0 ] || fail "$name: exit code $code after SIG$signal: $(cat err)"
            said || fail "$name: '$first' is expected, it says: $(cat err)"
            same || fail "$name: other bytes after $done kills"
            rm -rf out # and once more from the beginning
        fi
    done
    look
    "$program" "${words[@]}" -o out --checkpoint ck --checkpoint-every 0.02 --resume >/dev/null 2>err ||
        fail "$name: to its end: $(cat err)"
    count
    said || fail "$name: to its end: '$first' is expected, it says: $(cat err)"
    same || fail "$name: other bytes after $done kills"
    for file in *; do
        case $file in
        data.csv | nodules.csv | long.csv | discs.npz | whole | out | err | trace.csv | out.partial.?????? | trace.csv.partial.??????) ;;
        *) fail "$name: left $file behind" ;;
        esac
    done
    rm -rf whole out trace.csv *.partial.* ck*
    [ $done -eq $share ] || fail "$name: it ended before it could be killed $share times"
    survived=$((survived + done))
    echo "$name: $done kills"
done
echo "$kept kills left a checkpoint"
[ $((2 * kept)) -ge $survived ] || fail "fewer than half of $survived kills left a checkpoint"
echo "$survived kills, $resumed resumed, $failures failures"
[ $failures -eq 0 ]
