"""Training."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from fieldscope import _native
from fieldscope._data import Data, open_data
from fieldscope._inputs import Path
from fieldscope._methods import Model, load
from fieldscope._options import (
    flag,
    number_or_none,
    seed_of,
    settings_text,
    text,
    text_or_none,
    threads_or_none,
    whole_number,
    whole_number_or_none,
)


@dataclass(frozen=True)
class Progress:
    """How far a run has come: draws taken of all, and the latest step as `metrics.jsonl` has it."""

    draws: int
    total: int
    step: dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, how it ended ("finished", or what had been finished before), and what was warned of."""

    folder: FilePath
    outcome: str
    warnings: list[str]

    def load(self, *, device: str = "auto", threads: int | None = None) -> Model:
        """The trained network."""
        return load(self.folder, device=device, threads=threads)


def train(
    data: Data | Path,
    out: Path,
    *,
    model: str = "base",
    recipe: str | None = None,
    epochs: float | None = None,
    draws: int | None = None,
    minutes: float | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 20260913,
    resume: bool = False,
    save_every: float = 300.0,
    keep: int = 2,
    milestones: int = 0,
    log_every: int = 10,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Run:
    """Trains a network on the records of a set, as ``scope train`` does; the run is kept in the folder `out`.

    `progress` hears of the latest step, at most twenty times a second. Ctrl-C, or an exception of `progress`, ends the run after the step
    at hand, with its state saved, and is raised: the same call with ``resume=True`` goes on from there, bit for bit.
    """
    options = {
        "out": out,
        "model": text(model, "model"),
        "recipe": text_or_none(recipe, "recipe"),
        "epochs": number_or_none(epochs, "epochs"),
        "draws": whole_number_or_none(draws, "draws", 1),
        "minutes": number_or_none(minutes, "minutes"),
        "settings": settings_text(settings),
        "seed": seed_of(seed),
        "resume": flag(resume, "resume"),
        "save_every": number_or_none(save_every, "save_every"),
        "keep": whole_number(keep, "keep"),
        "milestones": whole_number(milestones, "milestones"),
        "log_every": whole_number(log_every, "log_every", 1),
        "device": text(device, "device"),
        "threads": threads_or_none(threads),
    }

    def hear(news: str) -> None:
        if progress is not None:
            progress(Progress(**json.loads(news)))

    outcome, warnings = _native.train(open_data(data)._native, options, None if progress is None else hear)
    return Run(FilePath(out), outcome, warnings)
