#!/usr/bin/env python3
"""Holds the ONNX graphs of the shipped models and of the operators against this program.

    scripts/checks/check-onnx.py [PROGRAM]        (target/release/scope)

For each model: the graph is exported, onnx's checker passes it, and onnxruntime recovers two problems in one batch, from readings of
u and of a at 3% of the points. Fields must be those of `scope recover --unprojected` within 1e-4 of the field's range, everywhere.
Operators are trained for a few steps first, in the paper's sizes on a grid of 32 x 32. Needs numpy, onnx and onnxruntime.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

TOLERANCE = 1e-4
SHIPPED = ("poisson", "helmholtz", "darcy", "ns", "cylinder")
# Operators with their peak learning rates: such that fields vary after a few steps, and are not a large mean with little about it, of
# which rounding would be a large share.
OPERATORS = {"fno": "1e-3", "deeponet": "1e-3", "cno": "1e-3", "transolver": "1.25e-4"}
# Of an operator: the grid, and draws enough that neither parameters nor running statistics are those of the beginning.
RESOLUTION, DRAWS, BATCH = 32, 160, 8


def run(*arguments):
    subprocess.run([*map(str, arguments)], check=True, capture_output=True)


def trained(operator, folder, scope):
    """The run of an operator that was trained on a few records of Poisson."""
    data, out = folder / "train", folder / operator
    if not data.exists():
        run(scope, "data", "generate", "poisson", "--resolution", RESOLUTION, "--count", 64, "--out", data)
    run(scope, "train", "--pde", "poisson", "--data", data, "--model", operator, "--recipe", "operator", "--draws", DRAWS,
        "--set", f"batch={BATCH}", "--set", f"peak_rate={OPERATORS[operator]}", "--device", "cpu", "--out", out)
    return out


def problems(pde, resolution, folder, scope):
    """Readings and masks [2, 2, S, S] of a fresh record: u measured, then a."""
    data = folder / f"{pde}-{resolution}-data"
    if not data.exists():
        run(scope, "data", "generate", pde, "--resolution", resolution, "--count", 1, "--seed", 5, "--split", "test", "--out", data)
    meta = json.loads((data / "meta.json").read_text())
    stored = np.load(data / "fields.npy")[0].astype(np.float64)
    fields = np.stack([2 * meta[c]["sigma"] * x + meta[c]["mean"] for c, x in zip("au", stored)])
    size = fields.shape[-1]
    places = np.random.default_rng(7).choice(size * size, 500 * size * size // 128**2, replace=False)
    mask = np.zeros((2, 2, size * size), np.float32)
    mask[0, 1, places] = mask[1, 0, places] = 1
    mask = mask.reshape(2, 2, size, size)
    readings = np.where(mask > 0, fields.astype(np.float32), 0).astype(np.float32)
    disk = np.load(data / "geometry.npy")[0] if (data / "geometry.npy").exists() else None
    return readings, mask, disk


def ours(model, readings, mask, disk, folder, scope):
    fields = []
    for k in range(len(readings)):
        name = f"{pathlib.Path(model).name}-{k}"
        sensors, out = folder / f"{name}.npz", folder / f"{name}-recovered"
        np.savez(sensors, values=readings[k], mask=mask[k])
        command = [scope, "recover", "--model", model, "--sensors", sensors, "--unprojected", "--device", "cpu", "--out", out]
        if disk is not None:
            command += ["--geometry", ",".join(repr(float(x)) for x in disk)]
        run(*command)
        fields.append([np.load(out / f"{c}_unprojected.npy") for c in "au"])
    return np.array(fields)


def with_disk(readings, mask, disk):
    """The cylinder's disk is known on both channels: zero, and measured."""
    size = mask.shape[-1]
    i, j = np.mgrid[0:size, 0:size]
    cx, cy, r = disk
    inside = (i - cx) ** 2 + (j - cy) ** 2 <= r * r
    return np.where(inside & (mask == 0), 0, readings).astype(np.float32), np.where(inside, 1, mask).astype(np.float32)


def main():
    scope = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/scope").resolve()
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in (*SHIPPED, *OPERATORS):
            path = folder / f"{name}.onnx"
            shipped = name in SHIPPED
            model, pde = (name, name) if shipped else (trained(name, folder, scope), "poisson")
            run(scope, "model", "export", "--model", model, "--format", "onnx", "--out", path)
            onnx.checker.check_model(onnx.load(path), full_check=True)
            readings, mask, disk = problems(pde, 128 if shipped else RESOLUTION, folder, scope)
            expected = ours(model, readings, mask, disk, folder, scope)
            if disk is not None:
                readings, mask = with_disk(readings, mask, disk)
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            got = session.run(["fields"], {"readings": readings, "mask": mask})[0]
            span = np.ptp(expected, axis=(2, 3), keepdims=True)
            error = float(np.max(np.abs(got - expected) / span))
            worst = max(worst, error)
            print(f"{name:10} {path.stat().st_size:>11,} bytes  largest difference {error:.1e} of the field's range", flush=True)
    print("agreed" if worst <= TOLERANCE else f"NOT within {TOLERANCE}")
    sys.exit(worst > TOLERANCE)


if __name__ == "__main__":
    main()
