#!/usr/bin/env bash
# What may differ between processors, and how much (docs/testing.md). usage: tests/machines/run.sh PREVAIL
#
# PREVAIL is the command with TEST_ISA (isa.c). Each instruction set of this processor is compared with the baseline:
# the kernels through TEST_ISA, oneDNN through ONEDNN_MAX_CPU_ISA.
set -u
if [ $# -lt 1 ] || [ ! -x "$1" ]; then
    echo "usage: tests/machines/run.sh PREVAIL" >&2
    exit 2
fi
grep -q TEST_ISA "$1" || # it knows the name
    { echo "machines: $1 does not obey TEST_ISA; build-check/tests/prevail_isa does" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
prevail=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export LC_ALL=C OMP_WAIT_POLICY=passive
passed=0 failed=0

has() { grep -qw "$1" /proc/cpuinfo; }

# The largest difference between the p__ columns of two files; "none" if they are not comparable.
apart() {
    paste -d, "$1" "$2" | awk -F, '
        NR == 1 { half = NF / 2; for (i = 1; i <= half; i++) if ($i ~ /^p__/) column[i] = 1; next }
        { for (i in column) { d = $i - $(i + half); d = d < 0 ? -d : d; if (!(d <= most)) most = d; count++ } }
        END { if (count) printf "%.3g\n", most; else print "none" }'
}

same() { # what, plain file, file, most
    local difference
    difference=$(apart "$2" "$3")
    echo "$1: $difference (at most $4)"
    if awk -v d="$difference" -v most="$4" 'BEGIN { exit !(d != "none" && d + 0 <= most + 0) }'; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

network=convnet:views=3,size=8,low=8,channels=16,features=16
{
    "$prevail" simulate nodules --cases 400 --controls 400 --seed 3 -o study.csv &&
        "$prevail" simulate nodules --rows 1000 --prevalence 0.3 --seed 4 -o people.csv &&
        "$prevail" fit study.csv --outcome malignant --prevalence 0.02 -o a.model --quiet &&
        "$prevail" fit study.csv --outcome malignant --prevalence 0.02 --infer laplace --draws 200 -o post.model --quiet &&
        "$prevail" fit study.csv --outcome malignant --prevalence 0.02 --model mlp:8 --batch 64 --epochs 5 -o mlp.model --quiet &&
        ONEDNN_MAX_CPU_ISA=SSE41 "$prevail" fit "$here/../arrays/discs.npz" --model $network --prevalence 0.1 --epochs 3 \
            --rate 0.005 -o net.model --quiet
} >/dev/null || { echo "the inputs could not be made"; exit 1; }

work() { # folder
    mkdir -p "$1"
    "$prevail" predict a.model people.csv -o "$1/linear.csv" --quiet
    "$prevail" predict mlp.model people.csv -o "$1/mlp.csv" --quiet
    "$prevail" predict post.model people.csv --population unknown --prevalence-draws 200 -o "$1/unknown.csv" --quiet
    "$prevail" fit study.csv --outcome malignant --prevalence 0.02 -o "$1/a.model" --quiet >/dev/null
    "$prevail" predict "$1/a.model" people.csv -o "$1/refit.csv" --quiet
    "$prevail" fit study.csv --outcome malignant --prevalence 0.02 --model mlp:8 --batch 64 --epochs 5 -o "$1/m.model" \
        --quiet >/dev/null
    "$prevail" predict "$1/m.model" people.csv -o "$1/remlp.csv" --quiet
}

TEST_ISA=baseline work baseline
for isa in avx2 avx512; do
    if [ $isa = avx2 ] && ! { has avx2 && has fma; } || [ $isa = avx512 ] && ! { has avx512f && has avx512dq && has avx512vl; }; then
        echo "skipped: this processor has no $isa"
        continue
    fi
    TEST_ISA=$isa work $isa
    same "kernels $isa, linear model applied" baseline/linear.csv $isa/linear.csv 1e-14
    same "kernels $isa, network applied" baseline/mlp.csv $isa/mlp.csv 1e-13
    same "kernels $isa, unknown prevalence" baseline/unknown.csv $isa/unknown.csv 1e-12
    same "kernels $isa, linear model fitted" baseline/refit.csv $isa/refit.csv 1e-9
    same "kernels $isa, network trained" baseline/remlp.csv $isa/remlp.csv 1e-9
done

ONEDNN_MAX_CPU_ISA=SSE41 "$prevail" predict net.model "$here/../arrays/discs_test.npz" -o plain.csv --quiet
for isa in AVX2:avx2 AVX512_CORE:avx512bw; do
    if ! has "${isa#*:}"; then
        echo "skipped: this processor has no ${isa%:*}"
        continue
    fi
    ONEDNN_MAX_CPU_ISA=${isa%:*} "$prevail" predict net.model "$here/../arrays/discs_test.npz" -o "$isa.csv" --quiet
    same "oneDNN ${isa%:*}, network of images applied" plain.csv "$isa.csv" 1e-6
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
