"""Records of water levels in a basin with walls: the level now (a) and five minutes later (u).

The shallow-water equations on cells of 100 m, with g = 9.81 m/s2, a depth of H = 10 m and a weak friction r:

    h_t = -((H + h) v)_x - ((H + h) w)_y,    v_t = -g h_x - r v,    w_t = -g h_y - r w

Levels live in the cells, the velocities v and w on the faces between them, and no water passes a wall. A record begins at
rest with a few smooth hills and hollows of about half a metre.

    python make_records.py --count 2000 --out records
"""

import argparse
import multiprocessing
import pathlib

import numpy as np

GRAVITY = 9.81
DEPTH = 10.0
FRICTION = 1e-3
CELL = 100.0
STEP = 4.0
SECONDS = 300.0


def initial_levels(generator, rows, columns):
    """Two to five Gaussian hills or hollows, without a mean: the amount of water is that of the basin at rest."""
    x = (np.arange(rows) + 0.5)[:, None] * CELL
    y = (np.arange(columns) + 0.5)[None, :] * CELL
    level = np.zeros((rows, columns))
    for _ in range(generator.integers(2, 6)):
        centre = generator.uniform(0.1, 0.9, 2) * CELL * np.array([rows, columns])
        width = generator.uniform(0.06, 0.15) * CELL * columns
        height = generator.uniform(-1.0, 1.0)
        level += height * np.exp(-((x - centre[0]) ** 2 + (y - centre[1]) ** 2) / (2 * width**2))
    return level - level.mean()


def later_levels(level):
    """The levels after SECONDS."""
    h = level.copy()
    v = np.zeros((h.shape[0] + 1, h.shape[1]))
    w = np.zeros((h.shape[0], h.shape[1] + 1))
    for _ in range(round(SECONDS / STEP)):
        v[1:-1] += STEP * (-GRAVITY * np.diff(h, axis=0) / CELL - FRICTION * v[1:-1])
        w[:, 1:-1] += STEP * (-GRAVITY * np.diff(h, axis=1) / CELL - FRICTION * w[:, 1:-1])
        along_x = np.zeros_like(v)
        along_y = np.zeros_like(w)
        along_x[1:-1] = (DEPTH + 0.5 * (h[1:] + h[:-1])) * v[1:-1]
        along_y[:, 1:-1] = (DEPTH + 0.5 * (h[:, 1:] + h[:, :-1])) * w[:, 1:-1]
        h -= STEP * (np.diff(along_x, axis=0) + np.diff(along_y, axis=1)) / CELL
    return h


def write_records(task):
    """The records of one task, into their places of both files."""
    folder, records, shape, seed = task
    a = np.lib.format.open_memmap(folder / "a.npy", mode="r+")
    u = np.lib.format.open_memmap(folder / "u.npy", mode="r+")
    for record in records:
        # A stream for each record: the first hundred are the same in any number of them, however they are shared out.
        generator = np.random.default_rng([seed, record])
        level = initial_levels(generator, *shape)
        a[record] = level
        u[record] = later_levels(level)


def main():
    parser = argparse.ArgumentParser(description="Records of water levels in a basin with walls.")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=96)
    parser.add_argument("--columns", type=int, default=160)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("records"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    shape = (options.rows, options.columns)
    for name in ("a.npy", "u.npy"):
        np.lib.format.open_memmap(options.out / name, mode="w+", dtype="<f4", shape=(options.count, *shape))
    records = range(options.count)
    tasks = [(options.out, records[first : first + 50], shape, options.seed) for first in range(0, options.count, 50)]
    with multiprocessing.Pool(options.processes) as pool:
        for _ in pool.imap_unordered(write_records, tasks):
            pass


if __name__ == "__main__":
    main()
