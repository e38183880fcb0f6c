#!/usr/bin/env bash
# What is to be done with half an hour of a GPU, in three calls of at most ten minutes each, on machines that begin bare
# and give back few files.
#
#   scripts/gpu-session.sh prepare [PEER] [RECIPE]    # here: the program, and a PyTorch peer's folders, packed into carry/
#   OUT=FOLDER scripts/gpu-session.sh 1               # there: the checkout with carry/ in it; FOLDER gets archives
#   scripts/gpu-session.sh keep FOLDER                # here again: what came back goes to results/, and into carry/ for the next call
#
# 1  self-test (with attention over any 32 to 256 tokens), several processes, times of steps, inference and evaluation,
#    then the paper's recipes and decoders for Poisson, Navier-Stokes and Darcy, 200,000 draws each
# 2  four operators with 50,000 draws for the same problems, a pair of auxiliary operators with grounding and without,
#    then what the first call has left undone
# 3  learning curves of Navier-Stokes while records of the cylinder are made, then a stretch of training for the
#    cylinder's model
#
# A call ends MINUTES (9.3) after its start, whatever is undone; a part that fails does not stop the others, and what a
# part says is in results/session-CALL. The program has no model built in, so that it is 9 MB: models/ travels with the
# checkout.
set -uo pipefail
call=${1:?say prepare, keep, 1, 2 or 3}
cd "$(dirname "$0")/.."

prepare() { # [PEER] [RECIPE]
    cargo build --release -p scope-cli --no-default-features || return
    mkdir -p carry/peer && strip -o carry/scope target/release/scope && gzip -9f carry/scope || return
    local folder
    for folder in "$@"; do cp -f "$folder"/*.py carry/peer/ || return; done
    du -ch carry/* | tail -1
}
keep() { # FOLDER
    local archive name pieces
    for archive in "$1"/*.tar.gz "$1"/*.tar.gz.0; do
        [ -f "$archive" ] || continue
        name=${archive%.0}; pieces=("$name"*)
        cat "${pieces[@]}" | tar -xzf - || return
        echo "$name: in results/"
        # The next call has to know what is done, but not the weights.
        [[ $name != *stretch-* ]] || continue
        mkdir -p carry/results && cat "${pieces[@]}" >"carry/results/${name##*/}" || return
    done
}
case $call in
prepare | keep) shift; "$call" "$@"; exit ;;
1 | 2 | 3) ;;
*) echo "$call is no call: 1, 2 or 3" >&2; exit 2 ;;
esac

[ -z "${OUT:-}" ] || export PACKED=$OUT
unset OUT
export MINUTES=${MINUTES:-9.3} WORK=${WORK:-/tmp/scope-work} PYTHONUNBUFFERED=1
mkdir -p "$WORK"
if [ -z "${SCOPE:-}" ]; then
    gzip -dc carry/scope.gz >"$WORK/scope" && chmod +x "$WORK/scope" || exit 1
    export SCOPE=$WORK/scope
fi
for archive in carry/results/*.tar.gz; do [ ! -f "$archive" ] || tar -xzf "$archive"; done
source scripts/session.sh
said=results/session-$call
mkdir -p "$said"
trap 'hand_out "session-$call" "$said"' EXIT
whole=$DEADLINE

# A part of a call, for so many seconds at most.
part() { # NAME SECONDS COMMAND...
    local name=$1 seconds=$2 begun ended=0; shift 2; begun=$(date +%s)
    DEADLINE=$(( begun + seconds < whole ? begun + seconds : whole ))
    "$@" >"$said/$name.txt" 2>&1 || ended=$?
    printf '%4d s  %s: %s after %d s\n' $(( SECONDS )) "$name" "$([ $ended = 0 ] && echo done || echo "ended with $ended")" \
        $(( $(date +%s) - begun )) | tee -a "$said/parts.txt"
    tail -n "${LINES_SHOWN:-6}" "$said/$name.txt" | cut -c1-200
    DEADLINE=$whole
}
selftest() { timed "$scope" doctor && timed "$scope" doctor --selftest; }
# The records that a call trains on, made while the processor has nothing else to do.
data() { # PDE...
    local pde
    for pde in "$@"; do training_records "$pde" && test_records "$pde" || return; done
}
paper() { scripts/paper.sh "${PROBLEMS:-poisson,ns,darcy}"; }
peer=$([ -f carry/peer/bench.py ] && echo carry/peer)

case $call in
1)
    # The rest of the records is made while networks train: times are taken on a quiet machine.
    data poisson >"$said/data.txt" 2>&1 & making=$!
    part selftest 150 selftest
    wait "$making"
    part scale 110 timed_script env ROUNDS=2 SECONDS_EACH=1 DRAWS=16000 OUT="$WORK/scale" scripts/benchmarks/scale-bench.sh
    part gpu-bench 190 env SELFTEST=no ROUNDS=2 SECONDS_EACH=0.5 PEER=small BUDGET=45 ROWS="small muon base operators infer evaluate" \
        ${BENCH:-} scripts/benchmarks/gpu-bench.sh ${peer:+"$peer"}
    PARTS="recipes heads" DRAWS=${DRAWS:-200000} HEAD_DRAWS=${HEAD_DRAWS:-16000} part paper 600 paper
    ;;
2)
    PARTS="operators auxiliary" OPERATOR_DRAWS=${OPERATOR_DRAWS:-50000} DRAWS=${DRAWS:-200000} \
        AUXILIARY=${AUXILIARY-aux-fno:auxiliary aux-fno:auxiliary-g} part operators 600 paper
    PARTS="recipes heads" DRAWS=${DRAWS:-200000} HEAD_DRAWS=${HEAD_DRAWS:-16000} part paper 600 paper
    ;;
3)
    COUNT=${NS_COUNT:-50000} part data 120 data ns
    export COUNT=${COUNT:-14000}
    EVALUATE=records scripts/models/train-model.sh cylinder >"$said/cylinder-data.txt" 2>&1 & making=$!
    part curves 220 scripts/studies/learning-curves.sh ns ${CURVES:-0.2 0.5}
    wait "$making"
    EACH=${EACH:-8} part cylinder 600 scripts/models/campaign.sh 1 cylinder
    ;;
esac
