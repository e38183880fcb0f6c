#!/usr/bin/env python3
"""Checks what is claimed of the models that come with the program against their cards.

    scripts/check-results.py

More sensors must do no harm, a field that is measured too must be recovered better, the models must be ahead of the
paper's operators, and docs/RESULTS.md must state the cards' errors. Exit code 1: a claim does not hold. Run it after a
model or the page has changed.
"""

import pathlib
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Problems with their headings, in the order of the main table's columns.
HEADINGS = {
    "poisson": "Poisson",
    "helmholtz": "Helmholtz",
    "darcy": "Darcy",
    "ns": "Navier-Stokes",
    "cylinder": "Flow past a cylinder",
}
SENSORS = [500, 1024, 2048, 4096, 8192, 12288, 16384]
# Curves of error against sensors: what is seen, and which field it tells.
CURVES = [("forward", "u"), ("inverse", "a"), ("joint", "a"), ("joint", "u")]
# With more sensors an error may be larger by so many points of percent at most.
MOST_RISE = 0.05


def curve(card, task, field):
    """Errors of a field by number of uniform sensors; of Darcy's a the share of wrong pixels."""
    conditions = [card["held_out"]["conditions"][f"{task}/uniform/{count}"] for count in SENSORS]
    return [errors["ber"] if field == "a" and "ber" in errors else errors[field] for errors in conditions]


def row(page, heading, begin):
    """The cells of the row that begins so, under a heading."""
    part = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    line = next(line for line in part.splitlines() if line.startswith(f"| {begin} |"))
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def faults():
    """The claims that do not hold."""
    page = (ROOT / "docs/RESULTS.md").read_text()
    published = tomllib.loads((ROOT / "crates/scope-eval/src/report/published.toml").read_text())
    operators = [method for method in published["compared"] if method["source"] == "the paper, 100 epochs"]
    shipped = []
    for pde, heading in HEADINGS.items():
        card = tomllib.loads((ROOT / f"models/{pde}.toml").read_text())
        curves = {pair: curve(card, *pair) for pair in CURVES}
        for (task, field), errors in curves.items():
            if any(more >= fewer + MOST_RISE for fewer, more in zip(errors, errors[1:])):
                yield f"{pde}, {task} {field}: an error rises with more sensors: {errors}"
            name = "wrong pixels of a" if field == "a" and pde == "darcy" else field
            stated = [f"{error:.2f}" for error in errors]
            if row(page, heading, f"{task}: {name}") != stated:
                yield f"docs/RESULTS.md, {heading}, {task}: {name}: the card has {stated}"
        for task, field in CURVES[:2]:
            if any(joint >= alone for alone, joint in zip(curves[task, field], curves["joint", field])):
                yield f"{pde}, {field}: measuring it too does not help everywhere"
            if pde == "cylinder":
                continue
            shipped.append(f"**{curves[task, field][0]:.2f}**")
            for method in operators:
                if curves[task, field][0] >= method[pde][task]:
                    yield f"{pde}, {task}: not ahead of the paper's {method['method']}"
        draws = f"{card['training']['draws']:,} draws"
        if draws not in page:
            yield f"docs/RESULTS.md, {heading}: does not state {draws}"
    main = next(line for line in page.splitlines() if line.startswith("| **ours, as shipped** |"))
    if [cell.strip() for cell in main.strip("|").split("|")[2:]] != shipped:
        yield f"docs/RESULTS.md, main table: the cards have {shipped}"


found = list(faults())
print("\n".join(found) or "what is claimed of the shipped models holds")
sys.exit(bool(found))
