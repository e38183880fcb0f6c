#!/usr/bin/env bash
# The paper's base model with its Full recipe for a fixed time, then a larger decoder on it twice: trained on what
# sparse contexts predict (SP), and on complete views (DP). Evaluates all three, and the model along the way.
#
#   scripts/models/base-and-heads.sh PDE [MINUTES] [MINUTES OF EACH HEAD]
#   scripts/models/base-and-heads.sh poisson 14 4
#
# Needs a GPU. Leaves in $OUT (default: results/PDE-base) the evaluations of full, sp and dp (1,000 records) and of the
# milestones (300), tables.md with what `scope report` and `scope compare` say of them, the figures, and metrics.jsonl
# of each run. What is done is not done again.
#
# SETTINGS ("peak_rate=3e-4") for the base model, HEAD (10m), MODEL (base), MILESTONES (8), COUNT (50000) and TEST
# (1000) records, RESOLUTION (128), DEVICE (cuda), SCOPE (the program); WORK, MINUTES and PACKED are those of
# scripts/session.sh.
set -euo pipefail
pde=$1; minutes=${2:-14}; each=${3:-4}
cd "$(dirname "$0")/../.."
source scripts/session.sh
head=${HEAD:-10m}; out=${OUT:-results/$pde-base}; train=$work/$pde-train; test=$work/$pde-test
flags=(); for setting in ${SETTINGS-peak_rate=3e-4}; do flags+=(--set "$setting"); done
mkdir -p "$work" "$out"
trap 'hand_out "$pde-base" "$out"' EXIT

training_records "$pde"
test_records "$pde"

evaluate() { # RUN OR FILE, NAME, RECORDS
    [ -f "$out/$2/uniform500.json" ] ||
        timed "$scope" evaluate --run "$1" --data "$test" --limit "$3" --device "$device" --out "$out/$2"
    [ ! -f "$1/metrics.jsonl" ] || cp "$1/metrics.jsonl" "$1/config.toml" "$out/$2/"
}
base=$work/$pde-base
# Weights need not be at hand where all evaluations are.
train() {
    timed "$scope" train --pde "$pde" --data "$train" --recipe full --model "${MODEL:-base}" --minutes "$minutes" \
        --milestones "${MILESTONES:-8}" --log-every 100 --save-every 60 "${flags[@]}" --device "$device" --out "$base" --resume
    evaluate "$base" full "${TEST:-1000}"
    local view name
    for view in sparse complete; do
        name=$([ $view = sparse ] && echo sp || echo dp)
        timed "$scope" adapt --base "$base" --data "$train" --head "$head" --view $view --minutes "$each" --save-every 60 \
            --device "$device" --out "$work/$pde-$name" --resume
        evaluate "$work/$pde-$name" $name "${TEST:-1000}"
    done
}
for name in full sp dp; do
    [ -f "$out/$name/uniform500.json" ] || { train; break; }
done
for file in "$base"/milestones/*.safetensors; do
    [ ! -f "$file" ] ||
        evaluate "$file" "at-$(basename "$file" .safetensors)" $(( ${TEST:-1000} < 300 ? ${TEST:-1000} : 300 ))
done
{
    "$scope" report "$out"/{full,sp,dp} --tables main,adaptation
    "$scope" compare "$out/sp" "$out/full"
    "$scope" compare "$out/sp" "$out/dp"
} >"$out/.part"
mv "$out/.part" "$out/tables.md"
"$scope" report "$out"/full "$out"/at-* --tables runs --figures "$out/figures" >/dev/null
cat "$out/tables.md"
