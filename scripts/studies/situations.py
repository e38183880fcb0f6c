#!/usr/bin/env python3
"""What `scope recover` says of its own accuracy, and what is true, in 75 situations that sensors come in.

    python3 scripts/studies/situations.py --scope target/release/scope --records 50 --jobs 2 --work situations > table.md

Poisson's records come from a numpy generator, not from the program under test: a Gaussian random source and the five-point scheme.
Those of Darcy and the cylinder come from the program, with a seed that no model has seen. Each situation is one file of many problems,
recovered by the network, and where there is one by the exact posterior. A row
shows the error that the program states beside the true one of the same records, the shares of pixels within its bands, and whether
it warns. The verdict is "holds" if the stated error is within a factor of 1.5 of the true one and the bands within 5 points,
"warns" if something is said against it, "silent" if nothing is stated, and "WRONG" otherwise. docs/trust.md has the table.

Records are recovered some at a time, --jobs of these parts beside each other, the longest first, and what a part gave is written to
WORK/parts when it is known. A run that is stopped, or that --seconds ends, goes on where it was; --assemble prints the table of what
there is. The number of records and parts changes nothing about a record.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from situation_list import SITUATIONS
from situation_records import SIZE, Generated

LEVELS = ["68", "95"]


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
    def seed(self):
        """That of a situation's records, which do not change where others are added."""
        return int.from_bytes(hashlib.blake2b(self.situation.name.encode(), digest_size=4).digest(), "little")

    @property
    def name(self):
        words = "".join(c if c.isalnum() else "-" for c in self.situation.name)
        return f"{words}-{self.method}-{self.records.start:04d}-{self.records.stop:04d}"

    def cost(self):
        """About how long it takes, in recoveries of the network: the longest begin first."""
        fresh = 200 if "--calibrate" in self.situation.options else 0
        each = 1 if self.method == "network" else 10
        return fresh + each * len(self.records)


def write_sensors(path, part, seed, generated):
    """A file of these problems; returns the true fields. Sensors are the same in all of them, unless each has a disk of its own."""
    situation = part.situation
    places = situation.places(np.random.default_rng([seed, 0]))
    truths, problems = [], []
    for record in part.records:
        rng = np.random.default_rng([seed, 1 + record])
        disk = None
        if generated is None:
            truths.append(situation.record(rng))
        else:
            truths.append(generated.record(record))
            disk = generated.disk(record)
        if disk is not None:
            places = situation.places(rng, disk)
        names = ("x", "y") if situation.off_grid else ("i", "j")
        number = float if situation.off_grid else int
        sensors = [
            {names[0]: number(x), names[1]: number(y), "channel": situation.channel, "value": float(f"{value:.9g}")}
            for (x, y), value in zip(places, situation.readings(rng, truths[-1], places))
        ]
        problem = {"name": str(record), "sensors": sensors}
        if disk is not None and situation.disk_given:
            problem["geometry"] = [float(number) for number in disk]
        problems.append(problem)
    path.write_text(json.dumps({"problems": problems}))
    return truths


def recover(arguments, part, sensors, out):
    """Runs the program: its exit code, and the summary it left (none if it refused)."""
    pde = part.situation.pde
    how = ["--model", pde] if part.method == "network" else ["--method", "exact", "--pde", pde]
    threads = ["--threads", "1"] if arguments.jobs > 1 else []
    command = [arguments.scope, "recover", *how, "--sensors", str(sensors), "--out", str(out), *part.situation.options, *threads]
    left = max(arguments.until - time.monotonic(), 0.1)
    run = subprocess.run(command, capture_output=True, text=True, timeout=left)
    (out.parent / f"{out.name}.txt").write_text(" ".join(command) + "\n" + run.stdout + run.stderr)
    summary = out / "summary.json"
    return run.returncode, json.loads(summary.read_text()) if summary.exists() else None


def stated_error(problem, channel):
    """The error that the program states, and what it rests on."""
    two_valued = problem.get("two_valued")
    if channel == "a" and two_valued:
        return two_valued["expected_wrong_percent"], "map"
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
    records = [{"warned": bool(problem["warnings"]), "said": problem["warnings"]} for problem in problems]
    for channel in "au":
        recovered = np.load(out / f"{channel}.npy").reshape(len(problems), SIZE, SIZE)
        widths = half_widths(out, channel, len(problems))
        for k, (problem, fields, record) in enumerate(zip(problems, truths, records)):
            error = np.abs(recovered[k] - fields[channel])
            stated, basis = stated_error(problem, channel)
            true = 100.0 * np.linalg.norm(error) / np.linalg.norm(fields[channel])
            if basis == "map" or (channel == "a" and (out / "a_map.npy").exists()):
                # Of a field of two values, the pixels that are taken for the other one.
                both = np.load(out / "a_map.npy").reshape(len(problems), SIZE, SIZE)[k]
                true = 100.0 * float(np.mean(np.abs(both - fields[channel]) > 1.0))
            within = None
            if widths is not None and np.isfinite(widths[0][k]).all():
                inner = (slice(1, -1), slice(1, -1))
                # Where a value is known whatever was measured a band has no width, and says nothing.
                unknown = widths[-1][k][inner] > 0.0
                within = [100.0 * float(np.mean((error <= width[k])[inner][unknown])) for width in widths]
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
    sensors = folder / "sensors.json"
    generated = arguments.generated.get(part.situation.pde)
    truths = write_sensors(sensors, part, arguments.seed + part.seed, generated)
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
    if warned == count:
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


def require_models(arguments, parts):
    """Ends the study where the program has no model of a problem, which it would refuse as it refuses bad readings."""
    listed = subprocess.run([arguments.scope, "model", "list", "--json"], capture_output=True, text=True, check=True)
    known = {model["card"]["name"] for model in json.loads(listed.stdout)}
    missing = {part.situation.pde for part in parts if part.method == "network"} - known
    if missing:
        sys.exit(f"there is no model of {', '.join(sorted(missing))}: name a folder of models in SCOPE_MODELS")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scope", default="target/release/scope", help="the program")
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
    problems = {part.situation.pde for part in parts} - {"poisson"}
    arguments.generated = {pde: Generated(arguments.scope, pde, arguments.records, arguments.work) for pde in problems}
    if not arguments.assemble:
        require_models(arguments, parts)
        with ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(lambda part: work(arguments, part), sorted(parts, key=lambda part: -part.cost())))
    missing = assemble(arguments, parts)
    if missing:
        print(f"{missing} of {len(parts)} parts are missing: run it again to go on", file=sys.stderr)


if __name__ == "__main__":
    main()
