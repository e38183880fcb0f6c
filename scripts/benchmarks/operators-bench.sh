#!/usr/bin/env bash
# Times a training step of each operator on a GPU, and of the same operator in PyTorch, in the same run; prints the
# ratios.
#
#     scripts/benchmarks/operators-bench.sh
#
# BATCH is the batch, MODELS are those that are timed, BUDGET the seconds that PyTorch gets for all its variants; with
# BUDGET=0 only ours are timed. OUT (results/operators-bench) keeps the figures. SCOPE is the program; MINUTES and
# PACKED are those of scripts/session.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/session.sh
out=${OUT:-results/operators-bench}; batch=${BATCH:-125}; budget=${BUDGET:-240}
mkdir -p "$out"
trap 'hand_out operators-bench "$out"' EXIT
for model in ${MODELS:-fno deeponet cno transolver}; do
    timed "$scope" bench train --model "$model" --batch "$batch" --device "$device" --json >"$out/$model.json" ||
        echo "$model: our step failed" >&2
done
if [ "$budget" != 0 ]; then
    models=$(echo "${MODELS:-fno deeponet cno transolver}" | tr ' ' ',')
    timed python3 scripts/benchmarks/operators-peer.py --models "$models" --batch "$batch" --budget "$budget" \
        --json "$out/operators-peer.json" | tee "$out/operators-peer.txt" || echo "PyTorch has no figures" >&2
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
