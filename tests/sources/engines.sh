# Sourced by tests that read tables with database engines: finds or starts them. Each function prints what it found or,
# with exit code 1, why there is none.

# DuckDB's library, installed by npm into FOLDER.
find_duckdb() { # folder
    local folder=$1 here library
    here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
    if ! command -v npm >/dev/null; then echo "npm is missing"; return 1; fi
    mkdir -p "$folder" || return 1
    if ! cmp -s "$here/package-lock.json" "$folder/installed.json"; then
        cp "$here/package.json" "$here/package-lock.json" "$folder" &&
            (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1) ||
            { echo "npm could not install it: $(tail -n 1 "$folder/npm.log")"; return 1; }
        cp "$here/package-lock.json" "$folder/installed.json"
    fi
    library=$(ls "$folder"/node_modules/@duckdb/*/libduckdb.so 2>/dev/null)
    if [ -z "$library" ]; then echo "its package has no library for this machine"; return 1; fi
    readlink -f "$library"
}

# A private PostgreSQL server in FOLDER/server, on a socket; prints its URL.
start_server() { # folder
    local bin work=$1
    bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
    if [ -z "$bin" ] || [ "$(id -u)" != 0 ] || ! id postgres >/dev/null 2>&1; then
        echo "there is no server here, or no right to start one"
        return 1
    fi
    chmod 755 "$work" && mkdir "$work/server" && chown postgres "$work/server" || return 1
    runuser -u postgres -- "$bin/initdb" -D "$work/server/data" -A trust --no-sync >"$work/server.log" 2>&1 &&
        runuser -u postgres -- "$bin/pg_ctl" -D "$work/server/data" -w -l "$work/server/log" \
            -o "-k $work/server -c listen_addresses='' -F" start >>"$work/server.log" 2>&1 ||
        { echo "the server did not start: $(tail -n 1 "$work/server.log")"; return 1; }
    echo "postgresql://postgres@/postgres?host=$work/server"
}
end_server() { # folder
    runuser -u postgres -- "$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)/pg_ctl" -D "$1/server/data" -m immediate stop >/dev/null 2>&1
}
