#!/usr/bin/env bash
# The four operators and SCOPE with the same time each on the same machine: trains, evaluates, writes one table.
#
#   scripts/studies/fair-time.sh PDE [MINUTES]
#   scripts/studies/fair-time.sh poisson 5
#
# Operators have their recipe (batches of 125, AdamW to 1.25e-4), SCOPE `small` the FO recipe with batches of 32 and
# 6e-4; the schedule of each is as long as its time. All are evaluated in bf16, as they were trained. Leaves
# fair-time-PDE-MINUTES.md and each model's summaries in $OUT (default: results/fair-time). What is done is not done
# again, and what was interrupted goes on; a model that fails is said and left out.
#
# COUNT (50000; 20000 of the cylinder) and TEST (1000) are the numbers of records, DEVICE is cuda unless set, MODELS are
# those of the table, SETTINGS are added to every recipe, RATES are peak rates other than the recipes': RATES="fno=6e-4
# cno=6e-4". WORK, MINUTES and PACKED are those of scripts/session.sh.
set -euo pipefail
pde=$1; minutes=${2:-5}
cd "$(dirname "$0")/../.."
source scripts/session.sh
test=${TEST:-1000}; out=${OUT:-results/fair-time}
models=${MODELS:-small fno deeponet cno transolver}
mkdir -p "$work" "$out"
trap 'hand_out fair-time "$out"' EXIT

# The cylinder's flow takes ten times as long to make as any other.
count=${COUNT:-$([ "$pde" = cylinder ] && echo 20000 || echo 50000)}
COUNT=$count training_records "$pde"
test_records "$pde"

# Trains one model and evaluates it; how long training took, pauses left out, is in its .seconds.txt.
compete() {
    local model=$1 run=$2 kept=$3 recipe=operator settings=${SETTINGS:-} flags=() rate began ended=0
    [ ! -f "$kept.json" ] || return 0
    [ "$model" != small ] || { recipe=fo; settings="peak_rate=6e-4 $settings"; }
    for rate in ${RATES:-}; do [ "${rate%%=*}" != "$model" ] || settings="$settings peak_rate=${rate#*=}"; done
    for setting in $settings; do flags+=(--set "$setting"); done
    if [ ! -f "$run/trained" ]; then
        mkdir -p "$run"
        began=$(date +%s)
        timed "$scope" train --pde "$pde" --data "$work/$pde-train" --recipe "$recipe" --model "$model" --minutes "$minutes" \
            --log-every 200 --save-every 60 "${flags[@]}" --device "$device" --out "$run/run" --resume || ended=$?
        echo $(( $(date +%s) - began )) >>"$run/seconds.txt"
        [ "$ended" = 0 ] || return "$ended"
        touch "$run/trained"
    fi
    [ -f "$run/run/eval/uniform500.json" ] ||
        timed "$scope" evaluate --run "$run/run" --data "$work/$pde-test" --limit "$test" --precision bf16 --device "$device" || return
    cp "$run/seconds.txt" "$kept.seconds.txt" && cp "$run/run/config.toml" "$kept.toml" || return
    cp "$run/run/eval/uniform500.json" "$kept.part" && mv "$kept.part" "$kept.json"
}

failed=()
for model in $models; do
    ended=0
    compete "$model" "$work/fair-$pde-$minutes-$model" "$out/$pde-$minutes-$model" || ended=$?
    [ "$ended" != 75 ] || exit 75 # interrupted, its state saved
    [ "$ended" = 0 ] || { failed+=("$model"); echo "$model failed" >&2; }
done

table=$out/fair-time-$pde-$minutes.md
python3 - "$out" "$pde" "$minutes" $models >"$table.part" <<'PYTHON'
import json, os, sys, tomllib

out, pde, minutes, *models = sys.argv[1:]
wanted = "ber" if pde == "darcy" else "a"
name = {"small": "SCOPE small", "fno": "FNO", "deeponet": "DeepONet", "cno": "CNO", "transolver": "Transolver"}
print(f"| {pde}, {minutes} min each | parameters | peak rate | draws | trained s | forward u % | inverse {wanted} % |\n|---|---|---|---|---|---|---|")
for model in models:
    kept = f"{out}/{pde}-{minutes}-{model}"
    path = f"{kept}.json"
    if not os.path.exists(path):
        continue
    results = json.load(open(path))
    method, conditions = results["identity"]["method"], results["conditions"]
    seconds = sum(map(float, open(f"{kept}.seconds.txt")))
    error = lambda task, measure: conditions[f"{task}/uniform/500"][measure]["mean"]
    rate = tomllib.load(open(f"{kept}.toml", "rb"))["recipe"]["peak_rate"]
    print(f"| {name.get(model, model)} | {method['parameters']:,} | {rate:g} | {method['training']['draws']:,} | {seconds:.0f} "
          f"| {error('forward', 'u'):.2f} | {error('inverse', wanted):.2f} |")
PYTHON
mv "$table.part" "$table"
cat "$table"
[ ${#failed[@]} = 0 ] || { echo "left out: ${failed[*]}" >&2; exit 1; }
