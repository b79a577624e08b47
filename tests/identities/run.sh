#!/usr/bin/env bash
# The metamorphic tests, with the engines and front ends available on this machine.
#   usage: tests/identities/run.sh PREVAIL LIBRARY DUCKDB_FOLDER [options of run.py]
set -u
here=$(cd "$(dirname "$0")" && pwd)
prevail=$1 library=$(readlink -f "$2") duckdb=$3
shift 3
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || { echo "skipped: $python has no NumPy (scripts/setup check)"; exit 77; }
. "$here/../sources/engines.sh"
work=$(mktemp -d)
stop_server() { :; }
trap 'stop_server; rm -rf "$work"' EXIT
if reason=$(find_duckdb "$duckdb"); then export PREVAIL_DUCKDB=$reason; else echo "SKIPPED [DuckDB] $reason"; fi
if reason=$(start_server "$work"); then
    export IDENTITIES_SERVER=$reason
    stop_server() { end_server "$work"; }
else
    echo "SKIPPED [PostgreSQL] $reason"
fi
export PYTHONPATH=$here/../../python PYTHONDONTWRITEBYTECODE=1 PREVAIL_LIBRARY=$library
"$python" "$here/run.py" "$prevail" "$@"
