#!/bin/bash
# Text of the library is the same in every locale: src/ calls no function that knows locales, but from base/format.c.
# The command may, as it never sets one: a program that does not is in the C locale. usage: tests/locale.sh
set -u
cd "$(dirname "$0")/.." || exit 1

printing='v?(f|s|sn|d|as)?printf'
scanning='v?[fs]?scanf|strto(d|f|ld)(_l)?|ato[f]'
letters='is(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit)|to(lower|upper)|strn?casecmp|strcasestr'
words='strcoll|strxfrm|strftime|strptime|strfmon|isw[a-z]+|tow[a-z]+|mb[a-z]*to[a-z]+|wc[a-z]*to[a-z]+|fnmatch|regcomp'
locales='(set|new|use|dup|free)locale|localeconv|nl_langinfo'
json='json_(dump|load)[a-z_]*|json_v?sprintf'
unfit() { # stdin; names
    grep -nE "(^|[^A-Za-z0-9_])($1) *\(" | grep -vE '^[0-9]+: *(/?\*|//)'
}

failed=0
complain() { # file, advice; the lines on stdin
    while IFS= read -r line; do
        echo "$1:$line" >&2
        echo "    $2" >&2
        failed=1
    done
}

# The search finds what it is for.
for call in 'fprintf(out,' ' snprintf (to,' '=strtod(text' 'x = tolower(c)' 'strcasecmp(a, b)' 'setlocale(LC_ALL' 'json_dumps(o, 0)' 'sscanf(t' 'vsnprintf(t'; do
    echo "$call" | unfit "$printing|$scanning|$letters|$words|$locales|$json" >/dev/null || { echo "'$call' is not found" >&2; exit 1; }
done
for call in 'pv__format(to' 'pv_format_double(x' 'isfinite(x)' 'pv__print(out' '/* as printf() does */' 'strtoll(text'; do
    echo "$call" | unfit "$printing|$scanning|$letters|$words|$locales|$json" >/dev/null && { echo "'$call' is found" >&2; exit 1; }
done

files=0
while IFS= read -r file; do
    files=$((files + 1))
    [ "$file" = src/base/format.c ] && continue
    complain "$file" "text must not depend on the locale: use pv__format, pv__print, pv__strtod, pv__lower (src/base/base.h)" \
        < <(unfit "$printing|$scanning|$letters|$words|$locales" <"$file")
    [ "$file" = src/base/json.c ] || complain "$file" "use pv__json_dump and pv__json_parse (src/base/json.h)" < <(unfit "$json" <"$file")
done < <(find src -name '*.[ch]')
while IFS= read -r file; do
    files=$((files + 1))
    complain "$file" "the command stays in the C locale" < <(unfit "$locales" <"$file")
done < <(find cli tool studies bench -name '*.[ch]')
[ "$files" -gt 100 ] || { echo "only $files files were looked at" >&2; exit 1; }
[ $failed -eq 0 ] && echo "$files files: no call that knows locales"
exit $failed
