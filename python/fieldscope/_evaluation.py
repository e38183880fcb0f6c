"""Errors of a method on held-out records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldscope import _native
from fieldscope._data import Data, open_data
from fieldscope._inputs import Noise, Path
from fieldscope._methods import Model, Posterior
from fieldscope._options import flag, noise_text, seed_of, text, whole_number, whole_number_or_none


@dataclass(frozen=True)
class Evaluation:
    """Errors in percent: `conditions` as the command's JSON has them (count, mean and sd of each measure), `values` of every record (NaN
    where undefined), and `identity`, what was evaluated on what."""

    identity: dict[str, Any]
    conditions: dict[str, dict[str, dict[str, Any]]]
    values: dict[str, dict[str, NDArray[np.float64]]]

    def __repr__(self) -> str:
        return f"<Evaluation of {self.identity['pde']} under {', '.join(self.conditions)}: {self.identity['records']} records>"


def evaluate(
    method: Model | Posterior,
    data: Data | Path,
    protocol: str | Sequence[str] = "uniform500",
    *,
    limit: int | None = None,
    seed: int = 20261013,
    noise: Noise | None = None,
    untold: bool = False,
    batch: int = 64,
    out: Path | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Evaluation:
    """Recovers the first `limit` records of a set under a protocol's conditions, or under conditions such as
    ``["inverse/uniform/500"]``, and scores them. With `out` the file of ``scope evaluate`` is written there, with its values beside it."""
    if not isinstance(method, Model | Posterior):
        raise TypeError(f"method must be a Model or a Posterior, and is {type(method).__name__}: take fieldscope.load, exact or linear")
    named = isinstance(protocol, str)
    if not named and not (isinstance(protocol, Iterable) and len(list(protocol)) > 0):
        raise TypeError('protocol must be a name such as "uniform500", or a list of conditions, and there are none')
    options = {
        "protocol": protocol if named else "conditions",
        "conditions": None if named else [text(condition, "a condition") for condition in protocol],
        "limit": whole_number_or_none(limit, "limit", 1),
        "seed": seed_of(seed),
        "noise": noise_text(noise),
        "untold": flag(untold, "untold"),
        "batch": whole_number(batch, "batch", 1),
        "out": out,
    }

    def hear(news: str) -> None:
        told = json.loads(news)
        if progress is not None:
            progress(told["done"], told["of"])

    listener = None if progress is None else hear
    results, values = _native.evaluate(method._native, open_data(data)._native, options, listener)
    summary = json.loads(results)
    arrays = {
        condition: {measure: np.array(each, dtype=np.float64) for measure, each in measures.items()}
        for condition, measures in json.loads(values).items()
    }
    return Evaluation(summary["identity"], summary["conditions"], arrays)
