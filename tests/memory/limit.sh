#!/usr/bin/env bash
# Memory limits (ulimit -v) too small for the wanted threads, or for the work. usage: tests/memory/limit.sh PREVAIL
#
# At every limit, from one at which the command cannot start to one at which it succeeds, it must give the same result
# with fewer threads, or report that it is out of memory, exit with 1 and leave no file.
set -u
if [ $# -ne 1 ] || [ ! -x "$1" ]; then
    echo "usage: tests/memory/limit.sh PREVAIL" >&2
    exit 2
fi
prevail=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export LC_ALL=C OMP_WAIT_POLICY=passive
{
    "$prevail" simulate nodules --cases 200 --controls 200 --seed 3 -o study.csv &&
        "$prevail" simulate nodules --rows 40000 --prevalence 0.3 --seed 4 -o people.csv &&
        "$prevail" fit study.csv --outcome malignant --prevalence 0.02 -o a.model --quiet
} >/dev/null || { echo "the inputs could not be made"; exit 1; }

cases=0 failed=0 fewer=0 short=0
complain() { failed=$((failed + 1)); echo "FAILED: ulimit -v $1: prevail $2"; }
while read -r line; do
    rm -rf wanted && mkdir wanted
    # shellcheck disable=SC2086
    (cd wanted && "$prevail" $line --threads 1 >stdout 2>stderr </dev/null) || complain unlimited "$line: $(tail -n 1 wanted/stderr)"
    for limit in 40000 50000 60000 70000 80000 90000 100000 130000 160000 200000 300000 600000 1000000; do
        rm -rf work && mkdir work
        # shellcheck disable=SC2086
        (cd work && ulimit -v $limit && exec timeout 120 "$prevail" $line --threads 24 >stdout 2>../stderr </dev/null)
        code=$?
        [ $code -eq 127 ] && continue # a library could not be loaded
        cases=$((cases + 1))
        if [ $code -eq 0 ]; then
            fewer=$((fewer + 1)) && rm -f wanted/stderr
            diff -rq wanted work >/dev/null || complain $limit "$line: other results than without"
        elif [ $code -eq 1 ] && grep -q '^prevail: .*out of memory' stderr && [ "$(wc -l <stderr)" -eq 1 ]; then
            short=$((short + 1))
            [ "$(ls work)" = stdout ] && [ ! -s work/stdout ] || complain $limit "$line: leaves $(ls work | tr '\n' ' ')"
        else
            complain $limit "$line: exit $code: $(tail -n 1 stderr)"
        fi
    done
done <<'LINES'
predict ../a.model ../people.csv -o a.csv --quiet
cv ../study.csv --outcome malignant --prevalence 0.02 --folds 8 -o a.csv --quiet
fit ../people.csv --outcome malignant --prevalence 0.02 -o a.model --quiet
eval ../a.model ../people.csv --bootstrap 20 --report a.html
LINES
echo "$cases runs: $fewer done, $short out of memory, $failed failures"
[ "$failed" -eq 0 ] && [ "$fewer" -gt 0 ] && [ "$short" -gt 0 ]
