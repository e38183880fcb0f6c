#!/usr/bin/env bash
# What ships of a trained run: weights in eight bits, error bands, errors under every condition, a model card.
#
#   scripts/models/evaluate-model.sh PDE
#
# The records and the run are those of scripts/models/train-model.sh, with the same variables: WORK (default:
# /tmp/scope-work), RUN (default: $WORK/NAME-run for an OUT that ends with NAME), OUT (default: results/PDE), DEVICE,
# ON, SCOPE, and MINUTES of scripts/session.sh. Leaves in $OUT the model PDE.safetensors, its card PDE.toml, and last of
# all PDE-run.tar.gz with the run's metrics, curves, evaluations and figures. Most of its two minutes go to the
# processor, so it can run while a GPU trains the next model. CURVE=no leaves out the errors at milestones.
set -euo pipefail
pde=$1
cd "$(dirname "$0")/../.."
source scripts/session.sh
out=${OUT:-results/$pde}; run=${RUN:-$work/$(basename "$out")-run}; train=$work/$pde-train; test=$work/$pde-test
packed=$out/$pde.safetensors; archive=$out/$pde-run.tar.gz
if [ -f "$archive" ]; then
    echo "$pde is done: $archive"
    exit 0
fi
evaluate() { # MODEL PROTOCOL OUT
    timed "$scope" evaluate --run "$1" --data "$test" --protocol "$2" --no-interpolation --device "$device" --out "$3"
}
trained_on() {
    if [ "$device" = cpu ]; then echo "a CPU"; else echo "one $(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)"; fi
}
[ -f "$packed" ] || "$scope" model pack --run "$run" --kind int8 --data "$train" --out "$packed"
echo "errors before quantisation:"
evaluate "$run" uniform500 "$run/eval"
echo "errors of the quantised model:"
for protocol in uniform500 full-observation; do evaluate "$packed" "$protocol" "$run/packed"; done
"$scope" model card --model "$packed" --run "$run" --data "$train" --eval "$run"/packed/*.json \
    --trained-on "${ON:-$(trained_on)}"
# Bands come before the other conditions, so that one evaluation measures errors and what lies within the bands.
timed "$scope" model calibrate --model "$packed" --data "$work/$pde-bands" --device "$device"
evaluate "$packed" all "$run/packed" | tail -40
"$scope" model card --model "$packed" --eval "$run"/packed/*.json
"$scope" report "$run/packed" --tables bands
"$scope" evaluate --run "$packed" --data "$test" --limit 2 --figures 2 --device "$device" --out "$run/pictures" >/dev/null
# The errors at every milestone are the learning curve.
for milestone in "$run"/milestones/*.safetensors; do
    [ -f "$milestone" ] && [ "${CURVE:-yes}" != no ] || continue
    evaluate "$milestone" uniform500 "$run/curve/$(basename "$milestone" .safetensors)" >/dev/null
done
tar -czf "$archive.part" -C "$run" config.toml metrics.jsonl curves.svg eval packed pictures $([ -d "$run/curve" ] && echo curve)
mv "$archive.part" "$archive"
