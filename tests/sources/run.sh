#!/bin/bash
# External data sources: Parquet and SQL by DuckDB, SQLite, PostgreSQL. usage: tests/sources/run.sh PREVAIL FOLDER
# DuckDB's library is installed by npm into FOLDER. A part whose engine is not available reports SKIPPED; if none is,
# the whole test is skipped (exit code 77).
set -u
here=$(cd "$(dirname "$0")" && pwd)
prevail=$1 folder=$2
work=$(mktemp -d)
trap 'stop_server; rm -rf "$work"' EXIT
failed=0 passed=0 ran=0
stop_server() { :; }
. "$here/engines.sh"
skip() { echo "SKIPPED: $*"; }
ok() { passed=$((passed + 1)); }
bad() { echo "FAILED: $*"; failed=$((failed + 1)); }
# same NAME A B: the files are identical
same() { cmp -s "$2" "$3" && ok || { bad "$1: $2 and $3 differ"; diff "$2" "$3" | head -5; }; }
# refused NAME PART COMMAND...: exit code 2, and one line that contains PART
refused() {
    local name=$1 part=$2; shift 2
    local said code
    said=$(timeout 60 "$@" 2>&1 >/dev/null); code=$?
    [ $code = 2 ] && [ "$(wc -l <<<"$said")" = 1 ] && grep -qF -- "$part" <<<"$said" && ok || bad "$name: exit $code, $said"
}
p() { timeout 60 "$prevail" "$@" 2>"$work/said" || { bad "prevail $*: $(cat "$work/said")"; return 1; }; }
# stops NAME COMMAND...: one signal ends the command
stops() {
    local name=$1 code; shift
    (timeout -s INT -k 8 1 "$@" >/dev/null 2>&1); code=$?
    [ $code = 124 ] && ok || bad "$name: exit $code after one signal"
}
# a fit, without its origin
fit() { p fit "$1" --outcome y --prevalence 0.1 --infer laplace --missing indicator -o "$2" "${@:3}" --json | grep -vE '"(seconds|saved|data|hash|source)"'; }

cd "$work" || exit 1
p simulate gaussian --cases 200 --controls 200 --prevalence 0.1 --dimensions 3 -o plain.csv || exit 1
awk -F, 'NR == 1 {print $0 ",town,code,note"; next} {print $0 "," (NR % 7 ? (NR % 2 ? "north" : "south, east") : "") "," NR % 3 "," (NR % 5 ? (NR % 4 ? "a\"b" : "c") : "")}' plain.csv |
    awk 'NR > 1 {sub(/a"b/, "\"a\"\"b\"")} {sub(/south, east/, "\"south, east\""); print}' >all.csv
fit all.csv csv.model --categorical code >csv.json
p predict csv.model all.csv --interval 0.9 >csv.risks

# A pipe is read only once, from the start.
fit <(cat plain.csv) pipe.model >pipe.json; fit plain.csv file.model >file.json
same "a pipe is as its file" pipe.json file.json

# The same cases for every source: 64-bit sets and ids, texts of digits, labels that are fractional numbers.
p simulate gaussian --cases 120 --controls 120 --prevalence 0.1 --dimensions 2 -o two.csv
awk -F, 'BEGIN {print "x1,x2,label,pair,id,zip"}
         NR > 1 && $3 == 1 {c[++cases] = $1 "," $2} NR > 1 && $3 == 0 {k[++controls] = $1 "," $2}
         END {for (i = 1; i <= cases; i++) {tail = "90071992547409" 92000 + i; zip = sprintf("%05d", i % 7)
              print c[i] ",1.0," tail ",-90071992547" 40990000 + i "," zip; print k[i] ",0.0," tail ",90071992547" 40990000 + i "," zip}}' two.csv >ids.csv
