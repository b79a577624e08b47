#!/bin/bash
# The engine for JavaScript: compiled, compared with the command in Node and, if it is there, in Chromium. usage: tests/js/run.sh PREVAIL FOLDER [BROWSER]
# FOLDER keeps the build. BROWSER is tests/browser's folder, whose packages are used. Exits with 77, which ctest shows as skipped, where node, clang's
# WebAssembly back end or wasi-libc is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
prevail=$1 folder=$2 packages=${3:-}
skip() { echo "SKIPPED: $*"; exit 77; }
command -v node >/dev/null || skip "node is missing ('make setup-check' installs it)"
for program in clang wasm-ld; do command -v $program >/dev/null || skip "$program is missing (scripts/setup wasm)"; done
[ -d /usr/include/wasm32-wasi ] || skip "wasi-libc is missing (scripts/setup wasm)"
mkdir -p "$folder"
clang=clang
command -v ccache >/dev/null && clang="ccache clang"
CLANG=$clang JOBS=2 "$source/scripts/js" "$folder" >"$folder/build.log" 2>&1 || { tail -n 20 "$folder/build.log"; exit 1; }
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
NODE_PATH=${packages:+$packages/node_modules} node "$here/engine.test.mjs" "$prevail" "$folder" "$browser"
