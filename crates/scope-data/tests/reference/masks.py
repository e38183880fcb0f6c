"""The masks and the schedule in Python, from their description alone (docs/observations.md).

    pip install numpy blake3
    python masks.py

prints the hashes that `masks.rs` and `batch_schedule.rs` expect, so that the description can be trusted, and so that
a method written in Python can use the same masks.
"""

import math
import struct

import numpy as np
from blake3 import blake3

BUDGET_SHAPES = {
    500: (20, 25), 1024: (32, 32), 2048: (32, 64), 4096: (64, 64),
    8192: (64, 128), 12288: (96, 128), 16384: (128, 128),
}
FAMILIES = ["uniform", "grid", "cluster", "lines", "block"]
POINT_SLOTS = [500, 500, 1024, 2048, 4096, 8192, 12288, 16384]
AREA_SLOTS = [4915, 9830]


class Stream:
    """ChaCha8 words under a key that BLAKE3 derives from coordinates."""

    def __init__(self, *coordinates):
        encoded = b""
        for value in coordinates:
            if isinstance(value, str):
                value = value.encode()
                encoded += struct.pack("<Q", len(value)) + value
            else:
                encoded += struct.pack("<Q", value)
        key = blake3(encoded, derive_key_context="SCOPE 2026 random streams v1").digest()
        self.key = np.frombuffer(key, "<u4")
        self.words, self.at, self.block = np.empty(0, "<u4"), 0, 0

    def refill(self, blocks):
        counter = np.arange(self.block, self.block + blocks, dtype=np.uint64)
        self.block += blocks
        start = np.zeros((16, blocks), np.uint32)
        start[:4] = np.frombuffer(b"expand 32-byte k", "<u4")[:, None]
        start[4:12] = self.key[:, None]
        start[12], start[13] = counter & 0xFFFFFFFF, counter >> np.uint64(32)
        x = start.copy()

        def turn(a, b, c, d):
            for p, q, r, n in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]:
                x[p] += x[q]
                x[r] ^= x[p]
                x[r] = x[r] << np.uint32(n) | x[r] >> np.uint32(32 - n)

        for _ in range(4):
            for a, b, c, d in [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]:
                turn(a, b, c, d)
            for a, b, c, d in [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]:
                turn(a, b, c, d)
        self.words = np.concatenate([self.words[self.at:], (x + start).T.reshape(-1)])
        self.at = 0

    def take(self, count):
        if len(self.words) - self.at < count:
            self.refill((count + 15) // 16 + 4)
        self.at += count
        return self.words[self.at - count:self.at]

    def word(self):
        return int(self.take(1)[0])

    def below(self, n):
        while True:
            product = self.word() * n
            if product % 2**32 >= 2**32 % n:
                return product >> 32

    def unit(self):
        low, high = self.word(), self.word()
        return ((high << 32 | low) >> 11) / 2**53

    def between(self, low, high):
        return low + (high - low) * self.unit()

    def coin(self):
        return self.word() & 1 == 1

    def shuffle(self, items):
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


def uniform(mask, points, stream):
    inverted = 2 * points > mask.size
    drawn = mask.size - points if inverted else points
    for last in range(mask.size - drawn, mask.size):
        point = stream.below(last + 1)
        mask[last if mask[point] else point] = True
    if inverted:
        mask[:] = ~mask


def grid(mask, size, shape, stream):
    rows, columns = shape[::-1] if stream.coin() else shape

    def lines(count):
        phase, step = stream.unit(), size / count
        return [min(int((k + phase) * step), size - 1) for k in range(count)]

    rows, columns = lines(rows), lines(columns)
    mask.reshape(size, size)[np.ix_(rows, columns)] = True


def logarithm(x):
    mantissa, exponent = np.frexp(x)  # in [1/2, 1)
    mantissa, exponent = 2 * mantissa, exponent - 1.0
    high = mantissa > math.sqrt(2)
    m, e = np.where(high, 0.5 * mantissa, mantissa), np.where(high, exponent + 1, exponent)
    s = (m - 1) / (m + 1)
    z = s * s
    series = np.full_like(z, 1 / 19)
    for odd in [17, 15, 13, 11, 9, 7, 5, 3, 1]:
        series = 1 / odd + z * series
    return e * math.log(2) + 2 * s * series


def cluster(mask, size, points, stream):
    count, centres = 2 + stream.below(3), []
    while len(centres) < count:
        x, y = stream.unit(), stream.unit()
        if all((x - p) * (x - p) + (y - q) * (y - q) >= 0.30 * 0.30 for p, q in centres):
            centres.append((x, y))
    widths = [stream.between(0.12, 0.20) for _ in centres]
    weights = np.zeros((size, size))
    for centre, width in zip(centres, widths):
        def factors(c):
            z = [((k + 0.5) / size - c) / width for k in range(size)]
            return np.array([math.exp(-0.5 * z * z) / width for z in z])
        weights += factors(centre[0])[:, None] * factors(centre[1])[None, :]
    u = (stream.take(mask.size).astype(float) + 0.5) / 2**32
    times = (-logarithm(u) / weights.reshape(-1)).view(np.uint64)
    bits = np.uint64((mask.size - 1).bit_length())
    keys = times >> bits << bits | np.arange(mask.size, dtype=np.uint64)
    mask[np.argsort(keys)[:points]] = True


def lines(mask, size, points, stream):
    columns, order = stream.coin(), list(range(size))
    stream.shuffle(order)
    field = mask.reshape(size, size).T if columns else mask.reshape(size, size)
    whole, rest = divmod(points, size)
    field[order[:whole]] = True
    if rest:
        start = stream.below(size - rest + 1)
        field[order[whole], start:start + rest] = True


def block(mask, size, points, stream):
    centre = stream.between(0.2, 0.8), stream.between(0.2, 0.8)
    ratio = stream.between(1.0, 1.5)
    aspect = 1 / ratio if stream.coin() else ratio
    x = (np.arange(size) + 0.5) / size
    rows = abs(x - centre[0]) / math.sqrt(aspect)
    columns = abs(x - centre[1]) / (1 / math.sqrt(aspect))
    distance = np.maximum(rows[:, None], columns[None, :]).reshape(-1)
    last = np.sort(distance)[points - 1]
    mask[distance < last] = True
    ring = list(np.flatnonzero(distance == last))
    stream.shuffle(ring)
    mask[ring[:points - mask.sum()]] = True


def channel_mask(size, seed, pde, record, task, layout, budget, channel, draw=None):
    """The mask of one channel; `draw` for training masks, none for test masks."""
    coordinates = ["mask", "test" if draw is None else "train", seed, pde, record, task, layout, budget, channel]
    stream = Stream(*coordinates, *([] if draw is None else [draw]))
    mask = np.zeros(size * size, bool)
    if layout == "benchmark_uniform":
        mask[:] = stream.take(mask.size) < 42949673
        return mask
    points = max((budget * size * size + 8192) // 16384, 1)
    if layout == "grid":
        shape = [(side * size + 64) // 128 for side in BUDGET_SHAPES[budget]]
        points = shape[0] * shape[1]
    if points == mask.size:
        mask[:] = True
    elif layout == "uniform":
        uniform(mask, points, stream)
    elif layout == "grid":
        grid(mask, size, shape, stream)
    else:
        {"cluster": cluster, "lines": lines, "block": block}[layout](mask, size, points, stream)
    return mask


def condition(seed, number):
    """Task, family and budget of a batch."""
    def shuffled(what, family, cycle, items):
        items = list(items)
        Stream("schedule", what, seed, family, cycle).shuffle(items)
        return items

    cycle, place = divmod(number, 5)
    family = shuffled("family", "", cycle, FAMILIES)[place]
    tasks = ["forward", "forward", "inverse", "inverse", "joint"]
    task = shuffled("task", family, cycle // 5, tasks)[cycle % 5]
    slots = AREA_SLOTS if family in ("lines", "block") else POINT_SLOTS
    budget = shuffled("budget", family, cycle // len(slots), slots)[cycle % len(slots)]
    return f"{task}/{family}/{budget}"


def records(seed, count, epoch):
    """The order of the records in an epoch."""
    order = list(range(count))
    Stream("schedule", "records", seed, "", epoch).shuffle(order)
    return order


if __name__ == "__main__":
    for text in [
        "joint/uniform/500", "joint/uniform/12288", "joint/grid/500", "joint/grid/12288", "joint/cluster/500",
        "joint/cluster/8192", "joint/lines/4915", "joint/block/9830", "forward/benchmark_uniform/100",
    ]:
        task, layout, budget = text.split("/")
        seen = {"forward": "a", "inverse": "u", "joint": "au"}[task]
        masks = [
            channel_mask(128, 20260913, "poisson", 17, task, layout, int(budget), c, draw=3)
            if c in seen else np.zeros(16384, bool)
            for c in "au"
        ]
        packed = np.packbits(np.concatenate(masks), bitorder="little").tobytes()
        print(f'("{text}", "{blake3(packed).hexdigest()[:16]}"),')
    print([condition(20260913, n) for n in [0, 1, 2, 3, 4, 1_000_000]])
    print(records(20260913, 50_000, 3)[:6])
