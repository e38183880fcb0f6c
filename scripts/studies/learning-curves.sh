#!/usr/bin/env bash
# How fast do recipes learn? Trains a problem with each recipe for several times, each a run with a whole schedule, and draws
# held-out errors against draws and against minutes.
#
#   scripts/studies/learning-curves.sh PDE [MINUTES...]
#   scripts/studies/learning-curves.sh poisson 0.2 0.5 1.2
#
# Needs a GPU. Leaves one evaluation a run, PDE-RECIPE-MINUTES/, and the charts in $OUT (default: results/curves). What is there is
# not trained again. RECIPES (fo muon-fits), MODEL (small), DATA (/tmp/scope-data) for records and runs, COUNT (50000) and TEST
# (1000) records, DEVICE (cuda), SCOPE (the program).
set -euo pipefail
pde=$1; shift
minutes=("$@"); [ $# -gt 0 ] || minutes=(0.2 0.5 1.2)
cd "$(dirname "$0")/../.."
scope=${SCOPE:-target/release/scope}; data=${DATA:-/tmp/scope-data}; out=${OUT:-results/curves}; device=${DEVICE:-cuda}
read -ra recipes <<<"${RECIPES:-fo muon-fits}"
mkdir -p "$data" "$out"

[ -d "$data/$pde-train" ] || "$scope" data generate "$pde" --count "${COUNT:-50000}" --seed 20260913 --out "$data/$pde-train"
[ -d "$data/$pde-test" ] ||
    "$scope" data generate "$pde" --count "${TEST:-1000}" --seed 20261013 --split test --out "$data/$pde-test"

for time in "${minutes[@]}"; do
    for recipe in "${recipes[@]}"; do
        name=$pde-$recipe-$time; run=$data/curve-$name
        [ ! -d "$out/$name" ] || continue
        # The paper's peak learning rate is made for 25 million draws; this one is better for short runs of either recipe.
        "$scope" train --pde "$pde" --data "$data/$pde-train" --recipe "$recipe" --model "${MODEL:-small}" --minutes "$time" \
            --seed 1 --log-every 200 --set peak_rate=6e-4 --set floor_rate=6e-6 --device "$device" --out "$run" --resume
        "$scope" evaluate --run "$run" --data "$data/$pde-test" --device "$device"
        cp -r "$run/eval" "$out/.$name" && mv "$out/.$name" "$out/$name"
    done
done
"$scope" report "$out/$pde"-*/ --tables main --figures "$out/figures"
