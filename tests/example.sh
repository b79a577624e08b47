#!/bin/bash
# The examples run, their results agree with the command's, and prevail.h contains examples/fit.c.
# usage: example.sh SOURCE_DIR PREVAIL FIT LOSS RANKS
set -eu
source=$1 prevail=$2 fit=$3 loss=$4 ranks=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$prevail" simulate nodules --cases 60 --controls 60 --seed 4 -o "$work/study.csv"
"$fit" "$work/study.csv" malignant 0.01 "$work/study.csv" >"$work/example" 2>"$work/auc"
grep -q '^AUC 0\.[5-9]' "$work/auc"
"$prevail" fit "$work/study.csv" --outcome malignant --prevalence 0.01 -o "$work/model" --quiet >/dev/null
"$prevail" predict "$work/model" "$work/study.csv" | awk -F, 'NR > 1 { printf "%.6g\n", $3 }' >"$work/command"
cmp "$work/example" "$work/command" || { echo "examples/fit.c and the command predict differently"; exit 1; }
if "$fit" "$work/study.csv" nothing 0.01 "$work/study.csv" 2>"$work/error"; then echo "a wrong column passed"; exit 1; fi
grep -q nothing "$work/error"

"$loss" >"$work/loss"
grep -q '^loss ' "$work/loss"

# Threads that share a fit get the command's model; an operation that a thread does not support is reported.
"$prevail" fit "$work/study.csv" --outcome malignant --prevalence 0.01 --batch 50 --epochs 2 -o "$work/batches" --quiet >/dev/null
"$prevail" predict "$work/batches" "$work/study.csv" >"$work/alone"
for size in 1 3; do
    (cd "$work" && "$ranks" $size study.csv target malignant prevalence 0.01 batch 50 epochs 2 >ranks) || exit 1
    grep -q "^ranks $size, .* models the same" "$work/ranks"
    "$prevail" predict "$work/ranks.model" "$work/study.csv" >"$work/shared"
    cmp "$work/alone" "$work/shared" || { echo "examples/ranks.c and the command fit differently"; exit 1; }
done
if (cd "$work" && "$ranks" 2 study.csv target nothing prevalence 0.01) 2>"$work/error"; then echo "a wrong column passed"; exit 1; fi
grep -q nothing "$work/error"

# The program in prevail.h is exactly examples/fit.c.
awk '/^ \*     \/\/ cc / { inside = 1 } /^ \* The steps are/ { exit } inside' "$source/include/prevail/prevail.h" |
    sed 's/^ \*     //; s/^ \*$//; $d' >"$work/program"
diff "$work/program" "$source/examples/fit.c" || { echo "prevail.h does not show examples/fit.c"; exit 1; }
