#!/usr/bin/env bash
# Times a training step of each operator on a GPU, and of the same operator in PyTorch, in the same run; prints the ratios.
#
#     scripts/benchmarks/operators-bench.sh
#
# Builds first where cargo is at hand; elsewhere SCOPE names the program. BATCH is the batch, BUDGET the seconds that
# PyTorch gets for all its variants; with BUDGET=0 only ours are timed. OUT keeps the figures.
set -euo pipefail
out=${OUT:-$(mktemp -d)}
batch=${BATCH:-125}
budget=${BUDGET:-240}
scope=${SCOPE:-}
if [ -z "$scope" ]; then
    cargo build --release
    scope=target/release/scope
fi
for model in ${MODELS:-fno deeponet cno transolver}; do
    "$scope" bench train --model "$model" --batch "$batch" --device cuda --json >"$out/$model.json" ||
        echo "$model: our step failed" >&2
done
if [ "$budget" != 0 ]; then
    models=$(echo "${MODELS:-fno deeponet cno transolver}" | tr ' ' ',')
    python3 "$(dirname "$0")/operators-peer.py" --models "$models" --batch "$batch" --budget "$budget" \
        --json "$out/operators-peer.json" | tee "$out/operators-peer.txt"
fi
python3 - "$out" <<'PYTHON'
import json, os, sys

out = sys.argv[1]
read = lambda path: json.load(open(path)) if os.path.exists(path) and os.path.getsize(path) else None
peer = read(f"{out}/operators-peer.json") or {"rows": []}
print(f"{'model':<12}{'ours ms':>10}{'GiB':>8}{'peer ms':>10}{'GiB':>8}{'ratio':>8}  the peer's best")
for model in ("fno", "deeponet", "cno", "transolver"):
    ours = read(f"{out}/{model}.json")
    rows = [row for row in peer["rows"] if row["model"] == model and "ms" in row]
    if ours is None:
        print(f"{model:<12}{'failed':>10}")
        continue
    line = f"{model:<12}{ours['median_ms']:>10.2f}{ours['memory_gib'] or 0:>8.2f}"
    if rows:
        best = min(rows, key=lambda row: row["ms"])
        line += f"{best['ms']:>10.2f}{best['gib']:>8.2f}{ours['median_ms'] / best['ms']:>8.2f}  {best['form']} {best['way']}"
    print(line)
PYTHON
