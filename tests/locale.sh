#!/bin/bash
# The library's output is the same in every locale: src/ calls no locale-dependent function outside base/format.c and
# base/windows, which gives Windows those that format.c calls. The command may, since a program that never calls setlocale is in the
# C locale. usage: tests/locale.sh
set -u
cd "$(dirname "$0")/.." || exit 1

printing='v?(f|s|sn|d|as)?printf'
scanning='v?[fs]?scanf|strto(d|f|ld)(_l)?|ato[f]'
letters='is(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit)|to(lower|upper)|strn?casecmp|strcasestr'
words='strcoll|strxfrm|strftime|strptime|strfmon|isw[a-z]+|tow[a-z]+|mb[a-z]*to[a-z]+|wc[a-z]*to[a-z]+|fnmatch|regcomp'
locales='(set|new|use|dup|free)locale|localeconv|nl_langinfo'
json='json_(dump|load)[a-z_]*|json_v?sprintf'
all="$printing|$scanning|$letters|$words|$locales"
unfit() { # names, files; without files standard input
    local names=$1
    shift
    grep -nE "(^|[^A-Za-z0-9_])($names) *\(" "$@" | grep -vE '^([^:]*:)?[0-9]+: *(/?\*|//)'
}

failed=0
complain() { # advice; the lines on stdin
    local lines
    lines=$(cat)
    [ -z "$lines" ] && return
    printf '%s\n    %s\n' "$lines" "$1" >&2
    failed=1
}

# The search finds such calls.
for call in 'fprintf(out,' ' snprintf (to,' '=strtod(text' 'x = tolower(c)' 'strcasecmp(a, b)' 'setlocale(LC_ALL' 'json_dumps(o, 0)' 'sscanf(t' 'vsnprintf(t'; do
    echo "$call" | unfit "$all|$json" >/dev/null || { echo "'$call' is not found" >&2; exit 1; }
done
for call in 'pv__format(to' 'pv_format_double(x' 'isfinite(x)' 'pv__print(out' '/* as printf() does */' 'strtoll(text'; do
    echo "$call" | unfit "$all|$json" >/dev/null && { echo "'$call' is found" >&2; exit 1; }
done

mapfile -t library < <(find src -name '*.[ch]' ! -path src/base/format.c ! -path 'src/base/windows/*')
mapfile -t command < <(find cli tool lab -name '*.[ch]')
files=$((${#library[@]} + ${#command[@]}))
[ "$files" -gt 200 ] || { echo "only $files files were looked at" >&2; exit 1; }
complain "text must not depend on the locale: use pv__format, pv__print, pv__strtod, pv__lower (src/base/base.h)" \
    < <(unfit "$all" /dev/null "${library[@]}")
complain "use pv__json_dump and pv__json_parse (src/base/json.h)" < <(unfit "$json" /dev/null "${library[@]}" | grep -v '^src/base/json\.c:')
complain "the command stays in the C locale" < <(unfit "$locales" /dev/null "${command[@]}")
[ $failed -eq 0 ] && echo "$files files: no call that knows locales"
exit $failed
