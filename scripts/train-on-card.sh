#!/usr/bin/env bash
# One model from nothing in one go: data, training, weights in eight bits, evaluation, model card. Needs a card, about as many
# minutes as are asked for, and two more.
#
#   scripts/train-on-card.sh PDE [MINUTES] [RECIPE] [MODEL] [SETTINGS...]
#   scripts/train-on-card.sh poisson 20 fo small peak_rate=6e-4
#
# Leaves PDE.safetensors and its card PDE.toml in $OUT (default: results/PDE), and the run's metrics, curves, evaluations and figures in
# $OUT/PDE-run.tar.gz. DATA (default: /tmp/scope-data) is where the records go: 6.6 GB. COUNT, DEVICE and ON (what the card says it was trained
# on) can be set too.
set -euo pipefail
pde=$1; minutes=${2:-20}; recipe=${3:-full}; model=${4:-small}; shift $(( $# < 4 ? $# : 4 ))
cd "$(dirname "$0")/.."
scope=${SCOPE:-target/release/scope}; device=${DEVICE:-cuda}
data=${DATA:-/tmp/scope-data}; out=${OUT:-results/$pde}; run=$data/$pde-run; test=$data/$pde-test
mkdir -p "$data" "$out"
settings=(); for setting in "$@"; do settings+=(--set "$setting"); done

[ -d "$data/$pde-train" ] || "$scope" data generate "$pde" --count "${COUNT:-50000}" --seed 20260913 --out "$data/$pde-train"
[ -d "$test" ] || "$scope" data generate "$pde" --count $(( ${COUNT:-50000} / 50 )) --seed 20261013 --split test --out "$test"
"$scope" train --pde "$pde" --data "$data/$pde-train" --recipe "$recipe" --model "$model" --minutes "$minutes" \
    --log-every 200 "${settings[@]}" --device "$device" --out "$run"

packed=$out/$pde.safetensors
"$scope" model pack --run "$run" --kind int8 --out "$packed"
"$scope" evaluate --run "$run" --data "$test" --device "$device"
for protocol in uniform500 all full-observation; do
    "$scope" evaluate --run "$packed" --data "$test" --protocol "$protocol" --device "$device" --out "$run/packed" | tail -40
done
"$scope" evaluate --run "$packed" --data "$test" --limit 2 --figures 2 --device "$device" --out "$run/pictures" >/dev/null
"$scope" model card --model "$packed" --run "$run" --data "$data/$pde-train" --eval "$run"/packed/*.json \
    --minutes "$minutes" --trained-on "${ON:-one NVIDIA H200}"
tar -czf "$out/$pde-run.tar.gz" -C "$run" config.toml metrics.jsonl curves.svg eval packed pictures
