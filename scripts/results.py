#!/usr/bin/env python3
"""Redraws the figures of docs/RESULTS.md and rewrites its tables, from what is in the tree, and checks what is claimed there.

    scripts/results.py write [PROGRAM]      writes docs/images and the tables of docs/RESULTS.md (target/release/scope)
    scripts/results.py check [PROGRAM]      exit code 1: a file is not what `write` makes, or a claim does not hold

What comes from where: rows of our models from their cards (models/) and per-record errors (results/), rows of the paper from
published.toml, errors against sensors from the cards, learning and training curves from results/charts, and example recoveries from
the shipped models on record 0 of the test set. Rows of studies whose runs are not kept are left as they are. Needs Python 3.11,
numpy and Pillow. Pictures may differ between processors by what rounding does to them.
"""
import difflib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

import numpy
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/RESULTS.md"
IMAGES = ROOT / "docs/images"
# Problems with their headings, in the order of the main table's columns.
HEADINGS = {
    "poisson": "Poisson",
    "helmholtz": "Helmholtz",
    "darcy": "Darcy",
    "ns": "Navier-Stokes",
    "cylinder": "Flow past a cylinder",
}
# Problems that the paper can be compared on.
COMPARED = ["poisson", "helmholtz", "darcy", "ns"]
SENSORS = [500, 1024, 2048, 4096, 8192, 12288, 16384]
# Curves of error against sensors: what is seen, and which field it tells.
CURVES = [("forward", "u"), ("inverse", "a"), ("joint", "a"), ("joint", "u")]
# The chart of errors against sensors that each problem shows, and the task of its picture.
SENSOR_CHARTS = {"poisson": "inverse-a", "helmholtz": "inverse-a", "ns": "inverse-a", "cylinder": "forward-u"}
PICTURES = {"poisson": "inverse", "helmholtz": "inverse", "darcy": "forward", "ns": "inverse", "cylinder": "forward"}
# What was aimed at and is missed: problem, task, field, sensors and target, by the name of the row.
MISSED = {
    "Poisson: u from 500 points of a": ("poisson", "forward", "u", 500, 1.62),
    "Helmholtz: u from 500 points of a": ("helmholtz", "forward", "u", 500, 1.60),
    "Darcy: u from 500 points of a": ("darcy", "forward", "u", 500, 2.0),
    "cylinder: u from 500 points of a": ("cylinder", "forward", "u", 500, 2.0),
    "cylinder: a from 500 points of u": ("cylinder", "inverse", "a", 500, 1.2),
    "Poisson: a from all 16,384 points of u": ("poisson", "inverse", "a", 16384, 3.5),
}
# With more sensors an error may be larger by so many points of percent at most.
MOST_RISE = 0.05
# Of a picture, so many colour values may differ by more than so much: what rounding can do to it.
MOST_DIFFERENT, DIFFERENCE = 1e-4, 24


class Tree:
    """What the page is made from."""

    def __init__(self):
        def toml(path):
            return tomllib.loads((ROOT / path).read_text())

        self.cards = {pde: toml(f"models/{pde}.toml") for pde in HEADINGS}
        self.results = {pde: json.loads((ROOT / f"results/{pde}/uniform500.json").read_text()) for pde in HEADINGS}
        self.published = toml("crates/scope-eval/src/report/published.toml")

    def curve(self, pde, task, field):
        """Errors of a field by number of uniform sensors; of Darcy's a the share of wrong pixels."""
        conditions = self.cards[pde]["held_out"]["conditions"]
        errors = [conditions[f"{task}/uniform/{count}"] for count in SENSORS]
        return [one["ber"] if field == "a" and "ber" in one else one[field] for one in errors]

    def main(self, pde, task):
        """Mean and standard deviation over records of the field that is not measured."""
        errors = self.results[pde]["conditions"][f"{task}/uniform/500"]
        own = errors["u"] if task == "forward" else errors.get("ber", errors["a"])
        return own["mean"], own["sd"]

    def paper(self, method, pde, task):
        """A mean error of the paper."""
        for row in self.published["compared"]:
            if row["method"] == method and row["source"] == "the paper, 100 epochs":
                return row[pde][task]
        row = next(row for row in self.published["channels"] if (row["method"], row.get("pde")) == (method, pde))
        return row["forward_u" if task == "forward" else "inverse_a"]

    def chart(self, name):
        """What a chart shows."""
        return json.loads((ROOT / f"results/charts/{name}.chart.json").read_text())

    def minutes(self, pde):
        """The minutes of each stretch of training."""
        training = self.cards[pde]["training"]
        ends = [training["minutes"], *(earlier["minutes"] for earlier in training.get("from", [])), 0]
        return [later - earlier for later, earlier in zip(ends, ends[1:])][::-1]


def millions(draws):
    return f"{draws / 1e6:.1f}M"


