#!/usr/bin/env python3
"""Puts a new model in the place of a shipped one if no condition of its card is worse.

    scripts/models/replace-model.py results/poisson/poisson.toml [models]

Both cards must have been evaluated on the same records. Compared are the fields that a condition hides, all of them in a joint one: of
Darcy's a the share of wrong pixels. With --allow PERCENT an error may rise by so much of itself. Exit code 1: something is worse, and nothing was
replaced. The weight file is put in place before its card, which names it by its hash, so that an interruption leaves a model that is refused, not a
wrong one.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tomllib


def errors(card):
    """The errors that count, by condition and field."""
    found = {}
    for condition, error in card["held_out"]["conditions"].items():
        task = condition.split("/")[0]
        for field in {"forward": ["u"], "inverse": ["a"]}.get(task, ["a", "u"]):
            name = "ber" if field == "a" and "ber" in error else field
            if name in error:
                found[f"{condition} {field}"] = error[name]
    return found


def put(source, destination):
    """Copies a file to a place, whole or not at all."""
    part = destination.with_name(destination.name + ".part")
    shutil.copyfile(source, part)
    with open(part, "rb") as file:
        os.fsync(file.fileno())
    part.replace(destination)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("card", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path, nargs="?", default=pathlib.Path("models"))
    parser.add_argument("--allow", type=float, default=0.0, metavar="PERCENT")
    arguments = parser.parse_args()
    new = tomllib.loads(arguments.card.read_text())
    shipped = arguments.models / arguments.card.name
    if shipped.exists():
        old = tomllib.loads(shipped.read_text())
        for key in ("origin", "records"):
            if old["held_out"][key] != new["held_out"][key]:
                sys.exit(f"the cards have errors on other records: {old['held_out'][key]} and {new['held_out'][key]}")
        before, after = errors(old), errors(new)
        missing = sorted(before.keys() - after.keys())
        if missing:
            sys.exit(f"the new card has no {missing[0]}, which the shipped one has")
        ratios = sorted((after[name] / before[name], name) for name in before)
        worse = [(ratio, name) for ratio, name in ratios if ratio > 1 + arguments.allow / 100]
        for ratio, name in worse:
            print(f"{name}: {before[name]:.3f} -> {after[name]:.3f}")
        median = ratios[len(ratios) // 2][0]
        print(f"{len(ratios)} errors: the new ones are {ratios[0][0]:.2f} to {ratios[-1][0]:.2f} of the old, {median:.2f} in the middle")
        if worse:
            sys.exit(f"{len(worse)} of them are worse: nothing was replaced")
    weights = new["weights"]["file"]
    put(arguments.card.with_name(weights), arguments.models / weights)
    put(arguments.card, shipped)
    print(f"replaced {shipped}")


main()
