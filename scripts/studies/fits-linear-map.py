#!/usr/bin/env python3
"""How much do local fits of the sensors tell of a? The best linear map from fits to a, without a network.

    scope data generate poisson --split test --count 16 --seed 777 --out data
    scripts/studies/fits-linear-map.py data --sensors 500 --degree 4 --scales 4 8 --ridge 1e-6 1e-8 --edge 0.01 [--noise 0.05]

Sensors of u are drawn at random; fits are made at one point of every square of four by four pixels, and those of a square and of its four neighbours are
mapped to its sixteen pixels of a, one map for the outermost squares, one for the next and one for all others. Maps are fitted on one half of the records
and tested on the other. Noise is in units of the field's standard deviation, and told as a weight, as in training. Needs numpy.
"""

import argparse
from math import factorial

import numpy as np

STRIDE = 4


def fits(values, mask, scale, degree, ridge):
    """The coefficients [side, side, functions] at every pixel."""
    side = len(mask)
    d = (np.arange(side)[None] - np.arange(side)[:, None]) / scale
    weight = [np.exp(-d * d / 2) * d**k for k in range(2 * degree + 1)]
    basis = [(t - i, i) for t in range(degree + 1) for i in range(t + 1)]
    factor = [1 / factorial(k) / factorial(l) for k, l in basis]
    moment = {(k, l): weight[k] @ mask @ weight[l].T for k in range(2 * degree + 1) for l in range(2 * degree + 1 - k)}
    left = np.zeros((side, side, len(basis), len(basis)))
    right = np.zeros((side, side, len(basis)))
    for i, (k, l) in enumerate(basis):
        right[..., i] = factor[i] * (weight[k] @ (values * mask) @ weight[l].T)
        for j, (m, n) in enumerate(basis):
            left[..., i, j] = factor[i] * factor[j] * moment[k + m, l + n]
    left += np.diag([ridge[k + l > 1] for k, l in basis])
    return np.linalg.solve(left, right[..., None])[..., 0]


def squares(a, u, mask, arguments):
    """For each kind of square its features [squares, features] and pixels of a [squares, 16]."""
    side = len(mask)
    points = np.arange(STRIDE // 2, side, STRIDE)
    fitted = [fits(u, mask, scale, arguments.degree, arguments.ridge)[np.ix_(points, points)] for scale in arguments.scales]
    own = np.concatenate(fitted, -1)
    padded = np.pad(own, ((1, 1), (1, 1), (0, 0)), mode="edge")
    around = [padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]]
    features = np.concatenate([own, *around], -1)
    count = len(points)
    pixels = a.reshape(count, STRIDE, count, STRIDE).transpose(0, 2, 1, 3).reshape(count, count, -1)
    inwards = np.minimum(np.arange(count), count - 1 - np.arange(count))
    kind = np.minimum(np.minimum(inwards[:, None], inwards[None]), 2)
    return [(features[kind == k], pixels[kind == k]) for k in range(3)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--sensors", type=int, default=500)
    parser.add_argument("--degree", type=int, default=4)
    parser.add_argument("--scales", type=float, nargs="+", default=[4.0, 8.0])
    parser.add_argument("--ridge", type=float, nargs=2, default=[1e-6, 1e-8])
    parser.add_argument("--edge", type=float, default=0.01, help="the weight of a pixel of the edge")
    parser.add_argument("--noise", type=float, default=0.0)
    arguments = parser.parse_args()
    fields = np.load(f"{arguments.data}/fields.npy").astype(float)
    side, random = fields.shape[-1], np.random.default_rng(3)
    trust = 1e-4 / (1e-4 + arguments.noise**2)
    records = []
    for a, u in fields:
        mask = np.zeros(side * side)
        mask[random.choice(side * side, arguments.sensors, replace=False)] = trust
        mask = mask.reshape(side, side)
        # Stored values are half as large as in units of the standard deviation.
        seen = u + 0.5 * arguments.noise * random.standard_normal(u.shape)
        edge = np.ones_like(mask, bool)
        edge[1:-1, 1:-1] = False
        if arguments.edge > 0:
            mask[edge] = np.maximum(mask[edge], arguments.edge)
            seen[edge] = u[edge]
        records.append(squares(a, seen, mask, arguments))
    halves = [records[: len(records) // 2], records[len(records) // 2 :]]
    missed = 0.0
    for kind in range(3):
        x, y = ([np.concatenate([record[kind][part] for record in half]) for half in halves] for part in range(2))
        size = np.concatenate(x).std(0) + 1e-30
        for fit, test in ((0, 1), (1, 0)):
            known = x[fit] / size
            map_ = np.linalg.solve(known.T @ known + 1e-6 * len(known) * np.eye(known.shape[1]), known.T @ y[fit])
            missed += ((y[test] - x[test] / size @ map_) ** 2).sum()
    print(f"a is off by {100 * np.sqrt(missed / (fields[:, 0] ** 2).sum()):.2f}%")


main()
