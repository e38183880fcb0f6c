#!/usr/bin/env bash
# What several processes cost on a machine with one GPU, in about two minutes: NCCL with one rank beside none, two ranks on one
# GPU where the library allows it, and one rank's model beside that of no team.
#
#     scripts/benchmarks/scale-bench.sh
#
# Needs the program (SCOPE, or target/release/scope), bash, python3 and libnccl.so.2: from LD_LIBRARY_PATH, the system, or
# NVIDIA's wheel as PyTorch brings it. ROUNDS (5) is how often each side is measured in turn, SECONDS_EACH (2) how long, DRAWS
# (64000) how many examples the trainings see; OUT keeps the figures.
set -euo pipefail
cd "$(dirname "$0")/../.."
scope=$(realpath "${SCOPE:-target/release/scope}")
out=${OUT:-$(mktemp -d)}; rounds=${ROUNDS:-5}; seconds=${SECONDS_EACH:-2}
mkdir -p "$out"
wheel=$(python3 - <<'PYTHON' || true
import importlib.util
spec = importlib.util.find_spec("nvidia.nccl") if importlib.util.find_spec("nvidia") else None
print(next(iter(spec.submodule_search_locations), "") + "/lib" if spec else "")
PYTHON
)
export LD_LIBRARY_PATH="${wheel:+$wheel:}${LD_LIBRARY_PATH:-}"
echo "NCCL from ${wheel:-the loader}"

echo "== one rank beside none, $rounds rounds in turn"
measure() { "$scope" bench train --device cuda --seconds "$seconds" --json "${@:2}" >"$out/$1.json"; }
for case in "base-fo-32 --model base --objective fo --batch 32" "base-full-32 --model base --objective full --batch 32" \
    "small-muon-32 --model small --objective fo --batch 32 --optimizer muon"; do
    set -- $case; name=$1; shift
    for round in $(seq "$rounds"); do
        measure "$name-none-$round" "$@"
        measure "$name-nccl-$round" "$@" --nccl
    done
done
python3 - "$out" "$rounds" <<'PYTHON'
import json, statistics, sys
out, rounds = sys.argv[1], int(sys.argv[2])
print(f"{'step':<16}{'none ms':>10}{'NCCL ms':>10}{'ratio':>9}{'of each round':>30}")
for name in ("base-fo-32", "base-full-32", "small-muon-32"):
    read = lambda side, k: json.load(open(f"{out}/{name}-{side}-{k}.json"))["median_ms"]
    pairs = [(read("none", k), read("nccl", k)) for k in range(1, rounds + 1)]
    none, nccl = (statistics.median(side) for side in zip(*pairs))
    ratios = [b / a for a, b in pairs]
    print(f"{name:<16}{none:>10.3f}{nccl:>10.3f}{statistics.median(ratios):>9.4f}   {min(ratios):.4f} to {max(ratios):.4f}")
PYTHON

echo "== training: no team, one rank, and two ranks on one GPU"
data=$out/data
[ -d "$data" ] || "$scope" data generate poisson --count 2000 --out "$data" >/dev/null
run() { # NAME ARGUMENTS...
    rm -rf "$out/$1"
    local begin; begin=$(date +%s.%N)
    if "$scope" train --data "$data" --model small --recipe "$recipe" --draws "$draws" --log-every 50 --out "$out/$1" "${@:2}" >"$out/$1.txt" 2>&1; then
        echo "$1: $(python3 -c "print(f'{$(date +%s.%N) - $begin:.1f}')") s, last: $(tail -1 "$out/$1/metrics.jsonl" | cut -c1-160)"
    else
        echo "$1: FAILED: $(tail -3 "$out/$1.txt" | tr '\n' ' ')"
    fi
}
for recipe in full muon; do
    draws=${DRAWS:-64000}
    run "$recipe-alone" --device cuda:0
    run "$recipe-one-rank" --device cuda:0 --processes 1
    if cmp -s "$out/$recipe-alone/model.safetensors" "$out/$recipe-one-rank/model.safetensors"; then
        echo "$recipe: one rank gives the bytes of no team"
    else
        echo "$recipe: one rank gives other bytes than no team (algorithms are chosen by timing in each process: compare the losses)"
    fi
    NCCL_MULTI_RANK_GPU_ENABLE=1 run "$recipe-two-ranks" --device cuda:0 --processes 2
done
echo "A library before 2.30 refuses two ranks on one GPU (\"Duplicate GPU detected\" with NCCL_DEBUG=WARN)."

if command -v nsys >/dev/null; then
    echo "== whether reductions run beside the backward pass: kernels of two ranks over time"
    NCCL_MULTI_RANK_GPU_ENABLE=1 nsys profile -o "$out/overlap" --force-overwrite true -t cuda --cuda-graph-trace=node \
        "$scope" train --data "$data" --model small --recipe fo --draws 3200 --device cuda:0 --processes 2 --out "$out/profiled" >/dev/null 2>&1 &&
        nsys stats -q --report cuda_gpu_kern_sum "$out/overlap.nsys-rep" | grep -i -E "nccl|Time" | head -5
else
    echo "nsys is not here: no profile of the overlap"
fi
