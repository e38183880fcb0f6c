"""The records that scripts/studies/situations.py recovers: Poisson's from a numpy generator of its own, and those of problems without one
here from the program, with a seed that no model has seen."""

import json
import pathlib
import subprocess

import numpy as np

SIZE = 128
TAU = 3.0
SEED = 20261119
# Standard deviations of the two fields, which --noise P% refers to.
SIGMA = {
    "poisson": {"a": 0.2919494, "u": 0.00417478},
    "darcy": {"a": 4.5, "u": 0.00379030361},
    "cylinder": {"a": 1.126255, "u": 1.113554},
}


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


class Generated:
    """Records that the program has made, in physical units, with the disk of each where they have one."""

    def __init__(self, scope, pde, count, folder):
        self.folder = pathlib.Path(folder) / f"{pde}-{count}"
        if not self.folder.exists():
            command = [scope, "data", "generate", pde, "--count", str(count), "--split", "test", "--seed", str(SEED), "--out", str(self.folder)]
            subprocess.run(command, check=True, capture_output=True)
        meta = json.loads((self.folder / "meta.json").read_text())
        self.scaling = [(meta[channel]["mean"], meta[channel]["sigma"]) for channel in "au"]
        self.fields = np.load(self.folder / "fields.npy", mmap_mode="r")
        disks = self.folder / "geometry.npy"
        self.disks = np.load(disks) if disks.exists() else None

    def record(self, number):
        pair = np.asarray(self.fields[number], dtype=float)
        return {channel: 2.0 * sigma * pair[k] + mean for k, (channel, (mean, sigma)) in enumerate(zip("au", self.scaling))}

    def disk(self, number):
        return None if self.disks is None else self.disks[number]
