#!/usr/bin/env bash
# One model from nothing in one go: data, training, evaluation. Needs a card and about as many minutes as are asked
# for, and two more.
#
#   scripts/train-on-card.sh PDE [MINUTES] [RECIPE] [MODEL] [SETTINGS...]
#
# Leaves the model, its metrics, curves and evaluations in $OUT (default: results/PDE). DATA (default: /tmp/scope-data) is where
# the records go: 6.6 GB.
set -euo pipefail
pde=$1; minutes=${2:-20}; recipe=${3:-full}; model=${4:-small}; shift $(( $# < 4 ? $# : 4 ))
cd "$(dirname "$0")/.."
scope=${SCOPE:-target/release/scope}
data=${DATA:-/tmp/scope-data}; out=${OUT:-results/$pde}; run=$data/$pde-run
mkdir -p "$data" "$out"
settings=(); for setting in "$@"; do settings+=(--set "$setting"); done

[ -d "$data/$pde-train" ] || "$scope" data generate "$pde" --count 50000 --seed 20260913 --out "$data/$pde-train"
[ -d "$data/$pde-test" ] || "$scope" data generate "$pde" --count 1000 --seed 20261013 --split test --out "$data/$pde-test"
"$scope" train --pde "$pde" --data "$data/$pde-train" --recipe "$recipe" --model "$model" --minutes "$minutes" \
    --log-every 200 "${settings[@]}" --device cuda --out "$run"
for protocol in uniform500 all; do
    "$scope" evaluate --run "$run" --data "$data/$pde-test" --protocol "$protocol" --device cuda | tee "$out/$protocol.txt"
done
cp "$run"/{config.toml,metrics.jsonl,curves.svg,model.safetensors} "$run"/eval/*.json "$out"
