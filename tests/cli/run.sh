#!/usr/bin/env bash
# Runs the command's tests: files of expected output.
#
#   tests/cli/run.sh [--update] [--quick] [--cases DIR] [--names SCRIPT] [--mask SCRIPT] PREVAIL [NAME ...]
#
# PREVAIL is the binary; NAMEs select cases (default: all of cases/*.test, or of DIR); --update rewrites the expected
# output; --quick skips cases with a line "# slow", for sanitised builds; --mask applies a sed script to expected and
# actual output; --names applies a sed script written by the commands of the case to the actual output
# (configurations.sh). The environment variable CASE has the name of the case.
#
# A case is a text file: comment lines (#) that describe it; the commands, run by bash in an empty folder with prevail
# and prevail-lab (from the same folder) on the path; then
#     --- exit CODE
#     --- stdout
#     (the expected text)
#     --- stderr
#     (the expected text)
# Seconds, and the name of the empty folder, are masked. In the commands `digits N` rounds the numbers in its input to N
# significant digits, so that expected files hold on every processor and in every build: a computed number with fifteen
# or more digits in the expected stdout fails the case. `study`, `people` and `clinic` write small simulated tables; in
# clinic a fifth are cases, sampled by label from the population of `study`. `npy HEADER` writes the beginning of an NPY
# file, and `overwrite FILE OFFSET BYTES` writes bytes (in printf's notation) into a file; `worked PROCESS` is in
# worked.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
update=false
quick=false
cases=$here/cases
mask=/dev/null
names=/dev/null
while :; do
    case ${1:-} in
    --update) update=true; shift ;;
    --quick) quick=true; shift ;;
    --cases) cases=$2; shift 2 ;;
    --mask) mask=$2; shift 2 ;;
    --names) names=$2; shift 2 ;;
    *) break ;;
    esac
done
if [ $# -lt 1 ] || [ ! -x "$1" ]; then
    echo "usage: tests/cli/run.sh [--update] [--quick] [--cases DIR] [--names SCRIPT] [--mask SCRIPT] PREVAIL [NAME ...]" >&2
    exit 2
fi
binary=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$binary" "$scratch/bin/prevail"
ln -s "$binary-lab" "$scratch/bin/prevail-lab"

# Written once, and sourced by every case.
cat >"$scratch/functions" <<'EOF'
digits() {
    awk -v digits="$1" '{
        line = $0; out = ""
        while (match(line, /-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/)) {
            number = substr(line, RSTART, RLENGTH)
            before = substr(line, 1, RSTART - 1)
            glued = before ~ /[A-Za-z_.]$/
            if (!glued && number ~ /[.e]/)
                number = sprintf("%." digits "g", number)
            out = out before number
            line = substr(line, RSTART + RLENGTH)
        }
        print out line
    }'
}
study() { prevail simulate nodules --cases 200 --controls 200 --prevalence 0.02 --seed 3 -o "${1:-study.csv}"; }
people() { prevail simulate nodules --rows 500 --prevalence 0.2 --seed 4 -o "${1:-people.csv}"; }
clinic() { prevail simulate nodules --cases 100 --controls 400 --prevalence 0.02 --seed 5 -o "${1:-clinic.csv}"; }
arrays() { for file in "$@"; do cp "$ARRAYS/$file" .; done; }
npy() { printf '\x93NUMPY\x01\x00'; printf "\\x$(printf %02x $((${#1} % 256)))\\x$(printf %02x $((${#1} / 256)))"; printf %s "$1"; }
overwrite() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }
fitted() { study study.csv && prevail fit study.csv --outcome malignant --prevalence 0.02 -o "${1:-a.model}" --quiet >/dev/null; }
EOF

mask() {
    sed -f "$names" "$2" | sed -E -e "s#$1#FOLDER#g" -e 's/("seconds": )[-+0-9.e]+/\1#/'
}

# Finds the first number in a case's stdout whose last digit may depend on the compiler. Stated values
# (0.90000000000000002) are short when rounded, and accepted.
overexact() {
    awk '/^--- stdout/ { on = 1; next } /^--- stderr/ { on = 0 }
        on { line = $0
            while (match(line, /[0-9]+\.[0-9]+(e[-+]?[0-9]+)?/)) {
                number = substr(line, RSTART, RLENGTH); line = substr(line, RSTART + RLENGTH)
                figures = number; sub(/e.*/, "", figures); sub(/\./, "", figures); sub(/^0+/, "", figures)
                if (length(figures) < 15) continue
                off = number / sprintf("%.9g", number) - 1
                if (off > 1e-15 || off < -1e-15) { print number; exit }
            }
        }' "$1"
}

passed=0
failed=0
run_case() {
    local file=$1 name folder exact
    name=$(basename "$file" .test)
    folder="$scratch/run/$name"
    mkdir -p "$folder"
    sed '/^--- exit/,$d' "$file" >"$scratch/commands"
    (
        cd "$folder" || exit 99
        export CASE="$name" PATH="$scratch/bin:$PATH" LC_ALL=C OMP_WAIT_POLICY=passive
        # shellcheck disable=SC1091
        . "$scratch/functions"
        # shellcheck disable=SC1091
        . "$here/worked.sh"
        export -f digits study people clinic fitted npy overwrite worked
        export -f arrays && export ARRAYS="$here/../arrays"
        exec timeout 120 bash "$scratch/commands" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null
    )
    local code=$?
    {
        cat "$scratch/commands"
        echo "--- exit $code"
        echo "--- stdout"
        mask "$folder" "$scratch/stdout"
        echo "--- stderr"
        mask "$folder" "$scratch/stderr" | sed "s#$scratch/commands: line [0-9]*: *##"
    } >"$scratch/got"
    if $update; then
        cmp -s "$scratch/got" "$file" || { cp "$scratch/got" "$file" && echo "updated $name"; }
        passed=$((passed + 1))
    elif exact=$(overexact "$file") && [ -n "$exact" ]; then
        echo "$name: $exact has more digits than other builds share; print it through digits"
        failed=$((failed + 1))
    elif diff -u --label "expected $name" --label "got" <(sed -f "$mask" "$file") <(sed -f "$mask" "$scratch/got"); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    rm -rf "$folder"
}

if [ $# -eq 0 ]; then
    for file in "$cases"/*.test; do
        $quick && grep -q '^# slow$' "$file" || run_case "$file"
    done
else
    for name in "$@"; do
        run_case "$cases/$name.test"
    done
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
