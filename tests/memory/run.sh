#!/usr/bin/env bash
# Every command with its n-th allocation failing. usage: tests/memory/run.sh [--full] [--tries N] SWEEP PREVAIL [WORD]
#
# SWEEP is the program made from sweep.c, which describes the checks (SWEEP_lab, in the same folder, for cases that
# begin with `lab`); PREVAIL is the command, which makes the inputs. WORD selects cases whose line contains it. --full:
# every n, and also the cases marked full. Otherwise a sample of n; for a case marked places, the first allocation of
# each call stack, alternating between the two ways of failing.
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
        "$prevail" simulate gaussian --cases 9000 --controls 9000 --dimensions 2 --prevalence 0.4 -o in/long.csv &&
        "$prevail" pack in/long.csv -o in/long.pvt --single --quiet &&
        { echo 'when|g|x|y'; awk 'BEGIN { for (i = 0; i < 60; i++) printf "2020-01-%02d|%s|%s|%d\n", 1 + i % 28, \
            i % 9 ? i % 2 ? "u" : "v" : "?", i % 7 ? i % 11 : "", i % 3 == 0 }'; } | gzip >in/gaps.csv.gz &&
        "$prevail" fit in/gaps.csv.gz --outcome y --prevalence 0.2 --missing indicator --terms 'ns(x,2),when:g' \
            -o in/terms.model --quiet &&
        "$prevail" fit in/study.csv --outcome malignant --prevalence 0.02 -o in/a.model --quiet &&
        "$prevail" fit in/study.csv --outcome malignant --prevalence 0.02 --infer laplace --draws 100 -o in/post.model --quiet &&
        "$prevail" fit in/study.csv --outcome malignant --prevalence 0.02 --loss plain -o in/plain.model --quiet &&
        "$prevail" predict in/a.model in/people.csv -o in/probs.csv --quiet &&
        paste -d, in/probs.csv <(cut -d, -f8 in/people.csv) >in/judged.csv &&
        printf 'action,0,1\ntreat,1,0\nwait,0,50\n' >in/costs.csv
} >/dev/null || { echo "the inputs could not be made"; exit 1; }

# Start of a resumed command: a checkpoint written when memory ran out late enough.
begin() { # WORD...
    local n
    for n in 3000 6000 12000 25000 50000 100000 200000; do
        (cd work && "$program" --at $n -- "$@" >/dev/null 2>&1)
        [ -e work/ck ] && mv work/ck start/ && break
    done
    rm -rf work && mkdir work
    [ -e start/ck ]
}

passed=0 failed=0
while read -r line; do
    case $line in '' | '#'*) continue ;; esac
    case $line in *"$word"*) ;; *) continue ;; esac
    case $line in 'full: '*) [ "${full[*]:-}" = --full ] || continue; line=${line#full: } ;; esac
    how=("${full[@]}")
    case $line in 'places: '*) [ "${full[*]:-}" = --full ] || how=(--places); line=${line#places: } ;; esac
    rm -rf work wanted start && mkdir work start
    eval "set -- $line"
    program=$sweep
    [ "$1" != lab ] || { program=${sweep}_lab && shift; }
    case $line in *--resume*) begin "$@" || { echo "FAILED $line: no checkpoint was left"; failed=$((failed + 1)); continue; } ;; esac
    if (cd work && "$program" "${how[@]}" -- "$@"); then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done <"$here/cases"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
