#!/usr/bin/env bash
# One model in one go: data, training, and what scripts/models/evaluate-model.sh makes of the weights: quantised
# weights, error bands, errors and a model card. Needs a GPU, about as many minutes as are asked for, and a few more.
# What an earlier call has finished is not done again.
#
#   scripts/models/train-model.sh PDE [MINUTES] [RECIPE] [MODEL] [SETTINGS...]
#   scripts/models/train-model.sh poisson 20 muon-fits small sensors.noise_share=0.25 sensors.few_share=0.25
#   FROM=models/poisson.safetensors OUT=results/poisson-2 scripts/models/train-model.sh poisson 5 muon-fits small peak_rate=3e-4
#
# Leaves in $OUT (default: results/PDE) PDE-int16.safetensors, from which training can go on: the model in sixteen bits.
# With a constant rate that decays at the end it is the model before that. The rest of what is there is told in
# scripts/models/evaluate-model.sh.
#
# WORK (default: /tmp/scope-work) is where records (6.6 GB) and runs go, and the run is NAME-run there for an OUT that
# ends with NAME, so that every stretch has one of its own; RUN names another folder. FROM names weights to go on from,
# with their own network; COUNT records, RECORDS more to evaluate on, BAND_RECORDS more to measure error bands on,
# RESOLUTION, SEED, DEVICE, ON (what the card says it was trained on), SCOPE (the program). EVALUATE=no ends after
# training, EVALUATE=records before it. MINUTES in the environment is that of scripts/session.sh.
set -euo pipefail
pde=$1; minutes=${2:-20}; recipe=${3:-muon-fits}; model=${4:-small}; shift $(( $# < 4 ? $# : 4 ))
cd "$(dirname "$0")/../.."
source scripts/session.sh
seed=${SEED:-20260913}; out=${OUT:-results/$pde}; run=${RUN:-$work/$(basename "$out")-run}; train=$work/$pde-train
kept=$out/$pde-int16.safetensors; archive=$out/$pde-run.tar.gz
# The cylinder's flow takes ten times as long to make as any other.
count=${COUNT:-$([ "$pde" = cylinder ] && echo 30000 || echo 50000)}
if [ -f "$archive" ]; then
    echo "$pde is done: $archive"
    exit 0
fi
mkdir -p "$work" "$out"
settings=(); for setting in "$@"; do settings+=(--set "$setting"); done
begin=(--model "$model"); if [ -n "${FROM:-}" ]; then begin=(--from "$FROM"); fi

records "$pde" train "$count" "$seed" "$train"
records "$pde" test "${RECORDS:-1000}" 20261013 "$work/$pde-test"
records "$pde" test "${BAND_RECORDS:-600}" 20261113 "$work/$pde-bands"
[ "${EVALUATE:-yes}" != records ] || exit 0
timed "$scope" train --pde "$pde" --data "$train" --recipe "$recipe" "${begin[@]}" --minutes "$minutes" --seed "$seed" \
    --milestones 4 --log-every 200 --save-every 60 "${settings[@]}" --device "$device" --out "$run" --resume
last=$run/model.safetensors
# What decays at the end goes on from the weights before that.
if grep -q 'schedule = "constant_then_decay"' "$run/config.toml"; then
    last=$(find "$run/milestones" -name '*.safetensors' | sort | tail -1)
fi
[ -f "$kept" ] || "$scope" model pack --run "$last" --kind int16 --out "$kept"
[ "${EVALUATE:-yes}" = no ] || SCOPE=$scope WORK=$work OUT=$out RUN=$run scripts/models/evaluate-model.sh "$pde"
