"""The situations of scripts/studies/situations.py: what sensors there are, what is wrong with them, and what the program is told."""

from dataclasses import dataclass, field

import numpy as np
from situation_records import SIGMA, SIZE, between, solution, source


@dataclass
class Situation:
    """What sensors a situation has, what is wrong with them, and what the program is told."""

    name: str
    pde: str = "poisson"
    sensors: int = 500
    channel: str = "u"
    noise: float = 0.0
    options: list = field(default_factory=list)
    truth: str = "own"
    area: float = 1.0
    # Fields are this many times ours, as in other units.
    amplitude: float = 1.0
    off_grid: bool = False
    # Changes readings, given in units of the field's standard deviation.
    spoil: object = None
    only: str = ""
    disk_given: bool = True

    @property
    def sigma(self):
        return SIGMA[self.pde][self.channel] * self.amplitude

    def record(self, rng):
        """Fields of Poisson's equation, or of what a situation has in its place."""
        a = source(rng, power=1.5) if self.truth == "smooth source" else source(rng)
        if self.truth == "other equation":
            u = solution(a, reaction=100.0)
        else:
            u = solution(a)
        if self.truth == "wrong boundary":
            u = u + 0.01 * np.linspace(0.0, 1.0, SIZE)[:, None]
        return {"a": self.amplitude * a, "u": self.amplitude * u}

    def places(self, rng, disk=None):
        """Pixels, or points of the unit square; none inside a disk."""
        side = round(SIZE * np.sqrt(self.area))
        if self.off_grid:
            return rng.random((self.sensors, 2)) * np.sqrt(self.area)
        pixels = np.arange(side * side)
        if disk is not None:
            row, column = pixels // side, pixels % side
            pixels = pixels[(row - disk[0]) ** 2 + (column - disk[1]) ** 2 > disk[2] ** 2]
        pixels = rng.choice(pixels, self.sensors, replace=False)
        return np.stack([pixels // side, pixels % side], axis=1)

    def readings(self, rng, fields, places):
        field_ = fields[self.channel]
        values = between(field_, *places.T) if self.off_grid else field_[places[:, 0], places[:, 1]]
        values = values + self.noise * self.sigma * rng.standard_normal(len(values))
        return self.spoil(values, self.sigma, rng) if self.spoil else values


def outlier(values, sigma, rng):
    values = values.copy()
    values[7 % len(values)] += 3.0 * sigma
    return values


def several_outliers(values, sigma, rng):
    values = values.copy()
    values[7:12] += 3.0 * sigma * np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    return values


def offset(values, sigma, rng):
    return values + 0.5 * sigma


def times(factor):
    return lambda values, sigma, rng: factor * values


def digits(count):
    """Readings that are written with so many significant digits."""
    return lambda values, sigma, rng: np.array([float(f"{value:.{count}g}") for value in values])


def decimals(count):
    return lambda values, sigma, rng: np.round(values, count)


def flipped(count):
    """So many readings of a field of two values have the other one."""

    def flip(values, sigma, rng):
        values = values.copy()
        chosen = rng.choice(len(values), count, replace=False)
        values[chosen] = 15.0 - values[chosen]
        return values

    return flip


CALIBRATE = ["--calibrate", "200"]
AUTO = ["--scale", "u=auto"]

POISSON = [
    Situation("clean, sensors of u"),
    Situation("clean, sensors of a", channel="a"),
    Situation("noise of 0.2%, not stated", noise=0.002),
    Situation("noise of 1%, not stated", noise=0.01),
    Situation("noise of 1%, stated", noise=0.01, options=["--noise", "1%"]),
    Situation("noise of 1%, calibrated", noise=0.01, options=["--noise", "1%", *CALIBRATE], only="network"),
    Situation("noise of 5%, not stated", noise=0.05),
    Situation("noise of 5%, stated", noise=0.05, options=["--noise", "5%"]),
    Situation("noise of 5%, calibrated", noise=0.05, options=["--noise", "5%", *CALIBRATE], only="network"),
    Situation("noise of 5%, calibrated and not stated", noise=0.05, options=CALIBRATE, only="network"),
    Situation("noise of 20%, not stated", noise=0.2),
    Situation("noise of 20%, stated", noise=0.2, options=["--noise", "20%"]),
    Situation("noise of 20%, calibrated", noise=0.2, options=["--noise", "20%", *CALIBRATE], only="network"),
    Situation("noise of 5% on a, not stated", noise=0.05, channel="a"),
    Situation("written with 3 digits", spoil=digits(3)),
    Situation("written with 2 digits", spoil=digits(2)),
    Situation("written with 2 digits, calibrated", spoil=digits(2), options=CALIBRATE, only="network"),
    Situation("a written with 2 decimals", channel="a", spoil=decimals(2)),
    Situation("5 sensors", sensors=5),
    Situation("50 sensors", sensors=50),
    Situation("200 sensors", sensors=200),
    Situation("50 sensors, calibrated", sensors=50, options=CALIBRATE, only="network"),
    Situation("50 sensors, said to be exact, calibrated", sensors=50, options=["--noise", "0", *CALIBRATE], only="network"),
    Situation("15 sensors, noise of 10%, calibrated and not stated", sensors=15, noise=0.1, options=CALIBRATE, only="network"),
    Situation("50 sensors, noise of 5%, calibrated and not stated", sensors=50, noise=0.05, options=CALIBRATE, only="network"),
    Situation("one quadrant", area=0.25),
    Situation("one quadrant, calibrated", area=0.25, options=CALIBRATE, only="network"),
    Situation("off the grid", off_grid=True),
    Situation("one outlier of 3 standard deviations", spoil=outlier),
    Situation("one outlier, noise of 5% stated and calibrated", noise=0.05, options=["--noise", "5%", *CALIBRATE], spoil=outlier, only="network"),
    Situation("one outlier, left out", spoil=outlier, options=["--drop-suspects"]),
    Situation("offset of half a standard deviation", spoil=offset),
    Situation("wrong units: 10 times", spoil=times(10.0)),
    Situation("wrong units: 1,000 times", spoil=times(1000.0)),
    Situation("wrong boundary: u + 0.01 x", truth="wrong boundary"),
    Situation("wrong equation: Lap u + 100 u = a", truth="other equation"),
    Situation("smoother source than the problem's", truth="smooth source"),
]

AMPLITUDES = [
    Situation("amplitude estimated, clean", amplitude=400.0, options=AUTO),
    Situation("amplitude estimated, noise of 5%, stated", amplitude=400.0, noise=0.05, options=[*AUTO, "--noise", "0,0.083"], only="exact"),
    Situation("amplitude estimated, noise of 5%, not stated", amplitude=400.0, noise=0.05, options=AUTO),
    Situation("amplitude estimated, noise of 20%, not stated", amplitude=400.0, noise=0.2, options=AUTO, only="exact"),
    Situation("amplitude estimated, noise of 5%, stated as 1%", amplitude=400.0, noise=0.05, options=[*AUTO, "--noise", "1%"], only="exact"),
    Situation("amplitude estimated, 50 sensors, noise of 5%, stated", sensors=50, amplitude=400.0, noise=0.05, options=[*AUTO, "--noise", "5%"], only="exact"),
    Situation("amplitude estimated, 8 sensors", sensors=8, amplitude=400.0, options=AUTO),
    Situation("amplitude estimated, one outlier", amplitude=400.0, spoil=outlier, options=AUTO),
    Situation("amplitude estimated, five outliers left out", amplitude=400.0, spoil=several_outliers, options=[*AUTO, "--drop-suspects"], only="exact"),
    Situation("amplitude estimated, offset", amplitude=400.0, spoil=offset, options=AUTO),
    Situation("amplitude estimated, wrong boundary", amplitude=1.0, truth="wrong boundary", options=AUTO),
    Situation("amplitude estimated, wrong equation", amplitude=400.0, truth="other equation", options=AUTO),
    Situation("amplitude estimated, smoother source", amplitude=400.0, truth="smooth source", options=AUTO),
]


def other(name, pde, **more):
    return Situation(f"{pde}: {name}", pde=pde, only="network", **more)


DARCY = [
    other("clean, sensors of u", "darcy"),
    other("clean, sensors of a", "darcy", channel="a"),
    other("noise of 1% on u, not stated", "darcy", noise=0.01),
    other("noise of 5% on u, not stated", "darcy", noise=0.05),
    other("noise of 5% on u, calibrated", "darcy", noise=0.05, options=["--noise", "5%", *CALIBRATE]),
    other("50 sensors of u", "darcy", sensors=50),
    other("one outlier of u", "darcy", spoil=outlier),
    other("u + half a standard deviation", "darcy", spoil=offset),
    other("u times 10", "darcy", spoil=times(10.0)),
    other("one reading of a flipped", "darcy", channel="a", spoil=flipped(1)),
    other("5 readings of a flipped", "darcy", channel="a", spoil=flipped(5)),
    other("25 readings of a flipped", "darcy", channel="a", spoil=flipped(25)),
    other("25 readings of a flipped, calibrated", "darcy", channel="a", spoil=flipped(25), options=CALIBRATE),
]

CYLINDER = [
    other("clean, sensors of u", "cylinder"),
    other("clean, sensors of a", "cylinder", channel="a"),
    other("noise of 1%, not stated", "cylinder", noise=0.01),
    other("noise of 5%, not stated", "cylinder", noise=0.05),
    other("noise of 5%, stated", "cylinder", noise=0.05, options=["--noise", "5%"]),
    other("50 sensors", "cylinder", sensors=50),
    other("one outlier", "cylinder", spoil=outlier),
    other("one outlier of a", "cylinder", channel="a", spoil=outlier),
    other("u + half a standard deviation", "cylinder", spoil=offset),
    other("a + half a standard deviation", "cylinder", channel="a", spoil=offset),
    other("u times 2", "cylinder", spoil=times(2.0)),
    other("disk not given", "cylinder", disk_given=False),
]

SITUATIONS = POISSON + AMPLITUDES + DARCY + CYLINDER
