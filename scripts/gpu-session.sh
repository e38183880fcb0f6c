#!/usr/bin/env bash
# What is to be done with half an hour of a GPU, in three calls of at most ten minutes each, on machines that begin bare
# and give back few files.
#
#   scripts/gpu-session.sh prepare [PEER] [RECIPE]    # here: the program, the tests that need a GPU, a PyTorch peer's folders
#   OUT=FOLDER scripts/gpu-session.sh 1               # there: the checkout with carry/ in it; FOLDER gets archives
#   scripts/gpu-session.sh keep FOLDER                # here again: what came back goes to results/
#   OUT=FOLDER scripts/gpu-session.sh tests cylinder:400      # parts by name, this one for 400 seconds at most
#
# 1  the self-test; then, on a GPU that nobody else uses, the problem of one's own: five minutes of `small`, two operators
# 2  the tests that need a GPU, several processes over NCCL, times of steps, inference and evaluation beside PyTorch's
# 3  the paper's recipes and decoders for three problems, 200,000 draws each; learning curves of Navier-Stokes
#
# Other parts: `operators` (the four, and a pair of auxiliary ones), `ablation` (seeds of SEEDS, for PDE), `time-to-error`
# (beside a recipe's trial.py), `cylinder` (a stretch of training for the shipped model). PROBLEMS (poisson,ns,darcy) are
# those of `paper` and `operators`.
#
# A call ends MINUTES (9) after its start, whatever is undone; a part that fails does not stop the others, and what a part
# says is in results/session-CALL. Records are made beside a call's first part, so that times are taken on a quiet machine.
# Called soon enough, the next call finds the machine as it was, and finishes what was cut.
# The program has no model built in: models/ travels with the checkout.
set -uo pipefail
call=${1:?say prepare, keep, 1, 2 or 3, or parts}
cd "$(dirname "$0")/.."

