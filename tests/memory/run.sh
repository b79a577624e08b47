#!/usr/bin/env bash
# Every command with its n-th allocation failing. usage: tests/memory/run.sh [--full] [--tries N] SWEEP PREVAIL [WORD]
#
# SWEEP is the program made of sweep.c, which says what is looked at; PREVAIL the command, which makes the inputs. WORD
# chooses the cases whose line has it. --full: every n, and the cases marked so as well; otherwise a sample of them.
set -u
full=()
while :; do
    case ${1:-} in
    --full) full=(--full); shift ;;
    --tries) full=(--tries "$2"); shift 2 ;;
    *) break ;;
    esac
done
if [ $# -lt 2 ] || [ ! -x "$1" ] || [ ! -x "$2" ]; then
    echo "usage: tests/memory/run.sh [--full] [--tries N] SWEEP PREVAIL [WORD]" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
sweep=$(realpath "$1") prevail=$(realpath "$2") word=${3:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export LC_ALL=C OMP_WAIT_POLICY=passive

mkdir in && cp "$here"/../arrays/*.np[yz] in/
{
    "$prevail" simulate nodules --cases 60 --controls 60 --seed 3 -o in/study.csv &&
        "$prevail" simulate nodules --rows 80 --prevalence 0.3 --seed 4 -o in/people.csv &&
        "$prevail" simulate gaussian --rows 60 --dimensions 2 --prevalence 0.4 -o in/small.csv &&
        "$prevail" fit in/study.csv --target malignant --prevalence 0.02 -o in/a.model --quiet &&
        "$prevail" fit in/study.csv --target malignant --prevalence 0.02 --infer laplace --draws 100 -o in/post.model --quiet &&
        "$prevail" fit in/study.csv --target malignant --prevalence 0.02 --loss plain -o in/plain.model --quiet &&
        "$prevail" predict in/a.model in/people.csv -o in/probs.csv --quiet &&
        paste -d, in/probs.csv <(cut -d, -f8 in/people.csv) >in/judged.csv &&
        printf 'action,0,1\ntreat,1,0\nwait,0,50\n' >in/costs.csv
} >/dev/null || { echo "the inputs could not be made"; exit 1; }

passed=0 failed=0
while read -r line; do
    case $line in '' | '#'*) continue ;; esac
    case $line in *"$word"*) ;; *) continue ;; esac
    case $line in 'full: '*) [ "${full[*]:-}" = --full ] || continue; line=${line#full: } ;; esac
    rm -rf work wanted ck* && mkdir work
    eval "set -- $line"
    if (cd work && "$sweep" "${full[@]}" -- "$@"); then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done <"$here/cases"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
