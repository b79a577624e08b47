#!/usr/bin/env bash
# Tests the R package as a user gets it: made, built with its vignette, and checked by R CMD check as on CRAN.
#   usage: tests/r/run.sh BUILD [FOLDER]
#
# BUILD is a CMake build folder with the library and the command; FOLDER is for the package and the check (default: a
# temporary one). Exits with 77 (skipped) without R or testthat. Nothing is downloaded. PREVAIL_BUNDLED=yes makes the
# package compile the sources it contains, which takes minutes; PREVAIL_VALGRIND=yes runs examples, tests and vignette
# under valgrind.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
build=$(cd "${1:?usage: tests/r/run.sh BUILD [FOLDER]}" && pwd)
command -v R >/dev/null || { echo "skipped: there is no R (scripts/setup check)"; exit 77; }
# All that DESCRIPTION suggests: R would look for an absent package on CRAN, and there may be no network.
for package in testthat knitr markdown generics MASS survey survival splines; do
    Rscript -e "quit(status = !requireNamespace('$package', quietly = TRUE))" || { echo "skipped: R has no $package (scripts/setup check)"; exit 77; }
done
folder=${2:-$(mktemp -d)}
[ -n "${2:-}" ] || trap 'rm -rf "$folder"' EXIT
rm -rf "$folder" && mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# The project's own warnings, some of which R's headers cause.
for file in "$source"/r/src/*.c; do
    ${CC:-cc} -std=c17 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes \
        -Wmissing-prototypes -Wno-cast-function-type -Werror -I "$source/include" -isystem "$(R CMD config --cppflags | sed -n 's/.*-I"*\([^" ]*\).*/\1/p')" "$file"
done

export PKG_CONFIG_PATH=$folder PREVAIL_COMMAND=$build/prevail OMP_NUM_THREADS=2
if [ "${PREVAIL_VALGRIND-}" = yes ]; then
    # valgrind's processor has fewer instructions and so other kernels; for identical bits the command runs under it
    # too.
    PREVAIL_COMMAND=$folder/command
    printf '#!/bin/sh\nexec valgrind -q --tool=none "%s" "$@"\n' "$build/prevail" >"$PREVAIL_COMMAND"
    chmod +x "$PREVAIL_COMMAND"
    export _R_CHECK_EXAMPLE_TIMING_THRESHOLD_=10000
fi
export _R_CHECK_CRAN_INCOMING_REMOTE_=false _R_CHECK_SYSTEM_CLOCK_=0 _R_CHECK_FORCE_SUGGESTS_=false _R_CHECK_PACKAGE_DEPENDS_IGNORE_MISSING_ENHANCES_=true R_CHECK_ENVIRON=/dev/null
cd "$folder"
"$source/scripts/r-package" "$build" "$folder" >/dev/null || { echo "the package could not be built"; exit 1; }
for part in vignettes/study.Rmd inst/doc/study.html build/vignette.rds src/libprevail/scripts/compile; do
    tar -tzf prevail_*.tar.gz | grep -q "/$part$" || { echo "the package has no $part"; exit 1; }
done
# shellcheck disable=SC2046
R CMD check --as-cran --no-manual $([ "${PREVAIL_VALGRIND-}" != yes ] || echo --use-valgrind) prevail_*.tar.gz >check.log 2>&1 || true
status=$(sed -n 's/^Status: //p' check.log)

# "New submission" is the only accepted note.
others=$(grep 'NOTE$' check.log | grep -vc '^\* checking CRAN incoming feasibility' || true)
case $status in
OK) ;;
"1 NOTE") [ "$others" = 0 ] || bad=yes ;;
*) bad=yes ;;
esac
tests=$(find prevail.Rcheck -name 'testthat.Rout*' -exec sed -n 's/^\[ FAIL \([0-9]*\) | WARN [0-9]* | SKIP \([0-9]*\) | PASS \([0-9]*\) \]$/\3 passed, \1 failed, \2 skipped/p' {} + | tail -n 1)
grep -h -A12 'Skipped tests' prevail.Rcheck/tests/testthat.Rout* 2>/dev/null | sed -n '/test-others/!s/^• /skipped: /p' | grep -vE '(Zelig|ggplot2|emmeans|broom|sandwich|insight|marginaleffects|parsnip) cannot be loaded' || true
if [ -n "${bad-}" ] || [ -z "$tests" ]; then
    grep -v ' OK$' check.log | tail -n 80
    tail -n 60 prevail.Rcheck/00install.out prevail.Rcheck/tests/*.fail 2>/dev/null || true
    echo "R CMD check: $status"
    exit 1
fi
# Suggested packages (emmeans, ggplot2, Zelig), which the check hides, are tested if installed.
R_LIBS=$folder/prevail.Rcheck Rscript -e 'library(testthat); library(prevail); test_file(commandArgs(TRUE), reporter = "summary", stop_on_failure = TRUE)' \
    "$source/r/tests/testthat/test-others.R" >others.log 2>&1 || { tail -n 60 others.log; echo "other packages do not work with this one"; exit 1; }
sed -n 's/^.*Reason: \(.*\) cannot be loaded.*/not installed, so not tested with: \1/p' others.log | sort -u
R_LIBS=$folder/prevail.Rcheck Rscript "$here/page.R" "$source/docs/r.md" >page.log 2>&1 || { tail -n 60 page.log; echo "the lines of R in docs/r.md do not run, or print something else"; exit 1; }
if [ "${PREVAIL_VALGRIND-}" = yes ]; then
    runs=$(grep -h 'ERROR SUMMARY' -r prevail.Rcheck --include='*.Rout*' | wc -l)
    errors=$(grep -h 'ERROR SUMMARY' -r prevail.Rcheck --include='*.Rout*' | grep -vc ' 0 errors' || true)
    [ "$runs" -ge 3 ] && [ "$errors" = 0 ] || { grep -h -B40 'ERROR SUMMARY' -r prevail.Rcheck --include='*.Rout*' | tail -n 60; echo "valgrind: $errors of $runs runs with findings"; exit 1; }
    echo "valgrind: no findings in $runs runs of R"
fi
echo "R CMD check: $status"
echo "$tests"
