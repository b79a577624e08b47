#!/usr/bin/env bash
# Results of --device without a GPU, and with a GPU that fails.
#   usage: tests/cuda/run.sh PREVAIL PRETEND.so [PLUGIN.so]
#
# PRETEND.so is tests/cuda/pretend.c. If PLUGIN.so was built it is tried too: without a driver it must report that, and
# the command must continue. No test here needs a GPU.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../checks.sh"
here=$(cd "$(dirname "$0")" && pwd)
prevail=$1 pretend=$2 plugin=${3:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/none" "$scratch/pretend" "$scratch/broken" "$scratch/other"
cp "$pretend" "$scratch/pretend/libprevail-cuda.so"
echo "not a library" >"$scratch/broken/libprevail-cuda.so"
cp "$(ldd "$prevail" | awk '/libm\.so/ { print $3 }')" "$scratch/other/libprevail-cuda.so"
data=$here/../arrays/discs.npz
small=(--model convnet:views=1,size=8,low=2,channels=4,features=4 --prevalence 0.1 --batch 16 --epochs 2 --seed 1 --quiet)

# Checks for a single line that contains the text, and for the exit code.
says() { # code, text, folder of plug-ins, arguments
    local code=$1 text=$2 folder=$3 got
    shift 3
    PREVAIL_PLUGINS=$folder "$prevail" "$@" >"$scratch/out" 2>"$scratch/err"
    got=$?
    [ "$got" -eq "$code" ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -qF -e "$text" "$scratch/err" && return
    echo "exit code $got; $(cat "$scratch/err")"
    return 1
}
says_lab() {
    local prevail=$prevail-lab
    says "$@"
}
fit() { # how it pretends, folder, then options
    PRETEND=$1 PREVAIL_PLUGINS=$2 "$prevail" fit "$data" "${small[@]}" "${@:3}"
}

cannot='--device cuda is not available: '
for command in fit predict eval cv sweep; do
    arguments=("$data")
    [ $command = predict ] || [ $command = eval ] && arguments=(no.model "$data")
    check "$command --device cuda without a plug-in" says 2 "${cannot}libprevail-cuda.so was not found" "$scratch/none" \
        $command "${arguments[@]}" --device cuda
done
check "study --device cuda without a plug-in" says_lab 2 "${cannot}libprevail-cuda.so was not found" "$scratch/none" nodules --device cuda
check "a file that is no library" says 2 "$cannot" "$scratch/broken" fit "$data" --device cuda
check "another library" says 2 'is not a plug-in of prevail: build both together' "$scratch/other" fit "$data" --device cuda
export PRETEND
PRETEND=version check "a plug-in of another version" says 2 'is for another version of prevail' "$scratch/pretend" fit "$data" --device cuda
PRETEND=absent check "no device" says 2 "${cannot}there is no device but in pretence" "$scratch/pretend" fit "$data" --device cuda
PRETEND=memory check "no memory on it" says 1 'the device has too little memory: pretended' "$scratch/pretend" fit "$data" "${small[@]}" \
    --device cuda
unset PRETEND
PRETEND=tables check "a device without networks" says 2 '--device cuda is not available for networks: ' "$scratch/pretend" fit "$data" \
    "${small[@]}" --device cuda
check "version names the device" grep -q '^device     Pretend 1, none$' <(PREVAIL_PLUGINS=$scratch/pretend "$prevail" version)
check "version says why there is none" grep -q '^device     none: libprevail-cuda.so was not found' <(PREVAIL_PLUGINS=$scratch/none "$prevail" version)

# auto continues without a device, with the same bytes as cpu.
fit none "$scratch/none" --device cpu --json >"$scratch/cpu"
PRETEND=absent fit absent "$scratch/pretend" --json >"$scratch/auto"
check "auto without a device" diff <(grep -v seconds "$scratch/cpu" | grep -v '"command"') <(grep -v seconds "$scratch/auto" | grep -v '"command"')

# The device is lost: the checkpoint remains, and the processor continues from it.
fit lost "$scratch/pretend" --checkpoint "$scratch/lost.ckpt" --checkpoint-every 0.001 >"$scratch/out" 2>"$scratch/err"
check "a lost device fails" test $? -eq 1
check "a lost device is told of" grep -q 'the device failed: it fell off the bus; a --checkpoint can be continued with --device cpu' "$scratch/err"
check "its checkpoint is there" test -s "$scratch/lost.ckpt"
fit none "$scratch/pretend" --checkpoint "$scratch/lost.ckpt" --resume --device cpu >"$scratch/out" 2>"$scratch/err"
check "the processor goes on" test $? -eq 0
check "what may differ is told of" grep -q 'what networks run on (--device) is the processor here but was Pretend 1, none, tf32' "$scratch/out"

# Steps are started before the loss of earlier ones is known; the one that diverged must still be the last.
fit diverged "$scratch/pretend" --device cuda >"$scratch/out" 2>"$scratch/err"
check "a loss that diverges fails" test $? -eq 3
check "at its own step" grep -q '^diverged after 5 steps' "$scratch/out"
for marginal in auxiliary:constant auxiliary:linear; do
    check "$marginal" fit none "$scratch/pretend" --device cuda --marginal $marginal
done
# Ordinal labels have an output layer that the device does not support: the processor is used.
thresholds() {
    local small=(--model "${small[1]},output=ordinal" "${small[@]:2}")
    fit none "$scratch/pretend" --device cuda
}
check "a network with thresholds" thresholds

# Tables: fitted on the device on request, with the processor's result; what it does not support is refused.
# The processor uses Newton's method, the device L-BFGS: both must reach the same optimum at the smallest tolerance.
table=(fit builtin:esoph --outcome cancer --weights count --prevalence 0.0001 --quiet)
agree() { # two fits: loss and coefficients to 1e-8
    python3 -c '
import json, sys
one, other = (json.load(open(name)) for name in sys.argv[1:])
value = lambda c: c["value"] if isinstance(c, dict) else c
pairs = [(one["loss"], other["loss"])] + [(value(c), value(other["coefficients"][k])) for k, c in one["coefficients"].items()]
sys.exit(max(abs(a - b) / max(1, abs(a)) for a, b in pairs) > 1e-8)' "$1" "$2"
}
for how in "--loss ig" "--loss ig --marginal plugin --prevalence-n 100" "--loss iw" "--loss plain --infer laplace" "--loss ig --infer laplace --draws 100"; do
    # shellcheck disable=SC2086
    "$prevail" "${table[@]}" $how --tolerance 1e-12 --seed 1 --device cpu --json >"$scratch/here"
    # shellcheck disable=SC2086
    PREVAIL_PLUGINS=$scratch/pretend "$prevail" "${table[@]}" $how --tolerance 1e-12 --seed 1 --device cuda --json >"$scratch/there"
    check "a table, $how" agree "$scratch/here" "$scratch/there"
done
"$prevail" "${table[@]}" -o "$scratch/table.model" >/dev/null
check "predictions from a table" says 0 'note: predictions from this model run on the processor' "$scratch/pretend" predict "$scratch/table.model" \
    builtin:esoph --device cuda -o "$scratch/table.csv"
"$prevail" "${table[@]}" --infer laplace --draws 100 --device cpu -o "$scratch/draws.model" >/dev/null
for device in cpu cuda; do
    PREVAIL_PLUGINS=$scratch/pretend "$prevail" predict "$scratch/draws.model" builtin:esoph --interval 0.9 --device $device \
        -o "$scratch/draws.$device" 2>"$scratch/err"
    check "predictions over draws, $device, without a word" test ! -s "$scratch/err"
done
check "predictions over draws" python3 - "$scratch/draws.cpu" "$scratch/draws.cuda" <<'EOF_PY'
import csv, sys
here, there = (list(csv.reader(open(name))) for name in sys.argv[1:])
assert here[0] == there[0] and len(here) == len(there)
off = max(abs(float(a) - float(b)) for x, y in zip(here[1:], there[1:]) for a, b in zip(x[1:], y[1:]) if a.replace(".", "", 1)[:1].isdigit())
assert 0 <= off < 1e-6, off
EOF_PY
PRETEND=lost check "a device lost under an unknown prevalence" says 1 'the device failed: it fell off the bus' "$scratch/pretend" \
    predict "$scratch/draws.model" builtin:esoph --population unknown --method vb --device cuda --quiet -o "$scratch/draws.lost"
# The device chosen by auto has too little memory: the processor is used, with a message.
full() {
    "$prevail" simulate gaussian --rows 2000 --dimensions 8 --prevalence 0.3 -o "$scratch/some.csv" &&
        "$prevail" simulate gaussian --rows 125000 --dimensions 8 --prevalence 0.3 --seed 2 -o "$scratch/many.csv" &&
        "$prevail" fit "$scratch/some.csv" --outcome y --prevalence 0.3 --infer laplace --draws 160 --device cpu -o "$scratch/some.model" --quiet &&
        "$prevail" predict "$scratch/some.model" "$scratch/many.csv" --device cpu -o "$scratch/full.cpu" --quiet &&
        PRETEND=full PREVAIL_PLUGINS=$scratch/pretend "$prevail" predict "$scratch/some.model" "$scratch/many.csv" -o "$scratch/full.auto" 2>"$scratch/err" &&
        grep -q 'the rows are processed on the processor: the device has too little memory' "$scratch/err" && cmp "$scratch/full.cpu" "$scratch/full.auto"
}
check "no memory on a device that nobody asked for" full
check "a table without a plug-in" says 2 "${cannot}libprevail-cuda.so was not found" "$scratch/none" "${table[@]}" --device cuda
check "a table in minibatches" says 2 '--device cuda takes tables in the full batch' "$scratch/pretend" "${table[@]}" --device cuda --batch 32
PRETEND=memory check "no memory for a table" says 1 'the device has too little memory: pretended' "$scratch/pretend" "${table[@]}" --device cuda
PRETEND=lost check "a device lost under a table" says 1 'the device failed: it fell off the bus' "$scratch/pretend" "${table[@]}" --device cuda

# The cells of a study, and its tables, name the device that fitted them.
cells() { # a word of --device, folder of plug-ins
    PREVAIL_PLUGINS=$2 "$prevail-lab" nodules --quick --networks convnet --batches balanced --methods plain --prevalences 0.5 \
        --fold "$3" --device "$1" --threads 1 --quiet -o "$scratch/study"
}
check "a study on the device" cells cuda "$scratch/pretend" 1
check "its cells say so" grep -q '"device":"Pretend 1, none, tf32"' "$scratch/study/cells/convnet_balanced_plain_fold1.json"
check "and its tables" grep -q '^Fitted on Pretend 1, none, tf32\.$' "$scratch/study/tables.md"
check "continued without it" cells auto "$scratch/none" 1,2
check "cells of the processor" grep -q '"device":null' "$scratch/study/cells/convnet_balanced_plain_fold2.json"
check "both are told of" grep -q '^1 of 2 fits on Pretend 1, none, tf32, the others elsewhere\.$' "$scratch/study/tables.md"

# The real plug-in, if built, without a driver.
if [ -n "$plugin" ] && [ -f "$plugin" ]; then
    mkdir "$scratch/real"
    cp "$plugin" "$scratch/real/libprevail-cuda.so"
    if PREVAIL_PLUGINS=$scratch/real "$prevail" version | grep -q '^device     none: '; then
        check "no driver" says 2 "${cannot}there is no GPU, or no driver for it" "$scratch/real" fit "$data" --device cuda
        fit none "$scratch/real" --json >"$scratch/auto"
        check "auto without a driver" diff <(grep -v seconds "$scratch/cpu" | grep -v '"command"') <(grep -v seconds "$scratch/auto" | grep -v '"command"')
    fi
    check "it exports one table" test "$(nm -D --defined-only "$plugin" | awk '{ print $3 }')" = pv_plugin
fi
checks_end
