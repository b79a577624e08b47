#!/usr/bin/env bash
# The names that the shared library exports are those in names.txt, so that a new one is a line of the diff; and every one of
# them is declared in a public header. usage: tests/interface/run.sh [--update] LIBRARY
set -u
update=false
[ "${1:-}" = --update ] && { update=true; shift; }
library=$(realpath "${1:?usage: tests/interface/run.sh [--update] LIBRARY}") || exit 2
cd "$(dirname "$0")/../.." || exit 2
list=tests/interface/names.txt
found=$(mktemp)
trap 'rm -f "$found"' EXIT

# Functions first, then tables.
symbols() { nm -D --defined-only "$library" | awk -v kinds="$1" 'index(kinds, $2) { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort; }
{ symbols TWi; symbols RDBV | grep -v '^PREVAIL_'; } >"$found"
[ -s "$found" ] || { echo "$library exports nothing" >&2; exit 1; }
if $update; then
    cp "$found" $list
elif ! diff -u $list "$found"; then
    echo "the shared library exports other names than $list; if that is meant: tests/interface/run.sh --update LIBRARY" >&2
    exit 1
fi
failed=0
while read -r name; do
    grep -qw "$name" include/prevail/*.h || { echo "$name is exported, and in no public header" >&2; failed=1; }
done <"$found"
[ $failed -eq 0 ] && echo "$(symbols TWi | wc -l) functions, $(($(wc -l <"$found") - $(symbols TWi | wc -l))) tables in $(ls include/prevail/*.h | wc -l) headers"
exit $failed
