#!/usr/bin/env python3
"""What `scope recover` says of its own accuracy, and what is true, in 26 situations that sensors come in.

    python3 scripts/studies/situations.py --scope target/release/scope --records 50 --jobs 2 --work situations > table.md

Records come from the numpy generator below, not from the program under test: a Gaussian random source and the five-point scheme
of Poisson's equation. Each situation is one file of many problems, recovered by the network and by the exact posterior. A row
shows the error that the program states beside the true one of the same records, the shares of pixels within its bands, and whether
it warns. The verdict is "holds" if the stated error is within a factor of 1.5 of the true one and the bands within 5 points,
"warns" if something is said against it, "silent" if nothing is stated, and "WRONG" otherwise. docs/trust.md has the table.

Records are recovered some at a time, --jobs of these parts beside each other, the longest first, and what a part gave is written to
WORK/parts when it is known. A run that is stopped, or that --seconds ends, goes on where it was; --assemble prints the table of what
there is. The number of records and parts changes nothing about a record.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
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


HEADER = """\
| situation | method | a: stated / true, % | u: stated / true, % | within the bands of a, of u, % | warned | verdict |
|---|---|---|---|---|---|---|"""


@dataclass
class Part:
    """Some records of a situation, recovered by one method."""

    number: int
    method: str
    records: range

    @property
    def situation(self):
        return SITUATIONS[self.number]

    @property
    def name(self):
        return f"{self.number + 1:02d}-{self.method}-{self.records.start:04d}-{self.records.stop:04d}"

    def cost(self):
        """About how long it takes, in recoveries of the network: the longest begin first."""
        fresh = 200 if "--calibrate" in self.situation.options else 0
        each = 1 if self.method == "network" else 10
        return fresh + each * len(self.records)


def write_sensors(path, situation, records, seed):
    """A file of these problems with the same sensors; returns the true fields."""
    places = situation.places(np.random.default_rng([seed, 0]))
    truths = []
    with open(path, "w") as file:
        file.write("problem,x,y,channel,value\n")
        for record in records:
            rng = np.random.default_rng([seed, 1 + record])
            a, u = situation.record(rng)
            truths.append({"a": a, "u": u})
            for (x, y), value in zip(places, situation.readings(rng, truths[-1], places)):
                file.write(f"{record},{x:.12g},{y:.12g},{situation.channel},{value:.9g}\n")
    return truths


def recover(arguments, part, sensors, out):
    """Runs the program: its exit code, and the summary it left (none if it refused)."""
    how = ["--model", arguments.model] if part.method == "network" else ["--method", "exact", "--pde", "poisson"]
    threads = ["--threads", "1"] if arguments.jobs > 1 else []
    command = [arguments.scope, "recover", *how, "--sensors", str(sensors), "--out", str(out), *part.situation.options, *threads]
    left = max(arguments.until - time.monotonic(), 0.1)
    run = subprocess.run(command, capture_output=True, text=True, timeout=left)
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


def measured(code, summary, out, truths):
    """What is said of each record, and what is true of it."""
    if summary is None:
        return {"code": code, "records": []}
    problems = summary["problems"]
    records = [{"warned": bool(problem["warnings"])} for problem in problems]
    for channel in "au":
        recovered = np.load(out / f"{channel}.npy").reshape(len(problems), SIZE, SIZE)
        widths = half_widths(out, channel, len(problems))
        for k, (problem, fields, record) in enumerate(zip(problems, truths, records)):
            error = np.abs(recovered[k] - fields[channel])
            stated, basis = stated_error(problem, channel)
            true = 100.0 * np.linalg.norm(error) / np.linalg.norm(fields[channel])
            within = None
            if widths is not None and np.isfinite(widths[0][k]).all():
                inner = (slice(1, -1), slice(1, -1))
                within = [100.0 * float(np.mean((error <= width[k])[inner])) for width in widths]
            record[channel] = {"stated": stated, "basis": basis, "true": float(true), "within": within}
    return {"code": code, "records": records}


def work(arguments, part):
    """Recovers a part and writes what it gave, whole or not at all."""
    written = arguments.work / "parts" / f"{part.name}.json"
    if written.exists() or time.monotonic() > arguments.until:
        return
    folder = arguments.work / part.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    sensors = folder / "sensors.csv"
    truths = write_sensors(sensors, part.situation, part.records, arguments.seed + part.number)
    try:
        code, summary = recover(arguments, part, sensors, folder / "recovered")
    except subprocess.TimeoutExpired:
        return
    result = measured(code, summary, folder / "recovered", truths)
    # The fields of hundreds of records fill a disk; what was said stays in recovered.txt.
    shutil.rmtree(folder / "recovered", ignore_errors=True)
    sensors.unlink()
    unfinished = written.with_suffix(".part")
    unfinished.write_text(json.dumps({"situation": part.situation.name, "method": part.method, **result}))
    os.replace(unfinished, written)


def judge(situation, method, code, records):
    """One row of the table."""
    if not records:
        return [situation.name, method, "-", "-", "-", f"refused, exit code {code}", "warns"]
    count = len(records)
    warned = sum(record["warned"] for record in records)
    shown, holds, says = [], True, False
    coverages = []
    for channel in "au":
        of_channel = [record[channel] for record in records]
        stated = [record for record in of_channel if record["stated"] is not None]
        # What is stated of some records is compared with the errors of these.
        true = np.mean([record["true"] for record in stated or of_channel])
        figure = np.mean([record["stated"] for record in stated]) if stated else None
        if stated:
            says = True
            holds &= 1 / 1.5 <= figure / true <= 1.5
        shown.append((f"{figure:.2f} ({stated[0]['basis']})" if stated else "none", f"{true:.2f}"))
        known = [record["within"] for record in of_channel if record["within"] is not None]
        if not known:
            coverages.append("-")
            continue
        within = np.mean(known, axis=0)
        coverages.append("/".join(f"{share:.0f}" for share in within) + f" of {len(known)}")
        says = True
        holds &= all(abs(share - float(level)) <= 5 for share, level in zip(within, LEVELS))
    verdict = "silent" if not says else "holds" if holds else "WRONG"
    if warned == count or code == 3:
        verdict = "warns" if verdict != "holds" else "holds, warns"
    elif warned:
        verdict += f", {warned} of {count} warned"
    errors = [f"{stated} / {true}" for stated, true in shown]
    return [situation.name, method, *errors, ", ".join(coverages), f"{warned} of {count}", verdict + (f", exit {code}" if code else "")]


def assemble(arguments, parts):
    """Prints the table of what there is; how many parts there are not."""
    print(HEADER)
    rows, missing = {}, 0
    for part in sorted(parts, key=lambda part: (part.number, part.method != "network", part.records.start)):
        written = arguments.work / "parts" / f"{part.name}.json"
        if not written.exists():
            missing += 1
            continue
        result = json.loads(written.read_text())
        row = rows.setdefault((part.number, part.method), {"code": 0, "records": []})
        row["code"] = max(row["code"], result["code"])
        row["records"] += result["records"]
    for (number, method), row in rows.items():
        print("| " + " | ".join(judge(SITUATIONS[number], method, row["code"], row["records"])) + " |")
    return missing


def wanted(arguments):
    """All parts of the situations and methods that were asked for."""
    for number, situation in enumerate(SITUATIONS):
        if arguments.only and not any(words in situation.name for words in arguments.only):
            continue
        for method in ["network", "exact"]:
            if method not in (situation.only or method,) or method not in (arguments.method or method,):
                continue
            for first in range(0, arguments.records, arguments.together):
                yield Part(number, method, range(first, min(first + arguments.together, arguments.records)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scope", default="target/release/scope", help="the program")
    parser.add_argument("--model", default="poisson", help="a Poisson model's name or file")
    parser.add_argument("--records", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="a folder for results, new or of a run that was stopped")
    parser.add_argument("--method", choices=["network", "exact"], help="one of both")
    parser.add_argument("--only", action="append", help="situations whose name holds this; may be given several times")
    parser.add_argument("--jobs", type=int, default=1, help="parts beside each other; with more than one, each on one thread")
    parser.add_argument("--together", type=int, default=10, help="records of a part")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long and print what there is")
    parser.add_argument("--assemble", action="store_true", help="run nothing, and print what there is")
    arguments = parser.parse_args()
    arguments.until = time.monotonic() + min(arguments.seconds, 1e6)
    (arguments.work / "parts").mkdir(parents=True, exist_ok=True)
    parts = list(wanted(arguments))
    if not arguments.assemble:
        with ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(lambda part: work(arguments, part), sorted(parts, key=lambda part: -part.cost())))
    missing = assemble(arguments, parts)
    if missing:
        print(f"{missing} of {len(parts)} parts are missing: run it again to go on", file=sys.stderr)


if __name__ == "__main__":
    main()
