#!/usr/bin/env bash
# Fits and jobs shared by several MPI processes. usage: tests/mpi/run.sh PREVAIL [PLUGIN.so]
#
# Results are identical for any number of ranks; one rank prints and writes; ranks that differ, fail or die end the run
# with a message that names them. Skipped (exit code 77) without the plug-in or mpirun.
set -u
here=$(cd "$(dirname "$0")" && pwd) prevail=$(readlink -f "$1") plugin=$(readlink -f "${2:-none}")
. "$here/../cli/worked.sh"
passed=0 failed=0
if ! command -v mpirun >/dev/null || [ ! -e "$plugin" ]; then
    echo "skipped: no mpirun, or prevail was built without MPI (libopenmpi-dev, openmpi-bin)"
    exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export PREVAIL_PLUGINS
PREVAIL_PLUGINS=$(dirname "$plugin")
export OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpi() { timeout 120 mpirun --oversubscribe "$@"; }

check() { # what, then a command that must succeed
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAILED: $what"
        tail -n 20 err 2>/dev/null
    fi
}
# The command fails with this code and message.
says() { # code, text, arguments of mpirun
    local code=$1 text=$2 got
    shift 2
    mpi "$@" >out 2>err
    got=$?
    [ "$got" -eq "$code" ] && grep -qF -e "$text" err && [ "$(grep -E '^prevail(-lab)?: ' err | grep -vc ': corrected: ')" -eq 1 ] && return
    echo "exit code $got"
    return 1
}

awk 'BEGIN { srand(4); print "a,b,g,w,y"; for (i = 0; i < 30000; i++) { a = rand() * 4 - 2; b = rand() * 2
    g = substr("uvw", 1 + int(3 * rand()), 1); p = 1 / (1 + exp(-a + b - (g == "u")))
    y = rand() < p ? 1 : 0; printf "%.4f,%.4f,%s,%d,%d\n", a, b, g, 1 + int(2 * rand()), y } }' >data.csv
head -n 20000 data.csv >other.csv
fit="fit data.csv --outcome y --prevalence 0.05 --quiet"

same() { # ranks, then options of a fit: the model and what is printed, but for the time it took and the number of ranks
    local ranks=$1
    shift
    "$prevail" $fit "$@" --json -o alone.model >alone.json
    local code=$?
    mpi -n "$ranks" "$prevail" $fit "$@" --json --threads $((ranks % 2 + 1)) -o shared.model >shared.json 2>err
    [ $? -eq $code ] && cmp alone.model shared.model && grep -q "\"ranks\": $ranks," shared.json &&
        diff <(grep -v -e '"seconds"' -e '"ranks"' -e '"saved"' alone.json) <(grep -v -e '"seconds"' -e '"ranks"' -e '"saved"' shared.json)
}
same_images() { # ranks
    local fit="fit $here/../arrays/discs.npz --prevalence 0.1 --quiet --model convnet:views=9,size=8,low=4,channels=8,features=8 --epochs 2"
    same "$1"
}
for ranks in 1 2 3 4; do
    check "ig, $ranks ranks" same $ranks --weights w
done
check "plug-in marginal" same 3 --exclude w --marginal plugin --prevalence-n 50
check "iw" same 2 --exclude w --loss iw --infer ml
check "plain, robust errors" same 2 --exclude w --loss plain --infer robust
check "laplace" same 3 --exclude w --infer laplace --draws 100
check "chains" same 3 --exclude w --infer hmc --chains 2 --warmup 20 --draws 100
check "variational inference" same 2 --exclude w --infer vi --components 2 --steps 20
check "prior auto" same 2 --exclude w --prior auto
check "a mixture" same 2 --exclude w --model auto --candidates prevalence,iw
check "a mixture with a score" same 3 --exclude w --model auto --candidates prevalence --terms 'score(a)'
"$prevail" version | grep -q "XGBoost [0-9]" && check "boosted trees" same 3 --exclude w --model trees:2,10
check "a network" same 2 --exclude w --model mlp:3 --prior normal:1 --max-iter 5 --seed 3
for ranks in 1 2 3 4; do
    check "minibatches, $ranks ranks" same $ranks --exclude w --batch 2000 --epochs 2 --marginal auxiliary:linear
