#!/usr/bin/env python3
"""The table of scripts/benchmarks/gpu-bench.sh: medians over its rounds, beside PyTorch's best where that was measured.

    scripts/benchmarks/gpu-table.py FOLDER
"""

import json
import pathlib
import re
import statistics
import sys

# What the peer calls the rows of training steps.
PEERS = {"fo": "train-fo", "full": "train-full", "full-idle": "train-full-skipv", "sp-10m": "sp-adapt-10m"}


def gathered(folder):
    """Milliseconds and memory of each row in each round: name and batch to lists."""
    times, held = {}, {}
    for path in sorted(folder.glob("*-[0-9]*.json")):
        name = re.sub(r"-\d+$", "", path.stem)
        if name == "evaluate":
            continue
        measured = json.loads(path.read_text())
        for row in measured if isinstance(measured, list) else [measured]:
            key = (name, row["batch"], row["precision"])
            times.setdefault(key, []).append(row["median_ms"])
            if row.get("memory_gib"):
                held[key] = row["memory_gib"]
    return times, held


def best_of_peer(folder, size):
    """PyTorch's shortest time of each mode and batch, and the memory of the form that took it."""
    best = {}
    for path in [*sorted(folder.glob(f"peer-{size}*.json")), *([folder / "peer-sp.json"] if size == "base" else [])]:
        for row in json.loads(path.read_text())["rows"] if path.exists() else []:
            key = (row["mode"], row["batch"])
            best[key] = min(best.get(key, (row["ms"], row["gib"])), (row["ms"], row["gib"]))
    return best


def evaluations(folder):
    """Records a second of evaluation in each round, without what starting takes."""
    for path in sorted(folder.glob("evaluate-[0-9]*.json")):
        measured = json.loads(path.read_text())
        few, many = measured["seconds"]
        if many > few:
            yield (measured["many"] - measured["few"]) / (many - few)


def main():
    folder = pathlib.Path(sys.argv[1])
    times, held = gathered(folder)
    peers = {size: best_of_peer(folder, size) for size in ("base", "small")}
    print("| work | batch | precision | ours ms | least and most | PyTorch ms | ratio | GiB | PyTorch GiB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (name, batch, precision), rounds in times.items():
        infer = re.fullmatch(r"infer-(\w+)-(\w+)", name)
        size, _, objective = name.partition("-") if not infer else (infer[1], "", "")
        mode = "infer" if infer else PEERS.get(objective)
        theirs, most = peers.get(size, {}).get((mode, batch), (None, None)) if precision == "bf16" else (None, None)
        ours = statistics.median(rounds)
        memory = held.get((name, batch, precision))
        cells = [name, f"{batch}", precision, f"{ours:.3f}", f"{min(rounds):.3f} to {max(rounds):.3f}"]
        cells += [f"{theirs:.3f}", f"{ours / theirs:.2f}"] if theirs else ["", ""]
        cells += [f"{memory:.2f}" if memory else "", f"{most:.2f}" if theirs and memory else ""]
        print(f"| {' | '.join(cells)} |")
    rates = list(evaluations(folder))
    if rates:
        print(f"\n`scope evaluate` of `small` in f32: {statistics.median(rates):,.0f} records a second under the two "
              f"conditions of `uniform500` ({min(rates):,.0f} to {max(rates):,.0f})")


main()
