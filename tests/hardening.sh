#!/bin/sh
# Checks the hardening of a release build with readelf. usage: tests/hardening.sh PROGRAM LIBRARY
set -u
[ $# -eq 2 ] || { echo "usage: tests/hardening.sh PROGRAM LIBRARY" >&2; exit 2; }
failed=0 passed=0
wants() { # what, file, readelf's option, pattern
    if readelf -W "$3" "$2" 2>/dev/null | grep -Eq -e "$4"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $2: $1"
    fi
}
for file in "$1" "$2"; do
    wants "is not position independent" "$file" -h 'Type: +DYN'
    wants "its relocations stay writable" "$file" -l 'GNU_RELRO'
    wants "binds lazily" "$file" -d 'BIND_NOW|FLAGS_1.*NOW'
    wants "its stack can be executed" "$file" -l 'GNU_STACK.* RW +0x'
    wants "has no stack protector" "$file" --dyn-syms '__stack_chk_fail'
    wants "has no checked calls of libc (_FORTIFY_SOURCE)" "$file" --dyn-syms '__(memcpy|snprintf|vsnprintf|fprintf)_chk'
done
# Symbols: those of the library are versioned, and no others are exported.
counts() { # what, least, most, pattern
    count=$(readelf -W --dyn-syms "$library" | awk '($5 == "GLOBAL" || $5 == "WEAK") && $7 != "UND" { print $8 }' | grep -Ec -e "$4")
    if [ "$count" -ge "$2" ] && [ "$count" -le "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $library: $1 ($count)"
    fi
}
library=$2
counts "few names of version PREVAIL_0.1" 100 100000 '^pv_[a-z0-9_]+@@PREVAIL_0\.1$'
counts "names of no version" 0 0 '^[a-z_0-9]+$'
counts "internal names" 0 0 '^pv__'
counts "names that are not its own" 0 0 '^([^pP]|p[^v]|pv[^_])'
# The linker drops the note from the file if one object, such as libc's start code, has none: check the instructions.
if readelf -h "$1" | grep -q X86-64; then
    if [ "$(objdump -d "$1" | grep -c endbr64)" -gt 100 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1: has no marks for indirect branches"
    fi
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
