#!/usr/bin/env bash
# New error bands for the cards of shipped models, and how many pixels of other records lie within them, before and
# after.
#
#   scripts/models/recalibrate.sh [MODEL...]          all five by default, the cylinder first
#
# Variables: SCOPE (default: target/release/scope), MODELS (where weights and cards are; default: models), DEVICE
# (default: auto), OUT (default: results/bands), WORK (records, made where they are missing; default: a temporary
# folder), MINUTES of scripts/session.sh, RECORDS (to calibrate on: 600), CHECK (to check on: 300), AT_ONCE (models
# beside each other: 2), CONDITIONS (of the first check), ALL (records of a last check under all conditions: 200; 0
# leaves it out).
#
# Leaves in $OUT, each as soon as it is known: cards.tar, the cards with their new bands, for `tar -xf cards.tar -C
# models`; coverage.md, the means and the standard deviations over records of the shares within the bands of the old
# card and of the new one; all-conditions.md; and recalibrate.log. It needs the program, bash, awk and a Python without
# any packages. On one H200 a model takes about a minute, and half as long again with all conditions checked.
set -euo pipefail
cd "$(dirname "$0")/../.."
WORK=${WORK:-$(mktemp -d)} DEVICE=${DEVICE:-auto}
source scripts/session.sh
models=${MODELS:-models}; out=${OUT:-results/bands}; data=$work
records=${RECORDS:-600}; check=${CHECK:-300}; at_once=${AT_ONCE:-2}; all=${ALL:-200}
conditions=${CONDITIONS:-forward/uniform/500 inverse/uniform/500 joint/uniform/500 forward/uniform/2048 inverse/uniform/2048 joint/uniform/2048}
[ $# -gt 0 ] || set -- cylinder poisson helmholtz darcy ns
mkdir -p "$out" "$data/cards"
log=$out/recalibrate.log
say() { echo "$(date +%T) $*" | tee -a "$log"; }

# The seed of calibration is stated in the cards, and no other figure was measured on records of the other.
generate() { # MODEL
    [ -d "$data/$1-bands" ] || timed "$scope" data generate "$1" --count "$records" --split test --seed 20261113 --out "$data/$1-bands" >>"$log" 2>&1
    [ -d "$data/$1-check" ] || timed "$scope" data generate "$1" --count "$check" --split test --seed 20261014 --out "$data/$1-check" >>"$log" 2>&1
    touch "$data/$1-made"
}

calibrate() { # MODEL
    local new=$data/new/$1
    mkdir -p "$new"
    cp "$models/$1.safetensors" "$new/"
    # Without the bands that it has, a card takes those of any number of records.
    awk '/^\[/ { old = /^\[bands/ } !old' "$models/$1.toml" >"$new/$1.toml"
    until [ -e "$data/$1-made" ]; do
        kill -0 "$generator" 2>/dev/null || [ -e "$data/$1-made" ] || { say "$1: no records"; return 1; }
        sleep 0.2
    done
    timed "$scope" model calibrate --model "$new/$1.safetensors" --data "$data/$1-bands" --device "$device" >>"$log" 2>&1
    pack "$1"
    say "$1: calibrated"
}

# Adds a card to those that are done.
pack() { # MODEL
    (
        flock 9
        cp "$data/new/$1/$1.toml" "$data/cards/"
        tar -cf "$out/cards.tar.part" -C "$data/cards" .
        mv "$out/cards.tar.part" "$out/cards.tar"
    ) 9>"$data/packing"
}

within() { # MODEL CARD LIMIT INTO PROTOCOL...
    local model=$1 card=$2 limit=$3 into=$4; shift 4
    timed "$scope" evaluate --run "$card/$model.safetensors" --data "$data/$model-check" --limit "$limit" --no-interpolation --device "$device" \
        --out "$into" "$@" >>"$log" 2>&1
}

compare() { # MODEL
    local named=()
    for condition in $conditions; do named+=(--condition "$condition"); done
    within "$1" "$models" "$check" "$data/before/$1" "${named[@]}"
    within "$1" "$data/new/$1" "$check" "$data/after/$1" "${named[@]}"
    python3 - "$1" "$data" >"$data/$1-coverage.md" <<'PYTHON'
import json, pathlib, sys

model, data = sys.argv[1], pathlib.Path(sys.argv[2])
of = lambda when: json.loads(next((data / when / model).glob("*.json")).read_text())["conditions"]
before, after = of("before"), of("after")
show = lambda summary: f"{summary['mean']:.1f} ({summary['sd'] or 0:.1f})" if summary and summary["mean"] is not None else "-"
for condition in after:
    cells = []
    for measure in ("a/within68", "u/within68", "a/within95", "u/within95"):
        cells.append(" -> ".join(show(card[condition].get(measure)) for card in (before, after)))
    print(f"| {model} | {condition} | " + " | ".join(cells) + " |")
PYTHON
    { echo "| model | condition | a, 68% | u, 68% | a, 95% | u, 95% |"; echo "|---|---|---|---|---|---|"; cat "$data"/*-coverage.md; } >"$out/coverage.md"
    say "$1: compared on $check records"
}

everywhere() { # MODEL
    within "$1" "$data/new/$1" "$all" "$data/everywhere/$1" --protocol all
    "$scope" report "$data/everywhere/$1" --tables bands >"$data/$1-all.md" 2>>"$log"
    cat "$data"/*-all.md >"$out/all-conditions.md"
    say "$1: all conditions on $all records"
}

each() { # FUNCTION MODEL...
    local function=$1; shift
    for model in "$@"; do
        while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n; done
        "$function" "$model" &
    done
    wait
}
recalibrate() { calibrate "$1" && compare "$1"; }

rm -f "$data"/*-made
say "begin: $*"
for model in "$@"; do generate "$model"; done &
generator=$!
for model in "$@"; do
    # The generator is a job too, and not one of those that compute.
    while [ "$(jobs -rp | grep -vc "^$generator\$")" -ge "$at_once" ]; do sleep 0.2; done
    recalibrate "$model" &
done
wait
[ "$all" -eq 0 ] || each everywhere "$@"
for model in "$@"; do
    [ -f "$data/cards/$model.toml" ] || { say "$model: failed"; exit 1; }
done
say "done"
