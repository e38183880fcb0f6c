#!/usr/bin/env bash
# The shipped models trained for longer, in numbered stretches: each goes on from the one before, or from the shipped
# model where that is not at hand. A model is evaluated while the next one trains, and takes the place of the shipped
# one if no condition of its card is worse. Needs a GPU.
#
#   scripts/models/campaign.sh STRETCH [PDE[:MINUTES]...]
#   scripts/models/campaign.sh 1                                 # all five from models/, five minutes each
#   MINUTES=9.5 scripts/models/campaign.sh 2 cylinder ns:3       # go on from the first stretch, within nine and a half minutes
#   EACH=20 scripts/models/campaign.sh 0 poisson                 # from nothing
#
# A stretch is a whole schedule (warm-up and cosine) at half the recipe's rates, with local fits measured anew and 15%
# of the batches at 500 uniform points; stretch 0 has the recipe's own rates. SETTINGS replaces all that. Each model is
# trained for EACH (5) minutes or those beside its name; with a limit on all, MINUTES, for no more than leaves RESERVE
# (100) seconds to evaluate, and not for less than LEAST (1) minutes. Data come on top: on 16 cores a minute, four for
# the cylinder's (COUNT=14000 for fewer records).
#
# Leaves models, cards, weights to go on from and logs in $RESULTS/PDE-STRETCH (default: results), and what was decided
# in $RESULTS/stretch-STRETCH.txt. Called again, it does only what is missing, on another machine too; the failure of
# one model does not stop the others. MODELS (models) is where shipped models are; RECIPE (muon-fits) and MODEL (small;
# of stretch 0); WORK, MINUTES and PACKED are those of scripts/session.sh. Whatever scripts/models/train-model.sh takes
# from the environment can be set here too.
set -uo pipefail
stretch=${1:?say which stretch: 1, 2, ...; 0 trains from nothing}; shift
queue=("$@"); [ $# -gt 0 ] || queue=(poisson darcy ns helmholtz cylinder)
cd "$(dirname "$0")/../.."
source scripts/session.sh
results=${RESULTS:-results}; models=${MODELS:-models}; each=${EACH:-5}; reserve=${RESERVE:-100}; least=${LEAST:-1}
usual="sensors.noise_share=0.25 sensors.few_share=0.25"
[ "$stretch" = 0 ] || usual="$usual peak_rate=3e-4 muon.rate=5e-4 floor_rate=3e-6 fits.renew=true sensors.sparse_share=0.15"
read -ra settings <<<"${SETTINGS-$usual}"
verdicts=$results/stretch-$stretch.txt
mkdir -p "$results" || exit 1

# The weights that a stretch begins with; none for the first of all.
start() { # PDE
    [ "$stretch" != 0 ] || return 0
    local earlier=$results/$1-$(( stretch - 1 ))/$1-int16.safetensors
    [ -f "$earlier" ] || earlier=$models/$1.safetensors
    echo "$earlier"
}
# The minutes that a model is trained for; a run that goes on has the length it was begun with.
length() { # PDE WANTED MODELS-TO-COME
    local file=$work/$1-$stretch.minutes
    [ -f "$work/$1-$stretch-run/config.toml" ] || awk -v left="$(left)" -v reserve="$reserve" -v models="$3" -v wanted="$2" \
        'BEGIN { most = (left - reserve) / models / 60; print most < wanted ? most : wanted }' >"$file"
    cat "$file"
}
train() { # PDE MINUTES MODELS-TO-COME
    local pde=$1 out=$results/$1-$stretch from minutes; from=$(start "$pde")
    [ ! -f "$out/$pde-run.tar.gz" ] || return 0
    EVALUATE=records OUT=$out scripts/models/train-model.sh "$pde" || return
    minutes=$(length "$pde" "$2" "$3")
    if awk -v minutes="$minutes" -v wanted="$2" -v least="$least" \
        'BEGIN { exit minutes >= least || minutes >= wanted }'; then
        echo "too little time is left to train $pde and to evaluate it"
        return $stopped
    fi
    echo "== $pde, stretch $stretch${from:+, on from $from}, $minutes minutes"
    FROM=$from OUT=$out EVALUATE=no scripts/models/train-model.sh "$pde" "$minutes" "${RECIPE:-muon-fits}" "${MODEL:-small}" \
        ${settings[@]+"${settings[@]}"}
}
# Evaluates a model, and puts it in the place of the shipped one if nothing is worse.
evaluate() { # PDE
    local out=$results/$1-$stretch
    OUT=$out scripts/models/evaluate-model.sh "$1" || return
    [ -f "$out/verdict" ] || scripts/models/replace-model.py "$out/$1.toml" "$models" >"$out/verdict" 2>&1 || true
    cat "$out/verdict"
}
decided() {
    local entry pde
    for entry in "${queue[@]}"; do
        pde=${entry%%:*}
        [ ! -f "$results/$pde-$stretch/verdict" ] || tail -2 "$results/$pde-$stretch/verdict" | sed "s/^/$pde: /"
    done
}

failed=(); status=0; evaluating=; evaluated=
fail() { # PDE STATUS
    failed+=("$1")
    [ "$status" = 1 ] || status=$(( $2 == stopped ? stopped : 1 ))
}
# Waits for the evaluation in the background, if there is one, and hands out what is done.
finish() {
    [ -n "$evaluating" ] || return 0
    wait "$evaluating" || fail "$evaluated" $?
    evaluating=
    decided >"$verdicts"
    hand_out "stretch-$stretch" "$verdicts" $(for entry in "${queue[@]}"; do echo "$results/${entry%%:*}-$stretch"; done)
}
to_come=${#queue[@]}
for entry in "${queue[@]}"; do
    pde=${entry%%:*}; minutes=$each; [ "$entry" = "$pde" ] || minutes=${entry#*:}
    log=$results/$pde-$stretch/$pde.log
    mkdir -p "$results/$pde-$stretch" "$work"
    train "$pde" "$minutes" "$to_come" 2>&1 | tee -a "$log"; ended=${PIPESTATUS[0]}
    to_come=$(( to_come - 1 ))
    [ "$ended" = 0 ] || { fail "$pde" "$ended"; continue; }
    finish
    evaluate "$pde" > >(tee -a "$log") 2>&1 & evaluating=$!; evaluated=$pde
done
finish
if [ ${#failed[@]} -gt 0 ]; then
    echo "not done: ${failed[*]}; their logs are $results/PDE-$stretch/PDE.log, and the same call goes on" >&2
    exit "$status"
fi
decided