def rows(tree):
    """The cells of rows by heading and first cell; None: a cell that is left as it is."""
    both = [(pde, task) for pde in COMPARED for task in ("forward", "inverse")]
    trainings = [tree.cards[pde]["training"] for pde in COMPARED]
    minutes = sorted(training["minutes"] for training in trainings)
    draws = sorted(training["draws"] for training in trainings)
    length = f"{minutes[0]:.1f} to {minutes[-1]:.1f} minutes, {millions(draws[0])} to {millions(draws[-1])} draws"
    ours = "**ours, as shipped**"
    yield ("Main table", ours), [length, *(f"**{tree.main(*one)[0]:.2f}**" for one in both)]
    named = {"the paper's SCOPE-Full, base": "Full", "the paper's best: a larger decoder on it (SP-10M)": "SP-10M"}
    named |= {f"the paper's {method}": method for method in ("Transolver", "DeepONet", "FNO", "CNO")}
    for row, method in named.items():
        yield ("Main table", row), [None, *(f"{tree.paper(method, *one):.2f}" for one in both)]
    for pde, card in tree.cards.items():
        training = card["training"]
        draws = f"{training['draws']:,}"
        first = f"`{pde}`"
        for earlier in training.get("from", []):
            if other := earlier.get("problem"):
                first += f", begun with the weights of `{other}`"
                draws += f", {training['draws'] - earlier['draws']:,} of them its own"
        stretches = " + ".join(f"{stretch:.1f}" for stretch in tree.minutes(pde))
        size = f"{card['weights']['bytes'] / 1e6:.1f} MB"
        shipped = [f"{card['parameters']:,}", f"{card['data']['records']:,}", stretches, draws, size]
        yield ("The shipped models", first), shipped
        after = [f"{tree.curve(pde, *one)[0]:.3f}" for one in CURVES[:2]]
        yield ("The shipped models, quantised", f"`{pde}`"), [None, after[0], None, after[1]]
        for task, field in CURVES:
            name = "wrong pixels of a" if field == "a" and pde == "darcy" else field
            yield (HEADINGS[pde], f"{task}: {name}"), [f"{error:.2f}" for error in tree.curve(pde, task, field)]
    for row, (pde, task, field, sensors, target) in MISSED.items():
        error = tree.curve(pde, task, field)[SENSORS.index(sensors)]
        yield ("What misses its target", row), [f"{target:.2f}", f"{error:.3f}", f"{100 * (error / target - 1):.1f}%"]
    training = tree.cards["poisson"]["training"]
    stated = ["**{:.2f}** ± {:.2f}".format(*tree.main("poisson", task)) for task in ("forward", "inverse")]
    length = f"{training['minutes']:.1f} minutes, {millions(training['draws'])} draws"
    yield ("Poisson", ours), [length, *stated]
    for pde in ("poisson", "ns"):
        for minutes, cells in learning(tree, pde):
            yield (HEADINGS[pde], f"{minutes:g}"), cells
    for method in ("FO", "Full"):
        errors = [f"{tree.paper(method, 'poisson', task):.2f}" for task in ("forward", "inverse")]
        yield ("Poisson", f"the paper's SCOPE-{method}, base"), [None, *errors]


def learning(tree, pde):
    """A problem's table of learning curves: minutes, then draws and errors of each recipe."""
    curves = {(cost, task): tree.chart(f"{pde}-{cost}-{task}")["curves"]
              for cost in ("draws", "minutes") for task in ("forward", "inverse")}
    for k, (minutes, _) in enumerate(curves["minutes", "forward"][0]["points"]):
        cells = []
        for recipe in range(2):
            draws, error = curves["draws", "forward"][recipe]["points"][k]
            cells += [f"{draws:,}", f"{error:.2f}", f"{curves['draws', 'inverse'][recipe]['points'][k][1]:.2f}"]
        yield minutes, cells


def rewritten(page, tree):
    """The page with its rows, and the rows that it has not."""
    wanted = dict(rows(tree))
    lines, heading = [], ""
    for line in page.splitlines():
        if found := re.match(r"## (.*)", line):
            heading = found[1]
        if line.startswith("| model | u before |"):
            heading += ", quantised"
        if line.startswith("| "):
            first, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            new = wanted.pop((heading, first), None)
            if new and len(new) == len(cells):
                cells = [cell if made is None else made for cell, made in zip(cells, new)]
                line = f"| {' | '.join([first, *cells])} |"
        lines.append(line)
    return "\n".join(lines) + "\n", [f"docs/RESULTS.md, {heading}: no row \"{first}\"" for heading, first in wanted]


