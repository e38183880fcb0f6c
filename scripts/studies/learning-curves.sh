#!/usr/bin/env bash
# How fast do recipes learn? Trains a problem with each recipe for several times, each a run with a whole schedule, and
# draws held-out errors against draws and against minutes.
#
#   scripts/studies/learning-curves.sh PDE [MINUTES...]
#   scripts/studies/learning-curves.sh poisson 0.2 0.5 1.2
#
# Needs a GPU. Leaves one evaluation a run, PDE-RECIPE-MINUTES/, and the charts in $OUT (default: results/curves), those
# of curves from three times on. What is there is not trained again. RECIPES (fo muon-fits), MODEL (small), COUNT (50000) and TEST (1000) records,
# RESOLUTION (128), DEVICE (cuda), SCOPE (the program), SETTINGS for every recipe; WORK, MINUTES and PACKED are those of
# scripts/session.sh.
set -euo pipefail
pde=$1; shift
minutes=("$@"); [ $# -gt 0 ] || minutes=(0.2 0.5 1.2)
cd "$(dirname "$0")/../.."
source scripts/session.sh
out=${OUT:-results/curves}
read -ra recipes <<<"${RECIPES:-fo muon-fits}"
flags=(); for setting in ${SETTINGS:-}; do flags+=(--set "$setting"); done
mkdir -p "$work" "$out"
trap 'hand_out curves "$out"' EXIT

training_records "$pde"
test_records "$pde"

for time in "${minutes[@]}"; do
    for recipe in "${recipes[@]}"; do
        name=$pde-$recipe-$time; run=$work/curve-$name
        [ ! -d "$out/$name" ] || continue
        # The paper's peak learning rate is made for 25 million draws; this one is better for short runs of either recipe.
        timed "$scope" train --pde "$pde" --data "$work/$pde-train" --recipe "$recipe" --model "${MODEL:-small}" --minutes "$time" \
            --seed 1 --log-every 200 --save-every 60 --set peak_rate=6e-4 --set floor_rate=6e-6 "${flags[@]}" --device "$device" --out "$run" --resume
        timed "$scope" evaluate --run "$run" --data "$work/$pde-test" --device "$device"
        cp -r "$run/eval" "$out/.$name" && mv "$out/.$name" "$out/$name"
    done
done
"$scope" report "$out/$pde"-*/ --tables main --figures "$out/figures"