[ "$(cut -d, -f4 ids.csv | sort -u | wc -l)" = 121 ] || bad "the pairs are not of their own"
# alike NAME SOURCE: fits and predictions agree with those of the CSV file
alike() {
    p fit "$2" --outcome label --prevalence 0.1 --id id --categorical zip --exclude pair -o alike.model --json | grep -vE '"(seconds|saved|data|hash|source)"' >alike.json
    p predict alike.model "$2" --id id >alike.risks
    p fit "$2" --outcome label --matched pair --exclude id,zip --infer ml --json | grep -vE '"(seconds|saved|data|hash|source)"' >alike.sets
    p predict alike.model "$2" --id zip >alike.zips
    if [ ! -e ids.risks ]; then for what in json risks sets zips; do mv alike.$what ids.$what; done; fi
    for what in json risks sets zips; do [ ! -e alike.$what ] || same "$1, $what" ids.$what alike.$what; done
}
alike "a CSV file" ids.csv
grep -q '9007199254740991001\|9007199254740990001' ids.risks && grep -q '^00001' ids.zips && ok || bad "identifiers of the CSV file"
p pack ids.csv -o ids.pvt >packed.out; alike "a packed file" ids.pvt
gzip -k ids.csv; alike "a packed file of a compressed one" ids.csv.gz
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    /usr/bin/python3 -c "
import csv, numpy as np
rows = list(csv.DictReader(open('ids.csv')))
kinds = dict(x1=float, x2=float, label=str, pair=np.int64, id=np.int64, zip=str)
np.savez('ids.npz', **{name: np.array([kind(row[name]) for row in rows]) for name, kind in kinds.items()})"
    alike "arrays" ids.npz; p pack ids.npz -o arrays.pvt >packed.out; alike "packed arrays" arrays.pvt
else
    skip "arrays: no python3-numpy"
fi

mkfifo silent
stops "a pipe that no one writes to" "$prevail" fit silent --outcome y --prevalence 0.1
if [ -x /usr/bin/python3 ]; then
    /usr/bin/python3 -c "
import socket, time
s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); open('port', 'w').write(str(s.getsockname()[1])); time.sleep(60)" & silent=$!
    for i in $(seq 1 50); do [ -s port ] && break; sleep 0.1; done
    stops "a silent server" "$prevail" fit "postgresql://u@127.0.0.1:$(cat port)/d#t" --outcome y --prevalence 0.1
    kill $silent
fi

# Predictions are written to a file in pieces of 131072 rows, to standard output in one.
p simulate gaussian --cases 90000 --controls 90000 --prevalence 0.1 --dimensions 2 -o many.csv
sed -i '2s/^[^,]*/NA/; 150000s/^[^,]*/NA/' many.csv
p fit plain.csv --outcome y --prevalence 0.1 --exclude x3 -o two.model >two.out
p predict two.model many.csv --missing drop >whole.csv; p predict two.model many.csv --missing drop -o pieces.csv
grep -q "2 rows with missing cells left out" said && ok || bad "rows left out: $(cat said)"
same "predictions in pieces" whole.csv pieces.csv
p adjust pieces.csv --from 0.1 --to 0.01 >whole.csv; p adjust pieces.csv --from 0.1 --to 0.01 -o moved.csv
same "probabilities in pieces" whole.csv moved.csv
head -n 131073 many.csv | sed 2d >last.csv; printf '1,2,0\n,2,0\n,3,1\n' >>last.csv # all of the last piece is dropped
p predict two.model last.csv --missing drop -o last.out && [ "$(wc -l <last.out)" = 131073 ] && ok || bad "a last piece without a row: $(wc -l <last.out)"
awk -F, 'NR == 1 {print; next} NR > 131073 {$2 = ""} 1' OFS=, last.out >lost.csv; sed -n 2p last.out | awk -F, -v OFS=, '{$2 = ""; print}' >>lost.csv
p adjust lost.csv --from 0.1 --to 0.01 --missing drop -o last.moved && ok
timeout 60 "$prevail" predict two.model many.csv -o /dev/stdout 2>/dev/null | grep -q . && bad "a part of the predictions was written to a pipe" || ok
refused "a missing cell in a later piece" ":149999:1: 'x1' is missing" "$prevail" predict two.model <(sed 2d many.csv) -o none.csv
[ -e none.csv ] && bad "a part of the predictions was written" || ok

