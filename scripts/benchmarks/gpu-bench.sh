#!/usr/bin/env bash
# Checks a GPU against the processor, then times training steps, inference and evaluation on it, several rounds in turn.
# With the folder of a PyTorch peer that has a bench.py, times that too, in the same run, and prints the ratios.
#
#     scripts/benchmarks/gpu-bench.sh [FOLDER OF THE PEER]
#
# ROUNDS (3) of SECONDS_EACH (1) for every row, of which the median counts; ROWS ("base small muon operators infer
# evaluate") are those that are measured, SELFTEST=no leaves the check out. PyTorch gets BUDGET (100) seconds for each
# kind of work of each of PEER ("base small"), SCOPE's two sizes. OUT (results/gpu-bench) keeps the figures, table.md
# among them; a row that is there is not measured again. SCOPE is the program; WORK, MINUTES and PACKED are those of
# scripts/session.sh.
set -euo pipefail
peer=${1:+$(realpath "$1")}
cd "$(dirname "$0")/../.."
source scripts/session.sh
out=${OUT:-results/gpu-bench}; rounds=${ROUNDS:-3}; each=${SECONDS_EACH:-1}
read -ra rows <<<"${ROWS-base small muon operators infer evaluate}"
mkdir -p "$out" "$work"
# The table of what there is, however it ends.
table() {
    scripts/benchmarks/gpu-table.py "$out" >"$out/.table" && mv "$out/.table" "$out/table.md" && cat "$out/table.md"
    hand_out gpu-bench "$out"
}
trap table EXIT
[ "${SELFTEST:-yes}" = no ] || timed "$scope" doctor --selftest | tee "$out/selftest.txt" | tail -5

# A command's JSON, whole or not at all; a row that fails is left out and said.
measure() { # NAME COMMAND...
    local file=$out/$1.json; shift
    [ ! -s "$file" ] || return 0
    if timed "$@" >"$file.part" 2>"$file.err"; then
        mv "$file.part" "$file"; rm -f "$file.err"
    else
        local status=$?
        [ "$status" != "$stopped" ] || return "$status"
        echo "left out: $* ($(tail -1 "$file.err"))" >&2
    fi
}
step() { # ROUND NAME ARGUMENTS...
    local round=$1 name=$2; shift 2
    measure "$name-$round" "$scope" bench train "$@" --device "$device" --seconds "$each" --json
}
batch=${BATCH:-32}
row() { # NAME ROUND
    local objective model precision
    case $1 in
    base)
        for objective in fo full full-idle sp-10m; do
            step "$2" "base-$objective" --model "${BASE:-base}" --objective $objective --batch "$batch"
        done ;;
    small)
        for objective in fo full; do
            step "$2" "small-$objective" --model "${SMALL:-small}" --objective $objective --batch "$batch"
        done ;;
    muon) # The recipe muon-fits: its optimizer and its local fits.
        step "$2" small-muon --model "${SMALL:-small}" --batch "$batch" --optimizer muon
        step "$2" small-muon-fits --model "${SMALL:-small}" --batch "$batch" --optimizer muon --fits 4,8 ;;
    operators)
        for model in ${BENCH_OPERATORS-aux-fno aux-deeponet aux-unet aux-cno}; do
            step "$2" "$model" --model "$model" --batch "$batch"
        done ;;
    infer)
        for model in ${INFER-base small}; do
            for precision in bf16 f32; do
                measure "infer-$model-$precision-$2" "$scope" bench infer --model "$model" --batch "${BATCHES:-1,32,256}" \
                    --precision $precision --device "$device" --seconds "$each" --json
            done
        done ;;
    evaluate) evaluation "$2" ;;
    esac
}
# Seconds of `scope evaluate` in f32 on few and on many records: what is between them is the rate, start left out.
evaluation() { # ROUND
    local count file=$out/evaluate-$1.json begun times=() few=${FEW:-200} many=${MANY:-2000}
    [ ! -s "$file" ] || return 0
    records poisson test "$many" 20261013 "$work/bench-records" >/dev/null
    for count in "$few" "$many"; do
        begun=$(date +%s.%N)
        timed "$scope" evaluate --run "${EVALUATED:-models/poisson.safetensors}" --data "$work/bench-records" \
            --limit "$count" --no-interpolation --device "$device" --out "$work/bench-evaluation-$1-$count" >/dev/null
        times+=("$(awk -v begun="$begun" -v now="$(date +%s.%N)" 'BEGIN { print now - begun }')")
    done
    echo "{\"few\": $few, \"many\": $many, \"seconds\": [${times[0]}, ${times[1]}]}" >"$file"
}
for round in $(seq "$rounds"); do
    for name in "${rows[@]}"; do row "$name" "$round"; done
done

# The peer's bench.py on its own model, or on one of SCOPE `small`'s size.
pytorch() { # SIZE NAME ARGUMENTS...
    local size=$1 name=$2 budget=${BUDGET:-100} most; shift 2
    [ ! -s "$out/$name.json" ] || return 0
    # It writes its figures at its end, half a minute after it has begun the last row at most.
    most=$(( $(left) - 30 )); [ "$budget" -le "$most" ] || budget=$most
    [ "$budget" -ge 15 ] || { echo "PyTorch's $name is left out: $(left) s are left" >&2; return 0; }
    timed python3 -c '
import runpy, sys
size, peer, *arguments = sys.argv[1:]
sys.path.insert(0, peer)
import scope_torch
if size == "small":
    # What it calls small is for tests; its Cfg stays, because it asserts what that one counts.
    scope_torch.SMALL = scope_torch.Cfg(width=256, depth=6, heads=8, latent=128)
    arguments.append("--small")
sys.argv = ["bench.py", *arguments]
runpy.run_path(f"{peer}/bench.py", run_name="__main__")' "$size" "$peer" --device "$device" --budget "$budget" "$@" \
        --json "$out/$name.part" >"$out/$name.txt" 2>&1 && mv "$out/$name.part" "$out/$name.json" ||
        echo "PyTorch's $name has no figures: $(tail -1 "$out/$name.txt")" >&2
}
if [ -n "$peer" ]; then
    for size in ${PEER-base small}; do
        # Compiling takes most of the time: each kind of work has a file, so that another call measures what this one cut.
        for mode in train-fo train-full infer; do
            pytorch "$size" "peer-$size-$mode" --variants bf16+compile+graph --modes "$mode"
        done
        [ "$size" != base ] || pytorch base peer-sp --variants bf16+graph,bf16+compile+graph --modes sp-adapt
    done
fi
