"""Writes metrics.json: metrics and paired statistics computed with numpy from their definitions.

    python3 crates/scope-eval/tests/reference/metrics.py

Needs numpy. Nothing of the project is used: the Rust test reads the inputs and the results from the file.
"""

import json
import pathlib

import numpy as np

rng = np.random.default_rng(7)
size, mean, sigma = 24, 0.3, 0.8


def relative(recovered, truth, where):
    return 100 * np.sqrt(np.sum((recovered - truth)[where] ** 2) / np.sum(truth[where] ** 2))


stored = rng.normal(size=(size, size)).astype(np.float32)
recovered = (2 * sigma * stored.astype(np.float64) + mean + 0.1 * rng.normal(size=(size, size))).astype(np.float32)
truth = 2 * sigma * stored.astype(np.float64) + mean
guess = recovered.astype(np.float64)

# Regions: the closed disk, its dilation by a 5 x 5 square, the fluid.
cx, cy, r = 9.3, 13.1, 3.7
i, j = np.mgrid[0:size, 0:size]
disk = (i - cx) ** 2 + (j - cy) ** 2 <= r**2
dilated = np.zeros_like(disk)
for di in range(-2, 3):
    for dj in range(-2, 3):
        shifted = np.zeros_like(disk)
        rows = slice(max(di, 0), size + min(di, 0)), slice(max(-di, 0), size + min(-di, 0))
        columns = slice(max(dj, 0), size + min(dj, 0)), slice(max(-dj, 0), size + min(-dj, 0))
        shifted[rows[0], columns[0]] = disk[rows[1], columns[1]]
        dilated |= shifted

# Darcy: permeability 3 or 12, threshold 7.5.
bits = rng.integers(0, 2, size=(size, size))
permeability = (9.0 * bits + 3.0 + 4.0 * rng.normal(size=(size, size))).astype(np.float32)

a, b = rng.gamma(4.0, 0.5, size=200), rng.gamma(4.0, 0.5, size=200)
d = a - b

result = {
    "size": size,
    "scaling": [mean, sigma],
    "disk": [cx, cy, r],
    "stored": stored.ravel().tolist(),
    "recovered": recovered.ravel().tolist(),
    "relative": relative(guess, truth, np.ones_like(disk)),
    "rmse": float(np.sqrt(np.mean((guess - truth) ** 2))),
    "fluid": relative(guess, truth, ~disk),
    "band": relative(guess, truth, dilated & ~disk),
    "interior": relative(guess, truth, ~dilated),
    "bits": bits.ravel().tolist(),
    "permeability": permeability.ravel().tolist(),
    "ber": float(100 * np.mean((permeability.astype(np.float64) > 7.5) != (bits == 1))),
    "a": a.tolist(),
    "b": b.tolist(),
    "paired": {
        "difference": float(d.mean()),
        "sd": float(d.std(ddof=1)),
        "t": float(d.mean() / (d.std(ddof=1) / np.sqrt(len(d)))),
        "improved": float(100 * np.mean(d < 0)),
    },
}
path = pathlib.Path(__file__).with_name("metrics.json")
path.write_text(json.dumps(result) + "\n")
