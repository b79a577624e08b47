#!/usr/bin/env bash
# What differs on Windows: names of files, line ends, replacing files, locks, Ctrl-C. usage: tests/platforms/windows.sh PREVAIL WINDOWS HELPER
#
# PREVAIL is this system's command; WINDOWS runs the one of Windows under Wine; HELPER runs windows_helper.c there.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../checks.sh"
native=$(realpath "${1:?usage: tests/platforms/windows.sh PREVAIL WINDOWS HELPER}") windows=$(realpath "${2:?}") helper=$(realpath "${3:?}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

same() { # arguments of the command; both systems give the same output and the same exit code
    "$native" "$@" >native.out 2>native.err
    local code=$? other
    "$windows" "$@" >windows.out 2>windows.err
    other=$?
    [ $code -eq $other ] || { echo "exit code $code and $other"; cat windows.err; return 1; }
    sed -E 's/("seconds": )[-+0-9.e]+/\1#/' -i native.out windows.out
    diff native.out windows.out && diff native.err windows.err
}
fails() { # exit code, text in standard error, arguments
    local code=$1 text=$2
    shift 2
    "$windows" "$@" >out 2>err
    local got=$?
    [ $got -eq "$code" ] && grep -qF -e "$text" err && return
    echo "exit code $got; $(cat err)"
    return 1
}
fit() { "$windows" fit "$1" --outcome malignant --prevalence 0.02 --quiet -o "$2" "${@:3}" >/dev/null; }
same_predictions() { cmp <("$windows" predict a.model study.csv -o -) <("$windows" predict "$1" "$2" -o -); }
quiet() { "$@" >/dev/null 2>&1; }

"$native" simulate nodules --cases 200 --controls 200 --prevalence 0.02 --seed 3 -o study.csv
learn=(--outcome malignant --prevalence 0.02)

# ---- the verbs, against this system's command
fit study.csv a.model
check "fit" same fit study.csv "${learn[@]}"
check "summary" same summary a.model
check "eval" same eval a.model study.csv --population 0.05
check "cv" same cv study.csv "${learn[@]}" --folds 3
check "adjust" same adjust --from 0.5 --to 0.02 builtin:esoph
check "rate" same rate --positive 30 --negative 970
check "fit's help" same fit --help
check "a wrong option" same fit study.csv --outcom malignant
check "a file that is missing" same fit none.csv "${learn[@]}"
check "a column that is missing" same fit study.csv --outcome none --prevalence 0.02
exports() {
    local language
    for language in onnx c sql; do
        "$windows" export a.model -o "windows.$language" --quiet && "$native" export a.model -o "native.$language" --quiet &&
            cmp "windows.$language" "native.$language" || return
    done
}
check "export to ONNX, C and SQL" exports

# ---- names
mkdir -p 'mein Ordner/Übung'
named='mein Ordner/Übung/données ακτίνα 漢字 😀.csv'
cp study.csv "$named"
check "names with spaces and letters beyond ASCII" fit "$named" 'mein Ordner/modèle é.model'
check "predictions of them" "$windows" predict 'mein Ordner/modèle é.model' "$named" -o 'mein Ordner/prédit 漢.csv' --quiet
check "they are the same as without" cmp 'mein Ordner/prédit 漢.csv' <("$windows" predict a.model study.csv -o -)
check "such a name in a message" fails 2 'ακτίνα 漢.csv: cannot be read: No such file' predict a.model 'ακτίνα 漢.csv'
check "backslashes" fit 'mein Ordner\Übung\données ακτίνα 漢字 😀.csv' 'mein Ordner\b.model'
check "where they lead" test -s 'mein Ordner/b.model'
check "a drive" fit "Z:${PWD//\//\\}\\study.csv" "Z:$PWD/c.model"
check "the same model" same_predictions c.model study.csv
check "an output that is an input, by another name" fails 2 'is both an output (--output) and an input' predict a.model study.csv -o "Z:${PWD//\//\\}\\study.csv"
check "a folder that is missing" fails 2 'cannot be written: No such file or directory' predict a.model study.csv -o 'none\p.csv'
long=$(printf 'folder with a long name %080d/%.0s' 1 2 3 4)
mkdir -p "$long"
check "a path of more than 260 characters" fit study.csv "$long/a.model"
check "what is there" same_predictions "$long/a.model" study.csv
sed '1s/age/Größe µm/' study.csv >named.csv
check "a column's name beyond ASCII" same fit named.csv "${learn[@]}"

# ---- line ends
sed 's/$/\r/' study.csv >crlf.csv
fit crlf.csv crlf.model
check "a CSV with CRLF" same_predictions crlf.model crlf.csv
check "outputs have no CR" test "$("$windows" predict a.model study.csv -o - | tr -dc '\r' | wc -c)" -eq 0
check "standard input" cmp <("$windows" predict a.model - -o - <study.csv) <("$windows" predict a.model study.csv -o -)

# ---- replacing files
echo old >p.csv
check "an output over an existing file" "$windows" predict a.model study.csv -o p.csv --quiet
check "it is new" cmp p.csv <("$windows" predict a.model study.csv -o -)
echo old >held.csv
mkfifo stop
"$helper" held.csv ready <stop >/dev/null 2>&1 &
holder=$!
exec 3>stop
for _ in $(seq 200); do [ -e ready ] && break; sleep 0.05; done
check "another program holds a file" test -e ready
check "an output over that file" fails 1 'held.csv: could not be written completely' predict a.model study.csv -o held.csv
check "it is as it was" grep -qx old held.csv
exec 3>&-
wait "$holder"
check "afterwards" "$windows" predict a.model study.csv -o held.csv --quiet
check "nothing else is left" test -z "$(find . -name '*.partial.*' -o -name '*.replaced')"

# ---- packed tables, memory, checkpoints
check "pack" "$windows" pack study.csv -o study.pvt --quiet
"$native" pack study.csv -o native.pvt --quiet >/dev/null
check "the same bytes" cmp study.pvt native.pvt
"$native" simulate gaussian --cases 5000 --controls 5000 --dimensions 5 --prevalence 0.05 -o large.csv
check "a fit" quiet "$windows" fit large.csv --outcome y --prevalence 0.1 -o d.model
check "with rows on disk" quiet "$windows" fit large.csv --outcome y --prevalence 0.1 -o e.model --memory 1M --checkpoint ck
check "the same model" cmp d.model e.model

# ---- Ctrl-C, which Wine makes of this system's signal
endless=("${learn[@]}" --batch 20 --epochs 100000000 --checkpoint a.checkpoint --checkpoint-every 0.01)
until_saved() { for _ in $(seq 600); do [ -s a.checkpoint ] && return; sleep 0.05; done; return 1; }
"$windows" fit study.csv "${endless[@]}" -o none.model >/dev/null 2>stopped &
busy=$!
check "a checkpoint is saved" until_saved
check "it is locked" fails 2 'is in use by another process' fit study.csv "${endless[@]}" --resume
kill -INT $busy
wait $busy
check "Ctrl-C: exit code 1" test $? -eq 1
check "the message" grep -qF 'to continue, repeat the command with --resume: the state is in a.checkpoint' stopped
check "no model" test ! -e none.model
check "the checkpoint" test -s a.checkpoint
check "it is not replaced" fails 2 'exists: add --resume' fit study.csv "${endless[@]}"
rm a.checkpoint
finite=("${learn[@]}" --batch 20 --epochs 2000)
continued() {
    "$windows" fit study.csv "${finite[@]}" --checkpoint a.checkpoint --checkpoint-every 0.01 -o continued.model >/dev/null 2>&1 &
    busy=$!
    until_saved && kill -INT $busy
    wait $busy
    [ $? -eq 1 ] && "$windows" fit study.csv "${finite[@]}" --checkpoint a.checkpoint --resume -o continued.model 2>&1 >/dev/null |
        grep -F 'continuing from a.checkpoint'
}
check "stopped and continued" continued
"$windows" fit study.csv "${finite[@]}" -o at_once.model >/dev/null 2>&1
check "the same model as at once" cmp <("$windows" predict continued.model study.csv -o -) <("$windows" predict at_once.model study.csv -o -)
checks_end
