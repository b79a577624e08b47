#!/usr/bin/env bash
# The version is PV_VERSION in include/prevail/base.h; all copies that other tools need must agree with it.
# usage: tests/version.sh SOURCE PREVAIL
set -u
. "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
prevail=$(realpath "$2")
cd "$1" || exit 2
version=$(sed -n 's/^#define PV_VERSION "\(.*\)"$/\1/p' include/prevail/base.h)

has() { # file, the line that has it
    local line=${2/VERSION/$version}
    grep -qxF "$line" "$1" || { grep -n -i version "$1" | head -n 3; return 1; }
}
check "a version of three numbers" grep -qxE '[0-9]+\.[0-9]+\.[0-9]+' <<<"$version"
check "the command" test "$("$prevail" --version | head -n 1)" = "prevail $version"
check "Python's package" has python/prevail/_version.py '__version__ = "VERSION"'
check "R's package" has r/DESCRIPTION 'Version: VERSION'
check "no text of it where R's package is made" eval '! grep -nF "$version" scripts/r-package r/configure'
check "the package for JavaScript has" has js/package.json '  "version": "VERSION",'
check "CITATION.cff" has CITATION.cff 'version: VERSION'
check "the changelog's first section" test "$(sed -n 's/^## \[\([^]]*\)\].*/\1/p' CHANGELOG.md | head -n 1)" = "$version"
check "another version is seen" eval 'version=9.9.9; ! has CITATION.cff "version: VERSION" >/dev/null'
checks_end