done
check "minibatches of iw" same 2 --exclude w --batch 500 --epochs 1 --loss iw
check "minibatches of a network" same 3 --exclude w --model mlp:5,3 --prior normal:1 --batch 1000 --epochs 2 --validation 0.1
check "variational inference from minibatches" same 2 --exclude w --batch 500 --epochs 1 --infer vi --prevalence-n 50 --marginal auxiliary:constant --steps 20
check "images" same_images 3

# Rows of a packed table, which each rank makes from the mapped columns and stores if they fit: those of the CSV file.
"$prevail" pack data.csv -o data.pvt >/dev/null
packed() { # ranks, options
    local ranks=$1
    shift
    "$prevail" fit data.pvt --outcome y --prevalence 0.05 --quiet -o alone.model "$@" >/dev/null &&
        mpi -n "$ranks" "$prevail" fit data.pvt --outcome y --prevalence 0.05 --quiet -o shared.model "$@" >/dev/null 2>err && cmp alone.model shared.model
}
check "a packed table" packed 3
check "a packed table in little memory" packed 2 --memory 1M
head -n 60 data.csv >few.csv
few() { "$prevail" ${fit/data/few} -o alone.model >/dev/null && mpi -n 4 "$prevail" ${fit/data/few} -o shared.model >/dev/null 2>err && cmp alone.model shared.model; }
check "ranks without rows" few

# Jobs shared by ranks: output and files are identical.
shared() { # ranks, then a command that writes results with -o; `lab` before it: one of prevail-lab
    local ranks=$1 program=$prevail
    shift
    [ "$1" != lab ] || { program=$prevail-lab && shift; }
    rm -rf results alone
    "$program" "$@" --threads 1 -o results >alone.txt 2>err && mv results alone &&
        mpi -n "$ranks" "$program" "$@" --threads $((ranks % 2 + 1)) -o results >shared.txt 2>err && diff -r alone results && cmp alone.txt shared.txt
}
head -n 2000 data.csv >small.csv
check "folds" shared 3 cv small.csv --outcome y --prevalence 0.05 --folds 4 --repeats 2 --bootstrap 10
check "an unknown prevalence" shared 2 cv small.csv --outcome y --prevalence 0.05 --population unknown --bootstrap 0
check "folds say how many" test "$(mpi -n 2 "$prevail" cv small.csv --outcome y --prevalence 0.05 --folds 2 --bootstrap 0 --json --quiet 2>/dev/null | grep -c '"ranks": 2')" -eq 1
"$prevail" ${fit/data/small} -o judged.model >/dev/null
judged() { # ranks, options of eval: what is printed, but for the number of ranks
    local ranks=$1
    shift
    "$prevail" eval judged.model data.csv "$@" --json >alone.json 2>err &&
        mpi -n "$ranks" "$prevail" eval judged.model data.csv "$@" --json --threads $((ranks % 2 + 1)) >shared.json 2>err &&
        grep -q "\"ranks\": $ranks$" shared.json && diff <(tr -d , <alone.json) <(grep -v '"ranks"' shared.json | tr -d ,)
}
check "replicates" judged 3 --bootstrap 50
check "replicates, an unknown prevalence" judged 2 --population unknown --bootstrap 9
"$prevail" ${fit/data/small} --exclude w -o another.model >/dev/null
check "an unknown option" says 2 "unknown option --targt" -n 3 "$prevail" fit data.csv --targt y --prevalence 0.05
check "another model's columns" says 2 'the work of rank 1 differs from that of rank 0: the way they are read=' -n 1 "$prevail" eval judged.model data.csv : -n 1 "$prevail" eval another.model data.csv
"$prevail" ${fit/data/small} --infer ml -o another.model >/dev/null
check "another model" says 2 'the work of rank 1 differs from that of rank 0: the evaluation=30000 rows' -n 1 "$prevail" eval judged.model data.csv : -n 1 "$prevail" eval another.model data.csv
check "a sweep" shared 2 sweep small.csv --outcome y --prevalence 0.05,0.01
check "a study" shared 3 lab coverage --replicates 4 --quiet

