#!/usr/bin/env bash
# Runs the command's cases (cases/*.test) in other configurations, with the same expected output.
#
#   tests/cli/configurations.sh [--all] [--turn N] [--only NAME,...] PREVAIL PREVAIL_ISA PLUGIN DUCKDB_FOLDER [CASE ...]
#
# PREVAIL_ISA is the command with TEST_ISA (tests/machines/isa.c); PLUGIN is libprevail-mpi.so; DUCKDB_FOLDER receives
# DuckDB's library (tests/sources/engines.sh). configured.py replaces the command and changes how it is run. A
# configuration whose engine is not installed, and each case excluded by configurations.txt, is reported as SKIPPED with
# its reason (without --all: only if no other configuration is left). A case marked as a DEFECT in that file must
# differ: when it no longer does, the test fails until the mark is removed. configurations.sed (for ranks:
# configurations-ranks.sed) masks output that may differ; it is also applied to the expected output.
#
# Without --all each case runs in one of the configurations that apply to it; --turn N chooses the N-th one after it, so
# that all turns together are equivalent to --all. Cases in which no command was changed are not counted.
set -u
here=$(cd "$(dirname "$0")" && pwd)
all=false turn=0 only=
while :; do
    case ${1:-} in
    --all) all=true; shift ;;
    --turn) turn=$2; shift 2 ;;
    --only) only=$2; shift 2 ;;
    *) break ;;
    esac
done
if [ $# -lt 4 ] || [ ! -x "$1" ] || [ ! -x "$2" ]; then
    echo "usage: tests/cli/configurations.sh [--all] [--turn N] [--only NAME,...] PREVAIL PREVAIL_ISA PLUGIN DUCKDB_FOLDER [CASE ...]" >&2
    exit 2
fi
export CONFIGURED_PREVAIL CONFIGURED_ISA CONFIGURED_FOLDER CONFIGURED_SERVER CONFIGURATION PREVAIL_PLUGINS
CONFIGURED_PREVAIL=$(readlink -f "$1") CONFIGURED_ISA=$(readlink -f "$2") plugin=$(readlink -f "$3") duckdb=$4
shift 4
export OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'stop_server; rm -rf "$work"' EXIT
stop_server() { :; }
. "$here/../sources/engines.sh"
mkdir "$work/bin"
ln -s "$here/configured.py" "$work/bin/prevail"
ln -s "$CONFIGURED_PREVAIL-lab" "$work/bin/prevail-lab"

passed=0 failed=0
skip() { echo "SKIPPED [$1] $2"; }

# The configurations available on this machine.
names="threads1 threads3 memory baseline packed"
if [ -e "$plugin" ] && command -v mpirun >/dev/null; then
    PREVAIL_PLUGINS=$(dirname "$plugin")
    names+=" ranks2 ranks3"
else
    skip ranks "no mpirun, or prevail was built without MPI"
fi
if /usr/bin/python3 -c 'import sqlite3' 2>/dev/null && ldconfig -p | grep -q libsqlite3; then names+=" sqlite"; else skip sqlite "no libsqlite3, or no Python with sqlite3"; fi
if reason=$(find_duckdb "$duckdb"); then PREVAIL_DUCKDB=$reason && export PREVAIL_DUCKDB && names+=" parquet"; else skip parquet "$reason"; fi
if reason=$(start_server "$work"); then CONFIGURED_SERVER=$reason && stop_server() { end_server "$work"; } && names+=" postgres"; else skip postgres "$reason"; fi
[ -z "$only" ] || names=$(for name in ${only//,/ }; do [[ " $names " == *" $name "* ]] && echo "$name"; done)

[ $# -gt 0 ] || set -- $(cd "$here/cases" && ls | sed -n 's/\.test$//p')

# The reason why a case is not run in a configuration, or DEFECT and why it differs; empty if the output must agree.
excluded() ( # configuration, case
    set -f # patterns, not names of files that happen to be here
    while read -r configurations cases reason; do
        [[ $configurations == \#* || -z $configurations ]] && continue
        for pattern in ${configurations//,/ }; do
            # shellcheck disable=SC2254
            case $1 in $pattern) for pattern in ${cases//,/ }; do case $2 in $pattern) echo "$reason"; exit ;; esac; done ;; esac
        done
    done <"$here/configurations.txt"
)
applies() { # configuration, case: whether a command of the case can be changed at all
    local commands='prevail|fitted|\$fit'
    case $1 in
    packed | sqlite | postgres | parquet) commands='\.csv|study|people|clinic' ;;
    esac
    sed '/^--- exit/,$d' "$here/cases/$2.test" | grep -v '^#' | grep -qE -e "$commands" && [[ $2 != help_* && $2 != man_* && $2 != usage_* ]]
}

declare -A chosen
at=$turn
for case in "$@"; do
    possible=() reason=
    for name in $names; do
        applies "$name" "$case" || continue
        reason=$(excluded "$name" "$case")
        if [ -n "$reason" ] && [[ $reason != DEFECT* ]]; then
            $all && skip "$name" "$case: $reason"
        else
            possible+=("$name")
        fi
    done
    if [ ${#possible[@]} -eq 0 ]; then
        [ -z "${reason:-}" ] || skip all "$case: $reason"
        continue
    fi
    if $all; then
        for name in "${possible[@]}"; do chosen[$name]+=" $case"; done
    else
        chosen[${possible[$((at % ${#possible[@]}))]}]+=" $case"
        at=$((at + 1))
    fi
done

for CONFIGURATION in $names; do
    [ -n "${chosen[$CONFIGURATION]:-}" ] || continue
    CONFIGURED_FOLDER=$work/$CONFIGURATION
    mkdir -p "$CONFIGURED_FOLDER/help" "$CONFIGURED_FOLDER/changed"
    for command in adjust cv demo diagnose eval fit pack predict simulate study summary sweep; do
        "$CONFIGURED_PREVAIL" $command --help all >"$CONFIGURED_FOLDER/help/$command" 2>/dev/null
    done
    begin=$SECONDS good=0 bad=0 known=0 unchanged=0
    for case in ${chosen[$CONFIGURATION]}; do
        : >"$CONFIGURED_FOLDER/names"
        mask=$here/configurations-${CONFIGURATION%[0-9]}.sed
        [ -e "$mask" ] || mask=$here/configurations.sed
        "$here/run.sh" --names "$CONFIGURED_FOLDER/names" --mask "$mask" "$work/bin/prevail" "$case" >"$CONFIGURED_FOLDER/log" 2>&1
        differs=$? defect=$(excluded "$CONFIGURATION" "$case")
        if [ ! -e "$CONFIGURED_FOLDER/changed/$case" ]; then
            unchanged=$((unchanged + 1))
        elif [ -n "$defect" ] && [ $differs -ne 0 ]; then
            echo "known to differ, $case as $CONFIGURATION: ${defect#DEFECT }"
            known=$((known + 1))
        elif [ -n "$defect" ]; then
            echo "FAILED: $case as $CONFIGURATION no longer differs; take it out of configurations.txt"
            bad=$((bad + 1))
        elif [ $differs -eq 0 ]; then
            good=$((good + 1))
        else
            echo "FAILED: $case as $CONFIGURATION"
            grep -v ' passed, ' "$CONFIGURED_FOLDER/log"
            bad=$((bad + 1))
        fi
        rm -rf "$CONFIGURED_FOLDER/converted"
    done
    passed=$((passed + good)) failed=$((failed + bad))
    echo "$CONFIGURATION: $good cases as expected, $bad not, $known known to differ, $unchanged in which nothing changes, $((SECONDS - begin)) s"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
