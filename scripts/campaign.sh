#!/usr/bin/env bash
# The queue of shipped models: trains those that are named, one after the other, from nothing or on from what an earlier call has kept. Needs a GPU.
#
#   scripts/campaign.sh [MINUTES] [PDE...]
#   scripts/campaign.sh 20 darcy ns
#   MODEL=base RECIPE=full SETTINGS="" scripts/campaign.sh 20
#
# MINUTES of training each (default: 20); a minute or two of data and evaluation come on top, seven for the cylinder's data. Where
# $KEPT/PDE-int16.safetensors is (default of KEPT: results/kept), training goes on from there: a constant rate from stretch to stretch, and at the
# end of each it comes down for a model to ship. Whatever scripts/train-on-card.sh takes from the environment can be set here too.
#
# Models with their cards, weights to keep and logs go to $WORK/PDE (default: results/PDE). Called again, it does only what is missing, and
# the failure of one model does not stop the others. scripts/replace-model.py then puts a model into models/ if no condition of its card is worse. For machines that
# give back few files, $OUT, if it is set, gets PDE-int16.safetensors of every model that is done, and all models, cards and logs as an archive in
# pieces of at most 15 MB (`cat campaign.tar.gz.* | tar -xz`).
set -uo pipefail
minutes=${1:-20}; shift $(( $# < 1 ? $# : 1 ))
pdes=("$@"); [ $# -gt 0 ] || pdes=(poisson darcy ns helmholtz cylinder)
cd "$(dirname "$0")/.."
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

failed=()
for pde in "${pdes[@]}"; do
    mkdir -p "$work/$pde"
    from=$keep/$pde-int16.safetensors; [ -f "$from" ] || from=${FROM:-}
    echo "== $pde${from:+, on from $from}"
    if ! FROM=$from OUT=$work/$pde scripts/train-on-card.sh "$pde" "$minutes" "$recipe" "$model" "${settings[@]}" \
        2>&1 | tee -a "$work/$pde/$pde.log"; then
        failed+=("$pde")
    fi
    hand_out || { echo "cannot write to $OUT" >&2; exit 1; }
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}; their logs are $work/PDE/PDE.log, and the same command goes on where they stopped" >&2
    exit 1
fi
echo "done: ${pdes[*]}"
