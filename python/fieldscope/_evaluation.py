"""Errors of a method on held-out records."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldscope import _native
from fieldscope._data import Data, open_data
from fieldscope._inputs import Noise, Path, noise_text
from fieldscope._methods import Model, Posterior


@dataclass(frozen=True)
class Evaluation:
    """Errors in percent: `conditions` as the command's JSON has them (count, mean and sd of each measure), `values` of every record (NaN
    where undefined), and `identity`, what was evaluated on what."""

    identity: dict[str, Any]
    conditions: dict[str, dict[str, dict[str, Any]]]
    values: dict[str, dict[str, NDArray[np.float64]]]


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
    named = isinstance(protocol, str)
    options = {
        "protocol": protocol if named else "conditions",
        "conditions": None if named else list(protocol),
        "limit": limit,
        "seed": seed,
        "noise": noise_text(noise),
        "untold": untold,
        "batch": batch,
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
