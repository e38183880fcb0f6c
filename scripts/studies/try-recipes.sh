#!/usr/bin/env bash
# Which recipe makes the best of a fixed time on a GPU? Trains one model for each line of arguments and prints held-out errors.
#
#   scripts/studies/try-recipes.sh PDE MINUTES MODEL "RECIPE [SETTINGS...]"...
#   scripts/studies/try-recipes.sh poisson 1 small "fo peak_rate=6e-4" "full peak_rate=6e-4" "fo batch=64 peak_rate=8e-4"
#   scripts/studies/try-recipes.sh poisson 1 small "fo peak_rate=6e-4 then full peak_rate=3e-4"    # the time is shared equally
#
# DATA (default: /tmp/scope-data) is where the records go, OUT (default: results/tried) where the table goes. COUNT (50000) and TEST (1000)
# records, RESOLUTION (128), DEVICE (cuda), SCOPE (the program).
set -euo pipefail
pde=$1; minutes=$2; model=$3; shift 3
cd "$(dirname "$0")/../.."
scope=${SCOPE:-target/release/scope}
data=${DATA:-/tmp/scope-data}; out=${OUT:-results/tried}
mkdir -p "$data" "$out"
size=${RESOLUTION:-128}; device=${DEVICE:-cuda}
[ -d "$data/$pde-train" ] ||
    "$scope" data generate "$pde" --count "${COUNT:-50000}" --seed 20260913 --resolution "$size" --out "$data/$pde-train" >/dev/null
[ -d "$data/$pde-test" ] ||
    "$scope" data generate "$pde" --count "${TEST:-1000}" --seed 20261013 --split test --resolution "$size" --out "$data/$pde-test" >/dev/null
table=$out/tried-$pde.md
[ -f "$table" ] || printf '| recipe | minutes | draws | forward u %% | inverse a %% |\n|---|---|---|---|---|\n' >"$table"
for line in "$@"; do
    mapfile -t parts <<<"${line// then /$'\n'}"
    share=$(python3 -c "print($minutes / ${#parts[@]})"); begin=(--model "$model")
    for part in "${!parts[@]}"; do
        read -r recipe settings <<<"${parts[part]}"
        flags=(); for setting in $settings; do flags+=(--set "$setting"); done
        run=$data/tried-$pde-$(tr -c 'a-z0-9\n' '-' <<<"$line")-$part
        rm -rf "$run"
        "$scope" train --pde "$pde" --data "$data/$pde-train" --recipe "$recipe" "${begin[@]}" --minutes "$share" \
            --log-every 1000 "${flags[@]}" --device "$device" --out "$run" >/dev/null
        begin=(--from "$run")
    done
    "$scope" evaluate --run "$run" --data "$data/$pde-test" --device "$device" >/dev/null
    python3 - "$run/eval/uniform500.json" "$line" "$minutes" >>"$table" <<'PYTHON'
import json, sys

results = json.load(open(sys.argv[1]))
error = lambda task, measure: results["conditions"][f"{task}/uniform/500"][measure]["mean"]
draws = results["identity"]["method"]["training"]["draws"]
inverse = "ber" if results["identity"]["pde"] == "darcy" else "a"
print(f"| {sys.argv[2]} | {sys.argv[3]} | {draws:,} | {error('forward', 'u'):.2f} | {error('inverse', inverse):.2f} |")
PYTHON
done
cat "$table"
