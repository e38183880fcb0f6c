#!/usr/bin/env bash
# Our CPU times beside PyTorch's, in turn and on the same threads, as ratios.
#
#   scripts/benchmarks/compare-cpu.sh PEER [ROUNDS] [THREADS]
#
# PEER is a folder with bench.py: the same model and training step in PyTorch. Needs python3 with torch, and
# target/release/scope. Each round runs PyTorch and ours one after the other; the table gives medians over rounds.
set -euo pipefail
peer=$(realpath "$1"); rounds=${2:-3}; threads=${3:-2}
cd "$(dirname "$0")/../.."
scope=$PWD/target/release/scope
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT

for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    (cd "$peer" && PYTHONDONTWRITEBYTECODE=1 python3 bench.py --device cpu --threads "$threads" --modes infer \
        --seconds 3 --json "$work/peer-infer-$round.json" >/dev/null)
    "$scope" bench infer --device cpu --threads "$threads" --seconds 3 --json >"$work/own-infer-$round.json"
    (cd "$peer" && PYTHONDONTWRITEBYTECODE=1 python3 bench.py --device cpu --threads "$threads" --modes train-fo \
        --variants f32 --seconds 8 --json "$work/peer-train-$round.json" >/dev/null)
    "$scope" bench train --device cpu --threads "$threads" --seconds 8 --json >"$work/own-train-$round.json"
done

python3 - "$work" "$rounds" <<'P'
import json, statistics, sys
folder, rounds = sys.argv[1], int(sys.argv[2])
read = lambda name: json.load(open(f"{folder}/{name}.json"))
times = {}
for k in range(1, rounds + 1):
    for row in read(f"peer-infer-{k}")["rows"]:
        times.setdefault(("inference", row["batch"], row["variant"]), []).append([row["ms"], None])
    for row in read(f"own-infer-{k}"):
        times[("inference", row["batch"], row["precision"])][-1][1] = row["median_ms"]
    peer, own = read(f"peer-train-{k}")["rows"][0], read(f"own-train-{k}")
    times.setdefault(("FO step", own["batch"], "f32"), []).append([peer["ms"], own["median_ms"]])
print("| work | batch | precision | PyTorch ms | ours ms | ratio |\n|---|---|---|---|---|---|")
for (work, batch, kind), pairs in times.items():
    peer, own = (statistics.median(side) for side in zip(*pairs))
    ratio = statistics.median(own / peer for peer, own in pairs)
    print(f"| {work} | {batch} | {kind} | {peer:.1f} | {own:.1f} | {ratio:.2f} |")
P
