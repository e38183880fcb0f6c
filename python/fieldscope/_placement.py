"""Where the next sensors say most."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldscope import _native
from fieldscope._inputs import Noise, Path, points_of, sensors_of
from fieldscope._methods import Posterior, Problem
from fieldscope._options import noise_text, seed_of, text_or_none, whole_number


class Placement:
    """Sensors that were placed, and what they leave unknown."""

    def __init__(self, native: _native.Placement, problem: Problem) -> None:
        self._native = native
        self._problem = problem

    def __reduce__(self) -> NoReturn:
        raise TypeError("a placement cannot be pickled: send its points, or save it to a folder")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` says: the sensors in order, errors expected with each, random layouts."""
        summary: dict[str, Any] = json.loads(self._native.summary)
        return summary

    @property
    def points(self) -> NDArray[np.float64]:
        """Where they are, ``[n, 2]``, in the order in which they were placed."""
        return np.array([[sensor["x"], sensor["y"]] for sensor in self.summary["sensors"]]).reshape(-1, 2)

    @property
    def sd(self) -> dict[str, NDArray[np.float32]]:
        """The standard deviations of a and u that remain, of the fields that the problem has."""
        return {channel: self._native.deviation(channel) for channel in "au" if self._problem.present[channel]}

    def save(self, folder: Path) -> None:
        """Writes the folder that ``scope place`` writes."""
        self._native.save(folder)

    def __repr__(self) -> str:
        return f"<Placement of {len(self.points)} sensors for {self._problem.name}>"


def place(
    method: Posterior,
    count: int,
    *,
    channel: str | None = None,
    target: str | None = None,
    given: Any = None,
    allowed: ArrayLike | None = None,
    noise: Noise | None = None,
    random_layouts: int = 0,
    seed: int = 20261013,
) -> Placement:
    """Places sensors one by one, each where it leaves least unknown of `target` ("a", "u" or "both").

    `given` are readings that are there already, as `recover` takes them; `allowed` is a mask of the grid, or points ``[n, 2]``.
    """
    if not isinstance(method, Posterior):
        raise TypeError("sensors are placed for a posterior: take fieldscope.exact or fieldscope.linear")
    mask = points = None
    if allowed is not None:
        array = np.asarray(allowed)
        if array.dtype == np.bool_ and array.ndim == 2:
            mask = array
        else:
            points, masked = points_of(allowed)
            points = points[~masked]
    options = {
        "count": whole_number(count, "count"),
        "channel": text_or_none(channel, "channel"),
        "target": text_or_none(target, "target"),
        "noise": noise_text(noise),
        "random_layouts": whole_number(random_layouts, "random_layouts"),
        "seed": seed_of(seed),
    }
    there = None if given is None else sensors_of(method._native, given, None, "u", None, None)
    if there is not None and len(there) != 1:
        raise ValueError(f"{there.name} has readings of {len(there)} problems: expected those of one")
    return Placement(_native.place(method._native, options, there, mask, points), method.problem)
