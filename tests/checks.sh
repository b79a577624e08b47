# shellcheck shell=bash
# Sourced by test scripts: named checks that are counted, and what they come to. The output of a check is seen if it fails.
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

# The script's last command: no check that failed, and some that passed.
checks_end() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
