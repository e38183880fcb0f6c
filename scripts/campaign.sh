#!/usr/bin/env bash
# All five models from nothing, one after the other: what models/ holds, and the evaluations behind docs/RESULTS.md. Needs a card.
#
#   scripts/campaign.sh [MINUTES] [PDE...]
#   MODEL=base RECIPE=full SETTINGS="" scripts/campaign.sh 20
#   scripts/campaign.sh 20 darcy ns
#
# MINUTES of training each (default: 20); a minute or two of data and evaluation come on top, seven for the cylinder's data. Whatever
# scripts/train-on-card.sh takes from the environment can be set here too.
#
# Models with their cards, kept weights and logs go to $WORK/PDE (default: results/PDE). Called again, it does only what is missing, and
# the failure of one model does not stop the others. For machines that give back few files, $OUT, if it is set, gets the kept weights
# PDE-int16.safetensors of every model that is done, and all models, cards and logs as an archive in pieces of at most 15 MB (`cat campaign.tar.gz.* |
# tar -xz`): nine files or so, none above 15 MB for models of size small.
set -uo pipefail
minutes=${1:-20}; shift $(( $# < 1 ? $# : 1 ))
pdes=("$@"); [ $# -gt 0 ] || pdes=(poisson darcy ns helmholtz cylinder)
cd "$(dirname "$0")/.."
work=${WORK:-results}; recipe=${RECIPE:-fo}; model=${MODEL:-small}
read -ra settings <<<"${SETTINGS-peak_rate=6e-4}"
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
    echo "== $pde"
    mkdir -p "$work/$pde"
    if ! OUT=$work/$pde scripts/train-on-card.sh "$pde" "$minutes" "$recipe" "$model" "${settings[@]}" \
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
