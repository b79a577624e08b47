#!/usr/bin/env bash
# Malformed files and arguments, one case per file. usage: tests/hostile/run.sh [--update] PREVAIL [NAME ...]
#
# Cases have the format of tests/cli/run.sh, which runs them. Each contains one mistake: the command must exit with 2
# (or with 1 if the machine failed), print nothing on standard output, and print one line on standard error that names
# the file or the option; the corrected command may follow.
set -u
here=$(cd "$(dirname "$0")" && pwd)
"$here"/../cli/run.sh --cases "$here/cases" "$@" || exit 1

count=0 bad=0
for file in "$here"/cases/*.test; do
    count=$((count + 1))
    awk -v name="$(basename "$file" .test)" '
        /^--- exit / { part = "exit"; if ($3 != 1 && $3 != 2) wrong = "exit code " $3; next }
        /^--- stdout$/ { part = "stdout"; next }
        /^--- stderr$/ { part = "stderr"; next }
        part == "" { commands = commands $0 "\n" }
        part == "stdout" { wrong = "prints on standard output" }
        part == "stderr" && /^prevail: corrected: / { next }
        part == "stderr" { lines++; message = $0 }
        END {
            if (lines != 1) wrong = lines + 0 " lines of error"
            else if (message !~ /^prevail: /) wrong = "no error of prevail"
            else if (message !~ /^prevail: [^ ]+:/ && message !~ /--[a-z]|\047[^\047]*\047|^prevail: (standard (in|out)put|unknown|unexpected|[A-Z]+ is missing|there is no builtin:|the file name)|the (model|command)/)
                wrong = "names neither file nor option"
            if (wrong) { print name ": " wrong; exit 1 }
        }' "$file" || bad=$((bad + 1))
done
echo "$count cases"
[ "$bad" -eq 0 ] && [ "$count" -ge 150 ]
