#!/usr/bin/env bash
# What several processes cost and gain on a machine with GPUs, in seven or eight minutes: NCCL with one rank beside none,
# whether reductions hide beside the backward pass, and trainings of several ranks, one of which is killed.
#
#     scripts/benchmarks/scale-bench.sh
#
# There are eight ranks, four or two, each with a GPU of its own. Where there is one GPU only, two share it, which NCCL
# allows from version 2.30 on: through MPS where that is installed, else in turn, which says little of the overlap.
#
# Needs bash, python3, nvidia-smi and libnccl.so.2: from LD_LIBRARY_PATH, the
# system, or NVIDIA's wheel as PyTorch brings it. ROUNDS (3) is how often each side is measured in turn, SECONDS_EACH (2)
# how long, STEPS (150) how many steps of several ranks, DRAWS (32000) how many examples the trainings see; what would begin
# more than LIMIT (460) seconds after the start is left out, and said so. OUT (results/scale-bench) gets two files: report.txt,
# and all figures in scale-bench.tar.gz. SCOPE is the program; MINUTES and PACKED are those of scripts/session.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/session.sh
out=${OUT:-results/scale-bench}; rounds=${ROUNDS:-3}; seconds=${SECONDS_EACH:-2}; steps=${STEPS:-150}; draws=${DRAWS:-32000}
mkdir -p "$out"
work=$(mktemp -d); mps=
finish() {
    [ -z "$mps" ] || echo quit | nvidia-cuda-mps-control >/dev/null 2>&1 || true
    tar -C "$work" --exclude=./mps --exclude=data --exclude=model.safetensors --exclude=state -czf "$out/scale-bench.tar.gz" . || true
    rm -rf "$work"
    hand_out scale-bench "$out"
}
trap finish EXIT
exec > >(tee "$out/report.txt") 2>&1
in_time() { [ $SECONDS -lt "${LIMIT:-460}" ] && [ "$(left)" -gt 10 ] || { echo "NOT MEASURED for want of time: $1"; false; }; }

with_nccl
gpus=$(nvidia-smi --list-gpus | wc -l)
ranks=$((gpus < 4 ? 2 : gpus < 8 ? 4 : 8))
nccl=$(python3 -c 'import ctypes
version = ctypes.c_int()
ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(version))
print(version.value)' 2>/dev/null) || nccl="of unknown version"
echo "$("$scope" --version), GPUs: $gpus, ranks: $ranks, NCCL $nccl from ${wheel:-the loader}"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sort | uniq -c
if [ "$gpus" = 1 ]; then
    export NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_MAX_CTAS=8
    if command -v nvidia-cuda-mps-control >/dev/null; then
        export CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$work/mps-log
        mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
        if nvidia-cuda-mps-control -d; then mps=1; fi
    fi
    if [ -n "$mps" ]; then echo "both share the GPU at the same time, through MPS"; else echo "both share the GPU in turn: MPS is not here"; fi
fi
cases=("base-fo --model base --objective fo" "base-full --model base --objective full"
    "small-muon --model small --objective fo --optimizer muon")

echo "== one rank beside none, $rounds rounds in turn"
alone() { "$scope" bench train --device cuda --seconds "$seconds" --batch 32 --json "${@:2}" >"$work/$1.json"; }
for case in "${cases[@]}"; do
    # shellcheck disable=SC2086
    set -- $case; name=$1; shift
    for round in $(seq "$rounds"); do
        in_time "$name, round $round" || continue
        alone "$name-none-$round" "$@"
        alone "$name-nccl-$round" "$@" --nccl
    done
done
python3 - "$work" "$rounds" <<'PYTHON'
import json, os, statistics, sys
work, rounds = sys.argv[1], int(sys.argv[2])
print(f"{'step':<12}{'none ms':>10}{'NCCL ms':>10}{'ratio':>9}   of each round")
for name in ("base-fo", "base-full", "small-muon"):
    path = lambda side, k: f"{work}/{name}-{side}-{k}.json"
    read = lambda side, k: json.load(open(path(side, k)))["median_ms"]
    pairs = [(read("none", k), read("nccl", k)) for k in range(1, rounds + 1) if os.path.exists(path("nccl", k))]
    if pairs:
        none, nccl = (statistics.median(side) for side in zip(*pairs))
        ratios = [b / a for a, b in pairs]
        print(f"{name:<12}{none:>10.3f}{nccl:>10.3f}{statistics.median(ratios):>9.4f}   {min(ratios):.4f} to {max(ratios):.4f}")
PYTHON