prepare() { # [PEER] [RECIPE]
    local folder built
    rm -rf carry && mkdir -p carry/peer carry/tests || return
    cargo build --release --locked -p scope-cli --no-default-features || return
    strip -o carry/scope target/release/scope && gzip -9 carry/scope || return
    # Test programs look for their files where they were compiled.
    pwd >carry/tests/root
    for folder in $(grep -rlE '#\[ignore = "needs an NVIDIA GPU' crates/*/tests | cut -d/ -f2 | sort -u); do
        built=$(cargo test --release --locked --no-run --message-format=json -p "$folder" | python3 -c 'import json, sys
built = (json.loads(line) for line in sys.stdin if line.startswith("{"))
print(*[one["executable"] for one in built if one.get("executable") and one["target"]["kind"] == ["test"]])') || return
        for built in $built; do
            strip -o "carry/tests/$folder" "$built" && gzip -9 "carry/tests/$folder" || return
        done
    done
    for folder in "$@"; do cp -f "$folder"/*.py carry/peer/ || return; done
    weigh
}
keep() { # FOLDER
    local archive
    for archive in "$1"/*.tar.gz "$1"/*.tar.gz.0; do
        [ -f "$archive" ] || continue
        cat "${archive%.0}"* | tar -xzf - || return
        echo "${archive%.0}: in results/"
    done
    weigh
}
# What travels to the next call: tracked and new files, and carry/.
weigh() {
    { git ls-files -coz --exclude-standard; find carry -type f -print0 2>/dev/null; } | sort -zu | xargs -0 stat -c %s 2>/dev/null |
        awk -v most="${MOST:-64}" '{ sum += $1 } END {
            printf "%.1f MiB travel to the next call\n", sum / 1048576
            if (sum > most * 1048576) { print "that is more than " most " MiB: move what it need not know out of results/"; exit 1 } }'
}
# A part of a call, for so many seconds at most.
part() { # NAME[:SECONDS]
    local name=${1%%:*} seconds=${1#*:} begun ended=0; begun=$(date +%s)
    [ "$seconds" != "$1" ] || seconds=86400
    DEADLINE=$(( begun + seconds < whole ? begun + seconds : whole ))
    "part_$name" >"$said/$name.txt" 2>&1 || ended=$?
    printf '%4d s  %s: %s after %d s\n' $(( SECONDS )) "$name" "$([ $ended = 0 ] && echo done || echo "ended with $ended")" \
        $(( $(date +%s) - begun )) | tee -a "$said/parts.txt"
    tail -n "${LINES_SHOWN:-6}" "$said/$name.txt" | cut -c1-200
    DEADLINE=$whole
    hand_out "session-$call" "$said"
}

part_selftest() {
    timed "$scope" doctor && timed "$scope" doctor --selftest --only attention && timed "$scope" doctor --selftest
}
part_tests() {
    local root program name failed=0
    root=$(cat carry/tests/root) || return
    [ -d "$root" ] && [ ! -L "$root" ] || { mkdir -p "$(dirname "$root")" && ln -sfn "$PWD" "$root"; } || return
    with_nccl
    for program in carry/tests/*.gz; do
        name=$(basename "$program" .gz)
        gzip -dc "$program" >"$WORK/$name" && chmod +x "$WORK/$name" || return
        echo "== $name"
        timed "$WORK/$name" --ignored --test-threads 1 || failed=$?
    done
    return $failed
}
part_own-problem() {
    [ "$call" != 2 ] || [ -d "$WORK/own-problem" ] || { echo "this machine has none of it"; return 0; }
    [ ! -f results/own-problem/placed.png ] || { echo "there are results"; return 0; }
    own_problem
}
own_problem() { COUNT=${OWN_COUNT:-20000} TEST=${OWN_TEST:-400} scripts/own-problem-gpu.sh "${OWN_MINUTES:-5}"; }
part_scale() { ROUNDS=${ROUNDS:-3} SECONDS_EACH=${SECONDS_EACH:-1} DRAWS=${SCALE_DRAWS:-16000} timed_script scripts/benchmarks/scale-bench.sh; }
part_bench() {
    SELFTEST=no ROUNDS=${ROUNDS:-2} SECONDS_EACH=${SECONDS_EACH:-0.5} PEER=${PEER:-base small} BUDGET=${BUDGET:-45} \
        ROWS=${BENCH_ROWS:-small muon base operators infer evaluate} scripts/benchmarks/gpu-bench.sh ${peer:+"$peer"}
}
paper() { scripts/paper.sh "${PROBLEMS:-poisson,ns,darcy}"; }
part_paper() { PARTS="recipes heads" DRAWS=${DRAWS:-200000} HEAD_DRAWS=${HEAD_DRAWS:-16000} paper; }
part_operators() {
    PARTS="operators auxiliary" DRAWS=${DRAWS:-200000} OPERATOR_DRAWS=${OPERATOR_DRAWS:-50000} \
        AUXILIARY=${AUXILIARY-aux-fno:auxiliary aux-fno:auxiliary-g} paper
}
part_curves() { scripts/studies/learning-curves.sh ns ${CURVES:-0.2 0.5 0.8}; }
part_ablation() { scripts/studies/ablation.sh "${PDE:-poisson}" "${DRAWS:-320000}" ${SEEDS:-1 2 3}; }
part_time-to-error() { DRAWS=${DRAWS:-80000 320000 1280000} PEER_DRAWS=${PEER_DRAWS-320000} scripts/benchmarks/time-to-error.sh ${peer:+"$peer"}; }
part_cylinder() { COUNT=${CYLINDER_COUNT:-14000} EACH=${EACH:-8} scripts/models/campaign.sh "${STRETCH:-1}" cylinder; }

# The records of parts to come.
records_of() { # PART...
    local name
    for name in "${@%%:*}"; do
        case $name in
        own-problem) RECORDS=only own_problem ;;
        curves) training_records ns && test_records ns ;;
        ablation) training_records "${PDE:-poisson}" && test_records "${PDE:-poisson}" ;;
        cylinder) COUNT=${CYLINDER_COUNT:-14000} EVALUATE=records OUT=results/cylinder-${STRETCH:-1} scripts/models/train-model.sh cylinder ;;
        esac
    done
}

# The parts of a call, each with the seconds that it has at most.
case $call in
prepare | keep) shift; "$call" "$@"; exit ;;
1) set -- selftest:140 own-problem ;;
2) set -- own-problem:60 tests:140 scale:150 bench ;;
3) set -- paper:370 curves ;;
*) call=$(IFS=_; echo "${*%%:*}") ;;
esac
for name in "${@%%:*}"; do
    declare -F "part_$name" >/dev/null || { echo "$name is no part, and no call: 1, 2 or 3" >&2; exit 2; }
done

[ -z "${OUT:-}" ] || export PACKED=$OUT
unset OUT
export MINUTES=${MINUTES:-9} WORK=${WORK:-/tmp/scope-work} PYTHONUNBUFFERED=1
mkdir -p "$WORK"
if [ -z "${SCOPE:-}" ]; then
    gzip -dc carry/scope.gz >"$WORK/scope" && chmod +x "$WORK/scope" || exit 1
    export SCOPE=$WORK/scope
fi
source scripts/session.sh
said=results/session-$call; whole=$DEADLINE
mkdir -p "$said"

peer=$([ ! -f carry/peer/bench.py ] || echo carry/peer)
records_of "${@:2}" >"$said/records.txt" 2>&1 & making=$!
part "$1"; shift
wait "$making"
for one in "$@"; do part "$one"; done
