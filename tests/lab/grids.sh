#!/usr/bin/env bash
# The studies of nodules and ratings: tables are complete, interrupted runs give the same bytes, and columns are
# recomputed.
#
#   tests/lab/grids.sh PREVAIL ARRAYS
#
# prevail-lab must be in PREVAIL's folder.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../checks.sh"
prevail=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
arrays=$(cd "$2" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

fits() { find "$1/cells" -name '*.json' | wc -l; }
same() { diff -r -x cells -x '*.partial*' "$1" "$2"; }
# Cells contain the duration of the fit; all else must agree.
same_cells() {
    [ "$(fits "$1")" -eq 27 ] && [ "$(fits "$2")" -eq 27 ] || return 1
    for file in "$1"/cells/*.json; do
        cmp <(sed 's/"seconds":[^,]*,//' "$file") <(sed 's/"seconds":[^,]*,//' "$2/cells/${file##*/}") || return 1
    done
}
refuses() { # text, then a command that must end with 2 and say so
    local text=$1
    shift
    "$@" >/dev/null 2>refused.log
    [ $? -eq 2 ] && grep -q -- "$text" refused.log || { cat refused.log; return 1; }
}

# ---- quick form: every cell of the grid, every number of the tables ---------------------------------------------------
quick() { "$prevail-lab" nodules --quick -o quick --json --quiet >quick.json; }
complete_tables() { # file, rows: each with two words and twelve numbers (a dash where undefined, or how many folds have it)
    awk -F'|' -v wanted="$2" '/^\| (0|obs)/ && NF == 16 { rows++
        for (i = 4; i <= 15; i++) if ($i !~ /^ (-|-?[0-9.]+( \([0-9]+\))?(, [12] of 3)?) $/) { print; bad = 1 } }
        END { if (rows != wanted) print rows, "rows"; exit bad || rows != wanted }' "$1"
}
check "study nodules --quick" quick
check "a fit for each cell, plain once for all prevalences" [ "$(fits quick)" -eq $((2 * 2 * 3 * (4 * 2 + 1))) ]
check "complete tables" complete_tables quick/tables.md $((4 * 2 * 7 + 3 * 2 * 2))
check "the JSON that is printed is results.json" cmp quick.json quick/results.json
check "the table says that it is quick" grep -q 'not to be compared with the paper' quick/tables.md
check "and so does the report" grep -q 'not to be compared with the paper' quick/report.html
for name in convnet_balanced convnet_uniform inception_balanced inception_uniform; do
    check "ROC curves of $name" grep -q '</svg>' "quick/roc_$name.svg"
    check "the marginal of $name" grep -q '</svg>' "quick/marginal_$name.svg"
done

seeded() {
    "$prevail-lab" nodules --quick --networks convnet --batches balanced --methods plain --prevalences 0.5 --fold 1 --seed "$1" \
        --json --quiet | grep -e '"seed"' -e '"data_hash"'
}
another_seed() { seeded 1 >one && seeded 2 >two && ! cmp -s one two && [ "$(wc -l <two)" -eq 2 ] && grep -q '"seed": 2,' two; }
check "another seed: other nodules" another_seed

# ---- interrupted and continued ---------------------------------------------------------------------------------------
part="nodules --data $arrays/discs.npz --quick --networks convnet --batches balanced --epochs 30 --quiet"
whole() { "$prevail-lab" $part -o whole >whole.txt; }
interrupt() { # a signal as soon as so many cells are there
    "$prevail-lab" $part --threads 1 -o stopped >stopped.txt 2>stopped.log &
    local process=$!
    while kill -0 $process 2>/dev/null; do
        [ -d stopped/cells ] && [ "$(fits stopped)" -ge "$2" ] && break
        sleep 0.02
    done
    kill "-$1" $process 2>/dev/null
    wait $process
}
check "a part of the grid" whole
interrupt TERM 2 # as Ctrl-C, which bash keeps from processes in the background
check "an interruption is no success" [ $? -eq 1 ]
check "and says how to go on" grep -q 'of 27 fits are done; the same command goes on from there' stopped.log
check "it leaves no tables" [ ! -e stopped/tables.md ]
before=$(fits stopped)
check "it leaves fits" [ "$before" -ge 2 ]
check "and not all" [ "$before" -lt 26 ]
interrupt KILL $((before + 1)) 2>/dev/null
check "a kill keeps what was done" [ "$(fits stopped)" -gt "$before" ]
resumed() { "$prevail-lab" $part -o stopped >stopped.txt; }
check "the same command goes on" resumed
check "to the same bytes" same whole stopped
check "and prints the same" cmp whole.txt stopped.txt
check "cells agree" same_cells whole stopped
rm whole/cells/convnet_balanced_iw_0.01_fold2.json
check "a fit that is missing is done again" whole
check "to the same bytes as well" same whole stopped
check "one thread or two" same_cells whole stopped
check "cells of another run are refused" refuses "epochs is '30' there and '41' here" \
    "$prevail-lab" ${part/--epochs 30/--epochs 41} -o whole