# ---- DuckDB
install_duckdb() { PREVAIL_DUCKDB=$(find_duckdb "$folder") || { skip "DuckDB: $PREVAIL_DUCKDB"; return 1; }; export PREVAIL_DUCKDB; }
refused "no library" "the library named by PREVAIL_DUCKDB cannot be loaded" env PREVAIL_DUCKDB="$work/none.so" "$prevail" fit x.parquet --outcome y --prevalence 0.1
refused "no library to write with" "cannot be written: the library named by PREVAIL_DUCKDB cannot be loaded" env PREVAIL_DUCKDB="$work/none.so" "$prevail" predict two.model plain.csv -o x.parquet
if install_duckdb; then
    # a first batch and no second
    stops "rows that never come" "$prevail" fit 'SELECT i % 7 AS x, i % 2 AS y FROM range(1000000000000) t(i) WHERE i < 5000 OR i < 0' --outcome y --prevalence 0.1
    ran=1
    types="{'x1':'DOUBLE','x2':'DOUBLE','x3':'DOUBLE','y':'INTEGER','town':'VARCHAR','code':'TINYINT','note':'VARCHAR'}"
    query="SELECT * FROM read_csv('all.csv', columns = $types)"
    fit "$query" query.model --categorical code >query.json
    same "a query is as its file" csv.json query.json
    big="{'x1':'DOUBLE','x2':'DOUBLE','label':'VARCHAR','pair':'BIGINT','id':'BIGINT','zip':'VARCHAR'}"
    alike "a query" "SELECT * FROM read_csv('ids.csv', columns = $big)"
    alike "a query of wide numbers" "SELECT x1, x2, CAST(label AS DECIMAL(3,1)) AS label, CAST(pair AS HUGEINT) AS pair, CAST(id AS DECIMAL(25,0)) AS id, zip FROM read_csv('ids.csv', columns = $big)"
    p pack "SELECT * FROM read_csv('ids.csv', columns = $big)" -o query.pvt >packed.out; alike "a packed query" query.pvt
    # where prevail-duckdb installs it; a program with another home folder does not find it
    duckdb=$(HOME=$work/home XDG_DATA_HOME="" "$here/../../scripts/prevail-duckdb" "$PREVAIL_DUCKDB") && [ "$duckdb" = "$work/home/.local/share/prevail/libduckdb.so" ] && ok || bad "prevail-duckdb"
    env -u PREVAIL_DUCKDB -u XDG_DATA_HOME HOME="$work/home" "$prevail" simulate gaussian --rows 20 --prevalence 0.3 -o home.parquet --quiet && ok || bad "what prevail-duckdb installed is not found"
    env -u PREVAIL_DUCKDB HOME=/nowhere XDG_DATA_HOME="$work/home/.local/share" "$prevail" version | grep -q "DuckDB [0-9]" && ok || bad "XDG_DATA_HOME is not looked at"
    refused "no library anywhere" "prevail-duckdb does" env -u PREVAIL_DUCKDB -u XDG_DATA_HOME HOME="$work/nowhere" "$prevail" fit home.parquet --outcome y --prevalence 0.1
    "$here/../../scripts/prevail-duckdb" --bogus 2>/dev/null; [ $? = 2 ] && ok || bad "an unknown option of prevail-duckdb"
    # Parquet output and input
    p simulate gaussian --cases 200 --controls 200 --prevalence 0.1 --dimensions 3 -o plain.parquet
    fit plain.csv a.model >a.json; fit plain.parquet b.model >b.json
    same "a Parquet file is as its CSV file" a.json b.json
    cp plain.parquet renamed; fit renamed c.model >c.json
    same "by its first bytes" a.json c.json
    mkdir parts; (head -n 1 plain.csv; sed -n 2,200p plain.csv) >parts/1.csv; (head -n 1 plain.csv; sed -n '201,$p' plain.csv) >parts/2.csv
    fit 'parts/*.csv' d.model >d.json
    same "many files are as one" a.json d.json
    mkdir ids; sed -n 1,100p ids.csv >ids/1.csv; sed -n '1p; 101,$p' ids.csv >ids/2.csv
    alike "many files, digits and spelling" 'ids/*.csv'
    p predict b.model plain.csv --interval 0.9 -o risks.csv; p predict b.model plain.parquet --interval 0.9 -o risks.parquet
    p predict b.model plain.parquet --interval 0.9 >standard.csv
    same "predictions of a Parquet file" risks.csv standard.csv
    p adjust risks.csv --from 0.1 --to 0.3 >adjusted.csv; p adjust risks.parquet --from 0.1 --to 0.3 >adjusted.parquet.csv
    same "predictions in a Parquet file" adjusted.csv adjusted.parquet.csv
    p predict query.model "$query" --interval 0.9 >query.risks
    same "texts, quotes and missing cells" csv.risks query.risks
    p eval query.model "$query" --outcome y --json | grep -vE 'seconds|"(model|data)"' >e1; p eval csv.model all.csv --outcome y --json | grep -vE 'seconds|"(model|data)"' >e2
    same "judged alike" e1 e2
    # more than one piece, output and input
    p predict two.model "SELECT * FROM read_csv('many.csv', nullstr = 'NA')" --missing drop -o pieces.parquet
    p predict two.model many.csv --missing drop >whole.csv; p adjust whole.csv --from 0.1 --to 0.1 >a1; p adjust pieces.parquet --from 0.1 --to 0.1 >a2
    same "predictions in pieces, in a Parquet file" a1 a2
    p adjust pieces.parquet --from 0.1 --to 0.01 -o moved.parquet; p adjust moved.parquet --from 0.1 --to 0.1 >a1; p adjust moved.csv --from 0.1 --to 0.1 >a2
    same "probabilities in pieces, in a Parquet file" a1 a2
    refused "a missing cell in a later piece of a query" "is missing here" "$prevail" predict two.model "SELECT * FROM read_csv('many.csv', nullstr = 'NA')" -o none.parquet
    ls | grep -q 'none.parquet\|partial' && bad "a part of the predictions was written" || ok
    printf 'p__no,p__yes,who\n0.5,0.5,J\xf6rg\n' >latin.csv
    refused "texts that are not UTF-8" "is not UTF-8" "$prevail" adjust latin.csv --from 0.5 --to 0.1 -o latin.parquet
    printf 'p__no,p__yes,Age,age\n0.5,0.5,1,2\n' >letters.csv
    refused "names that differ in case" "'Age' and 'age' differ" "$prevail" adjust letters.csv --from 0.5 --to 0.1 -o letters.parquet
    p predict b.model plain.csv --id y -o judged.parquet; p predict b.model plain.csv --id y >judged.csv
    p eval --probs judged.csv --outcome y --json | grep -vE 'seconds|"(probs|data)"' >e1; p eval --probs 'SELECT * FROM "judged.parquet"' --outcome y --json | grep -vE 'seconds|"(probs|data)"' >e2
    same "probabilities of a query" e1 e2
    # types
    p fit "SELECT x1, x2 > 0 AS up, y, CAST(x3 AS DECIMAL(9,4)) AS money, DATE '2020-01-01' + CAST(code AS INTEGER) AS day,
           CAST(town AS ENUM ('north', 'south, east')) AS town FROM ($query)" --outcome y --prevalence 0.1 --missing drop >types.out &&
        grep -q up=True types.out && grep -q 'town=south' types.out && grep -q ' money ' types.out && grep -q ' day ' types.out && ok || bad "types"
    refused "a nested column" "column 'l' has Arrow type" "$prevail" fit "SELECT y, [x1] AS l FROM ($query)" --outcome y --prevalence 0.1
    refused "a time of day" "column 't' has Arrow type" "$prevail" fit "SELECT y, TIME '10:00:00' AS t FROM ($query)" --outcome y --prevalence 0.1
    p predict csv.model "$query -- as it is" >comment.risks; p predict csv.model all.csv >plain.risks
    same "a query that ends with a comment" comment.risks plain.risks
    p predict b.model plain.csv -o kept.parquet; chmod 600 kept.parquet; p predict b.model plain.csv -o kept.parquet
    [ "$(stat -c %a kept.parquet)" = 600 ] && ok || bad "the mode of a Parquet file is not kept"
    ls | grep -q partial && bad "something is left behind: $(ls | grep partial)" || ok
    # Dask's workers as ranks, each of which reads the query
    python=/usr/bin/python3 library=$(dirname "$prevail")/libprevail.so
    if [ -e "$library" ] && "$python" -c 'import distributed, sklearn, pytest' 2>/dev/null; then
        PYTHONPATH=$here/../../python PREVAIL_LIBRARY=$library PREVAIL_TEST_SOURCE="SELECT x1 AS a, x2, x3, y AS sick FROM 'plain.parquet'" \
            timeout 120 "$python" -m pytest -q -p no:cacheprovider -c "$here/../../python/pyproject.toml" "$here/../../python/tests/test_dask.py" -k test_dask \
            >dask.log 2>&1 && ok || { bad "Dask over Parquet"; tail -20 dask.log; }
    else
        skip "Dask over Parquet: no libprevail.so, or no python3-distributed, python3-sklearn or python3-pytest"
    fi
    # errors
    refused "an output that a query reads" "plain.csv" "$prevail" predict b.model "SELECT * FROM 'plain.csv'" -o plain.csv
    cp plain.parquet kept.parquet; ln plain.parquet hard.parquet; ln -s plain.parquet soft.parquet
    for from in '"plain.parquet"' "'hard.parquet'" "read_parquet(['plain' || '.parquet'])" "read_parquet('pl*n.parquet')"; do
        refused "an output that is read as $from" "is both an output" "$prevail" pack "SELECT * FROM $from" -o plain.parquet
        refused "a link to it" "is both an output" "$prevail" predict b.model "SELECT * FROM $from" -o soft.parquet
    done
    refused "a report that is read" "is both an output" "$prevail" fit "FROM 'plain.csv'" --outcome y --prevalence 0.1 -o plain.csv
    same "what is read is not replaced" kept.parquet plain.parquet
    p predict b.model "SELECT * FROM 'plain.parquet'" -o again.parquet; p predict b.model "SELECT * FROM 'plain.parquet'" -o again.parquet && ok
    refused "an output among many" "parts/1.csv" "$prevail" predict b.model 'parts/*.csv' -o parts/1.csv
    head -c 2000 plain.parquet >cut.parquet
    refused "cut short" "cut.parquet: " "$prevail" fit cut.parquet --outcome y --prevalence 0.1
    refused "no such file" "No files found" "$prevail" fit none.parquet --outcome y --prevalence 0.1
    refused "an error in a query" "syntax error" "$prevail" fit "SELECT * FORM x" --outcome y --prevalence 0.1
    refused "an error in its middle" "Could not convert" "$prevail" fit "SELECT CAST(town AS INTEGER) AS n, y FROM ($query)" --outcome y --prevalence 0.1
    refused "no rows" "has no rows" "$prevail" fit "SELECT * FROM ($query) WHERE x1 > 1e9" --outcome y --prevalence 0.1
    refused "options of CSV files" "separator is for CSV files" "$prevail" fit plain.parquet --outcome y --prevalence 0.1 --separator ';'
    refused "no column of the name" "'z'" "$prevail" fit plain.parquet --outcome z --prevalence 0.1
    ln -s /dev/null device.parquet
    refused "a device" "not a regular file" "$prevail" predict b.model plain.csv -o device.parquet
