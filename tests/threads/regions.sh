#!/bin/sh
# Every parallel region takes its number of threads from src/base/threads.c, the only place that knows how many can be
# created. usage: tests/threads/regions.sh SOURCE
set -u
[ $# -eq 1 ] && [ -d "$1/src" ] || { echo "usage: tests/threads/regions.sh SOURCE" >&2; exit 2; }
cd "$1" || exit 2
# The two exceptions: that function itself, and the macro that calls it in the preceding line.
regions=$(grep -rn --include='*.c' --include='*.h' 'omp parallel' src tool cli lab | grep -v '^src/base/threads\.c:' |
    grep -v '^src/core/vector\.h:.*num_threads(pv_team)')
asked='num_threads\((together \? )?pv_(_threads_for|_columns_team|threads_ready)\('
wrong=$(printf '%s\n' "$regions" | grep -Ev "$asked")
count=$(printf '%s\n' "$regions" | grep -Ec "$asked")
[ -z "$wrong" ] || { echo "FAILED: these choose their own number of threads:"; echo "$wrong"; exit 1; }
grep -q 'int pv_team = pv_threads_ready(team);' src/core/vector.h || { echo "FAILED: src/core/vector.h does not ask"; exit 1; }
echo "$count regions, each asks"
[ "$count" -ge 10 ]