cp "$arrays/discs_test.npz" other.npz
check "and those of other data" refuses "data is '" "$prevail-lab" ${part/$arrays\/discs.npz/other.npz} -o whole
cell=whole/cells/convnet_balanced_iw_0.01_fold2.json
sed -i 's/"freeze-low":"false",//' $cell
check "a cell from before there was an option is taken" whole
check "with the same result" same whole stopped
sed -i 's/"settings":{/"settings":{"later":"1",/' $cell
check "one with a setting unknown here is not" refuses "which has a setting 'later'" "$prevail-lab" $part -o whole
truncate -s 300 whole/cells/convnet_balanced_iw_0.01_fold2.json
check "a damaged cell is refused" refuses "is damaged; remove it" "$prevail-lab" $part -o whole

# ---- the twelve columns, recomputed from the stored predictions -----------------------------------------------------
# Image i of discs.npz has label i % 2. Predictions are adapted by p(y|x) share(y) / p(y|w), normalised.
columns() { # cell, stated prevalence
    sed -e 's/.*"log_marginal":\[\([^]]*\)\].*"rows":\[\([^]]*\)\].*"loglik":\[\[\(.*\)\]\].*/\1 \2 \3/' \
        -e 's/\],\[/;/g' -e 's/\]\].*//' "$1" | awk -v pi="$2" '{
        split($1, m, ","); n = split($2, row, ","); split($3, pair, ";")
        for (i = 1; i <= n; i++) { y[i] = row[i] % 2; count[y[i]]++ }
        for (i = 1; i <= n; i++) {
            split(pair[i], l, ",")
            weight = (y[i] ? pi : 1 - pi) / (count[y[i]] / n)
            log_loss -= weight * l[1 + y[i]] / n
            loss[y[i]] -= l[1 + y[i]]; square[y[i]] += l[1 + y[i]] ^ 2
            gain += (l[1 + y[i]] - m[1 + y[i]]) / n
            a = exp(l[1] - m[1]) * count[0] / n; b = exp(l[2] - m[2]) * count[1] / n
            p[i] = b / (a + b)
            nll -= log(y[i] ? p[i] : 1 - p[i]) / n
            hit[y[i], p[i] > 0.5]++
        }
        for (c = 0; c < 2; c++) variance += (c ? pi : 1 - pi) ^ 2 * (square[c] - loss[c] ^ 2 / count[c]) / (count[c] - 1) / count[c]
        log_loss += 2 * sqrt(variance) # the paper adds two standard deviations of the estimate (8.1)
        tn = hit[0, 0]; fp = hit[0, 1]; fn = hit[1, 0]; tp = hit[1, 1]
        for (i = 1; i <= n; i++) for (j = 1; j <= n; j++) if (y[i] && !y[j])
            auc += (p[i] > p[j] ? 1 : p[i] == p[j] ? 0.5 : 0) / count[0] / count[1]
        tnr = tn / count[0]; tpr = tp / count[1]
        npv = tn + fn ? tn / (tn + fn) : ""; ppv = tp + fp ? tp / (tp + fp) : ""
        marked = npv == "" || ppv == "" ? "" : npv + ppv - 1
        root = sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        mcc = root ? (tp * tn - fp * fn) / root : ""
        split("log_loss_upper holdout_nll information_gain accuracy tnr tpr npv ppv auc informedness markedness mcc", name, " ")
        split(log_loss "|" nll "|" gain "|" (tp + tn) / n "|" tnr "|" tpr "|" npv "|" ppv "|" auc "|" tnr + tpr - 1 "|" marked "|" mcc, value, "|")
        for (c = 1; c <= 12; c++) print name[c] "," value[c]
    }' OFMT=%.15g CONVMT=%.15g CONVFMT=%.15g
}
kept() { awk -F, -v m="$1" '$1 == "convnet" && $2 == "balanced" && $3 == "0.01" && $4 == m && $5 == "adapted" { print $6 "," $9 }' \
    stopped/metrics.csv | head -n 12; }
