#!/usr/bin/env bash
# One model in one go: data, training, and what scripts/models/evaluate-model.sh makes of the weights: quantised weights, error bands,
# errors and a model card. Needs a GPU, about as many minutes as are asked for, and a few more. What an earlier call has
# finished is not done again.
#
#   scripts/models/train-model.sh PDE [MINUTES] [RECIPE] [MODEL] [SETTINGS...]
#   scripts/models/train-model.sh poisson 20 muon-fits small schedule=constant_then_decay decay_share=0.25
#   FROM=results/poisson/poisson-int16.safetensors OUT=results/poisson-2 scripts/models/train-model.sh poisson 20 muon-fits
#
# Leaves in $OUT (default: results/PDE) PDE-int16.safetensors, from which training can go on: the weights after three quarters
# of the run, before the learning rate came down. The rest of what is there is told in scripts/models/evaluate-model.sh.
#
# Other variables: DATA (default: /tmp/scope-data) is where records (6.6 GB) and runs go; FROM names weights to go on from, with
# their own network; RUN is the run folder; COUNT records, RECORDS more to evaluate on, BAND_RECORDS more to measure error bands
# on, RESOLUTION, SEED, DEVICE, ON (what the card says it was trained on), SCOPE (the program). EVALUATE=no ends after training.
set -euo pipefail
pde=$1; minutes=${2:-20}; recipe=${3:-muon-fits}; model=${4:-small}; shift $(( $# < 4 ? $# : 4 ))
cd "$(dirname "$0")/../.."
scope=${SCOPE:-target/release/scope}; seed=${SEED:-20260913}
data=${DATA:-/tmp/scope-data}; out=${OUT:-results/$pde}; run=${RUN:-$data/$pde-run}; train=$data/$pde-train
kept=$out/$pde-int16.safetensors; archive=$out/$pde-run.tar.gz
# The cylinder's flow takes ten times as long to make as any other.
count=${COUNT:-$([ "$pde" = cylinder ] && echo 30000 || echo 50000)}
if [ -f "$archive" ]; then
    echo "$pde is done: $archive"
    exit 0
fi
mkdir -p "$data" "$out"
settings=(); for setting in "$@"; do settings+=(--set "$setting"); done
begin=(--model "$model"); if [ -n "${FROM:-}" ]; then begin=(--from "$FROM"); fi

generate() { # SPLIT COUNT SEED FOLDER
    [ -d "$4" ] || "$scope" data generate "$pde" --split "$1" --count "$2" --seed "$3" --resolution "${RESOLUTION:-128}" --out "$4"
}
generate train "$count" "$seed" "$train"
generate test "${RECORDS:-1000}" 20261013 "$data/$pde-test"
generate test "${BAND_RECORDS:-600}" 20261113 "$data/$pde-bands"
"$scope" train --pde "$pde" --data "$train" --recipe "$recipe" "${begin[@]}" --minutes "$minutes" --seed "$seed" --milestones 4 \
    --log-every 200 "${settings[@]}" --device "${DEVICE:-cuda}" --out "$run" --resume
before_decay=$(find "$run/milestones" -name '*.safetensors' | sort | tail -1)
[ -f "$kept" ] || "$scope" model pack --run "$before_decay" --kind int16 --out "$kept"
[ "${EVALUATE:-yes}" = no ] || SCOPE=$scope DATA=$data OUT=$out RUN=$run scripts/models/evaluate-model.sh "$pde"
