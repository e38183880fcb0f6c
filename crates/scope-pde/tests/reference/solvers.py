"""Independent solutions of generated records, with numpy and scipy.

    pip install numpy scipy
    scope data generate darcy --count 6 --out /tmp/darcy
    scope data generate ns --count 4 --out /tmp/ns
    python solvers.py /tmp/darcy /tmp/ns

prints, for each record, the relative L2 difference of the stored u to one solved here from the stored a: scipy's
splines and sparse LU for Darcy, the advective form without truncated inputs for Navier-Stokes. Single precision leaves
about 1e-7. Two cylinder folders of one seed, one at twice the resolution of the other, are compared with each other:

    scope data generate cylinder --count 12 --seed 1 --out /tmp/128
    scope data generate cylinder --count 12 --seed 1 --resolution 256 --out /tmp/256
    python solvers.py /tmp/128 /tmp/256
"""

import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sparse
from scipy.interpolate import CubicSpline
from scipy.sparse.linalg import spsolve


def load(folder):
    """Name and physical fields [N, 2, S, S]."""
    meta = json.loads((Path(folder) / "meta.json").read_text())
    stored = np.load(Path(folder) / "fields.npy").astype(float)
    scale = lambda key: np.array([meta["a"][key], meta["u"][key]]).reshape(1, 2, 1, 1)
    return meta["pde"], 2 * scale("sigma") * stored + scale("mean")


def relative(x, y):
    return np.linalg.norm(x - y) / np.linalg.norm(y)


def darcy(a):
    size = len(a)
    centres, nodes = (np.arange(size) + 0.5) / size, np.arange(size) / (size - 1)
    spline = lambda knots, targets: CubicSpline(knots, np.eye(size), bc_type="not-a-knot")(targets)
    to_nodes, to_centres = spline(centres, nodes), spline(nodes, centres)
    k = to_nodes @ a @ to_nodes.T
    inner = size - 2
    down, across = (k[:-1, 1:-1] + k[1:, 1:-1]) / 2, (k[1:-1, :-1] + k[1:-1, 1:]) / 2
    index = np.arange(inner * inner).reshape(inner, inner)
    matrix = sparse.diags((down[:-1] + down[1:] + across[:, :-1] + across[:, 1:]).ravel())
    for face, p, q in [
        (down[1:-1], index[:-1], index[1:]),
        (across[:, 1:-1], index[:, :-1], index[:, 1:]),
    ]:
        block = sparse.coo_matrix((face.ravel(), (p.ravel(), q.ravel())), (inner**2, inner**2))
        matrix = matrix - block - block.T
    pressure = np.zeros((size, size))
    pressure[1:-1, 1:-1] = spsolve((matrix * (size - 1) ** 2).tocsc(), np.ones(inner**2)).reshape(inner, inner)
    return to_centres @ pressure @ to_centres.T


def navier_stokes(a, steps=20):
    size = len(a)
    k = np.fft.fftfreq(size, 1 / size)
    kx, ky = np.meshgrid(k, k, indexing="ij")
    square = 4 * np.pi**2 * (kx**2 + ky**2)
    inverse = np.divide(1, square, out=np.zeros_like(square), where=square > 0)
    kept = (abs(kx) <= size / 3) & (abs(ky) <= size / 3)
    x = np.arange(size) / size
    angle = 2 * np.pi * (x[:, None] + x[None, :])
    force = np.fft.fft2(0.1 * (np.sin(angle) + np.cos(angle)))
    field = lambda spectrum: np.fft.ifft2(spectrum).real

    def slope(w):
        v1, v2 = field(2j * np.pi * ky * inverse * w), field(-2j * np.pi * kx * inverse * w)
        advection = v1 * field(2j * np.pi * kx * w) + v2 * field(2j * np.pi * ky * w)
        return force - kept * np.fft.fft2(advection)

    w, dt = np.fft.fft2(a), 1 / steps
    e = np.exp(-1e-3 * square * dt / 2)
    for _ in range(steps):
        k1 = slope(w)
        k2 = slope(e * (w + dt / 2 * k1))
        k3 = slope(e * w + dt / 2 * k2)
        k4 = slope(e * e * w + dt * e * k3)
        w = e * e * w + dt / 6 * (e * e * k1 + 2 * e * (k2 + k3) + k4)
    return field(w)


def compare_resolutions(coarse, fine):
    size = coarse.shape[-1]
    pooled = fine.reshape(-1, 2, size, 2, size, 2).mean((3, 5))
    errors = [[relative(c[k], f[k]) for k in (0, 1)] for c, f in zip(coarse, pooled)]
    print("median", np.median(errors, 0), "least", np.min(errors, 0), "greatest", np.max(errors, 0))


if __name__ == "__main__":
    folders = [load(folder) for folder in sys.argv[1:]]
    if all(pde == "cylinder" for pde, _ in folders):
        compare_resolutions(folders[0][1], folders[1][1])
    else:
        for pde, fields in folders:
            solve = {"darcy": darcy, "ns": navier_stokes}[pde]
            print(pde, " ".join(f"{relative(u, solve(a)):.1e}" for a, u in fields))
