#!/usr/bin/env python3
"""Errors with their deviation over seeds, as a Markdown table.

    scripts/studies/seeds-table.py FOLDER PDE DRAWS NAME...

FOLDER has one evaluation a run, PDE-DRAWS-NAME-SEED.json. A name without any is left out.
"""

import glob
import json
import statistics
import sys

out, pde, draws, *names = sys.argv[1:]
wanted = "ber" if pde == "darcy" else "a"
print(f"| {pde}, {int(draws):,} draws | seeds | forward u % | inverse {wanted} % | each seed's |\n|---|---|---|---|---|")
for name in names:
    runs = [json.load(open(path))["conditions"] for path in sorted(glob.glob(f"{out}/{pde}-{draws}-{name}-[0-9]*.json"))]
    if not runs:
        continue
    errors = [[run[f"{task}/uniform/500"][what]["mean"] for run in runs] for task, what in (("forward", "u"), ("inverse", wanted))]
    shown = [f"{statistics.mean(e):.2f}" + (f" ± {statistics.stdev(e):.2f}" if len(e) > 1 else "") for e in errors]
    each = "; ".join(f"{u:.2f}, {a:.2f}" for u, a in zip(*errors))
    print(f"| {name} | {len(runs)} | {shown[0]} | {shown[1]} | {each} |")
