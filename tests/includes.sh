#!/bin/bash
# scripts/includes finds includes that violate the table. usage: includes.sh SOURCE_FOLDER
set -u
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source"/{src,include,tool,cli,lab,examples} "$work" && mkdir "$work/docs" &&
    cp "$source/docs/architecture.md" "$work/docs" || exit 1
passed=0 failed=0

# The tree itself has no violations.
if "$source/scripts/includes" "$work" >"$work/log" 2>&1; then
    passed=$((passed + 1))
else
    failed=$((failed + 1)) && cat "$work/log"
fi

# FILE INCLUDED WHY: an include added at the end of the file must be the only one found, with its line.
plant() {
    local file=$work/$1 line
    cp "$file" "$work/kept"
    printf '#include "%s"\n' "$2" >>"$file"
    line=$(wc -l <"$file")
    if "$source/scripts/includes" "$work" >"$work/log" 2>&1; then
        failed=$((failed + 1)) && echo "FAILED: $1 may include $2"
    elif [ "$(grep -c "^$1:" "$work/log")" = 1 ] && grep -qF "$1:$line: \"$2\": $3" "$work/log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1)) && echo "FAILED: $1 with $2:" && cat "$work/log"
    fi
    cp "$work/kept" "$file"
}
plant src/core/rng.c prevail/data.h "core may not use data"
plant src/core/rng.c prevail/prevail.h "core may not use public"
plant src/core/rng.c data/data.h "core may not use data"
plant src/predict/predict.c infer/classifier.h "a private header of infer, not open to predict"
plant src/report/page.c prevail/predict.h "report may not use predict"
plant src/base/file.c tool/console.h "the library may not use tool"
plant src/base/file.c prevail/nowhere.h "no part has this public header"
plant include/prevail/core.h prevail/infer.h "core may not use infer"
plant include/prevail/core.h core/core.h "a public header includes public ones"
plant include/prevail/core.h base.h "a public header includes public ones"
plant src/core/rng.c csv.h "is not beside the file"
plant tool/json.c base/tree.h "a private header of the library"
plant tool/json.c cli/eval.h "tool may not use cli"
plant cli/fit.c lab/common/study.h "cli may not use lab/common"
plant cli/fit.c infer/infer.h "a private header of the library"
plant cli/fit.c ../src/infer/infer.h "a part is named from its root"
plant lab/bias/bias.c lab/coverage/coverage.h "lab/bias may not use lab/coverage"
plant lab/common/jobs.c lab/bias/bias.h "lab/common may not use lab/bias"
plant lab/bias/bias.c cli/classifier.h "lab/bias may not use cli"
plant tool/report.c lab/lab.h "tool may not use lab"
plant examples/fit.c tool/console.h "examples may not use tool"

# A folder that is not in the table.
mkdir "$work/src/new" && echo 'int x;' >"$work/src/new/new.c"
if "$source/scripts/includes" "$work" 2>&1 | grep -q '^src/new/new.c:1: belongs to no part'; then
    passed=$((passed + 1))
else
    failed=$((failed + 1)) && echo "FAILED: a part that the table does not know"
fi

# A second file of one name.
rm -r "$work/src/new" && echo 'int x;' >"$work/src/plan/roles.c"
if "$source/scripts/includes" "$work" 2>&1 | grep -qx 'src/plan/roles.c: a second roles.c, beside src/data/roles.c'; then
    passed=$((passed + 1))
else
    failed=$((failed + 1)) && echo "FAILED: two files of one name"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
