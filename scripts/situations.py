#!/usr/bin/env python3
"""What `scope recover` says of its own accuracy, and what is true, in twenty situations that sensors come in.

    python3 scripts/situations.py --scope target/release/scope --records 50 --work /tmp/situations > table.md

Records come from the numpy generator below, not from the program under test: a Gaussian random source and the five-point scheme
of Poisson's equation. Each situation is one file of many problems, recovered by the network and by the exact posterior. A row
shows the error that the program states beside the true one of the same records, the shares of pixels within its bands, and whether
it warns. The verdict is "holds" if the stated error is within a factor of 1.5 of the true one and the bands within 5 points,
"warns" if something is said against it, "silent" if nothing is stated, and "WRONG" otherwise. docs/trust.md has the table.
"""

import argparse
import json
import pathlib
import subprocess
from dataclasses import dataclass, field

import numpy as np

SIZE = 128
TAU = 3.0
# Standard deviations of the two fields, which --noise P% refers to.
SIGMA = {"a": 0.2919494, "u": 0.00417478}
LEVELS = ["68", "95"]


def source(rng, tau=TAU, power=1.0):
    """sum over k != 0 of xi_k S tau^(2 power - 1) (pi^2 |k|^2 + tau^2)^-power phi_k, phi_k the orthonormal cosine basis."""
    k = np.arange(SIZE)
    basis = np.sqrt(2.0 / SIZE) * np.cos(np.pi * np.outer(k, k + 0.5) / SIZE)
    basis[0] = np.sqrt(1.0 / SIZE)
    decay = (np.pi**2 * (k[:, None] ** 2 + k[None] ** 2) + tau**2) ** -power
    coefficients = rng.standard_normal((SIZE, SIZE)) * SIZE * tau ** (2.0 * power - 1.0) * decay
    coefficients[0, 0] = 0.0
    return basis.T @ coefficients @ basis


def solution(a, reaction=0.0):
    """Lap u + reaction u = a on nodes i / (S - 1) with u = 0 on the edge, by the five-point scheme in the sine basis."""
    inner = SIZE - 2
    k = np.arange(1, inner + 1)
    basis = np.sqrt(2.0 / (inner + 1)) * np.sin(np.pi * np.outer(k, k) / (inner + 1))
    along = -4.0 * np.sin(np.pi * k / (2 * (inner + 1))) ** 2 * (SIZE - 1) ** 2
    symbol = along[:, None] + along[None] + reaction
    u = np.zeros((SIZE, SIZE))
    u[1:-1, 1:-1] = basis @ ((basis @ a[1:-1, 1:-1] @ basis) / symbol) @ basis
    return u


def between(field_, x, y):
    """The field at points of the unit square: polynomials through 8 x 8 nodes."""
    values = np.empty(len(x))
    for n, (s, t) in enumerate(zip(x * (SIZE - 1), y * (SIZE - 1))):
        weights, starts = [], []
        for at in (s, t):
            first = int(np.clip(np.floor(at) - 3, 0, SIZE - 8))
            nodes = first + np.arange(8)
            gaps = np.where(np.eye(8, dtype=bool), 1.0, nodes[:, None] - nodes[None])
            parts = np.where(np.eye(8, dtype=bool), 1.0, at - nodes[None])
            weights.append(np.prod(parts / gaps, axis=1))
            starts.append(first)
        block = field_[starts[0] : starts[0] + 8, starts[1] : starts[1] + 8]
        values[n] = weights[0] @ block @ weights[1]
    return values


