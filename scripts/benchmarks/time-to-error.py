#!/usr/bin/env python3
"""The table of scripts/benchmarks/time-to-error.sh: seconds and errors of runs, and the first that reaches a target.

    scripts/benchmarks/time-to-error.py FOLDER U/A...
"""

import json
import pathlib
import re
import sys


def runs(folder):
    """Method, draws, seconds of the whole process, seconds of its loop and both errors."""
    for path in folder.glob("scope-*.json"):
        measured = json.loads(path.read_text())
        yield "SCOPE", int(path.stem.split("-")[1]), measured["seconds"], None, *measured["errors"]
    for path in folder.glob("pytorch-*.txt"):
        text = path.read_text()
        final = re.search(r"FINAL .*'fwd u': ([\d.]+), 'inv a': ([\d.]+).* (\d+) s", text)
        whole = re.search(r"WHOLE ([\d.]+) s", text)
        if final and whole:
            u, a, loop = map(float, final.groups())
            yield "PyTorch", int(path.stem.split("-")[1]), float(whole[1]), loop, u, a


def main():
    folder, targets = pathlib.Path(sys.argv[1]), [tuple(map(float, one.split("/"))) for one in sys.argv[2:]]
    found = sorted(runs(folder), key=lambda run: (run[0] != "SCOPE", run[1]))
    print("| Poisson | draws | seconds | of the loop | u from a, % | a from u, % |\n|---|---|---|---|---|---|")
    for method, draws, seconds, loop, u, a in found:
        print(f"| {method} | {draws:,} | {seconds:.1f} | {'' if loop is None else f'{loop:.0f}'} | {u:.2f} | {a:.2f} |")
    for wanted_u, wanted_a in targets:
        for method in ("SCOPE", "PyTorch"):
            reached = [run for run in found if run[0] == method and run[4] <= wanted_u and run[5] <= wanted_a]
            first = min(reached, key=lambda run: run[2], default=None)
            said = "not reached" if first is None else f"{first[2]:.1f} s, {first[1]:,} draws"
            if any(run[0] == method for run in found):
                print(f"\nu {wanted_u:g} and a {wanted_a:g}, {method}: {said}")


main()
