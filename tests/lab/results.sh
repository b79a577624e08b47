#!/usr/bin/env bash
# A published result is reproduced, and a changed number in it is detected. usage: tests/lab/results.sh SOURCE
# PREVAIL_LAB
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../checks.sh"
results=$1/scripts/results lab=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$lab" contingency --quiet -o "$scratch/contingency" >/dev/null
check "contingency as published" "$results" contingency --in "$scratch/contingency"
different() { # a file, a change to it
    sed -i "$2" "$scratch/contingency/$1"
    ! "$results" contingency --in "$scratch/contingency" >"$scratch/said" && grep -q "contingency/$1: different" "$scratch/said"
}
check "a number changed in its fifth digit" different results.json '0,/\([0-9]\.[0-9]\{4\}\)[0-9]/s//\19/'
check "a result that is not there" eval 'rm "$scratch/contingency/results.json"; ! "$results" contingency --in "$scratch/contingency" >/dev/null'
listed() { # every folder of the manifest exists, with the README of its study
    local name
    while read -r name _; do
        [ -e "$1/lab/${name%%/*}/README.md" ] && [ -d "$1/lab/$name" ] || { echo "$name"; return 1; }
    done < <("$results")
}
check "every published result belongs to a study" listed "$1"
checks_end
