#!/usr/bin/env bash
# Every public function that makes something is in a test that lets its allocations fail. usage: tests/memory/public.sh
#
# A maker is a function of include/prevail that returns pv_status and writes a pointer (TYPE **made). Tests that sweep are those
# with sweep_memory; commands as a whole are swept by run.sh.
set -u
cd "$(dirname "$0")/../.." || exit 1
makers=$(sed -e 's@/\*.*\*/@@' include/prevail/*.h | tr '\n' ' ' | grep -oE 'pv_status +pv_[a-z_0-9]+\([^;]*\);' | grep -E '\*\*[a-z]+' |
    sed -E 's/pv_status +(pv_[a-z_0-9]+).*/\1/' | sort -u)
sweeps=$(grep -lE 'sweep_memory\(' tests/unit/test_*.c)
passed=0 failed=0
for maker in $makers; do
    if grep -qE "\b$maker\(" $sweeps; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$maker: no test lets its allocations fail; tests/unit/test_memory.c is the place"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
