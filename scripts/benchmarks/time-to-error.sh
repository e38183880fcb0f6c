#!/usr/bin/env bash
# How long until an error? Trains SCOPE `small` on Poisson with muon-fits for several numbers of draws, each a run with
# a whole schedule, and a PyTorch script with the same ideas (Muon, local fits) for as many steps; tells seconds and
# errors of each, and which was the first to reach the errors that were asked for.
#
#     scripts/benchmarks/time-to-error.sh [FOLDER OF THE PEER]
#     DRAWS="100000 400000 1600000" scripts/benchmarks/time-to-error.sh peer
#
# DRAWS ("80000 160000 320000 640000 1280000 2560000") are those of the runs; TARGETS ("2.0/11 1.67/9.43") errors of u
# from 500 points of a and of a from 500 of u: the second are the paper's best. The folder of the peer holds its model
# (scope_torch.py) and trial.py, which makes its own records; PEER_DRAWS says which lengths it is given (those of
# DRAWS). Seconds are of the whole process: start, autotuning and compilation are in them, evaluation is not, and of
# records only PyTorch's, which it makes on the GPU; a second column has its loop alone.
#
# Leaves an evaluation a run and table.md in OUT (results/time-to-error); what is there is not measured again. MODEL
# (small), SETTINGS, COUNT (50000) and TEST (1000) records, RESOLUTION, DEVICE (cuda), SCOPE (the program); WORK,
# MINUTES and PACKED are those of scripts/session.sh.
set -euo pipefail
peer=${1:+$(realpath "$1")}
cd "$(dirname "$0")/../.."
source scripts/session.sh
out=${OUT:-results/time-to-error}; targets=${TARGETS:-2.0/11 1.67/9.43}
read -ra lengths <<<"${DRAWS:-80000 160000 320000 640000 1280000 2560000}"
read -ra peer_lengths <<<"${PEER_DRAWS-${lengths[*]}}"
flags=(); for setting in ${SETTINGS:-}; do flags+=(--set "$setting"); done
mkdir -p "$work" "$out"
training_records poisson
test_records poisson

# The table of what there is; MINUTES may end the measuring between any two runs.
table() {
    scripts/benchmarks/time-to-error.py "$out" $targets >"$out/.table" && mv "$out/.table" "$out/table.md"
    cat "$out/table.md"
    hand_out time-to-error "$out"
}
trap table EXIT

for draws in "${lengths[@]}"; do
    run=$work/time-to-error-$draws
    [ ! -f "$out/scope-$draws.json" ] || continue
    # A run that was interrupted tells nothing of time: it begins anew.
    rm -rf "$run"
    begun=$(date +%s.%N)
    timed "$scope" train --pde poisson --data "$work/poisson-train" --recipe muon-fits --model "${MODEL:-small}" \
        --draws "$draws" --log-every 1000 --seed 1 "${flags[@]}" --device "$device" --out "$run"
    seconds=$(awk -v begun="$begun" -v now="$(date +%s.%N)" 'BEGIN { print now - begun }')
    timed "$scope" evaluate --run "$run" --data "$work/poisson-test" --no-interpolation --device "$device" >/dev/null
    python3 -c 'import json, sys
path, seconds, out = sys.argv[1:]
conditions = json.load(open(path))["conditions"]
errors = [conditions[f"{task}/uniform/500"][field]["mean"] for task, field in (("forward", "u"), ("inverse", "a"))]
json.dump({"seconds": float(seconds), "errors": errors}, open(out, "w"))' \
        "$run/eval/uniform500.json" "$seconds" "$out/.part"
    mv "$out/.part" "$out/scope-$draws.json"
done
[ -n "$peer" ] || exit 0
for draws in "${peer_lengths[@]}"; do
    log=$out/pytorch-$draws.txt
    [ ! -f "$log" ] || continue
    begun=$(date +%s.%N)
    status=0
    timed env PYTHONPATH="$peer" PYTHONUNBUFFERED=1 python3 "$peer/trial.py" --opt muon --lr 1e-3 --jets "${JETS:-2,4}" \
        --steps $(( draws / 32 )) >"$log.part" 2>&1 || status=$?
    [ "$status" != "$stopped" ] || exit "$status"
    awk -v begun="$begun" -v now="$(date +%s.%N)" 'BEGIN { print "WHOLE", now - begun, "s" }' >>"$log.part"
    if [ "$status" != 0 ]; then
        echo "PyTorch failed: $(tail -2 "$log.part" | head -1)" >&2
        mv "$log.part" "$log.failed"
        continue
    fi
    mv "$log.part" "$log"
done
