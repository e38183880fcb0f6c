#!/usr/bin/env bash
# The queue of shipped models: trains those that are named, one after the other, from nothing or on from what an earlier call
# has kept. A model is evaluated while the next one trains. Needs a GPU.
#
#   scripts/models/campaign.sh [MINUTES] [PDE[:MINUTES]...]
#   scripts/models/campaign.sh 20 darcy ns:30
#   MODEL=base RECIPE=full SETTINGS="" scripts/models/campaign.sh 20
#
# MINUTES of training each (default: 20); data come on top, seven minutes for the cylinder's, and two minutes of evaluation
# after the last. Where $KEPT/PDE-int16.safetensors is (default of KEPT: results/kept), training goes on from there: a constant
# learning rate from stretch to stretch, and at the end of each it comes down for a model to ship. Whatever
# scripts/models/train-model.sh takes from the environment can be set here too.
#
# Models with their cards, weights to keep and logs go to $WORK/PDE (default: results/PDE). Called again, it does only what is
# missing, and the failure of one model does not stop the others. scripts/models/replace-model.py then puts a model into models/ if no
# condition of its card is worse. For machines that give back few files, $OUT, if it is set, gets PDE-int16.safetensors of
# every model that is done, and all models, cards and logs as an archive in pieces of at most 15 MB
# (`cat campaign.tar.gz.* | tar -xz`).
set -uo pipefail
minutes=${1:-20}; shift $(( $# < 1 ? $# : 1 ))
queue=("$@"); [ $# -gt 0 ] || queue=(poisson darcy ns helmholtz cylinder)
pdes=("${queue[@]%%:*}")
cd "$(dirname "$0")/../.."
work=${WORK:-results}; recipe=${RECIPE:-muon-fits}; model=${MODEL:-small}; keep=${KEPT:-results/kept}
read -ra settings <<<"${SETTINGS-schedule=constant_then_decay decay_share=0.25 sensors.noise_share=0.25 sensors.few_share=0.25}"
mkdir -p "$work" || exit 1

# Copies what is done to $OUT, after every model: a campaign that is cut short leaves what it has finished.
hand_out() {
    [ -n "${OUT:-}" ] || return 0
    local done=() pde
    for pde in "${pdes[@]}"; do
        [ -f "$work/$pde/$pde-run.tar.gz" ] || continue
        done+=("$pde/$pde.safetensors" "$pde/$pde.toml" "$pde/$pde-run.tar.gz" "$pde/$pde.log")
        [ -f "$OUT/$pde-int16.safetensors" ] && continue
        cp "$work/$pde/$pde-int16.safetensors" "$OUT/.part" && mv "$OUT/.part" "$OUT/$pde-int16.safetensors" || return 1
    done
    [ ${#done[@]} -eq 0 ] && return 0
    tar -czf "$work/campaign.tar.gz" -C "$work" "${done[@]}" || return 1
    rm -f "$OUT"/campaign.tar.gz.?
    split -d -a 1 -b 15000000 "$work/campaign.tar.gz" "$OUT/campaign.tar.gz."
}

# Trains one model; its weights and their logs are in $work/PDE.
train() { # PDE MINUTES
    local from=$keep/$1-int16.safetensors; [ -f "$from" ] || from=${FROM:-}
    echo "== $1${from:+, on from $from}"
    FROM=$from OUT=$work/$1 EVALUATE=no scripts/models/train-model.sh "$1" "$2" "$recipe" "$model" "${settings[@]}" 2>&1 | tee -a "$work/$1/$1.log"
}
evaluate() { # PDE
    OUT=$work/$1 scripts/models/evaluate-model.sh "$1" 2>&1 | tee -a "$work/$1/$1.log"
}

failed=(); evaluating=; evaluated=
# Waits for the evaluation in the background, if there is one, and hands out what is done.
finish() {
    [ -n "$evaluating" ] || return 0
    wait "$evaluating" || failed+=("$evaluated")
    evaluating=
    hand_out || { echo "cannot write to $OUT" >&2; exit 1; }
}
for entry in "${queue[@]}"; do
    pde=${entry%%:*}; length=$minutes; [ "$entry" = "$pde" ] || length=${entry#*:}
    mkdir -p "$work/$pde"
    train "$pde" "$length" || { failed+=("$pde"); continue; }
    finish
    evaluate "$pde" & evaluating=$!; evaluated=$pde
done
finish
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}; their logs are $work/PDE/PDE.log, and the same command goes on where they stopped" >&2
    exit 1
fi
echo "done: ${pdes[*]}"
