#!/usr/bin/env bash
# What the sources take from the system that POSIX does not have, against the list in posix.txt. usage: tests/platforms/posix.sh FOLDER
#
# Clang reads every source of the build for tables with musl's headers, which show POSIX 2008 alone if asked: strict C17, no GNU source.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?usage: tests/platforms/posix.sh FOLDER} headers=/usr/include/$(uname -m)-linux-musl
[ -d "$headers" ] || { echo "SKIPPED: $headers is missing (scripts/setup platforms)"; exit 77; }
mkdir -p "$folder/report"
folder=$(cd "$folder" && pwd)
cd "$here/../.." || exit 1
printf 'static const unsigned char pv_style[] = {0}, pv_script[] = {0};\n' >"$folder/report/assets.h"
cp cmake/plain_glyphs.h "$folder/report/glyphs.h"
compiler=(clang -std=c17 -D_POSIX_C_SOURCE=200809L -nostdinc -isystem "$(clang -print-resource-dir)/include" -isystem "$headers" -fsyntax-only
    -Wno-everything -Werror=implicit-function-declaration -ferror-limit=0 -DPV_ISA=baseline -DPV_ISA_baseline=1 -Iinclude -Isrc -I. "-I$folder")
: >"$folder/messages"
count=0
for source in src/*/*.c cli/*.c tool/*.c; do
    case $source in */onednn_*) continue ;; esac
    "${compiler[@]}" "$source" 2>>"$folder/messages"
    count=$((count + 1))
done
# Names of variables whose type is missing are not the system's.
sed -n "s/.*\(implicit declaration of function\|undeclared identifier\|unknown type name\) '\([A-Za-z_0-9]*\)'.*/\2/p" "$folder/messages" |
    grep -vxE 'info|set|program' | sort -u >"$folder/names"
errors=$(grep -c ' error: ' "$folder/messages")
if ! diff -u "$here/posix.txt" "$folder/names"; then
    echo "FAILED: the sources use other names than tests/platforms/posix.txt has"
    exit 1
fi
echo "$count sources, strict C17 and POSIX 2008 but for $(wc -l <"$folder/names") names ($errors places)"
