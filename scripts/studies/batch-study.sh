#!/usr/bin/env bash
# Batch size against error at equal draws on Poisson: what larger global batches, as many GPUs would have, cost in
# accuracy.
#
#     scripts/studies/batch-study.sh [DRAWS] [BATCH...]
#     scripts/studies/batch-study.sh 640000 32 128 512 2048
#
# Each batch is trained with the recipe's own rates and, above 32, also with rates times the root of batch / 32.
# Variables: SCOPE, OUT (results/batch-study), MODEL (small), RECIPE (muon-fits), DEVICE (cuda), COUNT, TEST,
# RESOLUTION; WORK, MINUTES and PACKED are those of scripts/session.sh. What has an evaluation in OUT is not done again.
# Ends with a table of errors.
set -euo pipefail
draws=${1:-640000}; shift || true
batches=("$@"); [ ${#batches[@]} -gt 0 ] || batches=(32 128 512 2048)
cd "$(dirname "$0")/../.."
source scripts/session.sh
out=${OUT:-results/batch-study}; recipe=${RECIPE:-muon-fits}
mkdir -p "$work/batch-study" "$out"
trap 'hand_out batch-study "$out"' EXIT
training_records poisson
test_records poisson
study() { # NAME BATCH FACTOR
    local rates run=$work/batch-study/$1
    [ ! -f "$out/$1/uniform500.json" ] || return 0
    rates=$(python3 - "$recipe" "$3" <<'PYTHON'
import sys, tomllib
recipe = tomllib.load(open(f"crates/scope-train/src/recipe/{sys.argv[1]}.toml", "rb"))
factor = float(sys.argv[2])
keys = {"peak_rate": recipe["peak_rate"], "floor_rate": recipe["floor_rate"]}
if "rate" in recipe.get("muon", {}):
    keys["muon.rate"] = recipe["muon"]["rate"]
print(" ".join(f"--set {key}={factor * value!r}" for key, value in keys.items()))
PYTHON
    )
    # shellcheck disable=SC2086
    timed "$scope" train --data "$work/poisson-train" --model "${MODEL:-small}" --recipe "$recipe" --draws "$draws" --set batch="$2" $rates \
        --device "$device" --log-every 100 --save-every 60 --resume --out "$run"
    timed "$scope" evaluate --run "$run" --data "$work/poisson-test" --no-interpolation --device "$device" >/dev/null
    cp -r "$run/eval" "$out/.$1" && mv "$out/.$1" "$out/$1"
}
names=()
for batch in "${batches[@]}"; do
    study "b$batch" "$batch" 1; names+=("b$batch")
    if [ "$batch" -gt 32 ]; then
        study "b$batch-root" "$batch" "$(python3 -c "print(($batch / 32) ** 0.5)")"; names+=("b$batch-root")
    fi
done
python3 - "$out" "$draws" "${names[@]}" <<'PYTHON'
import json, sys
out, draws, *names = sys.argv[1:]
print(f"{draws} draws each; mean relative errors in percent, 500 uniform sensors")
print(f"{'run':<14}{'steps':>8}{'u from a':>10}{'a from u':>10}")
for name in names:
    conditions = json.load(open(f"{out}/{name}/uniform500.json"))["conditions"]
    batch = int(name[1:].split("-")[0])
    u, a = conditions["forward/uniform/500"]["u"]["mean"], conditions["inverse/uniform/500"]["a"]["mean"]
    print(f"{name:<14}{int(draws) // batch:>8}{u:>10.2f}{a:>10.2f}")
PYTHON
