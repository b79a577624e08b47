#!/usr/bin/env bash
# Identical output with 1, 2 and 3 threads, for every command that computes. usage: tests/threads/run.sh PREVAIL [WORD]
#
# Each line of the table runs with each number of threads in its own folder; standard output and all files must agree
# except for "seconds". A line that begins with `lab` runs prevail-lab, in PREVAIL's folder. WORD selects lines.
set -u
if [ $# -lt 1 ] || [ ! -x "$1" ]; then
    echo "usage: tests/threads/run.sh PREVAIL [WORD]" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
prevail=$(realpath "$1") word=${2:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export LC_ALL=C OMP_WAIT_POLICY=passive

mkdir in && cp "$here"/../arrays/*.npz in/
{
    "$prevail" simulate nodules --cases 300 --controls 300 --seed 3 -o in/study.csv &&
        "$prevail" simulate nodules --rows 3000 --prevalence 0.3 --seed 4 -o in/people.csv &&
        "$prevail" simulate gaussian --rows 200 --dimensions 3 --prevalence 0.4 -o in/small.csv &&
        "$prevail" fit in/study.csv --outcome malignant --prevalence 0.02 -o in/a.model --quiet &&
        "$prevail" fit in/study.csv --outcome malignant --prevalence 0.02 --infer laplace --draws 200 -o in/post.model --quiet &&
        "$prevail" predict in/a.model in/people.csv -o in/probs.csv --quiet
} >/dev/null || { echo "the inputs could not be made"; exit 1; }

table() {
    local fit="fit ../in/study.csv --outcome malignant --prevalence 0.02 -o a.model --json"
    local small="fit ../in/small.csv --outcome y --prevalence 0.2 -o a.model --json"
    cat <<EOF
$fit
$fit --loss iw
$fit --loss plain --infer ml
$fit --marginal plugin --prevalence-n known
$fit --infer laplace --draws 200
$fit --model mlp:8 --max-iter 20
$fit --model trees:2,20
$fit --model mlp:8 --batch 64 --epochs 2
$fit --batch 64 --epochs 2 --marginal auxiliary:linear
$fit --batch 64 --epochs 2 --marginal auxiliary:constant --design balanced
$small --infer vi --steps 20 --components 3 --draws 200
$small --infer vi --steps 20 --components 3 --draws 200 --batch 50 --marginal auxiliary:linear --prevalence-n rows
$small --infer hmc --chains 3 --warmup 30 --draws 100
fit ../in/discs.npz --model convnet:views=3,size=8,low=8,channels=16,features=16 --prevalence 0.1 --epochs 2 -o a.model
fit ../in/discs.npz --model inception:views=3,size=16,low=8,channels=16,features=16 --prevalence 0.1 --epochs 1 -o a.model
predict ../in/a.model ../in/people.csv -o a.csv
predict ../in/a.model ../in/people.csv --population unknown --interval 0.9 --json -o a.csv
predict ../in/post.model ../in/people.csv --population unknown --prevalence-draws 200 --json -o a.csv
predict ../in/post.model ../in/people.csv --interval 0.9 -o a.csv
eval ../in/a.model ../in/people.csv --json
eval ../in/post.model ../in/people.csv --population unknown --bootstrap 50 --json --curves c --report r.html
adjust ../in/probs.csv --from 0.02 --to unknown --interval 0.9 --json -o a.csv
adjust ../in/probs.csv --from 0.02 --to unknown --method vb --json -o a.csv
adjust ../in/probs.csv --from 0.02 --to unknown --method em --json -o a.csv
cv ../in/study.csv --outcome malignant --prevalence 0.02 --folds 4 --repeats 2 --json -o a.csv
sweep ../in/study.csv --outcome malignant --prevalence 0.1,0.01 --folds 3 --mixture --json -o a.csv
diagnose ../in/post.model ../in/study.csv --json
lab contingency --prevalence-n 10 --steps 20 --draws 100 --json -o out
lab coverage --replicates 6 --cases 30 --controls 30 --draws 100 --json -o out
lab bias --replicates 3 --json -o out
lab unknown --replicates 3 --populations ties --json -o out
sets ../in/a.model ../in/study.csv --calibration ../in/people.csv --refer 0.3 --prevalence 0.2 --json -o a.csv
lab sets --kinds wrong,units --rows 50 --replicates 4 --json -o out
lab rate --kinds test,clusters --rates 0.1 --gold 30 --replicates 4 --json -o out
lab size --aucs 0.8 --ratios 2 --replicates 4 --json -o out
lab labels --prevalences 0.1 --validated known,50 --replicates 4 --rows 200 --json -o out
lab designs --quick --only inferred --replicates 3 --json -o out
lab designs --quick --only balanced --replicates 2 --json -o out
lab calibration --replicates 2 --prevalences 0.1,0.01 --population-rows 1000 --steps 5 --draws 100 --checkpoint ck --checkpoint-every 0.001 --json -o out
lab coverage --sbc --replicates 4 --steps 20 --json -o out
EOF
}

passed=0 failed=0
while read -r line; do
    case $line in *"$word"*) ;; *) continue ;; esac
    rm -rf one two three
    for folder in one:1 two:2 three:3; do
        mkdir "${folder%:*}"
        program=$prevail
        case $line in 'lab '*) program=$prevail-lab ;; esac
        # shellcheck disable=SC2086
        (cd "${folder%:*}" && "$program" ${line#lab } --threads "${folder#*:}" >stdout 2>../stderr; echo "exit $?" >>stdout)
        find "${folder%:*}" -type f \( -name stdout -o -name '*.json' \) -exec sed -i -E 's/("seconds": )[-+0-9.e]+/\1#/' {} +
    done
    if ! tail -n 1 one/stdout | grep -q 'exit [03]$'; then
        failed=$((failed + 1)) && echo "FAILED: prevail $line: $(tail -n 1 stderr)"
    elif diff -rq one two && diff -rq one three; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1)) && echo "FAILED: prevail $line: its bytes depend on --threads"
    fi
done < <(table)
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
