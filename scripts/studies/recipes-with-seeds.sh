#!/usr/bin/env bash
# Does the grounding of Full pay? Trains recipes from several seeds with equally many draws each and tells errors with
# their deviation over seeds.
#
#   scripts/studies/recipes-with-seeds.sh PDE DRAWS [RECIPE...]
#   scripts/studies/recipes-with-seeds.sh poisson 1200000 full fjv fo
#
# Needs a GPU and, for each run, DRAWS of its time. Leaves one summary a run, PDE-DRAWS-RECIPE-SEED.json, and the table
# PDE-DRAWS.md in $OUT (default: results/seeds). What has a summary there is not trained again: a study can be spread
# over several machines.
#
# JOBS (1) runs go on at a time: with CUDA's multi-process service (nvidia-cuda-mps-control -d) three small ones take
# less than one after the other. SEEDS (default: "1 2 3"), MODEL (small), SETTINGS ("peak_rate=6e-4") for every recipe,
# COUNT (50000) and TEST (1000) records, RESOLUTION (128), DEVICE (cuda), SCOPE (the program); WORK, MINUTES and PACKED
# are those of scripts/session.sh.
set -euo pipefail
pde=$1; draws=$2; shift 2
recipes=("$@"); [ $# -gt 0 ] || recipes=(full fjv fo)
cd "$(dirname "$0")/../.."
source scripts/session.sh
model=${MODEL:-small}; out=${OUT:-results/seeds}
read -ra seeds <<<"${SEEDS:-1 2 3}"
flags=(); for setting in ${SETTINGS-peak_rate=6e-4}; do flags+=(--set "$setting"); done
mkdir -p "$work" "$out"
trap 'hand_out seeds "$out"' EXIT

training_records "$pde"
test_records "$pde"

# Trains and evaluates one run; its summary appears when all is done.
study() {
    local recipe=$1 seed=$2 name=$pde-$draws-$1-$2
    timed "$scope" train --pde "$pde" --data "$work/$pde-train" --recipe "$recipe" --model "$model" --draws "$draws" --seed "$seed" \
        --log-every 200 --save-every 60 "${flags[@]}" --device "$device" --out "$work/$name" --resume &&
        timed "$scope" evaluate --run "$work/$name" --data "$work/$pde-test" --device "$device" &&
        cp "$work/$name/eval/uniform500.json" "$out/.$name" && mv "$out/.$name" "$out/$name.json"
}

# Seeds in the outer loop: if time runs out, each recipe has as many. A run that fails does not stop the others.
for seed in "${seeds[@]}"; do
    for recipe in "${recipes[@]}"; do
        [ ! -f "$out/$pde-$draws-$recipe-$seed.json" ] || continue
        while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-1}" ]; do wait -n || true; done
        study "$recipe" "$seed" &
    done
done
wait
missing=0
for seed in "${seeds[@]}"; do
    for recipe in "${recipes[@]}"; do [ -f "$out/$pde-$draws-$recipe-$seed.json" ] || missing=$(( missing + 1 )); done
done

scripts/studies/seeds-table.py "$out" "$pde" "$draws" "${recipes[@]}" >"$out/.part"
mv "$out/.part" "$out/$pde-$draws.md"
cat "$out/$pde-$draws.md"
[ $missing = 0 ] || { echo "$missing runs are missing: call it again" >&2; exit $(( $(left) > 0 ? 1 : stopped )); }