agree() { # method: fold 1 of the table against what is worked out here
    paste -d, <(columns "stopped/cells/convnet_balanced_$1_0.01_fold1.json" 0.01) <(kept "$1") | awk -F, '
        { off = $2 - $4; off = off < 0 ? -off : off
          if ($1 != $3 || ($2 == "") != ($4 == "") || off > 1e-9) { print; bad = 1 } } END { exit bad || NR != 12 }'
}
for method in ig-constant ig-linear ig-profile iw; do
    check "the columns of $method" agree $method
done

# PPV is undefined in a fold without positive decisions: the table has the number of folds in which it is defined.
some="nodules --data $arrays/discs.npz --quick --networks convnet --batches balanced --methods iw --epochs 30 --quiet"
partial() {
    "$prevail-lab" $some --prevalences 0.48,0.44,0.43,0.42,0.41,0.4,0.39,0.2 -o some >some.txt || return 1
    awk -F, '$6 == "ppv" && $5 == "own" { n = 0; for (i = 9; i <= 11; i++) n += $i != ""; print $3, n }' some/metrics.csv >folds
    while read -r prevalence n; do
        row=$(grep "^| $prevalence | iw, not adapted |" some/tables.md | cut -d'|' -f11)
        case $n in
        3) [[ $row != *of* && $row != *-* ]] ;;
        0) [[ $row == *-* ]] ;;
        *) [[ $row == *", $n of 3"* ]] ;;
        esac || { echo "$prevalence: $n folds, and$row"; return 1; }
    done <folds
    grep -q ' [12]$' folds && grep -q '^  0[.][0-9]* .*[*]' some.txt
}
check "how many folds have a PPV" partial

# ---- compared with cv: the same folds, fits and metrics ---------------------------------------------------------------
small="convnet:views=3,size=12,low=4,channels=8-8,features=8"
for stated in rows population; do # log_loss is the population's, the others are the rows'
    "$prevail" cv "$arrays/graded.npz" --votes votes --group patient --model $small --prevalence 0.9,0.025,0.025,0.025,0.025 \
        --loss iw --epochs 2 --rate 0.003 --stated-for $stated --json --quiet >cv_$stated.json 2>/dev/null
done
ratings() { "$prevail-lab" ratings --quick --data "$arrays/graded.npz" --group patient -o ratings --quiet >ratings.txt; }
folds_of() { sed -n '/"parts"/,$p' "cv_$([ "$1" = log_loss ] && echo population || echo rows).json" | sed -n "s/^ *\"$1\": \([-0-9.e]*\),*$/\1/p" | head -n 3 | paste -sd,; }
in_study() { sed -n "s/^convnet,balanced,0.9,iw,own,$1,[^,]*,[^,]*,//p" ratings/metrics.csv; }
as_cv() {
    echo "$(folds_of "$1")" "$(in_study "$1")"
    awk -v a="$(folds_of "$1")" -v b="$(in_study "$1")" 'BEGIN { n = split(a, x, ","); split(b, y, ",")
        for (i = 1; i <= n; i++) if (!(x[i] - y[i] < 1e-12 && y[i] - x[i] < 1e-12)) exit 1
        exit n != 3 }'
}
check "study ratings --quick" ratings
check "complete tables of ratings" complete_tables ratings/tables.md $((2 * (2 + 6) + 2 * 6))
check "and a fit of each cell with an ordinal output" [ "$(find ratings/cells -name 'convnet-ordinal_*.json' | wc -l)" -eq $((3 * (4 * 2 + 1))) ]
check "histograms of the ordinal output" grep -q '</svg>' ratings/histograms_convnet-ordinal_balanced.svg
says_itself() { grep -E '^ +([a-z]+) +\1$' "$1"; }
check "the text says that it is quick" grep -q 'not to be compared with the paper' ratings.txt
check "the legend explains the columns" grep -q '^  upper  log_loss_upper: log_loss plus' ratings.txt
check "and none by its own name" [ -z "$(says_itself ratings.txt)" ]
check "histograms" grep -q '</svg>' ratings/histograms_convnet_balanced.svg
for metric in log_loss information_gain one_off_accuracy; do
    check "$metric of ratings as cv has it" as_cv $metric
done

checks_end
