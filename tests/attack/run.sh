#!/usr/bin/env bash
# Runs the attacks of README.md that are kept as tests. usage: tests/attack/run.sh [--update] PREVAIL [NAME ...]
# Cases have the format of tests/cli/run.sh, which runs them.
here=$(cd "$(dirname "$0")" && pwd)
exec "$here"/../cli/run.sh --cases "$here/cases" "$@"
