#!/usr/bin/env bash
# One model in one go: data, training, weights in sixteen and eight bits, error bands, evaluation, model card. Needs a GPU,
# about as many minutes as are asked for, and a few more. What an earlier call has finished is not done again.
#
#   scripts/train-on-card.sh PDE [MINUTES] [RECIPE] [MODEL] [SETTINGS...]
#   scripts/train-on-card.sh poisson 20 muon-fits small schedule=constant_then_decay decay_share=0.25
#   FROM=results/poisson/poisson-int16.safetensors OUT=results/poisson-2 scripts/train-on-card.sh poisson 20 muon-fits
#
# Leaves in $OUT (default: results/PDE) the model PDE.safetensors and its card PDE.toml; PDE-int16.safetensors, from which training can go on: the
# weights after three quarters of the run, before the rate came down; and PDE-run.tar.gz with the run's metrics, curves, evaluations and
# figures.
#
# Other variables: DATA (default: /tmp/scope-data) is where records (6.6 GB) and runs go; FROM names weights to go on from, with their own
# network; RUN is the run folder; COUNT records, RECORDS more to evaluate on, BAND_RECORDS more to measure error bands on, RESOLUTION, SEED, DEVICE, ON (what the card says it was trained on), SCOPE (the program).
set -euo pipefail
pde=$1; minutes=${2:-20}; recipe=${3:-muon-fits}; model=${4:-small}; shift $(( $# < 4 ? $# : 4 ))
cd "$(dirname "$0")/.."
scope=${SCOPE:-target/release/scope}; device=${DEVICE:-cuda}; seed=${SEED:-20260913}
data=${DATA:-/tmp/scope-data}; out=${OUT:-results/$pde}; train=$data/$pde-train; test=$data/$pde-test; bands=$data/$pde-bands
# The cylinder's flow takes ten times as long to make as any other.
count=${COUNT:-$([ "$pde" = cylinder ] && echo 30000 || echo 50000)}
packed=$out/$pde.safetensors; kept=$out/$pde-int16.safetensors; archive=$out/$pde-run.tar.gz
if [ -f "$archive" ]; then
    echo "$pde is done: $archive"
    exit 0
fi
mkdir -p "$data" "$out"
settings=(); for setting in "$@"; do settings+=(--set "$setting"); done
begin=(--model "$model"); run=${RUN:-$data/$pde-run}
if [ -n "${FROM:-}" ]; then begin=(--from "$FROM"); run=${RUN:-$data/$pde-run-from}; fi

generate() { # SPLIT COUNT SEED FOLDER
    [ -d "$4" ] || "$scope" data generate "$pde" --split "$1" --count "$2" --seed "$3" --resolution "${RESOLUTION:-128}" --out "$4"
}
evaluate() { # MODEL PROTOCOL OUT
    "$scope" evaluate --run "$1" --data "$test" --protocol "$2" --device "$device" --out "$3"
}
generate train "$count" "$seed" "$train"
generate test "${RECORDS:-1000}" 20261013 "$test"
"$scope" train --pde "$pde" --data "$train" --recipe "$recipe" "${begin[@]}" --minutes "$minutes" --seed "$seed" --milestones 4 \
    --log-every 200 "${settings[@]}" --device "$device" --out "$run" --resume

before_decay=$(find "$run/milestones" -name '*.safetensors' | sort | tail -1)
[ -f "$kept" ] || "$scope" model pack --run "$before_decay" --kind int16 --out "$kept"
[ -f "$packed" ] || "$scope" model pack --run "$run" --kind int8 --data "$train" --out "$packed"
echo "errors before packing:"
evaluate "$run" uniform500 "$run/eval"
echo "errors of the packed model:"
for protocol in uniform500 full-observation; do evaluate "$packed" "$protocol" "$run/packed"; done
"$scope" model card --model "$packed" --run "$run" --data "$train" --eval "$run"/packed/*.json \
    --trained-on "${ON:-one NVIDIA H200}"
# Bands come before the other conditions, so that one evaluation measures errors and what lies within the bands.
generate test "${BAND_RECORDS:-600}" 20261113 "$bands"
"$scope" model calibrate --model "$packed" --data "$bands" --device "$device"
evaluate "$packed" all "$run/packed" | tail -40
"$scope" model card --model "$packed" --eval "$run"/packed/*.json
"$scope" report "$run/packed" --tables bands
"$scope" evaluate --run "$packed" --data "$test" --limit 2 --figures 2 --device "$device" --out "$run/pictures" >/dev/null
tar -czf "$archive.part" -C "$run" config.toml metrics.jsonl curves.svg eval packed pictures
mv "$archive.part" "$archive"
