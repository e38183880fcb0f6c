#!/usr/bin/env python3
"""Errors and coverage of bands from few to many sensors of Poisson's u, exact and noisy: the shipped network, the exact posterior, and a
linear fit. Prints the tables of docs/sensors.md.

    pip install .                                   # the package fieldscope; see docs/python.md
    scripts/studies/few-and-noisy.py --work few-and-noisy   # goes on where it was interrupted; half an hour on two cores

Records are fresh; sensors lie on pixels drawn anew for each record. The noise is Gaussian with a share of the field's standard deviation,
and is stated. A network's bands are those of `calibrate`, measured for the very sensors and noise on fresh records of the solver; those
of the posteriors are one and two standard deviations (68.3% and 95.4% of a Gaussian). Coverage counts pixels.
"""

import argparse
import json
import pathlib

import numpy as np

import fieldscope

COUNTS = [5, 20, 50, 200, 500]
NOISES = [0.0, 0.01, 0.05, 0.1]
METHODS = ["network", "exact", "linear"]


def posterior_bands(recovery):
    """Half-widths of both levels."""
    return {channel: [recovery.sd[channel], 2 * recovery.sd[channel]] for channel in "au"}


def recovered(method, arguments, noise, calibrate):
    """Fields, and half-widths of two bands where there are any."""
    points, values = arguments
    if isinstance(method, fieldscope.Model):
        recovery = method.recover(points, values, noise=noise, calibrate=calibrate)
        bands = {channel: [recovery.band68[channel], recovery.band95[channel]] for channel in recovery.band68}
    else:
        recovery = method.recover(points, values, noise=noise)
        bands = posterior_bands(recovery)
    return recovery, bands


def cell(method, records, count, share, calibrate):
    """Means over records: errors in percent of a and u, shares within both bands of each, and how many records have bands."""
    rows = []
    for index in range(len(records.u)):
        generator = np.random.default_rng([count, index])
        pixels = generator.choice(128 * 128, count, replace=False)
        i, j = np.divmod(pixels, 128)
        noise = share * float(records.u.std())
        values = records.u[index, i, j] + noise * generator.standard_normal(count)
        stated = (0.0, noise) if share else None
        recovery, bands = recovered(method, (np.column_stack([i, j]) / 127.0, values), stated, calibrate)
        row = {}
        for channel in "au":
            truth = getattr(records, channel)[index]
            error = np.abs(getattr(recovery, channel) - truth)
            row[channel] = 100 * float(np.linalg.norm(error) / np.linalg.norm(truth))
            for level, width in zip(("68", "95"), bands.get(channel, []), strict=False):
                # Where a value is known, nothing is uncertain, and its rounding is no error.
                uncertain = width > 1e-6 * np.abs(truth).max()
                row[channel + level] = 100 * float(np.mean(error[uncertain] <= width[uncertain]))
        rows.append(row)
    keys = sorted({key for row in rows for key in row})
    means = {key: float(np.mean([row[key] for row in rows if key in row])) for key in keys}
    return means | {"banded": sum("u68" in row for row in rows)}


def table(done, channel):
    head = " | ".join(f"{count}" for count in COUNTS)
    lines = [f"| {channel}: error, and within its bands | noise | {head} |", "|---" * (2 + len(COUNTS)) + "|"]
    for share in NOISES:
        for method in METHODS:
            cells = []
            for count in COUNTS:
                found = done[f"{method}/{count}/{share}"]
                shares = [found.get(channel + level, float("nan")) for level in ("68", "95")]
                cells.append(f"{found[channel]:.2f} ({shares[0]:.0f}/{shares[1]:.0f})")
            lines.append(f"| {method} | {100 * share:g}% | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--records", type=int, default=16)
    parser.add_argument("--calibrate", type=int, default=60)
    parser.add_argument("--fit-records", type=int, default=5000)
    parser.add_argument("--modes", type=int, default=1000)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    records = fieldscope.generate("poisson", options.records, seed=20261118, split="test")
    fit = options.work / "linear.safetensors"
    if not fit.exists():
        if not (options.work / "data").exists():
            fieldscope.generate("poisson", options.fit_records, out=options.work / "data")
        fieldscope.fit_linear(options.work / "data", options.modes, fit)
    methods = {"network": fieldscope.load("poisson", device="cpu"), "exact": fieldscope.exact("poisson"), "linear": fieldscope.linear(fit)}
    results = options.work / "cells.json"
    done = json.loads(results.read_text()) if results.exists() else {}
    for count in COUNTS:
        for share in NOISES:
            for name in METHODS:
                if f"{name}/{count}/{share}" not in done:
                    done[f"{name}/{count}/{share}"] = cell(methods[name], records, count, share, options.calibrate)
                    results.write_text(json.dumps(done, indent=1))
    print(table(done, "a"), table(done, "u"), sep="\n\n")


main()
