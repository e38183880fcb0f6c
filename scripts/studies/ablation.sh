#!/usr/bin/env bash
# What do Muon, local fits and the full objective give, each and together? Trains all eight combinations with equally many draws and tells errors with their
# deviation over seeds.
#
#   scripts/studies/ablation.sh PDE [DRAWS] [SEED...]
#   scripts/studies/ablation.sh poisson 320000 1 2 3
#   scripts/studies/ablation.sh ns 320000 1
#
# Needs a GPU. Leaves one summary a run, PDE-DRAWS-VARIANT-SEED.json, and the table PDE-DRAWS.md in $OUT (default: results/ablation). What has a
# summary there is not trained again: the study can be spread over several stretches of GPU time. VARIANTS (all eight), MODEL (small), DATA (/tmp/scope-data)
# for records and runs, COUNT (50000) and TEST (1000) records, RESOLUTION (128), DEVICE (cuda), SCOPE (the program).
set -euo pipefail
pde=$1; draws=${2:-320000}; shift $(( $# < 2 ? $# : 2 ))
seeds=("$@"); [ $# -gt 0 ] || seeds=(1 2 3)
cd "$(dirname "$0")/../.."
scope=${SCOPE:-target/release/scope}; device=${DEVICE:-cuda}; model=${MODEL:-small}; size=${RESOLUTION:-128}
data=${DATA:-/tmp/scope-data}; out=${OUT:-results/ablation}; recipes=crates/scope-train/src/recipe
read -ra variants <<<"${VARIANTS:-adamw-fo muon-fo adamw-fits-fo muon-fits-fo adamw-full muon-full adamw-fits-full muon-fits-full}"
mkdir -p "$data" "$out"

[ -d "$data/$pde-train" ] ||
    "$scope" data generate "$pde" --count "${COUNT:-50000}" --seed 20260913 --resolution "$size" --out "$data/$pde-train"
[ -d "$data/$pde-test" ] ||
    "$scope" data generate "$pde" --count "${TEST:-1000}" --seed 20261013 --split test --resolution "$size" --out "$data/$pde-test"

# The recipe of a variant: the objective's own and, if it has any, the fits of muon-fits. Rates are those of muon-fits for all; the field loss alone warms up
# over 4% of the draws, as there, and the full objective as in the paper.
recipe() { # VARIANT
    local file=$data/$1.toml objective=fo
    [[ $1 = *-full ]] && objective=full
    cp "$recipes/$objective.toml" "$file"
    [[ $1 != *-fits-* ]] || sed -n '/^\[fits\]/,/^$/p' "$recipes/muon-fits.toml" >>"$file"
    echo "$file"
}
train() { # VARIANT SEED FOLDER
    local settings=(--set peak_rate=6e-4 --set floor_rate=6e-6 --set batch=32)
    [[ $1 != muon-* ]] || settings+=(--set optimizer=muon --set muon.rate=1e-3)
    [[ $1 = *-full ]] || settings+=(--set warmup_epochs=20)
    "$scope" train --pde "$pde" --data "$data/$pde-train" --recipe "$(recipe "$1")" --model "$model" --draws "$draws" --seed "$2" \
        --log-every 200 "${settings[@]}" --device "$device" --out "$3" --resume
}

# Seeds in the outer loop: if time runs out, each variant has as many.
for seed in "${seeds[@]}"; do
    for variant in "${variants[@]}"; do
        name=$pde-$draws-$variant-$seed
        [ ! -f "$out/$name.json" ] || continue
        train "$variant" "$seed" "$data/$name"
        "$scope" evaluate --run "$data/$name" --data "$data/$pde-test" --device "$device"
        cp "$data/$name/eval/uniform500.json" "$out/.$name" && mv "$out/.$name" "$out/$name.json"
    done
done

scripts/studies/seeds-table.py "$out" "$pde" "$draws" "${variants[@]}" >"$out/.part"
mv "$out/.part" "$out/$pde-$draws.md"
cat "$out/$pde-$draws.md"
