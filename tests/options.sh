#!/bin/bash
# Messages of the library refer to options as `name` or `name=value`; each front end prints its own syntax. Every
# reference must name an option, and no text may have the command's dashes. usage: tests/options.sh PREVAIL
set -u
prevail=$(realpath "$1") || exit 1
cd "$(dirname "$0")/.." || exit 1

# String literals with an option in the command's syntax; whole commands quoted in a page, "eval --from P", are exempt.
dashed() {
    grep -noE '"([^"\\]|\\.)*"' "$@" | grep -E -e '--([a-z]|%s)' | grep -vE '(eval|predict) --|var\(--|"--%s:%s;"'
}

# String literals as FILE:LINE and text, with adjacent ones joined and comments removed.
literals() {
    awk '
    FNR == 1 { flush(); comment = 0 }
    function flush() { if (text != "") print from ": " text; text = ""; }
    {
        line = $0
        while (line != "") {
            if (comment) {
                if (!(at = index(line, "*/"))) break
                line = substr(line, at + 2); comment = 0
            } else if (match(line, /^[ \t]+/)) {
                line = substr(line, RLENGTH + 1)
            } else if (match(line, /^\/\//)) {
                break
            } else if (match(line, /^\/\*/)) {
                comment = 1; line = substr(line, 3)
            } else if (match(line, /^"([^"\\]|\\.)*"/)) {
                if (text == "") from = FILENAME ":" FNR
                text = text substr(line, 2, RLENGTH - 2); line = substr(line, RLENGTH + 1)
            } else {
                flush()
                if (match(line, /^'\''([^'\''\\]|\\.)*'\''/)) line = substr(line, RLENGTH + 1)
                else line = substr(line, 2)
            }
        }
    }
    END { flush() }' "$@"
}

# References that name no option, or are malformed; option names are the first file. Names inserted by a format are
# checked where they are passed.
unknown() {
    awk -v names="$1" '
    BEGIN { while ((getline name < names) > 0) known[name] = 1 }
    {
        rest = $0
        while ((at = index(rest, "`")) > 0) {
            rest = substr(rest, at + 1)
            if (!match(rest, /^(%s|[a-z][a-z0-9-]*)(=([^`]|``)*|%s%s)?`/)) { print "not a reference: " $0; next }
            name = substr(rest, 1, RLENGTH - 1); sub(/(=|%s%s).*/, "", name)
            if (name != "%s" && name != "" && !(name in known)) print "no option " name ": " $0
            rest = substr(rest, RLENGTH + 1)
        }
    }'
}

names=$(mktemp) || exit 1
trap 'rm -f "$names"' EXIT
grep -oE '^ *X\([a-z]+' cli/commands.h | grep -oE '[a-z]+$' | while read -r command; do
    "$prevail" "$command" --help all
done | grep -oE '^ +(-o, )?--[a-z][a-z0-9-]*' | sed 's/.*--//' | sort -u >"$names"
[ "$(wc -l <"$names")" -gt 130 ] || { echo "only $(wc -l <"$names") options were found" >&2; exit 1; }

finds() { # what a text must be found for, the text as it stands in a file
    printf '%s\n' "$2" | literals - | unknown "$names" | grep -q "$1" && return
    echo "$2: not found" >&2
    exit 1
}
finds 'no option priors' 'fail("use `pri" /* a break */
    "ors=normal:1`")'
finds 'not a reference' 'fail("use `prior")'
finds 'not a reference' 'fail("use `prior `")'
good='fail("leave it out with `exclude=%s`, or `prior=a``b`", '\''`'\'', --n) /* `none` */'
[ -z "$(printf '%s\n' "$good" | literals - | unknown "$names")" ] || { echo "a good text is found" >&2; exit 1; }
echo 'fail("leave it out with --exclude %s")' | dashed >/dev/null || { echo "a dashed option is not found" >&2; exit 1; }
printf '%s\n' "$good" | dashed >/dev/null && { echo "a good text is found" >&2; exit 1; }

# Conditions of a command's rules (cli_rule) that name none of its options; FILE and the command's help on standard input.
lost() {
    awk -v file="$1" '
    FNR == NR { if (match($0, /^ +(-[a-z], )?--[a-z][a-z0-9-]*/)) { name = substr($0, RSTART, RLENGTH); sub(/.*--/, "", name); known[name] = 1 } next }
    /^static const cli_rule/ { inside = 1 }
    /NULL, NULL, NULL/ { inside = 0 }
    inside && /^    \{"/ {
        split($0, part, "\""); words = part[2] (part[3] ~ /^, $/ ? " " part[4] : "")
        gsub(/[|]/, " ", words); n = split(words, word, " ")
        for (i = 1; i <= n; i++) { sub(/=.*/, "", word[i]); if (word[i] !~ /^[A-Z]+$/ && !(word[i] in known)) print file ": a rule has no option " word[i] }
        rules++
    }
    END { if (!rules) print file ": no rules were found" }' - "$1"
}
printf 'static const cli_rule rules[] = {\n    {"one|two=3 FILE", "four", "text"},\n' >"$names.c"
[ "$(printf '  --one X\n  -t, --two X\n' | lost "$names.c")" = "$names.c: a rule has no option four" ] || { echo "a rule with no option is not found" >&2; exit 1; }
rm -f "$names.c"
wrong=$(grep -l '^static const cli_rule' cli/*.c | while read -r file; do
    "$prevail" "$(basename "$file" .c)" --help all | lost "$file"
done)
[ -z "$wrong" ] || { echo "$wrong" >&2; exit 1; }

mapfile -t files < <(find src include -name '*.[ch]')
[ ${#files[@]} -gt 150 ] || { echo "only ${#files[@]} files were looked at" >&2; exit 1; }
failed=0
if dashed "${files[@]}" >&2; then
    echo '    the library names an option `name`; the command adds the dashes' >&2
    failed=1
fi
wrong=$(literals "${files[@]}" | unknown "$names")
if [ -n "$wrong" ]; then
    printf '%s\n    a reference is `name` or `name=value`, with the name of an option\n' "$wrong" >&2
    failed=1
fi
[ $failed -eq 0 ] && echo "${#files[@]} files: $(literals "${files[@]}" | grep -c '`') texts refer to $(wc -l <"$names") options"
exit $failed
