#!/usr/bin/env bash
# The attacks of README.md that are worth repeating. usage: tests/attack/run.sh [--update] PREVAIL [NAME ...]
# Cases are as those of tests/cli/run.sh, which runs them.
here=$(cd "$(dirname "$0")" && pwd)
exec "$here"/../cli/run.sh --cases "$here/cases" "$@"
