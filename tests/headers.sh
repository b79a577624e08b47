#!/bin/bash
# Each public header alone: C99 and C++11 without a warning, with GCC and Clang, twice in one file.
# usage: headers.sh INCLUDE_FOLDER
set -u
include=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
flags=(-pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -fsyntax-only -I "$include")
for header in "$include"/prevail/*.h; do
    name=prevail/$(basename "$header")
    if grep -q '^[a-z].*(.*);' "$header" && ! grep -q 'extern "C"' "$header"; then
        failed=$((failed + 1)) && echo "FAILED: $name has functions, and no extern \"C\""
    fi
    printf '#include "%s"\n#include "%s"\nint nothing;\n' "$name" "$name" >"$work/one.c"
    cp "$work/one.c" "$work/one.cc"
    for compiler in "gcc -std=c99" "clang -std=c99" "g++ -std=c++11" "clang++ -std=c++11"; do
        command -v "${compiler%% *}" >"$work/path" || continue
        case $compiler in *++*) file=$work/one.cc ;; *) file=$work/one.c ;; esac
        # shellcheck disable=SC2086
        if $compiler "${flags[@]}" "$file" 2>"$work/log"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1)) && echo "FAILED: $compiler $name" && head -n 12 "$work/log"
        fi
    done
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
