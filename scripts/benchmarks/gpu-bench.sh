#!/usr/bin/env bash
# Checks a GPU against the processor, then times steps and inference of the base model on it. With the folder of a
# PyTorch peer that has a bench.py, times that too, in the same run, and prints the ratios.
#
#     scripts/benchmarks/gpu-bench.sh [FOLDER OF THE PEER]
#
# Builds first where cargo is at hand; elsewhere SCOPE names the program.
set -euo pipefail
peer=${1:-}
out=${OUT:-$(mktemp -d)}
scope=${SCOPE:-}
if [ -z "$scope" ]; then
    cargo build --release
    scope=target/release/scope
fi
"$scope" doctor --selftest
for objective in fo full full-idle sp-10m; do
    "$scope" bench train --model base --objective "$objective" --batch 32 --device cuda --json >"$out/$objective.json"
done
"$scope" bench infer --model base --batch 1,32,256 --precision bf16 --device cuda --json >"$out/infer.json"
if [ -n "$peer" ]; then
    python3 "$peer/bench.py" --device cuda --variants bf16+compile+graph --modes train-full,train-fo,infer \
        --budget "${BUDGET:-200}" --json "$out/peer.json" >"$out/peer.txt"
    python3 "$peer/bench.py" --device cuda --variants bf16+graph,bf16+compile+graph --modes sp-adapt \
        --budget "${BUDGET:-200}" --json "$out/peer-sp.json" >>"$out/peer.txt"
fi
python3 - "$out" <<'PYTHON'
import json, os, sys

out = sys.argv[1]
read = lambda name: json.load(open(f"{out}/{name}.json"))
names = {"fo": "train-fo", "full": "train-full", "full-idle": "train-full-skipv", "sp-10m": "sp-adapt-10m"}
ours = [(names[name], 32, read(name)["median_ms"]) for name in names]
ours += [("infer", row["batch"], row["median_ms"]) for row in read("infer")]
best, held = {}, {}
for name in ("peer", "peer-sp"):
    for row in read(name)["rows"] if os.path.exists(f"{out}/{name}.json") else []:
        key = (row["mode"], row["batch"])
        best[key] = min(best.get(key, row["ms"]), row["ms"])
        held[key] = min(held.get(key, row["gib"]), row["gib"])
print(f"{'work':<18}{'batch':>6}{'ours ms':>10}{'peer ms':>10}{'ratio':>8}")
for name, batch, ms in ours:
    theirs = best.get((name, batch))
    print(f"{name:<18}{batch:>6}{ms:>10.3f}" + (f"{theirs:>10.3f}{ms / theirs:>8.2f}" if theirs else ""))
print("memory held by our allocator, and the peak of the peer's tensors, GiB:")
for name, key in names.items():
    theirs = held.get((key, 32))
    print(f"{key:<18}{32:>6}{read(name)['memory_gib']:>10.2f}" + (f"{theirs:>10.2f}" if theirs else ""))
PYTHON
