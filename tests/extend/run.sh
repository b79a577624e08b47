#!/usr/bin/env bash
# Tests "How to add" in docs/architecture.md: adds a loss, a model, a metric, a population, a source and an option to a
# copy of the tree by editing the files that the guide names and no others, builds it, and uses the additions.
#
#   tests/extend/run.sh SOURCE [CMAKE_FLAG ...]
set -u
here=$(cd "$(dirname "$0")" && pwd) source=$(cd "$1" && pwd)
shift
. "$here/../checks.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CCACHE_BASEDIR=$scratch CCACHE_NOHASHDIR=1 # a folder of another name each time
mkdir "$scratch/tree"
cp -r "$source"/{CMakeLists.txt,cmake,include,src,cli,tool,exports.map,prevail.pc.in} "$scratch/tree"
cd "$scratch/tree" || exit 1

# The paragraph of the guide that begins with these words.
guide() { awk -v words="**$1**" 'index($0, words) == 1 { p = 1 } p && /^$/ { exit } p' "$source/docs/architecture.md"; }
named() { grep -qF "$(basename "$2")" <<<"$(guide "$1")" || { echo "FAILED: the guide for '$1' does not name $2"; exit 1; }; }
add() { # what, a file of this folder, where it goes: the guide names it with NAME in the place of toy
    named "$1" "$(sed -E 's/(^|\/|_)(source_)?toy\.c/\1NAME.c/' <<<"$3")"
    cp "$here/$2" "$3"
}
after() { # what, file, the line after which the text comes, the text
    named "$1" "$2"
    awk -v pattern="$3" -v text="$4" '{ print } !done && $0 ~ pattern { print text; done = 1 } END { exit !done }' "$2" >new &&
        mv new "$2" || { echo "FAILED: $2: no line '$3'"; exit 1; }
}
change() { # what, file, a command of sed that changes it
    named "$1" "$2"
    sed "$3" "$2" >new
    cmp -s new "$2" && { echo "FAILED: $2: nothing for $3"; exit 1; }
    mv new "$2"
}

add 'A loss.' loss_toy.c src/core/loss_toy.c
after 'A loss.' include/prevail/core.h 'X\\(PLAIN, plain' '    X(TOY, toy, "class weights, again") \'

add 'A model.' toy.c src/model/toy.c
after 'A model.' src/model/model.h 'X\\(linear, "linear"' '    X(toy, "toy", " toy: the same for every row.") \'

after 'A metric.' include/prevail/assess.h 'X\\(brier, ALWAYS' '    X(toy, ALWAYS, 2, "twice the mean squared error") \'
after 'A metric.' src/assess/decisions.c 'metrics->brier = ' '    metrics->toy = 2 * metrics->brier;'

after 'A population.' include/prevail/predict.h 'X\\(DESIGN, "design"' '    X(EVEN, "even", "even", "one with as many of each of two labels") \'
change 'A population.' src/predict/population.c '/case PV_POPULATION_DESIGN:/i\    case PV_POPULATION_EVEN: { static const double half[] = {0.5, 0.5}; return half; }'

add 'A source.' source_toy.c src/data/toy.c
change 'A source.' src/data/query.h 's/PV__ENGINE_NONE,/& PV__ENGINE_TOY,/; s/pv__duckdb_stream,/pv__toy_stream, &/'
change 'A source.' src/data/query.c 's/{{"sqlite:", PV__ENGINE_SQLITE/{{"toy:", PV__ENGINE_TOY, 0, '"'?'"'}, {"sqlite:", PV__ENGINE_SQLITE/; /case PV__ENGINE_SQLITE:/i\    case PV__ENGINE_TOY: return pv__toy_stream(ctx, query, options, stream);'

after 'An option of a fit.' include/prevail/plan.h 'double iw_total;' '    double toy_total; /* toy: as iw_total */'
table=$(grep -l 'pv_fit_option_table\[\]' src/*/*.c) use=$(grep -l 'wanted = .*options.iw_total' src/*/*.c)
change 'An option of a fit.' "$table" '/{"iw-total", PV_OPTION_REAL/i\    {"toy-total", PV_OPTION_REAL, AT(toy_total), "0", 0, 1e12, NULL, "N", "As iw-total."},'
sed -i 's/\([a-z>-]*options\)\.iw_total/(\1.iw_total + \1.toy_total)/' "$use" # where it acts

build() {
    cmake -S . -B "$scratch/build" -DPV_TESTS=OFF -DPV_MPI=OFF -DPV_WERROR=OFF -DCMAKE_BUILD_TYPE=Debug "$@" &&
        cmake --build "$scratch/build" -j "$(nproc)" --target prevail_command
}
check "the tree with all of them is built" build "$@"
prevail=$scratch/build/prevail
[ -x "$prevail" ] || { checks_end; exit 1; }

cd "$scratch" || exit 1
"$prevail" simulate nodules --cases 100 --controls 100 --seed 3 -o study.csv
"$prevail" simulate nodules --rows 300 --prevalence 0.2 --seed 4 -o people.csv
fit="fit study.csv --outcome malignant --prevalence 0.02 --quiet"
coefficients() { "$prevail" $fit "$@" --json | sed -n '/"coefficients"/,/^  }/p'; }
same() { [ -n "$1" ] && [ "$1" = "$2" ]; }
check "the loss learns" same "$(coefficients --loss toy)" "$(coefficients --loss iw)"
check "the option acts" same "$(coefficients --loss iw --toy-total 50)" "$(coefficients --loss iw --iw-total 50)"
check "and only where it is given" eval '! same "$(coefficients --loss iw --toy-total 50)" "$(coefficients --loss iw)"'
constant() { # the model predicts the prevalence for everyone, from its file
    "$prevail" $fit --model toy -o toy.model >/dev/null && "$prevail" predict toy.model people.csv --quiet |
        awk -F, 'NR > 1 { n++; if ($3 < 0.0199 || $3 > 0.0201) exit 1 } END { exit n != 300 }'
}
check "the model is fitted, saved and read" constant
"$prevail" $fit -o a.model >/dev/null
check "the population" cmp <("$prevail" predict a.model people.csv --population even --quiet) \
    <("$prevail" predict a.model people.csv --population known:0.5 --quiet)
twice() { # the metric, its interval included, is twice the other
    "$prevail" eval a.model people.csv --bootstrap 20 --json --quiet >eval.json
    value() { sed -n "/\"$1\": {/,/}/p" eval.json | sed -n 's/.*"\(value\|lo\|hi\)": \([-0-9.e]*\).*/\2/p' | paste -sd' '; }
    echo "$(value toy), $(value brier)"
    awk -v a="$(value toy)" -v b="$(value brier)" 'BEGIN { n = split(a, x, " "); split(b, y, " ")
        for (i = 1; i <= n; i++) if (!(x[i] - 2 * y[i] < 1e-9 && 2 * y[i] - x[i] < 1e-9)) exit 1
        exit n != 3 }'
}
check "the metric" twice
counted() { "$prevail" fit 'toy:51?rows' --outcome y --prevalence odd=0.5 --model toy --json --quiet | grep -q '"rows": 51'; }
check "the source" counted
helps() { "$prevail" fit --help all | tr -s ' \n' ' ' >help && grep -q 'toy-total' help && grep -q 'toy: class weights, again' help && grep -q 'toy: the same for every row' help; }
check "help names them" helps
checks_end
