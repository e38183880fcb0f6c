#!/usr/bin/env bash
# What do Muon, local fits and the full objective give, each and together? Trains all eight combinations with equally
# many draws and tells errors with their deviation over seeds.
#
#   scripts/studies/ablation.sh PDE [DRAWS] [SEED...]
#   scripts/studies/ablation.sh poisson 320000 1 2 3
#   scripts/studies/ablation.sh ns 320000 1
#
# Needs a GPU. Leaves one summary a run, PDE-DRAWS-VARIANT-SEED.json, and the table PDE-DRAWS.md in $OUT (default:
# results/ablation). What has a summary there is not trained again: the study can be spread over several stretches of
# GPU time. VARIANTS (all eight), MODEL (small), COUNT (50000) and TEST (1000) records, RESOLUTION (128), DEVICE (cuda),
# SCOPE (the program); WORK, MINUTES and PACKED are those of scripts/session.sh.
set -euo pipefail
pde=$1; draws=${2:-320000}; shift $(( $# < 2 ? $# : 2 ))
seeds=("$@"); [ $# -gt 0 ] || seeds=(1 2 3)
cd "$(dirname "$0")/../.."
source scripts/session.sh
model=${MODEL:-small}; out=${OUT:-results/ablation}; recipes=crates/scope-train/src/recipe
read -ra variants <<<"${VARIANTS:-adamw-fo muon-fo adamw-fits-fo muon-fits-fo adamw-full muon-full adamw-fits-full muon-fits-full}"
mkdir -p "$work" "$out"
trap 'hand_out ablation "$out"' EXIT

training_records "$pde"
test_records "$pde"

# The recipe of a variant: the objective's own and, if it has any, the fits of muon-fits. Rates are those of muon-fits for all; the field loss alone warms up
# over 4% of the draws, as there, and the full objective as in the paper.
recipe() { # VARIANT
    local file=$work/$1.toml objective=fo
    [[ $1 = *-full ]] && objective=full
    cp "$recipes/$objective.toml" "$file"
    [[ $1 != *-fits-* ]] || sed -n '/^\[fits\]/,/^$/p' "$recipes/muon-fits.toml" >>"$file"
    echo "$file"
}
train() { # VARIANT SEED FOLDER
    local settings=(--set peak_rate=6e-4 --set floor_rate=6e-6 --set batch=32)
    [[ $1 != muon-* ]] || settings+=(--set optimizer=muon --set muon.rate=1e-3)
    [[ $1 = *-full ]] || settings+=(--set warmup_epochs=20)
    timed "$scope" train --pde "$pde" --data "$work/$pde-train" --recipe "$(recipe "$1")" --model "$model" --draws "$draws" --seed "$2" \
        --log-every 200 --save-every 60 "${settings[@]}" --device "$device" --out "$3" --resume
}

# Seeds in the outer loop: if time runs out, each variant has as many.
for seed in "${seeds[@]}"; do
    for variant in "${variants[@]}"; do
        name=$pde-$draws-$variant-$seed
        [ ! -f "$out/$name.json" ] || continue
        train "$variant" "$seed" "$work/$name" || status=$?
        [ "${status:=0}" = 0 ] || break 2
        timed "$scope" evaluate --run "$work/$name" --data "$work/$pde-test" --device "$device"
        cp "$work/$name/eval/uniform500.json" "$out/.$name" && mv "$out/.$name" "$out/$name.json"
    done
done

scripts/studies/seeds-table.py "$out" "$pde" "$draws" "${variants[@]}" >"$out/.part"
mv "$out/.part" "$out/$pde-$draws.md"
cat "$out/$pde-$draws.md"
exit "${status:-0}"
