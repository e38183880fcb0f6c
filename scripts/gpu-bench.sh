#!/usr/bin/env bash
# Checks a card against the processor, then times steps and inference of the base model on it. With the folder of a
# PyTorch peer that has a bench.py, times that too, in the same run, and prints the ratios.
#
#     scripts/gpu-bench.sh [FOLDER OF THE PEER]
#
# Builds first where cargo is at hand; elsewhere BIN names the folder that holds the two programs.
set -euo pipefail
peer=${1:-}
out=${OUT:-$(mktemp -d)}
bin=${BIN:-}
if [ -z "$bin" ]; then
    cargo build --release --package scope-engine --package scope-train --examples
    bin=target/release/examples
fi
"$bin/selftest"
"$bin/card" fo full skip infer | tee "$out/ours.txt"
[ -n "$peer" ] || exit 0
python3 "$peer/bench.py" --device cuda --variants bf16+compile+graph --modes train-full,train-fo,infer \
    --budget "${BUDGET:-200}" --json "$out/peer.json" > "$out/peer.txt"
python3 - "$out" <<'PYTHON'
import json, re, sys

out = sys.argv[1]
names = {"fo": "train-fo", "full": "train-full", "skip": "train-full-skipv", "infer": "infer"}
best = {}
for row in json.load(open(f"{out}/peer.json"))["rows"]:
    key = (row["mode"], row["batch"])
    best[key] = min(best.get(key, row["ms"]), row["ms"])
print(f"{'work':<18}{'batch':>6}{'ours ms':>10}{'peer ms':>10}{'ratio':>8}")
for name, batch, ms in re.findall(r"^(\w+) batch (\d+): median ([\d.]+)", open(f"{out}/ours.txt").read(), re.M):
    theirs = best.get((names[name], int(batch)))
    if theirs:
        print(f"{names[name]:<18}{batch:>6}{float(ms):>10.3f}{theirs:>10.3f}{float(ms) / theirs:>8.2f}")
PYTHON
