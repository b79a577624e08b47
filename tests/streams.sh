#!/usr/bin/env bash
# Purposes of the random streams: the table in docs/architecture.md agrees with include/prevail/streams.h and the
# sources, every purpose is used, and no stream is opened with a literal number.
#
#   tests/streams.sh [--update] ROOT
set -u
update=false
[ "${1:-}" = --update ] && { update=true; shift; }
cd "${1:?usage: tests/streams.sh [--update] ROOT}" || exit 2
list=include/prevail/streams.h
doc=docs/architecture.md
folders=$(ls -d src tool cli lab plugins)
failed=0

wanted=$(mktemp) found=$(mktemp)
trap 'rm -f "$wanted" "$found"' EXIT
{
    echo '| stream | purpose | index | where |'
    echo '|---|---|---|---|'
    sed -nE 's/^ +X\(([A-Z_]+), ([0-9A-Fa-fx]+), "([^"]*)"\).*/\1|\2|\3/p' "$list" | while IFS='|' read -r name number index; do
        where=$(grep -rlwE --include='*.[ch]' "PV_STREAM_$name" $folders | LC_ALL=C sort | sed 's/.*/`&`/' | paste -sd, | sed 's/,/, /g')
        echo "| \`PV_STREAM_$name\` | $number | $index | $where |"
    done
} >"$wanted"

if grep -q '| |$' "$wanted"; then
    echo "streams: nothing draws for:" >&2
    grep '| |$' "$wanted" >&2
    failed=1
fi
[ "$(wc -l <"$wanted")" -gt 20 ] || { echo "streams: the list in $list was not understood" >&2; exit 1; }

bare=$(grep -rzoE --include='*.[ch]' 'pv_rng_stream\([^,;]*,[[:space:]]*[0-9][^,]*,' $folders | tr '\0' '\n')
if [ -n "$bare" ]; then
    echo "streams: a purpose that is not in $list: $bare" >&2
    failed=1
fi

if $update; then
    awk -v table="$wanted" '
        /^\| stream \| purpose \|/ { while ((getline line < table) > 0) print line; skip = 1 }
        skip && !/^\|/ { skip = 0 }
        !skip' "$doc" >"$found" && cat "$found" >"$doc"
fi
awk '/^\| stream \| purpose \|/ { on = 1 } on && !/^\|/ { exit } on' "$doc" >"$found"
if ! diff "$found" "$wanted" >&2; then
    echo "streams: the table in $doc differs from $list; tests/streams.sh --update . writes it" >&2
    failed=1
fi
exit $failed