fi

# ---- SQLite
if command -v sqlite3 >/dev/null; then
    ran=1
    sqlite3 s.db 'CREATE TABLE t (x1 REAL, x2 REAL, x3 REAL, y INTEGER, town TEXT, code INTEGER, note TEXT)' \
        '.mode csv' '.import --skip 1 all.csv t' "UPDATE t SET town = NULL WHERE town = ''" "UPDATE t SET note = NULL WHERE note = ''" \
        'CREATE TABLE mixed (x1, y); ' 'INSERT INTO mixed SELECT x1, y FROM t' "INSERT INTO mixed VALUES ('high', 1)" \
        'CREATE TABLE late AS SELECT a.x1, b.y FROM t a, t b LIMIT 5000' "INSERT INTO late VALUES ('high', 1)" \
        'CREATE TABLE empty AS SELECT * FROM t' "UPDATE empty SET x1 = '' WHERE rowid % 9 = 0" \
        'CREATE TABLE unused AS SELECT *, 3 AS b FROM t' "UPDATE unused SET b = x'00ff'" \
        'CREATE TABLE words AS SELECT y, CAST(code AS TEXT) AS code FROM t' \
        "CREATE TABLE bytes AS SELECT y, x'00ff' AS b FROM t" </dev/null >/dev/null
    fit 'sqlite:s.db?t' s.model --categorical code >s.json
    same "SQLite is as its file" csv.json s.json
    fit 'sqlite:s.db?SELECT * FROM t;' s.model --categorical code >s.json
    same "a query of SQLite" csv.json s.json
    sqlite3 s.db 'CREATE TABLE ids (x1 REAL, x2 REAL, label TEXT, pair INTEGER, id INTEGER, zip TEXT)' '.mode csv' '.import --skip 1 ids.csv ids' </dev/null
    alike "SQLite" 'sqlite:s.db?ids'
    p pack 'sqlite:s.db?ids' -o sqlite.pvt >packed.out; alike "packed SQLite" sqlite.pvt
    awk -F, -v OFS=, 'NR > 1 && (NR - 1) % 9 == 0 {$1 = ""} {print}' plain.csv >gaps.csv
    fit gaps.csv gaps.model >gaps.json; fit 'sqlite:s.db?SELECT x1, x2, x3, y FROM empty' s.model >s.json
    same "empty texts are missing" gaps.json s.json
    p predict csv.model 'sqlite:s.db?unused' --interval 0.9 >unused.risks
    same "columns that nobody asks for" csv.risks unused.risks
    p fit 'sqlite:s.db?words' --outcome y --prevalence 0.1 >words.out; cat words.out said | grep -q "holds numbers as texts" && ok || bad "texts that are numbers are not told of"
    cp s.db kept.db
    refused "an output that is the database" "s.db" "$prevail" predict csv.model 'sqlite:s.db?t' -o s.db
    same "the database is unharmed" s.db kept.db
    refused "no such table" "no such table: none" "$prevail" fit 'sqlite:s.db?none' --outcome y --prevalence 0.1
    refused "no table" "does not name a table" "$prevail" fit sqlite:s.db --outcome y --prevalence 0.1
    refused "no database" "not a database" "$prevail" fit 'sqlite:all.csv?t' --outcome y --prevalence 0.1
    refused "no file" "unable to open" "$prevail" fit 'sqlite:none.db?t' --outcome y --prevalence 0.1
    [ ! -e none.db ] && ok || bad "a database was made"
    sqlite3 log.db 'PRAGMA journal_mode = WAL' 'CREATE TABLE t AS SELECT 1 AS x, 0 AS y UNION ALL SELECT 2, 1' >/dev/null </dev/null
    cp log.db kept.db; p fit 'sqlite:log.db?t' --outcome y --prevalence 0.1 >log.out
    same "a database with a log is unharmed" log.db kept.db
    [ ! -e log.db-wal ] && [ ! -e log.db-shm ] && ok || bad "files of a log are left behind"
    sqlite3 v.db 'CREATE VIEW v0 AS SELECT 1 AS x, 0 AS y' \
        'CREATE VIEW e AS WITH RECURSIVE c(x, y) AS (SELECT 1, 0 UNION ALL SELECT x + 1, 1 - y FROM c) SELECT x, y FROM c WHERE x < 0' </dev/null
    for i in $(seq 1 15); do sqlite3 v.db "CREATE VIEW v$i AS SELECT a.x, a.y FROM v$((i - 1)) a, v$((i - 1)) b" </dev/null; done
    stops "a view without end" "$prevail" fit 'sqlite:v.db?e' --outcome y --prevalence 0.1
    stops "a view that is never planned" "$prevail" fit 'sqlite:v.db?v15' --outcome y --prevalence 0.1
    refused "a text late among numbers" "'high' is not a number" "$prevail" fit 'sqlite:s.db?late' --outcome y --prevalence 0.1
    refused "bytes" "column 'b' is neither" "$prevail" fit 'sqlite:s.db?bytes' --outcome y --prevalence 0.1
    refused "nothing is written" "readonly" "$prevail" fit "sqlite:s.db?WITH a AS (SELECT 1) DELETE FROM t RETURNING *" --outcome y --prevalence 0.1
