#!/usr/bin/env bash
# Models trained on a GPU predict like those trained on the processor. usage: tests/cuda/device.sh PREVAIL
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../checks.sh"
prevail=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
metric() { # file, name
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["metrics"][sys.argv[2]]["value"])' "$1" "$2"
}
near() { # a, b, tolerance
    awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { exit !(a - b <= t && b - a <= t) }'
}

"$prevail" simulate ct-nodules --cases 200 --controls 200 --prevalence 0.1 --seed 3 -o learn.npz
"$prevail" simulate ct-nodules --cases 300 --controls 300 --prevalence 0.1 --seed 4 -o test.npz
model=convnet:views=3,size=24,low=16,channels=16-32-32,features=32
fit=(fit learn.npz --model $model --prevalence 0.1 --batch 32 --epochs 15 --rate 0.001 --quiet)

# The spread between seeds on the processor, and each precision within it.
for seed in 1 2 3; do
    "$prevail" "${fit[@]}" --seed $seed --device cpu -o cpu$seed.model >/dev/null
    "$prevail" eval cpu$seed.model test.npz --device cpu --json >cpu$seed.json
    nll[seed]=$(metric cpu$seed.json holdout_nll)
done
mean=$(awk -v a="${nll[1]}" -v b="${nll[2]}" -v c="${nll[3]}" 'BEGIN { print (a + b + c) / 3 }')
spread=$(awk -v a="${nll[1]}" -v b="${nll[2]}" -v c="${nll[3]}" -v m="$mean" \
    'BEGIN { s = sqrt(((a-m)^2 + (b-m)^2 + (c-m)^2) / 2); print 3 * s + 0.01 }')
echo "held-out NLL on the processor, three seeds: ${nll[1]} ${nll[2]} ${nll[3]}"
for precision in fp32 tf32 bf16; do
    "$prevail" "${fit[@]}" --seed 1 --device cuda --precision $precision -o $precision.model >/dev/null
    "$prevail" "${fit[@]}" --seed 1 --device cuda --precision $precision -o again.model >/dev/null
    check "$precision: the same bytes twice" cmp $precision.model again.model
    "$prevail" eval $precision.model test.npz --device cuda --precision $precision --json >$precision.json
    "$prevail" eval $precision.model test.npz --device cpu --json >there.json
    echo "$precision: $(metric $precision.json holdout_nll), by the processor $(metric there.json holdout_nll)"
    check "$precision learns as the processor does" near "$(metric $precision.json holdout_nll)" "$mean" "$spread"
    check "$precision predicts as the processor does" near "$(metric $precision.json holdout_nll)" "$(metric there.json holdout_nll)" 0.005
done

# Interrupted and continued on the device: identical bytes; the linear network has a state of its own.
for marginal in profile auxiliary:linear; do
    kept=("${fit[@]}" --marginal $marginal --seed 1 --device cuda --checkpoint-every 0.01)
    "$prevail" "${kept[@]}" --checkpoint $marginal.ckpt -o whole.model >/dev/null
    "$prevail" "${kept[@]}" --checkpoint $marginal.part -o part.model >/dev/null 2>&1 &
    sleep 1.2
    kill -INT $! 2>/dev/null
    wait $!
    [ -e $marginal.part ] && "$prevail" "${kept[@]}" --checkpoint $marginal.part --resume -o part.model >/dev/null
    check "$marginal: interrupted and continued" cmp <(grep -av command whole.model) <(grep -av command part.model)
done

# Several simultaneous fits, each on its own stream, give the same bytes as one after the other. At full width they
# compete for memory, so that tiles of the largest layers' kernels finish late and out of order.
at_once() { # what, model, precision
    for threads in 1 8; do
        "$prevail" cv learn.npz --model "$2" --prevalence 0.1 --batch 32 --epochs 3 --folds 8 --seed 1 --device cuda --precision "$3" \
            --threads $threads --json --quiet >cv$threads.json
    done
    check "$1" diff <(grep -v -e seconds -e '"command"' cv1.json) <(grep -v -e seconds -e '"command"' cv8.json)
}
at_once "folds at once" $model tf32
at_once "folds at once, full width, bf16" convnet bf16
at_once "folds at once, full width, Inception" inception bf16
checks_end