# A study that stores its fits in files: in the end all exist, whichever rank made them, and some are reused.
cells() {
    local quick="nodules --quick --networks convnet --batches balanced --prevalences 0.1 --quiet"
    rm -rf results alone
    "$prevail-lab" $quick --threads 1 -o alone >alone.txt 2>err && mpi -n 2 "$prevail-lab" $quick --threads 1 -o results >shared.txt 2>err &&
        diff -r -x cells alone results && diff <(ls alone/cells) <(ls results/cells) && rm results/cells/*fold2* &&
        mpi -n 3 "$prevail-lab" $quick --threads 1 -o results >shared.txt 2>err && diff -r -x cells alone results && cmp alone.txt shared.txt
}
check "a study with files of its own" cells

mpi -n 2 "$prevail-lab" coverage --replicates 2 --json --quiet >out 2>err
check "a study says how many" grep -q '"ranks": 2' out

# Interrupted on two ranks by a signal to one of them, and continued on three.
continued() {
    local long="coverage --replicates 400 --threads 1 --quiet"
    rm -rf pid.* state results
    mpi -n 2 bash -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$0" "$@"' "$prevail-lab" $long --checkpoint state -o results >out 2>err &
    local run=$! try
    for try in $(seq 100); do [ -s pid.1 ] && [ -e state ] && break; sleep 0.1; done
    worked "$(cat pid.1)"
    kill -INT "$(cat pid.1)"
    wait $run
    [ $? -ne 0 ] && grep -q 'stopped on request: .* of 400 replicates are done' err && [ -s state ] &&
        mpi -n 3 "$prevail-lab" $long --checkpoint state --resume -o results >shared.txt 2>err && [ ! -e state ] &&
        "$prevail-lab" $long -o alone >alone.txt 2>err && cmp alone.txt shared.txt && diff -r -x report.html alone results
}
rm -rf alone
check "interrupted and continued" continued

# Replicates are computed between two exchanges: a signal must be noticed there too.
replicates() {
    rm -f pid.*
    "$prevail" fit small.csv --outcome y --prevalence 0.05 -o judged.model --quiet >/dev/null 2>&1
    mpi -n 2 bash -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$0" "$@"' "$prevail" eval judged.model small.csv --bootstrap 1000000 \
        --threads 1 --quiet >out 2>err &
    local run=$! try
    for try in $(seq 100); do [ -s pid.0 ] && [ -s pid.1 ] && break; sleep 0.1; done
    worked "$(cat pid.0)"
    worked "$(cat pid.0)" # the ranks meet and read first
    kill -INT "$(cat pid.0)" "$(cat pid.1)"
    wait $run
    [ $? -ne 0 ] && grep -q 'interrupted while intervals were computed' err
}
check "interrupted among replicates" replicates

mpi -n 2 "$prevail" $fit -o text.model >out 2>err
check "one prints" test "$(grep -c '^outcome .* of data.csv' out)" -eq 1
check "each for itself" test "$(mpi -n 2 "$prevail" $fit --ranks none 2>/dev/null | grep -c '^outcome .* of data.csv')" -eq 2

check "another file" says 2 "the work of rank 1 differs from that of rank 0: the data=$(stat -c %s other.csv) bytes" -n 1 "$prevail" $fit : -n 1 "$prevail" ${fit/data/other}
sed '9s/[0-9]$/5/' data.csv >alike.csv # of the same size
check "another file of the same size" says 2 'the work of rank 1 differs from that of rank 0: the data=30000 rows' -n 1 "$prevail" $fit : -n 1 "$prevail" ${fit/data/alike}
"$prevail" pack small.csv -o small.pvt >/dev/null
check "another packed table" says 2 'the work of rank 1 differs from that of rank 0: the data=1999 rows' -n 1 "$prevail" $fit : -n 1 "$prevail" ${fit/data.csv/small.pvt}
check "other columns" says 2 'the work of rank 1 differs from that of rank 0: --exclude=w' -n 1 "$prevail" $fit : -n 1 "$prevail" $fit --exclude w
check "another option" says 2 'the work of rank 2 differs from that of rank 0: --seed=9' -n 2 "$prevail" $fit : -n 1 "$prevail" $fit --seed 9
check "other folds" says 2 'the work of rank 1 differs from that of rank 0: --seed=9' -n 1 "$prevail" ${fit/fit/cv} : -n 1 "$prevail" ${fit/fit/cv} --seed 9
check "another study" says 2 'the work of rank 1 differs from that of rank 0: --replicates=3' -n 1 "$prevail-lab" bias --replicates 2 : -n 1 "$prevail-lab" bias --replicates 3
echo text >other.state
check "a checkpoint that is none" says 2 'other.state: exists, and is not a checkpoint' -n 2 "$prevail" ${fit/fit/cv} --checkpoint other.state
check "a file that only one rank lacks" says 2 'rank 1: none.csv: cannot be read' -n 1 "$prevail" $fit : -n 1 "$prevail" ${fit/data/none}
check "a bad file" says 2 "data.csv: --outcome: there is no column 'z'" -n 2 "$prevail" fit data.csv --outcome z --prevalence 0.1
check "a folder that cannot be written" says 2 'none/m: ' -n 2 "$prevail" $fit -o none/m
mkdir empty
PREVAIL_PLUGINS=$scratch/empty check "no plug-in" says 2 'libprevail-mpi.so was not found next to prevail' -n 1 "$prevail" $fit --ranks mpi
check "a launcher of another MPI" env OMPI_COMM_WORLD_SIZE= PMI_SIZE=3 bash -c '
    "$0" "$@" >out 2>err; [ $? -eq 2 ] && grep -q "3 processes were started, but .* sees one" err' "$prevail" $fit

# Training killed on two ranks continues from its checkpoint on three, with the bytes of an uninterrupted run.
trained_on() {
    local train="$fit --exclude w --model mlp:8 --prior normal:1 --batch 500 --epochs 60 --threads 1"
    rm -rf pid.* state
    "$prevail" $train -o alone.model >out 2>err || return 1
    mpi -n 2 bash -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$0" "$@"' "$prevail" $train --checkpoint state --checkpoint-every 0.01 \
        -o shared.model >out 2>err &
    local run=$! try
    for try in $(seq 200); do [ -s pid.1 ] && [ -s state ] && break; sleep 0.02; done
    kill -9 "$(cat pid.1)"
    wait $run
    [ $? -ne 0 ] && [ -s state ] && mpi -n 3 "$prevail" $train --checkpoint state --resume -o shared.model >out 2>err && cmp alone.model shared.model
}
check "training that is killed and goes on" trained_on

# A rank is killed at work: the launcher names it, no process waits for it, and nothing is written.
killed() {
    rm -f pid.* killed.model*
    mpi -n 3 bash -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$0" "$@"' "$prevail" $fit --model mlp:20 --prior normal:1 --max-iter 100000 \
        --tolerance 1e-12 -o killed.model >out 2>err &
    local run=$! try
    for try in $(seq 100); do [ -s pid.2 ] && break; sleep 0.1; done
    worked "$(cat pid.2)"
    kill -9 "$(cat pid.2)"
    wait $run
    [ $? -ne 0 ] && grep -q 'rank 2' err && [ -z "$(ls | grep killed.model)" ]
}
check "a rank that is killed" killed

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
