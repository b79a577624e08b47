# shellcheck shell=bash
# Sourced by test scripts: named checks, which are counted. The output of a check is shown if it fails.
passed=0 failed=0

check() { # what, then a command that must succeed
    local what=$1 said
    shift
    said=$(mktemp)
    if "$@" >"$said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        head -n 20 "$said"
    fi
    rm -f "$said"
}

# The last command of a script: succeeds if no check failed and at least one passed.
checks_end() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
