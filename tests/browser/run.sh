#!/bin/bash
# Reports, and the site, in a real browser. usage: tests/browser/run.sh [--update] PREVAIL FOLDER
# Installs the packages of package-lock.json into FOLDER. Exits with 77, which ctest shows as skipped, if node, npm,
# Chromium or the packages are not available. --update retakes the screenshot in docs/guides/demo.md.
set -u
here=$(cd "$(dirname "$0")" && pwd)
update=
[ "${1:-}" = --update ] && { update=1; shift; }
prevail=$1 folder=$2
skip() { echo "SKIPPED: $*"; exit 77; }

command -v node >/dev/null || skip "node is missing; 'make setup-check' installs it"
command -v npm >/dev/null || skip "npm is missing; 'make setup-check' installs it"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "Chromium is missing; 'make setup-check' installs it"
mkdir -p "$folder" || exit 1
if ! cmp -s "$here/package-lock.json" "$folder/installed.json"; then
    cp "$here/package.json" "$here/package-lock.json" "$folder" || exit 1
    (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1) || skip "npm could not install: $(tail -n 1 "$folder/npm.log")"
    cp "$here/package-lock.json" "$folder/installed.json"
fi
PREVAIL_UPDATE=$update NODE_PATH=$folder/node_modules node "$here/report.test.js" "$prevail" "$folder" "$browser" "$here/../.."
code=$?
site=$(dirname "$prevail")/site # which tests/docs/run.sh made, where mkdocs is
if [ -f "$site/index.html" ]; then
    NODE_PATH=$folder/node_modules node "$here/site.test.js" "$site" "$browser" || code=1
else
    echo "SKIPPED [browser] the site was not made"
fi
if [ -n "$update" ] && command -v pngquant >/dev/null; then
    pngquant --force --output "$here/../../docs/report.png" 64 -- "$here/../../docs/report.png"
fi
exit "$code"
