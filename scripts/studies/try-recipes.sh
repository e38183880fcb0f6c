#!/usr/bin/env bash
# Which recipe makes the best of a fixed time on a GPU? Trains one model for each line of arguments and prints held-out
# errors.
#
#   scripts/studies/try-recipes.sh PDE MINUTES MODEL "RECIPE [SETTINGS...]"...
#   scripts/studies/try-recipes.sh poisson 1 small "fo peak_rate=6e-4" "full peak_rate=6e-4" "fo batch=64 peak_rate=8e-4"
#   scripts/studies/try-recipes.sh poisson 1 small "fo peak_rate=6e-4 then full peak_rate=3e-4"    # the time is shared equally
#
# OUT (default: results/tried) is where the table goes; what has a row there is not tried again. COUNT (50000) and TEST
# (1000) records, RESOLUTION (128), DEVICE (cuda), SCOPE (the program); WORK, MINUTES and PACKED are those of
# scripts/session.sh.
set -euo pipefail
pde=$1; minutes=$2; model=$3; shift 3
cd "$(dirname "$0")/../.."
source scripts/session.sh
out=${OUT:-results/tried}
mkdir -p "$work" "$out"
trap 'hand_out tried "$out"' EXIT
training_records "$pde" >/dev/null
test_records "$pde" >/dev/null
table=$out/tried-$pde.md
[ -f "$table" ] || printf '| recipe | minutes | draws | forward u %% | inverse a %% |\n|---|---|---|---|---|\n' >"$table"
for line in "$@"; do
    ! grep -qF "| $line | $minutes |" "$table" || continue
    mapfile -t parts <<<"${line// then /$'\n'}"
    share=$(python3 -c "print($minutes / ${#parts[@]})"); begin=(--model "$model")
    for part in "${!parts[@]}"; do
        read -r recipe settings <<<"${parts[part]}"
        flags=(); for setting in $settings; do flags+=(--set "$setting"); done
        run=$work/tried-$pde-$(tr -c 'a-z0-9\n' '-' <<<"$line")-$part
        rm -rf "$run"
        timed "$scope" train --pde "$pde" --data "$work/$pde-train" --recipe "$recipe" "${begin[@]}" --minutes "$share" \
            --log-every 1000 "${flags[@]}" --device "$device" --out "$run" >/dev/null
        begin=(--from "$run")
    done
    timed "$scope" evaluate --run "$run" --data "$work/$pde-test" --device "$device" >/dev/null
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
