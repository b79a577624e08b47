#!/bin/bash
# examples/workflow.c, which uses the public interface only, gets the numbers that the commands print for the same data.
# usage: workflow.sh PREVAIL WORKFLOW
set -eu
prevail=$1 workflow=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Numbers of a pretty-printed JSON object as SECTION PATH VALUE. An object in an array is identified by its "name".
numbers() {
    awk -v section="$1" '
    function path(   i, text) { text = ""; for (i = 1; i <= depth; i++) if (step[i] != "") text = text (text == "" ? "" : ".") step[i]; return text }
    { line = $0; sub(/^ +/, "", line); sub(/,$/, "", line); key = "" }
    match(line, /^"[^"]*": /) { key = substr(line, 2, RLENGTH - 4); line = substr(line, RLENGTH + 1) }
    line ~ /^[{[]$/ { step[++depth] = key == "checks" || key == "" ? "" : key; next }
    line ~ /^[]}]$/ { depth--; next }
    key == "name" { step[depth] = line; gsub(/"/, "", step[depth]); next }
    line ~ /^(-?[0-9]|null|true|false)/ {
        at = path()
        print section, at (at == "" || key == "" ? "" : ".") key, line == "true" ? 1 : line == "false" ? 0 : line
    }'
}
# Probabilities of the last label in a CSV file of predictions, and their bounds.
rows() {
    awk -F, -v section="$1" '
    NR == 1 { for (i = 1; i <= NF; i++) { if ($i ~ /^p__/) p = i; if ($i ~ /^lo__/) lo = i; if ($i ~ /^hi__/) hi = i }; next }
    { print section, (NR - 1) ".p", $p; if (lo) { print section, (NR - 1) ".lo", $lo; print section, (NR - 1) ".hi", $hi } }' "$2"
}

"$prevail" simulate nodules --cases 60 --controls 60 --seed 4 -o study.csv --quiet
"$prevail" simulate nodules --rows 80 --prevalence 0.2 --seed 5 -o people.csv --quiet
{
    "$prevail" fit study.csv --outcome malignant --prevalence 0.01 --infer laplace --draws 200 -o a.model --json --quiet | numbers fit
    "$prevail" summary a.model --json | numbers summary
    "$prevail" diagnose a.model --json --quiet | numbers diagnose
    "$prevail" predict a.model people.csv --interval 0.8 -o true.csv --quiet
    rows predict true.csv
    "$prevail" predict a.model people.csv --population unknown --interval 0.8 --json -o unknown.csv --quiet | numbers unknown |
        sed 's/^\(unknown target_prevalence\.[^.]*\)\.value/\1/'
    rows unknown unknown.csv
    "$prevail" eval a.model people.csv --population known:0.2 --stated-for population --json --quiet | numbers eval
    awk -F, 'NR == FNR { label[FNR] = $NF; next } { print $2 "," $3 "," label[FNR] }' people.csv true.csv >probs.csv
    "$prevail" adjust probs.csv --from 0.01 --to 0.3 -o adjusted.csv --quiet
    rows adjust adjusted.csv
    "$prevail" eval --probs probs.csv --outcome malignant --from 0.01 --population known:0.3 --json --quiet | numbers probs
    "$prevail" cv study.csv --outcome malignant --prevalence 0.01 --json --quiet | numbers cv
} >command
"$workflow" study.csv malignant 0.01 people.csv probs.csv >program

# Every number of the program agrees with the command's to 12 digits; every section has some.
awk '
function same(a, b) { return a == b || (a != "null" && b != "null" && (a - b <= 1e-12 * (a < 0 ? -a : a) && b - a <= 1e-12 * (a < 0 ? -a : a))) }
NR == FNR { wanted[$1 " " $2] = $3; next }
!(($1 " " $2) in wanted) { print "the command has no " $1 " " $2; bad++; next }
!same(wanted[$1 " " $2], $3) { print $1 " " $2 ": " $3 " by the program, " wanted[$1 " " $2] " by the command"; bad++ }
{ seen[$1]++ }
END {
    n = split("fit summary diagnose predict unknown eval adjust probs cv", section, " ")
    for (i = 1; i <= n; i++) if (!seen[section[i]]) { print "nothing was compared of " section[i]; bad++ }
    print FNR " numbers, " bad + 0 " differ"
    exit bad > 0
}' command program

# Options without an effect, and missing files, give the command's exit codes.
if "$workflow" study.csv nothing 0.01 people.csv probs.csv 2>error; then echo "a wrong column passed"; exit 1; else [ $? -eq 2 ]; fi
grep -q nothing error