@dataclass
class Situation:
    """What sensors a situation has, what is wrong with them, and what the program is told."""

    name: str
    sensors: int = 500
    channel: str = "u"
    noise: float = 0.0
    options: list = field(default_factory=list)
    truth: str = "poisson"
    area: float = 1.0
    off_grid: bool = False
    spoil: object = None
    only: str = ""

    def record(self, rng):
        a = source(rng, power=1.5) if self.truth == "smooth source" else source(rng)
        if self.truth == "other equation":
            return a, solution(a, reaction=100.0)
        u = solution(a)
        if self.truth == "wrong boundary":
            u = u + 0.01 * np.linspace(0.0, 1.0, SIZE)[:, None]
        return a, u

    def places(self, rng):
        side = round(SIZE * np.sqrt(self.area))
        if self.off_grid:
            return rng.random((self.sensors, 2)) * np.sqrt(self.area)
        pixels = rng.choice(side * side, self.sensors, replace=False)
        return np.stack([pixels // side, pixels % side], axis=1) / (SIZE - 1)

    def readings(self, rng, fields, places):
        field_ = fields[self.channel]
        if self.off_grid:
            values = between(field_, *places.T)
        else:
            i, j = np.rint(places.T * (SIZE - 1)).astype(int)
            values = field_[i, j]
        values = values + self.noise * SIGMA[self.channel] * rng.standard_normal(len(values))
        return self.spoil(values) if self.spoil else values


def outlier(values):
    values = values.copy()
    values[7] = values[7] + 3.0 * SIGMA["u"]
    return values


CALIBRATE = ["--calibrate", "200"]

SITUATIONS = [
    Situation("clean, sensors of u"),
    Situation("clean, sensors of a", channel="a"),
    Situation("noise of 1%, not stated", noise=0.01),
    Situation("noise of 1%, stated", noise=0.01, options=["--noise", "1%"]),
    Situation("noise of 1%, calibrated", noise=0.01, options=["--noise", "1%", *CALIBRATE], only="network"),
    Situation("noise of 5%, not stated", noise=0.05),
    Situation("noise of 5%, stated", noise=0.05, options=["--noise", "5%"]),
    Situation("noise of 5%, calibrated", noise=0.05, options=["--noise", "5%", *CALIBRATE], only="network"),
    Situation("noise of 20%, not stated", noise=0.2),
    Situation("noise of 20%, stated", noise=0.2, options=["--noise", "20%"]),
    Situation("noise of 20%, calibrated", noise=0.2, options=["--noise", "20%", *CALIBRATE], only="network"),
    Situation("noise of 5% on a, not stated", noise=0.05, channel="a"),
    Situation("5 sensors", sensors=5),
    Situation("50 sensors", sensors=50),
    Situation("200 sensors", sensors=200),
    Situation("50 sensors, calibrated", sensors=50, options=CALIBRATE, only="network"),
    Situation("one quadrant", area=0.25),
    Situation("one quadrant, calibrated", area=0.25, options=CALIBRATE, only="network"),
    Situation("off the grid", off_grid=True),
    Situation("one outlier of 3 standard deviations", spoil=outlier),
    Situation("offset of half a standard deviation", spoil=lambda values: values + 0.5 * SIGMA["u"]),
    Situation("wrong units: 10 times", spoil=lambda values: 10.0 * values),
    Situation("wrong units: 1,000 times", spoil=lambda values: 1000.0 * values),
    Situation("wrong boundary: u + 0.01 x", truth="wrong boundary"),
    Situation("wrong equation: Lap u + 100 u = a", truth="other equation"),
    Situation("smoother source than the problem's", truth="smooth source"),
]


def write_sensors(path, situation, records, seed):
    """A file of so many problems with the same sensors; returns the true fields."""
    places = situation.places(np.random.default_rng([seed, 0]))
    truths = []
    with open(path, "w") as file:
        file.write("problem,x,y,channel,value\n")
        for record in range(records):
            rng = np.random.default_rng([seed, 1 + record])
            a, u = situation.record(rng)
            truths.append({"a": a, "u": u})
            for (x, y), value in zip(places, situation.readings(rng, truths[-1], places)):
                file.write(f"{record},{x:.12g},{y:.12g},{situation.channel},{value:.9g}\n")
    return truths


def recover(arguments, situation, method, sensors, out):
    """Runs the program: its exit code, what it said, and the summary it left (none if it refused)."""
    how = ["--model", arguments.model] if method == "network" else ["--method", "exact", "--pde", "poisson"]
    command = [arguments.scope, "recover", *how, "--sensors", str(sensors), "--out", str(out), *situation.options]
    run = subprocess.run(command, capture_output=True, text=True)
    (out.parent / f"{out.name}.txt").write_text(" ".join(command) + "\n" + run.stdout + run.stderr)
    summary = out / "summary.json"
    return run.returncode, json.loads(summary.read_text()) if summary.exists() else None


def stated_error(problem, channel):
    """The error that the program states, and what it rests on."""
    calibrated = problem.get("calibrated")
    if calibrated and calibrated["error_percent"].get(channel) is not None:
        return calibrated["error_percent"][channel], "calibrated"
    expected = problem.get("expected_percent")
    if expected is not None:
        return expected["au".index(channel)], "expected"
    held_out = problem.get("held_out_percent")
    if held_out and held_out.get(channel) is not None:
        return held_out[channel], "held-out"
    return None, ""


def half_widths(out, channel, records):
    """Half-widths of both levels, [N, S, S] each; none where there are none."""
    shape = (records, SIZE, SIZE)
    deviation = out / f"{channel}_sd.npy"
    if deviation.exists():
        sd = np.load(deviation).reshape(shape)
        return [0.9945 * sd, 1.96 * sd]
    files = [out / f"{channel}_band{level}.npy" for level in LEVELS]
    return [np.load(file).reshape(shape) for file in files] if all(file.exists() for file in files) else None


def judge(situation, method, code, summary, out, truths):
    """One row of the table."""
    if summary is None:
        return [situation.name, method, "-", "-", "-", f"refused, exit code {code}", "warns"]
    problems = summary["problems"]
    count = len(problems)
    warned = sum(bool(problem["warnings"]) for problem in problems)
    shown, holds, says = [], True, False
    coverages = []
    for channel in "au":
        recovered = np.load(out / f"{channel}.npy").reshape(count, SIZE, SIZE)
        truth = np.array([fields[channel] for fields in truths])
        errors = 100.0 * np.linalg.norm(recovered - truth, axis=(1, 2)) / np.linalg.norm(truth, axis=(1, 2))
        stated = [stated_error(problem, channel) for problem in problems]
        figures = [figure for figure, _ in stated if figure is not None]
        # What is stated of some records is compared with the errors of these.
        true = np.mean([error for error, (figure, _) in zip(errors, stated) if figure is not None or not figures])
        basis = next((basis for figure, basis in stated if figure is not None), "nothing")
        if figures:
            says = True
            holds &= 1 / 1.5 <= np.mean(figures) / true <= 1.5
        shown.append((f"{np.mean(figures):.2f} ({basis})" if figures else "none", f"{true:.2f}"))
        widths = half_widths(out, channel, count)
        if widths is None:
            coverages.append("-")
            continue
        known = np.isfinite(widths[0]).all(axis=(1, 2))
        inner = (slice(None), slice(1, -1), slice(1, -1))
        within = [100 * np.mean((np.abs(recovered - truth) <= width)[known][inner]) for width in widths]
        coverages.append("/".join(f"{share:.0f}" for share in within) + f" of {known.sum()}")
        says = True
        holds &= all(abs(share - float(level)) <= 5 for share, level in zip(within, LEVELS))
    verdict = "silent" if not says else "holds" if holds else "WRONG"
    if warned == count or code == 3:
        verdict = "warns" if verdict != "holds" else "holds, warns"
    elif warned:
        verdict += f", {warned} of {count} warned"
    errors = [f"{stated} / {true}" for stated, true in shown]
    return [situation.name, method, *errors, ", ".join(coverages), f"{warned} of {count}", verdict + (f", exit {code}" if code else "")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scope", default="target/release/scope", help="the program")
    parser.add_argument("--model", default="poisson", help="a Poisson model's name or file")
    parser.add_argument("--records", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="an empty folder for sensors and results")
    parser.add_argument("--method", choices=["network", "exact"], help="one of both")
    parser.add_argument("--only", help="situations whose name holds this")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True)
    print("| situation | method | a: stated / true, % | u: stated / true, % | within the bands of a, of u, % | warned | verdict |")
    print("|---|---|---|---|---|---|---|")
    for number, situation in enumerate(SITUATIONS):
        if arguments.only and arguments.only not in situation.name:
            continue
        folder = arguments.work / f"{number + 1:02d}"
        folder.mkdir()
        truths = write_sensors(folder / "sensors.csv", situation, arguments.records, arguments.seed + number)
        for method in ["network", "exact"]:
            if method not in (situation.only or method, ) or method not in (arguments.method or method,):
                continue
            out = folder / method
            code, summary = recover(arguments, situation, method, folder / "sensors.csv", out)
            print("| " + " | ".join(judge(situation, method, code, summary, out, truths)) + " |", flush=True)


if __name__ == "__main__":
    main()