else
    skip "SQLite: there is no sqlite3 to make a database with"
fi

# ---- PostgreSQL
if url=$(start_server "$work"); then
    ran=1
    stop_server() { end_server "$work"; }
    psql -q "$url" -c 'CREATE TABLE t (x1 float8, x2 float8, x3 numeric, y int, town text, code smallint, note varchar)' \
        -c "\\copy t FROM 'all.csv' CSV HEADER" -c 'CREATE TABLE days AS SELECT y, current_date AS day FROM t' >server.log 2>&1
    fit "$url#t" t.model --categorical code >t.json
    same "PostgreSQL is as its file" csv.json t.json
    fit "$url#SELECT * FROM public.t" t.model --categorical code >t.json
    same "a query of PostgreSQL" csv.json t.json
    psql -q "$url" -c 'CREATE TABLE ids (x1 float8, x2 float8, label numeric(3,1), pair bigint, id numeric, zip text)' \
        -c "\\copy ids FROM 'ids.csv' CSV HEADER" >server.log 2>&1
    alike "PostgreSQL" "$url#ids"
    p pack "$url#ids" -o postgres.pvt >packed.out; alike "packed PostgreSQL" postgres.pvt
    refused "a password" "must not contain a password" "$prevail" fit "postgresql://postgres:secret@/postgres?host=$work/server#t" --outcome y --prevalence 0.1
    refused "no such table" 'relation "none" does not exist' "$prevail" fit "$url#none" --outcome y --prevalence 0.1
    refused "dates" "column 'day' is neither" "$prevail" fit "$url#days" --outcome y --prevalence 0.1
    refused "nothing is written" "read-only" "$prevail" fit "$url#WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a" --outcome y --prevalence 0.1
    refused "two statements" "multiple commands" "$prevail" fit "$url#SELECT x1, y FROM t; DELETE FROM t" --outcome y --prevalence 0.1
    (timeout -s INT 2 "$prevail" fit "$url#SELECT x1, y FROM t, pg_sleep(20)" --outcome y --prevalence 0.1 >/dev/null 2>said
     [ $? = 124 ] && grep -q -i stopped said) && ok || bad "a query is not stopped: $(cat said)"
    refused "no server" "No such file" "$prevail" fit "postgresql://u@/db?host=$work/none#t" --outcome y --prevalence 0.1
else
    skip "PostgreSQL: $url"
fi

echo "$passed passed, $failed failed"
[ $failed = 0 ] || exit 1
[ $ran = 1 ] || exit 77