echo "== $ranks ranks: gradients reduced beside the backward pass, between its operations, and never"
together() { # NAME ARGUMENTS...: the median step of ranks that take as many steps each
    local port=$((20000 + RANDOM % 20000)) pids=() rank failed=
    for rank in $(seq 0 $((ranks - 1))); do
        RANK=$rank WORLD_SIZE=$ranks LOCAL_RANK=$rank LOCAL_WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
            timeout --foreground 60 "$scope" bench train --device cuda --nccl --steps "$steps" --batch 32 --json "${@:2}" \
            >"$work/$1-rank$rank.json" 2>"$work/$1-rank$rank.txt" &
        pids+=($!)
    done
    for rank in $(seq 0 $((ranks - 1))); do
        wait "${pids[$rank]}" || { failed=1; echo "$1, rank $rank FAILED: $(tail -2 "$work/$1-rank$rank.txt" | tr '\n' ' ')"; }
    done
    [ -z "$failed" ]
}
works=1
untried() { [ -n "$works" ] || echo "NOT TRIED, because $ranks ranks did not work above: $1"; }
for case in "${cases[@]}"; do
    # shellcheck disable=SC2086
    set -- $case; name=$1; shift
    for round in $(seq "$rounds"); do
        for when in never beside between; do
            # What does not work once is not tried again: a rank that hangs takes a minute.
            [ -n "$works" ] && in_time "$name, $when, round $round" || continue
            together "$name-$when-$round" "$@" --reduction $when || works=
        done
    done
done
python3 - "$work" "$rounds" <<'PYTHON'
import json, os, statistics, sys
work, rounds = sys.argv[1], int(sys.argv[2])
print(f"{'step':<12}{'never ms':>10}{'beside ms':>11}{'between ms':>12}   hidden share of what reductions take: (between - beside) / (between - never)")
for name in ("base-fo", "base-full", "small-muon"):
    def median(when):
        paths = [f"{work}/{name}-{when}-{k}-rank0.json" for k in range(1, rounds + 1)]
        times = [json.load(open(path))["median_ms"] for path in paths if os.path.exists(path) and os.path.getsize(path)]
        return statistics.median(times) if times else None
    never, beside, between = (median(when) for when in ("never", "beside", "between"))
    if None not in (never, beside, between):
        share = f"{(between - beside) / (between - never):.0%}" if between > never else "nothing to hide"
        print(f"{name:<12}{never:>10.3f}{beside:>11.3f}{between:>12.3f}   {share}")
PYTHON

echo "== training: no team, one rank, and $ranks ranks"
untried "training of $ranks ranks"
"$scope" data generate poisson --count 2000 --out "$work/data" >/dev/null
run() { # NAME ARGUMENTS...
    in_time "$1" || return 0
    local begin; begin=$(date +%s.%N)
    if timeout --foreground 100 "$scope" train --data "$work/data" --model small --draws "$draws" --log-every 50 --out "$work/$1" "${@:2}" >"$work/$1.txt" 2>&1; then
        echo "$1: $(python3 -c "print(f'{$(date +%s.%N) - $begin:.1f}')") s, last: $(tail -1 "$work/$1/metrics.jsonl" | cut -c1-160)"
    else
        echo "$1 FAILED: $(tail -3 "$work/$1.txt" | tr '\n' ' ')"
    fi
}
for recipe in full muon; do
    run "$recipe-alone" --recipe $recipe --device cuda:0
    run "$recipe-one-rank" --recipe $recipe --device cuda:0 --processes 1
    models=("$work/$recipe"-{alone,one-rank}/model.safetensors)
    if ! [ -f "${models[0]}" ] || ! [ -f "${models[1]}" ]; then
        echo "$recipe: not compared"
    elif cmp -s "${models[@]}"; then
        echo "$recipe: one rank gives the bytes of no team"
    else
        echo "$recipe: one rank gives other bytes than no team (algorithms are chosen by timing in each process: compare the losses)"
    fi
    # Every save compares the states of all ranks: a run that ends has one model.
    [ -z "$works" ] || run "$recipe-ranks" --recipe $recipe --device cuda:0 --processes $ranks
done
[ -z "$works" ] || run "full-cap-every-4-ranks" --recipe full --set cap_every=4 --device cuda:0 --processes $ranks

echo "== a rank that is killed"
untried "a rank that is killed"
killed() {
    # In the place of the subshell, so that the processes are its own children.
    (exec timeout 100 "$scope" train --data "$work/data" --model small --recipe fo --draws 6400000 --device cuda:0 --processes $ranks --save-every 5 \
        --out "$work/killed" >"$work/killed.txt" 2>&1) & local launcher=$!
    until ls "$work"/killed/state/*/checkpoint.json >/dev/null 2>&1; do
        kill -0 $launcher 2>/dev/null || { echo "FAILED: $(tail -3 "$work/killed.txt" | tr '\n' ' ')"; return; }
        sleep 0.2
    done
    local children program begin=$SECONDS
    # These files end without a newline, which `read` takes for a failure.
    read -r program _ <"/proc/$launcher/task/$launcher/children" || true
    read -ra children <"/proc/$program/task/$program/children" || true
    kill -KILL "${children[1]}"
    wait $launcher && echo "FAILED: nobody noticed"
    echo "all ended $((SECONDS - begin)) s later: $(grep -v '^ ' "$work/killed.txt" | tail -3 | tr '\n' ' ' | cut -c1-400)"
}
if [ -n "$works" ] && in_time "a killed rank"; then killed; fi
echo "done after $SECONDS s"
