#!/bin/bash
# Models exported to ONNX, C and SQL agree with `prevail predict` on each row. usage: tests/export/run.sh PREVAIL FOLDER
# ONNX Runtime and DuckDB are installed by npm into FOLDER. Unavailable parts report SKIPPED; C always needs a compiler.
set -u
here=$(cd "$(dirname "$0")" && pwd)
prevail=$(realpath "$1") folder=$2
work=$(mktemp -d)
trap 'end_server "$work" 2>/dev/null; rm -rf "$work"' EXIT
. "$here/../sources/engines.sh"
skip() { echo "SKIPPED: $*"; }
options=()
python=/usr/bin/python3
[ -x $python ] || { skip "there is no $python"; exit 77; }

install_onnx() {
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then echo "node or npm is missing"; return 1; fi
    mkdir -p "$folder/onnx" || return 1
    cmp -s "$here/package-lock.json" "$folder/onnx/installed.json" && return 0
    cp "$here/package.json" "$here/package-lock.json" "$folder/onnx" &&
        (cd "$folder/onnx" && npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1) ||
        { echo "npm could not install it: $(tail -n 1 "$folder/onnx/npm.log")"; return 1; }
    cp "$here/package-lock.json" "$folder/onnx/installed.json"
}
if said=$(install_onnx); then
    export NODE_PATH=$folder/onnx/node_modules
    options+=(--node)
else
    skip "ONNX Runtime: $said"
fi
$python -c 'import onnx' 2>/dev/null || skip "onnx's checker: python3-onnx is missing"
if duckdb=$(find_duckdb "$folder/duckdb"); then options+=(--duckdb "$duckdb"); else skip "DuckDB: $duckdb"; fi
if url=$(start_server "$work"); then options+=(--postgres "$url"); else skip "PostgreSQL: $url"; fi

mkdir "$work/models"
"$python" "$here/compare.py" "$prevail" "$work/models" "${options[@]}"
