#!/usr/bin/env bash
# Every public function that allocates a result has a test with failing allocations. usage: tests/memory/public.sh
#
# Such a function is declared in include/prevail, returns pv_status and writes a pointer (TYPE **made). It counts as
# tested if it is called by a function passed to sweep_memory (or, in test_memory.c, to SWEEP), directly or through a
# function of the same file. Whole commands are tested by run.sh.
set -u
cd "$(dirname "$0")/../.." || exit 1
makers=$(sed -e 's@/\*.*\*/@@' include/prevail/*.h | tr '\n' ' ' | grep -oE 'pv_status +pv_[a-z_0-9]+\([^;]*\);' | grep -E '\*\*[a-z]+' |
    sed -E 's/pv_status +(pv_[a-z_0-9]+).*/\1/' | sort -u)

# The names in the bodies of the tested functions of each file. A body begins at a line that starts with a name and ends
# with {, and ends at a line }.
swept=$(awk '
    function visit(name,   words, n, i) {
        if (!(name in body) || name in seen) return
        seen[name] = 1
        n = split(body[name], words, /[^A-Za-z_0-9]+/)
        for (i = 1; i <= n; i++) { print words[i]; visit(words[i]) }
    }
    function finish(   name) {
        for (name in given) visit(name)
        split("", body); split("", seen); split("", given)
        inside = ""
    }
    FNR == 1 { finish() }
    /^static void sweeps_context\(/ { given["sweeps_context"] = 1 } # pv_ctx_new: its one allocation fails there
    { gsub(/\/\*.*\*\//, "") }
    inside == "" && /^[a-z].*\)? *\{$/ && match($0, /[A-Za-z_0-9]+\(/) { inside = substr($0, RSTART, RLENGTH - 1); next }
    inside != "" && /^\}/ { inside = ""; next }
    inside != "" { body[inside] = body[inside] " " $0 }
    match($0, /sweep_memory\([a-z_0-9]+\)/) { given[substr($0, RSTART + 13, RLENGTH - 14)] = 1 }
    match($0, /^SWEEP\([a-z_0-9]+\)/) { given[substr($0, 7, RLENGTH - 7) "_poorly"] = 1 }
    END { finish() }' tests/unit/test_*.c | sort -u)
passed=0 failed=0
for maker in $makers; do
    if grep -qx "$maker" <<<"$swept"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$maker: no test lets its allocations fail; tests/unit/test_memory.c is the place"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