def draw(folder, scope):
    """Draws all figures of the page into a folder, under their names in docs/images."""
    def run(*arguments):
        subprocess.run([scope, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)

    made = folder / "made"
    cards = [f"models/{pde}.toml" for pde in SENSOR_CHARTS]
    charts = sorted((ROOT / "results/charts").glob("*.chart.json"))
    run("report", *cards, *charts, "--figures", made)
    figures = folder / "figures"
    figures.mkdir()
    for pde, chart in SENSOR_CHARTS.items():
        shutil.copy(made / f"sensors-{pde}-{chart}.svg", figures / f"{pde}-sensors.svg")
    for chart in charts:
        name = chart.name.removesuffix(".chart.json") + ".svg"
        shutil.copy(made / name, figures / name)
    for pde, task in PICTURES.items():
        # The first record of the 1,000 that the results are of.
        data, out = folder / f"{pde}-test", folder / pde
        run("data", "generate", pde, "--count", 1, "--seed", 20261013, "--split", "test", "--out", data)
        run("evaluate", "--run", pde, "--data", data, "--figures", 1, "--device", "cpu", "--out", out)
        picture = Image.open(out / f"figures/{task}-uniform-500-record-0.png").convert("RGB")
        # 256 colours, each within a few shades of its own: a third of the bytes.
        picture.quantize(256, Image.Quantize.MAXCOVERAGE).save(figures / f"{pde}-{task}.png", optimize=True)
    return {path.name: path for path in figures.iterdir()}


def same(one, other):
    """Whether two figures show the same."""
    if not other.exists() or one.read_bytes() == other.read_bytes():
        return other.exists()
    if one.suffix != ".png":
        return False
    pixels = [numpy.asarray(Image.open(path).convert("RGB"), dtype=int) for path in (one, other)]
    if pixels[0].shape != pixels[1].shape:
        return False
    return bool(numpy.mean(abs(pixels[0] - pixels[1]) > DIFFERENCE) <= MOST_DIFFERENT)


def commands(page, scope):
    """The page's reports that fail, or that say nothing of our own runs."""
    for command in sorted(set(re.findall(r"scope (report results/[^`#\n]*--tables [a-z,-]+)", page))):
        done = subprocess.run(["bash", "-c", f'"$0" {command}', scope], cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0 or "Ours" not in done.stdout:
            yield f"docs/RESULTS.md: `scope {command.strip()}` fails, or has no row of ours: {done.stderr.strip()}"


def claims(page, tree):
    """The claims that do not hold: more sensors must do no harm, a field that is measured too must be recovered better, the models
    must be ahead of the paper's operators, cards and per-record errors must agree, and the text must state them."""
    for pde, heading in HEADINGS.items():
        part = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
        curves = {pair: tree.curve(pde, *pair) for pair in CURVES}
        for row, (problem, task, field, sensors, target) in MISSED.items():
            if problem == pde and curves[task, field][SENSORS.index(sensors)] <= target:
                yield f"docs/RESULTS.md, What misses its target: {row} reaches it"
        for (task, field), errors in curves.items():
            if any(more >= fewer + MOST_RISE for fewer, more in zip(errors, errors[1:])):
                yield f"{pde}, {task} {field}: an error rises with more sensors: {errors}"
        for task, field in CURVES[:2]:
            mean, sd = tree.main(pde, task)
            if abs(mean - curves[task, field][0]) > 1e-5:
                yield f"{pde}, {task}: the card has {curves[task, field][0]}, results/{pde} {mean}"
            if f"{mean:.2f} ± {sd:.2f}" not in part.replace("**", ""):
                yield f"docs/RESULTS.md, {heading}: does not state {mean:.2f} ± {sd:.2f}"
            if any(joint >= alone for alone, joint in zip(curves[task, field], curves["joint", field])):
                yield f"{pde}, {field}: measuring it too does not help everywhere"
            for method in ("CNO", "Transolver", "FNO", "DeepONet"):
                if pde in COMPARED and mean >= tree.paper(method, pde, task):
                    yield f"{pde}, {task}: not ahead of the paper's {method}"
        draws = f"{tree.cards[pde]['training']['draws']:,} draws"
        if draws not in page:
            yield f"docs/RESULTS.md, {heading}: does not state {draws}"


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in ("write", "check"):
        sys.exit(__doc__)
    scope = str(pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "target/release/scope").resolve())
    page, tree = PAGE.read_text(), Tree()
    made, faults = rewritten(page, tree)
    with tempfile.TemporaryDirectory() as folder:
        figures = draw(pathlib.Path(folder), scope)
        shown = {pathlib.Path(link).name for link in re.findall(r"\]\((images/[^)]*)\)", page)}
        faults += [f"docs/RESULTS.md shows {name}, which has no source" for name in sorted(shown - figures.keys())]
        faults += [f"docs/RESULTS.md does not show {name}" for name in sorted(figures.keys() - shown)]
        changed = [name for name, path in sorted(figures.items()) if not same(path, IMAGES / name)]
        if sys.argv[1] == "write":
            for name in changed:
                shutil.copyfile(figures[name], IMAGES / name)
            PAGE.write_text(made)
            print(f"wrote docs/RESULTS.md, and drew {len(figures)} figures, {len(changed)} of them anew")
        else:
            faults += [f"docs/images/{name} is not what is drawn" for name in changed]
            faults += difflib.unified_diff(page.splitlines(), made.splitlines(), "docs/RESULTS.md", "as made", lineterm="", n=0)
    faults += claims(made, tree)
    faults += commands(made, scope)
    print("\n".join(faults) or f"{len(figures)} figures and all tables are what the tree holds, and the claims hold")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
