#!/bin/bash
# The library's texts name options in backquotes; dashes are the command's. usage: tests/options.sh
set -u
cd "$(dirname "$0")/.." || exit 1

# String literals with an option as it is typed; commands that a page quotes whole, "eval --from P", are left alone.
dashed() {
    grep -noE '"([^"\\]|\\.)*"' "$@" | grep -E -e '--([a-z]|%s)' | grep -vE '(eval|predict) --|var\(--|"--%s:%s;"'
}
echo 'fail("leave it out with --exclude %s")' | dashed >/dev/null || { echo "a dashed option is not found" >&2; exit 1; }
echo 'fail("leave it out with `exclude` %s", --n)' | dashed >/dev/null && { echo "a good text is found" >&2; exit 1; }

mapfile -t files < <(find src include -name '*.[ch]')
[ ${#files[@]} -gt 150 ] || { echo "only ${#files[@]} files were looked at" >&2; exit 1; }
if dashed "${files[@]}" >&2; then
    echo '    the library names an option `name`; the command adds the dashes' >&2
    exit 1
fi
echo "${#files[@]} files: no dashed option"
