#!/usr/bin/env bash
# Studies continued from checkpoints with a correct checksum and invalid numbers. usage: tests/sealed/run.sh PREVAIL
# SEAL
#
# prevail-lab must be in PREVAIL's folder. A study is interrupted; words of its finished pieces, and of the fits of
# unfinished ones, are replaced by NaN, infinite or huge numbers. When continued, it must refuse the checkpoint or
# complete; it must never crash.
set -u
if [ $# -ne 2 ] || [ ! -x "$1" ] || [ ! -x "$2" ]; then
    echo "usage: tests/sealed/run.sh PREVAIL SEAL" >&2
    exit 2
fi
prevail=$(realpath "$1") seal=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export LC_ALL=C OMP_WAIT_POLICY=passive

# Interrupts it after some pieces are done; repeated if it completed before that.
begin() { # words of the study
    local try
    for try in 1 2 3 4 5 6 7 8; do
        rm -rf out ck
        "$prevail-lab" "$@" --checkpoint ck --checkpoint-every 0.001 -o out >/dev/null 2>&1 &
        local pid=$!
        for _ in $(seq 200); do
            grep -aq '/job' ck 2>/dev/null && break
            kill -0 $pid 2>/dev/null || break
            sleep 0.01
        done
        kill -TERM $pid 2>/dev/null
        wait $pid 2>/dev/null
        grep -aq '/job' ck 2>/dev/null && mv ck start && return 0
    done
    return 1
}

refused=0 done=0 failed=0
while read -r line; do
    # shellcheck disable=SC2086
    begin $line || { echo "FAILED: study $line: no checkpoint with a finished piece"; failed=$((failed + 1)); continue; }
    before=$refused
    for part in /job 'fitted arrays'; do
        for word in 0 2 17; do
            for value in 7FF8000000000000 7FF0000000000000 7E37E43C8800759C 0000010000000000; do
                rm -rf out ck
                "$seal" start ck "$part" $word $value || continue
                # shellcheck disable=SC2086
                timeout -k 5 60 "$prevail-lab" $line --threads 2 --checkpoint ck --resume -o out >stdout 2>stderr </dev/null
                code=$?
                if [ $code -eq 2 ] && grep -q 'is not a usable checkpoint' stderr; then
                    refused=$((refused + 1))
                elif [ $code -eq 0 ]; then
                    done=$((done + 1))
                else
                    failed=$((failed + 1))
                    echo "FAILED: study $line: word $word of '$part' as $value: exit $code: $(tail -n 1 stderr)"
                fi
            done
        done
    done
    [ $refused -gt $before ] || { failed=$((failed + 1)); echo "FAILED: study $line: nothing was refused"; }
done <<'LINES'
bias --replicates 4
coverage --sbc --replicates 12 --steps 5
coverage --replicates 12 --cases 30 --controls 30 --draws 100
calibration --replicates 3 --prevalences 0.1 --population-rows 1000 --steps 5 --draws 100
contingency --prevalence-n 10 --steps 20 --draws 100
LINES
echo "$refused refused, $done done, $failed failures"
[ $failed -eq 0 ] && [ $refused -gt 0 ]
