#!/usr/bin/env bash
# Where plug-ins are loaded from; a privileged program loads none. usage: tests/plugins.sh PREVAIL
set -u
[ $# -eq 1 ] || { echo "usage: tests/plugins.sh PREVAIL" >&2; exit 2; }
prevail=$(realpath "$1")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
failed=0 passed=0 skipped=0
# A plug-in that reports when it is loaded.
mkdir "$scratch/elsewhere" "$scratch/own"
printf '#include <stdio.h>\n__attribute__((constructor)) static void loaded(void) { fputs("LOADED\\n", stderr); }\n' >"$scratch/told.c"
${CC:-cc} -shared -fPIC "$scratch/told.c" -o "$scratch/elsewhere/libprevail-cuda.so" || exit 1
cp "$scratch/elsewhere/libprevail-cuda.so" "$scratch/own"
cp "$prevail" "$scratch/own/prevail"
cp "$prevail" "$scratch/prevail"
expect() { # what, yes or no: is the plug-in loaded; command...
    local what=$1 wanted=$2 found=no
    shift 2
    "$@" >"$scratch/out" 2>&1
    grep -q '^LOADED$' "$scratch/out" && found=yes
    if [ $found = "$wanted" ] && grep -q '^device ' "$scratch/out"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what: loaded: $found"
        sed 's/^/    /' "$scratch/out"
    fi
}
under() { # argv[0], command...
    local name=$1
    shift
    (exec -a "$name" "$@")
}
expect "the folder that PREVAIL_PLUGINS names" yes env PREVAIL_PLUGINS="$scratch/elsewhere" "$scratch/prevail" version
expect "the program's own folder" yes "$scratch/own/prevail" version
expect "the folder in argv[0]" no under "$scratch/elsewhere/prevail" "$scratch/prevail" version
expect "the program's own folder, whatever argv[0] is" yes under "$scratch/prevail" "$scratch/own/prevail" version

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && chmod 4755 "$scratch/own/prevail" &&
    [ "$(setpriv --reuid 65534 --clear-groups "$scratch/own/prevail" version >/dev/null 2>&1; echo $?)" = 0 ]; then
    other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
    expect "setuid, its own folder" no other "$scratch/own/prevail" version
    grep -q 'runs with elevated privileges' "$scratch/out" || { failed=$((failed + 1)); echo "FAILED: setuid: no reason given"; }
    expect "setuid, PREVAIL_PLUGINS" no other env PREVAIL_PLUGINS="$scratch/elsewhere" "$scratch/own/prevail" version
    expect "setuid, argv[0]" no other bash -c "exec -a $scratch/elsewhere/prevail $scratch/own/prevail version"
    chmod 2755 "$scratch/own/prevail"
    expect "setgid, its own folder" no other "$scratch/own/prevail" version
    chmod 755 "$scratch/own/prevail"
    expect "no privileges, its own folder" yes other "$scratch/own/prevail" version
else
    skipped=5
    echo "skipped: a privileged program, which needs root and setpriv"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
