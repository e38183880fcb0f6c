#!/usr/bin/env python3
"""The time of a training step on many GPUs, from the measured step of one and the speed of the links: docs/scale.md.

    scripts/benchmarks/step-model.py [--nvlink GB/s] [--node GB/s] [--latency US]

Nothing here is measured on more than one GPU. A step on G GPUs, each with the batch that one had, takes

    t = compute + update share + max(0, reduce - beside) + tail,     reduce = buffers (2 (G - 1) / G 4 N / B + latency buckets)

with N parameters, B the bus bandwidth of the slowest link on the way, `beside` the part of the step that reductions can hide
behind (backward passes), `tail` the last bucket, and for Muon 6 N (G - 1) / G / B for the matrices that ranks give each other.
"""
import argparse

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--nvlink", type=float, default=350, help="bus bandwidth of an all-reduce inside a node, GB/s")
parser.add_argument("--node", type=float, default=320, help="the same between nodes, all network cards of a node together, GB/s")
parser.add_argument("--latency", type=float, default=30, help="of one bucket's reduction, microseconds")
options = parser.parse_args()

BUCKET = 8.4e6  # bytes
# Name, parameters, gradients that are reduced, measured ms at batch 32 a GPU (docs/PERFORMANCE.md), share that is backward, Muon.
STEPS = [
    ("base FO", 40.04e6, 1, 6.47, 2 / 3, False),
    ("base Full", 40.04e6, 4, 21.02, 2 / 3, False),
    ("small muon-fits", 6.85e6, 1, 2.98, 0.5, True),
]


def step(parameters, buffers, ms, backward, muon, gpus, speed):
    around = (gpus - 1) / gpus
    one = 4 * parameters
    buckets = max(1, round(one / BUCKET))
    reduce = buffers * (2 * around * one / speed / 1e6 + buckets * options.latency / 1e3)
    tail = 2 * around * min(BUCKET, one) / speed / 1e6 + options.latency / 1e3
    given = 6 * parameters * around / speed / 1e6 + options.latency / 1e3 if muon else 0.0
    return reduce, ms + given + max(0.0, reduce - backward * ms) + tail


print(f"{'step':<18}{'GPUs':>5}{'links':>22}{'reduce ms':>11}{'step ms':>9}{'draws/s':>10}{'efficiency':>12}")
for name, parameters, buffers, ms, backward, muon in STEPS:
    for gpus, links, speed in [(1, "-", 1e9), (8, f"NVLink, {options.nvlink:.0f} GB/s", options.nvlink),
                               (64, f"network, {options.node:.0f} GB/s", options.node), (64, "network, 40 GB/s", 40.0)]:
        reduce, time = (0.0, ms) if gpus == 1 else step(parameters, buffers, ms, backward, muon, gpus, speed)
        print(f"{name:<18}{gpus:>5}{links:>22}{reduce:>11.2f}{time:>9.2f}{gpus * 32e3 / time:>10.0f}{ms / time:>11.0%}")
